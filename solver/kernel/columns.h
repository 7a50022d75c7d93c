// What single loads do to a mechanism that order_n has factorised.
//
// Eliminating coordinates (order_n.h) is the factorisation M = L D L^T: D holds the pivots
// 1/inverse of freedoms and internal coordinates, and sending a load inward through what
// elimination left is the forward substitution y = L^-1 c, c the generalised force of the load. A
// load reaches the ground along its own path, so y is zero off it, and for two loads
//     c_i . M^-1 c_j = sum over the common path of y_i y_j / D.                              (1)
// This is the inverse inertia between two nodes, or between two directions of loops: Ghosh &
// Quiocho's Step 3 without its outward recursion, symmetric and not negative by construction.
//
// Loads at one node travel the same path, so up to eight go side by side, one in each lane of a
// Pack. A load that does nothing on a coordinate, or whose two ends cancel there, leaves rounding
// where there should be nothing, and a direction that nothing can move would be divided by it. So
// the sizes of a load go along, as it was before any elimination or as large as elimination made
// it, and what is below kRounding of them is set to zero.
// Cost of a pack: the freedoms and modes on its path.
#pragma once

#include "forward_dynamics.h"

namespace pliant::PLIANT_ISA {

constexpr double kRounding = 1e-12;

template <class T>
PLIANT_INLINE Pack<T> no_load() {
  Pack<T> z;
  for (int32_t i = 0; i < kPack; ++i) z.a[i] = T(0.0);
  return z;
}
template <class T>
PLIANT_INLINE double one_norm(V3<T> x) {
  return std::fabs(value(x[0])) + std::fabs(value(x[1])) + std::fabs(value(x[2]));
}
template <class T>
PLIANT_INLINE Pack<T> operator+(const Pack<T>& x, const Pack<T>& y) {
  Pack<T> z;
  for (int32_t i = 0; i < kPack; ++i) z.a[i] = x.a[i] + y.a[i];
  return z;
}
template <class T>
PLIANT_INLINE Pack<T> operator-(const Pack<T>& x, const Pack<T>& y) {
  Pack<T> z;
  for (int32_t i = 0; i < kPack; ++i) z.a[i] = x.a[i] - y.a[i];
  return z;
}
template <class T>
PLIANT_INLINE Pack<T> operator*(const Pack<T>& x, T s) {
  Pack<T> z;
  for (int32_t i = 0; i < kPack; ++i) z.a[i] = x.a[i] * s;
  return z;
}
template <class T>
PLIANT_INLINE Pack<T>& operator+=(Pack<T>& x, const Pack<T>& y) {
  return x = x + y;
}
template <class T>
PLIANT_INLINE Pack<T>& operator-=(Pack<T>& x, const Pack<T>& y) {
  return x = x - y;
}
// Forces and moments about one point, world axes, of all loads of a pack; and how large they were
// before elimination took from them (sums of magnitudes).
template <class T>
struct PackedForces {
  Pack<T> f[3], t[3];
  Pack<double> force_size, moment_size;
};

// A wrench in one lane.
template <class T>
PLIANT_INLINE void set_lane(PackedForces<T>& G, int32_t lane, const Vec6<T>& w) {
  for (int32_t i = 0; i < 3; ++i) {
    G.f[i].a[lane] = w.lin[i];
    G.t[i].a[lane] = w.ang[i];
  }
  G.force_size.a[lane] = one_norm(w.lin);
  G.moment_size.a[lane] = one_norm(w.ang);
}

template <class T>
PLIANT_INLINE PackedForces<T> no_loads() {
  const Pack<T> z = no_load<T>();
  return {{z, z, z}, {z, z, z}, no_load<double>(), no_load<double>()};
}

// Moved to the origin of r.
template <class T>
PLIANT_INLINE void move_forces(PackedForces<T>& G, V3<T> r) {
  const T x = r[0], y = r[1], z = r[2];
  G.t[0] += G.f[2] * y - G.f[1] * z;
  G.t[1] += G.f[0] * z - G.f[2] * x;
  G.t[2] += G.f[1] * x - G.f[0] * y;
  G.moment_size += G.force_size * one_norm(r);
}

template <class T>
PLIANT_INLINE Pack<T> product(V3<T> axis, const Pack<T>* v) {
  return v[0] * axis[0] + v[1] * axis[1] + v[2] * axis[2];
}
// Of a motion and forces.
template <class T>
PLIANT_INLINE Pack<T> product(const Vec6<T>& s, const PackedForces<T>& G) {
  return product(s.lin, G.f) + product(s.ang, G.t);
}
// x, but zero where it is rounding of `size`.
template <class T>
PLIANT_INLINE Pack<T> without_rounding(const Pack<T>& x, const Pack<double>& size) {
  Pack<T> z;
  for (int32_t i = 0; i < kPack; ++i) {
    z.a[i] = std::fabs(value(x.a[i])) > kRounding * size.a[i] ? x.a[i] : T(0.0);
  }
  return z;
}

// How large forces are or were.
template <class T>
PLIANT_INLINE Pack<double> size_of(const Pack<T>* v, const Pack<double>& before) {
  Pack<double> z;
  for (int32_t i = 0; i < kPack; ++i) {
    const double now =
        std::fabs(value(v[0].a[i])) + std::fabs(value(v[1].a[i])) + std::fabs(value(v[2].a[i]));
    z.a[i] = now > before.a[i] ? now : before.a[i];
  }
  return z;
}

template <class T>
PLIANT_INLINE Pack<double> size_of_product(const Vec6<T>& s, const PackedForces<T>& G) {
  return size_of(G.f, G.force_size) * one_norm(s.lin) +
         size_of(G.t, G.moment_size) * one_norm(s.ang);
}

template <class T>
PLIANT_INLINE void subtract_scaled(PackedForces<T>& G, const Vec6<T>& c, const Pack<T>& s) {
  for (int32_t i = 0; i < 3; ++i) {
    G.f[i] -= s * c.lin[i];
    G.t[i] -= s * c.ang[i];
  }
}

// Carries forces G at the head of body i, and forces in Data::pack_rhs on its internal
// coordinates, inward through freedoms below `dofs`, adding to y and to the sizes in
// Data::pack_size. `passed(i, G)` is told what every joint passes on.
template <class T, class Passed>
inline void carry_inward(const Model& m, Data<T>& d, int32_t i, PackedForces<T> G, int32_t dofs,
                         Pack<T>* y, Passed passed) {
  Pack<T>* rhs = d.pack_rhs.data();
  Pack<double>* size = d.pack_size.data();
  while (true) {
    const BodyConst& b = m.bodies[i];
    Pack<T>* own = y + b.u0;
    for (int32_t j = b.internals - 1; j >= 0; --j) {
      const InternalWork<T>& internal = d.internal[b.internal0 + j];
      const T* row = &d.coupling[b.coupling0 + j * b.stride];
      own[b.dofs + j] += rhs[j];
      const Pack<T> scaled = rhs[j] * internal.inverse;
      subtract_scaled(G, internal.column, scaled);
      for (int32_t k = 0; k < j; ++k) rhs[k] -= scaled * row[k];
    }
    for (int32_t k = dofs - 1; k >= 0; --k) {
      if (d.held[b.dof0 + k]) continue;
      const DofWork<T>& dof = d.dof[b.dof0 + k];
      const bool slides = k < b.translations;
      const Pack<double> largest =
          slides ? size_of(G.f, G.force_size) : size_of(G.t, G.moment_size);
      const Pack<T> force = without_rounding(product(dof.axis, slides ? G.f : G.t), largest);
      own[k] += force;
      size[b.u0 + k] += largest;
      subtract_scaled(G, dof.U, force * dof.inverse);
    }
    passed(i, G);
    if (b.parent < 0) return;
    const BodyConst& pc = m.bodies[b.parent];
    move_forces(G, d.body[i].arm);
    for (int32_t j = 0; j < pc.internals; ++j) rhs[j] = no_load<T>();
    if (b.parent_node >= 0) {
      const Vec6<T>* s = &d.jacobian[m.nodes[b.parent_node].work0];
      for (int32_t j = 0; j < pc.modes; ++j) {
        const Pack<double> largest = size_of_product(s[j], G);
        rhs[j] = without_rounding(product(s[j], G), largest);
        size[pc.u0 + pc.dofs + j] += largest;
      }
      move_forces(G, d.node[b.parent_node].r);
    }
    i = b.parent;
    dofs = pc.dofs;
  }
}

struct Untold {
  template <class T>
  void operator()(int32_t, const PackedForces<T>&) const {}
};

// Adds the columns of wrenches at a node, world axes. Kinematics of the node must be in Data.
template <class T, class Passed>
inline void add_wrenches(const Model& m, Data<T>& d, int32_t node, PackedForces<T> G, Pack<T>* y,
                         Passed passed) {
  const NodeConst& c = m.nodes[node];
  const BodyConst& b = m.bodies[c.body];
  for (int32_t j = 0; j < b.internals; ++j) d.pack_rhs[j] = no_load<T>();
  for (int32_t j = 0; j < b.modes; ++j) {
    const Pack<double> largest = size_of_product(d.jacobian[c.work0 + j], G);
    d.pack_rhs[j] = without_rounding(product(d.jacobian[c.work0 + j], G), largest);
    d.pack_size[b.u0 + b.dofs + j] += largest;
  }
  move_forces(G, b.modes > 0 ? d.node[node].r : d.body[c.body].R * V3<T>::load(c.position.x));
  carry_inward(m, d, c.body, G, b.dofs, y, passed);
}

// Adds the columns of unit efforts on the freedoms of the joint of body i, one in each lane.
template <class T>
inline void add_efforts(const Model& m, Data<T>& d, int32_t i, Pack<T>* y) {
  const BodyConst& b = m.bodies[i];
  for (int32_t lane = 0; lane < b.dofs; ++lane) {
    const DofWork<T>& dof = d.dof[b.dof0 + lane];
    for (int32_t j = 0; j < b.internals; ++j) d.pack_rhs[j] = no_load<T>();
    y[b.u0 + lane].a[lane] += T(1.0);
    d.pack_size[b.u0 + lane].a[lane] += 1.0;
    PackedForces<T> G = no_loads<T>();
    set_lane(G, lane, dof.U * -dof.inverse);
    carry_inward(m, d, i, G, lane, y, Untold());
  }
}

// 1/D of coordinate k of a body: freedoms first, then modes and wheels, as in u and y.
template <class T>
PLIANT_INLINE T pivot_inverse(const Data<T>& d, const BodyConst& b, int32_t k) {
  if (k >= b.dofs) return d.internal[b.internal0 + k - b.dofs].inverse;
  return d.held[b.dof0 + k] ? T(0.0) : d.dof[b.dof0 + k].inverse;
}

// A list of bodies from the ground outward, ascending.
struct BodyPath {
  const int32_t* bodies;
  int32_t length;
};

// The path of one body, in Data::path.
template <class T>
inline BodyPath path_of(const Model& m, Data<T>& d, int32_t body) {
  int32_t length = 0;
  for (int32_t i = body; i >= 0; i = m.bodies[i].parent) ++length;
  for (int32_t i = body, at = length; i >= 0; i = m.bodies[i].parent) d.path[--at] = i;
  return {d.path.data(), length};
}

// Before loads are added to columns, ...
template <class T>
inline void clear_path(const Model& m, Data<T>& d, BodyPath path, Pack<T>* y) {
  for (int32_t p = 0; p < path.length; ++p) {
    const BodyConst& b = m.bodies[path.bodies[p]];
    for (int32_t k = b.u0; k < b.u0 + b.dofs + b.internals; ++k) {
      y[k] = no_load<T>();
      d.pack_size[k] = no_load<double>();
    }
  }
}

// ... and after it: rounding becomes zero.
template <class T>
inline void clean_path(const Model& m, const Data<T>& d, BodyPath path, Pack<T>* y) {
  for (int32_t p = 0; p < path.length; ++p) {
    const BodyConst& b = m.bodies[path.bodies[p]];
    for (int32_t k = b.u0; k < b.u0 + b.dofs + b.internals; ++k) {
      y[k] = without_rounding(y[k], d.pack_size[k]);
    }
  }
}

// (1) of two packs over the bodies that their paths share: rows[i] holds the products of load i of
// the first with all of the second.
template <class T>
inline void products(const Model& m, const Data<T>& d, BodyPath one, const Pack<T>* y, BodyPath two,
                     const Pack<T>* z, int32_t count, Pack<T>* rows) {
  for (int32_t i = 0; i < count; ++i) rows[i] = no_load<T>();
  for (int32_t p = 0, q = 0; p < one.length && q < two.length;) {
    if (one.bodies[p] < two.bodies[q]) {
      ++p;
    } else if (one.bodies[p] > two.bodies[q]) {
      ++q;
    } else {
      const BodyConst& b = m.bodies[one.bodies[p]];
      for (int32_t k = 0; k < b.dofs + b.internals; ++k) {
        const Pack<T> scaled = z[b.u0 + k] * pivot_inverse(d, b, k);
        const Pack<T>& own = y[b.u0 + k];
        for (int32_t i = 0; i < count; ++i) rows[i] += scaled * own.a[i];
      }
      ++p;
      ++q;
    }
  }
}

}  // namespace pliant::PLIANT_ISA
