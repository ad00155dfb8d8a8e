// gpu_call.h: the arguments of the kernels of a batch, each one block of bytes. bind/gpu.cpp exports the layouts, and
// Python fills them.
#pragma once
#include "kernels/limits/surfaces.h"

namespace poise {

struct DeviceCall {
  const void* starts;
  long long start_stride;  // numbers from one row to the next; 0: the same for all
  float* q;
  double *finished, *errors;
  bool* reached;
  signed char* codes;
  int *steps, *searches;
  float* best;
  const float* seeds;
  int *counters, *hard,
      *open;              // counters; rows abandoned by the first searches; those of them that no closed form decided
  int rows, early, most;  // searches per row by one thread or team before others take over, and in all
};

template <int GOALS> struct GoalsCall : DeviceCall {
  const void* targets[GOALS];
  long long strides[GOALS];
};

// transforms of the rows, 4 x 4 numbers each, and the regions that they move
struct DevicePlaces {
  const void* data;  // or null
  long long stride;  // numbers from one row to the next; 0: the same for all
  int single;        // float, not double
  int first, last;   // regions [first, last)
};

// the second argument of the passes of a clearance (gpu_clearance.h), and of a placed base and world (gpu_places.h)
template <class T> struct ClearanceCall {
  const SurfaceLink<T>* links;
  const CapsuleData<T>* capsules;
  const LinkPair* pairs;
  const int* pair_capsules;
  const RegionData<T>* regions;
  const Obstacle<T>* obstacles;
  const T* balls;              // around each region: center and radius
  const DevicePlaces* places;  // of the base, with the regions that have no place of their own; then of the others
  double* targets;             // as the base sees them: those of the first goal, the second, ...
  int *rows, *counters;        // rows that reach in collision; their number, the next one to list, to search
  T distance, least;           // required clearance, and the smallest gap in addition to it [m]
  T deep;                      // a gap below it is one in every pose that reaches [m]
  T far;                       // distance of the base from regions at which T cannot tell whether a pose is clear [m]
  int n_links, n_pairs, n_places;
  int goal_primitive;  // which carries the frame of the only goal, a transform; otherwise -1
  int last;            // whether the remaining rows have been searched further
  int certain;         // whether listed poses are all that may reach: no tolerance is wide
  int fixed, above;    // capsules [fixed, above): no joint moves them; `above`: a ball on top of the base's origin
};

}  // namespace poise
