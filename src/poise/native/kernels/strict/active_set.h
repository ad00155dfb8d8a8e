// active_set.h: inequalities inside one level of the strict step, by an exact dual active set.
//
//   minimise f(z), strictly convex and quadratic,   over z in the null space of the levels above,
//   low <= row . (x + z) <= high
//
// Start free. Move the most violated inequality to its bound; meanwhile the multipliers of the active ones change
// linearly, and one that becomes zero is released (Goldfarb and Idnani 1983, "A numerically stable dual method for
// solving strictly convex quadratic programs"). f increases with every added inequality, so no set occurs twice and the
// end is the minimum. At first several are added at a time, and those with the wrong sign released again: most steps
// end there. An inequality still violated after the last round shortens z.
//
// Active inequalities are part of the basis: a direction for each, after those of the levels above.
#pragma once
#include "kernels/strict/row_basis.h"

namespace poise {

// the state of an inequality in the level
constexpr char not_held = 0, at_high = 1, at_low = 2, given_up = 3;

template <class S> POISE_FN S value_of(const HierarchyWork<S>& w, const Inequality<S>& q, const S* x) {
  return q.row ? dot_n(q.row, x, w.stride) : x[q.column];
}

template <class S> POISE_FN S* held_direction(const HierarchyWork<S>& w, int k) {
  return w.basis + (w.n_basis + k) * w.stride;
}

// outward: +1 if active at its upper bound, -1 at its lower
template <class S> POISE_FN S outward(const HierarchyWork<S>& w, int i) { return w.active[i] == at_low ? S(-1) : S(1); }

// Moves inequality i to its bound in the free space of the basis: adds a direction, and a part of w.held. False,
// without a change, if it depends on the basis.
template <class S> POISE_LARGE_FN bool hold(HierarchyWork<S>& w, int i) {
  const Inequality<S>& q = w.inequalities[i];
  const int last = w.n_basis + w.n_held;
  S* v = held_direction(w, w.n_held);
  S whole = S(1);
  if (q.row) {
    for (int k = 0; k < w.stride; ++k) v[k] = q.row[k];
    whole = dot_n(v, v, w.stride);
    subtract_basis(w, 0, last, v);
  } else {  // a unit vector's products with the basis are its numbers
    for (int k = 0; k < w.stride; ++k) v[k] = S(0);
    v[q.column] = S(1);
    for (int b = 0; b < last; ++b) add_n(S(0) - w.basis[b * w.stride + q.column], w.basis + b * w.stride, w.stride, v);
  }
  S square = dot_n(v, v, w.stride);
  if (square < S(0.3) * whole) {
    subtract_basis(w, 0, last, v);
    square = dot_n(v, v, w.stride);
  }
  if (!(square > S(1e-14) * whole)) return false;
  const S size = square_root(square);
  for (int k = 0; k < w.stride; ++k) v[k] *= S(1) / size;
  const S bound = w.active[i] == at_low ? q.low : q.high;
  const S part = (bound - value_of(w, q, w.x) - value_of(w, q, w.held)) / size;
  add_n(part, v, w.stride, w.held);
  w.parts[w.n_held] = part;
  w.holds[w.n_held++] = i;
  return true;
}

// releases the k-th active inequality; recomputes the directions after it
template <class S> POISE_LARGE_FN void release_bound(HierarchyWork<S>& w, int k) {
  const int count = w.n_held;
  w.active[w.holds[k]] = not_held;
  for (int c = 0; c < w.stride; ++c) w.held[c] = S(0);
  for (int j = 0; j < k; ++j) add_n(w.parts[j], held_direction(w, j), w.stride, w.held);
  w.n_held = k;
  for (int j = k + 1; j < count; ++j) {
    const int i = w.holds[j];
    w.force[w.n_held] = w.force[j];
    if (!hold(w, i)) w.active[i] = not_held;
  }
}

// The outward forces with which the active inequalities balance `pull` (a vector of the free space, such as the descent
// direction): pull = sum force_k outward_k row_k there. Returns the largest part of the pull to be balanced.
template <class S> POISE_LARGE_FN S balance_forces(const HierarchyWork<S>& w, const S* pull, S* force) {
  S most = S(0);
  for (int j = w.n_held - 1; j >= 0; --j) {  // direction j is part of the rows j and later
    const S* v = held_direction(w, j);
    S left = dot_n(v, pull, w.stride);
    most = maximum(most, absolute(left));
    for (int k = j + 1; k < w.n_held; ++k)
      left -= force[k] * outward(w, w.holds[k]) * value_of(w, w.inequalities[w.holds[k]], v);
    force[j] = left / (outward(w, w.holds[j]) * value_of(w, w.inequalities[w.holds[j]], v));
  }
  return most;
}

// The inactive inequality that x + z violates most; -1 if none. Marks its violated side.
template <class S> POISE_LARGE_FN int worst_broken(HierarchyWork<S>& w) {
  int worst = -1;
  char side = at_high;
  S most = S(1e-10);
  for (int i = 0; i < w.n_inequalities; ++i) {
    if (w.active[i] != not_held) continue;
    const Inequality<S>& q = w.inequalities[i];
    const S value = value_of(w, q, w.x) + value_of(w, q, w.z);
    const S over = maximum(value - q.high, q.low - value);
    if (!(over > most)) continue;
    most = over;
    worst = i;
    side = value > q.high ? at_high : at_low;
  }
  if (worst >= 0) w.active[worst] = side;
  return worst;
}

constexpr double leak = 1e-8;  // apparent motion of an immovable inequality by rounding

// the share of z that can be added to x before an inequality is violated
template <class S> POISE_LARGE_FN S share_of(const HierarchyWork<S>& w) {
  S share = S(1);
  for (int i = 0; i < w.n_inequalities; ++i) {
    const Inequality<S>& q = w.inequalities[i];
    const S now = value_of(w, q, w.x), change = value_of(w, q, w.z);
    if (now + change > q.high + S(leak) && change > S(0))
      share = minimum(share, maximum(S(0), (q.high - now) / change));
    if (now + change < q.low - S(leak) && change < S(0)) share = minimum(share, maximum(S(0), (q.low - now) / change));
  }
  return share;
}

// solves with the active set, and releases inequalities with the wrong sign, until none is left
template <class S, class Direct> POISE_LARGE_FN void solve_held(HierarchyWork<S>& w, const Direct& direct) {
  for (int round = 0; round <= w.most_held; ++round) {  // each round but the last releases one or more
    const S rounding = direct();
    if (w.n_held == 0) return;
    const S least = S(-1e-11) * balance_forces(w, w.gradient, w.force) - rounding;
    bool changed = false;
    for (int k = w.n_held - 1; k >= 0; --k) {
      if (!(w.force[k] < least)) continue;
      release_bound(w, k);
      changed = true;
    }
    if (!changed) break;
  }
  for (int k = 0; k < w.n_held; ++k) w.force[k] = maximum(w.force[k], S(0));
}

// adds the most violated few at a time; false if nothing is violated
template <class S, class Direct> POISE_LARGE_FN bool take_several(HierarchyWork<S>& w, const Direct& direct) {
  int dependent[8], n_dependent = 0;
  bool any = false;
  for (int k = 0; k < 8 && w.n_held < w.most_held; ++k) {
    const int worst = worst_broken(w);
    if (worst < 0) break;
    any = true;
    if (hold(w, worst)) continue;
    w.active[worst] = given_up;
    dependent[n_dependent++] = worst;
  }
  for (int k = 0; k < n_dependent; ++k) w.active[dependent[k]] = not_held;
  if (any) solve_held(w, direct);
  return any;
}

// Moves inequality `taken`, whose side is marked, to its bound; inequalities whose force becomes zero are released.
// False if impossible.
template <class S, class Direct>
POISE_LARGE_FN bool take_exactly(HierarchyWork<S>& w, int taken, const Direct& direct) {
  S pull = S(0);                                            // the force of the added inequality
  for (int round = 0; round <= w.most_held + 1; ++round) {  // each round but the last releases one
    int first = -1;
    if (hold(w, taken)) {
      w.force[w.n_held - 1] = pull;
      const S rounding = direct();
      const S least = S(-1e-11) * balance_forces(w, w.gradient, w.wanted_force) - rounding;
      S share = S(1);
      for (int k = 0; k + 1 < w.n_held; ++k) {
        if (!(w.wanted_force[k] < least)) continue;
        const S to_zero = w.force[k] / (w.force[k] - w.wanted_force[k]);
        if (to_zero >= share) continue;
        share = to_zero;
        first = k;
      }
      for (int k = 0; k < w.n_held; ++k) w.force[k] += share * (w.wanted_force[k] - w.force[k]);
      if (first < 0) {
        for (int k = 0; k < w.n_held; ++k) w.force[k] = maximum(w.force[k], S(0));
        return true;
      }
      pull = w.force[w.n_held - 1];
      add_n(S(0) - w.parts[w.n_held - 1], held_direction(w, w.n_held - 1), w.stride, w.held);
      --w.n_held;
    } else {  // its row is a combination of active rows: their forces are exchanged for its own
      const Inequality<S>& q = w.inequalities[taken];
      for (int k = 0; k < w.stride; ++k) w.trial[k] = q.row ? q.row[k] : S(0);
      if (!q.row) w.trial[q.column] = S(1);
      for (int k = 0; k < w.stride; ++k) w.trial[k] *= outward(w, taken);
      balance_forces(w, w.trial, w.wanted_force);
      S share = S(1e300);
      for (int k = 0; k < w.n_held; ++k) {
        if (!(w.wanted_force[k] > S(1e-9)) || !(w.force[k] < share * w.wanted_force[k])) continue;
        share = w.force[k] / w.wanted_force[k];
        first = k;
      }
      if (first < 0) {
        w.active[taken] = given_up;
        solve_held(w, direct);
        return false;
      }
      for (int k = 0; k < w.n_held; ++k) w.force[k] -= share * w.wanted_force[k];
      pull += share;
    }
    release_bound(w, first);
  }
  w.active[taken] = given_up;
  return false;
}

// the largest motion of z, in radians or body lengths
template <class S> POISE_FN S longest_turn(const HierarchyWork<S>& w) {
  S most = S(0);
  for (int c = 0; c < w.n; ++c) most = maximum(most, absolute(w.z[c]) * w.turn[c]);
  return most;
}

// z of one level, from `solve(share)`: `share` of the level's residual, with the active set; it leaves the descent
// direction of the level in w.gradient and returns its rounding error. No motion exceeds `longest`: if the whole step
// is longer, a share of it is solved from the beginning, since bounds that only a long step meets must not bend a short
// one.
template <class S, class Solve> POISE_LARGE_FN void solve_level(HierarchyWork<S>& w, S longest, const Solve& solve) {
  for (int i = 0; i < w.n_inequalities; ++i) w.active[i] = not_held;
  for (int k = 0; k < w.stride; ++k) w.held[k] = S(0);
  w.n_held = 0;
  S part = S(1);
  solve(part);
  const S free_turn = longest_turn(w);
  if (free_turn > longest) {
    part = longest / free_turn;
    for (int k = 0; k < w.stride; ++k) w.z[k] *= part;
  }
  const auto direct = [&] { return solve(part); };
  for (int again = 0; again < 4; ++again) {
    bool broken = true;
    for (int round = 0; round < 4 && broken; ++round) broken = take_several(w, direct);
    for (int round = 0; broken && round < 4 * w.most_held && w.n_held < w.most_held; ++round) {
      const int worst = worst_broken(w);
      broken = worst >= 0;
      if (broken) take_exactly(w, worst, direct);
    }
    // with its bounds the step may be much shorter than allowed: then a larger share is solved
    const S turn = longest_turn(w);
    if (again >= 3 || !(part < S(1)) || turn > S(0.5) * longest) break;
    part = minimum(S(1), part * minimum(longest / maximum(turn, S(1e-30)), S(100)));
    solve_held(w, direct);
  }
  const S most = longest_turn(w);
  const S share = minimum(share_of(w), most > longest ? longest / most : S(1));
  for (int k = 0; k < w.stride; ++k) w.x[k] += share * w.z[k];
}

}  // namespace poise
