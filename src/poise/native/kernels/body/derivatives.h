// derivatives.h: the time derivative of the Jacobian and the kinematic Hessian, each for ONE pose.
#pragma once
#include "kernels/body/kinematics.h"

namespace poise {

// out += ad(a) b = [w_a x v_b + v_a x w_b; w_a x w_b] times scale
template <class S> POISE_LARGE_FN void add_bracket(const S* a, const S* b, S scale, S* out) {
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
template <class S, class Body, class F> POISE_LARGE_FN void frame_twist(const Body& body, const F& frame,
                                                                        const real_t<S>* point, const S* q, const S* v,
                                                                        S* R, S* p, S* twist) {
  S columns[18];
  start_at<S>(frame, point, R, p);
  for (int r = 0; r < 6; ++r) twist[r] = S(real_t<S>(0));
  for (int i = frame.primitive; i >= 0; i = body[i].parent) {
    const auto& b = body[i];
    const int n = local_columns(b, q, R, p, columns);
    for (int k = 0; k < n; ++k) {
      for (int r = 0; r < 6; ++r) twist[r] += columns[6 * k + r] * v[b.v_index + k];
    }
    move_left(b, q, R, p);
    place_left(b, R, p);
  }
}

// out += scale times the derivative of a path's column by its own coordinate, in the frame's axes; `above`: sized_columns
template <class S, class P> POISE_LARGE_FN void add_own_rate(const P& primitive, const S* q, const S* R, const S* p,
                                                             const real_t<S>* point, S above, S scale, S* out) {
  CurvePoint<S> at;
  S change[6];
  point_of_path(primitive, q, at);
  local_twist(at.dv, at.dw, R, p, change);
  for (int r = 0; r < 3; ++r) change[r] *= above;
  shift_twist(point, change);
  POISE_UNROLL
  for (int r = 0; r < 6; ++r) out[r] += scale * change[r];
}

// Time derivative of the Jacobian below a scale, as in frame_jacobian_dot. With s = growth_of, a scale adds to the
// linear rates of the columns
//
//   (sum of s_k v_k of the scales above it) col_i + s_i (sum of col_k v_k of the joints passed so far)
//
// in world lengths, at the frame's origin; a point in the frame's own axes only turns with them.
template <class S, class Body, class F>
POISE_LARGE_FN void scaled_jacobian_dot(const Body& body, const F& frame, const real_t<S>* point, int reference,
                                        const S* q, const S* v, int n_v, S* J_dot) {
  using T = real_t<S>;
  const S zero = S(T(0));
  S R[9], p[3], carried[6] = {zero, zero, zero, zero, zero, zero}, growing = zero;
  walk_up(body, frame, point, q, R, p, [&](int i, int n, S* columns, S) {
    const auto& b = body[i];
    if (is_scale(b)) growing += growth_of(b, q) * v[b.v_index];
    for (int k = 0; k < n; ++k) {
      shift_twist(point, columns + 6 * k);
      for (int r = 0; r < 6; ++r) carried[r] += columns[6 * k + r] * v[b.v_index + k];
    }
  });
  for (int r = 0; r < (reference == LOCAL ? 6 : reference == WORLD ? 3 : 0); ++r) carried[r] = zero;

  S distal[6] = {zero, zero, zero, zero, zero, zero}, below[3] = {zero, zero, zero};  // with and without the point
  walk_up(body, frame, point, q, R, p, [&](int i, int n, S* columns, S above) {
    const auto& b = body[i];
    const S own = is_scale(b) ? growth_of(b, q) : zero;
    S moved[6] = {zero, zero, zero, zero, zero, zero}, origin[3] = {zero, zero, zero};
    growing -= own * v[b.v_index];
    for (int k = 0; k < n; ++k) {
      S *column = columns + 6 * k, rate[6] = {zero, zero, zero, zero, zero, zero};
      for (int r = 0; r < 3; ++r) {
        rate[r] = growing * column[r] + own * below[r];
        origin[r] += column[r] * v[b.v_index + k];
      }
      shift_twist(point, column);
      add_bracket(distal, column, S(T(-1)), rate);
      add_bracket(carried, column, S(T(1)), rate);
      if (is_path(b)) add_own_rate(b, q, R, p, point, above, v[b.v_index], rate);
      for (int r = 0; r < 6; ++r) {
        J_dot[r * n_v + b.v_index + k] += rate[r];
        moved[r] += column[r] * v[b.v_index + k];
      }
    }
    for (int r = 0; r < 6; ++r) distal[r] += moved[r];
    for (int r = 0; r < 3; ++r) below[r] += origin[r];
  });
  refer(body, frame, reference, R, p, n_v, J_dot);
}

// Time derivative of the Jacobian along velocity v.
// In the frame's own axes a column changes by the motion between its joint and the frame: d(col)/dt = -ad(distal) col,
// with `distal` the twist of the joints passed so far; a path's own twist also changes along its curve. A reference
// that moves with the frame adds its own rate: world axes add the rotation, the spatial reference the whole twist.
template <class S, class Body, class F>
POISE_LARGE_FN void frame_jacobian_dot(const Body& body, const F& frame, const real_t<S>* point, int reference,
                                       const S* q, const S* v, int n_v, S* J_dot) {
  using T = real_t<S>;
  for (int k = 0; k < 6 * n_v; ++k) J_dot[k] = S(T(0));
  if constexpr (ScalarTraits<S>::lanes == 1) {  // scales are rare: packs do without them
    if (is_scaled(frame)) return scaled_jacobian_dot(body, frame, point, reference, q, v, n_v, J_dot);
  }
  S R[9], p[3], carried[6], distal[6], columns[18];

  // the rate of the reference, in the frame's axes
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
    const int n = local_columns(b, q, R, p, columns);
    for (int k = 0; k < n; ++k) {
      S rate[6] = {S(T(0)), S(T(0)), S(T(0)), S(T(0)), S(T(0)), S(T(0))};
      add_bracket(distal, columns + 6 * k, S(T(-1)), rate);
      add_bracket(carried, columns + 6 * k, S(T(1)), rate);
      if (is_path(b)) add_own_rate<S>(b, q, R, p, nullptr, S(T(1)), v[b.v_index], rate);
      for (int r = 0; r < 6; ++r) J_dot[r * n_v + b.v_index + k] += rate[r];
    }
    for (int k = 0; k < n; ++k) {
      for (int r = 0; r < 6; ++r) distal[r] += columns[6 * k + r] * v[b.v_index + k];
    }
    move_left(b, q, R, p);
    place_left(b, R, p);
  }
  refer(body, frame, reference, R, p, n_v, J_dot);
}

// one column in a list of the frame's columns, root last
template <class S> struct PathColumn {
  int v_index;
  int primitive;
  S twist[6];
  S own[6];  // its derivative by its own coordinate, apart from the rotation of its frame; 0 except for a path
  S growth;  // of a scale; otherwise 0
};

// the columns of `frame` in world axes, distal first; returns their number
template <class S, class Body, class F>
POISE_LARGE_FN int path_columns(const Body& body, const F& frame, const S* q, PathColumn<S>* path) {
  S R[9], p[3];
  int n_path = 0;
  walk_up(body, frame, nullptr, q, R, p, [&](int i, int n, S* columns, S above) {
    const auto& b = body[i];
    for (int k = 0; k < n; ++k, ++n_path) {
      PathColumn<S>& to = path[n_path];
      to.v_index = b.v_index + k;
      to.primitive = i;
      to.growth = is_scale(b) ? growth_of(b, q) : S(real_t<S>(0));
      for (int r = 0; r < 6; ++r) to.twist[r] = columns[6 * k + r];
      for (int r = 0; r < 6; ++r) to.own[r] = S(real_t<S>(0));
      if (is_path(b)) add_own_rate<S>(b, q, R, p, nullptr, above, S(real_t<S>(1)), to.own);
    }
  });
  for (int k = 0; k < n_path; ++k) {
    rotate(R, path[k].twist, path[k].twist);
    rotate(R, path[k].twist + 3, path[k].twist + 3);
    rotate(R, path[k].own, path[k].own);
    rotate(R, path[k].own + 3, path[k].own + 3);
  }
  return n_path;
}

// Kinematic Hessian H[r, i, k] = d J[r, i] / d v_k in world axes at the frame's origin; `path` is workspace for every column.
//
// A joint k nearer the root rotates the whole column i: [w_k x v_i; w_k x w_i]. One farther out only moves the frame:
// [w_i x v_k; 0]. Two axes of a ball joint are like the first case: velocities are in body axes. The twist of a path also
// changes along its curve. A scale k nearer the root adds growth_k v_i; a scale i adds growth_i v_k of a joint farther out.
template <class S, class Body, class F>
POISE_LARGE_FN void frame_hessian(const Body& body, const F& frame, const S* q, int n_v, PathColumn<S>* path, S* H) {
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
      for (int r = 0; is_scaled(frame) && a != b && r < 3; ++r) {
        linear[r] += path[b].primitive <= path[a].primitive ? path[b].growth * i[r] : path[a].growth * k[r];
      }
      for (int r = 0; r < 3; ++r) out[r * plane] += linear[r];
      for (int r = 0; a == b && r < 6; ++r) out[r * plane] += path[a].own[r];
    }
  }
}

}  // namespace poise
