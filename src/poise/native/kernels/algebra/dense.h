// dense.h: small dense linear algebra for matrices in a workspace. No pivot is divided by without a check.
//
// Why not LAPACK: its calls cost more than a 6x6 factorisation itself, do not run on packs or on a GPU thread, and
// would be a dependency of the core.
#pragma once
#include "kernels/portable.h"

namespace poise {

// index of (r, c), c <= r, in a lower triangle packed by rows
POISE_FN constexpr int packed(int r, int c) { return r * (r + 1) / 2 + c; }

// Cholesky of a packed lower triangle in place without roots, A = L D L^T: L below the diagonal, which is not written,
// 1 / D_ii in `inverse`. `floor` > 0 is the least pivot, in case rounding makes one negative. M > 0: a compile-time
// size, so that loops unroll. Each pivot depends on the previous one, so the work between two pivots is kept short.
template <int M, class S> POISE_FN void cholesky(int m_run, S* A, S* inverse, real_t<S> floor) {
  const int m = M > 0 ? M : m_run;
  POISE_UNROLL_ROWS
  for (int r = 0; r < m; ++r) {
    // the row of L D, then that of L
    POISE_UNROLL_ROWS
    for (int c = 1; c < r; ++c) {
      S x = A[packed(r, c)];
      POISE_UNROLL_ROWS
      for (int k = 0; k < c; ++k) x -= A[packed(r, k)] * A[packed(c, k)];
      A[packed(r, c)] = x;
    }
    S pivot = A[packed(r, r)];
    POISE_UNROLL_ROWS
    for (int k = 0; k < r; ++k) {
      const S x = A[packed(r, k)] * inverse[k];
      pivot -= A[packed(r, k)] * x;
      A[packed(r, k)] = x;
    }
    inverse[r] = reciprocal(maximum(pivot, S(floor)));
  }
}

// x <- (L D L^T)^-1 x
template <int M, class S> POISE_FN void cholesky_solve(int m_run, const S* A, const S* inverse, S* x) {
  const int m = M > 0 ? M : m_run;
  POISE_UNROLL_ROWS
  for (int r = 1; r < m; ++r) {
    POISE_UNROLL_ROWS
    for (int k = 0; k < r; ++k) x[r] -= A[packed(r, k)] * x[k];
  }
  POISE_UNROLL_ROWS
  for (int r = m - 1; r >= 0; --r) {
    S y = x[r] * inverse[r];
    POISE_UNROLL_ROWS
    for (int k = m - 1; k > r; --k) y -= A[packed(k, r)] * x[k];
    x[r] = y;
  }
}

}  // namespace poise
