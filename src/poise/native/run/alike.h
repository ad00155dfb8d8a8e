// alike.h: the rule for when two poses are the same answer, with its tolerances. Python reads them from bind/codes.cpp.
#pragma once
#include <cmath>

#include "kernels/portable.h"

namespace poise {

// Several answers of a solve are distinct if some joint differs by more [rad, or times L in metres].
constexpr double distinct = 0.1;

// For poses of a closed form, in radians or relative to the chain's length:
constexpr double same_pose = 1e-6;     // poses that differ by less are the same
constexpr double same_guess = 1e-4;    // the same for poses that a search found from far: singular ones end apart
constexpr double known_branch = 1e-3;  // a branch with a larger uncertainty may be two
constexpr double near_limit = 1e-9;    // closer to a limit, rounding decides the side of a pose
constexpr double at_limit = 1e-8;      // a joint outside its range by less is at its end
constexpr double wanted_pose = 1e-10;  // tolerance of the search for a listed pose
constexpr double exact_pose = 1e-9;    // largest error of a listed pose, independent of the goal's tolerance

// Returns a difference of two values of a joint without whole periods; a period of 0 leaves it as it is.
inline double without_turns(double difference, double period) {
  return period > 0.0 ? difference - period * std::round(difference / period) : difference;
}

// Returns whether no joint differs by more than `most` units. difference(k) and unit(k) belong to joint k; a unit is a
// radian or a length.
template <class Difference, class Unit>
bool are_alike(int joints, double most, const Difference& difference, const Unit& unit) {
  int k = 0;
  // ends: after the last joint
  while (k < joints && absolute(difference(k)) <= most * unit(k)) ++k;
  return k == joints;
}

}  // namespace poise
