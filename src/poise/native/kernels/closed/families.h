// families.h: every branch of a chain of six joints whose axes stand in a way that has a closed form, with bounds.
//
// The chain is a product of turns and slides about axes as they stand at zero, A = E1(v1) ... E6(v6). Two families:
//
//   WRIST: the last three axes turn and meet in a point w. E1 E2 E3 w = A w is solved for the first three, whose plans are below, then
//   R4 R5 R6 for the rest. Pieper, "The kinematics of manipulators under computer control", 1968.
//   PLANAR: axes 2, 3, 4 turn and are parallel, 5 and 6 turn and meet: the arms of Universal Robots. Elias and Wen, "IK-Geo", 2022.
//
// A chain whose first three axes meet is of the first family read backwards (E6^-1 ... E1^-1); so is 3, 4, 5 parallel of the second.
//
// The bounds. A is known within an angle and its `center` within a distance. Every step passes what it does not know on to the next, by
// the triangle inequality: a turn about k that is off by s moves a point by at most s times its distance from the axis, and the rotation
// by at most s. So each joint of each pose whose A is within those errors lies in at +- slack of some branch, or that branch's
// equation has no answer for any of them. A branch is dropped only where an equation has none, or where a whole at +- slack is outside
// the joint's range: where nothing is left, no pose exists. `room` stands for rounding: a hundred thousand times what a few dozen
// operations in double can lose.
#pragma once
#include "kernels/closed/subproblems.h"

namespace poise {

enum FamilyPlan : int {
  PLAN_PARALLEL_LAST,   // wrist; 2 and 3 are parallel
  PLAN_MEET_FIRST,      // wrist; 1 and 2 meet
  PLAN_MEET_LAST,       // wrist; 2 and 3 meet
  PLAN_PARALLEL_FIRST,  // wrist; 1 and 2 are parallel
  PLAN_GANTRY,          // wrist; 1, 2 and 3 slide
  PLAN_PLANAR,          // 2, 3 and 4 are parallel, 5 and 6 meet
};

template <class T> struct FamilyAxis {
  T h[3], p[3];    // unit direction, a point on it
  T middle, half;  // of the range
  int slides;
};

template <class T> struct FamilyChain {
  FamilyAxis<T> axes[6];
  T center[3];      // where the last three meet, or the last two
  T meet[3];        // where two of the first three meet
  int plan, prune;  // prune: drop branches that are outside the ranges
  T length;         // of the chain, for rounding
};

// what the chain's product shall be, and how well it is known
template <class T> struct FamilyAsked {
  T R[9], p[3];
  T turn_error;      // of R [rad]
  T center_error;    // of A center [m]
  T distance_error;  // of the distance of A center from `meet`; at most center_error
};

template <class T> struct FamilyLeaf {
  Known<T> turn[6];
  T sine[6], cosine[6];
  int branch;
  bool certain;  // it exists for everything within the errors
};

constexpr double family_room = 1e-11;

// how far a value is from the middle of its range, whole turns aside
template <class T> POISE_FN T turns_off(const FamilyAxis<T>& axis, T value) {
  const T off = value - axis.middle;
  if (axis.slides) return off;
  const T turns = off * T(0.5 / one_pi);
  return off - T(2 * one_pi) * ((turns + TrigTable<T>::round_shift) - TrigTable<T>::round_shift);
}

// how far the joint is outside its range whatever the turn within its slack [rad or m]; not positive: it may be inside
template <class T> POISE_FN T excess_of_range(const FamilyAxis<T>& axis, const Known<T>& turn) {
  return absolute(turns_off(axis, turn.at)) - axis.half - turn.slack - T(family_room);
}

// whether it is inside for every turn within the slack
template <class T> POISE_FN bool surely_inside(const FamilyAxis<T>& axis, const Known<T>& turn) {
  return excess_of_range(axis, Known<T>{turn.at, T(0)}) + turn.slack + T(4 * family_room) <= T(0) ||
         (!axis.slides && axis.half >= T(one_pi));
}

template <class T> struct FamilyWalk {
  const FamilyChain<T>& chain;
  const FamilyAsked<T>& asked;
  int cuts;         // pieces into which an answer that is hardly known is cut
  unsigned wanted;  // the branches that are asked for, a bit each
  int choices;      // between two answers that are still to come
  FamilyLeaf<T> leaf;

  // notes a joint; false if it is outside its range
  POISE_FN bool put(int joint, const Known<T>& turn) {
    if (!chain.axes[joint].slides) sine_cosine_of(turn.at, leaf.sine[joint], leaf.cosine[joint]);
    return put_last(joint, turn);
  }

  // the same of a joint that nothing else depends on
  POISE_FN bool put_last(int joint, const Known<T>& turn) {
    leaf.turn[joint] = turn;
    return !chain.prune || !(excess_of_range(chain.axes[joint], turn) > T(0));
  }

  // whether a branch that is asked for begins with this number, which has all choices but those that are still to come
  POISE_FN bool wants(int branch) const {
    const int leaves = 1 << choices;
    return ((wanted >> (branch * leaves)) & ((1u << leaves) - 1u)) != 0u;
  }

  // out = the rotation of a joint times x, or its inverse
  POISE_FN void turn_by(int joint, T sign, const T* x, T* out) const {
    const FamilyAxis<T>& axis = chain.axes[joint];
    if (axis.slides) {
      for (int i = 0; i < 3; ++i) out[i] = x[i];
      return;
    }
    T w[3];
    cross(axis.h, x, w);
    const T c = leaf.cosine[joint], s = sign * leaf.sine[joint], along = dot(axis.h, x) * (T(1) - c);
    for (int i = 0; i < 3; ++i) out[i] = c * x[i] + s * w[i] + along * axis.h[i];
  }

  // out = a joint's motion applied to the point x, or its inverse; x moved by at most the distance that is returned while the joint is
  // within its slack
  POISE_FN T move_by(int joint, T sign, const T* x, T* out) const {
    const FamilyAxis<T>& axis = chain.axes[joint];
    const Known<T>& turn = leaf.turn[joint];
    if (axis.slides) {
      for (int i = 0; i < 3; ++i) out[i] = x[i] + sign * turn.at * axis.h[i];
      return turn.slack;
    }
    T d[3], side[3];
    for (int i = 0; i < 3; ++i) d[i] = x[i] - axis.p[i];
    across(axis.h, d, side);
    turn_by(joint, sign, d, out);
    for (int i = 0; i < 3; ++i) out[i] += axis.p[i];
    return turn.slack * norm(side);
  }

  POISE_FN T rotation_slack(int joint) const { return chain.axes[joint].slides ? T(0) : leaf.turn[joint].slack; }
};

template <class T> POISE_FN void difference_of(const T* a, const T* b, T* out) {
  for (int i = 0; i < 3; ++i) out[i] = a[i] - b[i];
}

// Runs `then` for both answers of a joint. Near where the two are one, each is hardly known; cut into pieces, what follows from each
// piece is known better. `then` is told whether the answers stay apart for everything within the errors; a piece has no root to stay with.
template <class T, class F> POISE_FN bool walk_both(FamilyWalk<T>& walk, int joint, const TwoTurns<T>& two, F&& then) {
  if (!two.found) return false;
  const bool known = walk.leaf.certain;
  const int branch = walk.leaf.branch;
  const T spread = two.turn[0].slack * T(100);  // about so many hundredths
  const int pieces = spread > T(1) ? (spread < T(walk.cuts) ? static_cast<int>(spread) : walk.cuts) : 1;
  const T width = (two.widest - two.least) / T(pieces);
  bool stop = false;
  --walk.choices;
  POISE_ROLLED
  for (int i = 0; i < 2 * pieces && !stop; ++i) {
    const int side = i & 1;
    if (!walk.wants(2 * branch + side)) continue;
    walk.leaf.certain = known && two.certain && pieces == 1;
    walk.leaf.branch = 2 * branch + side;
    Known<T> turn = two.turn[side];
    if (pieces > 1) {
      const T from = two.least + width * (T(i / 2) + T(0.5));
      turn = {two.middle + (side ? from : -from), T(0.5001) * width};
    }
    if (walk.put(joint, turn)) stop = then(walk, two.certain && pieces == 1);
  }
  ++walk.choices;
  walk.leaf.branch = branch;
  walk.leaf.certain = known;
  return stop;
}

// By how much h4 . R36 h6 can be off. To first order a turn of joint j by d changes it by d k_j . (h4 x forth), k_j its axis seen from the
// fourth; what is left is at most half the square of all turns together. Near where h4 and R36 h6 are in line that is much less than
// the sum of the turns.
template <class T> POISE_FN T height_error(const FamilyWalk<T>& walk, const T* forth, T sum) {
  T n[3];
  cross(walk.chain.axes[3].h, forth, n);
  T first = (walk.asked.turn_error + T(family_room)) * norm(n);
  for (int j = 2; j >= 0; --j) {
    first += walk.rotation_slack(j) * absolute(dot(walk.chain.axes[j].h, n));
    walk.turn_by(j, T(1), n, n);
  }
  return minimum(sum, first + T(0.5) * sum * sum);
}

// the last three joints of the wrist, once the first three are known: R4 R5 R6 = (R1 R2 R3)^T R
template <class T, class F> POISE_FN bool walk_wrist(FamilyWalk<T>& walk, F&& visit) {
  const FamilyChain<T>& chain = walk.chain;
  const T *h4 = chain.axes[3].h, *h5 = chain.axes[4].h, *h6 = chain.axes[5].h;
  T forth[3], back[3];  // R36 h6 and R36^T h4
  rotate(walk.asked.R, h6, forth);
  for (int j = 0; j < 3; ++j) walk.turn_by(j, T(-1), forth, forth);
  for (int i = 0; i < 3; ++i) back[i] = h4[i];
  for (int j = 2; j >= 0; --j) walk.turn_by(j, T(1), back, back);
  rotate_back(walk.asked.R, back, back);
  const T error =
      walk.asked.turn_error + walk.rotation_slack(0) + walk.rotation_slack(1) + walk.rotation_slack(2) + T(family_room);
  const Line<T> fifth = height_line(h4, h5, h6, dot(h4, forth), height_error(walk, forth, error));
  if (!fifth.found) return false;
  const T away[3] = {-h4[0], -h4[1], -h4[2]};
  const Line<T> fourth = height_line(h5, away, forth, dot(h5, h6), error);
  if (!fourth.found) return false;
  const Line<T> sixth = height_line(h5, h6, back, dot(h5, h4), error);
  if (!sixth.found) return false;
  T near[3], far[3];  // how far h6 and h4 are from the fifth axis
  across(h5, h6, near);
  across(h5, h4, far);
  return walk_both(walk, 4, turns_of(fifth), [&](FamilyWalk<T>& w, bool alone) {
    T bent[3], unbent[3];
    w.turn_by(4, T(1), h6, bent);
    w.turn_by(4, T(-1), h4, unbent);
    const T slack = w.leaf.turn[4].slack;
    const bool apart = alone && fourth.certain && sixth.certain;
    w.leaf.certain = w.leaf.certain && apart;
    Known<T> four = turn_onto(h4, bent, forth, slack * norm(near), error);
    if (apart) four.slack = minimum(four.slack, slack_of(fourth));  // each answer stays with its root
    if (!w.put_last(3, four)) return false;
    Known<T> six = turn_onto(h6, back, unbent, error, slack * norm(far));
    if (apart) six.slack = minimum(six.slack, slack_of(sixth));
    return w.put_last(5, six) && visit(w.leaf);
  });
}

// two turns about axes through `meet` that bring the point `from` to `to`, then the wrist
template <class T, class F> POISE_FN bool walk_pair(FamilyWalk<T>& walk, int first, const T* from, const T* to,
                                                    T from_error, T to_error, F&& visit) {
  const FamilyChain<T>& chain = walk.chain;
  T p[3], q[3];
  difference_of(from, chain.meet, p);
  difference_of(to, chain.meet, q);
  const T *k1 = chain.axes[first].h, *k2 = chain.axes[first + 1].h;
  const Line<T> second = second_turn_onto(k1, k2, p, q, from_error, to_error);
  const Line<T> direct = direct_first_turn(k1, k2, p, q, from_error, to_error);
  if (!second.found || !direct.found) return false;
  const bool apart = second.certain && direct.certain;
  return walk_both(walk, first + 1, turns_of(second), [&](FamilyWalk<T>& w, bool) {
    w.leaf.certain = w.leaf.certain && direct.certain;
    const Known<T> own = apart ? turns_of(direct).turn[w.leaf.branch & 1] : Known<T>{T(0), T(one_pi)};
    return w.put(first, first_turn_onto(k1, k2, p, q, from_error, to_error, w.leaf.turn[first + 1], own, apart)) &&
           walk_wrist(w, visit);
  });
}

// Two turns about parallel axes `first` and `first + 1` that bring the point `from` to `to`; then what `next` does. The distance of
// `to` from the first axis is from `near` to `far` around `at`.
template <class T, class F> POISE_FN bool walk_parallel(FamilyWalk<T>& walk, int first, const T* from, const T* to,
                                                        T from_error, T to_error, T at, T error, F&& next) {
  const FamilyAxis<T>&one = walk.chain.axes[first], &two = walk.chain.axes[first + 1];
  T p[3], q[3], d[3];
  difference_of(from, two.p, d);
  across(two.h, d, p);
  difference_of(one.p, two.p, d);
  across(two.h, d, q);
  const TwoTurns<T> bends = turn_to_distance(two.h, p, q, at, error + from_error);
  return walk_both(walk, first + 1, bends, [&](FamilyWalk<T>& w, bool) {
    T y[3], a[3], b[3];
    const T moved = w.move_by(first + 1, T(1), from, y);
    difference_of(y, one.p, a);
    difference_of(to, one.p, b);
    return w.put(first, turn_onto(one.h, a, b, from_error + moved, to_error)) && next(w);
  });
}

// the slide along h1 that brings a point to a height along h: (value, slack); no answer where they are across
template <class T> POISE_FN Known<T> slide_to_height(const T* h1, const T* h, T height, T error) {
  const T slope = dot(h1, h);
  return {height / slope, error / absolute(slope)};
}

// as walk_both with one answer
template <class T, class F> POISE_FN bool walk_one(FamilyWalk<T>& walk, int joint, const Known<T>& turn, F&& then) {
  walk.leaf.branch *= 2;
  --walk.choices;
  const bool stop = walk.put(joint, turn) && then(walk, true);
  ++walk.choices;
  walk.leaf.branch /= 2;
  return stop;
}

// ---------------------------------------------------------------------------------------------- the plans

// 2 and 3 are parallel: they keep the height of a point along them, which decides the first joint
template <class T, class F> POISE_FN bool walk_parallel_last(FamilyWalk<T>& walk, const T* w_t, F&& visit) {
  const FamilyChain<T>& chain = walk.chain;
  const FamilyAxis<T>&one = chain.axes[0], &two = chain.axes[1];
  const T error = walk.asked.center_error;
  const T* h = two.h;
  const auto rest = [&](FamilyWalk<T>& w, bool) {
    T x[3], d[3], side[3];
    const T moved = w.move_by(0, T(-1), w_t, x);
    T at, off;
    if (one.slides) {
      difference_of(x, two.p, d);
      across(h, d, side);
      at = norm(side);
      across(h, one.h, side);
      off = error + w.leaf.turn[0].slack * norm(side);
    } else {
      // |x - p2| = |w_t - E1 p2|, and the height over p2 is that of the wrist: no error of the first turn but for p2's own distance
      difference_of(two.p, one.p, d);
      across(one.h, d, side);
      const T lever = w.leaf.turn[0].slack * norm(side) + error;
      difference_of(x, two.p, d);
      const T whole = norm(d);
      difference_of(chain.center, two.p, d);
      const T height = dot(h, d), low = maximum(whole - lever, T(0)), high = whole + lever;
      at = square_root(maximum(whole * whole - height * height, T(0)));
      off = maximum(square_root(maximum(high * high - height * height, T(0))) - at,
                    at - square_root(maximum(low * low - height * height, T(0))));
    }
    return walk_parallel(w, 1, chain.center, x, T(0), error + moved, at, off,
                         [&](FamilyWalk<T>& inner) { return walk_wrist(inner, visit); });
  };
  T d[3], e[3];
  difference_of(w_t, one.p, d);
  difference_of(chain.center, one.p, e);
  if (!one.slides) return walk_both(walk, 0, turn_to_height(d, one.h, h, dot(h, e), error), rest);
  return walk_one(walk, 0, slide_to_height(one.h, h, dot(h, d) - dot(h, e), error), rest);
}

// 1 and 2 are parallel: the height along them decides the third joint
template <class T, class F> POISE_FN bool walk_parallel_first(FamilyWalk<T>& walk, const T* w_t, F&& visit) {
  const FamilyChain<T>& chain = walk.chain;
  const FamilyAxis<T>&one = chain.axes[0], &three = chain.axes[2];
  const T error = walk.asked.center_error;
  const auto rest = [&](FamilyWalk<T>& w, bool) {
    T y[3], d[3], side[3];
    const T moved = w.move_by(2, T(1), chain.center, y);
    difference_of(w_t, one.p, d);
    across(one.h, d, side);
    return walk_parallel(w, 0, y, w_t, moved, error, norm(side), error,
                         [&](FamilyWalk<T>& inner) { return walk_wrist(inner, visit); });
  };
  T d[3], e[3];
  difference_of(w_t, three.p, d);
  difference_of(chain.center, three.p, e);
  if (!three.slides) return walk_both(walk, 2, turn_to_height(one.h, three.h, e, dot(one.h, d), error), rest);
  return walk_one(walk, 2, slide_to_height(three.h, one.h, dot(one.h, d) - dot(one.h, e), error), rest);
}

// 1 and 2 meet: the distance from there decides the third joint
template <class T, class F> POISE_FN bool walk_meet_first(FamilyWalk<T>& walk, const T* w_t, F&& visit) {
  const FamilyChain<T>& chain = walk.chain;
  const FamilyAxis<T>& three = chain.axes[2];
  T d[3], e[3];
  difference_of(w_t, chain.meet, d);
  const T distance = norm(d), error = walk.asked.distance_error;
  const auto rest = [&](FamilyWalk<T>& w, bool) {
    T y[3];
    const T moved = w.move_by(2, T(1), chain.center, y);
    return walk_pair(w, 0, y, w_t, moved, w.asked.center_error, visit);
  };
  if (three.slides)
    return walk_both(walk, 2, slide_to_distance(three.h, chain.center, chain.meet, distance, error), rest);
  difference_of(chain.center, three.p, d);
  difference_of(chain.meet, three.p, e);
  return walk_both(walk, 2, turn_to_distance(three.h, d, e, distance, error), rest);
}

// 2 and 3 meet: the distance from there decides the first joint
template <class T, class F> POISE_FN bool walk_meet_last(FamilyWalk<T>& walk, const T* w_t, F&& visit) {
  const FamilyChain<T>& chain = walk.chain;
  const FamilyAxis<T>& one = chain.axes[0];
  T d[3], e[3];
  difference_of(chain.center, chain.meet, d);
  const T distance = norm(d), error = walk.asked.center_error;
  const auto rest = [&](FamilyWalk<T>& w, bool) {
    T x[3];
    const T moved = w.move_by(0, T(-1), w_t, x);
    return walk_pair(w, 1, chain.center, x, T(0), error + moved, visit);
  };
  if (one.slides) return walk_both(walk, 0, slide_to_distance(one.h, chain.meet, w_t, distance, error), rest);
  difference_of(chain.meet, one.p, d);
  difference_of(w_t, one.p, e);
  return walk_both(walk, 0, turn_to_distance(one.h, d, e, distance, error), rest);
}

// three slides: a linear system
template <class T, class F> POISE_FN bool walk_gantry(FamilyWalk<T>& walk, const T* w_t, F&& visit) {
  const FamilyChain<T>& chain = walk.chain;
  T d[3];
  difference_of(w_t, chain.center, d);
  bool inside = true;
  for (int j = 0; j < 3 && inside; ++j) {
    T n[3];  // the row of the inverse: across the other two
    cross(chain.axes[(j + 1) % 3].h, chain.axes[(j + 2) % 3].h, n);
    const T slope = dot(n, chain.axes[j].h);
    inside = walk.put(j, {dot(n, d) / slope, walk.asked.center_error * norm(n) / absolute(slope)});
  }
  return inside && walk_wrist(walk, visit);
}

// The fourth joint of the planar family, what is left of the rotation about the parallel axes: R4 = (R2 R3)^T R1^T R R6^T R5^T.
template <class T> POISE_FN bool put_fourth(FamilyWalk<T>& walk) {
  const T* h = walk.chain.axes[3].h;
  // any vector across h: the unit vector that is least along it, made square
  const T x = absolute(h[0]), y = absolute(h[1]), z = absolute(h[2]);
  const T pick[3] = {T(x <= y && x <= z), T(y < x && y <= z), T(z < x && z < y)};
  T from[3], to[3];
  across(h, pick, from);
  for (int i = 0; i < 3; ++i) to[i] = from[i];
  walk.turn_by(4, T(-1), to, to);
  walk.turn_by(5, T(-1), to, to);
  rotate(walk.asked.R, to, to);
  for (int j = 0; j < 3; ++j) walk.turn_by(j, T(-1), to, to);
  T error = walk.asked.turn_error + T(family_room);
  for (int j = 0; j < 6; ++j) error += j == 3 ? T(0) : walk.rotation_slack(j);
  return walk.put_last(3, turn_onto(h, from, to, T(0), error * norm(from)));
}

// 2, 3 and 4 are parallel and 5 and 6 meet: the height of where they meet decides the first joint, the axis 5 and 6
template <class T, class F> POISE_FN bool walk_planar(FamilyWalk<T>& walk, const T* c_t, F&& visit) {
  const FamilyChain<T>& chain = walk.chain;
  const FamilyAxis<T>&one = chain.axes[0], &four = chain.axes[3], &five = chain.axes[4], &six = chain.axes[5];
  const FamilyAsked<T>& asked = walk.asked;
  const T* h = four.h;
  const auto position = [&](FamilyWalk<T>& w) {
    T x[3], d[3], side[3];
    T error = asked.center_error;
    error += w.move_by(4, T(-1), four.p, x);
    error += w.move_by(5, T(-1), x, x);
    difference_of(x, chain.center, d);
    error += (asked.turn_error + T(family_room)) * norm(d);
    rotate(asked.R, d, x);
    for (int i = 0; i < 3; ++i) x[i] += c_t[i];
    error += w.move_by(0, T(-1), x, x);
    difference_of(x, chain.axes[1].p, d);
    across(h, d, side);
    return walk_parallel(w, 1, four.p, x, T(0), error, norm(side), error,
                         [&](FamilyWalk<T>& inner) { return put_fourth(inner) && visit(inner.leaf); });
  };
  const auto rest = [&](FamilyWalk<T>& w, bool) {
    T y[3], bent[3], side[3];
    w.turn_by(0, T(1), h, y);
    rotate_back(asked.R, y, y);
    const T error = asked.turn_error + w.rotation_slack(0) + T(family_room),
            back[3] = {-five.h[0], -five.h[1], -five.h[2]};
    const TwoTurns<T> fifth = turn_to_height(six.h, back, h, dot(six.h, y), error);
    const TwoTurns<T> sixth = turn_to_height(five.h, six.h, y, dot(five.h, h), error);
    if (!sixth.found) return false;
    across(five.h, h, side);
    return walk_both(w, 4, fifth, [&](FamilyWalk<T>& inner, bool alone) {
      inner.leaf.certain = inner.leaf.certain && sixth.certain;
      inner.turn_by(4, T(-1), h, bent);
      Known<T> last = turn_onto(six.h, y, bent, error, inner.leaf.turn[4].slack * norm(side));
      if (alone && sixth.certain) last.slack = minimum(last.slack, sixth.turn[0].slack);
      return inner.put(5, last) && position(inner);
    });
  };
  T d[3], e[3];
  difference_of(c_t, one.p, d);
  difference_of(chain.center, one.p, e);
  if (!one.slides) return walk_both(walk, 0, turn_to_height(d, one.h, h, dot(h, e), asked.center_error), rest);
  return walk_one(walk, 0, slide_to_height(one.h, h, dot(h, d) - dot(h, e), asked.center_error), rest);
}

constexpr unsigned all_branches = 0xffu;

// Calls visit(leaf) for every branch of `wanted` that is not ruled out, at most 8, until it says true; returns whether it did.
template <class T, class F> POISE_LARGE_FN bool walk_branches(const FamilyChain<T>& chain, const FamilyAsked<T>& asked,
                                                              int cuts, unsigned wanted, F&& visit) {
  FamilyWalk<T> walk{chain, asked, cuts, wanted, chain.plan == PLAN_GANTRY ? 1 : 3, {}};
  walk.leaf.branch = 0;
  walk.leaf.certain = true;
  T at[3];
  rotate(asked.R, chain.center, at);
  for (int i = 0; i < 3; ++i) at[i] += asked.p[i];
  switch (chain.plan) {
    case PLAN_PARALLEL_LAST:
      return walk_parallel_last(walk, at, visit);
    case PLAN_MEET_FIRST:
      return walk_meet_first(walk, at, visit);
    case PLAN_MEET_LAST:
      return walk_meet_last(walk, at, visit);
    case PLAN_PARALLEL_FIRST:
      return walk_parallel_first(walk, at, visit);
    case PLAN_GANTRY:
      return walk_gantry(walk, at, visit);
    case PLAN_PLANAR:
      return walk_planar(walk, at, visit);
    default:
      return true;  // nothing is known of it, so nothing is ruled out
  }
}

}  // namespace poise
