// subproblems.h: the canonical subproblems of closed-form inverse kinematics, with bounds.
//
// Each finds the rotations about an axis through the origin that bring a vector onto another vector (Paden-Kahan 1),
// to a distance from a point (3), or to a height over a plane (called 4 by Elias and Wen); two consecutive rotations
// are Paden-Kahan 2, composed of 4 and 1. Paden, "Kinematics and control of robot manipulators", 1986; Kahan, "Lectures
// on computational aspects of geometry", 1983; Elias and Wen, "IK-Geo", 2022.
//
// The input may be known only within a distance. The `slack` of an answer then bounds the deviation from `at` for any
// input within that distance, so an angle outside at +- slack is not an answer for any of them. If an angle is
// undetermined the slack is pi. If there is no answer, `found` is false and `at` is the nearest angle. Nothing is ever
// NaN for finite input.
//
// Arithmetic by selects: float, double and packs.
#pragma once
#include "kernels/algebra/rotation.h"

namespace poise {

constexpr double one_pi = 3.1415926535897932385;

// an angle [rad] (or a translation [m]), the bound of its error, and the angle's sine and cosine
template <class S> struct Known { S at, slack, sine, cosine; };

// The two answers of an equation, symmetric about `middle`; they coincide at tangency. For every input within the given
// distances they are `least` to `widest` from the middle, and if `certain` there are two.
template <class S> struct TwoTurns {
  Known<S> turn[2];
  S middle, least, widest;
  mask_t<S> found, certain;
};

// In double the device has one copy of each of these: inlined, they would exceed its instruction cache. In float they
// are short enough, and a call would take longer than they do.
template <class S> constexpr bool called = sizeof(real_t<S>) == 8;
template <class S> POISE_CALLED_FN S called_atan2(S y, S x) { return positive_atan2(y, x); }
template <class S> POISE_CALLED_FN void call_sine_cosine(S t, S& s, S& c) { sine_cosine(t, s, c); }
template <class S> POISE_FN S positive_atan2_of(S y, S x) {
  if constexpr (called<S>) return called_atan2(y, x);
  return positive_atan2(y, x);
}
template <class S> POISE_FN void sine_cosine_of(S t, S& s, S& c) {
  if constexpr (called<S>) call_sine_cosine(t, s, c);
  if constexpr (!called<S>) sine_cosine(t, s, c);
}

template <class S> POISE_FN S arc_tangent(S y, S x) {
  const S angle = positive_atan2_of(absolute(y), x);
  return select(y < S(real_t<S>(0)), S(real_t<S>(0)) - angle, angle);
}

// arc cosine of x, clamped to [-1, 1]
template <class S> POISE_FN S arc_cosine(S x) {
  using T = real_t<S>;
  const S one = S(T(1)), c = minimum(maximum(x, S(T(-1))), one);
  return positive_atan2_of(square_root((one - c) * (one + c)), c);
}

// An upper bound of the arc sine of x in [0, 1], without an angle: in its series x + x^3 / 6 + ... every term is
// positive, so the terms from the fifth power on are at most x^5 times their sum at 1. It is 2 % too large at 1 / 2,
// 0.05 % at 1 / 5.
template <class S> POISE_FN S above_arc_sine(S x) {
  using T = real_t<S>;
  const S square = x * x;
  return x + x * square * (S(T(1.0 / 6.0)) + square * S(T(0.5 * one_pi - 7.0 / 6.0)));
}

// An upper bound of the rotation of a vector's direction if its end moves by `error`.
template <class S> POISE_FN S swing_of(S error, S length) {
  using T = real_t<S>;
  const mask_t<S> any_way = error >= length;
  const S ratio = select(any_way, S(T(0)), error) / select(any_way, S(T(1)), length);
  return select(any_way, S(T(one_pi)), above_arc_sine(ratio));
}

template <class S> POISE_FN S norm(const S* a) { return square_root(dot(a, a)); }

// out = x rotated by t about the unit vector k
template <class S> POISE_FN void turn_about(const S* k, S t, const S* x, S* out) {
  S s, c, w[3];
  sine_cosine(t, s, c);
  cross(k, x, w);
  const S along = dot(k, x) * (S(real_t<S>(1)) - c);
  POISE_UNROLL
  for (int i = 0; i < 3; ++i) out[i] = c * x[i] + s * w[i] + along * k[i];
}

// the part of x perpendicular to the unit vector k
template <class S> POISE_FN void across(const S* k, const S* x, S* out) {
  const S along = dot(k, x);
  POISE_UNROLL
  for (int i = 0; i < 3; ++i) out[i] = x[i] - along * k[i];
}

// a cos t + b sin t = c, for any c from `low` to `high`. Whether there is an answer takes no angle.
template <class S> struct Line {
  S a, b, c, low, high;
  S size;  // |a, b|
  mask_t<S> found, certain;
};

template <class S> POISE_FN Line<S> line_of(S a, S b, S c, S low, S high) {
  using T = real_t<S>;
  const S zero = S(T(0)), size = square_root(a * a + b * b);
  Line<S> out;
  out.a = a;
  out.b = b;
  out.c = c;
  out.low = low;
  out.high = high;
  out.size = size;
  out.found = (low <= size) & (high >= zero - size);
  out.certain = (low >= zero - size) & (high <= size) & (size > S(tiny_length<T>()));
  return out;
}

// The largest deviation of acos(x) from acos(c) for x from `low` to `high` around c, all in [-1, 1]: bounds below and
// above, without an angle. With d the difference, sin d and cos d are known; beyond a quarter turn d = pi - asin(sin d)
// is at most pi - sin d.
template <class S> struct Spread { S below, above; };

template <class S> POISE_FN Spread<S> spread_of_cosine(S c, S low, S high) {
  using T = real_t<S>;
  const S zero = S(T(0)), one = S(T(1)), pi = S(T(one_pi));
  const S x = minimum(maximum(c, S(T(-1))), one), l = minimum(maximum(low, S(T(-1))), one);
  const S h = minimum(maximum(high, S(T(-1))), one);
  const S sx = square_root((one - x) * (one + x)), sl = square_root((one - l) * (one + l));
  const S sh = square_root((one - h) * (one + h));
  const S up = minimum(maximum(sl * x - l * sx, zero), one), down = minimum(maximum(sx * h - x * sh, zero), one);
  return {select(x * h + sx * sh > zero, above_arc_sine(down), pi - down),
          select(x * l + sx * sl > zero, above_arc_sine(up), pi - up)};
}

// The angle of the direction (x, y), of any length, with its sine and cosine; 0 if it has none.
template <class S> POISE_FN Known<S> angle_of(S y, S x, S slack) {
  using T = real_t<S>;
  const mask_t<S> none = maximum(absolute(x), absolute(y)) <= S(tiny_length<T>());
  const S s = select(none, S(T(0)), y), c = select(none, S(T(1)), x), k = S(T(1)) / square_root(s * s + c * c);
  return {arc_tangent(s, c), slack, s * k, c * k};
}

// Sets the sines and cosines of two answers, at `half` below and above `middle`.
template <class A, class S>
POISE_FN void set_sides(A* turn, S sine_middle, S cosine_middle, S sine_half, S cosine_half) {
  const S a = sine_middle * cosine_half, b = cosine_middle * sine_half;
  const S c = cosine_middle * cosine_half, d = sine_middle * sine_half;
  turn[0].sine = a - b;
  turn[0].cosine = c + d;
  turn[1].sine = a + b;
  turn[1].cosine = c - d;
}

// its answers, t = atan2(b, a) -+ arccos(c / |a, b|)
template <class S> POISE_FN TwoTurns<S> inline_turns_of(const Line<S>& line) {
  using T = real_t<S>;
  const S zero = S(T(0)), one = S(T(1));
  const mask_t<S> none = line.size <= S(tiny_length<T>());
  const S k = one / select(none, one, line.size);
  TwoTurns<S> out;
  out.found = line.found;
  out.certain = line.certain;
  const Spread<S> spread = spread_of_cosine(line.c * k, line.low * k, line.high * k);
  const S x = minimum(maximum(line.c * k, S(T(-1))), one), y = square_root((one - x) * (one + x));
  const S a = select(none, one, line.a), b = select(none, zero, line.b);
  const S sine = select(none, zero, y), cosine = select(none, one, x);
  const S middle = arc_tangent(b, a), half = positive_atan2_of(sine, cosine);
  out.least = select(none, zero, maximum(half - spread.below, zero));
  out.widest = select(none, S(T(one_pi)), minimum(half + spread.above, S(T(one_pi))));
  const S slack = maximum(out.widest - half, half - out.least);
  out.turn[0] = {middle - half, slack, zero, one};
  out.turn[1] = {middle + half, slack, zero, one};
  set_sides(out.turn, b * k, a * k, sine, cosine);
  out.middle = middle;
  return out;
}

template <class S> POISE_CALLED_FN TwoTurns<S> called_turns_of(const Line<S>& line) { return inline_turns_of(line); }
template <class S> POISE_FN TwoTurns<S> turns_of(const Line<S>& line) {
  if constexpr (called<S>) return called_turns_of(line);
  return inline_turns_of(line);
}

// the slack of its answers alone
template <class S> POISE_FN S slack_of(const Line<S>& line) {
  using T = real_t<S>;
  const mask_t<S> none = line.size <= S(tiny_length<T>());
  const S k = S(T(1)) / select(none, S(T(1)), line.size);
  const Spread<S> spread = spread_of_cosine(line.c * k, line.low * k, line.high * k);
  return select(none, S(T(one_pi)), minimum(maximum(spread.below, spread.above), S(T(one_pi))));
}

// Subproblem 1: the rotation about k that brings p into the half plane of k and q; both have errors.
template <class S> POISE_FN Known<S> turn_onto(const S* k, const S* p, const S* q, S p_error, S q_error) {
  S a[3], b[3], n[3];
  across(k, p, a);
  across(k, q, b);
  cross(a, b, n);
  const S slack = swing_of(p_error, norm(a)) + swing_of(q_error, norm(b));
  return angle_of(dot(k, n), dot(a, b), minimum(slack, S(real_t<S>(one_pi))));
}

// Subproblem 4: the rotations about k that bring p to the height d over the plane perpendicular to h: h . R p = d, d
// with an error of at most `error`.
template <class S> POISE_FN Line<S> height_line(const S* h, const S* k, const S* p, S d, S error) {
  S n[3];
  cross(k, p, n);
  const S along = dot(h, k) * dot(k, p), c = d - along;
  return line_of(dot(h, p) - along, dot(h, n), c, c - error, c + error);
}

// Subproblem 3: the rotations about k that bring p to the distance d from q, for any d from `near` to `far`. If the
// distance is much smaller than p and q, rounding of the terms exceeds the error of the equation: it is added.
template <class S> POISE_FN Line<S> distance_line(const S* k, const S* p, const S* q, S d, S near, S far) {
  using T = real_t<S>;
  S n[3];
  cross(k, p, n);
  const S along = dot(q, k) * dot(k, p), half = S(T(0.5)), sum = dot(p, p) + dot(q, q);
  const S lost = S(T(sizeof(T) == 8 ? 1e-14 : 4e-6)) * sum;
  return line_of(dot(q, p) - along, dot(q, n), half * (sum - d * d) - along, half * (sum - far * far) - along - lost,
                 half * (sum - near * near) - along + lost);
}

// The slides along the unit vector k that bring p to the distance d from q, d with an error of at most `error`.
template <class S> POISE_FN TwoTurns<S> slide_to_distance(const S* k, const S* p, const S* q, S d, S error) {
  using T = real_t<S>;
  const S zero = S(T(0));
  const S x[3] = {p[0] - q[0], p[1] - q[1], p[2] - q[2]};
  S side[3];
  across(k, x, side);
  const S off = dot(side, side), middle = zero - dot(k, x);
  const S near = maximum(d - error, zero), far = d + error;
  const S half = square_root(maximum(d * d - off, zero)), widest = square_root(maximum(far * far - off, zero));
  const S least = square_root(maximum(near * near - off, zero));
  const S slack = maximum(widest - half, half - least);
  TwoTurns<S> out;
  out.found = far * far >= off;
  out.certain = near * near >= off;
  out.turn[0] = {middle - half, slack, zero, S(T(1))};
  out.turn[1] = {middle + half, slack, zero, S(T(1))};
  out.middle = middle;
  out.least = least;
  out.widest = widest;
  return out;
}

}  // namespace poise
