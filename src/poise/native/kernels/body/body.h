// body.h: a body in the form used by the kernels.
//
// Joints of every kind are expanded when a model is built into primitives: those that move along or about their own z axis,
// a ball (quaternion), a slide along three axes (the translation of a free base, one primitive instead of three), a path, which
// runs along a curve (curve.h), and a scale, which multiplies the lengths between it and its descendants by its
// coordinate; frames stay rigid, and so do points in their own axes.
// Fixed joints are gone (they are frames), and so are mimic joints: each primitive reads `gain * q[q_index] + bias`.
// Primitives are in depth-first order, parents first, so the subtree of i is exactly [i, subtree_end).
//
// Kernels are templates over the body too. On the CPU it is a `BodyView` of arrays of run-time size; on the GPU it may
// be a type whose `count` and numbers are compile-time constants, so that a small arm fits into registers.
#pragma once
#include "kernels/body/curve.h"

namespace poise {

enum Kind : int { REVOLUTE = 0, PRISMATIC = 1, SCREW = 2, BALL = 3, SLIDE3 = 4, PATH = 5, SCALE = 6 };

// The rotation of a joint in its parent, if it needs no products: R is the identity with its columns cyclically shifted
// by 0, 1 or 2, or a quarter turn about x, as for the joints of most arms.
enum Turn : int { GENERAL_TURN = -1, NO_TURN = 0, ROLL_1 = 1, ROLL_2 = 2, QUARTER_X = 3, QUARTER_X_BACK = 4 };

// The bound of an unlimited range is this or more; Python's infinities are converted to it.
template <class T> constexpr T open_end = T(1e30);

// whether a bound is finite
template <class T> POISE_FN constexpr bool is_bounded(T end) { return end < open_end<T> && end > T(0) - open_end<T>; }

template <class T> struct Primitive {
  int kind;
  int parent;                    // -1: the world
  int subtree_end;               // one past the last primitive in its subtree
  int q_index;                   // first of its coordinates: 1, ball 4, slide3 3
  int v_index;                   // first of its velocities: 1, ball and slide3 3; -1 in a problem that may not move it
  int turn;                      // a Turn: the kind of R
  bool scaled = false;           // it is a scale, or below one: its placement has the rotation times a factor
  T gain, bias;                  // coordinate = gain * q[q_index] + bias; ball and slide3 have gain 1, bias 0
  T pitch;                       // screw: metres along z per radian
  T R[9], p[3];                  // the joint in its parent primitive, at zero
  const Curve* curve = nullptr;  // path: its curve, owned by the holder of the primitive
};

// a named frame, fixed to a primitive (or to the world, -1)
template <class T> struct FrameData {
  int primitive;
  bool scaled = false;  // below a scale
  T R[9], p[3];
  T point[3] = {};  // of a scaled frame: the point in its own axes, which do not grow
};

// a rigid mass: kilograms, and kilograms times metres in the primitive's own axes
template <class T> struct Mass {
  T mass;
  T moment[3];
};

// a coordinate of q: a plain number or a quaternion
struct Coordinate {
  int q_index;
  int v_index;
  int quaternion;
};

template <class T> struct BodyView {
  using Real = T;
  const Primitive<T>* primitives;
  const Mass<T>* masses;  // count + 1 of them: the last is fixed to the world
  int n_primitives;
  int n_q, n_v;
  bool shared_columns;  // whether a velocity moves several primitives (mimic joints)
  POISE_FN int count() const { return n_primitives; }
  POISE_FN const Primitive<T>& operator[](int i) const { return primitives[i]; }
};

// the number of velocities of a primitive
POISE_FN constexpr int width_of(int kind) { return kind == BALL || kind == SLIDE3 ? 3 : 1; }

// whether it rotates about an axis
POISE_FN constexpr bool is_hinge(int kind) { return kind == REVOLUTE || kind == SCREW; }

// whether it moves along a curve; never on a GPU, nor in a problem with hinges only
template <class P> POISE_FN constexpr bool is_path(const P& primitive) {
  if constexpr (!has_device_trig && requires { primitive.curve; }) {
    return primitive.kind == PATH;
  } else {
    return false;
  }
}

// whether a primitive, or a frame, is below a scale; never on a GPU, nor in a problem of hinges alone
template <class P> POISE_FN constexpr bool is_scaled(const P& part) {
  if constexpr (!has_device_trig && requires { part.scaled; }) {
    return part.scaled;
  } else {
    return false;
  }
}

// whether it is a scale itself
template <class P> POISE_FN constexpr bool is_scale(const P& primitive) {
  if constexpr (!has_device_trig && requires { primitive.scaled; }) {
    return primitive.kind == SCALE;
  } else {
    return false;
  }
}

// the value of a one-coordinate primitive
template <class S, class P> POISE_FN S coordinate_of(const P& primitive, const S* q) {
  return S(primitive.gain) * q[primitive.q_index] + S(primitive.bias);
}

// The factor of a scale, at least 1e-12 in size: at zero everything below it would collapse to a point.
template <class S, class P> POISE_FN S factor_of(const P& primitive, const S* q) {
  const S x = coordinate_of(primitive, q), least = S(real_t<S>(1e-12));
  return select(absolute(x) < least, least, x);
}

// how fast the factor grows per unit of q, relative to its size
template <class S, class P> POISE_FN S growth_of(const P& primitive, const S* q) {
  return S(primitive.gain) / factor_of(primitive, q);
}

// the factor of a placement below a scale, whose first nine numbers are a rotation times it; negative if it mirrors
template <class S> POISE_FN S size_of(const S* placement) {
  const S x[3] = {placement[0], placement[3], placement[6]}, y[3] = {placement[1], placement[4], placement[7]},
          z[3] = {placement[2], placement[5], placement[8]};
  S side[3];
  cross(x, y, side);
  const S size = square_root(dot(x, x));
  return select(dot(side, z) < S(real_t<S>(0)), S(real_t<S>(0)) - size, size);
}

// The position of a path and its twist per unit of q; only for primitives with `is_path`.
template <class S, class P> POISE_FN void point_of_path(const P& primitive, const S* q, CurvePoint<S>& at) {
  if constexpr (!has_device_trig && requires { primitive.curve; }) {
    read_point(*primitive.curve, coordinate_of(primitive, q), S(primitive.gain), at);
  }
}

// The twist of a path, or its derivative, at `point` in world axes; `placement` is the placement of the path's frame.
template <class S, class P> POISE_FN void carry_twist(const P& path, const S* v, const S* w, const S* placement,
                                                      const S* point, S* linear, S* angular) {
  const S arm[3] = {point[0] - placement[9], point[1] - placement[10], point[2] - placement[11]};
  S slide[3];
  rotate(placement, v, slide);
  rotate(placement, w, angular);
  if (is_scaled(path)) {
    const S per_size = S(real_t<S>(1)) / size_of(placement);
    for (int r = 0; r < 3; ++r) angular[r] *= per_size;
  }
  cross(angular, arm, linear);
  POISE_UNROLL
  for (int r = 0; r < 3; ++r) linear[r] += slide[r];
}

}  // namespace poise
