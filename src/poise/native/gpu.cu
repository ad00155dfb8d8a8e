// gpu.cu: the kernels of a batch. native/gpu_source.py fills in the problem and the arguments that depend on it.
#include "gpu_entry.h"

/*PROBLEMS*/

using namespace poise;

constexpr int M = /*ROWS*/;
constexpr unsigned everyone = 0xffffffffu;

// the next rows, one atomic operation for all threads of a warp that ask together
struct Queue {
  int* counter;
  POISE_FN int operator()() const {
    const unsigned asking = __activemask();
    unsigned rank;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(rank));
    const int leader = __ffs(asking) - 1;
    int first = 0;
    if ((asking & rank) == 0) first = atomicAdd(counter, __popc(asking));
    return __shfl_sync(asking, first, leader) + __popc(asking & rank);
  }
};

struct Warp {
  POISE_FN int size() const { return 32; }
  POISE_FN int rank() const { return threadIdx.x & 31; }
  POISE_FN int lowest(bool x) const { return __ffs(__ballot_sync(everyone, x)) - 1; }
  POISE_FN float from(float x, int who) const { return __shfl_sync(everyone, x, who); }
  POISE_FN int sum(int x) const { return __reduce_add_sync(everyone, x); }
  // the thread with the least (a, b)
  POISE_FN int least(float a, float b) const {
    int who = rank();
    for (int k = 16; k > 0; k /= 2) {
      const float other_a = __shfl_xor_sync(everyone, a, k), other_b = __shfl_xor_sync(everyone, b, k);
      const int other = __shfl_xor_sync(everyone, who, k);
      const bool less = other_a < a || (other_a == a && (other_b < b || (other_b == b && other < who)));
      a = less ? other_a : a;
      b = less ? other_b : b;
      who = less ? other : who;
    }
    return who;
  }
};

// clang-format off: what stands in comments here is replaced by text of another length
#define POISE_ARGUMENTS                                                                                            \
  /*TARGETS*/, const /*START*/ *starts, long long start_stride, int rows, float *q, double *errors, bool *reached, \
      signed char *codes, int *steps, int *searches, float *best, const float *seeds
#define POISE_GIVEN /*NAMES*/, starts, start_stride, rows, q, errors, reached, codes, steps, searches, best, seeds
// clang-format on

POISE_FN DeviceRows<float, f32::n_goals> rows_of(POISE_ARGUMENTS) {
  return {{/*POINTERS*/}, {/*STRIDES*/}, {/*SINGLE*/}, starts, /*START_SINGLE*/, start_stride, rows, q,
          errors,         reached,       codes,        steps,  searches,         best,         seeds};
}

// counters: the next row, how many are hard, the next hard one
extern "C" __global__ void __launch_bounds__(128, /*BLOCKS*/)
    search_rows(POISE_ARGUMENTS, int early, int most, int* counters, int* hard) {
  const auto io = rows_of(POISE_GIVEN);
  const f32::Problem problem;
  const f32::Rest rest;
  search_rows<M>(
      problem, f32::settings(), rest.posture(), io, early, most, Queue{counters},
      [=](int row) { hard[atomicAdd(counters + 1, 1)] = row; }, Warp{});
}

// `first` 0: every row, from its first search on; else the rows that were given up after so many
extern "C" __global__ void __launch_bounds__(128)
    search_hard(POISE_ARGUMENTS, int first, int most, int* counters, const int* hard) {
  const auto io = rows_of(POISE_GIVEN);
  const f32::Problem problem;
  const f32::Rest rest;
  const Warp team;
  SearchMemory<f32::Problem, float> memory;
  LaneState<float> state = memory.state();
  const int count = first ? counters[1] : rows;
  for (;;) {
    int k = 0;
    if (team.rank() == 0) k = atomicAdd(counters + 2, 1);
    k = __shfl_sync(everyone, k, 0);
    if (k >= count) return;
    search_row_together<M>(problem, f32::settings(), rest.posture(), io, first, most, first ? hard[k] : k, team, memory,
                           state);
  }
}

extern "C" __global__ void __launch_bounds__(128) check_rows(POISE_ARGUMENTS) {
  const auto io = rows_of(POISE_GIVEN);
  const f64::Problem problem;
  const long long row = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
  if (row < rows) check_row(problem, io, static_cast<int>(row));
}
