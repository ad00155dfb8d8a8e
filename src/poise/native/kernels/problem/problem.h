// problem.h: the input of a solver. The description (Problem) is constant during a solve; variables are in the
// workspace.
//
// A problem has only the primitives on which its goals depend, with consecutive velocities. Postures (Rest, MidRange)
// are not rows but a diagonal, `gain_i` towards `wanted_i`.
#pragma once
#include "kernels/body/cones.h"
#include "kernels/body/manifold.h"
#include "kernels/goals/balance.h"
#include "kernels/goals/relations.h"

namespace poise {

enum LimitHandling : int { LIMITS_ACTIVE = 0, LIMITS_FREEZE = 1, LIMITS_PENALTY = 2, LIMITS_CLAMP = 3, LIMITS_OFF = 4 };

// one velocity of the problem: bounds are on its coordinate, infinite if there are none (quaternions have none)
template <class T> struct Freedom {
  int q_index;  // its coordinate, -1 for the velocities of a quaternion
  int angular;  // 1 if it rotates, 0 if it slides
  T lower, upper;
  T weight;  // 1 + stiffness
  T unit2;   // the square of its unit: 1 for rotations, L^2 for translations
};

template <class T, class Body, class Goals> struct Problem {
  using Real = T;
  Body body;
  Goals goals;  // goals[i], goals.count(), goals.frames()
  const Coordinate* coordinates;
  int n_coordinates;
  const Freedom<T>* freedoms;  // n_v of them
  int n_q, n_v, n_rows;
  T scale;  // L: the unit of length
  const ConeSpec<T>* cones = nullptr;
  int n_cones = 0;
};

template <class T> struct GoalList {
  const GoalSpec<T>* specs;
  const FrameData<T>* frame_data;
  int n;
  const int* point_frames = nullptr;
  POISE_FN int count() const { return n; }
  POISE_FN const GoalSpec<T>& operator[](int i) const { return specs[i]; }
  POISE_FN const FrameData<T>* frames() const { return frame_data; }
  POISE_FN const int* points() const { return point_frames; }  // frames of the supports' points
};

// Goals other than positions and rotations are for single problems: lists of goals for packs have no `points`, problems
// for devices no `cones`.
template <class P> constexpr bool any_goal = requires(const P& problem) {
  problem.cones;
  problem.goals.points();
};

// whether goals may be relations (relations.h); a problem for a device knows it
template <class P> POISE_FN constexpr bool may_relate() {
  if constexpr (requires { P::has_relations; }) {
    return P::has_relations;
  } else {
    return any_goal<P>;
  }
}

// whether goals may depend on the body's mass (balance.h); a problem for a device knows it
template <class P> POISE_FN constexpr bool may_weigh() {
  if constexpr (requires { P::has_masses; }) {
    return P::has_masses;
  } else {
    return any_goal<P>;
  }
}

// the run-time posture: D and g of the design; null without one
template <class S> struct Posture {
  const S* wanted;               // n_q: the configuration to rest in
  const S* gain;                 // n_v: the strength relative to the damping (strictly below the goals)
  S strength = S(real_t<S>(1));  // factor on all gains
  int power = 2;                 // the cost is gain * |apart|^power; even
};

// the factor on a gain for a power other than 2, from the squared distance of the velocity from its target
template <class S> POISE_FN S steepness(const Posture<S>& posture, S square) {
  S out = S(real_t<S>(1));
  for (int k = 2; k < posture.power; k += 2) out *= square;
  return out;
}

// a velocity of the problem
template <class T>
POISE_FN constexpr Freedom<T> freedom(int q_index, bool angular, T lower, T upper, T weight, T scale) {
  return {q_index, angular ? 1 : 0, lower, upper, weight, angular ? T(1) : scale * scale};
}

// the data of a problem for a pose, in numbers: 12 for each primitive and, if goals need the mass, 4 more and 4
POISE_FN constexpr int size_of_placements(int n_primitives) { return 16 * n_primitives + 4; }

// the rows of one goal on a frame, after place_goal
template <class S, class P, class Goal> POISE_FN void residual_at(const P&, const Goal& goal, const GoalPlace<S>& at,
                                                                  const S* targets, real_t<S> per_scale, S* rows,
                                                                  S* errors, S* room) {
  if constexpr (may_relate<P>()) {
    if (is_relation(goal.op)) {
      relation_residual(goal, at, targets + goal.target, per_scale, rows, errors, room);
      return;
    }
  }
  goal_residual(goal, at, per_scale, rows, errors, targets + goal.target + 12, room);
}

// the rows of one goal; `room` as in note_room, or null
template <class S, class P, class Goal>
POISE_FN void residual_of_goal(const P& problem, const Goal& goal, const S* placements, const S* targets,
                               real_t<S> per_scale, S* rows, S* errors, S* room) {
  if constexpr (may_weigh<P>()) {
    if (goal.op == GOAL_CUSTOM) return;
    if (is_of_mass(goal.op)) {
      mass_residual(problem, goal, placements, targets + goal.target, per_scale, rows, errors, room);
      return;
    }
  }
  GoalPlace<S> at;
  place_goal(goal, problem.goals.frames(), placements, targets, at);
  residual_at(problem, goal, at, targets, per_scale, rows, errors, room);
}

// adds sign * (rows of a relation) of primitive i's velocity k to column `out`
template <class S, class P, class Goal> POISE_FN void add_relation_of(const P& problem, const Goal& goal, int i, int k,
                                                                      int sign, const S* q, const S* placements,
                                                                      const S* target_p, const GoalWrench<S>& wrench,
                                                                      const S* targets, S* out) {
  using T = real_t<S>;
  S linear[3], angular[3];
  // the target of a gaze moves as a point of the base; all others act at the goal's own point
  const bool aimed_at = goal.op == GOAL_LOOK && sign < 0;
  goal_column(problem, goal, i, k, sign, q, placements, aimed_at ? target_p : wrench.point, linear, angular);
  if (aimed_at) angular[0] = angular[1] = angular[2] = S(T(0));
  add_relation_column(goal, wrench, targets + goal.target, T(1) / problem.scale, linear, angular, T(sign), out);
}

// the placements of all primitives at q, and the mass if goals need it
template <class S, class P> POISE_FN void place_problem(const P& problem, const S* q, S* placements) {
  place_all(problem.body, q, placements);
  if constexpr (may_weigh<P>()) {
    if (problem.body.masses) gather_mass(problem.body, placements, placements + 12 * problem.body.count());
  }
}

// Residuals at q: rows (weighted, lengths in units of the scale), errors (metres, radians for each goal), placements;
// if `room` is not null, the interval of each row with a range (2 numbers per row, see note_room). Returns the cost
// |rows|^2. The rows of custom goals are unchanged.
template <class S, class P> POISE_LARGE_FN S evaluate(const P& problem, const S* q, const S* targets, S* placements,
                                                      S* rows, S* errors, S* room = nullptr) {
  using T = real_t<S>;
  place_problem(problem, q, placements);
  S cost = S(T(0));
  const T per_scale = T(1) / problem.scale;
  POISE_UNROLL_BODY
  for (int g = 0; g < problem.goals.count(); ++g) {
    const auto& goal = problem.goals[g];
    const int n = rows_of_goal(goal);
    if (room) {
      POISE_UNROLL_BODY
      for (int k = 0; k < n; ++k) {
        room[2 * (goal.first_row + k)] = S(T(1));
        room[2 * (goal.first_row + k) + 1] = S(T(-1));
      }
    }
    residual_of_goal(problem, goal, placements, targets, per_scale, rows + goal.first_row, errors + 2 * g,
                     room ? room + 2 * goal.first_row : nullptr);
    POISE_UNROLL_BODY
    for (int k = 0; k < n; ++k) cost += rows[goal.first_row + k] * rows[goal.first_row + k];
  }
  return cost;
}

// whether every goal is within its tolerance
template <class S, class P> POISE_FN mask_t<S> within_tolerance(const P& problem, const S* errors, real_t<S> fraction) {
  using T = real_t<S>;
  mask_t<S> good = errors[0] <= S(fraction * problem.goals[0].tolerance[0]);
  POISE_UNROLL_BODY
  for (int g = 0; g < problem.goals.count(); ++g) {
    good = good & (errors[2 * g] <= S(T(fraction * problem.goals[g].tolerance[0])));
    good = good & (errors[2 * g + 1] <= S(T(fraction * problem.goals[g].tolerance[1])));
  }
  return good;
}

// calls f(primitive, index of its velocity, sign, column) for all primitives that move a goal's frame, and with the
// opposite sign its base
template <class S, class P, class Goal, class F>
POISE_FN void for_each_column(const P& problem, const Goal& goal, S* J, const F& f) {
  const int on = problem.goals.frames()[goal.frame].primitive;
  const int under = goal.base < 0 ? -1 : problem.goals.frames()[goal.base].primitive;
  POISE_UNROLL_BODY
  for (int i = 0; i < problem.body.count(); ++i) {
    const auto& b = problem.body[i];
    const bool carries = i <= on && on < b.subtree_end, carries_base = i <= under && under < b.subtree_end;
    const int sign = int(carries) - int(carries_base);
    if (is_scale(b) && carries && carries_base && b.v_index >= 0) {  // it moves both, and them apart
      f(i, 0, 1, J + b.v_index * problem.n_rows + goal.first_row);
      f(i, 0, -1, J + b.v_index * problem.n_rows + goal.first_row);
    }
    if (sign == 0 || b.v_index < 0) continue;
    POISE_UNROLL_BODY
    for (int k = 0; k < width_of(b.kind); ++k) f(i, k, sign, J + (b.v_index + k) * problem.n_rows + goal.first_row);
  }
}

// columns of one goal on a frame
template <class S, class P, class Goal> POISE_FN void assemble_goal(const P& problem, const Goal& goal, const S* q,
                                                                    const S* placements, const S* targets, S* J) {
  using T = real_t<S>;
  const T per_scale = T(1) / problem.scale;
  S linear[3], angular[3];
  if (acts_plainly(goal)) {
    S point[3];
    point_from(problem.goals.frames()[goal.frame], placements, point);
    for_each_column(problem, goal, J, [&](int i, int k, int sign, S* out) {
      goal_column(problem, goal, i, k, sign, q, placements, point, linear, angular);
      add_plain_column(goal, per_scale, linear, angular, T(sign), out);
    });
    return;
  }
  GoalPlace<S> at;
  GoalWrench<S> wrench;
  place_goal(goal, problem.goals.frames(), placements, targets, at);
  if constexpr (may_relate<P>()) {
    if (is_relation(goal.op)) {
      relation_wrench(goal, at, targets + goal.target, per_scale, wrench);
      for_each_column(problem, goal, J, [&](int i, int k, int sign, S* out) {
        add_relation_of(problem, goal, i, k, sign, q, placements, at.target_p, wrench, targets, out);
      });
      return;
    }
  }
  goal_wrench(goal, at, per_scale, wrench);
  for_each_column(problem, goal, J, [&](int i, int k, int sign, S* out) {
    goal_column(problem, goal, i, k, sign, q, placements, wrench.point, linear, angular);
    add_goal_column(goal, wrench, per_scale, linear, angular, T(sign), out);
  });
}

// Jacobian of the rows at q, after their placements are computed, column by column: J[column * n_rows + row]; zero for
// custom goals. A row that is inside its range (`room`) is omitted.
template <class S, class P> POISE_LARGE_FN void assemble(const P& problem, const S* q, const S* placements,
                                                         const S* targets, S* J, const S* room = nullptr) {
  using T = real_t<S>;
  const int m = problem.n_rows;
  POISE_UNROLL_BODY
  for (int k = 0; k < m * problem.n_v; ++k) J[k] = S(T(0));
  POISE_UNROLL_BODY
  for (int g = 0; g < problem.goals.count(); ++g) {
    const auto& goal = problem.goals[g];
    if constexpr (may_weigh<P>()) {
      if (goal.op == GOAL_CUSTOM) continue;
      if (is_of_mass(goal.op)) {
        assemble_mass(problem, goal, q, placements, targets + goal.target, T(1) / problem.scale, J);
        continue;
      }
    }
    assemble_goal(problem, goal, q, placements, targets, J);
  }
  if (!room) return;
  POISE_UNROLL_BODY
  for (int r = 0; r < m; ++r) {
    const mask_t<S> rests = (room[2 * r] <= S(T(0))) & (room[2 * r + 1] >= S(T(0)));
    if (!any(rests)) continue;
    POISE_UNROLL_BODY
    for (int c = 0; c < problem.n_v; ++c) J[c * m + r] = select(rests, S(T(0)), J[c * m + r]);
  }
}

}  // namespace poise
