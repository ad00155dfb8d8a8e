// factor.h: rank-revealing factorisations: pivoted Householder QR, one-sided Jacobi SVD, elimination with pivots.
//
// Matrices are m x n, row by row, in the caller's memory. Branches depend on the values, so a scalar is float or double
// here, not a pack. Nothing is divided by a number that rounding may have made zero.
//
// Why not LAPACK: see dense.h. In addition, one-sided Jacobi finds small singular values to high relative accuracy.
#pragma once
#include "kernels/portable.h"

namespace poise {

template <class T> POISE_LARGE_FN constexpr T rounding() { return sizeof(T) == 8 ? T(2.3e-16) : T(1.2e-7); }

template <class S> POISE_LARGE_FN S inner(int n, const S* a, const S* b) {
  S sum = S(0);
  for (int k = 0; k < n; ++k) sum += a[k] * b[k];
  return sum;
}

// y += scale * x
template <class S> POISE_LARGE_FN void add_scaled(int n, S scale, const S* x, S* y) {
  for (int k = 0; k < n; ++k) y[k] += scale * x[k];
}

// ---------------------------------------------------------------------------------------------- singular values

// (a, b) <- (c a - s b, s a + c b)
template <class S> POISE_LARGE_FN void turn_rows(int n, S c, S s, S* a, S* b) {
  for (int k = 0; k < n; ++k) {
    const S x = a[k], y = b[k];
    a[k] = c * x - s * y;
    b[k] = s * x + c * y;
  }
}

// One-sided Jacobi (Hestenes 1958): rows of B are rotated in pairs until they are orthogonal. On return A = sum_i
// sigma_i left_i right_i^T with right_i row i of B (unit, or zero if sigma_i is) and left_i row i of `left` (m x m), in
// no particular order. Returns the largest singular value.
template <class S> POISE_LARGE_FN S jacobi_svd(int m, int n, S* B, S* left, S* sigma) {
  const S eps = rounding<S>();
  for (int k = 0; k < m * m; ++k) left[k] = S(k % (m + 1) == 0 ? 1 : 0);
  S total = inner(m * n, B, B);
  const S dust = eps * eps * total;
  bool turned = total > S(0);
  for (int sweep = 0; sweep < 40 && turned; ++sweep) {
    turned = false;
    for (int i = 0; i < m; ++i) {
      for (int j = i + 1; j < m; ++j) {
        S* a = B + i * n;
        S* b = B + j * n;
        const S aa = inner(n, a, a), bb = inner(n, b, b), ab = inner(n, a, b);
        if (minimum(aa, bb) <= dust || absolute(ab) <= eps * square_root(aa) * square_root(bb)) continue;
        const S zeta = (bb - aa) / (ab + ab);
        const S t = (zeta < S(0) ? S(-1) : S(1)) / (absolute(zeta) + square_root(S(1) + zeta * zeta));
        const S c = S(1) / square_root(S(1) + t * t);
        turn_rows(n, c, c * t, a, b);
        turn_rows(m, c, c * t, left + i * m, left + j * m);
        turned = true;
      }
    }
  }
  S largest = S(0);
  for (int i = 0; i < m; ++i) {
    sigma[i] = square_root(inner(n, B + i * n, B + i * n));
    largest = maximum(largest, sigma[i]);
    const S unit = sigma[i] > S(0) ? S(1) / sigma[i] : S(0);
    for (int k = 0; k < n; ++k) B[i * n + k] *= unit;
  }
  return largest;
}

// ---------------------------------------------------------------------------------------------- rank-revealing QR

// x <- H x with H = I - tau v v^T, v = (0 ... 0, 1, row[k + 1], ... row[n - 1])
template <class S> POISE_LARGE_FN void reflect(int n, int k, const S* row, S tau, S* x) {
  const S y = tau * (x[k] + inner(n - k - 1, row + k + 1, x + k + 1));
  x[k] -= y;
  add_scaled(n - k - 1, S(0) - y, row + k + 1, x + k + 1);
}

// the reflector that maps row[k ...] to (beta, 0 ... 0); beta is stored in row[k], v after it. Returns tau.
template <class S> POISE_LARGE_FN S make_reflector(int n, int k, S* row) {
  const S rest = inner(n - k - 1, row + k + 1, row + k + 1);
  const S alpha = row[k];
  if (!(rest > S(0))) return S(0);
  const S length = square_root(alpha * alpha + rest);
  const S beta = alpha > S(0) ? S(0) - length : length;
  const S scale = S(1) / (alpha - beta);
  for (int c = k + 1; c < n; ++c) row[c] *= scale;
  row[k] = beta;
  return (beta - alpha) / beta;
}

// Pivoted Householder QR of A^T, that is A = P^T L Q^T (Businger and Golub 1965). On return the lower trapezoid of B
// has L, the upper one the reflectors, tau their factors, order[i] the row of A that became row i. Returns the rank:
// rows whose remainder is below `tolerance` of the longest row are linearly dependent.
template <class S> POISE_LARGE_FN int pivoted_qr(int m, int n, S* B, S* tau, S* order, S tolerance) {
  for (int i = 0; i < m; ++i) order[i] = S(i);
  const int most = m < n ? m : n;
  S longest = S(0);
  for (int k = 0; k < most; ++k) {
    int pivot = k;
    S best = S(-1);
    for (int i = k; i < m; ++i) {
      const S left_over = inner(n - k, B + i * n + k, B + i * n + k);
      if (left_over > best) {
        best = left_over;
        pivot = i;
      }
    }
    if (k == 0) longest = best;
    if (!(best > tolerance * tolerance * longest)) return k;
    if (pivot != k) {
      for (int c = 0; c < n; ++c) {
        const S x = B[k * n + c];
        B[k * n + c] = B[pivot * n + c];
        B[pivot * n + c] = x;
      }
      const S x = order[k];
      order[k] = order[pivot];
      order[pivot] = x;
    }
    tau[k] = make_reflector(n, k, B + k * n);
    for (int i = k + 1; i < m; ++i) reflect(n, k, B + k * n, tau[k], B + i * n);
  }
  return most;
}

// x <- Q x
template <class S> POISE_LARGE_FN void apply_q(int n, int rank, const S* B, const S* tau, S* x) {
  for (int k = rank - 1; k >= 0; --k) reflect(n, k, B + k * n, tau[k], x);
}

// x <- Q^T x
template <class S> POISE_LARGE_FN void apply_q_transposed(int n, int rank, const S* B, const S* tau, S* x) {
  for (int k = 0; k < rank; ++k) reflect(n, k, B + k * n, tau[k], x);
}

// the workspace of `minimum_norm`, in numbers
POISE_LARGE_FN constexpr int qr_workspace(int m, int n) {
  const int k = m < n ? m : n;
  return k + m + k * m + 2 * k + 2 * m;
}

// x = A^+ r, the shortest of the least-squares solutions, by a complete orthogonal decomposition; B (a copy of A) is overwritten.
// Rank m: L y = P r. Less: y is the least-squares solution of that, from a second QR, of L's columns. x = Q (y, 0).
template <class S> POISE_LARGE_FN int minimum_norm(int m, int n, S* B, const S* r, S tolerance, S* work, S* x) {
  S* tau = work;
  S* order = tau + (m < n ? m : n);
  const int rank = pivoted_qr(m, n, B, tau, order, tolerance);
  S* C = order + m;
  S* tau2 = C + rank * m;
  S* order2 = tau2 + rank;
  S* b = order2 + rank;
  for (int i = 0; i < m; ++i) b[i] = r[static_cast<int>(order[i])];
  for (int c = 0; c < n; ++c) x[c] = S(0);
  if (rank == m) {
    for (int i = 0; i < m; ++i) x[i] = (b[i] - inner(i, B + i * n, x)) / B[i * n + i];
  } else {
    // columns of L as rows of C: L = Q2 L2^T P2, so L2^T (P2 y) = Q2^T b
    for (int k = 0; k < rank; ++k) {
      for (int i = 0; i < m; ++i) C[k * m + i] = i < k ? S(0) : B[i * n + k];
    }
    const int full = pivoted_qr(rank, m, C, tau2, order2, S(0));
    apply_q_transposed(m, full, C, tau2, b);
    for (int k = full - 1; k >= 0; --k) {
      for (int i = k + 1; i < full; ++i) b[k] -= C[i * m + k] * b[i];
      b[k] /= C[k * m + k];
    }
    for (int k = 0; k < full; ++k) x[static_cast<int>(order2[k])] = b[k];
  }
  apply_q(n, rank, B, tau, x);
  return rank;
}

// z <- (I - A^+ A) z: the part of z in the null space of A; B (a copy of A) is overwritten; work: 2 m numbers
template <class S> POISE_LARGE_FN void project_out(int m, int n, S* B, S tolerance, S* work, S* z) {
  const int rank = pivoted_qr(m, n, B, work, work + m, tolerance);
  apply_q_transposed(n, rank, B, work, z);
  for (int k = 0; k < rank; ++k) z[k] = S(0);
  apply_q(n, rank, B, work, z);
}

// ---------------------------------------------------------------------------------------------- square systems

// x <- A^-1 x by elimination with row pivots; A (n x n) is overwritten. False if a pivot is at rounding level: A is
// singular.
template <class S> POISE_LARGE_FN bool solve_square(int n, S* A, S* x) {
  S largest = S(0);
  for (int k = 0; k < n * n; ++k) largest = maximum(largest, absolute(A[k]));
  for (int k = 0; k < n; ++k) {
    int pivot = k;
    for (int i = k + 1; i < n; ++i) {
      if (absolute(A[i * n + k]) > absolute(A[pivot * n + k])) pivot = i;
    }
    if (!(absolute(A[pivot * n + k]) > S(n) * rounding<S>() * largest)) return false;
    if (pivot != k) {
      for (int c = k; c < n; ++c) {
        const S y = A[k * n + c];
        A[k * n + c] = A[pivot * n + c];
        A[pivot * n + c] = y;
      }
      const S y = x[k];
      x[k] = x[pivot];
      x[pivot] = y;
    }
    for (int i = k + 1; i < n; ++i) {
      const S f = A[i * n + k] / A[k * n + k];
      add_scaled(n - k, S(0) - f, A + k * n + k, A + i * n + k);
      x[i] -= f * x[k];
    }
  }
  for (int k = n - 1; k >= 0; --k) x[k] = (x[k] - inner(n - k - 1, A + k * n + k + 1, x + k + 1)) / A[k * n + k];
  return true;
}

}  // namespace poise
