// interval_numbers.h: the numbers of a walk through a chain's branches while the free joint moves: numbers and points known to
// second order.
//
// In a cell, the values of the free joint within `half` of its midpoint, every value is middle + half t with t from -1
// to 1. An Interval is a number that is at + rate t for every t, with an error of at most `off`; an IntervalPoint is a point with
// an error of at most that distance. Sums, products and rotations propagate their errors by the triangle inequality and
// by the second-order Taylor remainder, so `off` shrinks with the square of the cell. Tolerances and rounding are not
// part of them but of the slack of answers, as in fixed_numbers.h: a distance from at + rate t for each t. Nothing is ever NaN:
// an unbounded angle has an error of half a turn, which excludes nothing.
//
// Arithmetic by selects: double and packs, in which every lane is a cell.
#pragma once
#include "kernels/closed/fixed_numbers.h"

namespace poise {

template <class T> struct Interval { T at, rate, off; };
template <class T> struct IntervalPoint { T at[3], rate[3], off; };
template <class T> struct IntervalKnown {
  Interval<T> at;
  T slack;
  mask_t<T> smooth;  // at and rate are the value and the slope at the midpoint
  T sine, cosine;    // of the midpoint
};

// The part of the cell in which a branch may exist inside the ranges (low to high), and in which it certainly does
// (from, to); in t.
template <class T> struct IntervalSpan {
  T low, high, from, to;
  mask_t<T> smooth;  // whether all answers so far are certain too
};

// A number that must be in [-1, 1] for an equation to have solutions; it is at most `under` below at + rate t and
// `over` above.
template <class T> struct IntervalExists { T at, rate, under, over; };

// a cos v + b sin v = c: the direction (a, b) of unit length, at the midpoint and its rate, and the cosine c / |a, b|, which is at
// most `under` below and `over` above its value. If the direction is `lost`, nothing is known.
template <class T> struct IntervalEquation {
  T a, b, rate, off;
  Interval<T> cosine;
  T under, over;
  mask_t<T> lost, certain;
};
template <class T> struct IntervalPair {
  IntervalKnown<T> turn[2];
  IntervalExists<T> exists;
  mask_t<T> certain;
};

// The product A is that of the midpoint, then moved about or along an axis by sway t.
template <class T> struct IntervalAsked : FamilyAsked<T> {
  T h[3], through[3], sway;
  bool slides;
};

template <class T> struct Flowing {
  using Real = T;
  using Plain = Flowing<T>;
  using Number = Interval<T>;
  using Point = IntervalPoint<T>;
  using Answer = IntervalKnown<T>;
  using Pair = IntervalPair<T>;
  using Equation = IntervalEquation<T>;
  using Asked = IntervalAsked<T>;
  using Span = IntervalSpan<T>;
  static constexpr bool flows = true, chosen = false;
  static POISE_FN Number number(T x) { return {x, T(0), T(0)}; }
  static POISE_FN Point point(const T* x) { return {{x[0], x[1], x[2]}, {T(0), T(0), T(0)}, T(0)}; }
};

// ---------------------------------------------------------------------------------------------- numbers

template <class T> POISE_FN T most(const Interval<T>& x) { return absolute(x.at) + absolute(x.rate) + x.off; }
template <class T> POISE_FN Interval<T> operator+(const Interval<T>& a, const Interval<T>& b) {
  return {a.at + b.at, a.rate + b.rate, a.off + b.off};
}
template <class T> POISE_FN Interval<T> operator-(const Interval<T>& a, const Interval<T>& b) {
  return {a.at - b.at, a.rate - b.rate, a.off + b.off};
}
template <class T> POISE_FN Interval<T> operator+(const Interval<T>& a, T b) { return {a.at + b, a.rate, a.off}; }
template <class T> POISE_FN Interval<T> operator-(const Interval<T>& a, T b) { return {a.at - b, a.rate, a.off}; }
template <class T> POISE_FN Interval<T> operator*(T k, const Interval<T>& a) {
  return {k * a.at, k * a.rate, absolute(k) * a.off};
}
template <class T> POISE_FN Interval<T> square_of(const Interval<T>& a) {
  const T moved = absolute(a.rate) + a.off;
  return {a.at * a.at, T(2) * a.at * a.rate,
          a.rate * a.rate + a.off * (T(2) * absolute(a.at) + moved + absolute(a.rate))};
}

// The square root of q, which has an additional error of at most `error`: within `slack` of it. If it may be 0, only
// its bounds are set.
template <class T> POISE_LARGE_FN Interval<T> root_of(const Interval<T>& q, T error, T& slack, mask_t<T>& smooth) {
  const T moved = absolute(q.rate) + q.off, least = q.at - moved - error, at = square_root(maximum(q.at, T(0)));
  smooth = (least > T(0.1) * q.at) & (q.at > T(0));
  const T low = T(1) / square_root(select(smooth, least, T(1))),
          high = square_root(maximum(q.at + moved + error, T(0)));
  const T wide = maximum(high - at, at - square_root(maximum(least, T(0))));
  slack = select(smooth, T(0.5) * error * low, wide);
  const T rate = T(0.5) * q.rate / select(smooth, at, T(1));
  const T off = T(0.5) * q.off * low + T(0.125) * q.rate * q.rate * low * low * low;
  return {at, select(smooth, rate, T(0)), select(smooth, off, T(0))};
}

// ---------------------------------------------------------------------------------------------- points

template <class T> POISE_FN IntervalPoint<T> away_from(const IntervalPoint<T>& x, const T* p) {
  IntervalPoint<T> out = x;
  difference_of(x.at, p, out.at);
  return out;
}
template <class T> POISE_FN IntervalPoint<T> moved_by(const IntervalPoint<T>& x, const T* p) {
  IntervalPoint<T> out = x;
  for (int i = 0; i < 3; ++i) out.at[i] += p[i];
  return out;
}
template <class T>
POISE_FN IntervalPoint<T> slid(const T* h, T sign, const IntervalKnown<T>& by, const IntervalPoint<T>& x) {
  IntervalPoint<T> out = x;
  for (int i = 0; i < 3; ++i) {
    out.at[i] += sign * by.at.at * h[i];
    out.rate[i] += sign * by.at.rate * h[i];
  }
  out.off += by.at.off;
  return out;
}
template <class T> POISE_FN IntervalPoint<T> flat(const T* k, const IntervalPoint<T>& x) {
  IntervalPoint<T> out;
  across(k, x.at, out.at);
  across(k, x.rate, out.rate);
  out.off = x.off;
  return out;
}
// the cross product with the unit vector k
template <class T> POISE_FN IntervalPoint<T> crossed(const T* k, const IntervalPoint<T>& x) {
  IntervalPoint<T> out;
  cross(k, x.at, out.at);
  cross(k, x.rate, out.rate);
  out.off = x.off;
  return out;
}
// the part of x along the unit vector h; and the dot product with any vector
template <class T> POISE_FN Interval<T> along(const T* h, const IntervalPoint<T>& x) {
  return {dot(h, x.at), dot(h, x.rate), x.off};
}
template <class T> POISE_FN Interval<T> product_of(const T* q, const IntervalPoint<T>& x) {
  return {dot(q, x.at), dot(q, x.rate), any(x.off > T(0)) ? x.off * norm(q) : T(0)};
}
template <class T> POISE_FN T most_length(const IntervalPoint<T>& x) { return norm(x.at) + norm(x.rate) + x.off; }
template <class T> POISE_FN Interval<T> square_length(const IntervalPoint<T>& x) {
  const T rate = norm(x.rate), rest = any(x.off > T(0)) ? x.off * (T(2) * (norm(x.at) + rate) + x.off) : T(0);
  return {dot(x.at, x.at), T(2) * dot(x.at, x.rate), rate * rate + rest};
}

// For a vector of length `size` at the midpoint that moves by at most `moved`: the largest deviation from its first
// order, relative to its length, along itself and around. With z = 1 + w the end, |log z - w| is at most |w|^2 / (2 (1
// - |w|)), and so is ||z| - 1 - Re w|.
constexpr double most_moved = 0.9;  // of its length; beyond it there is no bound
template <class T> POISE_FN T bend_of(T share) { return T(0.5) * share * share / (T(1) - share); }

template <class T> POISE_LARGE_FN Interval<T> length(const IntervalPoint<T>& x) {
  const T size = norm(x.at), moved = norm(x.rate) + x.off;
  const mask_t<T> known = (moved <= T(most_moved) * size) & (size > T(0));
  const T inverse = T(1) / select(known, size, T(1)), bend = size * bend_of(select(known, moved * inverse, T(0)));
  return {size, select(known, dot(x.at, x.rate) * inverse, T(0)), select(known, x.off + bend, moved)};
}

// An IntervalPoint rotated about h. Its midpoint has been rotated; the rest of the rotation is `rate` t, with the error
// `off`. Rest and point together are z + (turn) h x z, and the remainder is at most half the square of the rotation
// times the part perpendicular to h.
template <class T> POISE_FN void turn_rest(const T* h, T rate, T off, IntervalPoint<T>& x) {
  T middle[3], slope[3];
  cross(h, x.at, middle);
  cross(h, x.rate, slope);
  const T far = norm(slope), whole = absolute(rate) + off;
  x.off += absolute(rate) * far + (off + T(0.5) * whole * whole) * (norm(middle) + far);
  for (int i = 0; i < 3; ++i) x.rate[i] += rate * middle[i];
}
template <class T>
POISE_LARGE_FN IntervalPoint<T> turned(const T* h, T sign, const IntervalKnown<T>& by, const IntervalPoint<T>& x) {
  IntervalPoint<T> out;
  turn_with(h, sign * by.sine, by.cosine, x.at, out.at);
  turn_with(h, sign * by.sine, by.cosine, x.rate, out.rate);
  out.off = x.off;
  turn_rest(h, sign * by.at.rate, by.at.off, out);
  return out;
}

// the first where the mask is set, otherwise the second
template <class M, class T>
POISE_FN IntervalKnown<T> choose(const M& first, const IntervalKnown<T>& a, const IntervalKnown<T>& b) {
  IntervalKnown<T> out;
  out.at = {select(first, a.at.at, b.at.at), select(first, a.at.rate, b.at.rate), select(first, a.at.off, b.at.off)};
  out.slack = select(first, a.slack, b.slack);
  out.smooth = (first & a.smooth) | ((!first) & b.smooth);
  out.sine = select(first, a.sine, b.sine);
  out.cosine = select(first, a.cosine, b.cosine);
  return out;
}

template <class T>
POISE_LARGE_FN IntervalPoint<T> asked_turn(const IntervalAsked<T>& asked, const IntervalPoint<T>& x) {
  IntervalPoint<T> out;
  rotate(asked.R, x.at, out.at);
  rotate(asked.R, x.rate, out.rate);
  out.off = x.off;
  if (!asked.slides) turn_rest(asked.h, asked.sway, T(0), out);
  return out;
}
template <class T>
POISE_LARGE_FN IntervalPoint<T> asked_turn_back(const IntervalAsked<T>& asked, const IntervalPoint<T>& x) {
  IntervalPoint<T> out = x;
  if (!asked.slides) turn_rest(asked.h, -asked.sway, T(0), out);
  rotate_back(asked.R, out.at, out.at);
  rotate_back(asked.R, out.rate, out.rate);
  return out;
}
template <class T>
POISE_LARGE_FN IntervalPoint<T> asked_place(const IntervalAsked<T>& asked, const IntervalPoint<T>& x) {
  IntervalPoint<T> out;
  rotate(asked.R, x.at, out.at);
  rotate(asked.R, x.rate, out.rate);
  out.off = x.off;
  for (int i = 0; i < 3; ++i) out.at[i] += asked.p[i];
  if (asked.slides) {
    for (int i = 0; i < 3; ++i) out.rate[i] += asked.sway * asked.h[i];
    return out;
  }
  out = away_from(out, asked.through);
  turn_rest(asked.h, asked.sway, T(0), out);
  return moved_by(out, asked.through);
}

}  // namespace poise
