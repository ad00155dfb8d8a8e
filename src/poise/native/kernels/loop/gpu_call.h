// gpu_call.h: the argument of the kernels of a batch, one block of bytes. bind/gpu.cpp exports the layout, and Python
// fills it.
#pragma once

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

}  // namespace poise
