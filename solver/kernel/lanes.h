// Four doubles side by side: what every vector of the kernel is made of.
//
// Written with the compilers' portable vector extension. Where the machine has registers of 32
// bytes (AVX and up), Lanes is one of them; elsewhere (SSE2, NEON) it is a pair of 16 bytes, since
// compilers go through memory for vectors longer than a register.
#pragma once

namespace pliant::PLIANT_ISA {

#define PLIANT_INLINE inline __attribute__((always_inline))

#ifdef __AVX__

using Lanes = double __attribute__((vector_size(32)));

PLIANT_INLINE Lanes all_lanes(double x) { return Lanes{x, x, x, x}; }

// Lanes i, j, k, l of the eight that a and b are together.
template <int i, int j, int k, int l>
PLIANT_INLINE Lanes pick(Lanes a, Lanes b) {
#if __has_builtin(__builtin_shufflevector)
  return __builtin_shufflevector(a, b, i, j, k, l);
#else
  using Index = long long __attribute__((vector_size(32)));
  return __builtin_shuffle(a, b, Index{i, j, k, l});
#endif
}

#else

using HalfLanes = double __attribute__((vector_size(16)));

struct alignas(32) Lanes {
  HalfLanes low, high;

  PLIANT_INLINE double operator[](int i) const { return i < 2 ? low[i] : high[i - 2]; }
};

PLIANT_INLINE Lanes all_lanes(double x) { return {HalfLanes{x, x}, HalfLanes{x, x}}; }
PLIANT_INLINE Lanes operator+(Lanes a, Lanes b) { return {a.low + b.low, a.high + b.high}; }
PLIANT_INLINE Lanes operator-(Lanes a, Lanes b) { return {a.low - b.low, a.high - b.high}; }
PLIANT_INLINE Lanes operator-(Lanes a) { return {-a.low, -a.high}; }
PLIANT_INLINE Lanes operator*(Lanes a, Lanes b) { return {a.low * b.low, a.high * b.high}; }
PLIANT_INLINE Lanes operator*(Lanes a, double s) { return {a.low * s, a.high * s}; }
PLIANT_INLINE Lanes& operator+=(Lanes& a, Lanes b) { return a = a + b; }
PLIANT_INLINE Lanes& operator-=(Lanes& a, Lanes b) { return a = a - b; }

template <int i>
PLIANT_INLINE HalfLanes half_with(const Lanes& a, const Lanes& b) {
  return i < 2 ? a.low : i < 4 ? a.high : i < 6 ? b.low : b.high;
}
template <int i, int j>
PLIANT_INLINE HalfLanes pick_half(const Lanes& a, const Lanes& b) {
  const HalfLanes x = half_with<i>(a, b), y = half_with<j>(a, b);
#if __has_builtin(__builtin_shufflevector)
  return __builtin_shufflevector(x, y, i % 2, 2 + j % 2);
#else
  using Index = long long __attribute__((vector_size(16)));
  return __builtin_shuffle(x, y, Index{i % 2, 2 + j % 2});
#endif
}
template <int i, int j, int k, int l>
PLIANT_INLINE Lanes pick(const Lanes& a, const Lanes& b) {
  return {pick_half<i, j>(a, b), pick_half<k, l>(a, b)};
}

#endif

template <int i, int j, int k, int l>
PLIANT_INLINE Lanes pick(const Lanes& a) {
  return pick<i, j, k, l>(a, a);
}

}  // namespace pliant::PLIANT_ISA
