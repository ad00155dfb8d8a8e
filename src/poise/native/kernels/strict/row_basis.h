// row_basis.h: an orthonormal basis of rows, extended level by level, and the memory of the strict step.
//
// By Gram-Schmidt with pivoting inside a level and a second pass if rounding requires it (Bjoerck 1994); a row that
// depends on those above adds nothing.
#pragma once
#include "kernels/algebra/dense.h"
#include "kernels/problem/problem.h"

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
  S* scale;         // n: s
  S* turn;          // n: radians (or body lengths) per unit of x
  S* rows;          // most_rows x stride: all rows, scaled, row by row
  S* r;             // most_rows
  S* basis;         // (most_rows + most_held) x stride
  S* L;             // most_rows x most_rows: the level's rows in its own part of the basis
  S* normal;        // packed, most_rows
  S* pivots;        // most_rows
  S* y;             // most_rows
  S* rho;           // most_rows
  S* x;             // n
  S* z;             // n
  S* held;          // n: the part of z that moves inequalities to their bounds
  S* trial;         // n
  S* gradient;      // n: of the level's cost, at its current point
  S* parts;         // most_held: the share of each active direction in `held`
  S* force;         // most_held + 1: multipliers of active inequalities, zero or more
  S* wanted_force;  // most_held + 1
  int* holds;       // most_held: the active inequalities, in the order of their directions
  Inequality<S>* inequalities;
  int n_inequalities;
  int n_basis;
  int n_basis_above;  // the part of it used by the levels above
  int n_held;
  int* order;    // most_rows: pivoting
  char* active;  // for each inequality in this level: 0, 1 active at its upper bound, -1 at its lower, 2 abandoned
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

// removes the part of v in basis[first, last)
template <class S> POISE_FN void subtract_basis(const HierarchyWork<S>& w, int first, int last, S* v) {
  for (int b = first; b < last; ++b) {
    const S* q = w.basis + b * w.stride;
    add_n(S(0) - dot_n(q, v, w.stride), q, w.stride, v);
  }
}

constexpr double rank_floor = 1e-9;  // relative to a row's own length: less is rounding

template <class S> POISE_FN void swap_rows(S* a, S* b, int n) {
  for (int k = 0; k < n; ++k) {
    const S x = a[k];
    a[k] = b[k];
    b[k] = x;
  }
}

// Appends the rows first ... last of w.rows, except those in `skip`, to the basis after `from`; w.L[k * most_rows + i]
// is row i along the k-th new direction. Returns the number of new directions.
template <class S>
POISE_LARGE_FN int extend_basis(HierarchyWork<S>& w, int first, int last, const char* skip, int from) {
  const int m = last - first, n = w.stride;
  S *waiting = w.basis + from * n, *size = w.y, *least = w.pivots;  // rows are stored where they become directions
  int rank = 0, left = 0;
  for (int i = 0; i < m; ++i) {
    for (int k = 0; k < m; ++k) w.L[k * w.most_rows + i] = S(0);
    if (skip && skip[first + i]) continue;
    const S* row = w.rows + (first + i) * n;
    S* v = waiting + left * n;
    for (int k = 0; k < n; ++k) v[k] = row[k];
    least[left] = S(rank_floor * rank_floor) * dot_n(row, row, n);
    subtract_basis(w, 0, from, v);
    size[left] = dot_n(v, v, n);
    w.order[left++] = i;
  }
  // ends: rank grows or left falls
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
    if (square < S(0.1 / (rank_floor * rank_floor)) * least[rank]) {  // two passes are enough
      subtract_basis(w, 0, from + rank, at);
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

}  // namespace poise
