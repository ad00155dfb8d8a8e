// parallel.h: a loop over the rows of a batch: few with the interpreter's lock, many without, very many on all cores.
#pragma once
#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

#include "kernels/portable.h"

namespace poise {

constexpr std::size_t rows_worth_releasing = 64;   // from this number on the lock is released
constexpr std::size_t rows_worth_a_thread = 2048;  // least number per thread
constexpr std::size_t row_grain = 64;  // threads split at multiples of this: packs are the same for any number

inline std::size_t& thread_limit() {
  static std::size_t limit = 0;
  return limit;
}

inline void set_threads(int count) { thread_limit() = count > 0 ? static_cast<std::size_t>(count) : 0; }

inline std::size_t threads_for(std::size_t rows) {
  if (!has_threads) return 1;
  const std::size_t cores = thread_limit() ? thread_limit() : std::max(1u, std::thread::hardware_concurrency());
  return std::clamp<std::size_t>(rows / rows_worth_a_thread, 1, cores);
}

// f(first row, number of rows), on several threads for large batches; the first exception is rethrown
template <class F> void share_rows(std::size_t rows, const F& f) {
  const std::size_t threads = threads_for(rows);
  const std::size_t share = (rows / threads + row_grain) / row_grain * row_grain;
  std::vector<std::exception_ptr> failures(threads);
  const auto work = [&](std::size_t t) {
    const std::size_t first = std::min(rows, t * share), last = std::min(rows, first + share);
    try {
      if (first < last) f(first, last - first);
    } catch (...) {
      failures[t] = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  others.reserve(threads);
  for (std::size_t t = 1; t < threads; ++t) others.emplace_back(work, t);
  work(0);
  for (std::thread& thread : others) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

template <class F> void for_rows(std::ptrdiff_t rows, const F& f) {
  const auto n = static_cast<std::size_t>(rows);
  if (n < rows_worth_releasing) {
    f(std::size_t{0}, n);
    return;
  }
  nanobind::gil_scoped_release release;
  share_rows(n, f);
}

}  // namespace poise
