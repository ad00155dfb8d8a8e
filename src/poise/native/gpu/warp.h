// warp.h: the threads of a warp as teams, and a queue of rows that they share. For NVRTC alone.
#pragma once
#include "kernels/loop/gpu_searches.h"

namespace poise {

constexpr unsigned everyone = 0xffffffffu;

// the next rows, by one atomic operation for all threads of a warp that need one
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

// a team of threads in a warp
template <int N> struct Group {
  static POISE_FN constexpr int size() { return N; }
  POISE_FN int rank() const { return threadIdx.x & (N - 1); }
  POISE_FN int first() const { return threadIdx.x & 31 & ~(N - 1); }
  POISE_FN unsigned members() const { return N == 32 ? everyone : ((1u << (N & 31)) - 1) << first(); }
  POISE_FN void wait() const { __syncwarp(members()); }
  template <class X> POISE_FN X from(X x, int who) const { return __shfl_sync(members(), x, who, N); }
  POISE_FN bool any(bool x) const { return __any_sync(members(), x); }
  POISE_FN int lowest(bool x) const { return __ffs(__ballot_sync(members(), x) >> first()) - 1; }
  POISE_FN int sum(int x) const { return __reduce_add_sync(members(), x); }
  template <class X> POISE_FN X total(X x) const {
    for (int k = N / 2; k > 0; k /= 2) x += __shfl_xor_sync(members(), x, k, N);
    return x;
  }
  // the same for every thread, also where some numbers are NaN
  template <class X> POISE_FN X most(X x) const {
    for (int k = N / 2; k > 0; k /= 2) x = maximum(x, __shfl_xor_sync(members(), x, k, N));
    return from(x, 0);
  }
  // the thread with the smallest (a, b)
  POISE_FN int least(float a, float b) const {
    int who = rank();
    for (int k = N / 2; k > 0; k /= 2) {
      const float other_a = __shfl_xor_sync(members(), a, k, N), other_b = __shfl_xor_sync(members(), b, k, N);
      const int other = __shfl_xor_sync(members(), who, k, N);
      const bool less = other_a < a || (other_a == a && (other_b < b || (other_b == b && other < who)));
      a = less ? other_a : a;
      b = less ? other_b : b;
      who = less ? other : who;
    }
    return who;
  }
  // operations across the threads of a team, and of other teams: add, minimum and maximum
  POISE_FN int add(int* at, int x) const { return atomicAdd(at, x); }
  template <class X> POISE_FN void lower(X* at, X x) const { atomicMin(at, x); }
  POISE_FN void raise(int* at, int x) const { atomicMax(at, x); }
  // memory that other teams write
  POISE_FN SearchKey read(const SearchKey* at) const {
    return from(rank() == 0 ? *static_cast<const volatile SearchKey*>(at) : 0, 0);
  }
};
using Warp = Group<32>;

}  // namespace poise
