// Vectors of the kernel: 3-vectors in the lanes of one register, spatial vectors as two of them.
//
// A 3-vector fills lanes 0-2 of a 4-lane register; lane 3 is always zero, so that sums over the
// lanes need no mask. A spatial vector is [linear; angular], a symmetric 6x6 matrix its three
// 3x3 blocks. One source gives AVX-512, AVX2, SSE2 and NEON code (lanes.h). A Dual vector is a pair
// of registers.
//
// Notation: r~ is the matrix of the cross product, r~ a = r x a.
#pragma once

#include "lanes.h"
#include "model.h"
#include "scalar.h"

namespace pliant::PLIANT_ISA {

template <class T>
struct V3;

template <>
struct V3<double> {
  Lanes a;

  PLIANT_INLINE static V3 zero() { return {all_lanes(0.0)}; }
  PLIANT_INLINE static V3 of(double x, double y, double z) { return {Lanes{x, y, z, 0.0}}; }
  PLIANT_INLINE static V3 load(const double* p) {
    return {*static_cast<const Lanes*>(__builtin_assume_aligned(p, 32))};
  }
  PLIANT_INLINE double operator[](int i) const { return a[i]; }
  PLIANT_INLINE V3 yzx() const { return {pick<1, 2, 0, 3>(a)}; }
  template <int i>
  PLIANT_INLINE Lanes all() const {
    return pick<i, i, i, i>(a);
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
  const Lanes xy = pick<0, 4, 2, 6>(x, y) + pick<1, 5, 3, 7>(x, y);  // x01 y01 x23 y23
  const Lanes zz = z + pick<1, 0, 3, 2>(z);                          // z01 z01 z23 z23
  const Lanes low = pick<0, 1, 4, 3>(xy, zz);
  const Lanes high = pick<2, 3, 6, 3>(xy, zz);
  return {pick<0, 1, 2, 4>(low + high, all_lanes(0.0))};
}

// The four sums over the lanes, side by side.
PLIANT_INLINE Lanes lane_sums(Lanes x, Lanes y, Lanes z, Lanes w) {
  const Lanes xy = pick<0, 4, 2, 6>(x, y) + pick<1, 5, 3, 7>(x, y);  // x01 y01 x23 y23
  const Lanes zw = pick<0, 4, 2, 6>(z, w) + pick<1, 5, 3, 7>(z, w);
  return pick<0, 1, 4, 5>(xy, zw) + pick<2, 3, 6, 7>(xy, zw);
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

// x y[i], y staying in its register
template <int i>
PLIANT_INLINE V3<double> times_lane(V3<double> x, V3<double> y) {
  return {x.a * y.all<i>()};
}
template <int i>
PLIANT_INLINE V3<Dual> times_lane(V3<Dual> x, V3<Dual> y) {
  return {times_lane<i>(x.v, y.v), times_lane<i>(x.d, y.v) + times_lane<i>(x.v, y.d)};
}

// Component by component, and the sum of the components.
PLIANT_INLINE V3<double> products(V3<double> x, V3<double> y) { return {x.a * y.a}; }
PLIANT_INLINE V3<Dual> products(V3<Dual> x, V3<Dual> y) {
  return {products(x.v, y.v), products(x.d, y.v) + products(x.v, y.d)};
}
PLIANT_INLINE double sum(V3<double> x) { return lane_sum(x.a); }
PLIANT_INLINE Dual sum(V3<Dual> x) { return {sum(x.v), sum(x.d)}; }

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
template <class T>
PLIANT_INLINE M3<T>& operator-=(M3<T>& x, const M3<T>& y) {
  return x = x - y;
}
// x y^T
template <class T>
PLIANT_INLINE M3<T> outer(V3<T> x, V3<T> y) {
  return {{times_lane<0>(x, y), times_lane<1>(x, y), times_lane<2>(x, y)}};
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
// With constants of the model: each component is loaded into all lanes, none is picked out of a
// register.
PLIANT_INLINE V3<double> times(const M3<double>& m, const double* x) {
  return {m.c[0].a * x[0] + m.c[1].a * x[1] + m.c[2].a * x[2]};
}
PLIANT_INLINE V3<Dual> times(const M3<Dual>& m, const double* x) {
  return {times(M3<double>{{m.c[0].v, m.c[1].v, m.c[2].v}}, x),
          times(M3<double>{{m.c[0].d, m.c[1].d, m.c[2].d}}, x)};
}
template <class T>
PLIANT_INLINE V3<T> operator*(const M3<T>& m, const Vector3& x) {
  return times(m, x.x);
}
template <class T>
PLIANT_INLINE M3<T> operator*(const M3<T>& m, const Matrix3& x) {
  return {{times(m, x.c), times(m, x.c + 4), times(m, x.c + 8)}};
}
// m^T x
PLIANT_INLINE V3<double> transposed_times(const M3<double>& m, V3<double> x) {
  return lane_sums(m.c[0].a * x.a, m.c[1].a * x.a, m.c[2].a * x.a);
}
PLIANT_INLINE V3<Dual> transposed_times(const M3<Dual>& m, V3<Dual> x) {
  return V3<Dual>::of(dot(m.c[0], x), dot(m.c[1], x), dot(m.c[2], x));
}
PLIANT_INLINE M3<double> transpose(const M3<double>& m) {
  const Lanes xy0 = pick<0, 4, 2, 6>(m.c[0].a, m.c[1].a);  // x0 y0 x2 y2
  const Lanes xy1 = pick<1, 5, 3, 7>(m.c[0].a, m.c[1].a);  // x1 y1 0 0
  const Lanes z = m.c[2].a;
  return {{{pick<0, 1, 4, 7>(xy0, z)}, {pick<0, 1, 5, 7>(xy1, z)}, {pick<2, 3, 6, 7>(xy0, z)}}};
}
PLIANT_INLINE M3<Dual> transpose(const M3<Dual>& m) {
  const M3<double> v = transpose(M3<double>{{m.c[0].v, m.c[1].v, m.c[2].v}});
  const M3<double> d = transpose(M3<double>{{m.c[0].d, m.c[1].d, m.c[2].d}});
  return {{{v.c[0], d.c[0]}, {v.c[1], d.c[1]}, {v.c[2], d.c[2]}}};
}
PLIANT_INLINE M3<double> cross_matrix(V3<double> r) {
  const Lanes plus = r.a, minus = -r.a;
  return {{{pick<3, 2, 5, 3>(plus, minus)},
           {pick<6, 3, 0, 3>(plus, minus)},
           {pick<1, 4, 3, 3>(plus, minus)}}};
}
PLIANT_INLINE M3<Dual> cross_matrix(V3<Dual> r) {
  const M3<double> v = cross_matrix(r.v), d = cross_matrix(r.d);
  return {{{v.c[0], d.c[0]}, {v.c[1], d.c[1]}, {v.c[2], d.c[2]}}};
}
// x times the unit vector e_i
template <int i, class T>
PLIANT_INLINE V3<T> cross_axis(V3<T> x) {
  return cross_matrix(x).c[i];
}
template <class T>
PLIANT_INLINE T trace(const M3<T>& m) {
  return m.c[0][0] + m.c[1][1] + m.c[2][2];
}
// m r~, by columns m (r x e_j)
template <class T>
PLIANT_INLINE M3<T> times_cross(const M3<T>& m, V3<T> r) {
  return {{times_lane<2>(m.c[1], r) - times_lane<1>(m.c[2], r),
           times_lane<0>(m.c[2], r) - times_lane<2>(m.c[0], r),
           times_lane<1>(m.c[0], r) - times_lane<0>(m.c[1], r)}};
}
// r~ m
template <class T>
PLIANT_INLINE M3<T> cross_times(V3<T> r, const M3<T>& m) {
  return {{cross(r, m.c[0]), cross(r, m.c[1]), cross(r, m.c[2])}};
}
// R m R^T
template <class T, class Matrix>
PLIANT_INLINE M3<T> rotated(const M3<T>& R, const Matrix& m) {
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
// sums[0..3] += x[0..3] . y; sums aligned to 32 bytes.
PLIANT_INLINE void add_four_dots(double* sums, const Vec6<double>* x, const Vec6<double>& y) {
  const auto products = [&](int i) { return x[i].lin.a * y.lin.a + x[i].ang.a * y.ang.a; };
  *static_cast<Lanes*>(__builtin_assume_aligned(sums, 32)) +=
      lane_sums(products(0), products(1), products(2), products(3));
}
PLIANT_INLINE void add_four_dots(Dual* sums, const Vec6<Dual>* x, const Vec6<Dual>& y) {
  for (int i = 0; i < 4; ++i) sums[i] += dot(x[i], y);
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
  return {M.A * x.lin + M.B * x.ang, transpose(M.B) * x.lin + M.C * x.ang};
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
  M.A -= outer(u.lin, us.lin);
  M.B -= outer(u.lin, us.ang);
  M.C -= outer(u.ang, us.ang);
}
// An inertia-like matrix given at the point r, moved to the origin of r:
// [I 0; r~ I] M [I -r~; 0 I].
template <class T>
PLIANT_INLINE Sym6<T> inertia_from(const Sym6<T>& M, V3<T> r) {
  const M3<T> B = M.B - times_cross(M.A, r);
  return {M.A, B, M.C + cross_times(r, B) - times_cross(transpose(M.B), r)};
}

}  // namespace pliant::PLIANT_ISA
