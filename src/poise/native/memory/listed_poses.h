// listed_poses.h: poses that a closed form lists, and the memory of a list.
#pragma once
#include <vector>

namespace poise {

// One pose: the values of the chain's joints, inside their ranges, and the largest motion of a joint from the start.
struct ListedPose {
  double far;
  int branch;
  double values[7];
};

// A query: the branches of a target at a value of the free joint, for a row; `start` has the joints of the chain.
struct ListAsk {
  const double *target, *start;
  double value;
  int row;
};

// the index of a pose in a list, and its sort key
struct ListedPlace {
  double far;
  int branch, at;
  bool nearest;
};

// The memory of one list; it grows when the first one is made.
struct ListMemory {
  std::vector<ListAsk> asks;
  std::vector<ListedPose> poses;
  std::vector<ListedPlace> order;
  std::vector<double> q;
};

}  // namespace poise
