// hierarchy.h: one step for goals of several strict levels, highest priority first, with bounds and other inequalities.
//
// Steps are measured in the norm of the default step: x = dq / s, s = (1 or L) / sqrt(1 + stiffness). Level by level:
//
//   minimise |A z - (r - A x)|^2 + damping |z|^2   over z with B z = 0 and every inequality kept by x + z,    x <- x + z
//
// B is an orthonormal basis of the rows of the levels above (row_basis.h). Damping acts only inside its own level, so a
// lower level cannot move a higher one: A_above z is zero to rounding. Inequalities are handled by an exact active set
// (active_set.h) that starts empty in every level and every step; Escande, Mansard and Wieber 2014 keep it from step to
// step.
#pragma once
#include "kernels/strict/active_set.h"

namespace poise {

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

// w.z = w.held + (basis rows first ... first + rank)^T y
template <class S> POISE_FN void compose(HierarchyWork<S>& w, int first, int rank) {
  for (int k = 0; k < w.stride; ++k) w.z[k] = w.held[k];
  for (int k = 0; k < rank; ++k) add_n(w.y[k], w.basis + (first + k) * w.stride, w.stride, w.z);
}

// One level of rows [first, last). `skip` marks rows at rest in their range; `loose` rows are solved, but later levels
// may move them (null for none).
template <class S> POISE_LARGE_FN void serve_rows(HierarchyWork<S>& w, int first, int last, const char* skip, S damping,
                                                  S longest, const char* loose = nullptr) {
  int rank = 0;
  bool plain = true;
  solve_level(w, longest, [&](S part) {
    plain = w.n_held == 0;
    rank = extend_basis(w, first, last, skip, w.n_basis + w.n_held);
    S asked = S(0);
    for (int i = first; i < last; ++i) {
      const S* row = w.rows + i * w.stride;
      w.rho[i - first] =
          skip && skip[i] ? S(0) : part * (w.r[i] - dot_n(row, w.x, w.stride)) - dot_n(row, w.held, w.stride);
      asked += absolute(w.rho[i - first]);
    }
    damped_coefficients(w, last - first, rank, damping);
    compose(w, w.n_basis + w.n_held, rank);
    if (plain) return S(0);
    for (int k = 0; k < w.stride; ++k) w.gradient[k] = S(0) - damping * w.z[k];
    for (int i = first; i < last; ++i) {
      S left = w.rho[i - first];
      for (int k = 0; k < rank; ++k) left -= w.L[k * w.most_rows + i - first] * w.y[k];
      add_n(left, w.rows + i * w.stride, w.stride, w.gradient);
    }
    return S(4e-16) * asked;
  });
  w.n_basis += plain && !loose ? rank : extend_basis(w, first, last, loose ? loose : skip, w.n_basis);
}

// the last level: towards `wanted` (a step in scaled coordinates), in the remaining freedom
template <class S> POISE_LARGE_FN void serve_posture(HierarchyWork<S>& w, const S* wanted, S longest) {
  solve_level(w, longest, [&](S part) {
    for (int k = 0; k < w.stride; ++k) w.trial[k] = S(0);
    for (int c = 0; c < w.n; ++c) w.trial[c] = part * (wanted[c] - w.x[c]) - w.held[c];
    for (int k = 0; k < w.stride; ++k) w.gradient[k] = w.trial[k];
    subtract_basis(w, 0, w.n_basis + w.n_held, w.trial);
    for (int k = 0; k < w.stride; ++k) {
      w.gradient[k] -= w.trial[k];
      w.z[k] = w.held[k] + w.trial[k];
    }
    return S(0);
  });
}

}  // namespace poise
