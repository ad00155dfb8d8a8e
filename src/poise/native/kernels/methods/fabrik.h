// fabrik.h: forward and backward reaching (Aristidou and Lasenby 2011), one iteration over a tree of joints.
//
// Backward: every effector is placed on its target, and every joint in turn at its distance from the next one, along
// the line to its old position; a joint with several branches (a sub-base) takes their mean. Forward: from the root,
// which has not moved, every joint of the real body rotates so that its children point to these positions, within its
// own range and about its own axes (the 2016 extension, "Extending FABRIK with model constraints": the part that the
// joint cannot do is removed before the next one is placed). So a hinge stays in its plane, no limit is crossed, a ball
// stays in its cone, and every iteration gives a pose of the body.
//
// A pose goal places the last bone like the target before the rest follows. A free root moves to the mean of its
// branches, and rotates to fit them best.
#pragma once
#include "kernels/methods/bones.h"

namespace poise {

// ---------------------------------------------------------------------------------------------- backward

// The new position of the joint at `joint` when its child moves from `end` to `wanted`: at the same distance, on the
// line to its old position.
template <class S> POISE_LARGE_FN void reach_back(const S* joint, const S* end, const S* wanted, S* out) {
  const S bone = distance(joint, end);
  S line[3];
  subtract(joint, wanted, line);
  S size = length(line);
  if (!(size > S(1e-12) * bone)) {
    subtract(joint, end, line);
    size = bone;
  }
  for (int k = 0; k < 3; ++k) out[k] = wanted[k] + (size > S(0) ? bone * line[k] / size : S(0));
}

// The new position of the last joint of goal g when its effector moves to `end`: with the bone rotated like the target,
// if it has a rotation.
template <class S, class P> POISE_LARGE_FN void lay_last_bone(const P& problem, const GoalPlace<S>& at, int g,
                                                              const S* joint, const S* end, S* out) {
  const auto& goal = problem.goals[g];
  S T[9], arm[3];
  if (goal.op != GOAL_POSE || !(wanted_rotation(goal, at, T) > S(0))) return reach_back(joint, at.p, end, out);
  subtract(joint, at.p, arm);
  rotate_back(at.R, arm, arm);
  rotate(T, arm, arm);
  for (int k = 0; k < 3; ++k) out[k] = end[k] + arm[k];
}

template <class S> POISE_LARGE_FN void add_wish(const S* place, S weight, S* wanted, S* total) {
  for (int k = 0; k < 3; ++k) wanted[k] += weight * place[k];
  *total += weight;
}

template <class S, class P>
POISE_LARGE_FN void reach_backward(const P& problem, const S* placements, FabrikMemory<S>& at) {
  const int n = problem.body.count();
  for (int k = 0; k < 3 * n; ++k) at.wanted[k] = S(0);
  for (int k = 0; k < n; ++k) at.weight[k] = S(0);
  S place[3];
  for (int g = 0; g < problem.goals.count(); ++g) {
    S* end = at.ends + 3 * g;
    const S c = wanted_point(problem.goals[g], at.places[g], S(problem.scale), end);
    const int j = mover_of_goal(problem, g);
    if (j < 0 || !(c > S(0))) continue;
    lay_last_bone(problem, at.places[g], g, origin_of(placements, j), end, place);
    add_wish(place, c, at.wanted + 3 * j, at.weight + j);
  }
  for (int i = n - 1; i >= 0; --i) {
    if (!(at.weight[i] > S(0))) continue;
    for (int k = 0; k < 3; ++k) at.wanted[3 * i + k] /= at.weight[i];
    const int j = mover_above(problem, i);
    if (j < 0) continue;
    reach_back(origin_of(placements, j), origin_of(placements, i), at.wanted + 3 * i, place);
    add_wish(place, at.weight[i], at.wanted + 3 * j, at.weight + j);
  }
}

// ---------------------------------------------------------------------------------------------- forward

template <class S> POISE_LARGE_FN S trace_after(const S* R, const S* M) {
  S sum = S(0);
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 3; ++c) sum += R[3 * r + c] * M[3 * c + r];
  }
  return sum;
}

// adds one term to M: the point at `old` should point to `wanted`; `turned` rotates directions from before the sweep to
// now
template <class S> POISE_LARGE_FN S pull_bone(S c, const S* turned, const S* old_joint, const S* old, const S* joint,
                                              const S* wanted, S* M) {
  S u[3], t[3];
  subtract(old, old_joint, u);
  rotate(turned, u, u);
  subtract(wanted, joint, t);
  const S size = length(t), bone = length(u);
  if (!(size > S(0))) return S(0);
  pull_point(c * bone / size, u, t, M);
  return c * bone * bone;
}

// Adds goal g to M. Returns the value that a freely rotating joint would reach.
template <class S, class P> POISE_LARGE_FN S pull_effector(const P& problem, const FabrikMemory<S>& at, int g,
                                                           const S* turned, const S* before, const S* now, S* M) {
  const auto& goal = problem.goals[g];
  S t[3], F[9], T[9], own[9], best[9];
  clear_pull(own);
  const S c = wanted_point(goal, at.places[g], S(problem.scale), t);
  S ideal = pull_bone(c, turned, before, at.places[g].p, now, at.ends + 3 * g, own);
  if (goal.op == GOAL_POSE) {
    multiply(turned, at.places[g].R, F);
    pull_frame(wanted_rotation(goal, at.places[g], T), F, T, own);
    best_ball(own, 8, best);
    ideal = trace_after(best, own);
  }
  for (int k = 0; k < 9; ++k) M[k] += own[k];
  return ideal;
}

// M of all children of primitive `last`, rotated about the position of primitive i. Returns tr(R M) of a rotation that
// points everything exactly.
template <class S, class P> POISE_LARGE_FN S pull_of_bones(const P& problem, const S* placements,
                                                           const FabrikMemory<S>& at, int i, int last, const S* turned,
                                                           S* M) {
  clear_pull(M);
  S ideal = S(0);
  const S *before = origin_of(placements, i), *now = origin_of(at.fresh, i);
  for (int g = 0; g < problem.goals.count(); ++g) {
    if (mover_of_goal(problem, g) != last) continue;
    ideal += pull_effector(problem, at, g, turned, before, now, M);
  }
  for (int k = last + 1; k < problem.body[last].subtree_end;) {
    if (problem.body[k].v_index < 0) {
      ++k;
      continue;
    }
    ideal += pull_bone(at.weight[k], turned, before, origin_of(placements, k), now, at.wanted + 3 * k, M);
    k = problem.body[k].subtree_end;
  }
  return ideal;
}

template <class S, class P>
POISE_LARGE_FN S point_ball(const P& problem, const FabrikMemory<S>& at, int i, const S* M, SearchState<S>& state) {
  S R[9], turn[4], world[3], *w = state.dq + problem.body[i].v_index;
  best_ball(M, 8, R);
  log_of_matrix(R, w);
  rotate_back(at.fresh + 12 * i, w, w);
  if (turn_into_cone(problem, state, problem.body[i].v_index, w)) {
    rotate(at.fresh + 12 * i, w, world);
    quaternion_of_log(world, turn);
    matrix_of_quaternion(turn, R);
  }
  fit_ball(problem, state, problem.body[i].v_index, w);
  return trace_after(R, M);
}

template <class S, class P> POISE_LARGE_FN S point_hinges(const P& problem, int n, const int* members, const S* turned,
                                                          const S* M, SearchState<S>& state) {
  S axes[3 * MOST_TOGETHER], low[MOST_TOGETHER], high[MOST_TOGETHER], x[MOST_TOGETHER];
  for (int k = 0; k < n; ++k) {
    const auto& b = problem.body[members[k]];
    const S* R = state.placements + 12 * members[k];
    const S axis[3] = {R[2], R[5], R[8]};
    rotate(turned, axis, axes + 3 * k);
    const S ends[2] = {S(b.gain) * state.work.low[b.v_index], S(b.gain) * state.work.high[b.v_index]};
    low[k] = minimum(ends[0], ends[1]);
    high[k] = maximum(ends[0], ends[1]);
  }
  best_hinges(M, n, axes, low, high, x);
  for (int k = 0; k < n; ++k) {
    const auto& b = problem.body[members[k]];
    state.dq[b.v_index] = fit_step(problem, state, b.v_index, x[k] / S(b.gain));
  }
  S R[9], turn[9];
  rotation_about(axes + 3 * (n - 1), x[n - 1], R);
  for (int k = n - 2; k >= 0; --k) {
    rotation_about(axes + 3 * k, x[k], turn);
    multiply(turn, R, R);
  }
  return trace_after(R, M);
}

// moves sliding joint i to its position
template <class S, class P>
POISE_LARGE_FN void slide_to_place(const P& problem, const FabrikMemory<S>& at, int i, SearchState<S>& state) {
  const int v = problem.body[i].v_index;
  S way[3];
  subtract(at.wanted + 3 * i, origin_of(at.fresh, i), way);
  rotate_back(at.fresh + 12 * i, way, way);
  for (int k = 0; k < 3; ++k) state.dq[v + k] = fit_step(problem, state, v + k, way[k]);
  take_part(problem.body[i], state);
  place_one(problem.body, i, state.trial_q, at.fresh);
}

// rotates joint i, and the hinges through the same point
template <class S, class P> POISE_LARGE_FN S point_joint(const P& problem, const FabrikMemory<S>& at, int n,
                                                         const int* members, const S* turned, const S* M,
                                                         SearchState<S>& state) {
  if (problem.body[members[0]].kind == BALL) return point_ball(problem, at, members[0], M, state);
  return point_hinges(problem, n, members, turned, M, state);
}

// whether every joint could point its children to their positions
template <class S, class P>
POISE_LARGE_FN bool reach_forward(const P& problem, FabrikMemory<S>& at, SearchState<S>& state) {
  bool cut = false;
  for (int c = 0; c < problem.n_v; ++c) state.dq[c] = clamped(S(0), state.work.low[c], state.work.high[c]);
  copy_configuration(problem, state.q, state.trial_q);
  for (int i = 0; i < problem.body.count(); ++i) {
    const auto& b = problem.body[i];
    place_one(problem.body, i, state.trial_q, at.fresh);
    if (b.v_index < 0 || !(at.weight[i] > S(0)) || follows(problem, state.placements, i)) continue;
    if (b.kind == SLIDE3) {
      slide_to_place(problem, at, i, state);
      continue;
    }

    // the joints above have rotated everything by `turned` since the sweep began
    S turned[9], M[9];
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 3; ++c) turned[3 * r + c] = dot(at.fresh + 12 * i + 3 * r, state.placements + 12 * i + 3 * c);
    }
    int members[MOST_TOGETHER];
    const int n = gather_group(problem, state.placements, at, i, members);
    const S ideal = pull_of_bones(problem, state.placements, at, i, members[n - 1], turned, M);
    if (point_joint(problem, at, n, members, turned, M, state) < ideal * (S(1) - S(1e-9))) cut = true;
    for (int k = 0; k < n; ++k) take_part(problem.body[members[k]], state);
    place_one(problem.body, i, state.trial_q, at.fresh);
  }
  return !cut;
}

// ---------------------------------------------------------------------------------------------- special cases

template <class S, class P> POISE_LARGE_FN S miss_of(const P& problem, const GoalPlace<S>* places) {
  S sum = S(0), t[3];
  for (int g = 0; g < problem.goals.count(); ++g) {
    const S c = wanted_point(problem.goals[g], places[g], S(problem.scale), t), d = distance(places[g].p, t);
    sum += c * d * d;
    if (problem.goals[g].op != GOAL_POSE) continue;
    S T[9];
    const S turn = wanted_rotation(problem.goals[g], places[g], T);
    for (int k = 0; k < 9; ++k) sum += turn * (T[k] - places[g].R[k]) * (T[k] - places[g].R[k]);
  }
  return sum;
}

// If joints cannot follow (because of their axes or ranges), the effectors end elsewhere. Then a sweep of CCD from the
// same pose is tried too, and the better of the two is taken.
template <class S, class P>
POISE_LARGE_FN void repair(const P& problem, const S* targets, FabrikMemory<S>& at, SearchState<S>& state) {
  load_goals(problem, at.fresh, targets, at.places);
  const S reached = miss_of(problem, at.places);
  S* kept = state.work.inverse_D;
  for (int c = 0; c < problem.n_v; ++c) {
    kept[c] = state.dq[c];
    if (!problem.freedoms[c].angular) continue;
    state.work.low[c] = clamped(state.work.low[c], S(-1), S(1));
    state.work.high[c] = clamped(state.work.high[c], S(-1), S(1));
  }
  load_goals(problem, state.placements, targets, at.places);
  descend_joints(problem, false, targets, at.places, state);
  if (miss_of(problem, at.places) < reached) return;
  for (int c = 0; c < problem.n_v; ++c) state.dq[c] = kept[c];
}

// the straight line to a target: the total length of the bones, and the distance from the root; infinite if the root is
// free
template <class S> struct Stretch {
  S bones, distance, off_line;  // off_line: the largest distance of a joint from the line
  S root[3];
};

template <class S, class P>
POISE_LARGE_FN Stretch<S> stretch_of(const P& problem, const S* placements, const FabrikMemory<S>& at, int g) {
  Stretch<S> out{S(0), S(0), S(0), {S(0), S(0), S(0)}};
  S line[3], off[3], t[3];
  wanted_point(problem.goals[g], at.places[g], S(problem.scale), t);
  const S* end = at.places[g].p;
  int root = -1;
  for (int i = mover_of_goal(problem, g); i >= 0; i = mover_above(problem, i)) {
    out.bones += distance(end, origin_of(placements, i));
    end = origin_of(placements, i);
    root = i;
    if (problem.body[i].kind == SLIDE3) {
      out.bones = out.off_line = S(1e30);
      return out;
    }
  }
  if (root < 0) return out;
  for (int k = 0; k < 3; ++k) out.root[k] = end[k];
  subtract(t, out.root, line);
  out.distance = length(line);
  if (!(out.distance > S(0))) return out;
  for (int k = 0; k < 3; ++k) line[k] /= out.distance;
  end = at.places[g].p;
  // ends: after the root
  for (int i = mover_of_goal(problem, g);; i = mover_above(problem, i)) {
    subtract(end, out.root, off);
    cross(off, line, off);
    out.off_line = maximum(out.off_line, length(off));
    if (i < 0) return out;
    end = origin_of(placements, i);
  }
}

// lays the bones straight towards a target out of reach
template <class S, class P>
POISE_LARGE_FN void lay_straight(const P& problem, const S* placements, const Stretch<S>& way, FabrikMemory<S>& at) {
  S t[3];
  wanted_point(problem.goals[0], at.places[0], S(problem.scale), t);
  S left = way.bones;
  const S* end = at.places[0].p;
  S* out = at.ends;
  for (int i = mover_of_goal(problem, 0); i >= 0; i = mover_above(problem, i)) {
    for (int k = 0; k < 3; ++k) out[k] = way.root[k] + left / way.distance * (t[k] - way.root[k]);
    left -= distance(end, origin_of(placements, i));
    end = origin_of(placements, i);
    out = at.wanted + 3 * i;
  }
}

// whether a chain lies on the line to a target within reach: no bone would leave the line
template <class S, class P>
POISE_LARGE_FN bool in_line(const P& problem, const S* placements, const FabrikMemory<S>& at) {
  for (int g = 0; g < problem.goals.count(); ++g) {
    const Stretch<S> way = stretch_of(problem, placements, at, g);
    if (way.distance >= way.bones || way.off_line > S(1e-9) * way.bones) return false;
  }
  return true;
}

// One iteration of FABRIK into state.dq; false if nothing moves any more.
template <class S, class P> POISE_LARGE_FN bool sweep_fabrik(const P& problem, const Settings<real_t<S>>& settings,
                                                             const S* targets, SearchState<S>& state) {
  FabrikMemory<S> at = fabrik_parts(problem, state.extra);
  if (state.steps == 0) *at.nudged = S(0);
  find_room(problem, settings, state);
  load_goals(problem, state.placements, targets, at.places);
  if (!(*at.nudged > S(0)) && in_line(problem, state.placements, at)) {
    *at.nudged = S(1);
    nudge(problem, S(0.2), state);
    return true;
  }
  const Stretch<S> way = stretch_of(problem, state.placements, at, 0);
  const bool too_far = problem.goals.count() == 1 && problem.goals[0].op == GOAL_POSITION && way.distance >= way.bones;
  if (too_far && way.off_line < S(1e-7) * way.bones &&
      distance(way.root, at.places[0].p) > way.bones * (S(1) - S(1e-12))) {
    return false;  // straight towards the target: there is no better pose
  }
  reach_backward(problem, state.placements, at);
  if (too_far && state.steps == 0) lay_straight(problem, state.placements, way, at);
  if (!reach_forward(problem, at, state)) repair(problem, targets, at, state);
  return size_of_step(problem, state.dq) > S(1e-12);
}

}  // namespace poise
