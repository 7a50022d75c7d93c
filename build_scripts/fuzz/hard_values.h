// Numbers that hurt, and a watch on how long a case takes.
#pragma once

#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <limits>

#include "model.h"

extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace fuzz {

// Limits of what comes from outside, as the documentation states them; stepper.h has the kernel's.
constexpr double kMostInput = 1e30, kLeastStep = 1e-9, kMostStep = 1e6, kMostTime = 1e12;
constexpr double kMostPosition = 1e12, kMostRate = 1e8, kMostAcceleration = 1e14;

inline double sign(Random& random) { return random.chance(0.5) ? 1.0 : -1.0; }

inline double of_bits(uint64_t bits) {
  double x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// Any number, `limit` among those that are met most, on both of its sides.
inline double hard_number(Random& random, double limit) {
  using Limits = std::numeric_limits<double>;
  switch (random.below(13)) {
    case 0:
      return Limits::quiet_NaN();
    case 1:
      return sign(random) * Limits::infinity();
    case 2:
      return sign(random) * Limits::max();
    case 3:
      return sign(random) * Limits::denorm_min();
    case 4:
      return sign(random) * (random.chance(0.5) ? Limits::min() : 1e-300);
    case 5:
      return sign(random) * 1e300;
    case 6:
      return -0.0;
    case 7:
      return of_bits(random.bits());
    case 8:
      return sign(random) * std::nextafter(limit, Limits::infinity());
    case 9:
      return sign(random) * limit;
    case 10:
      return sign(random) * limit * random.between(0.1, 1.0);
    case 11:
      return sign(random) * std::pow(10.0, random.between(-12.0, 35.0));
    default:
      return sign(random) * std::pow(10.0, random.between(-320.0, 308.0));
  }
}

inline bool all_finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
}

inline bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

// ------------------------------------------------------------------------------------- watchdog

// What is running now, for messages.
inline const char* watched_name = "";
inline unsigned long long watched_number = 0;

inline void say_what_runs(const char* what) {
  char text[128];
  const int length =
      std::snprintf(text, sizeof text, "%s: %s %llu\n", what, watched_name, watched_number);
  if (write(STDERR_FILENO, text, static_cast<std::size_t>(length)) < 0) _exit(4);
}

// A case that ends the program or takes more than some seconds of processor time (so that other
// programs do not matter) is named before that.
inline void watch(const char* name, unsigned long long number, int seconds = 20) {
  watched_name = name;
  watched_number = number;
  static const bool installed = [] {
    std::signal(SIGPROF, [](int) {
      say_what_runs("TOO LONG");
      _exit(3);
    });
    if (__sanitizer_set_death_callback != nullptr) {
      __sanitizer_set_death_callback([] { say_what_runs("DIED"); });
      return true;
    }
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGILL}) {
      std::signal(signal, [](int number) {
        say_what_runs("DIED");
        std::signal(number, SIG_DFL);
        std::raise(number);
      });
    }
    return true;
  }();
  (void)installed;
  const itimerval timer{{0, 0}, {seconds, 0}};
  setitimer(ITIMER_PROF, &timer, nullptr);
}

}  // namespace fuzz
