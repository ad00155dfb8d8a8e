// decide.h: whether a chain of a family has a pose within the tolerances of a transform: proved not, or where to look.
//
// Chains of seven joints have a family once their first or last joint is held still; that joint is free. Its range is cut into cells.
// For a whole cell the free joint is known within half the cell, which is one more error of what the other six are asked for; a cell
// in which every branch is ruled out holds no pose, a cell that is left is cut in two. When none is left there is no pose anywhere.
#pragma once
#include "kernels/closed/families.h"

namespace poise {

enum FreeJoint : int { FREE_NONE, FREE_FIRST, FREE_LAST };
enum class Verdict : int { PROVED, FOUND, OPEN };

template <class T> struct FamilySpec {
  FamilyChain<T> chain;
  int backwards;              // the chain is read from its end
  int free_joint;             // of FreeJoint
  FamilyAxis<T> free;         // its axis and range, in which it is scanned
  T R0[9], p0[3];             // where the goal's point of the frame stands at zero
  T point_error, turn_error;  // how far the true chain can be from this one, whatever its joints do
};

// what is asked, in the world
template <class T> struct FamilyTarget { T R[9], p[3], metres, radians; };

template <class T> POISE_FN T distance_from_axis(const FamilyAxis<T>& axis, const T* x) {
  if (axis.slides) return T(1);
  T d[3], side[3];
  difference_of(x, axis.p, d);
  across(axis.h, d, side);
  return norm(side);
}

template <class T> POISE_FN void move_along(const FamilyAxis<T>& axis, T value, const T* x, T* out) {
  if (axis.slides) {
    for (int i = 0; i < 3; ++i) out[i] = x[i] + value * axis.h[i];
    return;
  }
  T d[3];
  difference_of(x, axis.p, d);
  turn_about(axis.h, value, d, out);
  for (int i = 0; i < 3; ++i) out[i] += axis.p[i];
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

// What the six joints are asked for while the free joint is within `half` of `at`.
template <class T>
POISE_FN FamilyAsked<T> ask_of(const FamilySpec<T>& spec, const FamilyTarget<T>& target, T at, T half) {
  const T metres = target.metres + spec.point_error, radians = target.radians + spec.turn_error;
  const FamilyAxis<T>& free = spec.free;
  const bool first = spec.free_joint == FREE_FIRST, last = spec.free_joint == FREE_LAST, back = spec.backwards != 0;
  T RB[9], pB[3], point[3], lever[3];  // B = T M^-1
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 3; ++k) RB[3 * i + k] = dot(target.R + 3 * i, spec.R0 + 3 * k);
  }
  rotate(RB, spec.p0, pB);
  difference_of(target.p, pB, pB);

  // the way of the center: what of it the tolerances and the free joint move
  const T* center = spec.chain.center;
  T inner[3], outer[3], other[3];
  for (int i = 0; i < 3; ++i) inner[i] = outer[i] = center[i];
  if (back ? first : last) move_along(free, back ? at : -at, center, inner);  // the free joint acts before B
  if (back) {
    difference_of(inner, target.p, lever);
    place_back(RB, pB, inner, outer);
  } else {
    difference_of(inner, spec.p0, lever);
    place(RB, pB, inner, outer);
  }
  const bool after = back ? last : first;
  if (back) {
    place(RB, pB, spec.chain.meet, other);
  } else {
    place_back(RB, pB, spec.chain.meet, other);
  }
  const T own = first || last ? half * distance_from_axis(free, after ? outer : inner) : T(0);
  const T about = first || last ? half * distance_from_axis(free, after ? spec.chain.meet : other) : T(0);
  const T room = T(family_room) * (spec.chain.length + norm(target.p));
  const T base = metres + radians * (norm(lever) + (after ? T(0) : own)) + room;

  // A, column by column
  FamilyAsked<T> asked;
  T corner[3] = {T(0), T(0), T(0)};
  for (int column = 0; column < 4; ++column) {
    for (int i = 0; i < 3; ++i) point[i] = T(column == i + 1);
    if (back ? first : last) move_along(free, back ? at : -at, point, point);
    if (back) {
      place_back(RB, pB, point, point);
    } else {
      place(RB, pB, point, point);
    }
    if (after) move_along(free, back ? at : -at, point, point);
    for (int i = 0; i < 3; ++i) {
      if (column == 0) {
        corner[i] = asked.p[i] = point[i];
      } else {
        asked.R[3 * i + column - 1] = point[i] - corner[i];
      }
    }
  }
  asked.turn_error = radians + (spec.free_joint != FREE_NONE && !free.slides ? half : T(0)) + T(family_room);
  asked.center_error = base + own;
  asked.distance_error = base + minimum(own, about);
  return asked;
}

// the joints of a leaf in the order of the whole chain
template <class T> POISE_FN void joints_of(const FamilySpec<T>& spec, const FamilyLeaf<T>& leaf, T at, T* out) {
  const int shift = spec.free_joint == FREE_FIRST;
  for (int j = 0; j < 6; ++j) out[shift + j] = leaf.turn[spec.backwards ? 5 - j : j].at;
  if (spec.free_joint != FREE_NONE) out[shift ? 0 : 6] = at;
}

// some branch that is not ruled out while the free joint is within `half` of `at`; its joints in `out`
template <class T>
POISE_LARGE_FN bool find_leaf(const FamilySpec<T>& spec, const FamilyTarget<T>& target, T at, T half, T* out) {
  const FamilyAsked<T> asked = ask_of(spec, target, at, half);
  return walk_branches(spec.chain, asked, [&](const FamilyLeaf<T>& leaf) {
    joints_of(spec, leaf, at, out);
    return true;
  });
}

// The range in which the free joint is scanned; one whole turn where it has more.
template <class T> POISE_FN void scanned_range(const FamilyAxis<T>& free, T& middle, T& half) {
  middle = free.middle;
  half = free.slides ? free.half : minimum(free.half, T(one_pi));
}

// PROVED: no pose inside the ranges is within the tolerances. FOUND: `out` has the joints of one that is inside and exact but for
// rounding and the chain's own error. OPEN: neither; `out` has joints that come close. `cells` counts what was looked at.
template <class T> POISE_LARGE_FN Verdict decide(const FamilySpec<T>& spec, const FamilyTarget<T>& target,
                                                 int most_cells, T* out, int& cells) {
  constexpr int begin = 16, ring = 512;  // cells that wait, the widest first
  constexpr int few_cuts = 4, many_cuts = 16;
  FamilyTarget<T> exact = target;
  exact.metres = exact.radians = T(0);
  FamilySpec<T> ideal = spec;
  ideal.point_error = ideal.turn_error = T(0);
  ideal.chain.cuts = 1;
  FamilySpec<T> fine = spec;
  fine.chain.cuts = many_cuts;
  cells = 1;
  if (spec.free_joint == FREE_NONE) {
    if (!find_leaf(fine, target, T(0), T(0), out)) return Verdict::PROVED;
    return find_leaf(ideal, exact, T(0), T(0), out) ? Verdict::FOUND : Verdict::OPEN;
  }
  T middle, half;
  scanned_range(spec.free, middle, half);
  const T finest = spec.free.slides ? target.metres : target.radians;
  T at[ring], width[ring];
  int next = 0, count = begin;
  for (int i = 0; i < begin; ++i) {
    width[i] = half / T(begin);
    at[i] = middle - half + T(2 * i + 1) * width[i];
  }
  for (cells = 0; count > 0 && cells < most_cells; ++cells) {
    const T u = at[next], w = width[next];
    next = (next + 1) % ring;
    --count;
    fine.chain.cuts = w < T(0.1) ? few_cuts : 1;
    if (!find_leaf(fine, target, u, w * T(1 + 1e-9), out)) continue;
    if (find_leaf(ideal, exact, u, T(0), out)) return Verdict::FOUND;
    if (w <= finest || count + 2 > ring) {
      fine.chain.cuts = many_cuts;
      if (find_leaf(fine, target, u, w * T(1 + 1e-9), out)) return Verdict::OPEN;
      continue;
    }
    for (int side = 0; side < 2; ++side) {
      const int to = (next + count++) % ring;
      at[to] = u + T(side ? 0.5 : -0.5) * w;
      width[to] = T(0.5) * w;
    }
  }
  return count == 0 ? Verdict::PROVED : Verdict::OPEN;
}

// Of a cell: the branches that are not ruled out in it, and those that exist and are inside the ranges all over it.
struct CellBranches { unsigned open, full; };

template <class T>
POISE_LARGE_FN CellBranches branches_of_cell(const FamilySpec<T>& spec, const FamilyTarget<T>& target, T at, T half) {
  CellBranches out{0u, 0u};
  const FamilyAsked<T> asked = ask_of(spec, target, at, half);
  walk_branches(spec.chain, asked, [&](const FamilyLeaf<T>& leaf) {
    bool inside = leaf.certain;
    for (int j = 0; j < 6; ++j) inside = inside && surely_inside(spec.chain.axes[j], leaf.turn[j]);
    out.open |= 1u << leaf.branch;
    out.full |= inside ? 1u << leaf.branch : 0u;
    return false;
  });
  return out;
}

}  // namespace poise
