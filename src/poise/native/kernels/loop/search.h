// search.h: one search from one start, as a state machine that can be stopped between its phases.
//
//   EVALUATED --propose--> PROPOSED --take the step, evaluate--> EVALUATED ... DONE
//
// The search calls no other code: recording, clocks, single-stepping and user code run between two calls of `advance`.
// Limits, acceptance and stopping are the same for every method; a method only proposes a step (rules.h) or sweeps over
// the body (sweeps.h). Every step is taken, also uphill ones, because this solves hard targets; the best pose is kept.
#pragma once
#include "kernels/loop/step.h"

namespace poise {

enum class Phase : int { FRESH = 0, EVALUATED = 1, PROPOSED = 2, DONE = 3 };
enum class Outcome : int { RUNNING = 0, REACHED = 1, STALLED = 2, OUT_OF_STEPS = 3, STOPPED = 4 };

template <class T> struct Settings {
  int method;
  int limits;  // LimitHandling
  T damping;   // lambda of damped methods; for lm: damping = damping * cost + damping_floor
  T damping_floor;
  T reach;  // largest motion per step in radians (times L: metres)
  int max_steps;
  int stall_steps;  // stop after this many steps without the cost falling below stall_ratio of the best
  T stall_ratio;
  int rounds;     // times that joints are fixed and the step solved again
  T options[4];   // further parameters of the method
  T gain = T(1);  // of a rule: the share of the error that a step should remove
};

// the input and output of a search; all memory belongs to the caller
template <class S> struct SearchState {
  S* q;        // n_q
  S* best_q;   // n_q
  S* trial_q;  // n_q
  S* rows;     // n_rows
  S* errors;   // 2 for each goal
  S* best_errors;
  S* placements;    // 12 for each primitive
  S* J;             // n_rows * n_v, column by column
  S* dq;            // n_v
  const S* origin;  // continuous mode: the start, from which no velocity may move farther than `span`; otherwise null
  S span;
  const S* window = nullptr;  // 2 per velocity, instead of the span: largest motion backward and forward
  S* trial_rows = nullptr;    // n_rows
  S* room = nullptr;          // 2 per row if a goal has a range, see note_room
  const S* bend =
      nullptr;  // n_rows * n_v: the derivative of J along the step if no kernel computes it: custom goals, Halley's rule
  StepWorkspace<S> work;
  S* extra;  // workspace of the method
  S cost, best_cost, best_posture, best_outside, damping, strength;
  S last_progress;  // the best cost when it last made real progress
  int steps, idle, nudges;
  bool best_reached;
  bool at_goal;  // whether the last evaluated pose reaches
  Phase phase;
  Outcome outcome;
};

template <class S, class P> POISE_FN void copy_configuration(const P& problem, const S* from, S* to) {
  POISE_UNROLL_BODY
  for (int k = 0; k < problem.n_q; ++k) to[k] = from[k];
}

// the cost of one velocity, `apart` from the posture
template <class S, class P> POISE_FN S posture_cost_of(const P& problem, int c, const Posture<S>& posture, S apart) {
  const S square = apart * apart * S(real_t<S>(1) / problem.freedoms[c].unit2);
  return posture.gain[c] * square * steepness(posture, square);
}

// sum of gain (q - wanted)^2: the remaining cost of the posture
template <class S, class P> POISE_FN S posture_cost(const P& problem, const S* q, const Posture<S>& posture, S* work) {
  S cost = S(real_t<S>(0));
  if (!posture.gain) return cost;
  difference(problem.coordinates, problem.n_coordinates, q, posture.wanted, work);
  POISE_UNROLL_BODY
  for (int c = 0; c < problem.n_v; ++c) cost += posture_cost_of(problem, c, posture, work[c]);
  return cost;
}

template <class S, class P> POISE_FN void begin_search(const P&, SearchState<S>& state) {
  using T = real_t<S>;
  state.phase = Phase::FRESH;
  state.outcome = Outcome::RUNNING;
  state.steps = 0;
  state.idle = 0;
  state.best_cost = S(T(1e30));
  state.last_progress = S(T(1e30));
  state.best_posture = S(T(1e30));
  state.best_outside = S(T(1e30));
  state.best_reached = false;
  state.at_goal = false;
  state.nudges = 0;
  state.strength = S(T(1));
  state.damping = S(T(0));
}

// the distance of velocity c outside its range; 0 or less inside, or without one
template <class S, class P> POISE_FN S outside_at(const P& problem, int c, const S* q) {
  using T = real_t<S>;
  const auto& f = problem.freedoms[c];
  if (f.q_index < 0) return S(T(0));
  const S out = maximum(S(f.lower) - q[f.q_index], q[f.q_index] - S(f.upper));
  return f.angular ? out : out * S(T(1) / problem.scale);
}

// the largest distance of a joint outside its range [rad, or relative to the scale]; allowed for a start, but not for
// an answer if it can return
template <class S, class P> POISE_FN S outside_of(const P& problem, const Settings<real_t<S>>& settings, const S* q) {
  using T = real_t<S>;
  S worst = S(T(0));
  if (settings.limits == LIMITS_OFF) return worst;
  POISE_UNROLL_BODY
  for (int c = 0; c < problem.n_v; ++c) {
    if (problem.freedoms[c].q_index >= 0) worst = maximum(worst, outside_at(problem, c, q));
  }
  if constexpr (any_goal<P>) {
    for (int i = 0; i < problem.n_cones; ++i)
      worst = maximum(worst, S(T(0)) - least_gap(problem.cones[i], q + problem.cones[i].q_index));
  }
  return worst;
}

// whether one cost is lower than another by more than rounding
template <class T> constexpr T less_by_more_than_rounding = T(1) - T(1e-14);

// Keeps the pose if it is the best so far: first by its distance outside the ranges, then by reaching, then by cost (or
// posture). Returns whether that was real progress.
template <class S, class P> POISE_FN bool keep_best(const P& problem, const Settings<real_t<S>>& settings,
                                                    const Posture<S>& posture, SearchState<S>& state) {
  using T = real_t<S>;
  const S outside = outside_of(problem, settings, state.q);
  state.at_goal = false;
  if (outside > state.best_outside) return false;
  const bool closer = outside < state.best_outside;
  const bool reached = within_tolerance(problem, state.errors, T(1)) && !(outside > S(T(0)));
  const S asked = posture_cost(problem, state.q, posture, state.work.b);
  const bool first = closer || (reached && !state.best_reached);
  const bool less = state.cost < state.best_cost * S(less_by_more_than_rounding<T>);
  const bool better = first || (reached ? asked < state.best_posture : !state.best_reached && less);
  const S before = reached ? state.best_posture : state.best_cost, now = reached ? asked : state.cost;
  const S enough = reached ? S(T(0.999)) : S(settings.stall_ratio);
  const bool progress = first || (better && now < before * enough);
  if (reached && state.best_reached) {
    state.strength =
        better ? minimum(state.strength * S(T(4)), S(T(1000))) : maximum(state.strength * S(T(0.25)), S(T(0.01)));
  }
  state.at_goal = reached;
  if (better) {
    state.best_outside = outside;
    state.best_cost = state.cost;
    state.best_posture = asked;
    state.best_reached = reached;
    copy_configuration(problem, state.q, state.best_q);
    POISE_UNROLL_BODY
    for (int k = 0; k < 2 * problem.goals.count(); ++k) state.best_errors[k] = state.errors[k];
  }
  return progress;
}

// after an evaluation: whether to stop or continue
template <class S, class P> POISE_FN void judge(const P& problem, const Settings<real_t<S>>& settings,
                                                const Posture<S>& posture, SearchState<S>& state) {
  using T = real_t<S>;
  const bool progress = keep_best(problem, settings, posture, state);
  state.idle = progress ? 0 : state.idle + 1;
  if (progress) {
    state.nudges = 0;  // each place where it is stuck has its own
    state.last_progress = state.best_cost;
  }
  const int patience = settings.stall_steps > 5 ? settings.stall_steps : 5;
  const bool settled =
      state.best_reached && (!posture.gain || state.idle > patience || state.best_posture < S(T(1e-12)));
  if (settled) {
    state.outcome = Outcome::REACHED;
  } else if (state.idle > settings.stall_steps) {
    // many small gains that together are a real one, as when it leaves a saddle: it creeps, but has not stalled
    const bool creeps_on = state.best_cost < state.last_progress * S(settings.stall_ratio);
    state.outcome = state.best_reached ? Outcome::REACHED : creeps_on ? Outcome::OUT_OF_STEPS : Outcome::STALLED;
  } else if (state.steps >= settings.max_steps) {
    state.outcome = state.best_reached ? Outcome::REACHED : Outcome::OUT_OF_STEPS;
  }
  state.phase = state.outcome == Outcome::RUNNING ? Phase::EVALUATED : Phase::DONE;
}

// the interval in which velocity c may move from the origin
template <class S, class P>
POISE_FN void tether_of(const P& problem, const SearchState<S>& state, int c, S& low, S& high) {
  const S most = state.span * S(problem.freedoms[c].angular ? real_t<S>(1) : problem.scale);
  low = state.window ? state.window[2 * c] : S(real_t<S>(0)) - most;
  high = state.window ? state.window[2 * c + 1] : most;
}

// a few units in the last place of a coordinate moved `from` its origin, or of a rotation: the error by rounding
template <class S, class P> POISE_FN S rounding_of(const P& problem, const S* q, S from, int c) {
  using T = real_t<S>;
  const int at = problem.freedoms[c].q_index;
  return S(T(sizeof(T) == 8 ? 1e-15 : 5e-7)) * (at < 0 ? S(T(1)) : absolute(q[at]) + absolute(from));
}

// The room of every velocity in this step: to its bounds, and at most `reach`. At the largest allowed distance a
// velocity has none: rounding there, to either side, must not affect the step.
template <class S, class P> POISE_FN void find_room(const P& problem, bool bounded, S reach, SearchState<S>& state) {
  room_to_move(problem, state.q, bounded, reach, state.work);
  if (!state.origin) return;
  difference(problem.coordinates, problem.n_coordinates, state.origin, state.q, state.work.b);
  POISE_UNROLL_BODY
  for (int c = 0; c < problem.n_v; ++c) {
    S back, on;
    tether_of(problem, state, c, back, on);
    back -= state.work.b[c];
    on -= state.work.b[c];
    const S least = rounding_of(problem, state.q, state.work.b[c], c);
    back = select(absolute(back) < least, S(real_t<S>(0)), back);
    on = select(absolute(on) < least, S(real_t<S>(0)), on);
    state.work.low[c] = minimum(maximum(state.work.low[c], back), on);
    state.work.high[c] = minimum(maximum(state.work.high[c], back), on);
  }
}

// A rotation vector is at most pi times the vector part of its quaternion, which is cheap to check.
template <class S, class P>
POISE_FN bool surely_tied(const P& problem, const SearchState<S>& state, int v, const S* a, const S* b) {
  const S back[4] = {a[0], S(0) - a[1], S(0) - a[2], S(0) - a[3]};
  S turn[4];
  quaternion_multiply(back, b, turn);
  for (int k = 0; k < 3; ++k) {
    S low, high;
    tether_of(problem, state, v + k, low, high);
    if (!(absolute(turn[1 + k]) * S(3.1416) < minimum(high, S(0) - low))) return false;
  }
  return true;
}

// whether the rotation from the origin to `now` is within the span of its velocities, up to rounding
template <class S, class P>
POISE_FN bool is_tied(const P& problem, const SearchState<S>& state, int v, const S* from, const S* now) {
  const Coordinate one[1] = {{0, 0, 1}};
  const S rounding = S(real_t<S>(4e-15));
  S turn[3];
  difference(one, 1, from, now, turn);
  for (int k = 0; k < 3; ++k) {
    S low, high;
    tether_of(problem, state, v + k, low, high);
    if (!(turn[k] >= low - rounding && turn[k] <= high + rounding)) return false;
  }
  return true;
}

// Shortens the motion of a ball joint from `was` until it is no farther outside its cone than before, nor too far from
// the origin: the allowed rotations are not a convex set.
template <class S, class P> POISE_LARGE_FN void stay_in_cone(const P& problem, const SearchState<S>& state,
                                                             const Coordinate& at, const S* was, S* now) {
  const Coordinate one[1] = {{0, 0, 1}};
  const auto allowed = [&] {
    for (int i = 0; i < problem.n_cones; ++i) {
      if (problem.cones[i].q_index == at.q_index && !no_further_out(problem.cones[i], was, now)) return false;
    }
    return is_tied(problem, state, at.v_index, state.origin + at.q_index, now);
  };
  S way[3];
  difference(one, 1, was, now, way);
  for (int k = 0; k < 12; ++k) {
    if (allowed()) return;
    for (int j = 0; j < 3; ++j) way[j] *= S(0.7);
    integrate(one, 1, was, way, now);
  }
  for (int k = 0; k < 4; ++k) now[k] = was[k];
}

// Steps of a ball joint about different axes do not add up to the resulting rotation. So if it is too far from the
// origin, it is moved to the nearest allowed rotation. If that is outside its cone, only a part of the step is made.
template <class S, class P>
POISE_LARGE_FN void tie_balls(const P& problem, const SearchState<S>& state, const S* before, bool bounded, S* q) {
  if (!state.origin) return;
  for (int i = 0; i < problem.n_coordinates; ++i) {
    const Coordinate at = problem.coordinates[i];
    if (!at.quaternion) continue;
    const Coordinate one[1] = {{at.q_index, 0, at.quaternion}};
    S turn[3], was[4], *now = q + at.q_index;
    if (surely_tied(problem, state, at.v_index, state.origin + at.q_index, now)) continue;
    difference(one, 1, state.origin, q, turn);
    bool outside = false;
    for (int k = 0; k < 3; ++k) {
      S low, high;
      tether_of(problem, state, at.v_index + k, low, high);
      const S inside = minimum(maximum(turn[k], low), high);
      outside = outside || inside != turn[k];
      turn[k] = inside;
    }
    if (!outside) continue;
    for (int k = 0; k < 4; ++k) was[k] = before[at.q_index + k];
    integrate(one, 1, state.origin, turn, q);
    if constexpr (any_goal<P>) {
      if (bounded) stay_in_cone(problem, state, at, was, now);
    }
  }
}

// out <- q (+) dq, inside the ranges and, in continuous mode, within the allowed distance from the origin. out is not
// q.
template <class S, class P> POISE_FN void take_tied_step(const P& problem, const SearchState<S>& state, const S* q,
                                                         const S* dq, bool bounded, S* out) {
  take_step(problem, q, dq, bounded, out);
  tie_balls(problem, state, q, bounded, out);
}

template <class S, class P>
POISE_FN void find_room(const P& problem, const Settings<real_t<S>>& settings, SearchState<S>& state) {
  find_room(problem, settings.limits != LIMITS_OFF, S(settings.reach), state);
}

// Levenberg-Marquardt with damping from the error (Chan and Lawrence 1988), bounded; state.J is up to date
template <int M, class S, class P> POISE_FN void step_lm(const P& problem, const Settings<real_t<S>>& settings,
                                                         const Posture<S>& posture, SearchState<S>& state) {
  find_room(problem, settings, state);
  state.damping = S(settings.damping) * state.cost + S(settings.damping_floor);
  const int rounds = settings.limits == LIMITS_CLAMP ? 0 : settings.rounds;

  // at the goal only the posture is left to improve: longer steps while they succeed, shorter ones otherwise
  Posture<S> wish = posture;
  wish.strength = state.strength;
  bounded_step<M>(problem, state.q, state.J, state.rows, state.damping, wish, rounds, state.work, state.dq);
}

// the default, with compile-time sizes for common problems
template <class S, class P> POISE_LARGE_FN void step_default(const P& problem, const Settings<real_t<S>>& settings,
                                                             const Posture<S>& posture, SearchState<S>& state) {
  if (problem.n_rows == 6) {
    step_lm<6>(problem, settings, posture, state);
  } else if (problem.n_rows == 3) {
    step_lm<3>(problem, settings, posture, state);
  } else {
    step_lm<0>(problem, settings, posture, state);
  }
}

constexpr int any_rows = -1;  // in place of M: chosen in every step

template <int M, class S, class P> POISE_FN void propose_lm(const P& problem, const Settings<real_t<S>>& settings,
                                                            const Posture<S>& posture, const S* targets,
                                                            SearchState<S>& state) {
  assemble(problem, state.q, state.placements, targets, state.J, state.room);
  if constexpr (M == any_rows) {
    step_default(problem, settings, posture, state);
  } else {
    step_lm<M>(problem, settings, posture, state);
  }
}

// a rotation by `wanted`, or in the opposite direction if there is little room for it
template <class S> POISE_FN S nudged(S wanted, S low, S high) {
  const S on = minimum(maximum(wanted, low), high);
  const S back = minimum(maximum(S(real_t<S>(0)) - wanted, low), high);
  return select(absolute(on) < minimum(S(real_t<S>(0.5)) * absolute(wanted), absolute(back)), back, on);
}

// Whether the pose of state.J is stationary up to rounding: no joint with room has a gradient. A step from there would
// consist of rounding. find_room has been called.
template <class S, class P> POISE_LARGE_FN bool stands_still(const P& problem, const SearchState<S>& state) {
  using T = real_t<S>;
  for (int c = 0; c < problem.n_v; ++c) {
    const S* column = state.J + c * problem.n_rows;
    S pull = S(T(0)), size = S(T(0));
    for (int k = 0; k < problem.n_rows; ++k) {
      pull += column[k] * state.rows[k];
      size += column[k] * column[k];
    }
    const S low = state.work.low[c], high = state.work.high[c];
    if (low > S(T(0)) || high < S(T(0))) return false;  // outside its range: it must return
    const bool blocked = pull > S(T(0)) ? !(high > S(T(0))) : !(low < S(T(0)));
    if (!blocked && pull * pull > S(T(1e-26)) * size * state.cost) return false;
  }
  return true;
}

// the rotation of velocity c by nudge 1, 2, ...: golden-ratio steps, so that no two joints rotate equally, and the same
// every time
template <class P> POISE_FN typename P::Real nudge_of(const P& problem, int c, int nudge) {
  using T = typename P::Real;
  const T spread = T((c + 1) * nudge) * T(0.6180339887498949);
  const T size = T(0.03) + T(0.04) * (spread - T(static_cast<int>(spread)));
  const T turn = problem.freedoms[c].angular ? size : size * problem.scale;
  return c % 2 ? T(0) - turn : turn;
}

// A missed goal and a zero step: the pose is stationary, such as a straight arm with a goal on its own line. Rotates
// every joint a little, each by a different amount, so that the next step finds a descent; a true minimum returns to
// itself. A joint at the end of its range rotates the other way: a knee bends to one side only. `state.work` is the
// workspace.
template <class S, class P>
POISE_FN void nudge_if_stuck(const P& problem, const Settings<real_t<S>>& settings, SearchState<S>& state) {
  if (state.best_reached || state.nudges >= 2) return;
  if (longest_of(problem, state.dq) > step_of_nothing(state.cost)) return;
  ++state.nudges;
  find_room(problem, settings, state);
  POISE_UNROLL_BODY
  for (int c = 0; c < problem.n_v; ++c) {
    state.dq[c] = nudged(S(nudge_of(problem, c, state.nudges)), state.work.low[c], state.work.high[c]);
  }
}

// takes the proposed step and evaluates the result
template <class S, class P>
POISE_FN void follow(const P& problem, const Settings<real_t<S>>& settings, const S* targets, SearchState<S>& state) {
  take_step(problem, state.q, state.dq, settings.limits != LIMITS_OFF, state.q);
  state.cost = evaluate(problem, state.q, targets, state.placements, state.rows, state.errors, state.room);
  ++state.steps;
}

}  // namespace poise
