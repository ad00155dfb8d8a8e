// gaussian.h: the step to the most likely pose of a Gaussian over a chart, among those that satisfy the goals' rows to
// first order.
//
//   dq = K p,   p = p0 + S A^T (A S A^T)^-1 (r - A p0),   A = J K,   p0 = m - x
//
// K = dv/dx, block by block. This conditions a Gaussian with mean m and covariance S on the rows, and needs no inverse
// of the covariance. A joint that would leave its range becomes one more row, which moves it to the end of the range.
// Source: Huang, Wang, Fratarcangeli, Yan and Pelachaud, Multi-variate Gaussian-based inverse kinematics, Computer
// Graphics Forum 36(8), 2017.
#pragma once
#include "kernels/algebra/dense.h"
#include "kernels/algebra/factor.h"
#include "kernels/body/chart.h"
#include "kernels/problem/problem.h"

namespace poise {

template <class S> struct GaussianView {
  ChartView<S> chart;
  const int* place;   // for every coordinate: its index in the Gaussian, or -1 if it is not part of it
  const int* column;  // for every coordinate: its velocity in the problem, or -1
  const S* mean;      // d
  const S* spread;    // d x d
  const S* loose;     // for every coordinate that is not part of the Gaussian: its variance, about its current value
  int d;

  // a diagonal posture in addition, or null. `spread` is then that of both, and `shrink` (d x d) is the share of the
  // Gaussian
  const S* shrink = nullptr;
  const S* pull = nullptr;    // the gain of each velocity of the problem
  const S* wanted = nullptr;  // n_q
};

POISE_FN constexpr int most_gaussian_rows(int n_rows, int n_v) { return n_rows + n_v; }

// the workspace of a step, in numbers
POISE_FN constexpr int gaussian_room(int size, int n_turns, int n_rows, int n_v) {
  const int m = most_gaussian_rows(n_rows, n_v);
  return 3 * size + 9 * n_turns + 2 * m * size + m * (m + 1) + 3 * m + n_v;
}

// the workspace of a step
template <class S> struct GaussianWork {
  S *x, *away, *step;  // the coordinates, their distance from the mean, the step
  S* inverse;          // K, 9 for each turn
  S *A, *AS;           // m x size
  S *gram, *factors;   // A S A^T and its Cholesky factors, packed
  S* pivots;
  S *asked, *answer;  // of each row
  S* fixed;           // for each velocity: 1 if it moves to the end of its range
};

template <class S> POISE_FN GaussianWork<S> lay_out_gaussian(S* memory, int size, int n_turns, int n_rows, int n_v) {
  const int m = most_gaussian_rows(n_rows, n_v);
  GaussianWork<S> w;
  w.x = memory;
  w.away = w.x + size;
  w.step = w.away + size;
  w.inverse = w.step + size;
  w.A = w.inverse + 9 * n_turns;
  w.AS = w.A + m * size;
  w.gram = w.AS + m * size;
  w.factors = w.gram + m * (m + 1) / 2;
  w.pivots = w.factors + m * (m + 1) / 2;
  w.asked = w.pivots + m;
  w.answer = w.asked + m;
  w.fixed = w.answer + m;
  return w;
}

// a row of A: a row of J, or of the identity, times K
template <class S, class F>
POISE_FN void carry_row(const GaussianView<S>& g, const GaussianWork<S>& w, const F& of_column, S* row) {
  const int n = g.chart.n_numbers;
  for (int i = 0; i < n; ++i) row[i] = g.column[i] < 0 ? S(0) : of_column(g.column[i]);
  for (int k = 0; k < g.chart.n_turns; ++k) {
    const int at = n + 3 * k;
    const S* K = w.inverse + 9 * k;
    S along[3];
    for (int i = 0; i < 3; ++i) along[i] = g.column[at + i] < 0 ? S(0) : of_column(g.column[at + i]);
    for (int j = 0; j < 3; ++j) row[at + j] = along[0] * K[j] + along[1] * K[3 + j] + along[2] * K[6 + j];
  }
}

// the inner product with eight sums at a time, which a processor computes in parallel
template <class S> POISE_LARGE_FN S inner_wide(int n, const S* a, const S* b) {
  S sum[8] = {};
  const int whole = n - n % 8;
  for (int k = 0; k < whole; k += 8) {
    for (int j = 0; j < 8; ++j) sum[j] += a[k + j] * b[k + j];
  }
  for (int k = whole; k < n; ++k) sum[k - whole] += a[k] * b[k];
  return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

// out += the rows of the covariance that a row selects, times its numbers, four at a time
template <class S> POISE_LARGE_FN void add_spread(const GaussianView<S>& g, const S* row, S* out) {
  const S* of[4] = {g.spread, g.spread, g.spread, g.spread};
  S share[4] = {};
  int have = 0;
  const int size = g.chart.size();
  for (int i = 0; i <= size; ++i) {
    if (i < size) {
      if (g.place[i] < 0 || row[i] == S(0)) continue;
      of[have] = g.spread + g.place[i] * g.d;
      share[have++] = row[i];
    }
    if (have == 0 || (have < 4 && i < size)) continue;
    const S *s0 = of[0], *s1 = of[1], *s2 = of[2], *s3 = of[3];
    for (int k = 0; k < g.d; ++k)
      out[k] += (share[0] * s0[k] + share[1] * s1[k]) + (share[2] * s2[k] + share[3] * s3[k]);
    share[0] = share[1] = share[2] = share[3] = S(0);
    have = 0;
  }
}

// row `r` of A S and of the Gram matrix, from that of A
template <class S> POISE_LARGE_FN void spread_row(const GaussianView<S>& g, const GaussianWork<S>& w, int r) {
  const int size = g.chart.size();
  const S* row = w.A + r * size;
  S *out = w.AS + r * size, *dense = w.step;
  for (int k = 0; k < g.d; ++k) dense[k] = S(0);
  add_spread(g, row, dense);
  for (int i = 0; i < size; ++i) out[i] = g.place[i] >= 0 ? dense[g.place[i]] : g.loose[i] * row[i];
  for (int k = 0; k <= r; ++k) w.gram[packed(r, k)] = inner_wide(size, out, w.A + k * size);
}

// the step for `m` rows, in the chart and per velocity
template <class S> POISE_LARGE_FN void answer_rows(const GaussianView<S>& g, const GaussianWork<S>& w, int m, S* dq) {
  const int size = g.chart.size(), n = g.chart.n_numbers;
  S trace = S(0), *gram = w.factors;
  for (int k = 0; k < packed(m, 0); ++k) gram[k] = w.gram[k];
  for (int r = 0; r < m; ++r) trace += gram[packed(r, r)];
  for (int r = 0; r < m; ++r) {
    gram[packed(r, r)] += S(1e-12) * trace;
    w.answer[r] = w.asked[r] - inner(size, w.A + r * size, w.away);
  }
  cholesky<0>(m, gram, w.pivots, S(1e-14) * maximum(trace, S(1e-300)));
  cholesky_solve<0>(m, gram, w.pivots, w.answer);
  for (int i = 0; i < size; ++i) w.step[i] = w.away[i];
  for (int r = 0; r < m; ++r) add_scaled(size, w.answer[r], w.AS + r * size, w.step);
  for (int i = 0; i < n; ++i) {
    if (g.column[i] >= 0) dq[g.column[i]] = w.step[i];
  }
  for (int k = 0; k < g.chart.n_turns; ++k) {
    const int at = n + 3 * k;
    S turned[3];
    rotate(w.inverse + 9 * k, w.step + at, turned);
    for (int i = 0; i < 3; ++i) {
      if (g.column[at + i] >= 0) dq[g.column[at + i]] = turned[i];
    }
  }
}

// The difference of the pose from the target of the posture alone: m - x or, with a diagonal posture with gradient f
// per velocity,
//
//   B (m - x) - S K^T f      B: `shrink`
template <class S, class P>
POISE_LARGE_FN void find_away(const P& problem, const GaussianView<S>& g, const S* q, const GaussianWork<S>& w, S* dq) {
  const int size = g.chart.size();
  for (int i = 0; i < size; ++i) w.away[i] = g.place[i] >= 0 ? g.mean[g.place[i]] - w.x[i] : S(0);
  if (!g.shrink) return;
  S *apart = w.A, *drawn = w.A + size, *dense = w.AS;
  for (int k = 0; k < g.d; ++k) dense[k] = S(0);
  for (int i = 0; i < size; ++i) {
    if (g.place[i] >= 0) apart[g.place[i]] = w.away[i];
  }
  difference(problem.coordinates, problem.n_coordinates, g.wanted, q, dq);
  carry_row(g, w, [&](int c) { return S(0) - g.pull[c] * dq[c]; }, drawn);
  add_spread(g, drawn, dense);
  for (int i = 0; i < size; ++i) {
    const int k = g.place[i];
    w.away[i] = k < 0 ? g.loose[i] * drawn[i] : inner_wide(g.d, g.shrink + k * g.d, apart) + dense[k];
  }
}

// The parts of a step: `serve` is the share of the goals' rows to remove, `likely` that of the way to the mean; 1 or 0.
template <class S> struct GaussianAim { S serve, likely; };

// The step from q, whose Jacobian (column by column) and rows are given. `rounds`: how often joints that would leave
// their range are fixed at its end, and the rest solved again.
template <class S, class P>
POISE_LARGE_FN void gaussian_step(const P& problem, const GaussianView<S>& g, const S* q, const S* J, const S* rows,
                                  GaussianAim<S> aim, bool bounded, int rounds, const GaussianWork<S>& w, S* dq) {
  const int size = g.chart.size(), n = g.chart.n_numbers;
  read_chart(g.chart, q, w.x);
  for (int k = 0; k < g.chart.n_turns; ++k) {
    S block[9];
    block_of_turn(g.chart.turns[k], q, w.x + n + 3 * k, block);
    invert_block(block, S(1e-6), w.inverse + 9 * k);
  }
  find_away(problem, g, q, w, dq);
  for (int i = 0; i < size; ++i) w.away[i] *= aim.likely;
  for (int c = 0; c < problem.n_v; ++c) {
    dq[c] = S(0);
    w.fixed[c] = S(0);
  }
  int m = problem.n_rows;
  for (int r = 0; r < m; ++r) {
    carry_row(g, w, [&](int c) { return J[c * problem.n_rows + r]; }, w.A + r * size);
    spread_row(g, w, r);
    w.asked[r] = aim.serve * rows[r];
  }
  answer_rows(g, w, m, dq);
  bool more = bounded;
  for (int round = 0; round < rounds && more; ++round) {
    more = false;
    for (int c = 0; c < problem.n_v; ++c) {
      const auto& f = problem.freedoms[c];
      if (f.q_index < 0 || w.fixed[c] != S(0)) continue;
      const S at = q[f.q_index], end = at + dq[c];
      if (end >= f.lower && end <= f.upper) continue;
      w.fixed[c] = S(1);
      carry_row(g, w, [&](int other) { return S(other == c ? 1 : 0); }, w.A + m * size);
      spread_row(g, w, m);
      w.asked[m++] = (end < f.lower ? minimum(at, f.lower) : maximum(at, f.upper)) - at;
      more = true;
    }
    if (more) answer_rows(g, w, m, dq);
  }
}

}  // namespace poise
