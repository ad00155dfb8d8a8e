// curve.h: a curve that a joint follows, and the moving frame: pieces of cubic polynomials in the arc length.
//
// A piece has seven polynomials: the position (3) and a quaternion (4) that is normalised when read. All results
// (position, twist per metre, derivative of the twist) are exact derivatives of these, so a Jacobian is the derivative
// of forward kinematics to rounding. With Q the quaternion of the polynomials, in the axes of the moved frame
//
//   w = 2 Im(conj(Q) Q') / |Q|^2,   w' = 2 Im(conj(Q) Q'') / |Q|^2 - 2 w (Q . Q') / |Q|^2
//
// Beyond its ends an open curve continues straight: position and quaternion follow their last slope. A closed one wraps
// around. At a corner of a polyline the derivative is that of the following piece. Curves are in double precision and
// for one problem at a time; packs read them lane by lane, and a GPU has none.
#pragma once
#include "kernels/algebra/rotation.h"

namespace poise {

struct CurvePiece {
  double start;    // arc length at its start
  double c[7][4];  // x y z w x y z: c0 + s (c1 + s (c2 + s c3)), s from `start`
};

struct Curve {
  const CurvePiece* pieces;
  int n;  // 1 or more
  double length;
  bool closed;
};

// the position of the frame, its twist per unit of the curve's coordinate, and the derivative of that; twists in the
// axes of the moved frame
template <class S> struct CurvePoint { S R[9], p[3], v[3], w[3], dv[3], dw[3]; };

// the piece that contains x; defined for any x, including NaN
POISE_LARGE_FN int piece_at(const Curve& curve, double x) {
  int low = 0, high = curve.n - 1;
  // ends: the middle is above low, so the interval shrinks every time
  while (low < high) {
    const int middle = low + (high - low + 1) / 2;
    if (curve.pieces[middle].start <= x) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

// the seven numbers at x, their slopes and second derivatives
POISE_LARGE_FN void read_curve(const Curve& curve, double x, double* value, double* slope, double* bend) {
  if (curve.closed) {
    x -= curve.length * floor_of(x / curve.length);
    // whole turns of a very large number have no significant digits
    x = x < 0.0 ? 0.0 : x > curve.length ? curve.length : x;
  }
  const int i = piece_at(curve, x);
  const CurvePiece& piece = curve.pieces[i];
  const double end = (i + 1 < curve.n ? curve.pieces[i + 1].start : curve.length) - piece.start;
  const double from = x - piece.start, s = from < 0.0 ? 0.0 : from > end ? end : from, over = from - s;
  const bool inside = over == 0.0;
  for (int k = 0; k < 7; ++k) {
    const double* c = piece.c[k];
    slope[k] = c[1] + s * (2.0 * c[2] + s * 3.0 * c[3]);
    bend[k] = inside ? 2.0 * c[2] + s * 6.0 * c[3] : 0.0;
    value[k] = c[0] + s * (c[1] + s * (c[2] + s * c[3])) + over * slope[k];
  }
}

// 2 Im(conj(Q) P)
POISE_LARGE_FN void twice_imaginary(const double* Q, const double* P, double* out) {
  double side[3];
  cross(Q + 1, P + 1, side);
  for (int r = 0; r < 3; ++r) out[r] = 2.0 * (Q[0] * P[1 + r] - P[0] * Q[1 + r] - side[r]);
}

POISE_LARGE_FN void point_on(const Curve& curve, double x, CurvePoint<double>& at) {
  double value[7], slope[7], bend[7], turned[3];
  read_curve(curve, x, value, slope, bend);
  const double *Q = value + 3, *dQ = slope + 3;
  matrix_of_quaternion(Q, at.R);
  const double per_square = 1.0 / (Q[0] * Q[0] + Q[1] * Q[1] + Q[2] * Q[2] + Q[3] * Q[3]);
  const double growth = 2.0 * (Q[0] * dQ[0] + Q[1] * dQ[1] + Q[2] * dQ[2] + Q[3] * dQ[3]) * per_square;
  rotate_back(at.R, slope, at.v);
  twice_imaginary(Q, dQ, at.w);
  twice_imaginary(Q, bend + 3, at.dw);
  rotate_back(at.R, bend, at.dv);
  for (int r = 0; r < 3; ++r) {
    at.p[r] = value[r];
    at.w[r] *= per_square;
    at.dw[r] = at.dw[r] * per_square - growth * at.w[r];
  }
  cross(at.w, at.v, turned);
  for (int r = 0; r < 3; ++r) at.dv[r] -= turned[r];
}

// the same for a scalar or a pack, per unit of q where x = gain q + bias
template <class S> POISE_LARGE_FN void read_point(const Curve& curve, S x, S gain, CurvePoint<S>& at) {
  using T = real_t<S>;
  S* const to[] = {at.R, at.p, at.v, at.w, at.dv, at.dw};
  for (int lane = 0; lane < ScalarTraits<S>::lanes; ++lane) {
    CurvePoint<double> one;
    point_on(curve, double(lane_of(x, lane)), one);
    const double* const from[] = {one.R, one.p, one.v, one.w, one.dv, one.dw};
    for (int k = 0; k < 6; ++k) {
      for (int r = 0; r < (k == 0 ? 9 : 3); ++r) set_lane(to[k][r], lane, T(from[k][r]));
    }
  }
  for (int r = 0; r < 3; ++r) {
    at.v[r] *= gain;
    at.w[r] *= gain;
    at.dv[r] *= gain * gain;
    at.dw[r] *= gain * gain;
  }
}

}  // namespace poise
