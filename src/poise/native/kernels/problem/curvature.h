// curvature.h: the second derivative of the goals' rows along a step, from the kinematic Hessian.
//
// Columns of one goal are in the order of the motion, from the base of the target to the goal's frame: for a target in
// the world the joints from the root on; for a target on another frame first that frame's own branch backwards, with
// each motion inverted. For a step d, column i = (v, w) changes by
//
//   dv = w_before x v + w x v_after,   dw = (w_before x w + w x w_after) / 2
//
// with the twists of d summed over the joints before and after it: a joint nearer the root rotates the column, one
// farther out moves the point (derivatives.h). The angular half is the symmetric one: log(exp(a) exp(b)) = a + b + a x
// b / 2 + ... The cost is linear in the joints.
#pragma once
#include "kernels/problem/problem.h"

namespace poise {

template <class S> struct Twist { S v[3], w[3]; };

template <class S> POISE_LARGE_FN void add_twist(S scale, const Twist<S>& a, Twist<S>& out) {
  POISE_UNROLL
  for (int r = 0; r < 3; ++r) {
    out.v[r] += scale * a.v[r];
    out.w[r] += scale * a.w[r];
  }
}

// the i-th primitive on the way, and its sign; 0 if it moves nothing between the two frames
template <class S, class P, class Goal>
POISE_LARGE_FN int sign_of_primitive(const P& problem, const Goal& goal, int i) {
  const auto& b = problem.body[i];
  const int on = problem.goals.frames()[goal.frame].primitive;
  const int under = goal.base < 0 ? -1 : problem.goals.frames()[goal.base].primitive;
  if (b.v_index < 0) return 0;
  return int(i <= on && on < b.subtree_end) - int(i <= under && under < b.subtree_end);
}

// the columns of one primitive at `point`, signed, and the twist that they make together under the step d
template <class S, class P, class Goal>
POISE_LARGE_FN int signed_columns(const P& problem, const Goal& goal, int i, int sign, const S* q, const S* placements,
                                  const S* point, const S* d, Twist<S>* columns, Twist<S>& own) {
  const auto& b = problem.body[i];
  const int width = width_of(b.kind);
  own = Twist<S>{};
  for (int k = 0; k < width; ++k) {
    goal_column(problem, goal, i, k, sign, q, placements, point, columns[k].v, columns[k].w);
    for (int r = 0; r < 3; ++r) {
      columns[k].v[r] *= S(sign);
      columns[k].w[r] *= S(sign);
    }
    add_twist(d[b.v_index + k], columns[k], own);
  }
  return width;
}

// the change of one column, from the twists before, of its own primitive, and after
template <class S> POISE_LARGE_FN void bend_column(const Twist<S>& column, const Twist<S>& before, const Twist<S>& own,
                                                   const Twist<S>& after, Twist<S>& out) {
  const S half = S(0.5);
  Twist<S> turning = before, moving = after;
  add_twist(half, own, turning);
  add_twist(half, own, moving);
  S a[3], b[3];
  cross(turning.w, column.v, a);
  cross(column.w, moving.v, b);
  for (int r = 0; r < 3; ++r) out.v[r] = a[r] + b[r];
  cross(before.w, column.w, a);
  cross(column.w, after.w, b);
  for (int r = 0; r < 3; ++r) out.w[r] = half * (a[r] + b[r]);
}

// the change of a path's column along its own curve, in addition to the rotation of its frame
template <class S, class B> POISE_LARGE_FN void add_own_bend(const B& b, int sign, const S* q, const S* placement,
                                                             const S* point, const S* d, Twist<S>& change) {
  CurvePoint<S> at;
  Twist<S> own;
  point_of_path(b, q, at);
  carry_twist(b, at.dv, at.dw, placement, point, own.v, own.w);
  add_twist(S(sign) * d[b.v_index], own, change);
}

// K += scale * (derivative of J along the step d); K and J column by column as in problem.h
template <class S, class P> POISE_LARGE_FN void add_curvature(const P& problem, const S* q, const S* placements,
                                                              const S* targets, const S* d, real_t<S> scale, S* K) {
  const int m = problem.n_rows, n = problem.body.count();
  for (int g = 0; g < problem.goals.count(); ++g) {
    const auto& goal = problem.goals[g];
    if (goal.op == GOAL_CUSTOM) continue;  // its owner computes its derivative
    GoalPlace<S> at;
    GoalWrench<S> wrench;
    place_goal(goal, problem.goals.frames(), placements, targets, at);
    goal_wrench(goal, at, real_t<S>(1) / problem.scale, wrench);
    Twist<S> columns[3], own, change, before{}, after{};
    for (int i = 0; i < n; ++i) {
      const int sign = sign_of_primitive<S>(problem, goal, i);
      if (sign == 0) continue;
      signed_columns(problem, goal, i, sign, q, placements, wrench.point, d, columns, own);
      add_twist(S(1), own, after);
    }

    // 2 n steps: the base's branch backwards, then the frame's own forwards
    for (int step = 0; step < 2 * n; ++step) {
      const int i = step < n ? n - 1 - step : step - n, wanted = step < n ? -1 : 1;
      if (sign_of_primitive<S>(problem, goal, i) != wanted) continue;
      const int width = signed_columns(problem, goal, i, wanted, q, placements, wrench.point, d, columns, own);
      add_twist(S(-1), own, after);
      for (int k = 0; k < width; ++k) {
        bend_column(columns[k], before, own, after, change);
        if (is_path(problem.body[i])) {
          add_own_bend(problem.body[i], wanted, q, placements + 12 * i, wrench.point, d, change);
        }
        add_goal_column(goal, wrench, real_t<S>(1) / problem.scale, change.v, change.w, scale,
                        K + (problem.body[i].v_index + k) * m + goal.first_row);
      }
      add_twist(S(1), own, before);
    }
  }
}

}  // namespace poise
