// directions.h: the solution of a linear system A x = r by each Jacobian rule, before limits.
//
// A is the Jacobian in the units of the step: x_c = sqrt(weight_c) dq_c, translations in lengths L. The norm of x is
// then the weighted norm of the step, so a stiffer joint moves less under every rule.
#pragma once
#include "kernels/algebra/dense.h"
#include "kernels/algebra/factor.h"

namespace poise {

template <class S> struct LinearSystem {
  int m, n;    // rows, columns
  S* A;        // m * n, row by row; columns of fixed joints are zero
  S* r;        // m
  S* x;        // n: the result
  S* root;     // n: 1 / sqrt(weight); root_c x_c is the motion of a joint in radians, or lengths L
  S* work;     // direction_workspace(m, n)
  int paired;  // rows in blocks of three (goals); the following rows are single
};

POISE_LARGE_FN constexpr int direction_workspace(int m, int n) {
  // a copy of A and the largest of: left vectors and values; a packed triangle and two vectors; the workspace of QR
  const int svd = m * m + 2 * m, triangle = m * (m + 1) / 2 + 2 * m;
  const int largest = svd > triangle ? svd : triangle;
  return m * n + n * n + n + m + (largest > qr_workspace(m, n) ? largest : qr_workspace(m, n));
}

// x = A^T y
template <class S> POISE_LARGE_FN void transposed_times(const LinearSystem<S>& s, const S* y, S* x) {
  for (int c = 0; c < s.n; ++c) x[c] = S(0);
  for (int k = 0; k < s.m; ++k) add_scaled(s.n, y[k], s.A + k * s.n, x);
}

template <class S> POISE_LARGE_FN S* copy_of_matrix(const LinearSystem<S>& s) {
  for (int k = 0; k < s.m * s.n; ++k) s.work[k] = s.A[k];
  return s.work;
}

// x = A^T r / |A|^2: a descent step on |r|^2 / 2 that overshoots the minimum along no direction
template <class S> POISE_LARGE_FN void gradient_direction(LinearSystem<S>& s) {
  transposed_times(s, s.r, s.x);
  const S size = inner(s.m * s.n, s.A, s.A);
  const S step = size > S(0) ? S(1) / size : S(0);
  for (int c = 0; c < s.n; ++c) s.x[c] *= step;
}

// x = alpha A^T r with the alpha that is given or, for 0, the one for which |r - A x| is least: <r, A A^T r> / |A A^T r|^2
template <class S> POISE_LARGE_FN void transpose_direction(LinearSystem<S>& s, S given) {
  transposed_times(s, s.r, s.x);
  S along = S(0), size = S(0);
  for (int k = 0; k < s.m; ++k) {
    const S y = inner(s.n, s.A + k * s.n, s.x);
    along += s.r[k] * y;
    size += y * y;
  }
  const S alpha = given > S(0) ? given : size > S(0) ? along / size : S(0);
  for (int c = 0; c < s.n; ++c) s.x[c] *= alpha;
}

// x = A^T (A A^T + squared I)^-1 r
template <class S> POISE_LARGE_FN void damped_direction(LinearSystem<S>& s, S squared) {
  const int m = s.m;
  S* G = s.work;
  S* pivots = G + m * (m + 1) / 2;
  S* y = pivots + m;
  for (int i = 0; i < m; ++i) {
    for (int k = 0; k <= i; ++k) G[packed(i, k)] = inner(s.n, s.A + i * s.n, s.A + k * s.n);
    G[packed(i, i)] += squared;
    y[i] = s.r[i];
  }
  cholesky<0>(m, G, pivots, sizeof(S) == 8 ? real_t<S>(1e-30) : real_t<S>(1e-18));
  cholesky_solve<0>(m, G, pivots, y);
  transposed_times(s, y, s.x);
}

// x = sum over sigma_i > cut * largest of right_i (left_i . r) / sigma_i
template <class S> POISE_LARGE_FN void truncated_direction(LinearSystem<S>& s, S cut) {
  S* right = copy_of_matrix(s);
  S* left = s.work + s.m * s.n;
  S* sigma = left + s.m * s.m;
  const S largest = jacobi_svd(s.m, s.n, right, left, sigma);
  for (int c = 0; c < s.n; ++c) s.x[c] = S(0);
  for (int i = 0; i < s.m; ++i) {
    if (!(sigma[i] > cut * largest)) continue;
    add_scaled(s.n, inner(s.m, left + i * s.m, s.r) / sigma[i], right + i * s.n, s.x);
  }
}

template <class S> POISE_LARGE_FN S rank_tolerance(const LinearSystem<S>& s) { return S(s.m + s.n) * rounding<S>(); }

template <class S> POISE_LARGE_FN void qr_direction(LinearSystem<S>& s) {
  S* B = copy_of_matrix(s);
  minimum_norm(s.m, s.n, B, s.r, rank_tolerance(s), s.work + s.m * s.n, s.x);
}

// x = A^-1 r over the nonzero rows and columns. If their numbers differ, or a pivot is at rounding level, A has no
// inverse: the least-squares step instead.
template <class S> POISE_LARGE_FN void inverse_direction(LinearSystem<S>& s) {
  S* square = s.work;
  S* b = square + s.n * s.n;
  S* columns = b + s.n;
  int n = 0, rows = 0;
  for (int c = 0; c < s.n; ++c) {
    bool moves = false;
    for (int k = 0; k < s.m; ++k) moves = moves || s.A[k * s.n + c] != S(0);
    if (moves) columns[n++] = S(c);
  }
  for (int k = 0; k < s.m; ++k) {
    bool counts = false;
    for (int c = 0; c < s.n; ++c) counts = counts || s.A[k * s.n + c] != S(0);
    if (!counts) continue;
    if (rows < n) {
      for (int c = 0; c < n; ++c) square[rows * n + c] = s.A[k * s.n + static_cast<int>(columns[c])];
      b[rows] = s.r[k];
    }
    ++rows;
  }
  if (rows != n || !solve_square(n, square, b)) {
    qr_direction(s);
    return;
  }
  for (int c = 0; c < s.n; ++c) s.x[c] = S(0);
  for (int c = 0; c < n; ++c) s.x[static_cast<int>(columns[c])] = b[c];
}

// ---------------------------------------------------------------------------------------------- selective damping

// length of rows [k, k + width) of one column, or of one vector (stride 1)
template <class S> POISE_LARGE_FN S block_length(const S* at, int width, int stride) {
  S sum = S(0);
  for (int r = 0; r < width; ++r) sum += at[r * stride] * at[r * stride];
  return square_root(sum);
}

template <class S> POISE_LARGE_FN S largest_motion(const LinearSystem<S>& s, const S* x) {
  S most = S(0);
  for (int c = 0; c < s.n; ++c) most = maximum(most, absolute(s.root[c] * x[c]));
  return most;
}

// the number of rows of the block at row k; goals of one or two rows can leave a shorter last block
template <class S> POISE_FN int block_rows(const LinearSystem<S>& s, int k) {
  return k >= s.paired ? 1 : s.paired - k < 3 ? s.paired - k : 3;
}

// errors of distant effectors are shortened to `most`, in the same direction
template <class S> POISE_LARGE_FN void clamp_blocks(LinearSystem<S>& s, S most) {
  for (int k = 0; k < s.paired; k += 3) {
    const int width = block_rows(s, k);
    const S size = block_length(s.r + k, width, 1);
    for (int i = 0; i < width && size > most; ++i) s.r[k + i] *= most / size;
  }
}

// Buss and Kim 2005. For every singular vector: N = sum over effectors of |left block|, M = sum of |right_c| |column block| / sigma, and
// the step along it is clamped to gamma = min(1, N / M) gamma_max; the sum is clamped to gamma_max.
// `soft`: scale by gamma / (gamma + size) instead, as the authors' own program does.
template <class S> POISE_LARGE_FN void selective_direction(LinearSystem<S>& s, S most, bool soft) {
  const int m = s.m, n = s.n;
  S* right = copy_of_matrix(s);
  S* left = s.work + m * n;
  S* sigma = left + m * m;
  const S cut = rank_tolerance(s) * jacobi_svd(m, n, right, left, sigma);
  for (int c = 0; c < n; ++c) s.x[c] = S(0);
  for (int i = 0; i < m; ++i) {
    if (!(sigma[i] > cut)) continue;
    S N = S(0), M = S(0);
    for (int k = 0, width = 0; k < m; k += width) {
      width = block_rows(s, k);
      N += block_length(left + i * m + k, width, 1);
      for (int c = 0; c < n; ++c) M += absolute(right[i * n + c]) * block_length(s.A + k * n + c, width, n);
    }
    M /= sigma[i];
    const S gamma = most * (N < M ? N / M : S(1));
    const S scale = inner(m, left + i * m, s.r) / sigma[i];
    const S size = absolute(scale) * largest_motion(s, right + i * n);

    const S clamped = soft ? gamma / (gamma + size) : size > gamma ? gamma / size : S(1);
    add_scaled(n, scale * clamped, right + i * n, s.x);
  }
  const S size = largest_motion(s, s.x);
  if (!(size > most)) return;
  for (int c = 0; c < n; ++c) s.x[c] *= most / size;
}

// ---------------------------------------------------------------------------------------------- posture

// x += (I - A^+ A) z: the exact projector under every rule, so that a posture never disturbs a goal
template <class S> POISE_LARGE_FN void add_posture(LinearSystem<S>& s, S* z) {
  S* B = copy_of_matrix(s);
  project_out(s.m, s.n, B, rank_tolerance(s), s.work + s.m * s.n, z);
  add_scaled(s.n, S(1), z, s.x);
}

}  // namespace poise
