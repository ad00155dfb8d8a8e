// step.h: the default step: bounded, damped least squares in the dual.
//
//   minimise |J dq - r|^2 + damping dq^T W dq + damping sum h_i (q_i + dq_i - wanted_i)^2   within the bounds
//
// Slides are measured in units of L. W = 1 + stiffness and h (posture) are diagonal, so with D = W + h and b = h (wanted - q) the step is
//
//   dq = D^-1 (J^T y + b),   (J D^-1 J^T + damping I) y = r - J D^-1 b
//
// a system of n_rows unknowns: 6 for an arm, 24 for four hands and feet, at linear cost in the joints. Both terms are
// multiplied by the damping, so as it vanishes the goals win strictly and the posture acts in their null space.
//
// If rows outnumber velocities, the primal system is smaller and is used instead.
//
// Bounds: solve freely, fix joints that leave their range at the bound they would cross, subtract their effect from r,
// solve again. Starting every step free lets joints leave their bounds. In a corner the free step can cross several
// bounds at once, and all these joints are fixed, although one of them would move back inside if the others were fixed.
// So if the step is zero, the joint with the wrong sign of its multiplier is released, and the step is solved again.
#pragma once
#include "kernels/algebra/blocks.h"
#include "kernels/algebra/dense.h"
#include "kernels/problem/problem.h"

namespace poise {

template <class S> struct StepWorkspace {
  S* inverse_D;  // n_v; 0 for a fixed joint
  S* b;          // n_v
  S* A;          // n_rows (n_rows + 1) / 2
  S* L;          // n_rows (n_rows + 1) / 2: its factor
  S* pivots;     // n_rows
  S* y;          // n_rows
  S* rhs;        // n_rows
  S* low;        // n_v: room to the bounds
  S* high;       // n_v

  // Many rows are solved in blocks (blocks.h) if these are given: A then has stride^2 numbers, L W * stride, pivots and
  // y `tall`.
  S* packed = nullptr;        // n_v * stride: J in whole blocks
  const Run* runs = nullptr;  // n_v: the rows that each velocity affects

  // If rows outnumber velocities (markers on a body): the primal system, (J^T J + damping D) x = J^T rhs, x = dq - D^-1
  // b. `packed` then has n_rows * stride_of(n_v) numbers: J^T.
  const Run* row_runs = nullptr;  // n_rows: the velocities that affect each row
  const S* ones = nullptr;        // n_rows

  // If this is given (continuous mode, which has only one search), a joint with the wrong sign of its multiplier is
  // released.
  S* held = nullptr;  // n_v: the former inverse_D of a joint fixed in this step; otherwise 0
};

// the room of a velocity: to its bounds, or back to them from outside, and at most `reach`
template <class S, class P>
POISE_FN void room_of_velocity(const P& problem, int c, const S* q, bool bounded, S reach, S& low, S& high) {
  using T = real_t<S>;
  const auto& f = problem.freedoms[c];
  const S most = reach * S(f.angular ? T(1) : problem.scale);
  low = S(T(0)) - most;
  high = most;
  if (bounded && f.q_index >= 0) {
    const S x = q[f.q_index];
    // outside the range: it may only return, by at most `reach` per step
    low = minimum(maximum(S(f.lower) - x, low), most);
    high = maximum(minimum(S(f.upper) - x, high), S(T(0)) - most);
  }
}

// the room of each velocity
template <class S, class P>
POISE_FN void room_to_move(const P& problem, const S* q, bool bounded, S reach, StepWorkspace<S>& w) {
  POISE_UNROLL_BODY
  for (int c = 0; c < problem.n_v; ++c) room_of_velocity(problem, c, q, bounded, reach, w.low[c], w.high[c]);
}

// triangle += scale * column column^T
template <int M, class S> POISE_FN void add_square(int m_run, const S* column, S scale, S* A) {
  const int m = M > 0 ? M : m_run;
  POISE_UNROLL_ROWS
  for (int i = 0; i < m; ++i) {
    const S scaled = column[i] * scale;
    POISE_UNROLL_ROWS
    for (int k = 0; k <= i; ++k) A[packed(i, k)] += scaled * column[k];
  }
}

// w.A = J D^-1 J^T + damping I
template <int M, class S, class P>
POISE_FN void normal_matrix(const P& problem, const S* J, S damping, StepWorkspace<S>& w) {
  using T = real_t<S>;
  const int m = M > 0 ? M : problem.n_rows;
  const auto sum = [&](S* A) {
    POISE_UNROLL_ROWS
    for (int i = 0; i < m; ++i) {
      POISE_UNROLL_ROWS
      for (int k = 0; k <= i; ++k) A[packed(i, k)] = S(T(0));
    }
    POISE_UNROLL_BODY
    for (int c = 0; c < problem.n_v; ++c) add_square<M>(m, J + c * m, w.inverse_D[c], A);
    POISE_UNROLL_ROWS
    for (int i = 0; i < m; ++i) A[packed(i, i)] += damping;  // last: it depends on the cost, the sums do not
  };
  if constexpr (M > 0) {
    S local[M * (M + 1) / 2];  // in registers
    sum(local);
    POISE_UNROLL_ROWS
    for (int k = 0; k < M * (M + 1) / 2; ++k) w.A[k] = local[k];
  } else {
    sum(w.A);
  }
}

// rhs -= column * x
template <int M, class S> POISE_FN void subtract_column(int m_run, const S* column, S x, S* rhs) {
  const int m = M > 0 ? M : m_run;
  POISE_UNROLL_ROWS
  for (int k = 0; k < m; ++k) rhs[k] -= column[k] * x;
}

constexpr double primal_floor =
    1e-9;  // of the largest diagonal of J^T J: smaller damping is lost in rounding, and dependent joints drift

// y = (J^T J + damping D)^-1 J^T rhs; a fixed velocity is independent
template <class S, class P> POISE_FN void solve_primal(const P& problem, S damping, StepWorkspace<S>& w) {
  using T = real_t<S>;
  const S zero = S(T(0));
  const int n = problem.n_v, m = problem.n_rows, stride = stride_of<S>(n);
  for (int c = 0; c < n; ++c) w.y[c] = zero;
  for (int r = 0; r < m; ++r) {
    for (int c = w.row_runs[r].first; c < w.row_runs[r].last && c < n; ++c) {
      w.y[c] += w.packed[r * stride + c] * w.rhs[r];
    }
  }
  sum_blocks(w.packed, w.ones, w.row_runs, m, n, zero, w.y, w.A);
  S enough = damping;
  for (int c = 0; c < n; ++c) enough = maximum(enough, S(T(primal_floor)) * w.A[c * stride + c] * w.inverse_D[c]);
  for (int c = 0; c < n; ++c) {
    const mask_t<S> free = w.inverse_D[c] > zero;
    w.A[c * stride + c] += select(free, enough / select(free, w.inverse_D[c], S(T(1))), S(T(1)));
  }
  solve_blocks(n, w.A, w.pivots, w.L, T(1e-30), w.y);
}

// Whether a step may be solved in blocks: any number of rows, and not in lanes, which have no memory for them.
template <int M, class S> constexpr bool may_block = M == 0 && ScalarTraits<S>::lanes == 1;

// y = A^-1 rhs
template <int M, class S, class P> POISE_FN void solve_normal(const P& problem, S damping, StepWorkspace<S>& w) {
  using T = real_t<S>;
  const int m = M > 0 ? M : problem.n_rows;
  if constexpr (may_block<M, S> && any_goal<P>) {
    if (w.row_runs) {
      solve_primal(problem, damping, w);
      return;
    }
  }
  if (may_block<M, S> && w.packed) {
    sum_blocks(w.packed, w.inverse_D, w.runs, problem.n_v, m, damping, w.rhs, w.A);
    solve_blocks(m, w.A, w.pivots, w.L, T(1e-30), w.y);
    return;
  }
  POISE_UNROLL_ROWS
  for (int k = 0; k < m; ++k) w.y[k] = w.rhs[k];
  if constexpr (M > 0) {
    S L[M * (M + 1) / 2], pivots[M], y[M];
    POISE_UNROLL_ROWS
    for (int k = 0; k < M * (M + 1) / 2; ++k) L[k] = w.A[k];
    POISE_UNROLL_ROWS
    for (int k = 0; k < M; ++k) y[k] = w.rhs[k];
    cholesky<M>(m, L, pivots, T(1e-30));
    cholesky_solve<M>(m, L, pivots, y);
    POISE_UNROLL_ROWS
    for (int k = 0; k < M; ++k) w.y[k] = y[k];
  } else {
    POISE_UNROLL_BODY
    for (int k = 0; k < m * (m + 1) / 2; ++k) w.L[k] = w.A[k];
    cholesky<M>(m, w.L, w.pivots, T(1e-30));
    cholesky_solve<M>(m, w.L, w.pivots, w.y);
  }
}

// the step of a free velocity, from y
template <int M, class S, class P>
POISE_FN S free_step(const P& problem, const S* J, const StepWorkspace<S>& w, int c) {
  const int m = M > 0 ? M : problem.n_rows;
  if (may_block<M, S> && w.row_runs) return w.inverse_D[c] * w.b[c] + w.y[c];
  if (may_block<M, S> && w.packed)
    return w.inverse_D[c] * (w.b[c] + dot_run(w.packed + c * stride_of<S>(m), w.y, w.runs[c]));
  const S* column = J + c * m;
  S x = w.b[c];
  POISE_UNROLL_ROWS
  for (int k = m - 1; k >= 0; --k) x += column[k] * w.y[k];  // in the order in which they are found
  return w.inverse_D[c] * x;
}

// the largest step that counts as zero; near the goal, steps as small as the error count
template <class S> POISE_FN S step_of_nothing(S cost) {
  using T = real_t<S>;
  return minimum(S(T(1e-7)), S(T(1e-3)) * square_root(cost));
}

// the size of a velocity of a step: radians, or metres over the scale
template <class S, class P> POISE_FN S length_of(const P& problem, int c, S dq) {
  using T = real_t<S>;
  return absolute(dq) * S(problem.freedoms[c].angular ? T(1) : T(1) / problem.scale);
}

// the largest velocity of a step
template <class S, class P> POISE_FN S longest_of(const P& problem, const S* dq) {
  S largest = S(real_t<S>(0));
  POISE_UNROLL_BODY
  for (int c = 0; c < problem.n_v; ++c) largest = maximum(largest, length_of(problem, c, dq[c]));
  return largest;
}

constexpr int max_releases = 4;  // joints in one step

// After a zero step with fixed joints: releases the joint whose multiplier has the wrong sign most clearly, in
// w.inverse_D and w.rhs, and returns it; otherwise -1. With the residual damping * y of the step, a velocity tends to
// D^-1 (b + J^T y), whether fixed or not.
template <int M, class S, class P>
POISE_LARGE_FN int release_bound(const P& problem, const S* J, const S* r, StepWorkspace<S>& w, const S* dq) {
  using T = real_t<S>;
  const int m = M > 0 ? M : problem.n_rows;
  S cost = S(T(0));
  for (int k = 0; k < m; ++k) cost += r[k] * r[k];
  if (longest_of(problem, dq) > step_of_nothing(cost)) return -1;
  int who = -1;
  S hardest = S(T(0));
  for (int c = 0; c < problem.n_v; ++c) {
    if (!(w.held[c] > S(T(0))) || !(w.high[c] > w.low[c])) continue;
    S wanted = w.b[c];
    for (int k = 0; k < m; ++k) wanted += J[c * m + k] * w.y[k];
    wanted *= w.held[c];
    const bool at_low = dq[c] - w.low[c] < w.high[c] - dq[c];
    const S inward = at_low ? wanted - dq[c] : dq[c] - wanted;
    const S pull = inward * S(problem.freedoms[c].angular ? T(1) : T(1) / problem.scale);
    if (pull > maximum(hardest, step_of_nothing(cost))) {
      hardest = pull;
      who = c;
    }
  }
  if (who < 0) return who;
  w.inverse_D[who] = w.held[who];
  w.held[who] = S(T(0));
  subtract_column<M>(m, J + who * m, w.inverse_D[who] * w.b[who] - dq[who], w.rhs);
  return who;
}

// Removing a column from A leaves an error of rounding times |A|: far below the damping in double, but not in float,
// which recomputes A.
template <class T> POISE_FN constexpr bool exact_downdate() { return sizeof(T) == 8; }

// adds the posture to a velocity's term `b`, given its distance from the posture, and to its weight
template <class S, class P>
POISE_FN void add_posture(const P& problem, int c, const Posture<S>& posture, S& b, S& inverse_D) {
  using T = real_t<S>;
  const auto& f = problem.freedoms[c];
  S gain = posture.strength * posture.gain[c];
  if (posture.power > 2) gain *= S(T(posture.power) / T(2)) * steepness(posture, b * b * S(T(1) / f.unit2));
  b *= gain * S(T(1) / f.unit2);
  inverse_D = S(f.unit2) / (S(f.weight) + gain);
}

// The step. `posture.gain` may be null. `rounds`: how often joints are fixed and the step solved again; the rest is
// clamped at the bound.
template <int M, class S, class P> POISE_LARGE_FN void bounded_step(const P& problem, const S* q, const S* J,
                                                                    const S* r, S damping, const Posture<S>& posture,
                                                                    int rounds, StepWorkspace<S>& w, S* dq) {
  using T = real_t<S>;
  const S zero = S(T(0));
  POISE_UNROLL_BODY
  for (int c = 0; c < problem.n_v; ++c) {
    w.b[c] = dq[c] = zero;
    w.inverse_D[c] = S(problem.freedoms[c].unit2 / problem.freedoms[c].weight);
  }
  if (posture.gain) {
    difference(problem.coordinates, problem.n_coordinates, q, posture.wanted, w.b);
    POISE_UNROLL_BODY
    for (int c = 0; c < problem.n_v; ++c) add_posture(problem, c, posture, w.b[c], w.inverse_D[c]);
  }
  const int m = M > 0 ? M : problem.n_rows;
  POISE_UNROLL_ROWS
  for (int k = 0; k < m; ++k) w.rhs[k] = r[k];
  S outside = zero;
  POISE_UNROLL_BODY
  for (int c = 0; c < problem.n_v; ++c) outside = maximum(outside, maximum(w.low[c], zero - w.high[c]));
  if (posture.gain != nullptr || any(outside > zero)) {
    POISE_UNROLL_BODY
    for (int c = 0; c < problem.n_v; ++c) {
      const mask_t<S> stuck = (w.low[c] > zero) | (w.high[c] < zero);  // outside its range: it must return
      const S back = select(w.low[c] > zero, w.low[c], w.high[c]);
      dq[c] = select(stuck, back, w.inverse_D[c] * w.b[c]);
      w.inverse_D[c] = select(stuck, zero, w.inverse_D[c]);
      w.b[c] = select(stuck, zero, w.b[c]);
      subtract_column<M>(m, J + c * m, dq[c], w.rhs);
    }
  }
  const bool blocked = may_block<M, S> && w.packed, primal = blocked && w.row_runs;
  if (primal) {
    pack_rows(J, w.inverse_D, problem.n_v, m, w.packed);
  } else if (blocked) {
    pack_columns(J, w.runs, problem.n_v, m, w.packed);
  } else {
    normal_matrix<M>(problem, J, damping, w);
  }
  int freed = 0;
  if (w.held) {
    for (int c = 0; c < problem.n_v; ++c) w.held[c] = zero;
  }
  // ends: the last round crosses nothing, and joints are released a few times at most
  for (int round = 0;; ++round) {
    solve_normal<M>(problem, damping, w);

    // Fixes joints that would leave their range at the bound, and removes them from the system; a fixed joint keeps its
    // step.
    bool crossed = false;
    const auto bind = [&](int c, S x) {
      const mask_t<S> out = !((x >= w.low[c]) & (x <= w.high[c]));
      dq[c] = minimum(maximum(x, w.low[c]), w.high[c]);
      if (round >= rounds || !any(out)) return;
      crossed = true;
      const S before = w.inverse_D[c] * w.b[c];
      subtract_column<M>(m, J + c * m, select(out, dq[c] - before, zero), w.rhs);
      if (!blocked && exact_downdate<T>()) add_square<M>(m, J + c * m, select(out, zero - w.inverse_D[c], zero), w.A);
      if (w.held) w.held[c] = w.inverse_D[c];
      w.inverse_D[c] = select(out, zero, w.inverse_D[c]);
    };
    if constexpr (ScalarTraits<S>::lanes == 1) {
      POISE_UNROLL_BODY
      for (int c = 0; c < problem.n_v; ++c) {
        if (w.inverse_D[c] > zero) bind(c, free_step<M>(problem, J, w, c));
      }
    } else {
      // usually no joint crosses in any lane: checked once for all of them
      mask_t<S> inside = zero <= zero;
      POISE_UNROLL_BODY
      for (int c = 0; c < problem.n_v; ++c) {
        dq[c] = select(w.inverse_D[c] > zero, free_step<M>(problem, J, w, c), dq[c]);
        inside = inside & (dq[c] >= w.low[c]) & (dq[c] <= w.high[c]);
      }
      if (!any(!inside)) return;
      POISE_UNROLL_BODY
      for (int c = 0; c < problem.n_v; ++c) bind(c, dq[c]);
    }
    if (!crossed) {
      if (!w.held || primal || round == 0 || freed == max_releases) return;
      if constexpr (ScalarTraits<S>::lanes == 1) {
        const int who = release_bound<M>(problem, J, r, w, dq);
        if (who < 0) return;
        if (!blocked && exact_downdate<T>()) add_square<M>(m, J + who * m, w.inverse_D[who], w.A);
        ++freed;
        round = 0;
      } else {
        return;
      }
    }
    if (primal) pack_rows(J, w.inverse_D, problem.n_v, m, w.packed);
    if (!blocked && !exact_downdate<T>()) normal_matrix<M>(problem, J, damping, w);
  }
}

// a ball joint stays in its cone, and one that is outside never moves farther out
template <class S, class P>
POISE_LARGE_FN void keep_in_cone(const P& problem, int q_index, const S* before, S* quaternion) {
  for (int i = 0; i < problem.n_cones; ++i) {
    const auto& cone = problem.cones[i];
    if (cone.q_index != q_index) continue;
    clamp_to_cone(opened_to(cone, before), quaternion);
    if (no_further_out(cone, before, quaternion)) continue;
    for (int k = 0; k < 4; ++k) quaternion[k] = before[k];
  }
}

// coordinate i of take_step
template <class S, class P>
POISE_FN void step_coordinate(const P& problem, int i, const S* q, const S* dq, bool bounded, S* out) {
  const Coordinate at = problem.coordinates[i];
  S before[4] = {q[at.q_index]};
  if (at.quaternion) {
    POISE_UNROLL
    for (int k = 1; k < 4; ++k) before[k] = q[at.q_index + k];
  }
  const Coordinate one[1] = {at};
  integrate(one, 1, q, dq, out);
  if (!bounded) return;
  if (at.quaternion) {
    if constexpr (any_goal<P>) keep_in_cone(problem, at.q_index, before, out + at.q_index);
    return;
  }
  const auto& f = problem.freedoms[at.v_index];
  const S low = minimum(before[0], S(f.lower)), high = maximum(before[0], S(f.upper));
  out[at.q_index] = minimum(maximum(out[at.q_index], low), high);
}

// out <- q (+) dq, exactly on the bound if the step reaches it, and never farther out than before. Only movable
// coordinates are written. out may be q.
template <class S, class P> POISE_FN void take_step(const P& problem, const S* q, const S* dq, bool bounded, S* out) {
  POISE_UNROLL_BODY
  for (int i = 0; i < problem.n_coordinates; ++i) step_coordinate(problem, i, q, dq, bounded, out);
}

}  // namespace poise
