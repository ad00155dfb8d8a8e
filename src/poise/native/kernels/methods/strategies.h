// strategies.h: a Jacobian rule's step within the limits: one loop for every rule and every strategy.
//
//   active   solve, fix joints that would leave their range at the bound, subtract their effect from r, solve again
//   freeze   the same, but such joints do not move at all
//   penalty  such joints get an extra row that pulls them to the bound; any remaining excess is clamped
//   clamp    clamp after the solve
//   off      no ranges
//
// The largest motion of a joint is `reach`: the whole step is scaled, so that its direction is kept. A joint outside
// its range returns, by at most `reach` per step, and the others compensate.
#pragma once
#include "kernels/loop/search.h"
#include "kernels/methods/directions.h"
#include "kernels/problem/curvature.h"

namespace poise {

enum Hold : int { FREE = 0, HELD = 1, PULLED_TO_HIGH = 2, PULLED_TO_LOW = 3 };

// a rule's memory, part of state.extra
template <class S> struct RuleWork {
  LinearSystem<S> system;
  S* hold;  // n: Hold
  S* unit;  // n: 1 for a rotation, L for a translation
  S* z;     // n: the step of the posture
  S* K;     // n_rows * n, like J: its replacement by a rule
};

// the largest number of rows: a pulled joint has an extra one
POISE_LARGE_FN constexpr int most_rows(int limits, int m, int n) { return limits == LIMITS_PENALTY ? m + n : m; }

POISE_LARGE_FN constexpr int rule_workspace(int limits, int m, int n) {
  const int rows = most_rows(limits, m, n);
  return rows * n + rows + 5 * n + m * n + direction_workspace(rows, n);
}

template <class S, class P>
POISE_LARGE_FN RuleWork<S> cut_workspace(const P& problem, int limits, SearchState<S>& state) {
  const int m = problem.n_rows, n = problem.n_v, rows = most_rows(limits, m, n);
  RuleWork<S> w;
  S* next = state.extra;
  const auto take = [&next](int size) {
    S* at = next;
    next += size;
    return at;
  };
  w.system = {m, n, take(rows * n), take(rows), take(n), take(n), nullptr, m};
  w.hold = take(n);
  w.unit = take(n);
  w.z = take(n);
  w.K = take(m * n);
  w.system.work = next;
  return w;
}

// joints outside their range must return; all others are free
template <class S, class P> POISE_LARGE_FN void begin_rule(const P& problem, const Settings<real_t<S>>& settings,
                                                           RuleWork<S>& w, SearchState<S>& state) {
  find_room(problem, settings.limits != LIMITS_OFF, S(real_t<S>(1e30)), state);
  for (int c = 0; c < problem.n_v; ++c) {
    w.unit[c] = problem.freedoms[c].angular ? S(1) : S(problem.scale);
    w.system.root[c] = S(1) / square_root(S(problem.freedoms[c].weight));
    const S most = S(settings.reach) * w.unit[c], low = state.work.low[c], high = state.work.high[c];
    const bool out = low > S(0) || high < S(0);
    w.hold[c] = S(out ? HELD : FREE);
    state.dq[c] = !out ? S(0) : low > S(0) ? minimum(low, most) : maximum(high, S(0) - most);
  }
}

// A and r, the error times the gain, from J (column by column), without held joints; then the rows of pulled joints
template <class S, class P>
POISE_LARGE_FN void fill_system(const P& problem, const S* J, S gain, RuleWork<S>& w, const SearchState<S>& state) {
  LinearSystem<S>& s = w.system;
  const int m = problem.n_rows, n = s.n;
  for (int k = 0; k < m; ++k) s.r[k] = gain * state.rows[k];
  for (int c = 0; c < n; ++c) {
    const bool held = w.hold[c] == S(HELD);
    const S scale = held ? S(0) : s.root[c] * w.unit[c];
    for (int k = 0; k < m; ++k) {
      s.A[k * n + c] = scale * J[c * m + k];
      if (held) s.r[k] -= J[c * m + k] * state.dq[c];
    }
  }
  s.m = m;
  for (int c = 0; c < n; ++c) {
    if (w.hold[c] == S(FREE) || w.hold[c] == S(HELD)) continue;
    for (int i = 0; i < n; ++i) s.A[s.m * n + i] = i == c ? s.root[c] : S(0);
    s.r[s.m++] = (w.hold[c] == S(PULLED_TO_HIGH) ? state.work.high[c] : state.work.low[c]) / w.unit[c];
  }
}

// the posture's own step: the gradient of its cost, in the metric of the step
template <class S, class P> POISE_LARGE_FN void posture_step(const P& problem, const Posture<S>& posture,
                                                             RuleWork<S>& w, const SearchState<S>& state) {
  difference(problem.coordinates, problem.n_coordinates, state.q, posture.wanted, w.z);
  for (int c = 0; c < problem.n_v; ++c) {
    const S steep = steepness(posture, w.z[c] * w.z[c] / (w.unit[c] * w.unit[c]));
    w.z[c] *= w.hold[c] == S(HELD) ? S(0) : posture.gain[c] * steep * w.system.root[c] / w.unit[c];
  }
}

// dq of all free joints, scaled as a whole so that nothing moves farther than `reach`
template <class S> POISE_LARGE_FN void scaled_step(const RuleWork<S>& w, S reach, S* dq) {
  const LinearSystem<S>& s = w.system;
  S most = S(0);
  for (int c = 0; c < s.n; ++c) most = maximum(most, w.hold[c] == S(HELD) ? S(0) : absolute(s.root[c] * s.x[c]));
  const S beta = most > reach ? reach / most : S(1);
  for (int c = 0; c < s.n; ++c) {
    if (w.hold[c] != S(HELD)) dq[c] = beta * s.root[c] * w.unit[c] * s.x[c];
  }
}

// fixes, or pulls, joints that would leave their range; true if there are new ones
template <class S> POISE_LARGE_FN bool mark_crossings(int limits, RuleWork<S>& w, SearchState<S>& state) {
  bool crossed = false;
  for (int c = 0; c < w.system.n; ++c) {
    const S low = state.work.low[c], high = state.work.high[c];
    if (w.hold[c] != S(FREE) || (state.dq[c] >= low && state.dq[c] <= high)) continue;
    crossed = true;
    const bool above = state.dq[c] > high;
    if (limits == LIMITS_PENALTY) {
      w.hold[c] = S(above ? PULLED_TO_HIGH : PULLED_TO_LOW);
      continue;
    }
    w.hold[c] = S(HELD);
    state.dq[c] = limits == LIMITS_FREEZE ? S(0) : above ? high : low;
  }
  return crossed;
}

// clamps the remaining ones at their bounds
template <class S> POISE_LARGE_FN void cut_off(const RuleWork<S>& w, SearchState<S>& state) {
  for (int c = 0; c < w.system.n; ++c) {
    if (w.hold[c] != S(HELD)) state.dq[c] = minimum(maximum(state.dq[c], state.work.low[c]), state.work.high[c]);
  }
}

// the whole step: `direction(w)` solves w.system, as often as the limits require
template <class S, class P, class Direction>
POISE_LARGE_FN void propose_within_limits(const P& problem, const Settings<real_t<S>>& settings,
                                          const Posture<S>& posture, SearchState<S>& state,
                                          const Direction& direction) {
  RuleWork<S> w = cut_workspace(problem, settings.limits, state);
  begin_rule(problem, settings, w, state);
  const bool again =
      settings.limits == LIMITS_ACTIVE || settings.limits == LIMITS_FREEZE || settings.limits == LIMITS_PENALTY;
  for (int round = 0; round == 0 || round <= settings.rounds; ++round) {
    fill_system(problem, state.J, S(settings.gain), w, state);
    direction(w);
    if (posture.gain) {
      posture_step(problem, posture, w, state);
      add_posture(w.system, w.z);
    }
    scaled_step(w, S(settings.reach), state.dq);
    if (!again || round >= settings.rounds || !mark_crossings(settings.limits, w, state)) break;
  }
  cut_off(w, state);
}

}  // namespace poise
