// relations.h: goals between directions, distances and half-spaces; each row a wrench as in goals.h.
//
//   ALIGN     rotation vector from the body's axis to a direction              radians, 3 rows
//   LOOK      the same, with the direction towards a point                     radians, 3 rows
//   DISTANCE  |p - p_base|, in a range                                         metres, 1 row
//   ANGLE     angle between an axis of the frame and one of the base, in a range   radians, 1 row
//   PLANES    n . p <= d, for each half-space                                  metres, 1 row each
//
// Rows of ALIGN and LOOK are exact if the residual is zero, and their product with it (the gradient) is exact
// everywhere; the curvature of the rotation vector across the residual is ignored, as in Gauss-Newton.
#pragma once
#include "kernels/goals/goals.h"

namespace poise {

// a unit vector perpendicular to a
template <class S> POISE_FN void across(const S* a, S* out) {
  using T = real_t<S>;
  const mask_t<S> flat = absolute(a[2]) < S(T(0.7));
  const S other[3] = {select(flat, S(T(0)), S(T(1))), S(T(0)), select(flat, S(T(1)), S(T(0)))};
  cross(a, other, out);
  const S length = square_root(dot(out, out));
  for (int k = 0; k < 3; ++k) out[k] = out[k] / length;
}

// the shortest rotation from unit vector a to unit vector d: its axis, and its angle in [0, pi]
template <class S> POISE_LARGE_FN S shortest_turn(const S* a, const S* d, S* axis) {
  using T = real_t<S>;
  S n[3], any_way[3];
  cross(a, d, n);
  across(a, any_way);
  const S s = square_root(dot(n, n));
  const mask_t<S> known = s > S(tiny_length<T>());
  for (int k = 0; k < 3; ++k) axis[k] = select(known, n[k], any_way[k]) / select(known, s, S(T(1)));
  return positive_atan2(s, dot(a, d));
}

// the target direction of a frame, and the distance of the point that it looks at (1 for a plain direction)
template <class S, class Goal>
POISE_LARGE_FN S wanted_direction(const Goal& goal, const GoalPlace<S>& at, const S* target, S* d) {
  using T = real_t<S>;
  if (goal.op == GOAL_ALIGN) {
    rotate(at.target_R, target + 9, d);
    return S(T(1));
  }
  for (int k = 0; k < 3; ++k) d[k] = at.target_p[k] - at.p[k];
  const S length = maximum(square_root(dot(d, d)), S(T(1e-30)));
  for (int k = 0; k < 3; ++k) d[k] = d[k] / length;
  return length;
}

// rows, errors and room of a goal of this file; `target` has its numbers
template <class S, class Goal> POISE_LARGE_FN void relation_residual(const Goal& goal, const GoalPlace<S>& at,
                                                                     const S* target, real_t<S> per_scale, S* rows,
                                                                     S* errors, S* room) {
  using T = real_t<S>;
  const S zero = S(T(0));
  errors[0] = zero;
  errors[1] = zero;
  S a[3], d[3], n[3];
  if (goal.op == GOAL_ALIGN || goal.op == GOAL_LOOK) {
    const S axis[3] = {S(goal.axis[0]), S(goal.axis[1]), S(goal.axis[2])};
    rotate(at.R, axis, a);
    wanted_direction(goal, at, target, d);
    errors[1] = shortest_turn(a, d, n);
    for (int k = 0; k < 3; ++k) rows[k] = S(goal.weight[3]) * errors[1] * n[k];
    return;
  }
  if (goal.op == GOAL_PLANES) {
    for (int k = 0; k < goal.n_rows; ++k) {
      const S* plane = target + 12 + 4 * k;
      const S e = plane[3] - dot(plane, at.p), low = S(T(-1e30)), weight = S(goal.weight[0] * per_scale);
      if (room) note_room(e, low, zero, weight, room + 2 * k);
      const S left = beyond(e, low, zero);
      errors[0] += left * left;
      rows[k] = weight * left;
    }
    errors[0] = square_root(errors[0]);
    return;
  }
  S value;
  if (goal.op == GOAL_DISTANCE) {
    for (int k = 0; k < 3; ++k) d[k] = at.p[k] - at.target_p[k];
    value = square_root(dot(d, d));
  } else {
    const S axis[3] = {S(goal.axis[0]), S(goal.axis[1]), S(goal.axis[2])};
    const S axis2[3] = {S(goal.axis2[0]), S(goal.axis2[1]), S(goal.axis2[2])};
    rotate(at.R, axis, a);
    rotate(at.target_R, axis2, d);
    value = shortest_turn(a, d, n);
  }
  const bool length = goal.op == GOAL_DISTANCE;
  const S weight = S(length ? goal.weight[0] * per_scale : goal.weight[3]), low = target[12], high = target[18];
  if (room) note_room(zero - value, low, high, weight, room);
  const S left = beyond(zero - value, low, high);
  errors[length ? 0 : 1] = absolute(left);
  rows[0] = weight * left;
}

// the wrench of the rows at the goal's point; planes are below
template <class S, class Goal> POISE_LARGE_FN void relation_wrench(const Goal& goal, const GoalPlace<S>& at,
                                                                   const S* target, real_t<S> per_scale,
                                                                   GoalWrench<S>& wrench) {
  using T = real_t<S>;
  for (int k = 0; k < 3; ++k) wrench.point[k] = at.p[k];
  if (goal.op == GOAL_PLANES) return;
  S a[3], d[3], n[3];
  if (goal.op == GOAL_DISTANCE) {
    for (int k = 0; k < 3; ++k) d[k] = at.p[k] - at.target_p[k];
    const S length = square_root(dot(d, d));
    const mask_t<S> known = length > S(T(1e-30));
    for (int k = 0; k < 3; ++k) {
      const S unit = select(known, d[k], S(T(k == 0))) / select(known, length, S(T(1)));
      wrench.pulling[k] = S(goal.weight[0] * per_scale) * unit;
    }
    return;
  }
  const S axis[3] = {S(goal.axis[0]), S(goal.axis[1]), S(goal.axis[2])};
  rotate(at.R, axis, a);
  if (goal.op == GOAL_ANGLE) {
    const S axis2[3] = {S(goal.axis2[0]), S(goal.axis2[1]), S(goal.axis2[2])};
    rotate(at.target_R, axis2, d);
    shortest_turn(a, d, n);
    for (int k = 0; k < 3; ++k) wrench.turning[k] = S(T(0) - goal.weight[3]) * n[k];
    return;
  }
  const S far = wanted_direction(goal, at, target, d);
  const S weight = S(goal.weight[3]), reach = weight / far;
  for (int k = 0; k < 3; ++k) {
    for (int r = 0; r < 3; ++r) wrench.turning[3 * k + r] = weight * (S(T(k == r)) - a[k] * a[r]);
  }
  if (goal.op == GOAL_ALIGN) return;
  const S turned[9] = {S(T(0)), S(T(0)) - d[2], d[1], d[2], S(T(0)), S(T(0)) - d[0], S(T(0)) - d[1], d[0], S(T(0))};
  for (int k = 0; k < 9; ++k) wrench.pulling[k] = reach * turned[k];
}

// adds sign * (rows of the goal) to column `out`
template <class S, class Goal> POISE_LARGE_FN void add_relation_column(const Goal& goal, const GoalWrench<S>& wrench,
                                                                       const S* target, real_t<S> per_scale,
                                                                       const S* linear, const S* angular,
                                                                       real_t<S> sign, S* out) {
  if (goal.op == GOAL_PLANES) {
    for (int k = 0; k < goal.n_rows; ++k)
      out[k] += S(sign * goal.weight[0] * per_scale) * dot(target + 12 + 4 * k, linear);
    return;
  }
  for (int k = 0; k < rows_of_goal(goal); ++k)
    out[k] += S(sign) * (dot(wrench.pulling + 3 * k, linear) + dot(wrench.turning + 3 * k, angular));
}

}  // namespace poise
