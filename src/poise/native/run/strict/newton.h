// newton.h: Newton's step (run/newton.h) of one level, in the null space of the levels above and within the limits.
// Part of solve.cpp.
//
// The space is that of strict/step.h: the step in its metric, the basis of the rows above, active inequalities. It
// begins with those that the gradient of the level pushes against. If the step meets another one, it becomes active,
// and the step continues along it (More and Toraldo 1991). Multipliers add the curvature of the rows above; the
// curvature of the limits is ignored, since a trial is checked like every other one.
#pragma once
#include "run/newton.h"
#include "run/strict/guard.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

// ---------------------------------------------------------------------------------------------- the free space

// The free space of one level, for the conjugate gradients of run/newton.h.
struct LevelSpace {
  SolverData& solver;
  const NewtonWork& n;
  HierarchyWork<S>& w;
  S trust;

  void aim(const S* left, S* way) const {
    for (int k = 0; k < w.stride; ++k) way[k] = k < w.n ? left[k] : 0.0;
    subtract_basis(w, 0, w.n_basis + w.n_held, way);
  }
  void bend() const { POISE_LEVEL::bend(solver, n, solver.strict_state.here.q, w.scale); }
  S square_of(const S* way) const { return dot_n(way, way, w.stride); }

  // Returns the fraction of the way at which no motion is longer than `trust`.
  S longest() const {
    S share = 1e300;
    for (int c = 0; c < w.n; ++c) {
      const S speed = n.way[c] * w.turn[c];
      if (!(absolute(speed) > 0.0)) continue;
      share = minimum(share, (trust - n.sum[c] * w.turn[c] * (speed > 0.0 ? 1.0 : -1.0)) / absolute(speed));
    }
    return maximum(share, 0.0);
  }
  // Returns the inequality that is met first, before `share` of the way, or -1.
  int find_first_met(S& share) {
    int first = -1;
    for (int i = 0; i < w.n_inequalities; ++i) {
      if (w.active[i] == at_high || w.active[i] == at_low) continue;
      const Inequality<S>& q = w.inequalities[i];
      const S now = value_of(w, q, n.sum), speed = value_of(w, q, n.way), bound = speed > 0.0 ? q.high : q.low;
      if (!(absolute(speed) > tuning.no_speed)) continue;
      const S to = maximum((bound - now) / speed, 0.0);
      if (!(to < share)) continue;
      share = to;
      first = i;
    }
    return first;
  }
  S flattest() const { return tuning.flattest; }
  // Directions of negative curvature are followed as far as possible; flat ones are not followed.
  Met meet(S curve, S least, S& share) {
    if (absolute(curve) <= least) return Met::END;
    const S most = longest();
    const bool ends = curve < 0.0 || share > most;
    share = ends ? most : share;
    const int met = find_first_met(share);
    if (met < 0) return ends ? Met::END : Met::NOTHING;
    w.active[met] = value_of(w, w.inequalities[met], n.way) > 0.0 ? at_high : at_low;
    return w.n_held < w.most_held && hold(w, met) ? Met::BOUND : Met::END;
  }
};

// ---------------------------------------------------------------------------------------------- multipliers

// Writes the rows above that stay unchanged, or are held at the end of their range, to w.order; returns their number.
int find_kept_rows(SolverData& solver, int first) {
  StrictState& t = solver.strict_state;
  HierarchyWork<S>& w = t.work;
  int count = 0;
  for (int r = 0; r < first; ++r) {
    if (!t.loose[static_cast<std::size_t>(r)]) w.order[count++] = r;
  }
  for (int k = 0; k < w.n_held; ++k) {
    const S* row = w.inequalities[w.holds[k]].row;
    if (!row || row < w.rows || row >= w.rows + first * w.stride || count >= w.most_rows) continue;
    w.order[count++] = static_cast<int>((row - w.rows) / w.stride);
  }
  return count;
}

// Finds the multipliers n.given with which the rows above balance the gradient of the level, over the free joints.
void find_multipliers(SolverData& solver, const NewtonWork& n) {
  HierarchyWork<S>& w = solver.strict_state.work;
  for (int r = 0; r < n.first; ++r) n.given[r] = 0.0;
  const int count = find_kept_rows(solver, n.first);
  if (count == 0) return;
  for (int c = 0; c < w.stride; ++c) n.way[c] = c < w.n ? 1.0 : 0.0;
  for (int k = 0; k < w.n_held; ++k) {
    const Inequality<S>& q = w.inequalities[w.holds[k]];
    if (!q.row) n.way[q.column] = 0.0;
  }
  for (int a = 0; a < count; ++a) {
    const S* one = w.rows + w.order[a] * w.stride;
    for (int c = 0; c < w.stride; ++c) n.bent[c] = one[c] * n.way[c];
    w.y[a] = dot_n(n.bent, n.pull, w.stride);
    for (int b = 0; b <= a; ++b) w.normal[packed(a, b)] = dot_n(n.bent, w.rows + w.order[b] * w.stride, w.stride);
    w.normal[packed(a, a)] += tuning.multiplier_floor * dot_n(one, one, w.stride) + 1e-300;
  }
  cholesky<0>(count, w.normal, w.pivots, 1e-300);
  cholesky_solve<0>(count, w.normal, w.pivots, w.y);
  for (int a = 0; a < count; ++a) {
    n.given[w.order[a]] -= w.y[a];
    add_n(-w.y[a], w.rows + w.order[a] * w.stride, w.stride, n.pull);
  }
}

// ---------------------------------------------------------------------------------------------- the step

// Activates the inequalities that the gradient pushes against, and writes a tiny step along the rest of it to work.x.
void hold_pressed(SolverData& solver, const NewtonWork& n) {
  StrictState& t = solver.strict_state;
  HierarchyWork<S>& w = t.work;
  S most = 1e-300;
  for (int c = 0; c < w.n; ++c) most = maximum(most, absolute(n.pull[c]) * w.turn[c]);
  for (int c = 0; c < w.n; ++c) t.wanted[c] = n.pull[c] * (tuning.pressed_step / most);
  for (int k = 0; k < w.stride; ++k) w.x[k] = 0.0;
  serve_posture(w, t.wanted, tuning.pressed_step);
}

// Finds Newton's step from `here`, n.sum, with no motion longer than `trust`; returns the predicted decrease of the
// level's cost, to second order.
S find_newton_step(SolverData& solver, const NewtonWork& n, int level, S trust, Clock::time_point begun) {
  StrictState& t = solver.strict_state;
  HierarchyWork<S>& w = t.work;
  serve_above(solver, t.here, level, trust);
  for (int k = 0; k < w.stride; ++k) n.pull[k] = 0.0;
  for (int r = n.first; r < n.last; ++r) add_n(t.here.rows[r], w.rows + r * w.stride, w.stride, n.pull);
  const S whole = dot_n(n.pull, n.pull, w.stride);
  hold_pressed(solver, n);
  find_multipliers(solver, n);
  LevelSpace space{solver, n, w, trust};
  t.assembled = nullptr;
  for (int k = 0; k < w.stride; ++k) {
    n.left[k] = n.bent[k] = 0.0;
    n.sum[k] = n.way[k] = w.x[k];
  }
  space.bend();
  for (int c = 0; c < w.n; ++c) n.left[c] = n.pull[c] - n.bent[c];
  space.aim(n.left, n.way);
  const S asked = square_root(space.square_of(n.way) / maximum(whole, 1e-300));
  if (asked < tuning.least_pull) return 0.0;
  conjugate(solver, n, space, w.n / 2 + 8, minimum(tuning.widest_answer, maximum(asked, tuning.finest_answer)), begun);
  return dot_n(n.sum, n.pull, w.stride) + dot_n(n.sum, n.left, w.stride);
}

// The result of Newton's step: it may be taken, it failed and the usual step is better, or there is nothing to gain.
enum class Newton : int { TAKEN, FAILED, STILL };

// Tries Newton's step, no longer than `trust`, to `there`, corrected for the levels above; sets the next `trust`.
Newton try_newton_step(SolverData& solver, int level, S& trust, S worth, Clock::time_point begun) {
  StrictState& t = solver.strict_state;
  const auto k = static_cast<std::size_t>(level);
  const NewtonWork n = newton_work(solver, t.level_rows[k], t.level_rows[k + 1], t.level_goals[k + 1]);
  for (int attempt = 0; attempt < tuning.newton_trials && !late(solver, begun); ++attempt) {
    const S gain = find_newton_step(solver, n, level, trust, begun);
    if (t.n_returning) return Newton::FAILED;
    if (!(gain > worth * t.here.costs[level])) return Newton::STILL;
    for (int c = 0; c < solver.n_v; ++c)
      solver.state.dq[c] =
          minimum(maximum(n.sum[c] * t.work.scale[c], solver.state.work.low[c]), solver.state.work.high[c]);
    const S length = measure_step(solver);
    // the minimum of this valley is not below that of another one
    if (t.cost_to_beat >= 0.0 && length < tuning.in_valley * trust && t.here.costs[level] - 2.0 * gain > t.cost_to_beat)
      return Newton::STILL;
    follow_step(solver, t.here, t.there, level);
    const bool kept = correct_trial(solver, level, trust);
    const S fell = t.here.costs[level] - t.there.costs[level];
    const bool good = kept && fell > 0.0;
    if (!good && gain < tuning.settled_gain * t.here.costs[level]) return Newton::STILL;
    const bool poor = !good || fell < tuning.poor * gain;
    const bool as_promised = fell > tuning.good * gain && fell < tuning.too_good * gain;
    trust = poor ? tuning.shrink * length : as_promised ? maximum(trust, tuning.grow * length) : trust;
    trust = minimum(trust, solver.settings.reach);
    if (good) return Newton::TAKEN;
  }
  return Newton::FAILED;
}

}  // namespace
}  // namespace POISE_LEVEL
}  // namespace poise
