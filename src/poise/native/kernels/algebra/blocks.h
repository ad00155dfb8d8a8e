// blocks.h: the system of many rows, J D^-1 J^T + damping I, summed and solved in square blocks. If rows outnumber
// velocities, the same code solves J^T J + damping D, with J^T in place of J.
//
// Two properties of bodies make it cheap. A velocity affects only the goals in its subtree, and with goals in
// depth-first order their rows are contiguous: a finger's column has 6 nonzero rows, not 24. And a block of W x W
// numbers stays in registers while whole columns stream past it, W rows per instruction.
//
// Storage: lower triangle by columns, A[column * stride + row], rows padded with ones on the diagonal to `tall`, a
// multiple of the padding. One more block of rows holds the right side, which the factorisation itself solves. A = L D
// L^T: no square roots, one division per column.
#pragma once
#include "kernels/portable.h"

namespace poise {

template <class S> POISE_FN typename Strip<S>::Row load_rows(const S* from) {
  if constexpr (Strip<S>::width == 1) {
    return *from;
  } else {
    typename Strip<S>::Row out;
    POISE_UNROLL
    for (int i = 0; i < Strip<S>::width; ++i) out.set(i, from[i]);
    return out;
  }
}

template <class S> POISE_FN void store_rows(S* to, const typename Strip<S>::Row& x) {
  if constexpr (Strip<S>::width == 1) {
    *to = x;
  } else {
    POISE_UNROLL
    for (int i = 0; i < Strip<S>::width; ++i) to[i] = x.lane(i);
  }
}

template <class S> POISE_FN S sum_rows(const typename Strip<S>::Row& x) {
  if constexpr (Strip<S>::width == 1) {
    return x;
  } else {
    S total = x.lane(0);
    for (int i = 1; i < Strip<S>::width; ++i) total += x.lane(i);
    return total;
  }
}

// the rows of one velocity, [first, last), in whole blocks
struct Run { int first, last; };

// extends a run to include rows [first, last)
template <class S> POISE_FN constexpr Run widened(Run run, int first, int last) {
  constexpr int n = Strip<S>::padding;
  const int low = first / n * n, high = (last + n - 1) / n * n;
  if (run.first == run.last) return {low, high};
  return {low < run.first ? low : run.first, high > run.last ? high : run.last};
}

template <class S> POISE_FN constexpr int tall_of(int n_rows) {
  return (n_rows + Strip<S>::padding - 1) / Strip<S>::padding * Strip<S>::padding;
}
template <class S> POISE_FN constexpr int stride_of(int n_rows) { return tall_of<S>(n_rows) + Strip<S>::padding; }

// block (i, j) += sum over columns [begin, end) of scale_c J_c J_c^T; J is by columns of `stride` numbers
template <class S>
POISE_FN void add_block(const S* J, const S* scale, int begin, int end, int i, int j, int stride, S* A) {
  constexpr int W = Strip<S>::width;
  using Row = typename Strip<S>::Row;
  Row sum[W];
  POISE_UNROLL
  for (int k = 0; k < W; ++k) sum[k] = load_rows(A + (j + k) * stride + i);
  for (int c = begin; c < end; ++c) {
    const S* column = J + c * stride;
    const Row x = load_rows(column + i) * Row(scale[c]);
    POISE_UNROLL
    for (int k = 0; k < W; ++k) sum[k] += x * Row(column[j + k]);
  }
  POISE_UNROLL
  for (int k = 0; k < W; ++k) store_rows(A + (j + k) * stride + i, sum[k]);
}

// A = J diag(scale) J^T + damping I, with rhs as one more row. Adjacent columns with equal runs are summed together.
template <class S> POISE_LARGE_FN void sum_blocks(const S* J, const S* scale, const Run* runs, int n_columns,
                                                  int n_rows, S damping, const S* rhs, S* A) {
  using T = real_t<S>;
  constexpr int W = Strip<S>::width;
  const int tall = tall_of<S>(n_rows), stride = stride_of<S>(n_rows);
  for (int j = 0; j < tall; ++j) {
    for (int i = j / W * W; i < stride; i += W) store_rows(A + j * stride + i, typename Strip<S>::Row(real_t<S>(0)));
    A[j * stride + j] = j < n_rows ? damping : S(T(1));
    if (j < n_rows) A[j * stride + tall] = rhs[j];
  }
  for (int c = 0; c < n_columns;) {
    int end = c + 1;
    // ends: at the last column
    while (end < n_columns && runs[end].first == runs[c].first && runs[end].last == runs[c].last) ++end;
    for (int j = runs[c].first; j < runs[c].last; j += W) {
      for (int i = j; i < runs[c].last; i += W) add_block(J, scale, c, end, i, j, stride, A);
    }
    c = end;
  }
}

// The diagonal block at k becomes L (below its diagonal); 1 / D is stored in `inverse`. `floor` > 0 is the least pivot,
// in case rounding makes one negative.
template <class S> POISE_FN void factor_corner(S* A, int k, int stride, real_t<S> floor, S* inverse) {
  using T = real_t<S>;
  constexpr int W = Strip<S>::width;
  S a[W][W];
  POISE_UNROLL
  for (int c = 0; c < W; ++c) {
    POISE_UNROLL
    for (int r = c; r < W; ++r) a[c][r] = A[(k + c) * stride + k + r];
  }
  POISE_UNROLL
  for (int c = 0; c < W; ++c) {
    inverse[k + c] = S(T(1)) / maximum(a[c][c], S(floor));
    POISE_UNROLL
    for (int j = c + 1; j < W; ++j) {
      const S l = a[c][j] * inverse[k + c];
      A[(k + c) * stride + k + j] = l;
      POISE_UNROLL
      for (int r = j; r < W; ++r) a[j][r] -= l * a[c][r];
    }
  }
}

// Eliminates columns [k, k + W): L in place, L D in `scaled`, and A -= L D L^T in the columns before `last`. `scaled` has W * stride numbers.
template <class S>
POISE_FN void eliminate_columns(S* A, int k, int last, int stride, real_t<S> floor, S* inverse, S* scaled) {
  constexpr int W = Strip<S>::width;
  using Row = typename Strip<S>::Row;
  factor_corner(A, k, stride, floor, inverse);

  // the panel below: L D in `scaled`, L in place
  for (int i = k + W; i < stride; i += W) {
    Row g[W];
    POISE_UNROLL
    for (int c = 0; c < W; ++c) {
      g[c] = load_rows(A + (k + c) * stride + i);
      POISE_UNROLL
      for (int l = 0; l < c; ++l) g[c] -= g[l] * Row(A[(k + l) * stride + k + c]);
    }
    POISE_UNROLL
    for (int c = 0; c < W; ++c) {
      store_rows(scaled + c * stride + i, g[c]);
      store_rows(A + (k + c) * stride + i, g[c] * Row(inverse[k + c]));
    }
  }

  // the remainder: A -= L D L^T
  for (int j = k + W; j < last; j += W) {
    for (int i = j; i < stride; i += W) {
      Row rest[W];
      POISE_UNROLL
      for (int c = 0; c < W; ++c) rest[c] = load_rows(A + (j + c) * stride + i);
      POISE_UNROLL
      for (int l = 0; l < W; ++l) {
        const Row x = load_rows(scaled + l * stride + i);
        POISE_UNROLL
        for (int c = 0; c < W; ++c) rest[c] -= x * Row(A[(k + l) * stride + j + c]);
      }
      POISE_UNROLL
      for (int c = 0; c < W; ++c) store_rows(A + (j + c) * stride + i, rest[c]);
    }
  }
}

// y = A^-1 rhs from the result of sum_blocks; A is overwritten. `scaled` has W * stride numbers, y has `tall`.
template <class S> POISE_LARGE_FN void solve_blocks(int n_rows, S* A, S* inverse, S* scaled, real_t<S> floor, S* y) {
  constexpr int W = Strip<S>::width;
  using Row = typename Strip<S>::Row;
  const int tall = tall_of<S>(n_rows), stride = stride_of<S>(n_rows);
  for (int k = 0; k < tall; k += W) eliminate_columns(A, k, tall, stride, floor, inverse, scaled);

  // the row of the right side now holds D^-1 L^-1 rhs; L^T remains, from the last block up
  for (int j = 0; j < tall; ++j) y[j] = A[j * stride + tall];
  for (int k = tall - W; k >= 0; k -= W) {
    Row sum[W];
    POISE_UNROLL
    for (int c = 0; c < W; ++c) sum[c] = Row(real_t<S>(0));
    for (int i = k + W; i < tall; i += W) {
      const Row x = load_rows(y + i);
      POISE_UNROLL
      for (int c = 0; c < W; ++c) sum[c] += load_rows(A + (k + c) * stride + i) * x;
    }
    POISE_UNROLL
    for (int c = W - 1; c >= 0; --c) {
      S below = sum_rows<S>(sum[c]);
      POISE_UNROLL
      for (int r = c + 1; r < W; ++r) below += A[(k + c) * stride + k + r] * y[k + r];
      y[k + c] -= below;
    }
  }
}

// J, by columns of n_rows numbers, copied to columns of whole blocks; `out` is zero where nothing was written
template <class S> POISE_LARGE_FN void pack_columns(const S* J, const Run* runs, int n_columns, int n_rows, S* out) {
  const int stride = stride_of<S>(n_rows);
  for (int c = 0; c < n_columns; ++c) {
    const int last = runs[c].last < n_rows ? runs[c].last : n_rows;
    for (int k = runs[c].first; k < last; ++k) out[c * stride + k] = J[c * n_rows + k];
  }
}

// J^T in whole blocks: each row of J is one column of `n_columns` numbers. Fixed velocities (scale 0) are omitted.
template <class S> POISE_LARGE_FN void pack_rows(const S* J, const S* scale, int n_columns, int n_rows, S* out) {
  using T = real_t<S>;
  const int stride = stride_of<S>(n_columns);
  for (int c = 0; c < n_columns; ++c) {
    for (int r = 0; r < n_rows; ++r) out[r * stride + c] = select(scale[c] > S(T(0)), J[c * n_rows + r], S(T(0)));
  }
}

// column . y over the nonzero rows
template <class S> POISE_FN S dot_run(const S* column, const S* y, Run run) {
  using Row = typename Strip<S>::Row;
  Row sum = Row(real_t<S>(0));
  for (int k = run.first; k < run.last; k += Strip<S>::width) sum += load_rows(column + k) * load_rows(y + k);
  return sum_rows<S>(sum);
}

}  // namespace poise
