// branch_tree.h: a walk through a chain's joints: the answers so far, the resulting points and directions, and the choices
// between answers.
#pragma once
#include "kernels/closed/fixed_numbers.h"

namespace poise {

enum FamilyPlan : int {
  PLAN_PARALLEL_LAST,   // wrist; 2 and 3 are parallel
  PLAN_MEET_FIRST,      // wrist; 1 and 2 intersect
  PLAN_MEET_LAST,       // wrist; 2 and 3 intersect
  PLAN_PARALLEL_FIRST,  // wrist; 1 and 2 are parallel
  PLAN_GANTRY,          // wrist; 1, 2 and 3 slide
  PLAN_PLANAR,          // 2, 3 and 4 are parallel, 5 and 6 meet
};

POISE_FN constexpr bool may_have_plan(FamilyPlan plan) { return only_plan < 0 || only_plan == plan; }

template <class T> struct FamilyAxis {
  T h[3], p[3];    // unit direction, a point on it
  T middle, half;  // of the range
  int slides;
};

template <class T> struct FamilyChain {
  FamilyAxis<T> axes[6];
  T center[3];      // the intersection of the last three, or the last two
  T meet[3];        // the intersection of two of the first three
  int plan, prune;  // prune: drop branches that are outside the ranges
  T length;         // of the chain: margin for rounding
  T lowest = T(-2),
    highest = T(2);  // height of the last axis over the fourth, h4 . R5 h6, while the fifth joint is inside its range
};

template <class T, class K = Fixed<T>> struct FamilyLeaf {
  typename K::Answer turn[6];
  int branch;
  mask_t<T> certain;  // whether it exists for all inputs within the errors
  typename K::Span span;
};

// A kind of numbers whose lanes follow one branch each, so that a walk takes one way alone; the leaf has no number.
template <class K> struct Chosen : K { static constexpr bool chosen = true; };
template <class T, bool CHOSEN> struct BranchSides {};
template <class T> struct BranchSides<T, true> { mask_t<T> bit[3]; };  // of the branch of each lane

// the number of choices between two answers
template <class T> POISE_FN int choices_of(const FamilyChain<T>& chain) { return chain.plan == PLAN_GANTRY ? 1 : 3; }

// A reference to a function of a leaf. On the CPU a walk takes this, so that it is compiled once for all callers.
template <class Leaf> struct LeafVisitor {
  void* function;
  bool (*call)(void*, const Leaf&);
  POISE_FN bool operator()(const Leaf& leaf) const { return call(function, leaf); }
};

template <class Leaf, class F> POISE_FN LeafVisitor<Leaf> refer_to(F& function) {
  return {&function, [](void* f, const Leaf& leaf) -> bool { return (*static_cast<F*>(f))(leaf); }};
}

constexpr double family_room = 1e-11;
constexpr double product_room = 1e-14;  // of a product of two unit vectors after some rotations

// the distance of a value from the middle of its range, up to whole turns
template <class T> POISE_FN T turns_off(const FamilyAxis<T>& axis, T value) {
  const T off = value - axis.middle;
  if (axis.slides) return off;
  const T turns = off * T(0.5 / one_pi), shift = T(TrigTable<real_t<T>>::round_shift);
  return off - T(2 * one_pi) * ((turns + shift) - shift);
}

// the least distance of the joint from its range for any value within its slack [rad or m]; not positive if it may be
// inside
template <class T> POISE_FN T excess_of_range(const FamilyAxis<T>& axis, const Known<T>& turn) {
  return absolute(turns_off(axis, turn.at)) - axis.half - turn.slack - T(family_room);
}

// whether it is inside for every value within the slack
template <class T> POISE_FN mask_t<T> surely_inside(const FamilyAxis<T>& axis, const Known<T>& turn) {
  const mask_t<T> inside =
      excess_of_range(axis, Known<T>{turn.at, T(0), turn.sine, turn.cosine}) + turn.slack + T(4 * family_room) <= T(0);
  return axis.slides ? inside : inside | (axis.half >= T(one_pi));
}

// whether a joint may be inside its range
template <class T> POISE_FN bool stays(FixedSpan<T>& span, const FamilyAxis<T>& axis, const Known<T>& turn) {
  return keep_lanes<T>(span, !(excess_of_range(axis, turn) > T(0)));
}

template <class K> struct FamilyWalk {
  using T = typename K::Real;
  using Number = typename K::Number;
  using Point = typename K::Point;
  using Answer = typename K::Answer;

  const FamilyChain<T>& chain;
  const typename K::Asked& asked;
  int cuts;         // number of pieces for an uncertain answer
  unsigned wanted;  // the requested branches, one bit each
  int choices;      // between two answers that are still to be chosen
  FamilyLeaf<T, typename K::Plain> leaf;
  BranchSides<T, K::chosen> sides;

  // the one of two answers that belongs to the last choice
  POISE_FN Answer answer_of(const typename K::Pair& two) const {
    if constexpr (K::chosen) {
      return choose(sides.bit[choices], two.turn[1], two.turn[0]);
    } else {
      return two.turn[leaf.branch & 1];
    }
  }

  // stores a joint; false if it is outside its range
  POISE_FN bool put(int joint, const Answer& turn) {
    leaf.turn[joint] = turn;
    return !chain.prune || stays(leaf.span, chain.axes[joint], turn);
  }

  // whether a requested branch begins with this number, which has all choices made so far
  POISE_FN bool wants(int branch) const {
    const int leaves = 1 << choices;
    return ((wanted >> (branch * leaves)) & ((1u << leaves) - 1u)) != 0u;
  }

  // the rotation of a joint times x, or its inverse
  POISE_FN Point turn_by(int joint, T sign, const Point& x) const {
    const FamilyAxis<T>& axis = chain.axes[joint];
    if (axis.slides) return x;
    return turned(axis.h, sign, leaf.turn[joint], x);
  }

  // applies a joint's motion, or its inverse, to the point x; `moved` is the largest distance by which x moves while
  // the joint is within its slack
  POISE_FN Point move_by(int joint, T sign, const Point& x, T& moved) const {
    const FamilyAxis<T>& axis = chain.axes[joint];
    const Answer& turn = leaf.turn[joint];
    if (axis.slides) {
      moved = turn.slack;
      return slid(axis.h, sign, turn, x);
    }
    const Point d = away_from(x, axis.p);
    moved = turn.slack * most_length(flat(axis.h, d));
    return moved_by(turn_by(joint, sign, d), axis.p);
  }

  POISE_FN T rotation_slack(int joint) const { return chain.axes[joint].slides ? T(0) : leaf.turn[joint].slack; }
};

// an answer somewhere in a piece around it
template <class T> POISE_FN Known<T> piece_of(const TwoTurns<T>& two, int side, int index, T width) {
  const T from = two.least + width * (T(index) + T(0.5));
  Known<T> out{two.middle + (side ? from : -from), T(0.5001) * width, T(0), T(1)};
  sine_cosine_of(out.at, out.sine, out.cosine);
  return out;
}

// the number of pieces of a pair, each about this many hundredths wide
template <class T> POISE_FN int pieces_of(const TwoTurns<T>& two, int cuts) {
  const T spread = two.turn[0].slack * T(100);
  return spread > T(1) ? (spread < T(cuts) ? static_cast<int>(spread) : cuts) : 1;
}

// Runs `then` for both answers of a joint. Where the two nearly coincide, each is uncertain; in pieces, the results of
// each piece are more precise. `then` also gets whether the answers stay apart for all inputs within the errors; a
// piece does not follow a root.
template <class K, class F>
POISE_FN bool walk_sides(FamilyWalk<K>& walk, int joint, const typename K::Pair& two, F&& then) {
  using T = typename K::Real;
  constexpr bool cut = !K::flows && ScalarTraits<T>::lanes == 1;
  const mask_t<T> known = walk.leaf.certain;
  const int branch = walk.leaf.branch;
  const typename K::Span span = walk.leaf.span;
  int pieces = 1;
  T width = T(0);
  if constexpr (cut) {
    pieces = pieces_of(two, walk.cuts);
    width = (two.widest - two.least) / T(pieces);
  }
  bool stop = false;
  --walk.choices;
  POISE_ROLLED
  for (int i = 0; i < 2 * pieces && !stop; ++i) {
    const int side = i & 1;
    if (!walk.wants(2 * branch + side)) continue;
    const mask_t<T> alone = pieces == 1 ? two.certain : T(1) < T(0);
    walk.leaf.certain = known & alone;
    walk.leaf.branch = 2 * branch + side;
    walk.leaf.span = span;
    typename K::Answer turn = two.turn[side];
    if constexpr (cut) {
      if (pieces > 1) turn = piece_of(two, side, i / 2, width);
    }
    if (walk.put(joint, turn)) stop = then(walk, alone);
  }
  ++walk.choices;
  walk.leaf.branch = branch;
  walk.leaf.certain = known;
  return stop;
}

// The same, unless every lane follows a branch of its own: then for that one's answer.
template <class K, class F>
POISE_FN bool walk_both(FamilyWalk<K>& walk, int joint, const typename K::Pair& two, F&& then) {
  if (!admits(walk.leaf.span, two)) return false;
  if constexpr (K::chosen) {
    --walk.choices;
    walk.leaf.certain = walk.leaf.certain & two.certain;
    const bool stop = walk.put(joint, walk.answer_of(two)) && then(walk, two.certain);
    ++walk.choices;
    return stop;
  } else {
    return walk_sides(walk, joint, two, then);
  }
}

// keeps the root of an equation if requested
template <class K> POISE_FN void keep_root_where(const mask_t<typename K::Real>& meant, const typename K::Span& span,
                                                 const typename K::Equation& line, typename K::Answer& answer) {
  if (!any(meant)) return;
  typename K::Answer kept = answer;
  keep_root(span, line, kept);
  answer = choose(meant, kept, answer);
}

// like walk_both with one answer
template <class K, class F>
POISE_FN bool walk_one(FamilyWalk<K>& walk, int joint, const typename K::Answer& turn, F&& then) {
  using T = typename K::Real;
  if constexpr (K::chosen) {
    if (!drop_lanes(walk.leaf.span, walk.sides.bit[walk.choices - 1])) return false;
  }
  walk.leaf.branch *= 2;
  --walk.choices;
  const bool stop = walk.put(joint, turn) && then(walk, T(0) <= T(0));
  ++walk.choices;
  walk.leaf.branch /= 2;
  return stop;
}

}  // namespace poise
