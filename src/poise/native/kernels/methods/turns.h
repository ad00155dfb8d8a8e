// turns.h: shared by the sweeping methods: the best rotation of one joint, in closed form.
//
// Rotating a set of points u_k by R about a joint to bring them to t_k (both relative to the joint), and frames F to
// rotations T:
//
//   sum c_k |t_k - R u_k|^2 + sum c (chord of T and R F)^2  is least where  tr(R M)  is greatest,   M = sum c_k u_k t_k^T + sum c F T^T
//
// (Wahba 1965). About an axis n:  tr(R M) = a cos x + b sin x + const,  a = tr M - n^T M n,  b = n . vex M,  so the
// best angle is atan2(b, a). The terms of several effectors, of rotations and of groups of hinges are summed in M.
//
// Everything here branches on values: one problem at a time, no packs.
#pragma once
#include "kernels/loop/search.h"

namespace poise {

template <class T> constexpr T pi_of = T(3.14159265358979323846);

template <class S> POISE_LARGE_FN S signed_angle(S y, S x) {
  return y < S(0) ? -positive_atan2(-y, x) : positive_atan2(y, x);
}
template <class S> POISE_LARGE_FN S length(const S* a) { return square_root(dot(a, a)); }
template <class S> POISE_LARGE_FN S clamped(S x, S low, S high) { return minimum(maximum(x, low), high); }

template <class S> POISE_LARGE_FN void subtract(const S* a, const S* b, S* out) {
  for (int k = 0; k < 3; ++k) out[k] = a[k] - b[k];
}

// ---------------------------------------------------------------------------------------------- the matrix M

template <class S> POISE_LARGE_FN void clear_pull(S* M) {
  for (int k = 0; k < 9; ++k) M[k] = S(0);
}

// a point at u that should be at t
template <class S> POISE_LARGE_FN void pull_point(S c, const S* u, const S* t, S* M) {
  for (int r = 0; r < 3; ++r) {
    for (int k = 0; k < 3; ++k) M[3 * r + k] += c * u[r] * t[k];
  }
}

// a frame at F that should be at T
template <class S> POISE_LARGE_FN void pull_frame(S c, const S* F, const S* T, S* M) {
  for (int r = 0; r < 3; ++r) {
    for (int k = 0; k < 3; ++k) M[3 * r + k] += c * dot(F + 3 * r, T + 3 * k);
  }
}

// b(n) = n . v for every axis n
template <class S> POISE_LARGE_FN void twist_of(const S* M, S* v) {
  v[0] = M[5] - M[7];
  v[1] = M[6] - M[2];
  v[2] = M[1] - M[3];
}

template <class S> POISE_LARGE_FN S cosine_part(const S* M, const S* n) {
  S Mn[3];
  rotate(M, n, Mn);
  return M[0] + M[4] + M[8] - dot(n, Mn);
}

// ---------------------------------------------------------------------------------------------- one axis

// the maximum of a cos x + b sin x within [low, high]; the nearest of equal angles
template <class S> POISE_LARGE_FN S best_angle(S a, S b, S low, S high) {
  const S turn = S(2) * pi_of<S>;
  if (!(a * a + b * b > S(0))) return clamped(S(0), low, high);
  S x = signed_angle(b, a);
  for (int k = 0; k < 64 && x < low; ++k) x += turn;
  for (int k = 0; k < 64 && x > high; ++k) x -= turn;
  if (x >= low && x <= high) return x;

  // out of range in both directions: the better end
  S s_low, c_low, s_high, c_high;
  sine_cosine(low, s_low, c_low);
  sine_cosine(high, s_high, c_high);
  return a * c_low + b * s_low > a * c_high + b * s_high ? low : high;
}

template <class S> POISE_LARGE_FN S best_hinge(const S* M, const S* axis, S low, S high) {
  S v[3];
  twist_of(M, v);
  return best_angle(cosine_part(M, axis), dot(axis, v), low, high);
}

// ---------------------------------------------------------------------------------------------- a ball

// the axis about which tr(R M) increases most; at a stationary point, the one about which half a turn gains most. False
// at the maximum.
template <class S> POISE_LARGE_FN bool best_axis(const S* M, S* n) {
  S size = S(0);
  for (int k = 0; k < 9; ++k) size += absolute(M[k]);
  twist_of(M, n);
  const S rise = length(n);
  if (rise > S(1e-14) * size) {
    for (int k = 0; k < 3; ++k) n[k] /= rise;
    return true;
  }
  int worst = -1;
  S least = S(-1e-9) * size;
  for (int k = 0; k < 3; ++k) {
    const S axis[3] = {S(k == 0), S(k == 1), S(k == 2)};
    const S a = cosine_part(M, axis);
    if (a < least) {
      least = a;
      worst = k;
    }
  }
  for (int k = 0; k < 3; ++k) n[k] = S(k == worst);
  return worst >= 0;
}

// the rotation with the largest tr(R M), by a few iterations of the steepest axis and its best angle; for one point it
// is the shortest rotation, exact at once
template <class S> POISE_LARGE_FN void best_ball(const S* M, int passes, S* R) {
  S left[9], n[3], step[9];
  for (int k = 0; k < 9; ++k) {
    R[k] = S(k % 4 == 0);
    left[k] = M[k];
  }
  for (int pass = 0; pass < passes && best_axis(left, n); ++pass) {
    const S x = best_hinge(left, n, -pi_of<S>, pi_of<S>);
    if (absolute(x) < S(1e-15)) return;
    rotation_about(n, x, step);
    multiply(step, left, left);
    multiply(step, R, R);
  }
}

// ---------------------------------------------------------------------------------------------- hinges through one point

constexpr int MOST_TOGETHER = 6;

// the part of x that lies outside [low, high]
template <class S> POISE_LARGE_FN S outside(S x, S low, S high) { return maximum(S(0), maximum(low - x, x - high)); }

// Angles about unit axes a, b, c (each at its current place in the world) with Rot(a) Rot(b) Rot(c) = R; of the two
// solutions the one inside [low, high], otherwise the smaller. Returns its distance outside; -1 if there is no
// solution. From a . Rot(b) c = a . R c (Paden and Kahan, subproblem 2).
template <class S> POISE_LARGE_FN S three_angles(const S* R, const S* axes, const S* low, const S* high, S* x) {
  const S *a = axes, *b = axes + 3, *c = axes + 6;
  S Rc[3], bc[3];
  rotate(R, c, Rc);
  cross(b, c, bc);
  const S along = dot(a, b) * dot(b, c);
  const S p = dot(a, c) - along, q = dot(a, bc), want = dot(a, Rc) - along;
  const S size = square_root(p * p + q * q);
  if (!(size > S(1e-9)) || absolute(want) > size * S(1.000001)) return S(-1);
  const S ratio = clamped(want / size, S(-1), S(1));
  const S middle = signed_angle(q, p), half = positive_atan2(square_root(S(1) - ratio * ratio), ratio);
  S best = S(1e30), best_out = S(0);
  for (int side = -1; side <= 1; side += 2) {
    S y[3], turn[9], bent[3], rest[9], M[9], out = S(0), moved = S(0);
    y[1] = middle + S(side) * half;
    if (y[1] > pi_of<S>) y[1] -= S(2) * pi_of<S>;
    if (y[1] < -pi_of<S>) y[1] += S(2) * pi_of<S>;
    rotation_about(b, y[1], turn);
    rotate(turn, c, bent);
    clear_pull(M);
    pull_point(S(1), bent, Rc, M);
    y[0] = best_hinge(M, a, -pi_of<S>, pi_of<S>);

    // the remainder is about c: Rot(c) = Rot(b)^T Rot(a)^T R
    S first[9];
    rotation_about(a, -y[0], first);
    rotation_about(b, -y[1], turn);
    multiply(first, R, rest);
    multiply(turn, rest, rest);
    S w[3];
    log_of_matrix(rest, w);
    y[2] = dot(w, c);
    for (int k = 0; k < 3; ++k) {
      // the same rotation in the other direction, if only that is inside
      const S other = y[k] > S(0) ? y[k] - S(2) * pi_of<S> : y[k] + S(2) * pi_of<S>;
      if (outside(y[k], low[k], high[k]) > outside(other, low[k], high[k])) y[k] = other;
      out += outside(y[k], low[k], high[k]);
      moved += absolute(y[k]);
    }
    if (moved + S(1e3) * out < best) {
      best = moved + S(1e3) * out;
      best_out = out;
      for (int k = 0; k < 3; ++k) x[k] = y[k];
    }
  }
  return best_out;
}

// The angles x of n hinges through one point, within [low, high], with the largest tr(Rot_1 ... Rot_n M): exact for
// three free ones, otherwise hinge by hinge until none gains.
template <class S>
POISE_LARGE_FN void best_hinges(const S* M, int n, const S* axes, const S* low, const S* high, S* x) {
  for (int k = 0; k < n; ++k) x[k] = clamped(S(0), low[k], high[k]);
  if (n == 3) {
    S R[9], y[3];
    best_ball(M, 4, R);
    if (three_angles(R, axes, low, high, y) >= S(0)) {
      for (int k = 0; k < 3; ++k) x[k] = clamped(y[k], low[k], high[k]);
    }
  }
  for (int pass = 0; pass < 40; ++pass) {
    S most = S(0);
    for (int k = 0; k < n; ++k) {
      // tr(A Rot_k B M) = tr(Rot_k (B M A))
      S N[9], turn[9], A[9] = {S(1), S(0), S(0), S(0), S(1), S(0), S(0), S(0), S(1)};
      for (int i = 0; i < 9; ++i) N[i] = M[i];
      for (int m = n - 1; m > k; --m) {
        rotation_about(axes + 3 * m, x[m], turn);
        multiply(turn, N, N);
      }
      for (int m = k - 1; m >= 0; --m) {
        rotation_about(axes + 3 * m, x[m], turn);
        multiply(turn, A, A);
      }
      S product[9];
      for (int r = 0; r < 3; ++r) {
        for (int c = 0; c < 3; ++c)
          product[3 * r + c] = N[3 * r] * A[c] + N[3 * r + 1] * A[3 + c] + N[3 * r + 2] * A[6 + c];
      }
      const S before = x[k];
      x[k] = best_hinge(product, axes + 3 * k, low[k], high[k]);
      most = maximum(most, absolute(x[k] - before));
    }
    if (n == 1 || most < S(1e-13)) return;
  }
}

// ---------------------------------------------------------------------------------------------- room

// the room of each velocity in this sweep: ranges, step limit, continuous mode, and at most `turn` radians
template <class S, class P> POISE_LARGE_FN void find_turning_room(const P& problem, const Settings<real_t<S>>& settings,
                                                                  S turn, SearchState<S>& state) {
  find_room(problem, settings, state);
  for (int c = 0; c < problem.n_v; ++c) {
    if (!problem.freedoms[c].angular) continue;
    state.work.low[c] = clamped(state.work.low[c], -turn, turn);
    state.work.high[c] = clamped(state.work.high[c], -turn, turn);
  }
}

// Shortens a ball's rotation vector (in its own axes) so that the joint ends inside its cone. True if that changed it.
template <class S, class P>
POISE_LARGE_FN bool turn_into_cone(const P& problem, const SearchState<S>& state, int v, S* w) {
  const Coordinate one[1] = {{0, 0, 1}};
  for (int i = 0; i < problem.n_cones; ++i) {
    const auto& cone = problem.cones[i];
    if (cone.v_index != v) continue;
    S now[4], led[3];
    integrate(one, 1, state.q + cone.q_index, w, now);
    keep_in_cone(problem, cone.q_index, state.q + cone.q_index, now);
    difference(one, 1, state.q + cone.q_index, now, led);
    S moved = S(0);
    for (int k = 0; k < 3; ++k) {
      moved = maximum(moved, absolute(led[k] - w[k]));
      w[k] = led[k];
    }
    return moved > S(1e-12);
  }
  return false;
}

// a ball's rotation vector (in its own axes), inside its cone, divided by its stiffness, and limited to its room
template <class S, class P> POISE_LARGE_FN void fit_ball(const P& problem, const SearchState<S>& state, int v, S* w) {
  turn_into_cone(problem, state, v, w);
  S fraction = S(1) / S(problem.freedoms[v].weight);
  S most = S(1e30);
  for (int k = 0; k < 3; ++k) {
    const S x = fraction * w[k], low = state.work.low[v + k], high = state.work.high[v + k];
    if (x > high) most = minimum(most, high / x);
    if (x < low) most = minimum(most, low / x);
    // no component has more room than the whole rotation
    const S across = maximum(high, -low);
    const S size = fraction * length(w);
    if (size > across) most = minimum(most, across / size);
  }
  fraction *= minimum(S(1), maximum(most, S(0)));
  for (int k = 0; k < 3; ++k) w[k] *= fraction;
}

// the largest rotation (radians) or translation (in units of the scale) of a step
template <class S, class P> POISE_LARGE_FN S size_of_step(const P& problem, const S* dq) {
  S most = S(0);
  for (int c = 0; c < problem.n_v; ++c) {
    most = maximum(most, absolute(dq[c]) / (problem.freedoms[c].angular ? S(1) : S(problem.scale)));
  }
  return most;
}

// A small bend of every joint, the same every time: out of poses in which no single joint improves, such as a straight
// chain with its target on its own line, where the best angle is 0/0.
template <class S, class P> POISE_LARGE_FN void nudge(const P& problem, S size, SearchState<S>& state) {
  S share = S(0);
  for (int c = 0; c < problem.n_v; ++c) {
    share += S(0.61803398874989485);
    if (share > S(1)) share -= S(1);
    const S x = size * (S(0.5) + share) * (c % 2 == 0 ? S(1) : S(-1));
    const S low = state.work.low[c], high = state.work.high[c];
    const S most = problem.freedoms[c].angular ? x : x * S(problem.scale);
    const S taken = clamped(most, low, high), other = clamped(-most, low, high);
    state.dq[c] = absolute(taken) >= absolute(other) ? taken : other;
  }
}

}  // namespace poise
