// motion.h: applies the motion of one primitive, and its placement in its parent.
#pragma once
#include "kernels/body/body.h"

namespace poise {

// (R, p) <- motion(q) (R, p)
template <class S, class P> POISE_FN void move_left(const P& primitive, const S* q, S* R, S* p) {
  if (primitive.kind == BALL) {
    S M[9];
    matrix_of_quaternion(q + primitive.q_index, M);
    multiply(M, R, R);
    rotate(M, p, p);
    return;
  }
  if (primitive.kind == SLIDE3) {
    POISE_UNROLL
    for (int k = 0; k < 3; ++k) p[k] += q[primitive.q_index + k];
    return;
  }
  if (is_path(primitive)) {
    CurvePoint<S> at;
    point_of_path(primitive, q, at);
    multiply(at.R, R, R);
    rotate(at.R, p, p);
    POISE_UNROLL
    for (int k = 0; k < 3; ++k) p[k] += at.p[k];
    return;
  }
  if (is_scale(primitive)) {
    const S factor = factor_of(primitive, q);
    for (int k = 0; k < 3; ++k) p[k] *= factor;
    return;
  }
  const S x = coordinate_of(primitive, q);
  if (primitive.kind == PRISMATIC) {
    p[2] += x;
    return;
  }
  S s, c;
  sine_cosine(x, s, c);
  POISE_UNROLL
  for (int k = 0; k < 3; ++k) {
    const S a = R[k], b = R[3 + k];
    R[k] = c * a - s * b;
    R[3 + k] = s * a + c * b;
  }
  const S a = p[0], b = p[1];
  p[0] = c * a - s * b;
  p[1] = s * a + c * b;
  if (primitive.kind == SCREW) p[2] += S(primitive.pitch) * x;
}

// (R, p) <- (R, p) motion(q); s and c are the sine and cosine of its angle, if it rotates about an axis
template <class S, class P> POISE_FN void move_right(const P& primitive, const S* q, S s, S c, S* R, S* p) {
  if (primitive.kind == BALL) {
    S M[9], out[9];
    matrix_of_quaternion(q + primitive.q_index, M);
    multiply(R, M, out);
    POISE_UNROLL
    for (int k = 0; k < 9; ++k) R[k] = out[k];
    return;
  }
  if (primitive.kind == SLIDE3) {
    S shift[3];
    rotate(R, q + primitive.q_index, shift);
    POISE_UNROLL
    for (int k = 0; k < 3; ++k) p[k] += shift[k];
    return;
  }
  if (is_path(primitive)) {
    CurvePoint<S> at;
    S shift[3], out[9];
    point_of_path(primitive, q, at);
    rotate(R, at.p, shift);
    multiply(R, at.R, out);
    POISE_UNROLL
    for (int k = 0; k < 9; ++k) R[k] = out[k];
    POISE_UNROLL
    for (int k = 0; k < 3; ++k) p[k] += shift[k];
    return;
  }
  if (is_scale(primitive)) {
    const S factor = factor_of(primitive, q);
    for (int k = 0; k < 9; ++k) R[k] *= factor;
    return;
  }
  const S x = coordinate_of(primitive, q);
  S shift = x;
  if (primitive.kind != PRISMATIC) {
    POISE_UNROLL
    for (int r = 0; r < 3; ++r) {
      const S a = R[3 * r], b = R[3 * r + 1];
      R[3 * r] = c * a + s * b;
      R[3 * r + 1] = c * b - s * a;
    }
    if (primitive.kind == REVOLUTE) return;
    shift = S(primitive.pitch) * x;
  }
  POISE_UNROLL
  for (int r = 0; r < 3; ++r) p[r] += shift * R[3 * r + 2];
}

// (R, p) <- (fixed R, fixed p) (R, p)
template <class S, class P> POISE_FN void place_left(const P& fixed, S* R, S* p) {
  if (fixed.turn == GENERAL_TURN) {
    multiply(fixed.R, R, R);
    rotate(fixed.R, p, p);
  } else if (fixed.turn >= QUARTER_X) {
    // y becomes z and z becomes -y, or the other way round
    const bool on = fixed.turn == QUARTER_X;
    POISE_UNROLL
    for (int k = 0; k < 3; ++k) {
      const S y = R[3 + k], z = R[6 + k], zero = S(real_t<S>(0));
      R[3 + k] = on ? zero - z : z;
      R[6 + k] = on ? y : zero - y;
    }
    const S y = p[1], z = p[2], zero = S(real_t<S>(0));
    p[1] = on ? zero - z : z;
    p[2] = on ? y : zero - y;
  } else if (fixed.turn != NO_TURN) {
    // row i becomes row i + turn
    const bool one = fixed.turn == ROLL_1;
    POISE_UNROLL
    for (int k = 0; k < 3; ++k) {
      const S x = R[k], y = R[3 + k], z = R[6 + k];
      R[k] = one ? y : z;
      R[3 + k] = one ? z : x;
      R[6 + k] = one ? x : y;
    }
    const S x = p[0], y = p[1], z = p[2];
    p[0] = one ? y : z;
    p[1] = one ? z : x;
    p[2] = one ? x : y;
  }
  POISE_UNROLL
  for (int k = 0; k < 3; ++k) p[k] += S(fixed.p[k]);
}

// out = up (fixed R)
template <class S, class P> POISE_FN void turn_right(const S* up, const P& fixed, S* out) {
  if (fixed.turn == GENERAL_TURN) {
    S turn[9];
    POISE_UNROLL
    for (int k = 0; k < 9; ++k) turn[k] = S(fixed.R[k]);
    multiply(up, turn, out);
    return;
  }

  if (fixed.turn >= QUARTER_X) {
    const bool on = fixed.turn == QUARTER_X;
    POISE_UNROLL
    for (int r = 0; r < 3; ++r) {
      const S x = up[3 * r], y = up[3 * r + 1], z = up[3 * r + 2], zero = S(real_t<S>(0));
      out[3 * r] = x;
      out[3 * r + 1] = on ? z : zero - z;
      out[3 * r + 2] = on ? zero - y : y;
    }
    return;
  }

  // column k becomes column k - turn
  POISE_UNROLL
  for (int r = 0; r < 3; ++r) {
    const S x = up[3 * r], y = up[3 * r + 1], z = up[3 * r + 2];
    out[3 * r] = fixed.turn == 0 ? x : fixed.turn == 1 ? z : y;
    out[3 * r + 1] = fixed.turn == 0 ? y : fixed.turn == 1 ? x : z;
    out[3 * r + 2] = fixed.turn == 0 ? z : fixed.turn == 1 ? y : x;
  }
}

template <class S, class F> POISE_FN void start_at(const F& frame, const real_t<S>* point, S* R, S* p) {
  POISE_UNROLL
  for (int k = 0; k < 9; ++k) R[k] = S(frame.R[k]);
  POISE_UNROLL
  for (int k = 0; k < 3; ++k) p[k] = S(frame.p[k]);
  if (point) {
    S offset[3] = {S(point[0]), S(point[1]), S(point[2])};
    rotate(R, offset, offset);
    POISE_UNROLL
    for (int k = 0; k < 3; ++k) p[k] += offset[k];
  }
}

}  // namespace poise
