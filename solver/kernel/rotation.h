// Rotations: quaternions (w, x, y, z) and the exponential map with its Jacobian.
#pragma once

#include "spatial.h"

namespace pliant::PLIANT_ISA {

// Axes of a quaternion that need not have length one.
template <class T>
PLIANT_INLINE M3<T> matrix_of(const T* quaternion) {
  const T w = quaternion[0], x = quaternion[1], y = quaternion[2], z = quaternion[3];
  const T s = T(2.0) / (w * w + x * x + y * y + z * z);
  return {{V3<T>::of(T(1.0) - s * (y * y + z * z), s * (x * y + w * z), s * (x * z - w * y)),
           V3<T>::of(s * (x * y - w * z), T(1.0) - s * (x * x + z * z), s * (y * z + w * x)),
           V3<T>::of(s * (x * z + w * y), s * (y * z - w * x), T(1.0) - s * (x * x + y * y))}};
}

// Rotation vector of a quaternion, of length at most pi.
template <class T>
inline V3<T> rotation_vector(const T* quaternion) {
  const T sign = value(quaternion[0]) < 0.0 ? T(-1.0) : T(1.0);
  const V3<T> v = V3<T>::of(quaternion[1], quaternion[2], quaternion[3]) * sign;
  const T w = quaternion[0] * sign;
  const T square = dot(v, v);
  if (value(square) < 1e-16 * value(w * w)) return v * (T(2.0) / w);
  const T length = square_root(square);
  return v * (T(2.0) * arc_tangent(length, w) / length);
}

// quaternion <- quaternion * exp(rotation / 2), normalised.
inline void turn(double* quaternion, double x, double y, double z) {
  const double square = x * x + y * y + z * z;
  const double half = 0.5 * std::sqrt(square);
  const double s = half > 1e-4 ? 0.5 * std::sin(half) / half : 0.5 - square / 48.0;
  const double c = std::cos(half);
  const double a[4] = {quaternion[0], quaternion[1], quaternion[2], quaternion[3]};
  const double b[4] = {c, s * x, s * y, s * z};
  double r[4] = {a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
                 a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
                 a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
                 a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]};
  const double scale = 1.0 / std::sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3]);
  for (int i = 0; i < 4; ++i) quaternion[i] = r[i] * scale;
}

// Quaternion of a rotation matrix, w >= 0 (Shepperd's choice of the largest component).
template <class T>
inline void quaternion_of(const M3<T>& R, T* out) {
  const T xx = R.c[0][0], yy = R.c[1][1], zz = R.c[2][2];
  const T trace = xx + yy + zz, one = T(1.0);
  T w, x, y, z;
  if (trace > xx && trace > yy && trace > zz) {
    w = one + trace;
    x = R.c[1][2] - R.c[2][1];
    y = R.c[2][0] - R.c[0][2];
    z = R.c[0][1] - R.c[1][0];
  } else if (xx > yy && xx > zz) {
    w = R.c[1][2] - R.c[2][1];
    x = one + xx - yy - zz;
    y = R.c[0][1] + R.c[1][0];
    z = R.c[2][0] + R.c[0][2];
  } else if (yy > zz) {
    w = R.c[2][0] - R.c[0][2];
    x = R.c[0][1] + R.c[1][0];
    y = one - xx + yy - zz;
    z = R.c[1][2] + R.c[2][1];
  } else {
    w = R.c[0][1] - R.c[1][0];
    x = R.c[2][0] + R.c[0][2];
    y = R.c[1][2] + R.c[2][1];
    z = one - xx - yy + zz;
  }
  T scale = one / square_root(w * w + x * x + y * y + z * z);
  if (value(w) < 0.0) scale = -scale;
  out[0] = w * scale;
  out[1] = x * scale;
  out[2] = y * scale;
  out[3] = z * scale;
}

// Of a rotation vector theta:
//   R = exp(theta~)          = I + a theta~ + b theta~^2
//   omega = T theta',    T   = I + b theta~ + c theta~^2
//   bias = T' theta'  (T' the rate of T), with t = |theta| and
//   a = sin t / t,  b = (1 - cos t) / t^2,  c = (t - sin t) / t^3,
//   db, dc = derivatives of b and c by t^2.
template <class T>
struct ExponentialMap {
  M3<T> R;
  M3<T> tangent;
  V3<T> theta;
  T c, db, dc;

  // T' theta' for a rate theta': the terms b theta'~ theta' vanish, of
  // c (theta'~ theta~ + theta~ theta'~) theta' only the first half is left.
  PLIANT_INLINE V3<T> bias(V3<T> rate) const {
    const V3<T> turned = cross(theta, rate);
    const T s = T(2.0) * dot(theta, rate);
    return turned * (db * s) + cross(theta, turned) * (dc * s) + cross(rate, turned) * c;
  }
};

template <class T>
inline ExponentialMap<T> exponential_map(V3<T> theta) {
  const T square = dot(theta, theta);
  T a, b, c, db, dc;
  if (value(square) < 0.1) {
    // Closed forms cancel for small angles: Taylor series of (c, db, dc), whose eighth terms are
    // below 1e-18.
    static constexpr Vector3 series[8] = {
        {{1.0 / 6, -1.0 / 24, -1.0 / 120}},
        {{-1.0 / 120, 2.0 / 720, 2.0 / 5040}},
        {{1.0 / 5040, -3.0 / 40320, -3.0 / 362880}},
        {{-1.0 / 362880, 4.0 / 3628800, 4.0 / 39916800}},
        {{1.0 / 39916800, -5.0 / 479001600, -5.0 / 6227020800}},
        {{-1.0 / 6227020800, 6.0 / 87178291200, 6.0 / 1307674368000}},
        {{1.0 / 1307674368000, -7.0 / 20922789888000, -7.0 / 355687428096000}},
        {{-1.0 / 355687428096000, 8.0 / 6402373705728000, 8.0 / 121645100408832000}}};
    V3<T> sum = V3<T>::load(series[7].x);
    for (int i = 6; i >= 0; --i) sum = sum * square + V3<T>::load(series[i].x);
    c = sum[0];
    db = sum[1];
    dc = sum[2];
    a = T(1.0) - c * square;
    b = T(0.5) * a - db * square;
  } else {
    const T t = square_root(square);
    T sine, cosine;
    sine_cosine(t, sine, cosine);
    a = sine / t;
    b = (T(1.0) - cosine) / square;
    c = (T(1.0) - a) / square;
    db = (a - T(2.0) * b) / (T(2.0) * square);
    dc = (b - T(3.0) * c) / (T(2.0) * square);
  }
  // theta~^2 = theta theta^T - t^2 I
  const M3<T> skew = cross_matrix(theta);
  const M3<T> square_matrix = outer(theta, theta);
  const M3<T> one = M3<T>::identity();
  return {one * (T(1.0) - b * square) + skew * a + square_matrix * b,
          one * (T(1.0) - c * square) + skew * b + square_matrix * c,
          theta,
          c,
          db,
          dc};
}

}  // namespace pliant::PLIANT_ISA
