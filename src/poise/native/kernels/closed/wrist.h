// wrist.h: parts of the plans of families.h: the wrist's last three joints, two rotations about intersecting axes, two
// about parallel ones.
#pragma once
#include "kernels/closed/branch_tree.h"

namespace poise {

// The error of h4 . R36 h6. To first order a rotation of joint j by d changes it by d k_j . (h4 x forth), k_j its axis
// relative to the fourth; the remainder is at most half the square of all rotations together. If h4 and R36 h6 are
// nearly collinear this is much less than the sum of the rotations, and less than the rounding of the product itself,
// which has its own margin.
template <class K> POISE_FN typename K::Real height_error(const FamilyWalk<K>& walk, const typename K::Point& forth,
                                                          typename K::Real sum) {
  using T = typename K::Real;
  typename K::Point n = crossed(walk.chain.axes[3].h, forth);
  T first = (walk.asked.turn_error + T(family_room)) * most_length(n);
  for (int j = 2; j >= 0; --j) {
    const T slack = walk.rotation_slack(j);
    if constexpr (K::flows) {
      if (!any(first < sum)) return sum;
    }
    first += slack * most(along(walk.chain.axes[j].h, n));
    if (j > 0) n = walk.turn_by(j, T(1), n);
  }
  return minimum(sum, first + T(0.5) * sum * sum) + T(product_room);
}

// the last three joints of the wrist, once the first three are known: R4 R5 R6 = (R1 R2 R3)^T R
template <class K, class F> POISE_LARGE_FN bool walk_wrist(FamilyWalk<K>& walk, F&& visit) {
  using T = typename K::Real;
  using Point = typename K::Point;
  const FamilyChain<T>& chain = walk.chain;
  const T *h4 = chain.axes[3].h, *h5 = chain.axes[4].h, *h6 = chain.axes[5].h;
  Point forth = asked_turn(walk.asked, K::point(h6)), back = K::point(h4);  // R36 h6 and R36^T h4
  for (int j = 0; j < 3; ++j) forth = walk.turn_by(j, T(-1), forth);
  const T error =
      walk.asked.turn_error + walk.rotation_slack(0) + walk.rotation_slack(1) + walk.rotation_slack(2) + T(family_room);
  // most branches end here: no angle of the fifth joint inside its range gives such a height, which takes no angle
  const auto height = along(h4, forth);
  if (chain.prune && !reaches(walk.leaf.span, height, error, chain.lowest, chain.highest)) return false;
  const T off = height_error(walk, forth, error);
  if (chain.prune && !reaches(walk.leaf.span, height, off, chain.lowest, chain.highest)) return false;
  for (int j = 2; j >= 0; --j) back = walk.turn_by(j, T(1), back);
  back = asked_turn_back(walk.asked, back);
  const auto fifth = height_of(h4, h5, K::point(h6), height, off);
  if (!admits(walk.leaf.span, fifth)) return false;
  const T away[3] = {-h4[0], -h4[1], -h4[2]};
  const auto fourth = height_of(h5, away, forth, dot(h5, h6), error);
  if (!admits(walk.leaf.span, fourth)) return false;
  const auto sixth = height_of(h5, h6, back, dot(h5, h4), error);
  if (!admits(walk.leaf.span, sixth)) return false;
  T near[3], far[3];  // distances of h6 and h4 from the fifth axis
  across(h5, h6, near);
  across(h5, h4, far);
  return walk_both(walk, 4, turns_of(fifth), [&](FamilyWalk<K>& w, const mask_t<T>& alone) {
    const Point bent = w.turn_by(4, T(1), K::point(h6)), unbent = w.turn_by(4, T(-1), K::point(h4));
    const T slack = w.leaf.turn[4].slack;
    const mask_t<T> apart = alone & fourth.certain & sixth.certain;
    w.leaf.certain = w.leaf.certain & apart;
    auto four = onto(h4, bent, forth, slack * norm(near), error);
    keep_root_where<K>(apart, w.leaf.span, fourth, four);  // each answer stays with its root
    if (!w.put(3, four)) return false;
    auto six = onto(h6, back, unbent, error, slack * norm(far));
    keep_root_where<K>(apart, w.leaf.span, sixth, six);
    return w.put(5, six) && visit(w.leaf);
  });
}

// Two rotations about axes through `meet` that bring the point `from` to `to`, then the wrist. Both rotations have
// their own equations (subproblems.h); the one of the first is used if its bound is tighter and the answers of both
// stay apart.
template <class K, class F> POISE_LARGE_FN bool walk_pair(FamilyWalk<K>& walk, int first, const typename K::Point& from,
                                                          const typename K::Point& to, typename K::Real from_error,
                                                          typename K::Real to_error, F&& visit) {
  using T = typename K::Real;
  const FamilyChain<T>& chain = walk.chain;
  const auto p = away_from(from, chain.meet), q = away_from(to, chain.meet);
  const T *k1 = chain.axes[first].h, *k2 = chain.axes[first + 1].h, back[3] = {-k1[0], -k1[1], -k1[2]};
  const T error = from_error + to_error;
  const auto second = height_of(k1, k2, p, along(k1, q), error);
  const auto direct = height_of(k2, back, q, along(k2, p), error);
  if (!admits(walk.leaf.span, second) || !admits(walk.leaf.span, direct)) return false;
  const mask_t<T> apart = second.certain & direct.certain;
  const auto two = turns_of(second), own = any(apart) ? turns_of(direct) : two;
  return walk_both(walk, first + 1, two, [&](FamilyWalk<K>& w, const mask_t<T>&) {
    w.leaf.certain = w.leaf.certain & direct.certain;
    const T swept = w.leaf.turn[first + 1].slack * most_length(flat(k2, p));
    auto turn = onto(k1, w.turn_by(first + 1, T(1), p), q, from_error + swept, to_error);
    const auto other = w.answer_of(own);
    turn = choose(apart & (doubt_of(other) < doubt_of(turn)), other, turn);
    return w.put(first, turn) && walk_wrist(w, visit);
  });
}

// Two rotations about parallel axes `first` and `first + 1` that bring the point `from` to `to`, followed by `next`.
// The distance of `to` from the first axis is `at`, with an error of at most `error`.
template <class K, class F> POISE_FN bool walk_parallel(FamilyWalk<K>& walk, int first, const typename K::Point& from,
                                                        const typename K::Point& to, typename K::Real from_error,
                                                        typename K::Real to_error, const typename K::Number& at,
                                                        typename K::Real error, F&& next) {
  using T = typename K::Real;
  const FamilyAxis<T>&one = walk.chain.axes[first], &two = walk.chain.axes[first + 1];
  T q[3], d[3];
  difference_of(one.p, two.p, d);
  across(two.h, d, q);
  const auto bends = turns_of(distance_of(two.h, flat(two.h, away_from(from, two.p)), q, at, error + from_error));
  return walk_both(walk, first + 1, bends, [&](FamilyWalk<K>& w, const mask_t<T>&) {
    T moved;
    const auto y = w.move_by(first + 1, T(1), from, moved);
    return w.put(first, onto(one.h, away_from(y, one.p), away_from(to, one.p), from_error + moved, to_error)) &&
           next(w);
  });
}

}  // namespace poise
