// body.h: a body as the kernels see it.
//
// Joints of every kind are expanded when a model is built into four primitives that move along or about their own z axis.
// Fixed joints are gone (they are frames), and so are mimic joints: each primitive reads `gain * q[q_index] + bias`.
// Primitives stand in depth-first order, parents first, so the subtree of i is exactly [i, subtree_end).
//
// A kernel is templated on the body too. On the CPU it is a `BodyView` onto arrays of run-time size; on the GPU it may be a
// type whose `count` and numbers are compile-time constants, so that a small arm lives in registers.
#pragma once
#include "rotation.h"

namespace poise {

enum Kind : int { REVOLUTE = 0, PRISMATIC = 1, SCREW = 2, BALL = 3 };

template <class T> struct Primitive {
  int kind;
  int parent;       // -1: the world
  int subtree_end;  // one past the last primitive that moves with this one
  int q_index;      // first of 1 (or 4, ball) coordinates
  int v_index;      // first of 1 (or 3, ball) velocities
  T gain, bias;     // coordinate = gain * q[q_index] + bias; a ball has gain 1, bias 0
  T pitch;          // screw: metres along z per radian
  T R[9], p[3];     // the joint in its parent primitive, before it moves
};

// a named place: fixed to a primitive (or to the world, -1)
template <class T> struct FrameData {
  int primitive;
  T R[9], p[3];
};

// a rigid mass: kilograms, and kilograms times metres in the primitive's own axes
template <class T> struct Mass {
  T mass;
  T moment[3];
};

// where a coordinate of q lives: a plain number or a quaternion
struct Coordinate {
  int q_index;
  int v_index;
  int quaternion;
};

template <class T> struct BodyView {
  using Real = T;
  const Primitive<T>* primitives;
  const Mass<T>* masses;  // count + 1 of them: the last is what stands still in the world
  int n_primitives;
  int n_q, n_v;
  POISE_FN int count() const { return n_primitives; }
  POISE_FN const Primitive<T>& operator[](int i) const { return primitives[i]; }
};

// the value of a one-coordinate primitive
template <class S, class P> POISE_FN S coordinate_of(const P& primitive, const S* q) {
  return S(primitive.gain) * q[primitive.q_index] + S(primitive.bias);
}

}  // namespace poise
