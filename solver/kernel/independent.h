// Which of several directions are independent, and equations in those: factors of the symmetric
// matrices of loops, small and dense, lower triangle, row-major.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "scalar.h"

namespace pliant::PLIANT_ISA {

// Pivot of a matrix scaled to a unit diagonal that is rounding: what one direction does is lost
// behind the others.
constexpr double kLost = 1e-13;

// L D L^T of a positive semidefinite n x n matrix in place, by largest pivot, into `order`. Returns
// how many are above `least`.
inline int32_t find_independent(double* A, int32_t n, int32_t* order, double least) {
  for (int32_t i = 0; i < n; ++i) order[i] = i;
  for (int32_t k = 0; k < n; ++k) {
    int32_t best = k;
    for (int32_t i = k + 1; i < n; ++i) {
      if (A[i * n + i] > A[best * n + best]) best = i;
    }
    if (!(A[best * n + best] > least)) return k;
    if (best != k) {  // exchange rows and columns of the lower triangle
      std::swap(order[k], order[best]);
      std::swap(A[k * n + k], A[best * n + best]);
      for (int32_t j = 0; j < k; ++j) std::swap(A[k * n + j], A[best * n + j]);
      for (int32_t i = k + 1; i < best; ++i) std::swap(A[i * n + k], A[best * n + i]);
      for (int32_t i = best + 1; i < n; ++i) std::swap(A[i * n + k], A[i * n + best]);
    }
    const double inverse = 1.0 / A[k * n + k];
    for (int32_t i = k + 1; i < n; ++i) {
      const double factor = A[i * n + k] * inverse;
      for (int32_t j = k + 1; j <= i; ++j) A[i * n + j] -= factor * A[j * n + k];
    }
    for (int32_t i = k + 1; i < n; ++i) A[i * n + k] *= inverse;
  }
  return n;
}

// L D L^T of the first `rank` rows in `order` of a positive definite n x n matrix, scaled to a unit
// diagonal, into L (rows of length n). Returns the first whose pivot is below
// kLost, or -1.
template <class T>
inline int32_t factor_ordered(const T* A, int32_t n, const int32_t* order, int32_t rank, T* L,
                              T* scale) {
  for (int32_t i = 0; i < rank; ++i) {
    const T diagonal = A[order[i] * n + order[i]];
    if (!(value(diagonal) > 0.0)) return i;
    scale[i] = T(1.0) / square_root(diagonal);
    for (int32_t j = 0; j <= i; ++j) {
      const int32_t row = std::max(order[i], order[j]), column = std::min(order[i], order[j]);
      L[i * n + j] = A[row * n + column] * scale[i] * scale[j];
    }
  }
  for (int32_t k = 0; k < rank; ++k) {
    if (!(value(L[k * n + k]) > kLost)) return k;
    const T inverse = T(1.0) / L[k * n + k];
    for (int32_t i = k + 1; i < rank; ++i) {
      const T factor = L[i * n + k] * inverse;
      for (int32_t j = k + 1; j <= i; ++j) L[i * n + j] -= factor * L[j * n + k];
    }
    for (int32_t i = k + 1; i < rank; ++i) L[i * n + k] = L[i * n + k] * inverse;
  }
  return -1;
}

// x <- A^-1 x with the factors above (`scale` null: not scaled); the other rows get zero. `y` is
// scratch of n.
template <class T>
inline void solve_ordered(const T* L, int32_t n, const int32_t* order, int32_t rank, const T* scale,
                          T* x, T* y) {
  const auto factor = [&](int32_t i) { return scale == nullptr ? T(1.0) : scale[i]; };
  for (int32_t i = 0; i < rank; ++i) {
    y[i] = x[order[i]] * factor(i);
    for (int32_t j = 0; j < i; ++j) y[i] -= L[i * n + j] * y[j];
  }
  for (int32_t i = 0; i < rank; ++i) y[i] = y[i] / L[i * n + i];
  for (int32_t i = rank - 1; i >= 0; --i) {
    for (int32_t j = i + 1; j < rank; ++j) y[i] -= L[j * n + i] * y[j];
  }
  for (int32_t i = 0; i < n; ++i) x[order[i]] = i < rank ? y[i] * factor(i) : T(0.0);
}

}  // namespace pliant::PLIANT_ISA
