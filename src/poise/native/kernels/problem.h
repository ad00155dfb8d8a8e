// problem.h: what a solver works on. The description (Problem) never changes during a solve; what does is in the workspace.
//
// A problem holds only the primitives on which its goals depend, and velocities renumbered without gaps. Postures (Rest,
// MidRange) are not rows: they are a diagonal, `gain_i` towards `wanted_i`.
#pragma once
#include "goals.h"
#include "manifold.h"

namespace poise {

enum LimitHandling : int { LIMITS_ACTIVE = 0, LIMITS_FREEZE = 1, LIMITS_PENALTY = 2, LIMITS_CLAMP = 3, LIMITS_OFF = 4 };

// one velocity of the problem: bounds are on its coordinate, infinite where there are none (quaternions have none)
template <class T> struct Freedom {
  int q_index;  // its coordinate, -1 for the velocities of a quaternion
  int angular;  // 1 if it turns, 0 if it slides
  T lower, upper;
  T weight;  // 1 + stiffness
  T unit2;   // the square of what it is measured in: 1 for turns, L^2 for slides
};

template <class T, class Body, class Goals> struct Problem {
  using Real = T;
  Body body;
  Goals goals;  // goals[i], goals.count(), goals.frames()
  const Coordinate* coordinates;
  int n_coordinates;
  const Freedom<T>* freedoms;  // n_v of them
  int n_q, n_v, n_rows;
  T scale;  // L: lengths are measured in it
};

template <class T> struct GoalList {
  const GoalSpec<T>* specs;
  const FrameData<T>* frame_data;
  int n;
  POISE_FN int count() const { return n; }
  POISE_FN const GoalSpec<T>& operator[](int i) const { return specs[i]; }
  POISE_FN const FrameData<T>* frames() const { return frame_data; }
};

// the run-time posture: D and g of the design; null where there is none
template <class S> struct Posture {
  const S* wanted;               // n_q: the configuration to rest in
  const S* gain;                 // n_v: how strongly, relative to the damping (strictly below the goals)
  S strength = S(real_t<S>(1));  // all gains are multiplied by it
};

// a freedom of the problem
template <class T>
POISE_FN constexpr Freedom<T> freedom(int q_index, bool angular, T lower, T upper, T weight, T scale) {
  return {q_index, angular ? 1 : 0, lower, upper, weight, angular ? T(1) : scale * scale};
}

// Residuals at q: rows (weighted, lengths in units of the scale), errors (metres, radians for each goal), placements kept.
// Returns the cost |rows|^2.
template <class S, class P>
POISE_LARGE_FN S evaluate(const P& problem, const S* q, const S* targets, S* placements, S* rows, S* errors) {
  using T = real_t<S>;
  place_all(problem.body, q, placements);
  S cost = S(T(0));
  const T per_scale = T(1) / problem.scale;
  for (int g = 0; g < problem.goals.count(); ++g) {
    const auto& goal = problem.goals[g];
    GoalPlace<S> at;
    place_goal(goal, problem.goals.frames(), placements, targets, at);
    goal_residual(goal, at, per_scale, rows + goal.first_row, errors + 2 * g);
    for (int k = 0; k < rows_of_goal(goal.op); ++k) cost += rows[goal.first_row + k] * rows[goal.first_row + k];
  }
  return cost;
}

// every goal within its tolerance
template <class S, class P> POISE_FN mask_t<S> within_tolerance(const P& problem, const S* errors, real_t<S> fraction) {
  using T = real_t<S>;
  mask_t<S> good = errors[0] <= S(fraction * problem.goals[0].tolerance[0]);
  for (int g = 0; g < problem.goals.count(); ++g) {
    good = good & (errors[2 * g] <= S(T(fraction * problem.goals[g].tolerance[0])));
    good = good & (errors[2 * g + 1] <= S(T(fraction * problem.goals[g].tolerance[1])));
  }
  return good;
}

// Jacobian of the rows at the placements, column by column: J[column * n_rows + row]
template <class S, class P>
POISE_LARGE_FN void assemble(const P& problem, const S* placements, const S* targets, S* J) {
  using T = real_t<S>;
  const int m = problem.n_rows;
  const T per_scale = T(1) / problem.scale;
  for (int k = 0; k < m * problem.n_v; ++k) J[k] = S(T(0));
  for (int g = 0; g < problem.goals.count(); ++g) {
    const auto& goal = problem.goals[g];
    GoalPlace<S> at;
    GoalWrench<S> wrench;
    place_goal(goal, problem.goals.frames(), placements, targets, at);
    goal_wrench(goal, at, wrench);
    const int on = problem.goals.frames()[goal.frame].primitive;
    const int under = goal.base < 0 ? -1 : problem.goals.frames()[goal.base].primitive;
    for (int i = 0; i < problem.body.count(); ++i) {
      const auto& b = problem.body[i];
      const int sign = int(i <= on && on < b.subtree_end) - int(i <= under && under < b.subtree_end);
      if (sign == 0 || b.v_index < 0) continue;
      for (int k = 0; k < width_of(b.kind); ++k) {
        S linear[3], angular[3];
        world_column(b, k, placements + 12 * i, wrench.point, linear, angular);
        add_goal_column(goal, wrench, per_scale, linear, angular, T(sign), J + (b.v_index + k) * m + goal.first_row);
      }
    }
  }
}

}  // namespace poise
