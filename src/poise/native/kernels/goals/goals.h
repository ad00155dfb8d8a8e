// goals.h: residuals and Jacobian rows of goals.
//
// Every row is a wrench (force f, torque t) at one point of the world, acting on a frame and, for a goal relative to
// another frame, with the opposite sign on that one: J[row, column] = f . linear + t . angular of the column's motion
// at the point. So goals do not depend on joint kinds, nor joints on goals.
//
// Residuals are target minus current, times the weight; lengths are in units of `scale` (the body's L), so that a
// solver treats bodies of any size alike.
#pragma once
#include "kernels/body/kinematics.h"

namespace poise {

enum GoalOp : int {
  GOAL_POSITION = 0,
  GOAL_ROTATION = 1,
  GOAL_POSE = 2,
  GOAL_ALIGN = 3,  // 3 to 7: relations.h
  GOAL_LOOK = 4,
  GOAL_DISTANCE = 5,
  GOAL_ANGLE = 6,
  GOAL_PLANES = 7,
  GOAL_COM = 8,  // 8 and 9: balance.h
  GOAL_BALANCE = 9,
  GOAL_CUSTOM = 10,  // rows that are filled in elsewhere
};

// the operations of this header: a frame's position, rotation or both
POISE_FN constexpr bool is_plain(int op) { return op == GOAL_POSITION || op == GOAL_ROTATION || op == GOAL_POSE; }
// goals that depend on all of the body's mass (balance.h)
POISE_FN constexpr bool is_of_mass(int op) { return op == GOAL_COM || op == GOAL_BALANCE; }
// goals between two frames, or a frame and something in the world (relations.h)
POISE_FN constexpr bool is_relation(int op) { return !is_plain(op) && !is_of_mass(op) && op != GOAL_CUSTOM; }
// goals with a target direction: three rows, in which rotation about it is free
POISE_FN constexpr bool is_direction(int op) { return op == GOAL_ALIGN || op == GOAL_LOOK; }
// goals whose only error is an angle
POISE_FN constexpr bool is_angular(int op) { return op == GOAL_ROTATION || op == GOAL_ANGLE || is_direction(op); }
// goals with zero cost over a range of their quantity; others have it with Range targets
POISE_FN constexpr bool is_ranged(int op) {
  return op == GOAL_DISTANCE || op == GOAL_ANGLE || op == GOAL_PLANES || op == GOAL_BALANCE;
}

template <class T> struct GoalSpec {
  int op;
  int frame;       // index into the problem's frames; the goal's point is folded into it
  int base;        // frame of the target, or -1 for the world
  int first_row;   // its first row
  int target;      // index of its numbers among the targets: R (9) then p (3)
  int exact;       // use the exact derivative of the rotation's log: if some axes are free
  T weight[6];     // [linear; angular]; 0 for a free component
  T tolerance[2];  // metres, radians
  int level = 0;   // 0 has the highest priority
  int local = 0;   // position rows along the target's axes, not the world's
  int ranged = 0;  // after the target come 6 lower and 6 upper bounds: deviations from it without cost
  int n_rows = 0;  // for goals whose op does not determine it
  int first_point = 0, n_points = 0;  // the supports of a balance, among the problem's points
  T axis[3] = {}, axis2[3] = {};      // on the frame, and on the base
};

template <class Goal> POISE_FN constexpr int rows_of_goal(const Goal& goal) {
  if (goal.op == GOAL_POSE) return 6;
  return is_plain(goal.op) || is_direction(goal.op) ? 3 : goal.n_rows;
}

// the number of its active rows
template <class Goal> POISE_FN constexpr int count_asking_rows(const Goal& goal) {
  if (!is_plain(goal.op)) return is_direction(goal.op) ? 2 : goal.n_rows;
  int count = 0;
  for (int k = goal.op == GOAL_ROTATION ? 3 : 0; k < (goal.op == GOAL_POSITION ? 3 : 6); ++k)
    count += goal.weight[k] > 0;
  return count;
}

// The residual of e = target - current if the deviation -e may be in [low, high]; exactly 0 inside.
template <class S> POISE_FN S beyond(S e, S low, S high) {
  return e + minimum(maximum(S(real_t<S>(0)) - e, low), high);
}

// The interval in which a row with a range may move, in the row's own units: room[0] <= 0 <= room[1] inside the range.
// If the row has no range, room[0] > room[1].
template <class S> POISE_FN void note_room(S e, S low, S high, S weight, S* room) {
  if (!room) return;
  using T = real_t<S>;
  const mask_t<S> ranged = low < high;
  room[0] = select(ranged, weight * (low + e), S(T(1)));
  room[1] = select(ranged, weight * (high + e), S(T(-1)));
}

// the current and the target placement of a goal's frame
template <class S> struct GoalPlace {
  S R[9], p[3];                // now, in the world
  S target_R[9], target_p[3];  // target, in the world
};

template <class S, class Goal, class Frames> POISE_LARGE_FN void place_goal(const Goal& goal, const Frames& frames,
                                                                            const S* placements, const S* targets,
                                                                            GoalPlace<S>& at) {
  frame_from(frames[goal.frame], placements, at.R, at.p);
  const S* R = targets + goal.target;
  if (goal.base < 0) {
    POISE_UNROLL
    for (int k = 0; k < 9; ++k) at.target_R[k] = R[k];
    POISE_UNROLL
    for (int k = 0; k < 3; ++k) at.target_p[k] = R[9 + k];
    return;
  }
  S base_R[9], base_p[3];
  frame_from(frames[goal.base], placements, base_R, base_p);
  multiply(base_R, R, at.target_R);
  rotate(base_R, R + 9, at.target_p);
  POISE_UNROLL
  for (int k = 0; k < 3; ++k) at.target_p[k] += base_p[k];
}

// rotation error log(R_target R^T) in world axes
template <class S> POISE_FN void rotation_error(const GoalPlace<S>& at, S* w) {
  S M[9];
  POISE_UNROLL
  for (int r = 0; r < 3; ++r) {
    POISE_UNROLL
    for (int c = 0; c < 3; ++c) M[3 * r + c] = dot(at.target_R + 3 * r, at.R + 3 * c);
  }
  log_of_matrix(M, w);
}

// Rows of a position: `apart` is target minus current in the world; `range` has 6 lower and 6 upper bounds, if the goal
// has a range.
template <class S, class Goal> POISE_LARGE_FN void position_residual(const Goal& goal, const S* apart,
                                                                     const S* target_R, const S* range,
                                                                     real_t<S> per_scale, S* rows, S* errors, S* room) {
  using T = real_t<S>;
  S all[3] = {apart[0], apart[1], apart[2]};
  if (goal.local) rotate_back(target_R, apart, all);
  POISE_UNROLL
  for (int k = 0; k < 3; ++k) {
    const S weight = S(goal.weight[k] * per_scale);
    S e = all[k];
    if (goal.ranged && range) {
      if (room) note_room(e, range[k], range[6 + k], weight, room + 2 * k);
      e = beyond(e, range[k], range[6 + k]);
    }
    if (goal.weight[k] > T(0)) errors[0] += e * e;
    rows[k] = weight * e;
  }
  errors[0] = square_root(errors[0]);
}

// Residual rows of one goal and its unweighted errors: metres and radians over the components with a weight. Components
// are along world axes for positions and for full rotations, along the target's axes if axes are free.
template <class S, class Goal> POISE_LARGE_FN void goal_residual(const Goal& goal, const GoalPlace<S>& at,
                                                                 real_t<S> per_scale, S* rows, S* errors,
                                                                 const S* range = nullptr, S* room = nullptr) {
  using T = real_t<S>;
  errors[0] = S(T(0));
  errors[1] = S(T(0));
  int row = 0;
  if (goal.op != GOAL_ROTATION && (goal.local || goal.ranged)) {
    const S apart[3] = {at.target_p[0] - at.p[0], at.target_p[1] - at.p[1], at.target_p[2] - at.p[2]};
    position_residual(goal, apart, at.target_R, range, per_scale, rows, errors, room);
    row = 3;
  } else if (goal.op != GOAL_ROTATION) {
    POISE_UNROLL
    for (int k = 0; k < 3; ++k) {
      const S e = at.target_p[k] - at.p[k];
      if (goal.weight[k] > T(0)) errors[0] += e * e;
      rows[k] = S(goal.weight[k] * per_scale) * e;
    }
    errors[0] = square_root(errors[0]);
    row = 3;
  }
  if (goal.op != GOAL_POSITION) {
    S w[3];
    rotation_error(at, w);
    if (goal.exact) rotate_back(at.target_R, w, w);
    POISE_UNROLL
    for (int k = 0; k < 3; ++k) {
      if (goal.ranged && goal.exact && range) {
        if (room) note_room(w[k], range[3 + k], range[9 + k], S(goal.weight[3 + k]), room + 2 * (row + k));
        w[k] = beyond(w[k], range[3 + k], range[9 + k]);
      }
      if (goal.weight[3 + k] > T(0)) errors[1] += w[k] * w[k];
      rows[row + k] = S(goal.weight[3 + k]) * w[k];
    }
    errors[1] = square_root(errors[1]);
  }
}

// A goal's rows act on the twist of its point: linear rows are weight / scale times the linear part (or `pulling` times it);
// angular rows are `turning` times the angular part.
template <class S> struct GoalWrench {
  S point[3];
  S turning[9] = {};
  S pulling[9] = {};
};

// rows along the target's axes
template <class S, class Goal>
POISE_FN void pull_locally(const Goal& goal, const S* target_R, real_t<S> per_scale, S* pulling) {
  POISE_UNROLL
  for (int k = 0; k < 3; ++k) {
    POISE_UNROLL
    for (int r = 0; r < 3; ++r) pulling[3 * k + r] = S(goal.weight[k] * per_scale) * target_R[3 * r + k];
  }
}

template <class S, class Goal>
POISE_LARGE_FN void goal_wrench(const Goal& goal, const GoalPlace<S>& at, real_t<S> per_scale, GoalWrench<S>& wrench) {
  using T = real_t<S>;
  POISE_UNROLL
  for (int k = 0; k < 3; ++k) wrench.point[k] = at.p[k];
  if (goal.local) pull_locally(goal, at.target_R, per_scale, wrench.pulling);
  if (goal.op == GOAL_POSITION || !goal.exact) return;

  // rows of R_target^T Jr^-1(w): the derivative of the log by a rotation of the frame in world axes is Jr^-1
  S w[3];
  rotation_error(at, w);
  const S d = inverse_jacobian_term(dot(w, w));
  POISE_UNROLL
  for (int k = 0; k < 3; ++k) {
    // row k of the product is Jr^-T applied to the target's axis k: a - w x a / 2 + d w x (w x a)
    const S axis[3] = {at.target_R[k], at.target_R[3 + k], at.target_R[6 + k]};
    bend(w, S(T(-0.5)), d, axis, wrench.turning + 3 * k);
    POISE_UNROLL
    for (int r = 0; r < 3; ++r) wrench.turning[3 * k + r] *= S(goal.weight[3 + k]);
  }
}

// the motion of `point` per unit velocity k of a placed primitive, in world axes
template <class S, class P> POISE_LARGE_FN void world_column(const P& primitive, int k, const S* q, const S* placement,
                                                             const S* point, S* linear, S* angular) {
  using T = real_t<S>;
  if (is_path(primitive)) {
    CurvePoint<S> at;
    point_of_path(primitive, q, at);
    carry_twist(primitive, at.v, at.w, placement, point, linear, angular);
    return;
  }
  const int axis = width_of(primitive.kind) == 3 ? k : 2;
  const S a[3] = {placement[axis], placement[3 + axis], placement[6 + axis]};
  const S gain = S(primitive.gain);
  if (primitive.kind == PRISMATIC || primitive.kind == SLIDE3) {
    POISE_UNROLL
    for (int r = 0; r < 3; ++r) {
      linear[r] = gain * a[r];
      angular[r] = S(T(0));
    }
    return;
  }
  const S arm[3] = {point[0] - placement[9], point[1] - placement[10], point[2] - placement[11]};
  if (is_scaled(primitive)) {
    const S per_size = S(T(1)) / size_of(placement), growth = growth_of(primitive, q);
    cross(a, arm, linear);
    for (int r = 0; r < 3; ++r) {
      linear[r] = is_scale(primitive) ? growth * arm[r] : gain * per_size * linear[r];
      if (primitive.kind == SCREW) linear[r] += gain * S(primitive.pitch) * a[r];
      angular[r] = is_scale(primitive) ? S(T(0)) : gain * per_size * a[r];
    }
    return;
  }
  cross(a, arm, linear);
  POISE_UNROLL
  for (int r = 0; r < 3; ++r) {
    if (primitive.kind == SCREW) linear[r] += S(primitive.pitch) * a[r];
    linear[r] *= gain;
    angular[r] = gain * a[r];
  }
}

// The same for primitive i on the way to a goal's frame, or to its base where `sign` is negative. A scale carries the origins of
// frames: points in their own axes do not grow.
template <class S, class P, class Goal>
POISE_LARGE_FN void goal_column(const P& problem, const Goal& goal, int i, int k, int sign, const S* q,
                                const S* placements, const S* point, S* linear, S* angular) {
  const auto& b = problem.body[i];
  if (is_scale(b)) {
    S origin[3];
    origin_from(problem.goals.frames()[sign > 0 ? goal.frame : goal.base], placements, origin);
    world_column(b, k, q, placements + 12 * i, origin, linear, angular);
  } else {
    world_column(b, k, q, placements + 12 * i, point, linear, angular);
  }
}

// whether a goal's rows are weights times the motion of its point in world axes, and no wrench is needed
template <class Goal> POISE_FN bool acts_plainly(const Goal& goal) {
  return is_plain(goal.op) && !goal.local && !goal.exact;
}

// adds sign * (rows of such a goal) to column `out`
template <class S, class Goal> POISE_LARGE_FN void add_plain_column(const Goal& goal, real_t<S> per_scale,
                                                                    const S* linear, const S* angular, real_t<S> sign,
                                                                    S* out) {
  int row = 0;
  if (goal.op != GOAL_ROTATION) {
    POISE_UNROLL
    for (int k = 0; k < 3; ++k) out[k] += S(sign * goal.weight[k] * per_scale) * linear[k];
    row = 3;
  }
  if (goal.op != GOAL_POSITION) {
    POISE_UNROLL
    for (int k = 0; k < 3; ++k) out[row + k] += S(sign * goal.weight[3 + k]) * angular[k];
  }
}

// adds sign * (rows of the goal) to column `out`
template <class S, class Goal> POISE_LARGE_FN void add_goal_column(const Goal& goal, const GoalWrench<S>& wrench,
                                                                   real_t<S> per_scale, const S* linear,
                                                                   const S* angular, real_t<S> sign, S* out) {
  int row = 0;
  if (goal.op != GOAL_ROTATION) {
    POISE_UNROLL
    for (int k = 0; k < 3; ++k) {
      out[k] +=
          goal.local ? S(sign) * dot(wrench.pulling + 3 * k, linear) : S(sign * goal.weight[k] * per_scale) * linear[k];
    }
    row = 3;
  }
  if (goal.op != GOAL_POSITION) {
    POISE_UNROLL
    for (int k = 0; k < 3; ++k) {
      out[row + k] +=
          goal.exact ? S(sign) * dot(wrench.turning + 3 * k, angular) : S(sign * goal.weight[3 + k]) * angular[k];
    }
  }
}

}  // namespace poise
