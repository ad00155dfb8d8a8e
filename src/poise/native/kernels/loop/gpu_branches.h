// gpu_branches.h: rows of six joints with a closed form, answered by the branch nearest to the start, or by the one that
// the posture prefers, before any search.
//
// A problem type P has `P::begins_at_branch`, and then `P::branch(0)`, the form, whose joints are the coordinates of the
// problem in order, and `P::unit(k)`, the measure of a motion of joint k. Everything is computed in T; the pose is
// checked, and a row whose branch misses is left to the searches, of which the first begins there.
#pragma once
#include "kernels/loop/gpu_decide.h"

namespace poise {

constexpr double rounding_in_float = 3e-7;  // L or rad: branches that end within it are kept

// Whether a pose is within the tolerances and inside the ranges.
template <class P, class T>
POISE_FN bool serves(const P& problem, const Settings<T>& settings, const T* q, const T* targets) {
  T placements[numbers_of_placements<P>()], rows[P::n_rows], errors[2 * P::n_goals];
  evaluate(problem, q, targets, placements, rows, errors);
  return within_tolerance(problem, errors, P::fraction()) && outside_of<T>(problem, settings, q) <= T(0);
}

// Writes the branch nearest to the start, by the largest motion of a joint, to q; false if there is none, or if a
// branch stands for a curve of poses that may be nearer. With a posture, the branch of its least cost, with every angle at
// the value nearest to the posture.
template <class P, class T>
POISE_FN bool find_nearest(const P& problem, const Posture<T>& posture, const T* targets, const T* start, T* q) {
  const ClosedForm<T>& form = P::branch(0);
  const T origin[3] = {T(problem.origin(0)), T(problem.origin(1)), T(problem.origin(2))};
  const T rounding[2] = {T(rounding_in_float) * P::scale, T(rounding_in_float)};
  const FamilyTarget<T> target = target_of<T>(targets + problem.goals[0].target, origin, rounding);
  const T* around = P::has_posture ? posture.wanted : start;
  T nearest = T(1e30), open = T(1e30);
  walk_branches(form.spec.chain, ask_of(question_of(form.spec, target), T(0), T(0)), 1, all_branches,
                [&](const FamilyLeaf<T>& leaf) {
                  T values[7], work[P::n_v], far = T(0), slack = T(0);
                  joints_of(form.spec, leaf, T(0), values);
                  POISE_UNROLL_BODY
                  for (int k = 0; k < P::n_q; ++k) {
                    const FamilyAxis<T>& axis = axis_of(form.spec, k);
                    const T near = bring_near(axis, values[k], form.gain[k] * around[k] + form.bias[k]);
                    const T inside = minimum(maximum(near, axis.middle - axis.half), axis.middle + axis.half);
                    values[k] = (inside - form.bias[k]) / form.gain[k];
                    far = maximum(far, absolute(values[k] - start[k]) / P::unit(k));
                    slack = maximum(slack, leaf.turn[k].slack);
                  }
                  if (P::has_posture) {
                    far = posture_cost(problem, values, posture, work);
                    slack = T(0);
                  }
                  open = slack > T(open_branch) ? minimum(open, far - slack) : open;
                  const bool nearer = far < nearest;
                  nearest = nearer ? far : nearest;
                  POISE_UNROLL_BODY
                  for (int k = 0; k < P::n_q; ++k) q[k] = nearer ? values[k] : q[k];
                  return false;
                });
  POISE_UNROLL_BODY
  for (int c = 0; c < P::n_v; ++c) {
    const auto f = problem.freedoms[c];
    if (P::bounded) q[f.q_index] = minimum(maximum(q[f.q_index], f.lower), f.upper);
  }
  return nearest < T(1e30) && !(open < nearest);
}

// Answers a row by its start, if that reaches and no posture is given, or by a branch; true if it needs a search.
template <class P, class T> POISE_FN bool place_row(const P& problem, const Settings<T>& settings,
                                                    const Posture<T>& posture, const DeviceRows<T, P::n_goals>& io,
                                                    int row) {
  T targets[P::n_targets], start[P::n_q], q[P::n_q];
  const bool good = load_targets(problem, io, row, targets);
  const bool placed = load_start(problem, io, row, start);
  const bool held = store_idle(problem, io, row);
  if (!good || !placed || !held) {
    store_invalid(problem, io, row, placed && held, start);
    return false;
  }
  POISE_UNROLL_BODY
  for (int k = 0; k < P::n_q; ++k) q[k] = start[k];
  const bool there = !P::has_posture && serves(problem, settings, start, targets);
  const bool found = there || find_nearest(problem, posture, targets, start, q);
  store_pose(problem, io, row, found ? q : start);
  const bool left = !there && !(found && serves(problem, settings, q, targets));
  io.codes[row] = left ? ROW_OUT_OF_STEPS : ROW_REACHED;
  io.steps[row] = there || left ? 0 : 1;
  io.searches[row] = left ? 0 : 1;
  return left;
}

}  // namespace poise
