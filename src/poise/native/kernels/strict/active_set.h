// active_set.h: inequalities inside one level of the strict step: an exact dual active set.
//
//   minimise f(z), strictly convex and quadratic,   over z in what the levels above leave free,   low <= row . (x + z) <= high
//
// Start free. Take the inequality that is broken most to its bound; on the way there the multipliers of those held change linearly, and one
// that becomes zero is let go (Goldfarb and Idnani 1983, "A numerically stable dual method for solving strictly convex quadratic programs").
// f grows with every inequality taken in, so no set comes twice and the end is the minimum. At first several are taken at a time, and
// those that pull the wrong way let go again: most steps end there. What is still broken after the last round shortens z.
//
// What is held is part of the basis: a direction for each inequality behind those of the levels above.
#pragma once
#include "kernels/strict/row_basis.h"

namespace poise {

// how an inequality takes part in the level
constexpr char not_held = 0, at_high = 1, at_low = 2, given_up = 3;

template <class S> POISE_FN S value_of(const HierarchyWork<S>& w, const Inequality<S>& q, const S* x) {
  return q.row ? dot_n(q.row, x, w.stride) : x[q.column];
}

template <class S> POISE_FN S* held_direction(const HierarchyWork<S>& w, int k) {
  return w.basis + (w.n_basis + k) * w.stride;
}

// outward: +1 where it is held from above, -1 where from below
template <class S> POISE_FN S outward(const HierarchyWork<S>& w, int i) { return w.active[i] == at_low ? S(-1) : S(1); }

// Brings inequality i to its bound inside what the basis leaves free: a new direction, and a part of w.held. False, and nothing is
// changed, if it depends on what is there.
template <class S> POISE_LARGE_FN bool hold(HierarchyWork<S>& w, int i) {
  const Inequality<S>& q = w.inequalities[i];
  const int last = w.n_basis + w.n_held;
  S* v = held_direction(w, w.n_held);
  S whole = S(1);
  if (q.row) {
    for (int k = 0; k < w.stride; ++k) v[k] = q.row[k];
    whole = dot_n(v, v, w.stride);
    take_out_basis(w, 0, last, v);
  } else {  // a unit vector's products with the basis are its numbers
    for (int k = 0; k < w.stride; ++k) v[k] = S(0);
    v[q.column] = S(1);
    for (int b = 0; b < last; ++b) add_n(S(0) - w.basis[b * w.stride + q.column], w.basis + b * w.stride, w.stride, v);
  }
  S square = dot_n(v, v, w.stride);
  if (square < S(0.3) * whole) {
    take_out_basis(w, 0, last, v);
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

// lets the k-th inequality that is held go; the directions behind it are made again
template <class S> POISE_LARGE_FN void let_go(HierarchyWork<S>& w, int k) {
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

// The outward forces with which what is held balances `pull` (a vector of the free space, such as the downhill direction):
// pull = sum force_k outward_k row_k there. Returns the largest part of the pull that has to be balanced.
template <class S> POISE_LARGE_FN S balance_forces(const HierarchyWork<S>& w, const S* pull, S* force) {
  S most = S(0);
  for (int j = w.n_held - 1; j >= 0; --j) {  // direction j is in the rows j and later
    const S* v = held_direction(w, j);
    S left = dot_n(v, pull, w.stride);
    most = maximum(most, absolute(left));
    for (int k = j + 1; k < w.n_held; ++k)
      left -= force[k] * outward(w, w.holds[k]) * value_of(w, w.inequalities[w.holds[k]], v);
    force[j] = left / (outward(w, w.holds[j]) * value_of(w, w.inequalities[w.holds[j]], v));
  }
  return most;
}

// The inequality that x + z breaks most, that is not held yet; -1 if none. Marks the side that it breaks.
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

constexpr double leak = 1e-8;  // what an inequality that cannot be moved may seem to move by: rounding

// how much of z can be added to x before an inequality breaks
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

// solves with what is held, and lets go of what pulls the wrong way, until nothing does
template <class S, class Direct> POISE_LARGE_FN void solve_held(HierarchyWork<S>& w, const Direct& direct) {
  for (int round = 0; round <= w.most_held; ++round) {  // each round but the last lets go of one or more
    const S rounding = direct();
    if (w.n_held == 0) return;
    const S least = S(-1e-11) * balance_forces(w, w.gradient, w.force) - rounding;
    bool changed = false;
    for (int k = w.n_held - 1; k >= 0; --k) {
      if (!(w.force[k] < least)) continue;
      let_go(w, k);
      changed = true;
    }
    if (!changed) break;
  }
  for (int k = 0; k < w.n_held; ++k) w.force[k] = maximum(w.force[k], S(0));
}

// takes the worst few at a time; false if nothing is broken any more
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

// Takes inequality `taken`, whose side is marked, to its bound; what reaches force zero on the way is let go. False if it cannot be.
template <class S, class Direct>
POISE_LARGE_FN bool take_exactly(HierarchyWork<S>& w, int taken, const Direct& direct) {
  S pull = S(0);                                            // the force of what is taken
  for (int round = 0; round <= w.most_held + 1; ++round) {  // each round but the last lets one go
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
    } else {  // its row is a sum of rows that are held: their forces are exchanged for its own
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
    let_go(w, first);
  }
  w.active[taken] = given_up;
  return false;
}

// the largest motion of z, in radians or lengths of the body
template <class S> POISE_FN S longest_turn(const HierarchyWork<S>& w) {
  S most = S(0);
  for (int c = 0; c < w.n; ++c) most = maximum(most, absolute(w.z[c]) * w.turn[c]);
  return most;
}

// z of one level, made by `solve(share)`: `share` of what the level asks for, with what is held; it leaves the downhill direction of the
// level in w.gradient and returns how much of that is rounding. Nothing is moved by more than `longest`: where the whole is longer, a share
// of it is asked for from the beginning, as a short step must not be bent by bounds that only a long one meets.
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
    // with its bounds the step may be much shorter than it may be: then more of it is asked for
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
