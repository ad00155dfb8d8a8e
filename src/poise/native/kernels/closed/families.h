// families.h: every branch of a chain of six joints whose axes allow a closed form, with bounds.
//
// The chain is a product of rotations and translations about its axes at zero, A = E1(v1) ... E6(v6). Two families:
//
//   WRIST: the last three axes are revolute and intersect in a point w. E1 E2 E3 w = A w is solved for the first
//   three, whose plans are below, then R4 R5 R6 for the rest. Pieper, "The kinematics of manipulators under computer
//   control", 1968.
//   PLANAR: axes 2, 3, 4 are revolute and parallel, 5 and 6 are revolute and intersect: the arms of Universal Robots.
//   Elias and Wen, "IK-Geo", 2022.
//
// A chain whose first three axes intersect is of the first family in reverse (E6^-1 ... E1^-1), and one with 3, 4, 5
// parallel of the second.
//
// The bounds. A is known within an angle and its `center` within a distance. Every step propagates its uncertainty to
// the next by the triangle inequality: a rotation about k with the error s moves a point by at most s times its
// distance from the axis, and the rotation by at most s. So each joint of each pose whose A is within these errors lies
// in at +- slack of some branch, or that branch's equation has no solution for any of them. A branch is dropped only if
// an equation has no solution, or if the whole interval at +- slack is outside the joint's range: if nothing is left,
// no pose exists. `room` is a margin for rounding: a hundred thousand times the loss of a few dozen operations in
// double.
//
// If a joint before or after the six moves, everything is known to second order (interval_cell.h): the same walk with other
// numbers.
#pragma once
#include "kernels/closed/wrist.h"

namespace poise {

// 2 and 3 are parallel: they preserve the height of a point along them, which determines the first joint
template <class K, class F>
POISE_FN bool walk_parallel_last(FamilyWalk<K>& walk, const typename K::Point& w_t, F&& visit) {
  using T = typename K::Real;
  const FamilyChain<T>& chain = walk.chain;
  const FamilyAxis<T>&one = chain.axes[0], &two = chain.axes[1];
  const T error = walk.asked.center_error;
  const T* h = two.h;
  const auto rest = [&](FamilyWalk<K>& w, const mask_t<T>&) {
    T d[3], side[3], moved, off;
    const auto x = w.move_by(0, T(-1), w_t, moved);
    typename K::Number at;
    if (one.slides) {
      at = length(flat(h, away_from(x, two.p)));
      across(h, one.h, side);
      off = error + w.leaf.turn[0].slack * norm(side);
    } else {
      // |x - p2| = |w_t - E1 p2|, and the height over p2 is that of the wrist: no error of the first rotation except
      // for p2's own distance
      difference_of(two.p, one.p, d);
      across(one.h, d, side);
      const T lever = w.leaf.turn[0].slack * norm(side) + error;
      difference_of(chain.center, two.p, d);
      at = leg_of(away_from(x, two.p), dot(h, d), lever, off);
    }
    return walk_parallel(w, 1, K::point(chain.center), x, T(0), error + moved, at, off,
                         [&](FamilyWalk<K>& inner) { return walk_wrist(inner, visit); });
  };
  const auto d = away_from(w_t, one.p);
  T e[3];
  difference_of(chain.center, one.p, e);
  const T back[3] = {-one.h[0], -one.h[1], -one.h[2]};
  if (!one.slides) return walk_both(walk, 0, turns_of(height_of(h, back, d, dot(h, e), error)), rest);
  return walk_one(walk, 0, slide_by(along(h, d) - dot(h, e), dot(one.h, h), error), rest);
}

// 1 and 2 are parallel: the height along them determines the third joint
template <class K, class F>
POISE_FN bool walk_parallel_first(FamilyWalk<K>& walk, const typename K::Point& w_t, F&& visit) {
  using T = typename K::Real;
  const FamilyChain<T>& chain = walk.chain;
  const FamilyAxis<T>&one = chain.axes[0], &three = chain.axes[2];
  const T error = walk.asked.center_error;
  const auto rest = [&](FamilyWalk<K>& w, const mask_t<T>&) {
    T moved;
    const auto y = w.move_by(2, T(1), K::point(chain.center), moved);
    return walk_parallel(w, 0, y, w_t, moved, error, length(flat(one.h, away_from(w_t, one.p))), error,
                         [&](FamilyWalk<K>& inner) { return walk_wrist(inner, visit); });
  };
  const auto height = along(one.h, away_from(w_t, three.p));
  T e[3];
  difference_of(chain.center, three.p, e);
  if (!three.slides) return walk_both(walk, 2, turns_of(height_of(one.h, three.h, K::point(e), height, error)), rest);
  return walk_one(walk, 2, slide_by(height - dot(one.h, e), dot(three.h, one.h), error), rest);
}

// 1 and 2 intersect: the distance from the intersection determines the third joint
template <class K, class F>
POISE_FN bool walk_meet_first(FamilyWalk<K>& walk, const typename K::Point& w_t, F&& visit) {
  using T = typename K::Real;
  const FamilyChain<T>& chain = walk.chain;
  const FamilyAxis<T>& three = chain.axes[2];
  T d[3], e[3];
  const auto distance = length(away_from(w_t, chain.meet));
  const T error = walk.asked.distance_error;
  const auto rest = [&](FamilyWalk<K>& w, const mask_t<T>&) {
    T moved;
    const auto y = w.move_by(2, T(1), K::point(chain.center), moved);
    return walk_pair(w, 0, y, w_t, moved, w.asked.center_error, visit);
  };
  difference_of(chain.center, three.slides ? chain.meet : three.p, d);
  if (three.slides) return walk_both(walk, 2, slides_of(three.h, K::point(d), distance, error), rest);
  difference_of(chain.meet, three.p, e);
  return walk_both(walk, 2, turns_of(distance_of(three.h, K::point(d), e, distance, error)), rest);
}

// 2 and 3 intersect: the distance from the intersection determines the first joint
template <class K, class F> POISE_FN bool walk_meet_last(FamilyWalk<K>& walk, const typename K::Point& w_t, F&& visit) {
  using T = typename K::Real;
  const FamilyChain<T>& chain = walk.chain;
  const FamilyAxis<T>& one = chain.axes[0];
  T d[3];
  difference_of(chain.center, chain.meet, d);
  const T distance = norm(d), error = walk.asked.center_error;
  const auto rest = [&](FamilyWalk<K>& w, const mask_t<T>&) {
    T moved;
    const auto x = w.move_by(0, T(-1), w_t, moved);
    return walk_pair(w, 1, K::point(chain.center), x, T(0), error + moved, visit);
  };
  // the same distance with the joint's motion inverted: the target moves, and `meet` does not
  const T back[3] = {-one.h[0], -one.h[1], -one.h[2]};
  if (one.slides) return walk_both(walk, 0, slides_of(back, away_from(w_t, chain.meet), distance, error), rest);
  difference_of(chain.meet, one.p, d);
  return walk_both(walk, 0, turns_of(distance_of(back, away_from(w_t, one.p), d, distance, error)), rest);
}

// three translations: a linear system
template <class K, class F> POISE_FN bool walk_gantry(FamilyWalk<K>& walk, const typename K::Point& w_t, F&& visit) {
  using T = typename K::Real;
  const FamilyChain<T>& chain = walk.chain;
  const auto d = away_from(w_t, chain.center);
  bool inside = true;
  for (int j = 0; j < 3 && inside; ++j) {
    T n[3];  // the row of the inverse: perpendicular to the other two
    cross(chain.axes[(j + 1) % 3].h, chain.axes[(j + 2) % 3].h, n);
    inside = walk.put(j, slide_by(product_of(n, d), dot(n, chain.axes[j].h), walk.asked.center_error * norm(n)));
  }
  return inside && walk_wrist(walk, visit);
}

// The fourth joint of the planar family, the remaining rotation about the parallel axes: R4 = (R2 R3)^T R1^T R R6^T
// R5^T.
template <class K> POISE_FN bool put_fourth(FamilyWalk<K>& walk) {
  using T = typename K::Real;
  const T* h = walk.chain.axes[3].h;
  // any vector perpendicular to h: the unit vector least along it, made perpendicular
  const T x = absolute(h[0]), y = absolute(h[1]), z = absolute(h[2]);
  const T one = T(1), none = T(0);
  const T pick[3] = {select((x <= y) & (x <= z), one, none), select((y < x) & (y <= z), one, none),
                     select((z < x) & (z < y), one, none)};
  T from[3];
  across(h, pick, from);
  auto to = walk.turn_by(5, T(-1), walk.turn_by(4, T(-1), K::point(from)));
  to = asked_turn(walk.asked, to);
  for (int j = 0; j < 3; ++j) to = walk.turn_by(j, T(-1), to);
  T error = walk.asked.turn_error + T(family_room);
  for (int j = 0; j < 6; ++j) error += j == 3 ? T(0) : walk.rotation_slack(j);
  return walk.put(3, onto(h, K::point(from), to, T(0), error * norm(from)));
}

// 2, 3 and 4 are parallel and 5 and 6 intersect: the height of the intersection determines the first joint, the axis 5
// and 6
template <class K, class F> POISE_FN bool walk_planar(FamilyWalk<K>& walk, const typename K::Point& c_t, F&& visit) {
  using T = typename K::Real;
  const FamilyChain<T>& chain = walk.chain;
  const FamilyAxis<T>&one = chain.axes[0], &four = chain.axes[3], &five = chain.axes[4], &six = chain.axes[5];
  const auto& asked = walk.asked;
  const T* h = four.h;
  const auto position = [&](FamilyWalk<K>& w) {
    T moved, error = asked.center_error;
    auto x = w.move_by(4, T(-1), K::point(four.p), moved);
    error += moved;
    x = w.move_by(5, T(-1), x, moved);
    error += moved + (asked.turn_error + T(family_room)) * most_length(away_from(x, chain.center));
    x = w.move_by(0, T(-1), asked_place(asked, x), moved);
    error += moved;
    return walk_parallel(w, 1, K::point(four.p), x, T(0), error, length(flat(h, away_from(x, chain.axes[1].p))), error,
                         [&](FamilyWalk<K>& inner) { return put_fourth(inner) && visit(inner.leaf); });
  };
  const auto rest = [&](FamilyWalk<K>& w, const mask_t<T>&) {
    const auto y = asked_turn_back(asked, w.turn_by(0, T(1), K::point(h)));
    const T error = asked.turn_error + w.rotation_slack(0) + T(family_room),
            back[3] = {-five.h[0], -five.h[1], -five.h[2]};
    const auto fifth = turns_of(height_of(six.h, back, K::point(h), along(six.h, y), error));
    const auto sixth = height_of(five.h, six.h, y, dot(five.h, h), error);
    if (!admits(w.leaf.span, sixth)) return false;
    T side[3];
    across(five.h, h, side);
    return walk_both(w, 4, fifth, [&](FamilyWalk<K>& inner, const mask_t<T>& alone) {
      inner.leaf.certain = inner.leaf.certain & sixth.certain;
      auto last = onto(six.h, y, inner.turn_by(4, T(-1), K::point(h)), error, inner.leaf.turn[4].slack * norm(side));
      keep_root_where<K>(alone & sixth.certain, inner.leaf.span, sixth, last);
      return inner.put(5, last) && position(inner);
    });
  };
  const auto d = away_from(c_t, one.p);
  T e[3];
  difference_of(chain.center, one.p, e);
  const T back[3] = {-one.h[0], -one.h[1], -one.h[2]};
  if (!one.slides) return walk_both(walk, 0, turns_of(height_of(h, back, d, dot(h, e), asked.center_error)), rest);
  return walk_one(walk, 0, slide_by(along(h, d) - dot(h, e), dot(one.h, h), asked.center_error), rest);
}

constexpr unsigned all_branches = 0xffu;

// Calls visit(leaf) for every remaining branch of a walk, at most 8, until it returns true; returns whether it did.
template <class K, class F> POISE_LARGE_FN bool walk_plan_with(FamilyWalk<K>& walk, const F& visit) {
  using T = typename K::Real;
  const FamilyChain<T>& chain = walk.chain;
  walk.leaf.branch = 0;
  walk.leaf.certain = T(0) <= T(0);
  const auto at = asked_place(walk.asked, K::point(chain.center));
  if constexpr (may_have_plan(PLAN_PARALLEL_LAST)) {
    if (chain.plan == PLAN_PARALLEL_LAST) return walk_parallel_last(walk, at, visit);
  }
  if constexpr (may_have_plan(PLAN_MEET_FIRST)) {
    if (chain.plan == PLAN_MEET_FIRST) return walk_meet_first(walk, at, visit);
  }
  if constexpr (may_have_plan(PLAN_MEET_LAST)) {
    if (chain.plan == PLAN_MEET_LAST) return walk_meet_last(walk, at, visit);
  }
  if constexpr (may_have_plan(PLAN_PARALLEL_FIRST)) {
    if (chain.plan == PLAN_PARALLEL_FIRST) return walk_parallel_first(walk, at, visit);
  }
  if constexpr (may_have_plan(PLAN_GANTRY)) {
    if (chain.plan == PLAN_GANTRY) return walk_gantry(walk, at, visit);
  }
  if constexpr (may_have_plan(PLAN_PLANAR)) {
    if (chain.plan == PLAN_PLANAR) return walk_planar(walk, at, visit);
  }
  return true;  // undetermined, so nothing is excluded
}

// The same through a reference to `visit` on the CPU, where a call is cheap compared with a branch; on the device it
// would not be.
template <class K, class F> POISE_FN bool walk_plan(FamilyWalk<K>& walk, F& visit) {
  if constexpr (on_device) {
    return walk_plan_with(walk, visit);
  } else {
    return walk_plan_with(walk, refer_to<FamilyLeaf<typename K::Real, typename K::Plain>>(visit));
  }
}

// Calls visit(leaf) for every branch of `wanted` that is not excluded, until it returns true; returns whether it did.
template <class T, class F> POISE_LARGE_FN bool walk_branches(const FamilyChain<T>& chain, const FamilyAsked<T>& asked,
                                                              int cuts, unsigned wanted, F&& visit) {
  FamilyWalk<Fixed<T>> walk{chain, asked, cuts, wanted, choices_of(chain), {}, {}};
  return walk_plan(walk, visit);
}

// Calls visit(leaf) for the branches of `sides`, one per lane, unless all are excluded.
template <class T, class F> POISE_LARGE_FN void walk_chosen(const FamilyChain<T>& chain, const FamilyAsked<T>& asked,
                                                            const BranchSides<T, true>& sides, F&& visit) {
  FamilyWalk<Chosen<Fixed<T>>> walk{chain, asked, 1, all_branches, choices_of(chain), {}, sides};
  walk_plan(walk, visit);
}

}  // namespace poise
