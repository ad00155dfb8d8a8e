// interval_turns.h: the subproblems of a chain whose free joint moves, in the numbers of interval_numbers.h, and the parts of a cell in
// which their answers are inside the ranges.
#pragma once
#include "kernels/closed/interval_numbers.h"

namespace poise {

// ---------------------------------------------------------------------------------------------- equations

// a and b are sums of products as large as `scale`: below this part of it rounding determines the direction.
constexpr double shortest = 1e-7;

template <class T> POISE_FN T sum_of(const T* x) { return absolute(x[0]) + absolute(x[1]) + absolute(x[2]); }

template <class T> POISE_LARGE_FN IntervalEquation<T> equation_of(const Interval<T>& a, const Interval<T>& b,
                                                                  const Interval<T>& c, T under, T over, T scale) {
  IntervalEquation<T> out;
  const T size = square_root(a.at * a.at + b.at * b.at), off = a.off + b.off;
  const T moved = square_root(a.rate * a.rate + b.rate * b.rate) + off;
  const mask_t<T> lost = (moved > T(most_moved) * size) | !(size > T(shortest) * scale);
  const mask_t<T> none = size <= T(tiny_length<T>());
  const T inverse = T(1) / select(none, T(1), size), last = T(1) / select(lost, T(1), size - moved);
  const T bend = bend_of(select(lost, T(0), moved * inverse));
  const T grows = (a.at * a.rate + b.at * b.rate) * inverse, grows_off = off + size * bend;
  const T x = c.at * inverse, slope = (c.rate - x * grows) * inverse;
  const T rest = (c.off + absolute(slope * grows) + (absolute(x) + absolute(slope)) * grows_off) * last;
  out.a = select(none, T(1), a.at * inverse);
  out.b = select(none, T(0), b.at * inverse);
  out.rate = select(lost, T(0), (a.at * b.rate - b.at * a.rate) * inverse * inverse);
  out.off = select(lost, T(one_pi), off * inverse + bend);
  out.cosine = {select(lost, T(0), x), select(lost, T(0), slope), select(lost, T(9), rest)};
  out.under = select(lost, T(9), under * last);
  out.over = select(lost, T(9), over * last);
  out.lost = lost;
  const T whole = absolute(slope) + rest;
  out.certain = (!lost) & (x - whole - out.under >= T(-1)) & (x + whole + out.over <= T(1));
  return out;
}

template <class T> POISE_FN IntervalExists<T> exists_of(const IntervalEquation<T>& line) {
  return {line.cosine.at, line.cosine.rate, line.cosine.off + line.under, line.cosine.off + line.over};
}

// The rate and the error of the arc cosine of a line, with an additional error of at most `slack`. Near -1 and 1 only
// its bounds are set, as for a constant line.
template <class T> POISE_LARGE_FN Interval<T> arc_of(const IntervalEquation<T>& line, T& slack, mask_t<T>& smooth) {
  const Interval<T>& x = line.cosine;
  const T low = x.at - absolute(x.rate) - x.off - line.under, high = x.at + absolute(x.rate) + x.off + line.over;
  const T farthest = maximum(high, -low);
  const mask_t<T> inside = (farthest < T(1)) & (!line.lost);
  const T k = T(1) / square_root(select(inside, (T(1) - farthest) * (T(1) + farthest), T(1)));
  const T rate = T(0) - x.rate / square_root(select(inside, (T(1) - x.at) * (T(1) + x.at), T(1)));
  const T off = x.off * k + T(0.5) * x.rate * x.rate * farthest * k * k * k;
  slack = maximum(line.under, line.over) * k;
  smooth = inside & (off <= absolute(rate));
  if (!any(!smooth)) return {T(0), rate, off};
  const Spread<T> spread = spread_of_cosine(x.at, low, high);
  const T bound = select(line.lost, T(one_pi), minimum(maximum(spread.below, spread.above), T(one_pi)));
  smooth = smooth | (inside & (absolute(rate) + off + slack <= bound));
  slack = select(smooth, slack, bound);
  return {T(0), select(smooth, rate, T(0)), select(smooth, off, T(0))};
}

template <class T> POISE_LARGE_FN IntervalPair<T> turns_of(const IntervalEquation<T>& line) {
  T slack;
  mask_t<T> smooth;
  Interval<T> half = arc_of(line, slack, smooth);
  const Interval<T> middle{arc_tangent(line.b, line.a), line.rate, line.off};
  const T cosine = minimum(maximum(line.cosine.at, T(-1)), T(1));
  const T sine = square_root((T(1) - cosine) * (T(1) + cosine));
  half.at = positive_atan2_of(sine, cosine);
  IntervalPair<T> out{{{middle - half, slack, smooth, T(0), T(1)}, {middle + half, slack, smooth, T(0), T(1)}},
                      exists_of(line),
                      line.certain};
  set_sides(out.turn, line.b, line.a, sine, cosine);
  return out;
}

template <class T> POISE_FN IntervalEquation<T> height_of(const T* h, const T* k, const IntervalPoint<T>& p,
                                                          const Interval<T>& d, T error) {
  const Interval<T> rest = dot(h, k) * along(k, p);
  return equation_of(along(h, p) - rest, along(h, crossed(k, p)), d - rest, error, error, sum_of(p.at));
}
template <class T>
POISE_FN IntervalEquation<T> height_of(const T* h, const T* k, const IntervalPoint<T>& p, T d, T error) {
  return height_of(h, k, p, Flowing<T>::number(d), error);
}
// If a distance is much smaller than its vectors, its square loses more by rounding than its own error: this part of
// theirs is added.
constexpr double lost_part = 1e-14;

template <class T> POISE_LARGE_FN IntervalEquation<T> distance_of(const T* k, const IntervalPoint<T>& p, const T* q,
                                                                  const Interval<T>& d, T error) {
  const Interval<T> rest = dot(q, k) * along(k, p), sum = square_length(p) - square_of(d) + dot(q, q);
  const T far = most(d), size = most(square_length(p)) + dot(q, q);
  const T under = error * (far + T(0.5) * error) + T(lost_part) * size;
  return equation_of(product_of(q, p) - rest, product_of(q, crossed(k, p)), T(0.5) * sum - rest, under, under,
                     sum_of(p.at) * sum_of(q));
}
template <class T>
POISE_FN IntervalEquation<T> distance_of(const T* k, const IntervalPoint<T>& p, const T* q, T d, T error) {
  return distance_of(k, p, q, Flowing<T>::number(d), error);
}

// The slides along k that bring x to the distance d from the origin, with an error of at most `error`.
template <class T>
POISE_LARGE_FN IntervalPair<T> slides_of(const T* k, const IntervalPoint<T>& x, const Interval<T>& d, T error) {
  const Interval<T> q = square_of(d) - square_length(flat(k, x)), middle = T(-1) * along(k, x);
  const T far = most(d), wide = error * (T(2) * far + error) + T(lost_part) * (far * far + dot(x.at, x.at));
  T slack;
  mask_t<T> smooth;
  const Interval<T> half = root_of(q, wide, slack, smooth);
  const T whole = far * far + dot(x.at, x.at), scale = T(1) / maximum(whole, T(tiny_length<T>())),
          off = (q.off + wide) * scale;
  return {{{middle - half, slack, smooth, T(0), T(1)}, {middle + half, slack, smooth, T(0), T(1)}},
          {T(1) - q.at * scale, -q.rate * scale, off, off},
          q.at - absolute(q.rate) - q.off - wide >= T(0)};
}
template <class T> POISE_FN IntervalPair<T> slides_of(const T* k, const IntervalPoint<T>& x, T d, T error) {
  return slides_of(k, x, Flowing<T>::number(d), error);
}
template <class T> POISE_FN IntervalKnown<T> slide_by(const Interval<T>& height, T slope, T error) {
  return {T(1) / slope * height, error / absolute(slope), T(0) <= T(0), T(0), T(1)};
}

template <class T> POISE_FN Interval<T> leg_of(const IntervalPoint<T>& side, T height, T lever, T& off) {
  mask_t<T> smooth;
  const T far = most_length(side), error = lever * (T(2) * far + lever) + T(lost_part) * far * far;
  return root_of(square_length(side) - height * height, error, off, smooth);
}

// ---------------------------------------------------------------------------------------------- one vector onto another

// the rate at which the direction of a vector perpendicular to k rotates about k
template <class T> struct IntervalDirection {
  T rate, off, least;
  mask_t<T> lost;
};
template <class T> POISE_FN IntervalDirection<T> direction_of(const T* k, const IntervalPoint<T>& a) {
  const T size = norm(a.at), moved = norm(a.rate) + a.off;
  const mask_t<T> lost = (moved > T(most_moved) * size) | !(size > T(0));
  T n[3];
  cross(a.at, a.rate, n);
  const T inverse = T(1) / select(lost, T(1), size), bend = bend_of(select(lost, T(0), moved * inverse));
  return {dot(k, n) * inverse * inverse, a.off * inverse + bend, select(lost, T(0), size - moved), lost};
}

template <class T> POISE_LARGE_FN IntervalKnown<T> onto(const T* k, const IntervalPoint<T>& p,
                                                        const IntervalPoint<T>& q, T p_error, T q_error) {
  const IntervalPoint<T> a = flat(k, p), b = flat(k, q);
  const IntervalDirection<T> from = direction_of(k, a), to = direction_of(k, b);
  T n[3];
  cross(a.at, b.at, n);
  const mask_t<T> lost = from.lost | to.lost;
  const T slack = select(lost, T(one_pi), swing_of(p_error, from.least) + swing_of(q_error, to.least));
  const Known<T> turn = angle_of(dot(k, n), dot(a.at, b.at), T(0));
  const Interval<T> at{turn.at, select(lost, T(0), to.rate - from.rate), select(lost, T(0), from.off + to.off)};
  return {at, minimum(slack, T(one_pi)), !lost, turn.sine, turn.cosine};
}

// Both are the same number, so their first-order remainders are equal too, and a bound of one bounds the other.
template <class T>
POISE_LARGE_FN void keep_root(const IntervalSpan<T>& span, const IntervalEquation<T>& line, IntervalKnown<T>& answer) {
  T slack;
  mask_t<T> smooth;
  mask_t<T> known = span.smooth & answer.smooth;
  if (!any(known)) return;
  const Interval<T> arc = arc_of(line, slack, smooth);
  known = known & smooth;
  answer.at.off = select(known, minimum(answer.at.off, line.off + arc.off), answer.at.off);
  answer.slack = select(known, minimum(answer.slack, slack), answer.slack);
}
template <class T> POISE_FN T doubt_of(const IntervalKnown<T>& answer) { return answer.at.off + answer.slack; }

// ---------------------------------------------------------------------------------------------- parts of the cell

// keeps the part of low to high in which a + b t is not positive
template <class T> POISE_FN void keep_below(T a, T b, T& low, T& high) {
  const mask_t<T> cut = !(a + absolute(b) <= T(0)), none = !(a - absolute(b) <= T(0)), up = b > T(0);
  if (!any(cut)) return;
  const mask_t<T> some = cut & !none;
  const T at = (T(0) - a) / select(some, b, T(1));
  high = select(none, T(-2), select(some & up, minimum(high, at), high));
  low = select(none, T(2), select(some & !up, maximum(low, at), low));
}

template <class T> POISE_FN bool drop_lanes(IntervalSpan<T>& span, const mask_t<T>& dropped) {
  span.low = select(dropped, T(2), span.low);
  return any(span.low <= span.high);
}

// shortens a span to the part in which a number with an error of at most `error` may be in [low, high]; false if it is
// empty
template <class T> POISE_FN bool reaches(IntervalSpan<T>& span, const Interval<T>& x, T error, T low, T high) {
  const T off = x.off + error;
  keep_below(x.at - off - high, x.rate, span.low, span.high);
  keep_below(low - x.at - off, -x.rate, span.low, span.high);
  return any(span.low <= span.high);
}

// shortens a span to the part in which an equation has solutions; false if it is empty
template <class T> POISE_LARGE_FN bool admits(IntervalSpan<T>& span, const IntervalExists<T>& x) {
  keep_below(x.at - x.under - T(1), x.rate, span.low, span.high);
  keep_below(-x.at - x.over - T(1), -x.rate, span.low, span.high);
  keep_below(x.at + x.over - T(1), x.rate, span.from, span.to);
  keep_below(-x.at + x.under - T(1), -x.rate, span.from, span.to);
  return any(span.low <= span.high);
}
template <class T> POISE_FN bool admits(IntervalSpan<T>& span, const IntervalEquation<T>& line) {
  return admits(span, exists_of(line));
}
template <class T> POISE_FN bool admits(IntervalSpan<T>& span, const IntervalPair<T>& two) {
  return admits(span, two.exists);
}

}  // namespace poise
