// fixed_numbers.h: the numbers of a walk through a chain's branches while the free joint is fixed: plain numbers and points, or
// packs of them.
//
// branch_tree.h is written once, for two kinds of numbers: these, and those of interval_numbers.h that move with the free joint. A kind
// has Number and Point, Equation (a cos t + b sin t = c), Pair (its two answers), Answer (one, and its slack) and Span
// (the values of the free joint).
//
// Every lane of a pack is a separate query, and the walk continues while any lane does: the Span marks the excluded
// lanes.
#pragma once
#include "kernels/closed/subproblems.h"

namespace poise {

// the target of the chain's product, and its errors
template <class T> struct FamilyAsked {
  T R[9], p[3];
  T turn_error;      // of R [rad]
  T center_error;    // of A center [m]
  T distance_error;  // of the distance of A center from `meet`; at most center_error
};

template <class T> struct FixedPoint { T at[3]; };

template <class T> POISE_FN void difference_of(const T* a, const T* b, T* out) {
  for (int i = 0; i < 3; ++i) out[i] = a[i] - b[i];
}

// The excluded lanes. A plain number needs none: its walk ends.
template <class S, bool PACKED = (ScalarTraits<S>::lanes > 1)> struct FixedSpan {};
template <class S> struct FixedSpan<S, true> { mask_t<S> closed; };

template <class T> struct Fixed {
  using Real = T;
  using Plain = Fixed<T>;
  using Number = T;
  using Point = FixedPoint<T>;
  using Answer = Known<T>;
  using Pair = TwoTurns<T>;
  using Equation = Line<T>;
  using Asked = FamilyAsked<T>;
  using Span = FixedSpan<T>;
  static constexpr bool flows = false, chosen = false;
  static POISE_FN Number number(T x) { return x; }
  static POISE_FN Point point(const T* x) { return {{x[0], x[1], x[2]}}; }
};

// ---------------------------------------------------------------------------------------------- numbers and points

template <class T> POISE_FN T most(T x) { return absolute(x); }

template <class T> POISE_FN FixedPoint<T> away_from(const FixedPoint<T>& x, const T* p) {
  FixedPoint<T> out;
  difference_of(x.at, p, out.at);
  return out;
}
template <class T> POISE_FN FixedPoint<T> moved_by(const FixedPoint<T>& x, const T* p) {
  return {{x.at[0] + p[0], x.at[1] + p[1], x.at[2] + p[2]}};
}
// moved along h by the answer of a sliding joint
template <class T> POISE_FN FixedPoint<T> slid(const T* h, T sign, const Known<T>& by, const FixedPoint<T>& x) {
  FixedPoint<T> out;
  for (int i = 0; i < 3; ++i) out.at[i] = x.at[i] + sign * by.at * h[i];
  return out;
}
template <class T> POISE_FN FixedPoint<T> flat(const T* k, const FixedPoint<T>& x) {
  FixedPoint<T> out;
  across(k, x.at, out.at);
  return out;
}
template <class T> POISE_FN FixedPoint<T> crossed(const T* k, const FixedPoint<T>& x) {
  FixedPoint<T> out;
  cross(k, x.at, out.at);
  return out;
}
template <class T> POISE_FN T along(const T* h, const FixedPoint<T>& x) { return dot(h, x.at); }
template <class T> POISE_FN T product_of(const T* q, const FixedPoint<T>& x) { return dot(q, x.at); }
template <class T> POISE_FN T length(const FixedPoint<T>& x) { return norm(x.at); }
template <class T> POISE_FN T most_length(const FixedPoint<T>& x) { return norm(x.at); }

// x turned by t about h, with sine and cosine of t
template <class T> POISE_FN void turn_with(const T* h, T s, T c, const T* x, T* out) {
  T w[3];
  cross(h, x, w);
  const T rest = dot(h, x) * (T(1) - c);
  for (int i = 0; i < 3; ++i) out[i] = c * x[i] + s * w[i] + rest * h[i];
}
template <class T> POISE_FN FixedPoint<T> turned(const T* h, T sign, const Known<T>& by, const FixedPoint<T>& x) {
  FixedPoint<T> out;
  turn_with(h, sign * by.sine, by.cosine, x.at, out.at);
  return out;
}

// the target: the rotation, its inverse, and the position to which it moves a point
template <class T> POISE_FN FixedPoint<T> asked_turn(const FamilyAsked<T>& asked, const FixedPoint<T>& x) {
  FixedPoint<T> out;
  rotate(asked.R, x.at, out.at);
  return out;
}
template <class T> POISE_FN FixedPoint<T> asked_turn_back(const FamilyAsked<T>& asked, const FixedPoint<T>& x) {
  FixedPoint<T> out;
  rotate_back(asked.R, x.at, out.at);
  return out;
}
template <class T> POISE_FN FixedPoint<T> asked_place(const FamilyAsked<T>& asked, const FixedPoint<T>& x) {
  FixedPoint<T> out;
  rotate(asked.R, x.at, out.at);
  for (int i = 0; i < 3; ++i) out.at[i] += asked.p[i];
  return out;
}

// ---------------------------------------------------------------------------------------------- equations

template <class T> POISE_FN Line<T> height_of(const T* h, const T* k, const FixedPoint<T>& p, T d, T error) {
  return height_line(h, k, p.at, d, error);
}
template <class T> POISE_FN Line<T> distance_of(const T* k, const FixedPoint<T>& p, const T* q, T d, T error) {
  return distance_line(k, p.at, q, d, maximum(d - error, T(0)), d + error);
}
template <class T> POISE_FN TwoTurns<T> slides_of(const T* k, const FixedPoint<T>& x, T d, T error) {
  const T none[3] = {T(0), T(0), T(0)};
  return slide_to_distance(k, x.at, none, d, error);
}
template <class T>
POISE_FN Known<T> onto(const T* k, const FixedPoint<T>& p, const FixedPoint<T>& q, T p_error, T q_error) {
  return turn_onto(k, p.at, q.at, p_error, q_error);
}
template <class T> POISE_FN Known<T> slide_by(T height, T slope, T error) {
  return {height / slope, error / absolute(slope), T(0), T(1)};
}

// an answer that stays with its root of an equation is as certain as the equation
template <class T> POISE_FN void keep_root(const FixedSpan<T>&, const Line<T>& line, Known<T>& answer) {
  answer.slack = minimum(answer.slack, slack_of(line));
}
template <class T> POISE_FN T doubt_of(const Known<T>& answer) { return answer.slack; }

// The leg of a right triangle whose hypotenuse is `whole`, with an error of at most `lever`, and whose other leg is
// `height`; and the error of the result.
template <class T> POISE_FN T leg_of(const FixedPoint<T>& side, T height, T lever, T& off) {
  const T whole = length(side), low = maximum(whole - lever, T(0)), high = whole + lever;
  const T at = square_root(maximum(whole * whole - height * height, T(0)));
  off = maximum(square_root(maximum(high * high - height * height, T(0))) - at,
                at - square_root(maximum(low * low - height * height, T(0))));
  return at;
}

// the first where the mask is set, otherwise the second
template <class M, class A> POISE_FN A choose(const M& first, const A& a, const A& b) {
  if constexpr (requires { first ? a : b; }) {
    return first ? a : b;
  } else {
    return {select(first, a.at, b.at), select(first, a.slack, b.slack), select(first, a.sine, b.sine),
            select(first, a.cosine, b.cosine)};
  }
}

// excludes lanes that are not good; returns whether any are left
template <class S> POISE_FN bool keep_lanes(FixedSpan<S>& span, const mask_t<S>& good) {
  if constexpr (ScalarTraits<S>::lanes == 1) {
    return good;
  } else {
    span.closed = span.closed | !good;
    return any(!span.closed);
  }
}

// excludes lanes; returns whether any are left
template <class S> POISE_FN bool drop_lanes(FixedSpan<S>& span, const mask_t<S>& dropped) {
  return keep_lanes<S>(span, !dropped);
}

// whether a number with an error of at most `error` may be in [low, high]
template <class T> POISE_FN bool reaches(FixedSpan<T>& span, T x, T error, T low, T high) {
  return keep_lanes<T>(span, (x - error <= high) & (x + error >= low));
}
template <class T> POISE_FN bool admits(FixedSpan<T>& span, const Line<T>& line) {
  return keep_lanes<T>(span, line.found);
}
template <class T> POISE_FN bool admits(FixedSpan<T>& span, const TwoTurns<T>& two) {
  return keep_lanes<T>(span, two.found);
}

}  // namespace poise
