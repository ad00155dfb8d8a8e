// question.h: a query about a chain of a family, with its free joint known exactly or within bounds.
//
// Chains of seven joints have a family if their first or last joint is fixed; that joint is free. A question is a chain
// and a transform, prepared once: the transform of the six joints at any value of the free joint follows in a few
// operations. So do the values of the free joint at which the third joint can bring the center to its distance: all
// others are excluded immediately.
#pragma once
#include "kernels/closed/families.h"

namespace poise {

enum FreeJoint : int { FREE_NONE, FREE_FIRST, FREE_LAST };

template <class T> struct FamilySpec {
  FamilyChain<T> chain;
  int backwards;              // whether the chain is reversed
  int free_joint;             // of FreeJoint
  FamilyAxis<T> free;         // its axis, and the range of the scan
  T R0[9], p0[3];             // the goal's point of the frame at zero
  T point_error, turn_error;  // the largest deviation of the true chain from this one, for any joint values
  T nearest,
      farthest;  // distance of the center from `meet` while the third joint is inside its range; negative if unknown
};

// the target, in the world
template <class T> struct FamilyTarget { T R[9], p[3], metres, radians; };

template <class T> POISE_FN T distance_from_axis(const FamilyAxis<T>& axis, const T* x) {
  if (axis.slides) return T(1);
  T d[3], side[3];
  difference_of(x, axis.p, d);
  across(axis.h, d, side);
  return norm(side);
}

// out = R x + p, or its inverse
template <class T> POISE_FN void place(const T* R, const T* p, const T* x, T* out) {
  rotate(R, x, out);
  for (int i = 0; i < 3; ++i) out[i] += p[i];
}
template <class T> POISE_FN void place_back(const T* R, const T* p, const T* x, T* out) {
  T d[3];
  difference_of(x, p, d);
  rotate_back(R, d, out);
}

// The transform of the six joints is C, with the motion F(u) of the free joint after it, F C, or before it, C F.
template <class T> struct FamilyQuestion {
  const FamilySpec<T>& spec;
  T R[9], p[3];  // C
  // the part of the center that the free joint moves, and its reference: |F center - seen| is its distance from `meet`
  T center[3], seen[3];
  T lever[3];         // the centre of the tolerated rotation
  T metres, radians;  // tolerances, and the chain's own errors
  T own, about;       // distances of `center` and `seen` from the free axis
  T room;             // margin for rounding
  bool after;
};

template <class T>
POISE_LARGE_FN FamilyQuestion<T> question_of(const FamilySpec<T>& spec, const FamilyTarget<T>& target) {
  const bool back = spec.backwards != 0, moved = spec.free_joint != FREE_NONE;
  FamilyQuestion<T> out{spec, {}, {}, {}, {}, {},
                        {},   {}, {}, {}, {}, !moved || spec.free_joint == (back ? FREE_LAST : FREE_FIRST)};
  T B[9], pB[3];  // B = T M^-1
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 3; ++k) B[3 * i + k] = dot(target.R + 3 * i, spec.R0 + 3 * k);
  }
  rotate(B, spec.p0, pB);
  difference_of(target.p, pB, pB);
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 3; ++k) out.R[3 * i + k] = back ? B[3 * k + i] : B[3 * i + k];
    out.p[i] = back ? T(0) : pB[i];
    out.lever[i] = back ? target.p[i] : spec.p0[i];
  }
  if (back) place_back(B, pB, out.p, out.p);
  if (out.after) {
    place(out.R, out.p, spec.chain.center, out.center);
    for (int i = 0; i < 3; ++i) out.seen[i] = spec.chain.meet[i];
  } else {
    place_back(out.R, out.p, spec.chain.meet, out.seen);
    for (int i = 0; i < 3; ++i) out.center[i] = spec.chain.center[i];
  }
  out.metres = target.metres + spec.point_error;
  out.radians = target.radians + spec.turn_error;
  out.own = moved ? distance_from_axis(spec.free, out.center) : T(0);
  out.about = moved ? distance_from_axis(spec.free, out.seen) : T(0);
  out.room = T(family_room) * (spec.chain.length + norm(target.p));
  return out;
}

// F at a value: its rotation, and the position to which it moves the origin
template <class T> POISE_LARGE_FN void motion_of(const FamilyQuestion<T>& question, T at, T* R, T* p) {
  const FamilyAxis<T>& free = question.spec.free;
  const T value = question.spec.backwards ? at : -at;
  for (int k = 0; k < 9; ++k) R[k] = T(k % 4 == 0);
  if (free.slides) {
    for (int i = 0; i < 3; ++i) p[i] = value * free.h[i];
    return;
  }
  rotation_about(free.h, value, R);
  rotate(R, free.p, p);
  difference_of(free.p, p, p);
}

// The transform of the six joints while the free joint is within `half` of `at`; `exact`: without tolerances.
template <class T>
POISE_LARGE_FN FamilyAsked<T> ask_of(const FamilyQuestion<T>& question, T at, T half, bool exact = false) {
  const FamilySpec<T>& spec = question.spec;
  const bool moved = spec.free_joint != FREE_NONE;
  FamilyAsked<T> asked;
  T F[9], pF[3], lever[3];
  for (int i = 0; i < 3; ++i) lever[i] = spec.chain.center[i];
  if (!moved) {
    for (int k = 0; k < 9; ++k) asked.R[k] = question.R[k];
    for (int i = 0; i < 3; ++i) asked.p[i] = question.p[i];
  } else {
    motion_of(question, at, F, pF);
    const T *first = question.after ? F : question.R, *second = question.after ? question.R : F;
    for (int i = 0; i < 3; ++i) {
      for (int k = 0; k < 3; ++k) {
        asked.R[3 * i + k] =
            first[3 * i] * second[k] + first[3 * i + 1] * second[3 + k] + first[3 * i + 2] * second[6 + k];
      }
    }
    if (question.after) {
      place(F, pF, question.p, asked.p);
    } else {
      place(question.R, question.p, pF, asked.p);
      place(F, pF, spec.chain.center, lever);
    }
  }
  difference_of(lever, question.lever, lever);
  const T radians = exact ? T(0) : question.radians, metres = exact ? T(0) : question.metres, own = half * question.own;
  const T base = metres + radians * (norm(lever) + (question.after ? T(0) : own)) + question.room;
  asked.turn_error = radians + (moved && !spec.free.slides ? half : T(0)) + T(family_room);
  asked.center_error = base + own;
  asked.distance_error = base + minimum(own, half * question.about);
  return asked;
}

// the joints of a leaf in the order of the whole chain
template <class T> POISE_FN void joints_of(const FamilySpec<T>& spec, const FamilyLeaf<T>& leaf, T at, T* out) {
  const int shift = spec.free_joint == FREE_FIRST;
  for (int j = 0; j < 6; ++j) out[shift + j] = leaf.turn[spec.backwards ? 5 - j : j].at;
  if (spec.free_joint != FREE_NONE) out[shift ? 0 : 6] = at;
}

// their uncertainties
template <class T> POISE_FN void slacks_of(const FamilySpec<T>& spec, const FamilyLeaf<T>& leaf, T* out) {
  const int shift = spec.free_joint == FREE_FIRST;
  for (int j = 0; j < 6; ++j) out[shift + j] = leaf.turn[spec.backwards ? 5 - j : j].slack;
  if (spec.free_joint != FREE_NONE) out[shift ? 0 : 6] = T(0);
}

// ---------------------------------------------------------------------------------------------- the range of the free
// joint

// The range in which the free joint is scanned; at most one whole turn.
template <class T> POISE_FN void scanned_range(const FamilyAxis<T>& free, T& middle, T& half) {
  middle = free.middle;
  half = free.slides ? free.half : minimum(free.half, T(one_pi));
}

// The minimum and maximum of a cos v + b sin v while a joint's angle v is inside its range.
template <class T> POISE_LARGE_FN void bound_in_range(const FamilyAxis<T>& axis, T a, T b, T& least, T& most) {
  const T size = square_root(a * a + b * b), top = arc_tangent(b, a);
  T ends[2];
  for (int side = 0; side < 2; ++side) {
    T s, c;
    sine_cosine(axis.middle + (side ? axis.half : -axis.half), s, c);
    ends[side] = a * c + b * s;
  }
  const bool over = absolute(turns_off(axis, top)) <= axis.half + T(family_room);
  const bool under = absolute(turns_off(axis, top + T(one_pi))) <= axis.half + T(family_room);
  most = over ? size : maximum(ends[0], ends[1]);
  least = under ? -size : minimum(ends[0], ends[1]);
}

// Sets the possible heights of the last axis over the fourth, while the fifth joint is inside its range.
template <class T> POISE_FN void measure_fifth(FamilyChain<T>& chain) {
  const T *h4 = chain.axes[3].h, *h5 = chain.axes[4].h, *h6 = chain.axes[5].h;
  T n[3], least, most;
  cross(h5, h6, n);
  const T along = dot(h4, h5) * dot(h5, h6);
  bound_in_range(chain.axes[4], dot(h4, h6) - along, dot(h4, n), least, most);
  chain.lowest = along + least - T(2 * family_room);
  chain.highest = along + most + T(2 * family_room);
}

// Sets the possible distances of the center from the intersection of the first two axes, while the third joint is
// inside its range.
template <class T> POISE_LARGE_FN void measure_third(FamilySpec<T>& spec) {
  const FamilyAxis<T>& three = spec.chain.axes[2];
  spec.nearest = spec.farthest = T(-1);
  if (spec.chain.plan != PLAN_MEET_FIRST || three.slides) return;
  T x[3], z[3], n[3];
  difference_of(spec.chain.center, three.p, x);
  difference_of(spec.chain.meet, three.p, z);
  cross(three.h, x, n);
  const T along = dot(z, three.h) * dot(three.h, x), a = dot(z, x) - along, b = dot(z, n);
  const T sum = dot(x, x) + dot(z, z) - T(2) * along;
  T least, most;
  bound_in_range(three, a, b, least, most);
  spec.nearest = square_root(maximum(sum - T(2) * most, T(0)));
  spec.farthest = square_root(maximum(sum - T(2) * least, T(0)));
}

// intervals of the free joint that contain every pose
template <class T> struct FamilyScan {
  static constexpr int most = 6;  // two arcs, each of which a range of an angle can divide into three
  T low[most], width[most];
  int count;
  T total;  // sum of the widths
};

// the part of the arc middle +- half that is inside the range of the free joint
template <class T> POISE_LARGE_FN void add_arc(const FamilyAxis<T>& free, T middle, T half, FamilyScan<T>& scan) {
  T center, whole;
  scanned_range(free, center, whole);
  const T off = turns_off(free, middle);
  for (int turn = -1; turn <= 1; ++turn) {
    const T at = off + T(2 * one_pi) * T(turn), low = maximum(at - half, -whole), high = minimum(at + half, whole);
    if (!(low <= high)) continue;
    scan.low[scan.count] = center + low;
    scan.width[scan.count++] = high - low;
    scan.total += high - low;
  }
}

template <class T> POISE_LARGE_FN FamilyScan<T> scan_of(const FamilyQuestion<T>& question) {
  const FamilySpec<T>& spec = question.spec;
  const FamilyAxis<T>& free = spec.free;
  FamilyScan<T> scan{};
  T middle, half;
  scanned_range(free, middle, half);
  if (spec.farthest < T(0) || free.slides) {
    scan.low[0] = middle - half;
    scan.width[0] = scan.total = T(2) * half;
    scan.count = 1;
    return scan;
  }
  T x[3], z[3], d[3];
  difference_of(question.center, free.p, x);
  difference_of(question.seen, free.p, z);
  difference_of(question.lever, free.p, d);
  T lever = norm(d);
  difference_of(spec.chain.center, question.after ? question.lever : free.p, d);
  lever = norm(d) + (question.after ? T(0) : lever);
  const T error = question.metres + question.radians * lever + T(2) * question.room;
  const T sign = spec.backwards ? T(1) : T(-1), k[3] = {sign * free.h[0], sign * free.h[1], sign * free.h[2]};
  const Line<T> line =
      distance_line(k, x, z, spec.farthest, maximum(spec.nearest - error, T(0)), spec.farthest + error);
  if (!line.found) return scan;
  // the distances from the midpoint, to the last digits: nothing outside is ever searched
  const T pi = T(one_pi), k_size = line.size > T(tiny_length<T>()) ? T(1) / line.size : T(0);
  const T middle_turn = arc_tangent(line.b, line.a);
  const T least = (k_size > T(0) ? arc_cosine(line.high * k_size) : T(0)) - T(family_room);
  const T widest = (k_size > T(0) ? arc_cosine(line.low * k_size) : pi) + T(family_room);
  if (least <= T(0)) {
    add_arc(free, middle_turn, minimum(widest, pi), scan);
  } else if (widest >= pi) {
    add_arc(free, middle_turn + pi, pi - least, scan);
  } else {
    for (int side = -1; side <= 1; side += 2) {
      add_arc(free, middle_turn + T(side) * T(0.5) * (least + widest), T(0.5) * (widest - least), scan);
    }
  }
  return scan;
}

// Cell number `index` of about `cells` that cover the intervals; false if there are fewer.
template <class T> POISE_LARGE_FN bool cell_of(const FamilyScan<T>& scan, int cells, int index, T& at, T& half) {
  for (int i = 0; i < scan.count; ++i) {
    const T share = scan.total > T(0) ? scan.width[i] / scan.total * T(cells) : T(0);
    const int own = 1 + static_cast<int>(share);
    if (index < own) {
      half = T(0.5) * scan.width[i] / T(own);
      at = scan.low[i] + T(2 * index + 1) * half;
      return true;
    }
    index -= own;
  }
  return false;
}

}  // namespace poise
