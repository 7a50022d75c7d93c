// The arithmetic of the kernel, compiled once for every instruction set.
#define PLIANT_TEXT_OF(x) #x
#define PLIANT_TEXT(x) PLIANT_TEXT_OF(x)
#define PLIANT_ISA_NAME PLIANT_TEXT(PLIANT_ISA)

#include "instance.h"

namespace pliant::PLIANT_ISA {

Stepper* make_instance(const Model& model) { return new Instance(model); }

}  // namespace pliant::PLIANT_ISA
