// alike.h: when two poses are one answer. The only rule, and its tolerances; Python reads them through bind/codes.cpp.
#pragma once
#include "kernels/portable.h"

namespace poise {

// Several answers of a solve are distinct if some joint differs by more [rad, or times L in metres].
constexpr double distinct = 0.1;

// The poses of a closed form, in radians and as parts of the chain's length:
constexpr double same_pose = 1e-6;     // poses that differ by less are one
constexpr double known_branch = 1e-3;  // a branch known no better than this may be two
constexpr double near_limit = 1e-9;    // nearer to a limit, rounding decides on which side a pose lies
constexpr double wanted_pose = 1e-10;  // tolerance of the search for a listed pose
constexpr double exact_pose = 1e-9;    // largest error of a listed pose, whatever its goal tolerates

// Returns whether no joint differs by more than `most` units. difference(k) and unit(k) belong to joint k; a unit is a radian or a length.
template <class Difference, class Unit>
bool are_alike(int joints, double most, const Difference& difference, const Unit& unit) {
  int k = 0;
  // ends: after the last joint
  while (k < joints && absolute(difference(k)) <= most * unit(k)) ++k;
  return k == joints;
}

}  // namespace poise
