// hierarchy.h: one step for goals of several levels, the first served first, strictly; bounds and other inequalities inside.
//
// Steps are measured in the norm of the default step: x = dq / s, s = (1 or L) / sqrt(1 + stiffness). Level by level:
//
//   minimise |A z - (r - A x)|^2 + damping |z|^2   over z with B z = 0 and every inequality kept by x + z,    x <- x + z
//
// B is an orthonormal basis of the rows of the levels above, made by Gram and Schmidt with pivoting inside a level and a second pass
// where rounding asks for it (Bjoerck 1994); a row that depends on those above adds nothing to B. Damping acts inside its own
// level only, so a lower level cannot move a higher one: A_above z is zero to rounding.
//
// Inequalities: solve, take the worst that is broken into the basis at its bound, solve again (Escande, Mansard and Wieber 2014 keep the set
// from step to step; here every step starts free, as the default step does). What is still broken after the last round shortens
// the level's own z, which keeps what is above.
#pragma once
#include "dense.h"
#include "problem.h"

namespace poise {

POISE_FN constexpr int hierarchy_stride(int n) { return (n + 7) / 8 * 8; }

// one inequality: low <= row . x <= high, in scaled coordinates
template <class S> struct Inequality {
  const S* row;  // n numbers; null: the single coordinate `column`
  int column;
  S low, high;
};

template <class S> struct HierarchyWork {
  int n, stride, most_rows, most_held;
  S* scale;   // n: s
  S* turn;    // n: radians (or body lengths) that a unit of x is
  S* rows;    // most_rows x stride: all rows, scaled, row by row
  S* r;       // most_rows
  S* basis;   // (most_rows + most_held) x stride
  S* L;       // most_rows x most_rows: the level's rows in its own part of the basis
  S* normal;  // packed, most_rows
  S* pivots;  // most_rows
  S* y;       // most_rows
  S* rho;     // most_rows
  S* x;       // n
  S* z;       // n
  S* held;    // n: the part of z that brings inequalities to their bound
  S* trial;   // n
  Inequality<S>* inequalities;
  int n_inequalities;
  int n_basis;
  int* order;    // most_rows: pivoting
  char* active;  // of each inequality in this level
};

// rows are padded with zeros to whole strides, so that these loops run over whole registers
template <class S> POISE_FN S dot_n(const S* a, const S* b, int n) {
  S sum[8] = {};
  for (int k = 0; k < n; k += 8) {
    POISE_UNROLL
    for (int j = 0; j < 8; ++j) sum[j] += a[k + j] * b[k + j];
  }
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

template <class S> POISE_FN void add_n(S scale, const S* a, int n, S* out) {
  for (int k = 0; k < n; ++k) out[k] += scale * a[k];
}

// takes out of v what lies in basis[first, last)
template <class S> POISE_FN void take_out_basis(const HierarchyWork<S>& w, int first, int last, S* v) {
  for (int b = first; b < last; ++b) {
    const S* q = w.basis + b * w.stride;
    add_n(S(0) - dot_n(q, v, w.stride), q, w.stride, v);
  }
}

constexpr double rank_floor = 1e-9;  // of a row's own length: less is rounding

template <class S> POISE_FN void swap_rows(S* a, S* b, int n) {
  for (int k = 0; k < n; ++k) {
    const S x = a[k];
    a[k] = b[k];
    b[k] = x;
  }
}

// Appends the rows first ... last of w.rows, those that `skip` does not name, to the basis behind `from`; w.L[k * most_rows + i] is
// row i in the k-th new direction. Returns how many directions are new.
template <class S>
POISE_LARGE_FN int extend_basis(HierarchyWork<S>& w, int first, int last, const char* skip, int from) {
  const int m = last - first, n = w.stride;
  S *waiting = w.basis + from * n, *size = w.y, *least = w.pivots;  // rows wait where they become directions
  int rank = 0, left = 0;
  for (int i = 0; i < m; ++i) {
    for (int k = 0; k < m; ++k) w.L[k * w.most_rows + i] = S(0);
    if (skip && skip[first + i]) continue;
    const S* row = w.rows + (first + i) * n;
    S* v = waiting + left * n;
    for (int k = 0; k < n; ++k) v[k] = row[k];
    least[left] = S(rank_floor * rank_floor) * dot_n(row, row, n);
    take_out_basis(w, 0, from, v);
    size[left] = dot_n(v, v, n);
    w.order[left++] = i;
  }
  while (rank < left) {
    int best = rank;
    for (int i = rank + 1; i < left; ++i) best = size[i] > size[best] ? i : best;
    S* at = waiting + rank * n;
    if (best != rank) {
      swap_rows(at, waiting + best * n, n);
      swap_rows(size + rank, size + best, 1);
      swap_rows(least + rank, least + best, 1);
      const int o = w.order[rank];
      w.order[rank] = w.order[best];
      w.order[best] = o;
    }
    if (!(size[rank] > S(0))) break;
    S square = dot_n(at, at, n);
    if (square <
        S(0.1 / (rank_floor * rank_floor)) * least[rank]) {  // much was taken out, so rounding shows: twice is enough
      take_out_basis(w, 0, from + rank, at);
      square = dot_n(at, at, n);
    }
    if (!(square > least[rank])) {  // it depends on the rows before it
      --left;
      swap_rows(at, waiting + left * n, n);
      swap_rows(size + rank, size + left, 1);
      swap_rows(least + rank, least + left, 1);
      w.order[rank] = w.order[left];
      continue;
    }
    const S length = square_root(square);
    for (int k = 0; k < n; ++k) at[k] *= S(1) / length;
    w.L[rank * w.most_rows + w.order[rank]] = length;
    for (int i = rank + 1; i < left; ++i) {
      S* v = waiting + i * n;
      const S c = dot_n(at, v, n);
      add_n(S(0) - c, at, n, v);
      size[i] -= c * c;
      if (size[i] < S(1e-6) * c * c) size[i] = dot_n(v, v, n);
      w.L[rank * w.most_rows + w.order[i]] = c;
    }
    ++rank;
  }
  return rank;
}

// y = (L^T L + damping I)^-1 L^T rho, rank unknowns
template <class S> POISE_LARGE_FN void damped_coefficients(HierarchyWork<S>& w, int m, int rank, S damping) {
  for (int a = 0; a < rank; ++a) {
    S right = S(0);
    const S* one = w.L + a * w.most_rows;
    for (int i = 0; i < m; ++i) right += one[i] * w.rho[i];
    w.y[a] = right;
    for (int b = 0; b <= a; ++b) {
      S sum = a == b ? damping : S(0);
      const S* other = w.L + b * w.most_rows;
      for (int i = 0; i < m; ++i) sum += one[i] * other[i];
      w.normal[packed(a, b)] = sum;
    }
  }
  cholesky<0>(rank, w.normal, w.pivots, real_t<S>(1e-300));
  cholesky_solve<0>(rank, w.normal, w.pivots, w.y);
}

template <class S> POISE_FN S value_of(const HierarchyWork<S>& w, const Inequality<S>& q, const S* x) {
  return q.row ? dot_n(q.row, x, w.stride) : x[q.column];
}

// brings inequality i to its bound inside what the basis leaves free: a new direction, and a part of w.held; false if it cannot move
template <class S> POISE_LARGE_FN bool hold(HierarchyWork<S>& w, int i, S bound, int& last) {
  const Inequality<S>& q = w.inequalities[i];
  S* v = w.basis + last * w.stride;
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
  const S now = value_of(w, q, w.x) + value_of(w, q, w.held);
  add_n((bound - now) / size, v, w.stride, w.held);
  ++last;
  return true;
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

// w.z = w.held + (basis rows first ... first + rank)^T y
template <class S> POISE_FN void compose(HierarchyWork<S>& w, int first, int rank) {
  for (int k = 0; k < w.stride; ++k) w.z[k] = w.held[k];
  for (int k = 0; k < rank; ++k) add_n(w.y[k], w.basis + (first + k) * w.stride, w.stride, w.z);
}

// The inequality that x + z breaks most, in units of its own row, that is not held yet; -1 if none. Bounds count as they are.
template <class S> POISE_LARGE_FN int worst_broken(const HierarchyWork<S>& w, S& bound) {
  int worst = -1;
  S most = S(1e-10);
  for (int i = 0; i < w.n_inequalities; ++i) {
    if (w.active[i]) continue;
    const Inequality<S>& q = w.inequalities[i];
    const S value = value_of(w, q, w.x) + value_of(w, q, w.z);
    const S over = maximum(value - q.high, q.low - value);
    if (!(over > most)) continue;
    most = over;
    worst = i;
    bound = value > q.high ? q.high : q.low;
  }
  return worst;
}

// the largest motion of z, in radians or lengths of the body
template <class S> POISE_FN S longest_turn(const HierarchyWork<S>& w) {
  S most = S(0);
  for (int c = 0; c < w.n; ++c) most = maximum(most, absolute(w.z[c]) * w.turn[c]);
  return most;
}

// z of one level, made by `direct(first free row of the basis, share)`: `share` of what the level asks for; inequalities held as needed,
// nothing moved by more than `longest`. Where the whole is longer, a share of it is asked for from the beginning: a short step must not
// be bent by bounds that only a long one meets.
template <class S, class Direct> POISE_LARGE_FN void solve_level(HierarchyWork<S>& w, S longest, const Direct& direct) {
  for (int i = 0; i < w.n_inequalities; ++i) w.active[i] = 0;
  for (int k = 0; k < w.stride; ++k) w.held[k] = S(0);
  int last = w.n_basis;
  S part = S(1);
  for (int round = 0;; ++round) {
    direct(last, part);
    if (round == 0) {
      const S most = longest_turn(w);
      if (most > longest) {
        part = longest / most;
        for (int k = 0; k < w.stride; ++k) w.z[k] *= part;
      }
    }
    S bound = S(0);
    bool changed = false;
    // several at a time while they are many: each is checked again in the next round
    for (int k = 0; k < 8 && round < w.most_held && last - w.n_basis < w.most_held; ++k) {
      const int worst = worst_broken(w, bound);
      if (worst < 0) break;
      w.active[worst] = 1;
      changed = hold(w, worst, bound, last) || changed;
    }
    if (!changed) break;
  }
  const S most = longest_turn(w);
  const S share = minimum(share_of(w), most > longest ? longest / most : S(1));
  for (int k = 0; k < w.stride; ++k) w.x[k] += share * w.z[k];
}

// one level of rows [first, last); `skip` marks rows that rest in their range
template <class S>
POISE_LARGE_FN void serve_rows(HierarchyWork<S>& w, int first, int last, const char* skip, S damping, S longest) {
  int rank = 0;
  bool plain = true;
  solve_level(w, longest, [&](int from, S part) {
    plain = from == w.n_basis;
    rank = extend_basis(w, first, last, skip, from);
    for (int i = first; i < last; ++i) {
      w.rho[i - first] = skip && skip[i] ? S(0)
                                         : part * (w.r[i] - dot_n(w.rows + i * w.stride, w.x, w.stride)) -
                                               dot_n(w.rows + i * w.stride, w.held, w.stride);
    }
    damped_coefficients(w, last - first, rank, damping);
    compose(w, from, rank);
  });
  w.n_basis += plain ? rank : extend_basis(w, first, last, skip, w.n_basis);
}

// the last level: towards `wanted` (a step in scaled coordinates), in what is left free
template <class S> POISE_LARGE_FN void serve_posture(HierarchyWork<S>& w, const S* wanted, S longest) {
  solve_level(w, longest, [&](int from, S part) {
    for (int k = 0; k < w.stride; ++k) w.trial[k] = S(0);
    for (int c = 0; c < w.n; ++c) w.trial[c] = part * (wanted[c] - w.x[c]) - w.held[c];
    take_out_basis(w, 0, from, w.trial);
    for (int k = 0; k < w.stride; ++k) w.z[k] = w.held[k] + w.trial[k];
  });
}

}  // namespace poise
