// ccd.h: cyclic coordinate descent (Wang and Chen 1991; Welman 1993, section 4.2), one sweep over the body.
//
// Each joint in turn takes the rotation (or translation) that brings all effectors below it closest to their targets,
// while the others are fixed. With positions in units of L and rotations measured by their chord, this is the closed
// form of turns.h, for any number of effectors, positions and rotations together. Weights that differ between
// components are handled by moving the target towards the current value: w_k^2 (t - p)^2 <= w^2 (t' - p)^2 with t' =
// now + (w_k / w)^2 (t - now), w the largest, so that no rotation increases the cost.
#pragma once
#include "kernels/methods/turns.h"

namespace poise {

// options of the method
enum CcdOption : int { CCD_INSIDE_OUT = 0, CCD_TURN = 1 };

POISE_LARGE_FN constexpr int ccd_memory(int goals) { return 1 + 24 * goals; }

template <class S, class P>
POISE_LARGE_FN void load_goals(const P& problem, const S* placements, const S* targets, GoalPlace<S>* places) {
  for (int g = 0; g < problem.goals.count(); ++g) {
    place_goal(problem.goals[g], problem.goals.frames(), placements, targets, places[g]);
  }
}

// whether primitive i moves the frame (1) or the base of the target (2)
template <class P, class Goal> POISE_LARGE_FN int carried(const P& problem, const Goal& goal, int i) {
  const int end = problem.body[i].subtree_end;
  const int on = problem.goals.frames()[goal.frame].primitive;
  const int under = goal.base < 0 ? -1 : problem.goals.frames()[goal.base].primitive;
  return int(i <= on && on < end) + 2 * int(i <= under && under < end);
}

// p <- center + R (p - center) + shift
template <class S> POISE_LARGE_FN void move_point(const S* R, const S* center, const S* shift, S* p) {
  S arm[3];
  subtract(p, center, arm);
  rotate(R, arm, arm);
  for (int k = 0; k < 3; ++k) p[k] = center[k] + arm[k] + shift[k];
}

template <class S, class P> POISE_LARGE_FN void move_goals(const P& problem, int i, const S* R, const S* center,
                                                           const S* shift, GoalPlace<S>* places) {
  for (int g = 0; g < problem.goals.count(); ++g) {
    const int under = carried(problem, problem.goals[g], i);
    if (under & 1) {
      move_point(R, center, shift, places[g].p);
      multiply(R, places[g].R, places[g].R);
    }
    if (under & 2) {
      move_point(R, center, shift, places[g].target_p);
      multiply(R, places[g].target_R, places[g].target_R);
    }
  }
}

// the target's position adjusted for unequal weights; returns c = (w / L)^2
template <class S, class Goal> POISE_LARGE_FN S wanted_point(const Goal& goal, const GoalPlace<S>& at, S scale, S* t) {
  S w = S(0);
  for (int k = 0; k < 3; ++k) w = maximum(w, S(goal.weight[k]));
  for (int k = 0; k < 3; ++k) {
    const S part = w > S(0) ? S(goal.weight[k]) / w : S(0);
    t[k] = at.p[k] + part * part * (at.target_p[k] - at.p[k]);
  }
  return w * w / (scale * scale);
}

// the target's rotation likewise (free axes are the target's own); returns c = w^2 / 2, for the chord is 2 |angle|^2
template <class S, class Goal> POISE_LARGE_FN S wanted_rotation(const Goal& goal, const GoalPlace<S>& at, S* T) {
  S w = S(0);
  for (int k = 0; k < 3; ++k) w = maximum(w, S(goal.weight[3 + k]));
  const bool equal = goal.weight[3] == goal.weight[4] && goal.weight[4] == goal.weight[5];
  for (int k = 0; k < 9; ++k) T[k] = at.target_R[k];
  if (!equal) {
    S e[3], turn[4], R[9];
    rotation_error(at, e);
    if (goal.exact) rotate_back(at.target_R, e, e);
    for (int k = 0; k < 3; ++k) e[k] *= S(goal.weight[3 + k]) * S(goal.weight[3 + k]) / (w * w);
    if (goal.exact) rotate(at.target_R, e, e);
    quaternion_of_log(e, turn);
    matrix_of_quaternion(turn, R);
    multiply(R, at.R, T);
  }
  return S(0.5) * w * w;
}

// M of all goals about `center` for primitive i
template <class S, class P>
POISE_LARGE_FN void pull_of_goals(const P& problem, int i, const S* center, const GoalPlace<S>* places, S* M) {
  clear_pull(M);
  for (int g = 0; g < problem.goals.count(); ++g) {
    const auto& goal = problem.goals[g];
    const int under = carried(problem, goal, i);
    if (under == 0 || under == 3) continue;
    const bool forward = under == 1;  // otherwise the target rotates instead of the frame
    if (goal.op != GOAL_ROTATION) {
      S t[3], u[3];
      const S c = wanted_point(goal, places[g], S(problem.scale), t);
      subtract(t, center, t);
      subtract(places[g].p, center, u);
      pull_point(c, forward ? u : t, forward ? t : u, M);
    }
    if (goal.op != GOAL_POSITION) {
      S T[9];
      const S c = wanted_rotation(goal, places[g], T);
      pull_frame(c, forward ? places[g].R : T, forward ? T : places[g].R, M);
    }
  }
}

// the best translation of primitive i, in the world, for all goals: their mean error
template <class S, class P>
POISE_LARGE_FN void best_slide(const P& problem, int i, const GoalPlace<S>* places, S* slide) {
  S total = S(0);
  for (int k = 0; k < 3; ++k) slide[k] = S(0);
  for (int g = 0; g < problem.goals.count(); ++g) {
    const auto& goal = problem.goals[g];
    const int under = carried(problem, goal, i);
    if (under == 0 || under == 3 || goal.op == GOAL_ROTATION) continue;
    S t[3];
    const S c = wanted_point(goal, places[g], S(problem.scale), t);
    for (int k = 0; k < 3; ++k) slide[k] += (under == 1 ? c : -c) * (t[k] - places[g].p[k]);
    total += c;
  }
  for (int k = 0; k < 3; ++k) slide[k] = total > S(0) ? slide[k] / total : S(0);
}

// ---------------------------------------------------------------------------------------------- one joint

// a coordinate's change, divided by its stiffness and limited to its room
template <class S, class P> POISE_LARGE_FN S fit_step(const P& problem, const SearchState<S>& state, int v, S x) {
  return clamped(x / S(problem.freedoms[v].weight), state.work.low[v], state.work.high[v]);
}

// trial_q of one primitive from its part of dq
template <class S, class B> POISE_LARGE_FN void take_part(const B& b, SearchState<S>& state) {
  for (int k = 0; k < (b.kind == BALL ? 1 : width_of(b.kind)); ++k) {
    const Coordinate at{b.q_index + k, b.v_index + k, b.kind == BALL};
    integrate(&at, 1, state.q, state.dq, state.trial_q);
  }
}

template <class S, class P>
POISE_LARGE_FN void turn_ball(const P& problem, int i, GoalPlace<S>* places, SearchState<S>& state) {
  const S* at = state.placements + 12 * i;
  const int v = problem.body[i].v_index;
  S M[9], R[9], turn[4], *w = state.dq + v;
  const S still[3] = {S(0), S(0), S(0)};
  pull_of_goals(problem, i, at + 9, places, M);
  best_ball(M, 4, R);
  log_of_matrix(R, w);
  rotate_back(at, w, w);
  fit_ball(problem, state, v, w);
  S world[3];
  rotate(at, w, world);
  quaternion_of_log(world, turn);
  matrix_of_quaternion(turn, R);
  move_goals(problem, i, R, at + 9, still, places);
}

template <class S, class P>
POISE_LARGE_FN void turn_hinge(const P& problem, int i, GoalPlace<S>* places, SearchState<S>& state) {
  const auto& b = problem.body[i];
  const S* at = state.placements + 12 * i;
  const S axis[3] = {at[2], at[5], at[8]}, still[3] = {S(0), S(0), S(0)};
  const S gain = S(b.gain), low = state.work.low[b.v_index], high = state.work.high[b.v_index];
  S M[9], R[9];
  pull_of_goals(problem, i, at + 9, places, M);
  const S x = best_hinge(M, axis, gain > S(0) ? gain * low : gain * high, gain > S(0) ? gain * high : gain * low);
  const S step = fit_step(problem, state, b.v_index, x / gain);
  state.dq[b.v_index] = step;
  rotation_about(axis, gain * step, R);
  move_goals(problem, i, R, at + 9, still, places);
}

template <class S, class P>
POISE_LARGE_FN void slide_joint(const P& problem, int i, GoalPlace<S>* places, SearchState<S>& state) {
  const auto& b = problem.body[i];
  const S* at = state.placements + 12 * i;
  const S identity[9] = {S(1), S(0), S(0), S(0), S(1), S(0), S(0), S(0), S(1)};
  S slide[3], local[3];
  best_slide(problem, i, places, slide);
  rotate_back(at, slide, local);
  if (b.kind == PRISMATIC) {
    const S step = fit_step(problem, state, b.v_index, local[2] / S(b.gain));
    state.dq[b.v_index] = step;
    local[0] = local[1] = S(0);
    local[2] = S(b.gain) * step;
  } else {
    for (int k = 0; k < 3; ++k) state.dq[b.v_index + k] = local[k] = fit_step(problem, state, b.v_index + k, local[k]);
  }
  rotate(at, local, slide);
  move_goals(problem, i, identity, at + 9, slide, places);
}

// A velocity without a closed form (a screw, a path, or mimic joints that rotate together): x = j.r / |j| (|j| + |r|),
// whose denominator bounds the curvature of a rotating point, so that it never overshoots; near the goal it is the
// Gauss-Newton step.
template <class S, class P> POISE_LARGE_FN void turn_together(const P& problem, int v, const S* targets,
                                                              GoalPlace<S>* places, SearchState<S>& state) {
  S jj = S(0), rr = S(0), jr = S(0);
  const S per_scale = S(1) / S(problem.scale);
  for (int g = 0; g < problem.goals.count(); ++g) {
    const auto& goal = problem.goals[g];
    S rows[6], column[6] = {S(0), S(0), S(0), S(0), S(0), S(0)}, errors[2], linear[3], angular[3];
    GoalWrench<S> wrench;
    goal_residual(goal, places[g], per_scale, rows, errors);
    goal_wrench(goal, places[g], per_scale, wrench);
    for (int i = 0; i < problem.body.count(); ++i) {
      const int under = carried(problem, goal, i);
      if (problem.body[i].v_index != v || under == 0 || under == 3) continue;
      world_column(problem.body[i], 0, state.trial_q, state.placements + 12 * i, wrench.point, linear, angular);
      add_goal_column(goal, wrench, per_scale, linear, angular, under == 1 ? S(1) : S(-1), column);
    }
    for (int k = 0; k < rows_of_goal(goal); ++k) {
      jj += column[k] * column[k];
      rr += rows[k] * rows[k];
      jr += column[k] * rows[k];
    }
  }
  const S size = square_root(jj), down = size * (size + square_root(rr));
  state.dq[v] = fit_step(problem, state, v, down > S(0) ? jr / down : S(0));
  take_step(problem, state.q, state.dq, false, state.trial_q);
  place_all(problem.body, state.trial_q, state.placements);
  load_goals(problem, state.placements, targets, places);
}

// ---------------------------------------------------------------------------------------------- the sweep

template <class P> POISE_LARGE_FN bool moves_with_others(const P& problem, int i) {
  if (!problem.body.shared_columns) return false;
  int n = 0;
  for (int k = 0; k < problem.body.count(); ++k) n += problem.body[k].v_index == problem.body[i].v_index;
  return n > 1;
}

// whether this velocity has already been handled in the sweep
template <class P> POISE_LARGE_FN bool met_before(const P& problem, int i, bool inside_out) {
  for (int k = 0; k < problem.body.count(); ++k) {
    if (problem.body[k].v_index == problem.body[i].v_index && (inside_out ? k < i : k > i)) return true;
  }
  return false;
}

// every joint once, in `order`; the step is left in state.dq. The room must be set and the goals loaded.
template <class S, class P> POISE_LARGE_FN void descend_joints(const P& problem, bool inside_out, const S* targets,
                                                               GoalPlace<S>* places, SearchState<S>& state) {
  for (int c = 0; c < problem.n_v; ++c) state.dq[c] = S(0);
  copy_configuration(problem, state.q, state.trial_q);
  const int n = problem.body.count();
  for (int k = 0; k < n; ++k) {
    const int i = inside_out ? k : n - 1 - k;
    const auto& b = problem.body[i];

    // from outside in, the remaining joints have not moved; from inside out they have, so each joint is placed before
    // and after its rotation, because the next ones depend on it
    if (inside_out) place_one(problem.body, i, state.trial_q, state.placements);
    if (b.v_index < 0) continue;
    if (b.kind == SCREW || is_path(b) || moves_with_others(problem, i)) {
      if (!met_before(problem, i, inside_out)) turn_together(problem, b.v_index, targets, places, state);
      continue;
    }
    if (b.kind == BALL) {
      turn_ball(problem, i, places, state);
    } else if (b.kind == REVOLUTE) {
      turn_hinge(problem, i, places, state);
    } else {
      slide_joint(problem, i, places, state);
    }
    take_part(b, state);
    if (inside_out) place_one(problem.body, i, state.trial_q, state.placements);
  }
}

// One sweep of CCD into state.dq; false if nothing moves any more.
template <class S, class P> POISE_LARGE_FN bool sweep_ccd(const P& problem, const Settings<real_t<S>>& settings,
                                                          const S* targets, SearchState<S>& state) {
  S* nudged = state.extra;
  auto* places = reinterpret_cast<GoalPlace<S>*>(state.extra + 1);
  if (state.steps == 0) *nudged = S(0);
  find_turning_room(problem, settings, S(settings.options[CCD_TURN]), state);
  load_goals(problem, state.placements, targets, places);
  descend_joints(problem, settings.options[CCD_INSIDE_OUT] > 0, targets, places, state);
  if (size_of_step(problem, state.dq) > S(1e-9)) return true;
  if (*nudged > S(0)) return false;
  *nudged = S(1);
  nudge(problem, S(0.2), state);
  return true;
}

}  // namespace poise
