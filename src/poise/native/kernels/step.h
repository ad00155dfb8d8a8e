// step.h: the default step: bounded, damped least squares in the dual.
//
//   minimise |J dq - r|^2 + damping dq^T W dq + damping sum h_i (q_i + dq_i - wanted_i)^2   within the bounds
//
// W = 1 + stiffness and h (posture) are diagonal, so with D = W + h and b = h (wanted - q) the step is
//
//   dq = D^-1 (J^T y + b),   (J D^-1 J^T + damping I) y = r - J D^-1 b
//
// a system of n_rows unknowns: 6 for an arm, 24 for four hands and feet, linear cost in joints. Both terms carry the damping, so
// as it vanishes the goals win strictly and the posture lives in their null space.
//
// Bounds: solve freely, fix what leaves its range at the bound it would cross, take its effect out of r, solve again.
// Starting every step free lets joints leave their bounds.
#pragma once
#include "dense.h"
#include "problem.h"

namespace poise {

template <class S> struct StepWorkspace {
  S* inverse_D;  // n_v; 0 for a fixed joint
  S* b;          // n_v
  S* A;          // n_rows (n_rows + 1) / 2
  S* pivots;     // n_rows
  S* y;          // n_rows
  S* low;        // n_v: room to the bounds
  S* high;       // n_v
};

// how far each velocity may go: to its bounds, or back towards them from outside, and never more than `reach`
template <class S, class P>
POISE_FN void room_to_move(const P& problem, const S* q, bool bounded, S reach, StepWorkspace<S>& w) {
  using T = real_t<S>;
  for (int c = 0; c < problem.n_v; ++c) {
    const auto& f = problem.freedoms[c];
    const S most = reach * S(f.angular ? T(1) : problem.scale);
    w.low[c] = S(T(0)) - most;
    w.high[c] = most;
    if (bounded && f.q_index >= 0) {
      const S x = q[f.q_index];
      // outside the range: the way back is the only way, a step of `reach` at a time
      w.low[c] = minimum(maximum(S(f.lower) - x, w.low[c]), most);
      w.high[c] = maximum(minimum(S(f.upper) - x, w.high[c]), S(T(0)) - most);
    }
  }
}

// A = J D^-1 J^T + damping I and y = r - J (fixed or posture part of dq); M as in dense.h
template <int M, class S, class P>
POISE_FN void normal_matrix(const P& problem, const S* J, const S* r, const S* dq, S damping, StepWorkspace<S>& w) {
  using T = real_t<S>;
  const int m = M > 0 ? M : problem.n_rows;
  POISE_UNROLL
  for (int k = 0; k < m * (m + 1) / 2; ++k) w.A[k] = S(T(0));
  POISE_UNROLL
  for (int k = 0; k < m; ++k) {
    w.A[packed(k, k)] = damping;
    w.y[k] = r[k];
  }
  for (int c = 0; c < problem.n_v; ++c) {
    const S* column = J + c * m;
    const S known = dq[c];
    POISE_UNROLL
    for (int i = 0; i < m; ++i) {
      const S scaled = column[i] * w.inverse_D[c];
      w.y[i] -= column[i] * known;
      POISE_UNROLL
      for (int k = 0; k <= i; ++k) w.A[packed(i, k)] += scaled * column[k];
    }
  }
}

// the step of a free velocity, from y
template <int M, class S, class P>
POISE_FN S free_step(const P& problem, const S* J, const StepWorkspace<S>& w, int c) {
  const int m = M > 0 ? M : problem.n_rows;
  const S* column = J + c * m;
  S x = w.b[c];
  POISE_UNROLL
  for (int k = 0; k < m; ++k) x += column[k] * w.y[k];
  return w.inverse_D[c] * x;
}

// The step. `posture.gain` may be null. `rounds`: how often joints are fixed and the step solved again; then what is left over is
// cut off at the bound.
template <int M, class S, class P>
POISE_FN void bounded_step(const P& problem, const S* q, const S* J, const S* r, S damping, const Posture<S>& posture,
                           int rounds, StepWorkspace<S>& w, S* dq) {
  using T = real_t<S>;
  const S zero = S(T(0));
  for (int c = 0; c < problem.n_v; ++c) {
    w.b[c] = zero;
    w.inverse_D[c] = S(T(1) / problem.freedoms[c].weight);
  }
  if (posture.gain) {
    difference(problem.coordinates, problem.n_coordinates, q, posture.wanted, w.b);
    for (int c = 0; c < problem.n_v; ++c) {
      w.b[c] *= posture.gain[c];
      w.inverse_D[c] = S(T(1)) / (S(problem.freedoms[c].weight) + posture.gain[c]);
    }
  }
  for (int c = 0; c < problem.n_v; ++c) {
    const mask_t<S> stuck = (w.low[c] > zero) | (w.high[c] < zero);  // outside its range: it must come back
    const S back = select(w.low[c] > zero, w.low[c], w.high[c]);
    dq[c] = select(stuck, back, w.inverse_D[c] * w.b[c]);
    w.inverse_D[c] = select(stuck, zero, w.inverse_D[c]);
    w.b[c] = select(stuck, zero, w.b[c]);
  }
  for (int round = 0;; ++round) {
    normal_matrix<M>(problem, J, r, dq, damping, w);
    const int m = M > 0 ? M : problem.n_rows;
    cholesky<M>(m, w.A, w.pivots, T(1e-30));
    cholesky_solve<M>(m, w.A, w.pivots, w.y);

    // what would leave its range is fixed at the bound; a fixed joint keeps its step
    bool crossed = false;
    for (int c = 0; c < problem.n_v; ++c) {
      const mask_t<S> free = w.inverse_D[c] > zero;
      const S x = free_step<M>(problem, J, w, c);
      const mask_t<S> out = free & ((x < w.low[c]) | (x > w.high[c]));
      dq[c] = select(free, minimum(maximum(x, w.low[c]), w.high[c]), dq[c]);
      w.inverse_D[c] = select(out, zero, w.inverse_D[c]);
      crossed = crossed || any(out);
    }
    if (!crossed || round >= rounds) return;

    // another round: the free ones start from their posture again
    for (int c = 0; c < problem.n_v; ++c) dq[c] = select(w.inverse_D[c] > zero, w.inverse_D[c] * w.b[c], dq[c]);
  }
}

// out <- q (+) dq, exactly on the bound where the step went there, and never further out than it was. Only the coordinates that
// may move are written. out may be q.
template <class S, class P> POISE_FN void take_step(const P& problem, const S* q, const S* dq, bool bounded, S* out) {
  for (int i = 0; i < problem.n_coordinates; ++i) {
    const Coordinate at = problem.coordinates[i];
    const S before = q[at.q_index];
    const Coordinate one[1] = {at};
    integrate(one, 1, q, dq, out);
    if (at.quaternion || !bounded) continue;
    const auto& f = problem.freedoms[at.v_index];
    const S low = minimum(before, S(f.lower)), high = maximum(before, S(f.upper));
    out[at.q_index] = minimum(maximum(out[at.q_index], low), high);
  }
}

}  // namespace poise
