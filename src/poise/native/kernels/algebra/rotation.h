// rotation.h: vectors, 3x3 matrices (row-major), quaternions (wxyz), and the exponential and logarithm of SO(3), SE(3).
//
// Every branch near zero or near pi is a select on a threshold at which both sides agree to rounding; tests sweep the
// angle from 1e-12 to exactly pi with full-size translations.
#pragma once
#include "kernels/algebra/trig.h"

namespace poise {

template <class S> POISE_FN S dot(const S* a, const S* b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

template <class S> POISE_FN void cross(const S* a, const S* b, S* out) {
  const S x = a[1] * b[2] - a[2] * b[1];
  const S y = a[2] * b[0] - a[0] * b[2];
  const S z = a[0] * b[1] - a[1] * b[0];
  out[0] = x;
  out[1] = y;
  out[2] = z;
}

// out = R x
template <class A, class S> POISE_FN void rotate(const A* R, const S* x, S* out) {
  const S a = S(R[0]) * x[0] + S(R[1]) * x[1] + S(R[2]) * x[2];
  const S b = S(R[3]) * x[0] + S(R[4]) * x[1] + S(R[5]) * x[2];
  const S c = S(R[6]) * x[0] + S(R[7]) * x[1] + S(R[8]) * x[2];
  out[0] = a;
  out[1] = b;
  out[2] = c;
}

// out = R^T x
template <class S> POISE_FN void rotate_back(const S* R, const S* x, S* out) {
  const S a = R[0] * x[0] + R[3] * x[1] + R[6] * x[2];
  const S b = R[1] * x[0] + R[4] * x[1] + R[7] * x[2];
  const S c = R[2] * x[0] + R[5] * x[1] + R[8] * x[2];
  out[0] = a;
  out[1] = b;
  out[2] = c;
}

// out = A B; out may be B
template <class A, class S> POISE_FN void multiply(const A* M, const S* B, S* out) {
  POISE_UNROLL
  for (int k = 0; k < 3; ++k) {
    const S column[3] = {B[k], B[3 + k], B[6 + k]};
    S r[3];
    rotate(M, column, r);
    out[k] = r[0];
    out[3 + k] = r[1];
    out[6 + k] = r[2];
  }
}

// rotation by angle x about unit axis n
template <class S> POISE_LARGE_FN void rotation_about(const S* n, S x, S* R) {
  S s, c;
  sine_cosine(x, s, c);
  const S d = S(real_t<S>(1)) - c;
  for (int r = 0; r < 3; ++r) {
    for (int k = 0; k < 3; ++k) R[3 * r + k] = d * n[r] * n[k] + (r == k ? c : S(real_t<S>(0)));
  }
  R[1] -= s * n[2];
  R[2] += s * n[1];
  R[3] += s * n[2];
  R[5] -= s * n[0];
  R[6] -= s * n[1];
  R[7] += s * n[0];
}

// ---------------------------------------------------------------------------------------------- quaternions

// rotation matrix of a nonzero quaternion
template <class S> POISE_FN void matrix_of_quaternion(const S* q, S* R) {
  using T = real_t<S>;
  const S w = q[0], x = q[1], y = q[2], z = q[3];
  const S s = S(T(2)) / (w * w + x * x + y * y + z * z);
  const S one = S(T(1));
  R[0] = one - s * (y * y + z * z);
  R[1] = s * (x * y - w * z);
  R[2] = s * (x * z + w * y);
  R[3] = s * (x * y + w * z);
  R[4] = one - s * (x * x + z * z);
  R[5] = s * (y * z - w * x);
  R[6] = s * (x * z - w * y);
  R[7] = s * (y * z + w * x);
  R[8] = one - s * (x * x + y * y);
}

template <class S> POISE_FN void quaternion_multiply(const S* a, const S* b, S* out) {
  const S w = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
  const S x = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
  const S y = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
  const S z = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
  out[0] = w;
  out[1] = x;
  out[2] = y;
  out[3] = z;
}

template <class S> POISE_FN void quaternion_normalize(S* q) {
  using T = real_t<S>;
  const S s = S(T(1)) / square_root(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  POISE_UNROLL
  for (int i = 0; i < 4; ++i) q[i] *= s;
}

// an unnormalised quaternion of rotation matrix R: Shepperd's choice of the largest component, by selects
template <class S> POISE_FN void direction_of_matrix(const S* R, S* q) {
  using T = real_t<S>;
  const S one = S(T(1));
  const S wx = R[7] - R[5], wy = R[2] - R[6], wz = R[3] - R[1];
  const S xy = R[3] + R[1], xz = R[2] + R[6], yz = R[7] + R[5];
  const S ww = one + R[0] + R[4] + R[8], xx = one + R[0] - R[4] - R[8];
  const S yy = one - R[0] + R[4] - R[8], zz = one - R[0] - R[4] + R[8];
  q[0] = ww;
  q[1] = wx;
  q[2] = wy;
  q[3] = wz;
  // below a third of a turn, the usual case, no correction is needed
  const mask_t<S> far = ww <= one;
  if (!any(far)) return;
  S best = select(far, ww, S(T(5)));
  const S rows[3][5] = {{xx, wx, xx, xy, xz}, {yy, wy, xy, yy, yz}, {zz, wz, xz, yz, zz}};
  POISE_UNROLL
  for (int k = 0; k < 3; ++k) {
    const mask_t<S> better = rows[k][0] > best;
    best = select(better, rows[k][0], best);
    POISE_UNROLL
    for (int i = 0; i < 4; ++i) q[i] = select(better, rows[k][1 + i], q[i]);
  }
}

template <class T> POISE_FN constexpr T tiny_length() { return sizeof(T) == 8 ? T(1e-140) : T(1e-18); }

// rotation vector of a nonzero quaternion; its angle is in [0, pi]
template <class S> POISE_FN void log_of_quaternion(const S* q, S* w) {
  using T = real_t<S>;
  const S n = square_root(q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  const S c = absolute(q[0]);
  const mask_t<S> tiny = n < S(tiny_length<T>());
  const S angle = S(T(2)) * positive_atan2(n, c);
  S k = select(tiny, S(T(2)), angle) / select(tiny, c, n);
  k = select(q[0] < S(T(0)), S(T(0)) - k, k);
  POISE_UNROLL
  for (int i = 0; i < 3; ++i) w[i] = k * q[1 + i];
}

// unit quaternion of rotation vector w
template <class S> POISE_FN void quaternion_of_log(const S* w, S* q) {
  using T = real_t<S>;
  const S a2 = dot(w, w);
  const S a = square_root(a2);
  S s, c;
  sine_cosine(a * S(T(0.5)), s, c);
  const mask_t<S> small = a2 < S(T(1e-4));
  const S series = S(T(0.5)) - a2 * (S(T(1.0 / 48)) - a2 * (S(T(1.0 / 3840)) - a2 * S(T(1.0 / 645120))));
  const S k = select(small, series, s / select(small, S(T(1)), a));
  q[0] = c;
  POISE_UNROLL
  for (int i = 0; i < 3; ++i) q[1 + i] = k * w[i];
}

// rotation vector of R, its angle in [0, pi], accurate up to pi
template <class S> POISE_FN void log_of_matrix(const S* R, S* w) {
  S q[4];
  direction_of_matrix(R, q);
  log_of_quaternion(q, w);
}

// ---------------------------------------------------------------------------------------------- SE(3)

// sum of c[k] x^k with constants c that every compiler folds
template <class S, int N> POISE_FN S series_of(const double (&c)[N], S x) {
  using T = real_t<S>;
  S r = S(T(c[N - 1]));
  POISE_UNROLL
  for (int i = N - 2; i >= 0; --i) r = r * x + S(T(c[i]));
  return r;
}

// out = x + b (w x x) + c (w x (w x x))
template <class S> POISE_FN void bend(const S* w, S b, S c, const S* x, S* out) {
  S first[3], second[3];
  cross(w, x, first);
  cross(w, first, second);
  POISE_UNROLL
  for (int i = 0; i < 3; ++i) out[i] = x[i] + b * first[i] + c * second[i];
}

// twist [v; w] to a unit quaternion and a translation: p = V(w) v with V the left Jacobian of SO(3)
template <class S> POISE_FN void exp_of_twist(const S* twist, S* q, S* p) {
  using T = real_t<S>;
  const S* w = twist + 3;
  quaternion_of_log(w, q);
  const S a2 = dot(w, w);
  const mask_t<S> small = a2 < S(T(0.25));
  const S safe = select(small, S(T(1)), a2);
  const S a = square_root(safe);

  // b = (1 - cos a) / a^2 = 2 sin(a/2)^2 / a^2, c = (a - sin a) / a^3
  constexpr double b_series[] = {0.5,           -1.0 / 24,        1.0 / 720,        -1.0 / 40320,
                                 1.0 / 3628800, -1.0 / 479001600, 1.0 / 87178291200};
  constexpr double c_series[] = {1.0 / 6, -1.0 / 120, 1.0 / 5040, -1.0 / 362880, 1.0 / 39916800, -1.0 / 6227020800};
  S s, co;
  sine_cosine(a, s, co);
  const S b = select(small, series_of(b_series, a2), (S(T(1)) - co) / safe);
  const S c = select(small, series_of(c_series, a2), (a - s) / (safe * a));
  bend(w, b, c, twist, p);
}

// the coefficient d of both inverse Jacobians of SO(3), I -+ [w] / 2 + d [w]^2, for a2 = |w|^2
template <class S> POISE_FN S inverse_jacobian_term(S a2) {
  using T = real_t<S>;
  const mask_t<S> small = a2 < S(T(0.25));
  const S safe = select(small, S(T(1)), a2);
  const S half = square_root(safe) * S(T(0.5));
  constexpr double d_series[] = {
      1.0 / 12, 1.0 / 720, 1.0 / 30240, 1.0 / 1209600, 1.0 / 47900160, 5.284190138687493e-10, 1.338253653068468e-11};
  S s, c;
  sine_cosine(half, s, c);
  return select(small, series_of(d_series, a2), (S(T(1)) - half * c / s) / safe);
}

// translation part of the log: v = V(w)^-1 p, with w = log R already known
template <class S> POISE_FN void translation_log(const S* w, const S* p, S* v) {
  bend(w, S(real_t<S>(-0.5)), inverse_jacobian_term(dot(w, w)), p, v);
}

}  // namespace poise
