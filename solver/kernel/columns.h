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
// Pack. Cost of a pack: the freedoms and modes on its path.
#pragma once

#include "forward_dynamics.h"

namespace pliant::PLIANT_ISA {

template <class T>
PLIANT_INLINE Pack<T> no_load() {
  Pack<T> z;
  for (int32_t i = 0; i < kPack; ++i) z.a[i] = T(0.0);
  return z;
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

// Forces and moments about one point, world axes, of all loads of a pack.
template <class T>
struct PackedForces {
  Pack<T> f[3], t[3];
};

// A wrench in one lane.
template <class T>
PLIANT_INLINE void set_lane(PackedForces<T>& G, int32_t lane, const Vec6<T>& w) {
  for (int32_t i = 0; i < 3; ++i) {
    G.f[i].a[lane] = w.lin[i];
    G.t[i].a[lane] = w.ang[i];
  }
}

template <class T>
PLIANT_INLINE PackedForces<T> no_loads() {
  const Pack<T> z = no_load<T>();
  return {{z, z, z}, {z, z, z}};
}

// Moved to the origin of r.
template <class T>
PLIANT_INLINE void move_forces(PackedForces<T>& G, V3<T> r) {
  const T x = r[0], y = r[1], z = r[2];
  G.t[0] += G.f[2] * y - G.f[1] * z;
  G.t[1] += G.f[0] * z - G.f[2] * x;
  G.t[2] += G.f[1] * x - G.f[0] * y;
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

template <class T>
PLIANT_INLINE void subtract_scaled(PackedForces<T>& G, const Vec6<T>& c, const Pack<T>& s) {
  for (int32_t i = 0; i < 3; ++i) {
    G.f[i] -= s * c.lin[i];
    G.t[i] -= s * c.ang[i];
  }
}

// Carries forces G at the head of body i, and forces in Data::pack_rhs on its internal
// coordinates, inward through freedoms below `dofs`, adding to y. `passed(i, G)` is told what every
// joint passes on.
template <class T, class Passed>
inline void carry_inward(const Model& m, Data<T>& d, int32_t i, PackedForces<T> G, int32_t dofs,
                         Pack<T>* y, Passed passed) {
  Pack<T>* rhs = d.pack_rhs.data();
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
      const Pack<T> force = product(dof.axis, k < b.translations ? G.f : G.t);
      own[k] += force;
      subtract_scaled(G, dof.U, force * dof.inverse);
    }
    passed(i, G);
    if (b.parent < 0) return;
    const BodyConst& pc = m.bodies[b.parent];
    move_forces(G, d.body[i].arm);
    for (int32_t j = 0; j < pc.internals; ++j) rhs[j] = no_load<T>();
    if (b.parent_node >= 0) {
      const Vec6<T>* s = &d.jacobian[m.nodes[b.parent_node].work0];
      for (int32_t j = 0; j < pc.modes; ++j) rhs[j] = product(s[j], G);
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

// From the head of a body to one of its nodes.
template <class T>
PLIANT_INLINE V3<T> node_arm(const Model& m, const Data<T>& d, int32_t node) {
  const NodeConst& c = m.nodes[node];
  if (m.bodies[c.body].modes > 0) return d.node[node].r;
  return d.body[c.body].R * V3<T>::load(c.position.x);
}

// Adds the columns of wrenches at a node, world axes. Kinematics of the node must be in Data.
template <class T, class Passed>
inline void add_wrenches(const Model& m, Data<T>& d, int32_t node, PackedForces<T> G, Pack<T>* y,
                         Passed passed) {
  const NodeConst& c = m.nodes[node];
  const BodyConst& b = m.bodies[c.body];
  for (int32_t j = 0; j < b.internals; ++j) d.pack_rhs[j] = no_load<T>();
  for (int32_t j = 0; j < b.modes; ++j) d.pack_rhs[j] = product(d.jacobian[c.work0 + j], G);
  move_forces(G, node_arm(m, d, node));
  carry_inward(m, d, c.body, G, b.dofs, y, passed);
}

// Adds the generalised forces c themselves of wrenches at a node, before any elimination: what
// they do to every freedom that is not held, and to every mode.
template <class T>
inline void add_generalised_forces(const Model& m, const Data<T>& d, int32_t node,
                                   PackedForces<T> G, Pack<T>* c) {
  int32_t i = m.nodes[node].body;
  const auto on_modes = [&](int32_t body, int32_t at_node) {
    const BodyConst& b = m.bodies[body];
    const Vec6<T>* s = &d.jacobian[m.nodes[at_node].work0];
    for (int32_t j = 0; j < b.modes; ++j) c[b.u0 + b.dofs + j] += product(s[j], G);
  };
  if (m.bodies[i].modes > 0) on_modes(i, node);
  move_forces(G, node_arm(m, d, node));
  while (true) {
    const BodyConst& b = m.bodies[i];
    for (int32_t k = 0; k < b.dofs; ++k) {
      if (d.held[b.dof0 + k]) continue;
      c[b.u0 + k] += product(d.dof[b.dof0 + k].axis, k < b.translations ? G.f : G.t);
    }
    if (b.parent < 0) return;
    move_forces(G, d.body[i].arm);
    if (b.parent_node >= 0) {
      on_modes(b.parent, b.parent_node);
      move_forces(G, d.node[b.parent_node].r);
    }
    i = b.parent;
  }
}

// Adds the columns of unit efforts on the freedoms of the joint of body i, one in each lane.
template <class T>
inline void add_efforts(const Model& m, Data<T>& d, int32_t i, Pack<T>* y) {
  const BodyConst& b = m.bodies[i];
  for (int32_t lane = 0; lane < b.dofs; ++lane) {
    const DofWork<T>& dof = d.dof[b.dof0 + lane];
    for (int32_t j = 0; j < b.internals; ++j) d.pack_rhs[j] = no_load<T>();
    y[b.u0 + lane].a[lane] += T(1.0);
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

// Before loads are added to the columns of a path.
template <class T>
inline void clear_path(const Model& m, BodyPath path, Pack<T>* y) {
  for (int32_t p = 0; p < path.length; ++p) {
    const BodyConst& b = m.bodies[path.bodies[p]];
    for (int32_t k = b.u0; k < b.u0 + b.dofs + b.internals; ++k) y[k] = no_load<T>();
  }
}

// Sums of products y_i z_j weight(b, k) over the coordinates k of all bodies b that two paths
// share: rows[i] holds those of load i of the first with all of the second.
template <class T, class Weight>
inline void weighted_products(const Model& m, BodyPath one, const Pack<T>* y, BodyPath two,
                              const Pack<T>* z, int32_t count, Pack<T>* rows, Weight weight) {
  for (int32_t i = 0; i < count; ++i) rows[i] = no_load<T>();
  for (int32_t p = 0, q = 0; p < one.length && q < two.length;) {
    if (one.bodies[p] < two.bodies[q]) {
      ++p;
    } else if (one.bodies[p] > two.bodies[q]) {
      ++q;
    } else {
      const BodyConst& b = m.bodies[one.bodies[p]];
      for (int32_t k = 0; k < b.dofs + b.internals; ++k) {
        const Pack<T> scaled = z[b.u0 + k] * weight(b, k);
        const Pack<T>& own = y[b.u0 + k];
        for (int32_t i = 0; i < count; ++i) rows[i] += scaled * own.a[i];
      }
      ++p;
      ++q;
    }
  }
}

// (1) of two packs.
template <class T>
inline void products(const Model& m, const Data<T>& d, BodyPath one, const Pack<T>* y, BodyPath two,
                     const Pack<T>* z, int32_t count, Pack<T>* rows) {
  weighted_products(m, one, y, two, z, count, rows,
                    [&](const BodyConst& b, int32_t k) { return pivot_inverse(d, b, k); });
}

}  // namespace pliant::PLIANT_ISA
