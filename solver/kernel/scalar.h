// Scalars of the kernel: double, and Dual for exact first derivatives.
//
// Every algorithm of the kernel is templated on its scalar T. With T = Dual the same source
// carries one directional derivative along with the motion (forward-mode differentiation).
#pragma once

#include <cmath>

namespace pliant::PLIANT_ISA {

// value + derivative along one direction; eps^2 = 0.
struct Dual {
  double v = 0.0;
  double d = 0.0;
  Dual() = default;
  Dual(double value) : v(value) {}  // NOLINT: constants mix freely with duals
  Dual(double value, double derivative) : v(value), d(derivative) {}
};

inline Dual operator+(Dual a, Dual b) { return {a.v + b.v, a.d + b.d}; }
inline Dual operator-(Dual a, Dual b) { return {a.v - b.v, a.d - b.d}; }
inline Dual operator-(Dual a) { return {-a.v, -a.d}; }
inline Dual operator*(Dual a, Dual b) { return {a.v * b.v, a.d * b.v + a.v * b.d}; }
inline Dual operator/(Dual a, Dual b) {
  const double value = a.v / b.v;
  return {value, (a.d - value * b.d) / b.v};
}
inline Dual& operator+=(Dual& a, Dual b) { return a = a + b; }
inline Dual& operator-=(Dual& a, Dual b) { return a = a - b; }
inline Dual& operator*=(Dual& a, Dual b) { return a = a * b; }
inline Dual& operator/=(Dual& a, Dual b) { return a = a / b; }
inline bool operator<(Dual a, Dual b) { return a.v < b.v; }
inline bool operator>(Dual a, Dual b) { return a.v > b.v; }
inline bool operator<=(Dual a, Dual b) { return a.v <= b.v; }
inline bool operator>=(Dual a, Dual b) { return a.v >= b.v; }

inline double value(double x) { return x; }
inline double value(Dual x) { return x.v; }

inline double square_root(double x) { return std::sqrt(x); }
inline double arc_tangent(double y, double x) { return std::atan2(y, x); }
inline double hyperbolic_tangent(double x) { return std::tanh(x); }
inline void sine_cosine(double x, double& s, double& c) {
  s = std::sin(x);
  c = std::cos(x);
}
inline Dual square_root(Dual x) {
  const double root = std::sqrt(x.v);
  return {root, 0.5 * x.d / root};
}
inline Dual arc_tangent(Dual y, Dual x) {
  return {std::atan2(y.v, x.v), (x.v * y.d - y.v * x.d) / (x.v * x.v + y.v * y.v)};
}
inline Dual hyperbolic_tangent(Dual x) {
  const double t = std::tanh(x.v);
  return {t, (1.0 - t * t) * x.d};
}
inline void sine_cosine(Dual x, Dual& s, Dual& c) {
  const double sv = std::sin(x.v);
  const double cv = std::cos(x.v);
  s = {sv, cv * x.d};
  c = {cv, -sv * x.d};
}

// tanh(x) / x
template <class T>
inline T tangent_ratio(T x) {
  const T square = x * x;
  if (value(square) < 1e-8) return T(1.0) - square / T(3.0);  // the next term is below 2e-17
  return hyperbolic_tangent(x) / x;
}

}  // namespace pliant::PLIANT_ISA
