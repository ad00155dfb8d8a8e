// kinematics.h: forward kinematics and every Jacobian, each for ONE pose; no allocation, no recursion.
//
// Two walks over the body:
// - `up`, from a frame to the root, for what concerns one frame. Nothing is stored: the transform from the current joint to
//   the frame grows on the left, and a joint's column in the frame's own axes is read off it (the adjoint method, Murray, Li
//   and Sastry 1994, eq. 3.56).
// - `down`, from the root over all primitives, when the whole body is wanted; 12 numbers of workspace each.
// Jacobians are (6, n_v) row-major, [linear; angular].
#pragma once
#include "body.h"

namespace poise {

enum Reference : int { WORLD = 0, LOCAL = 1, SPATIAL = 2 };

// ---------------------------------------------------------------------------------------------- motion of a primitive

// (R, p) <- motion(q) (R, p)
template <class S, class P> POISE_FN void move_left(const P& primitive, const S* q, S* R, S* p) {
  if (primitive.kind == BALL) {
    S M[9];
    matrix_of_quaternion(q + primitive.q_index, M);
    multiply(M, R, R);
    rotate(M, p, p);
    return;
  }
  const S x = coordinate_of(primitive, q);
  if (primitive.kind == PRISMATIC) {
    p[2] += x;
    return;
  }
  S s, c;
  sine_cosine(x, s, c);
  POISE_UNROLL
  for (int k = 0; k < 3; ++k) {
    const S a = R[k], b = R[3 + k];
    R[k] = c * a - s * b;
    R[3 + k] = s * a + c * b;
  }
  const S a = p[0], b = p[1];
  p[0] = c * a - s * b;
  p[1] = s * a + c * b;
  if (primitive.kind == SCREW) p[2] += S(primitive.pitch) * x;
}

// (R, p) <- (R, p) motion(q)
template <class S, class P> POISE_FN void move_right(const P& primitive, const S* q, S* R, S* p) {
  if (primitive.kind == BALL) {
    S M[9], out[9];
    matrix_of_quaternion(q + primitive.q_index, M);
    multiply(R, M, out);
    POISE_UNROLL
    for (int k = 0; k < 9; ++k) R[k] = out[k];
    return;
  }
  const S x = coordinate_of(primitive, q);
  S shift = x;
  if (primitive.kind != PRISMATIC) {
    S s, c;
    sine_cosine(x, s, c);
    POISE_UNROLL
    for (int r = 0; r < 3; ++r) {
      const S a = R[3 * r], b = R[3 * r + 1];
      R[3 * r] = c * a + s * b;
      R[3 * r + 1] = c * b - s * a;
    }
    if (primitive.kind == REVOLUTE) return;
    shift = S(primitive.pitch) * x;
  }
  POISE_UNROLL
  for (int r = 0; r < 3; ++r) p[r] += shift * R[3 * r + 2];
}

// (R, p) <- (fixed R, fixed p) (R, p)
template <class S, class P> POISE_FN void place_left(const P& fixed, S* R, S* p) {
  multiply(fixed.R, R, R);
  rotate(fixed.R, p, p);
  POISE_UNROLL
  for (int k = 0; k < 3; ++k) p[k] += S(fixed.p[k]);
}

template <class S, class F> POISE_FN void start_at(const F& frame, const real_t<S>* point, S* R, S* p) {
  POISE_UNROLL
  for (int k = 0; k < 9; ++k) R[k] = S(frame.R[k]);
  POISE_UNROLL
  for (int k = 0; k < 3; ++k) p[k] = S(frame.p[k]);
  if (point) {
    S offset[3] = {S(point[0]), S(point[1]), S(point[2])};
    rotate(R, offset, offset);
    POISE_UNROLL
    for (int k = 0; k < 3; ++k) p[k] += offset[k];
  }
}

// ---------------------------------------------------------------------------------------------- forward kinematics

// T_world_frame as R and p
template <class S, class Body, class F>
POISE_FN void frame_fk(const Body& body, const F& frame, const S* q, S* R, S* p) {
  start_at<S>(frame, nullptr, R, p);
  for (int i = frame.primitive; i >= 0; i = body[i].parent) {
    move_left(body[i], q, R, p);
    place_left(body[i], R, p);
  }
}

// placements of all primitives: 12 numbers each, R then p
template <class S, class Body> POISE_FN void place_all(const Body& body, const S* q, S* placements) {
  for (int i = 0; i < body.count(); ++i) {
    const auto& b = body[i];
    S* R = placements + 12 * i;
    S* p = R + 9;
    if (b.parent < 0) {
      start_at<S>(b, nullptr, R, p);
    } else {
      const S* up = placements + 12 * b.parent;
      S fixed[9];
      POISE_UNROLL
      for (int k = 0; k < 9; ++k) fixed[k] = S(b.R[k]);
      multiply(up, fixed, R);
      const S offset[3] = {S(b.p[0]), S(b.p[1]), S(b.p[2])};
      rotate(up, offset, p);
      POISE_UNROLL
      for (int k = 0; k < 3; ++k) p[k] += up[9 + k];
    }
    move_right(b, q, R, p);
  }
}

// T_world_frame from the placements
template <class S, class F> POISE_FN void frame_from(const F& frame, const S* placements, S* R, S* p) {
  start_at<S>(frame, nullptr, R, p);
  if (frame.primitive < 0) return;
  const S* up = placements + 12 * frame.primitive;
  multiply(up, R, R);
  rotate(up, p, p);
  POISE_UNROLL
  for (int k = 0; k < 3; ++k) p[k] += up[9 + k];
}

// ---------------------------------------------------------------------------------------------- columns on the way up

// the column of axis k (0, 1, 2: x, y, z) of a joint from which the frame is seen at (R, p), in the frame's own axes
template <class S> POISE_FN void turning_column(const S* R, const S* p, int k, S* column) {
  S axis[3] = {S(real_t<S>(k == 0)), S(real_t<S>(k == 1)), S(real_t<S>(k == 2))};
  S sweep[3];
  cross(axis, p, sweep);
  rotate_back(R, sweep, column);
  POISE_UNROLL
  for (int r = 0; r < 3; ++r) column[3 + r] = R[3 * k + r];
}

// the columns of a primitive (one, or three for a ball), each 6 numbers in the frame's own axes, scaled by the gain
template <class S, class P> POISE_FN int local_columns(const P& primitive, const S* R, const S* p, S* columns) {
  using T = real_t<S>;
  if (primitive.kind == BALL) {
    POISE_UNROLL
    for (int k = 0; k < 3; ++k) turning_column(R, p, k, columns + 6 * k);
    return 3;
  }
  const S gain = S(primitive.gain);
  if (primitive.kind == PRISMATIC) {
    POISE_UNROLL
    for (int r = 0; r < 3; ++r) {
      columns[r] = gain * R[6 + r];
      columns[3 + r] = S(T(0));
    }
    return 1;
  }

  // z x p = (-p1, p0, 0), seen from the frame
  POISE_UNROLL
  for (int r = 0; r < 3; ++r) {
    S linear = p[0] * R[3 + r] - p[1] * R[r];
    if (primitive.kind == SCREW) linear += S(primitive.pitch) * R[6 + r];
    columns[r] = gain * linear;
    columns[3 + r] = gain * R[6 + r];
  }
  return 1;
}

// J <- Ad J for all columns: from the frame's own axes to `reference`
template <class S> POISE_FN void refer(int reference, const S* R, const S* p, int n_v, S* J) {
  if (reference == LOCAL) return;
  for (int c = 0; c < n_v; ++c) {
    S v[3] = {J[c], J[n_v + c], J[2 * n_v + c]};
    S w[3] = {J[3 * n_v + c], J[4 * n_v + c], J[5 * n_v + c]};
    rotate(R, v, v);
    rotate(R, w, w);
    if (reference == SPATIAL) {
      S shift[3];
      cross(p, w, shift);
      POISE_UNROLL
      for (int r = 0; r < 3; ++r) v[r] += shift[r];
    }
    POISE_UNROLL
    for (int r = 0; r < 3; ++r) {
      J[r * n_v + c] = v[r];
      J[(3 + r) * n_v + c] = w[r];
    }
  }
}

// Jacobian (6, n_v) of `point` (in the frame's coordinates) of `frame`
template <class S, class Body, class F>
POISE_FN void frame_jacobian(const Body& body, const F& frame, const real_t<S>* point, int reference, const S* q,
                             int n_v, S* J) {
  for (int k = 0; k < 6 * n_v; ++k) J[k] = S(real_t<S>(0));
  S R[9], p[3], columns[18];
  start_at<S>(frame, point, R, p);
  for (int i = frame.primitive; i >= 0; i = body[i].parent) {
    const auto& b = body[i];
    const int n = local_columns(b, R, p, columns);
    for (int k = 0; k < n; ++k) {
      POISE_UNROLL
      for (int r = 0; r < 6; ++r) J[r * n_v + b.v_index + k] += columns[6 * k + r];
    }
    move_left(b, q, R, p);
    place_left(b, R, p);
  }
  refer(reference, R, p, n_v, J);
}

// ---------------------------------------------------------------------------------------------- second derivatives

// out += ad(a) b = [w_a x v_b + v_a x w_b; w_a x w_b] times scale
template <class S> POISE_FN void add_bracket(const S* a, const S* b, S scale, S* out) {
  S first[3], second[3], third[3];
  cross(a + 3, b, first);
  cross(a, b + 3, second);
  cross(a + 3, b + 3, third);
  POISE_UNROLL
  for (int r = 0; r < 3; ++r) {
    out[r] += scale * (first[r] + second[r]);
    out[3 + r] += scale * third[r];
  }
}

// the twist of `point` of `frame` in its own axes for velocity v, and T_world_frame at that point
template <class S, class Body, class F>
POISE_FN void frame_twist(const Body& body, const F& frame, const real_t<S>* point, const S* q, const S* v, S* R,
                          S* p, S* twist) {
  S columns[18];
  start_at<S>(frame, point, R, p);
  for (int r = 0; r < 6; ++r) twist[r] = S(real_t<S>(0));
  for (int i = frame.primitive; i >= 0; i = body[i].parent) {
    const auto& b = body[i];
    const int n = local_columns(b, R, p, columns);
    for (int k = 0; k < n; ++k) {
      for (int r = 0; r < 6; ++r) twist[r] += columns[6 * k + r] * v[b.v_index + k];
    }
    move_left(b, q, R, p);
    place_left(b, R, p);
  }
}

// Time derivative of the Jacobian along velocity v.
//
// In the frame's own axes a column changes by what moves between its joint and the frame: d(col)/dt = -ad(distal) col, with
// `distal` the twist of the joints passed so far. A reference that turns with the frame adds its own rate: world axes add
// the rotation, the spatial reference the whole twist.
template <class S, class Body, class F>
POISE_FN void frame_jacobian_dot(const Body& body, const F& frame, const real_t<S>* point, int reference, const S* q,
                                 const S* v, int n_v, S* J_dot) {
  using T = real_t<S>;
  for (int k = 0; k < 6 * n_v; ++k) J_dot[k] = S(T(0));
  S R[9], p[3], carried[6], distal[6], columns[18];

  // the rate of the reference, seen from the frame
  frame_twist(body, frame, point, q, v, R, p, carried);
  if (reference == LOCAL) {
    for (int r = 0; r < 6; ++r) carried[r] = S(T(0));
  } else if (reference == WORLD) {
    for (int r = 0; r < 3; ++r) carried[r] = S(T(0));
  }

  start_at<S>(frame, point, R, p);
  for (int r = 0; r < 6; ++r) distal[r] = S(T(0));
  for (int i = frame.primitive; i >= 0; i = body[i].parent) {
    const auto& b = body[i];
    const int n = local_columns(b, R, p, columns);
    for (int k = 0; k < n; ++k) {
      S rate[6] = {S(T(0)), S(T(0)), S(T(0)), S(T(0)), S(T(0)), S(T(0))};
      add_bracket(distal, columns + 6 * k, S(T(-1)), rate);
      add_bracket(carried, columns + 6 * k, S(T(1)), rate);
      for (int r = 0; r < 6; ++r) J_dot[r * n_v + b.v_index + k] += rate[r];
    }
    for (int k = 0; k < n; ++k) {
      for (int r = 0; r < 6; ++r) distal[r] += columns[6 * k + r] * v[b.v_index + k];
    }
    move_left(b, q, R, p);
    place_left(b, R, p);
  }
  refer(reference, R, p, n_v, J_dot);
}

// one column in a list of the frame's columns, root last
template <class S> struct PathColumn {
  int v_index;
  int primitive;
  S twist[6];
};

// the columns of `frame` in world axes, distal first; returns how many
template <class S, class Body, class F>
POISE_FN int path_columns(const Body& body, const F& frame, const S* q, PathColumn<S>* path) {
  S R[9], p[3], columns[18];
  int n_path = 0;
  start_at<S>(frame, nullptr, R, p);
  for (int i = frame.primitive; i >= 0; i = body[i].parent) {
    const auto& b = body[i];
    const int n = local_columns(b, R, p, columns);
    for (int k = 0; k < n; ++k, ++n_path) {
      path[n_path].v_index = b.v_index + k;
      path[n_path].primitive = i;
      for (int r = 0; r < 6; ++r) path[n_path].twist[r] = columns[6 * k + r];
    }
    move_left(b, q, R, p);
    place_left(b, R, p);
  }
  for (int k = 0; k < n_path; ++k) {
    rotate(R, path[k].twist, path[k].twist);
    rotate(R, path[k].twist + 3, path[k].twist + 3);
  }
  return n_path;
}

// Kinematic Hessian H[r, i, k] = d J[r, i] / d v_k in world axes at the frame's origin; `path` is workspace for every column.
//
// A joint k nearer the root turns column i whole: [w_k x v_i; w_k x w_i]. A joint k farther out only moves the frame:
// [w_i x v_k; 0]. Two axes of one ball joint turn each other like the first case, since velocities are in body axes.
template <class S, class Body, class F>
POISE_FN void frame_hessian(const Body& body, const F& frame, const S* q, int n_v, PathColumn<S>* path, S* H) {
  const long long plane = static_cast<long long>(n_v) * n_v;
  for (long long k = 0; k < 6 * plane; ++k) H[k] = S(real_t<S>(0));
  const int n = path_columns(body, frame, q, path);
  for (int a = 0; a < n; ++a) {
    for (int b = 0; b < n; ++b) {
      const S* i = path[a].twist;
      const S* k = path[b].twist;
      S* out = H + static_cast<long long>(path[a].v_index) * n_v + path[b].v_index;
      S linear[3], angular[3];
      if (path[b].primitive <= path[a].primitive) {
        cross(k + 3, i, linear);
        cross(k + 3, i + 3, angular);
        for (int r = 0; r < 3; ++r) out[(3 + r) * plane] += angular[r];
      } else {
        cross(i + 3, k, linear);
      }
      for (int r = 0; r < 3; ++r) out[r * plane] += linear[r];
    }
  }
}

// ---------------------------------------------------------------------------------------------- centre of mass

// Total mass; centre of mass (3) and, where J is not null, its Jacobian (3, n_v). `placements` (12 each) and `sums` (4 each)
// are workspace: sums[4 i] holds the mass and first moment, in the world, of the subtree of primitive i.
template <class S, class Body>
POISE_FN void center_of_mass(const Body& body, const S* q, int n_v, S* placements, S* sums, S* center, S* J) {
  using T = real_t<S>;
  const int n = body.count();
  place_all(body, q, placements);
  S total[4] = {S(body.masses[n].mass), S(body.masses[n].moment[0]), S(body.masses[n].moment[1]),
                S(body.masses[n].moment[2])};
  for (int i = 0; i < n; ++i) {
    const S* R = placements + 12 * i;
    const S mass = S(body.masses[i].mass);
    S moment[3] = {S(body.masses[i].moment[0]), S(body.masses[i].moment[1]), S(body.masses[i].moment[2])};
    rotate(R, moment, moment);
    sums[4 * i] = mass;
    for (int r = 0; r < 3; ++r) sums[4 * i + 1 + r] = moment[r] + mass * R[9 + r];
  }
  for (int i = n - 1; i >= 0; --i) {
    S* above = body[i].parent < 0 ? total : sums + 4 * body[i].parent;
    for (int r = 0; r < 4; ++r) above[r] += sums[4 * i + r];
  }
  const S per_mass = S(T(1)) / total[0];
  for (int r = 0; r < 3; ++r) center[r] = total[1 + r] * per_mass;
  if (!J) return;

  // joint i carries its subtree: [axis x (moment - mass * origin)] / total, or axis * mass / total when it slides
  for (int k = 0; k < 3 * n_v; ++k) J[k] = S(T(0));
  for (int i = 0; i < n; ++i) {
    const auto& b = body[i];
    const S* R = placements + 12 * i;
    const S mass = sums[4 * i];
    S arm[3];
    for (int r = 0; r < 3; ++r) arm[r] = sums[4 * i + 1 + r] - mass * R[9 + r];
    const int first = b.kind == BALL ? 0 : 2;
    for (int k = first; k < 3; ++k) {
      const S axis[3] = {R[k], R[3 + k], R[6 + k]};
      S rate[3] = {S(T(0)), S(T(0)), S(T(0))};
      if (b.kind != PRISMATIC) cross(axis, arm, rate);
      const S slide = b.kind == PRISMATIC ? S(T(1)) : S(b.kind == SCREW ? b.pitch : T(0));
      for (int r = 0; r < 3; ++r) {
        J[r * n_v + b.v_index + k - first] += S(b.gain) * per_mass * (rate[r] + slide * mass * axis[r]);
      }
    }
  }
}

}  // namespace poise
