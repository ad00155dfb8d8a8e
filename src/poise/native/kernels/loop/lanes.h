// lanes.h: the search of search.h for parallel problems: one on a GPU thread, N in the lanes of a pack.
//
// The steps, residuals and Jacobian are those of the single search; only its decisions are rewritten, with a mask in
// place of every branch, because lanes decide differently. The caller gives a finished lane the next problem at once,
// so that one hard problem does not delay the others. Lanes are independent: a problem has the same result whatever
// runs in the other lanes.
//
// A lane with a new start has not been evaluated. It takes a zero step with the others, and is evaluated then.
#pragma once
#include "kernels/loop/search.h"

namespace poise {

// how a row of a batch ended
enum RowStatus : signed char {
  ROW_REACHED,
  ROW_STALLED,
  ROW_OUT_OF_STEPS,
  ROW_OUT_OF_TIME,
  ROW_UNREACHABLE,
  ROW_INVALID,
  ROW_IN_COLLISION
};

template <class S> struct LaneState {
  SearchState<S> at;  // memory, rows, cost; its own counters and flags are unused
  S steps, idle, nudges, strength;
  S fresh, reached, at_goal;  // 1 or 0: not evaluated yet; the best pose reaches; the last one does
};

template <class S> POISE_FN mask_t<S> is_set(const S& flag) { return flag > S(real_t<S>(0.5)); }

template <class S> POISE_FN S as_flag(mask_t<S> m) { return select(m, S(real_t<S>(1)), S(real_t<S>(0))); }

template <class S> POISE_FN mask_t<S> choose(mask_t<S> m, mask_t<S> a, mask_t<S> b) { return (m & a) | ((!m) & b); }

// starts a new search in one lane, from the start in state.at.q
template <class S> POISE_FN void begin_lane(LaneState<S>& state, int lane) {
  using T = real_t<S>;
  set_lane(state.steps, lane, T(0));
  set_lane(state.idle, lane, T(0));
  set_lane(state.nudges, lane, T(0));
  set_lane(state.strength, lane, T(1));
  set_lane(state.fresh, lane, T(1));
  set_lane(state.reached, lane, T(0));
  set_lane(state.at_goal, lane, T(0));
  set_lane(state.at.best_cost, lane, T(1e30));
  set_lane(state.at.best_posture, lane, T(1e30));
  set_lane(state.at.best_outside, lane, T(1e30));
}

// the lanes whose pose is the best so far, and those with real progress
template <class S> struct Progress { mask_t<S> better, real; };

// The decision of keep_best of search.h, from a pose's distance outside the ranges, whether its goals are within their
// tolerances, and the cost of its posture. The pose itself is not kept.
template <class S> POISE_FN Progress<S> weigh_lanes(const Settings<real_t<S>>& settings, bool posture, S outside,
                                                    mask_t<S> within, S asked, LaneState<S>& state) {
  using T = real_t<S>;
  SearchState<S>& at = state.at;
  const mask_t<S> held = outside <= at.best_outside, closer = outside < at.best_outside;
  const mask_t<S> reached = within & (outside <= S(T(0)));
  const mask_t<S> before_reached = is_set(state.reached);
  const mask_t<S> first = held & (closer | (reached & !before_reached));
  const mask_t<S> improved = choose<S>(reached, asked < at.best_posture,
                                       (!before_reached) & (at.cost < at.best_cost * S(less_by_more_than_rounding<T>)));
  const mask_t<S> better = first | (held & improved);
  const S before = select(reached, at.best_posture, at.best_cost), now = select(reached, asked, at.cost);
  const S enough = select(reached, S(T(0.999)), S(settings.stall_ratio));
  const mask_t<S> progress = first | (better & (now < before * enough));
  if (posture) {
    const S bolder = minimum(state.strength * S(T(4)), S(T(1000)));
    const S milder = maximum(state.strength * S(T(0.25)), S(T(0.01)));
    state.strength = select(held & reached & before_reached, select(better, bolder, milder), state.strength);
  }
  state.at_goal = as_flag<S>(held & reached);
  at.best_outside = select(better, outside, at.best_outside);
  at.best_cost = select(better, at.cost, at.best_cost);
  at.best_posture = select(better, asked, at.best_posture);
  state.reached = select(better, as_flag<S>(reached), state.reached);
  return {better, progress};
}

// keep_best of search.h; returns the lanes with real progress
template <class S, class P> POISE_FN mask_t<S> keep_best_lanes(const P& problem, const Settings<real_t<S>>& settings,
                                                               const Posture<S>& posture, real_t<S> fraction,
                                                               LaneState<S>& state) {
  SearchState<S>& at = state.at;
  const S outside = outside_of(problem, settings, at.q);
  const mask_t<S> within = within_tolerance(problem, at.errors, fraction);
  const S asked = posture_cost(problem, at.q, posture, at.work.b);
  const Progress<S> made = weigh_lanes(settings, posture.gain != nullptr, outside, within, asked, state);
  POISE_UNROLL_BODY
  for (int k = 0; k < problem.n_q; ++k) at.best_q[k] = select(made.better, at.q[k], at.best_q[k]);
  POISE_UNROLL_BODY
  for (int k = 0; k < 2 * problem.goals.count(); ++k) {
    at.best_errors[k] = select(made.better, at.errors[k], at.best_errors[k]);
  }
  return made.real;
}

// judge of search.h, after keep_best: returns the finished lanes
template <class S> POISE_FN mask_t<S> judge_lanes(const Settings<real_t<S>>& settings, bool posture, mask_t<S> progress,
                                                  LaneState<S>& state) {
  using T = real_t<S>;
  state.idle = select(progress, S(T(0)), state.idle + S(T(1)));
  state.nudges = select(progress, S(T(0)), state.nudges);
  mask_t<S> settled = is_set(state.reached);
  if (posture) {
    const T patience = T(settings.stall_steps > 5 ? settings.stall_steps : 5);
    settled = settled & ((state.idle > S(patience)) | (state.at.best_posture < S(T(1e-12))));
  }
  return settled | (state.idle > S(T(settings.stall_steps))) | (state.steps >= S(T(settings.max_steps)));
}

// nudge_if_stuck of search.h
template <class S, class P>
POISE_FN void nudge_lanes(const P& problem, const Settings<real_t<S>>& settings, LaneState<S>& state) {
  using T = real_t<S>;
  const S largest = longest_of(problem, state.at.dq);
  if (!any(largest <= S(T(1e-7)))) return;  // no zero step is larger
  const mask_t<S> able = (!is_set(state.reached)) & (state.nudges < S(T(2))) & (!is_set(state.fresh));
  const mask_t<S> stuck = able & (largest <= step_of_nothing(state.at.cost));
  if (!any(stuck)) return;
  state.nudges = select(stuck, state.nudges + S(T(1)), state.nudges);
  find_room(problem, settings, state.at);
  POISE_UNROLL_BODY
  for (int c = 0; c < problem.n_v; ++c) {
    const S wanted = select(state.nudges < S(T(1.5)), S(nudge_of(problem, c, 1)), S(nudge_of(problem, c, 2)));
    const S turned = nudged(wanted, state.at.work.low[c], state.at.work.high[c]);
    state.at.dq[c] = select(stuck, turned, state.at.dq[c]);
  }
}

// One step of every lane; returns the lanes whose search is finished. `fraction` of the tolerances counts as reached: 1
// if the arithmetic is that of the final check.
template <int M, class S, class P>
POISE_FN mask_t<S> advance_lanes(const P& problem, const Settings<real_t<S>>& settings, const Posture<S>& posture,
                                 const S* targets, real_t<S> fraction, LaneState<S>& state) {
  using T = real_t<S>;
  const S zero = S(T(0));
  const mask_t<S> fresh = is_set(state.fresh), at_goal = is_set(state.at_goal);

  // the posture is inactive until the goals are reached
  const bool wished = posture.gain != nullptr && any(at_goal);
  state.at.strength = select(at_goal, state.strength, zero);
  propose_lm<M>(problem, settings, wished ? posture : Posture<S>{nullptr, nullptr}, targets, state.at);
  nudge_lanes(problem, settings, state);
  if (any(fresh)) {
    POISE_UNROLL_BODY
    for (int c = 0; c < problem.n_v; ++c) state.at.dq[c] = select(fresh, zero, state.at.dq[c]);
  }
  take_step(problem, state.at.q, state.at.dq, settings.limits != LIMITS_OFF, state.at.q);
  state.at.cost = evaluate(problem, state.at.q, targets, state.at.placements, state.at.rows, state.at.errors,
                           may_weigh<P>() ? state.at.room : nullptr);
  state.steps = select(fresh, state.steps, state.steps + S(T(1)));
  state.fresh = zero;
  const mask_t<S> progress = keep_best_lanes(problem, settings, posture, fraction, state);
  return judge_lanes<S>(settings, posture.gain != nullptr, progress, state);
}

}  // namespace poise
