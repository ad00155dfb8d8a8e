// listed_poses.h: poses that a closed form lists, the memory of a list, and the form whose branches begin a solve.
#pragma once
#include <cmath>
#include <vector>

#include "kernels/closed/form.h"

namespace poise {

// One pose: the values of the chain's joints, inside their ranges, and the largest motion of a joint from the start. If
// the branch stands for a curve of poses, none of them is nearer than `open`; otherwise that is infinite.
struct ListedPose {
  double far, open;
  int branch;
  double values[7];
};

// The nearest branch of a query; `far` is infinite if there is none. `open` is the least one of all branches; `at_start`:
// the start itself may be a pose.
struct NearestPose {
  double far, open, values[7];
  bool at_start;
};

// A query: the branches of a target within tolerances at a value of the free joint, for a row; `start` has the joints
// of the chain.
struct ListAsk {
  const double *target, *start;
  double value;
  int row;
  double metres = 0.0, radians = 0.0;
};

// the index of a pose in a list, and its sort key
struct ListedPlace {
  double far;
  int branch, at;
  bool nearest;
};

// The memory of one list; it is reserved with the solver, or grows when the first one is made.
struct ListMemory {
  ListMemory() = default;
  ListMemory(const ListMemory&) {}  // a copy of a solver makes room again when it lists
  ListMemory& operator=(const ListMemory&) { return *this; }
  std::vector<ListAsk> asks;
  std::vector<ListedPose> poses;
  std::vector<ListedPlace> order;
  std::vector<double> q;
  std::vector<double> from;  // the pose whose joints outside the chain are kept
  double target[12];         // of a sampled form: the target without the motion of these joints
};

// A joint that a closed form leaves out: before its chain, or behind it in the axes of the goal's point.
struct SampledAxis {
  FamilyAxis<double> axis;
  int q_index;
  double gain, bias;
  bool behind;
};

// The closed form of six or seven neighbouring joints of a longer chain, for sampled values of the others. These are in
// the order in which their motion is taken off a target.
struct SampledForm {
  ClosedForm<double> form;
  std::vector<SampledAxis> axes;
};

// The joints of the chain in a pose: their indices in q, their units, and their ranges.
struct ListedJoints {
  int count = 0, q_index[7];
  double gain[7], bias[7];  // of the chain's value: gain q + bias
  double unit[7];           // 1 for radians, or L in metres
  double lower[7], upper[7];
  double period[7];            // of a whole turn; 0 for slides
  double long_way = HUGE_VAL;  // of two poses whole turns apart, one is at least as far from the start
};

// The closed form of the only goal of a problem with six joints, whose nearest branch begins a solve. `exact`: its
// branches are all poses; otherwise the chain is only nearly of the family, and they are guesses. A unit is divided by
// the root of the joint's stiffness: stiffer joints move less.
struct BranchStart {
  ClosedForm<double> form;
  ListedJoints joints;
  bool exact;
};

}  // namespace poise
