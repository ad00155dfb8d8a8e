// gpu_entry.cpp: the passes of a GPU batch on the CPU, for the problem in given.h, which the test writes. Reads rows from a
// file (targets, then a start each), writes what the passes wrote. A team that searches has one thread here, or two for a large body
// without early searches; one that decides has 32.
#include "kernels/loop/gpu_branches.h"
#include "kernels/loop/gpu_team_posture.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "given.h"

using namespace poise;

namespace {

// threads that share memory and wait for each other, as those of a warp do
constexpr int crowd = 32;
struct Crowd {
  std::barrier<>* all;
  int mine;
  int size() const { return crowd; }
  int rank() const { return mine; }
  int add(int* at, int x) const { return std::atomic_ref<int>(*at).fetch_add(x); }
  void lower(unsigned* at, unsigned x) const {
    std::atomic_ref<unsigned> lowest(*at);
    for (unsigned seen = lowest; x < seen && !lowest.compare_exchange_weak(seen, x);) {}
  }
  void wait() const { all->arrive_and_wait(); }
};

// Decides rows; returns those that are open.
template <class Io> std::vector<int> decide(const Io& io, const std::vector<int>& rows) {
  CellMemory<double> memory;
  std::barrier<> all{crowd};
  std::atomic<std::size_t> taken{0};
  std::vector<int> open;
  std::mutex one;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < crowd; ++rank) {
    threads.emplace_back([&, rank] {
      const f64::Problem exact;
      decide_rows_together(
          exact, io, memory, Crowd{&all, rank}, places_for(static_cast<int>(rows.size()), 1),
          [&] {
            const std::size_t k = taken++;
            return k < rows.size() ? rows[k] : -1;
          },
          [&](int row) {
            const std::lock_guard<std::mutex> hold(one);
            open.push_back(row);
          });
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::sort(open.begin(), open.end());
  return open;
}

constexpr int M = f32::n_rows <= 10 ? f32::n_rows : 0;
constexpr int first_round = 4;

// threads that share the numbers of a row and wait for each other
template <int N> struct Pair {
  struct Shared {
    std::barrier<> all{N};
    double slots[N];
  };
  Shared* shared;
  int mine;
  static constexpr int size() { return N; }
  int rank() const { return mine; }
  void wait() const { shared->all.arrive_and_wait(); }
  // f(the values of all threads), the same in each of them
  template <class X, class F> X gather(X x, const F& f) const {
    static_assert(sizeof(X) <= sizeof(double));
    std::memcpy(&shared->slots[mine], &x, sizeof(X));
    wait();
    X all[N];
    for (int k = 0; k < N; ++k) std::memcpy(&all[k], &shared->slots[k], sizeof(X));
    wait();
    return f(all);
  }
  template <class X> X from(X x, int who) const {
    return gather(x, [who](const X* all) { return all[who]; });
  }
  template <class X> X total(X x) const {
    return gather(x, [](const X* all) { return std::accumulate(all, all + N, X{}); });
  }
  template <class X> X most(X x) const {
    return gather(x, [](const X* all) { return *std::max_element(all, all + N); });
  }
  bool any(bool x) const { return most(static_cast<int>(x)) != 0; }
  SearchKey read(const SearchKey* at) const { return from(mine == 0 ? *at : 0, 0); }
  void lower(SearchKey* at, SearchKey x) const { *at = x < *at ? x : *at; }
  void raise(int* at, int x) const { *at = x > *at ? x : *at; }
};

// runs f(team) in every thread of a team
template <class F> void run_team(bool alone, const F& f) {
  if (alone) return f(Alone{});
  Pair<2>::Shared shared;
  std::thread other([&] { f(Pair<2>{&shared, 1}); });
  f(Pair<2>{&shared, 0});
  other.join();
}

// a large body, as the teams of a device search it; the number of rows that their first searches missed
template <class P, class Io>
std::size_t search_by_teams(const P& problem, const Io& io, int early, int searches, bool alone) {
  TeamMemory<P, float> memory;
  std::memset(static_cast<void*>(&memory), 0xff, sizeof(memory));  // NaN: shared memory has no initial values
  const auto settings = f32::settings();
  std::vector<SearchKey> keys(static_cast<std::size_t>(io.rows));
  std::vector<int> hard;
  int next = 0;
  const auto count = [&next] { return next++; };
  run_team(alone, [&](auto team) {
    TeamSearch<P, float, decltype(team)> search{problem, settings, memory, team};
    EarlySearches first{io, keys.data(), early, searches, count, [&hard](int row) { hard.push_back(row); }};
    run_searches(search, first, Alone{});
  });
  const int missed = static_cast<int>(hard.size());
  next = 0;
  run_team(alone, [&](auto team) {
    TeamSearch<P, float, decltype(team)> search{problem, settings, memory, team};
    LateSearches late{io, keys.data(), hard.data(), missed, early, searches, count};
    run_searches(search, late, Alone{});
  });
  next = 0;
  run_team(alone, [&](auto team) {
    TeamSearch<P, float, decltype(team)> search{problem, settings, memory, team};
    RepeatedSearches again{io, keys.data(), hard.data(), missed, count};
    run_searches(search, again, Alone{});
  });
  return hard.size();
}

// the postures of a large body, after its poses have been checked
template <bool finish, class P, class Io> void rest_by_teams(const P& problem, const Io& io, bool alone) {
  RestMemory<P> memory;
  std::memset(static_cast<void*>(&memory), 0xff, sizeof(memory));
  const auto settings = f64::settings();
  const f64::Rest rest;
  const auto posture = rest.posture();
  int next = 0;
  run_team(alone, [&](auto team) {
    TeamSearch<P, double, decltype(team)> search{problem, settings, memory.search, team};
    TeamDescent<P, decltype(team)> body{search, memory, posture};
    const auto count = [&next] { return next++; };
    RestingRows<finish, Io, decltype(count)> work{io, count};
    run_searches(body, work, Alone{});
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  int rows = 0, early = 0, searches = 0, finish = 0;
  std::sscanf(argv[3], "%d", &rows);
  std::sscanf(argv[4], "%d", &early);
  std::sscanf(argv[5], "%d", &searches);
  std::sscanf(argv[6], "%d", &finish);
  const f32::Problem problem;
  const auto n = static_cast<std::size_t>(rows), n_q = static_cast<std::size_t>(f32::model_q);
  constexpr std::size_t goals = f32::n_goals;
  std::vector<double> targets[goals], starts(n * n_q), errors(n * goals * 2), finished(n * n_q);
  std::vector<float> q(n * n_q), best(2 * n), seeds(static_cast<std::size_t>(searches) * f32::n_q);
  std::vector<signed char> codes(n);
  std::vector<int> steps(n), tried(n), hard;
  std::vector<char> reached(n);
  DeviceRows<float, f32::n_goals> io{};
  std::FILE* in = std::fopen(argv[1], "rb");
  std::size_t read = 0, wanted = 0;
  for (std::size_t g = 0; g < goals; ++g) {
    const int width = target_width(problem.goals[static_cast<int>(g)].op);
    targets[g].resize(n * static_cast<std::size_t>(width));
    read += std::fread(targets[g].data(), 8, targets[g].size(), in);
    wanted += targets[g].size();
    io.targets[g] = targets[g].data();
    io.target_stride[g] = width;
  }
  read += std::fread(starts.data(), 8, starts.size(), in) + std::fread(seeds.data(), 4, seeds.size(), in);
  std::fclose(in);
  if (read != wanted + starts.size() + seeds.size()) return 3;
  io.starts = starts.data();
  io.start_stride = f32::model_q;
  io.rows = rows;
  io.q = q.data();
  io.finished = finish ? finished.data() : nullptr;
  io.errors = errors.data();
  io.reached = reinterpret_cast<bool*>(reached.data());
  io.codes = codes.data();
  io.steps = steps.data();
  io.searches = tried.data();
  io.best = best.data();
  io.seeds = seeds.data();

  int next = 0;
  if constexpr (has_teams<f32::Problem>) {
    std::printf("hard %zu\n", search_by_teams(problem, io, early < 1 ? 1 : early, searches, early > 0));
  }
  SearchMemory<f32::Problem, float> memory;
  LaneState<float> state = memory.state();
  const auto search = [&](int row, int from, int to) {
    search_row_together<M>(problem, f32::settings(), io, from, to, row, Alone{}, memory, state);
  };
  if constexpr (has_teams<f32::Problem>) {
  } else if constexpr (f32::begins_at_branch) {
    const f32::Rest rest;
    for (int row = 0; row < rows; ++row) {
      if (place_row(problem, f32::settings(), rest.posture(), io, row)) hard.push_back(row);
    }
  } else if (early > 0) {
    search_rows<M>(
        problem, f32::settings(), io, early, searches, [&next] { return next++; },
        [&hard](int row) { hard.push_back(row); }, Alone{});
  } else {
    const int most = f32::n_closed > 0 && first_round < searches ? first_round : searches;
    for (int row = 0; row < rows; ++row) {
      search(row, 0, most);
      if (is_missed(codes[static_cast<std::size_t>(row)])) hard.push_back(row);
    }
  }
  std::printf("hard %zu\n", hard.size());
  if (f32::n_closed > 0) hard = decide(io, hard);
  for (int row : hard) search(row, io.searches[row], searches);
  const f64::Problem exact;
  const f64::Rest exact_rest;
  constexpr bool rests = f64::Problem::has_posture && !has_teams<f64::Problem>;  // a large body rests by teams
  for (int row = 0; row < rows; ++row) {
    if (finish) {
      finish_row<M, rests>(exact, f64::settings(), exact_rest.posture(), io, row);
    } else if constexpr (rests) {
      rest_row<M>(exact, f64::settings(), exact_rest.posture(), io, row);
    } else {
      check_row(exact, io, row);
    }
  }
  if constexpr (f64::Problem::has_posture && has_teams<f64::Problem>) {
    if (finish)
      rest_by_teams<true>(exact, io, early > 0);
    else
      rest_by_teams<false>(exact, io, early > 0);
  }

  std::FILE* out = std::fopen(argv[2], "wb");
  if (finish) {
    std::fwrite(finished.data(), 8, finished.size(), out);
  } else {
    std::fwrite(q.data(), 4, q.size(), out);
  }
  std::fwrite(errors.data(), 8, errors.size(), out);
  std::fwrite(codes.data(), 1, n, out);
  std::fwrite(reached.data(), 1, n, out);
  std::fwrite(steps.data(), 4, n, out);
  std::fwrite(tried.data(), 4, n, out);
  std::fclose(out);
  std::printf("open %zu\n", hard.size());
  return 0;
}
