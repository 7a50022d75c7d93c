// Vectors of the kernel: 3-vectors in the lanes of one register, spatial vectors as two of them.
//
// A 3-vector fills lanes 0-2 of a 4-lane register; lane 3 is always zero, so that sums over the
// lanes need no mask. A spatial vector is [linear; angular], a symmetric 6x6 matrix its three
// 3x3 blocks. Everything is written with the compilers' portable vector extension: one source
// gives AVX-512, AVX2, SSE2 and NEON code. A Dual vector is a pair of registers.
//
// Notation: r~ is the matrix of the cross product, r~ a = r x a.
#pragma once

#include "scalar.h"

namespace pliant::PLIANT_ISA {

#define PLIANT_INLINE inline __attribute__((always_inline))

using Lanes = double __attribute__((vector_size(32)));
using LaneIndex = long long __attribute__((vector_size(32)));

template <class T>
struct V3;

template <>
struct V3<double> {
  Lanes a;

  PLIANT_INLINE static V3 zero() { return {Lanes{0.0, 0.0, 0.0, 0.0}}; }
  PLIANT_INLINE static V3 of(double x, double y, double z) { return {Lanes{x, y, z, 0.0}}; }
  PLIANT_INLINE static V3 load(const double* p) {
    return {*static_cast<const Lanes*>(__builtin_assume_aligned(p, 32))};
  }
  PLIANT_INLINE double operator[](int i) const { return a[i]; }
  PLIANT_INLINE V3 yzx() const { return {__builtin_shuffle(a, LaneIndex{1, 2, 0, 3})}; }
  template <int i>
  PLIANT_INLINE Lanes all() const {
    return __builtin_shuffle(a, LaneIndex{i, i, i, i});
  }
};

PLIANT_INLINE V3<double> operator+(V3<double> x, V3<double> y) { return {x.a + y.a}; }
PLIANT_INLINE V3<double> operator-(V3<double> x, V3<double> y) { return {x.a - y.a}; }
PLIANT_INLINE V3<double> operator-(V3<double> x) { return {-x.a}; }
PLIANT_INLINE V3<double> operator*(V3<double> x, double s) { return {x.a * s}; }
PLIANT_INLINE V3<double> operator*(double s, V3<double> x) { return {x.a * s}; }
PLIANT_INLINE V3<double> cross(V3<double> x, V3<double> y) {
  // (x * y.yzx - x.yzx * y) is the cross product turned once: one shuffle less than by parts.
  return V3<double>{x.a * y.yzx().a - x.yzx().a * y.a}.yzx();
}
PLIANT_INLINE double lane_sum(Lanes p) { return (p[0] + p[1]) + p[2]; }
PLIANT_INLINE double dot(V3<double> x, V3<double> y) { return lane_sum(x.a * y.a); }

// (sum of x, sum of y, sum of z) over the lanes, as one 3-vector.
PLIANT_INLINE V3<double> lane_sums(Lanes x, Lanes y, Lanes z) {
  const Lanes xy = __builtin_shuffle(x, y, LaneIndex{0, 4, 2, 6}) +
                   __builtin_shuffle(x, y, LaneIndex{1, 5, 3, 7});   // x01 y01 x23 y23
  const Lanes zz = z + __builtin_shuffle(z, LaneIndex{1, 0, 3, 2});  // z01 z01 z23 z23
  const Lanes low = __builtin_shuffle(xy, zz, LaneIndex{0, 1, 4, 3});
  const Lanes high = __builtin_shuffle(xy, zz, LaneIndex{2, 3, 6, 3});
  const Lanes zero = Lanes{0.0, 0.0, 0.0, 0.0};
  return {__builtin_shuffle(low + high, zero, LaneIndex{0, 1, 2, 4})};
}

template <>
struct V3<Dual> {
  V3<double> v;
  V3<double> d;

  PLIANT_INLINE static V3 zero() { return {V3<double>::zero(), V3<double>::zero()}; }
  PLIANT_INLINE static V3 of(Dual x, Dual y, Dual z) {
    return {V3<double>::of(x.v, y.v, z.v), V3<double>::of(x.d, y.d, z.d)};
  }
  PLIANT_INLINE static V3 load(const double* p) {
    return {V3<double>::load(p), V3<double>::zero()};
  }
  PLIANT_INLINE Dual operator[](int i) const { return {v[i], d[i]}; }
};

PLIANT_INLINE V3<Dual> operator+(V3<Dual> x, V3<Dual> y) { return {x.v + y.v, x.d + y.d}; }
PLIANT_INLINE V3<Dual> operator-(V3<Dual> x, V3<Dual> y) { return {x.v - y.v, x.d - y.d}; }
PLIANT_INLINE V3<Dual> operator-(V3<Dual> x) { return {-x.v, -x.d}; }
PLIANT_INLINE V3<Dual> operator*(V3<Dual> x, Dual s) { return {x.v * s.v, x.d * s.v + x.v * s.d}; }
PLIANT_INLINE V3<Dual> operator*(Dual s, V3<Dual> x) { return x * s; }
PLIANT_INLINE V3<Dual> cross(V3<Dual> x, V3<Dual> y) {
  return {cross(x.v, y.v), cross(x.d, y.v) + cross(x.v, y.d)};
}
PLIANT_INLINE Dual dot(V3<Dual> x, V3<Dual> y) {
  return {dot(x.v, y.v), dot(x.d, y.v) + dot(x.v, y.d)};
}

template <class T>
PLIANT_INLINE V3<T>& operator+=(V3<T>& x, V3<T> y) {
  return x = x + y;
}
template <class T>
PLIANT_INLINE V3<T>& operator-=(V3<T>& x, V3<T> y) {
  return x = x - y;
}

// A 3x3 matrix by columns.
template <class T>
struct M3 {
  V3<T> c[3];

  PLIANT_INLINE static M3 zero() { return {{V3<T>::zero(), V3<T>::zero(), V3<T>::zero()}}; }
  PLIANT_INLINE static M3 identity() {
    return {{V3<T>::of(1.0, 0.0, 0.0), V3<T>::of(0.0, 1.0, 0.0), V3<T>::of(0.0, 0.0, 1.0)}};
  }
  PLIANT_INLINE static M3 load(const double* p) {
    return {{V3<T>::load(p), V3<T>::load(p + 4), V3<T>::load(p + 8)}};
  }
};

template <class T>
PLIANT_INLINE M3<T> operator+(const M3<T>& x, const M3<T>& y) {
  return {{x.c[0] + y.c[0], x.c[1] + y.c[1], x.c[2] + y.c[2]}};
}
template <class T>
PLIANT_INLINE M3<T> operator-(const M3<T>& x, const M3<T>& y) {
  return {{x.c[0] - y.c[0], x.c[1] - y.c[1], x.c[2] - y.c[2]}};
}
template <class T>
PLIANT_INLINE M3<T> operator*(const M3<T>& x, T s) {
  return {{x.c[0] * s, x.c[1] * s, x.c[2] * s}};
}
template <class T>
PLIANT_INLINE M3<T>& operator+=(M3<T>& x, const M3<T>& y) {
  return x = x + y;
}
PLIANT_INLINE V3<double> operator*(const M3<double>& m, V3<double> x) {
  return {m.c[0].a * x.all<0>() + m.c[1].a * x.all<1>() + m.c[2].a * x.all<2>()};
}
PLIANT_INLINE V3<Dual> operator*(const M3<Dual>& m, V3<Dual> x) {
  const M3<double> mv{{m.c[0].v, m.c[1].v, m.c[2].v}};
  const M3<double> md{{m.c[0].d, m.c[1].d, m.c[2].d}};
  return {mv * x.v, md * x.v + mv * x.d};
}
template <class T>
PLIANT_INLINE M3<T> operator*(const M3<T>& x, const M3<T>& y) {
  return {{x * y.c[0], x * y.c[1], x * y.c[2]}};
}
// m^T x
PLIANT_INLINE V3<double> transposed_times(const M3<double>& m, V3<double> x) {
  return lane_sums(m.c[0].a * x.a, m.c[1].a * x.a, m.c[2].a * x.a);
}
PLIANT_INLINE V3<Dual> transposed_times(const M3<Dual>& m, V3<Dual> x) {
  return V3<Dual>::of(dot(m.c[0], x), dot(m.c[1], x), dot(m.c[2], x));
}
PLIANT_INLINE M3<double> transpose(const M3<double>& m) {
  const Lanes xy0 = __builtin_shuffle(m.c[0].a, m.c[1].a, LaneIndex{0, 4, 2, 6});  // x0 y0 x2 y2
  const Lanes xy1 = __builtin_shuffle(m.c[0].a, m.c[1].a, LaneIndex{1, 5, 3, 7});  // x1 y1 0 0
  const Lanes z = m.c[2].a;
  return {{{__builtin_shuffle(xy0, z, LaneIndex{0, 1, 4, 7})},
           {__builtin_shuffle(xy1, z, LaneIndex{0, 1, 5, 7})},
           {__builtin_shuffle(xy0, z, LaneIndex{2, 3, 6, 7})}}};
}
PLIANT_INLINE M3<Dual> transpose(const M3<Dual>& m) {
  const M3<double> v = transpose(M3<double>{{m.c[0].v, m.c[1].v, m.c[2].v}});
  const M3<double> d = transpose(M3<double>{{m.c[0].d, m.c[1].d, m.c[2].d}});
  return {{{v.c[0], d.c[0]}, {v.c[1], d.c[1]}, {v.c[2], d.c[2]}}};
}
template <class T>
PLIANT_INLINE M3<T> cross_matrix(V3<T> r) {
  return {{V3<T>::of(0.0, r[2], -r[1]), V3<T>::of(-r[2], 0.0, r[0]), V3<T>::of(r[1], -r[0], 0.0)}};
}
// m r~, by columns m (r x e_j)
template <class T>
PLIANT_INLINE M3<T> times_cross(const M3<T>& m, V3<T> r) {
  const T x = r[0], y = r[1], z = r[2];
  return {{m.c[1] * z - m.c[2] * y, m.c[2] * x - m.c[0] * z, m.c[0] * y - m.c[1] * x}};
}
// r~ m
template <class T>
PLIANT_INLINE M3<T> cross_times(V3<T> r, const M3<T>& m) {
  return {{cross(r, m.c[0]), cross(r, m.c[1]), cross(r, m.c[2])}};
}
// R m R^T
template <class T>
PLIANT_INLINE M3<T> rotated(const M3<T>& R, const M3<T>& m) {
  return (R * m) * transpose(R);
}

// A spatial vector: motion [velocity of a point; angular velocity] or
// force [force; moment about a point].
template <class T>
struct Vec6 {
  V3<T> lin;
  V3<T> ang;
  PLIANT_INLINE static Vec6 zero() { return {V3<T>::zero(), V3<T>::zero()}; }
};

template <class T>
PLIANT_INLINE Vec6<T> operator+(const Vec6<T>& x, const Vec6<T>& y) {
  return {x.lin + y.lin, x.ang + y.ang};
}
template <class T>
PLIANT_INLINE Vec6<T> operator-(const Vec6<T>& x, const Vec6<T>& y) {
  return {x.lin - y.lin, x.ang - y.ang};
}
template <class T>
PLIANT_INLINE Vec6<T> operator*(const Vec6<T>& x, T s) {
  return {x.lin * s, x.ang * s};
}
template <class T>
PLIANT_INLINE Vec6<T>& operator+=(Vec6<T>& x, const Vec6<T>& y) {
  return x = x + y;
}
template <class T>
PLIANT_INLINE Vec6<T>& operator-=(Vec6<T>& x, const Vec6<T>& y) {
  return x = x - y;
}
PLIANT_INLINE double dot(const Vec6<double>& x, const Vec6<double>& y) {
  return lane_sum(x.lin.a * y.lin.a + x.ang.a * y.ang.a);
}
PLIANT_INLINE Dual dot(const Vec6<Dual>& x, const Vec6<Dual>& y) {
  return dot(x.lin, y.lin) + dot(x.ang, y.ang);
}
// Motion of the point at r from where V is given, on the same rigid body.
template <class T>
PLIANT_INLINE Vec6<T> motion_at(const Vec6<T>& V, V3<T> r) {
  return {V.lin + cross(V.ang, r), V.ang};
}
// A force given at the point r, moved to the origin of r.
template <class T>
PLIANT_INLINE Vec6<T> force_from(const Vec6<T>& F, V3<T> r) {
  return {F.lin, F.ang + cross(r, F.lin)};
}

// A symmetric 6x6 matrix [A B; B^T C].
template <class T>
struct Sym6 {
  M3<T> A;
  M3<T> B;
  M3<T> C;
};

template <class T>
PLIANT_INLINE Vec6<T> operator*(const Sym6<T>& M, const Vec6<T>& x) {
  return {M.A * x.lin + M.B * x.ang, transposed_times(M.B, x.lin) + M.C * x.ang};
}
template <class T>
PLIANT_INLINE Sym6<T>& operator+=(Sym6<T>& x, const Sym6<T>& y) {
  x.A += y.A;
  x.B += y.B;
  x.C += y.C;
  return x;
}
// M -= u u^T s
template <class T>
PLIANT_INLINE void subtract_rank1(Sym6<T>& M, const Vec6<T>& u, T s) {
  const Vec6<T> us = u * s;
  for (int j = 0; j < 3; ++j) {
    M.A.c[j] -= u.lin * us.lin[j];
    M.B.c[j] -= u.lin * us.ang[j];
    M.C.c[j] -= u.ang * us.ang[j];
  }
}
// An inertia-like matrix given at the point r, moved to the origin of r:
// [I 0; r~ I] M [I -r~; 0 I].
template <class T>
PLIANT_INLINE Sym6<T> inertia_from(const Sym6<T>& M, V3<T> r) {
  const M3<T> B = M.B - times_cross(M.A, r);
  return {M.A, B, M.C + cross_times(r, B) - times_cross(transpose(M.B), r)};
}

}  // namespace pliant::PLIANT_ISA
