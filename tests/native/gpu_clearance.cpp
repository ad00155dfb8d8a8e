// gpu_clearance.cpp: the passes of a clearance on the CPU, for the problem in given.h, which the test writes. Reads the
// argument of the kernels and its arrays, poses to judge, rows (a target and a start each) and places; writes the verdicts
// and what the passes wrote. A team has one thread here.
#include "kernels/loop/gpu_clearance.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "given.h"

using namespace poise;

namespace {

template <class T> std::vector<T> take(std::FILE* in) {
  long long bytes = 0;
  if (std::fread(&bytes, sizeof bytes, 1, in) != 1) std::abort();
  std::vector<T> out(static_cast<std::size_t>(bytes) / sizeof(T));
  if (std::fread(out.data(), 1, out.size() * sizeof(T), in) != out.size() * sizeof(T)) std::abort();
  return out;
}

// a clearance, whose arrays live as long as the program
template <class T> ClearanceCall<T> take_clearance(std::FILE* in) {
  static std::vector<T> numbers, balls;
  static std::vector<Obstacle<T>> obstacles;
  static std::vector<SurfaceLink<T>> links;
  static std::vector<CapsuleData<T>> capsules;
  static std::vector<LinkPair> pairs;
  static std::vector<int> pair_capsules;
  static std::vector<RegionData<T>> regions;
  static std::vector<DevicePlaces> places;
  ClearanceCall<T> call = take<ClearanceCall<T>>(in).at(0);
  numbers = take<T>(in);
  obstacles = take<Obstacle<T>>(in);
  const auto move = [&](const T*& at) { at = numbers.data() + reinterpret_cast<std::size_t>(at) / sizeof(T); };
  for (Obstacle<T>& each : obstacles) {
    move(each.cloud.points);
    move(each.cloud.boxes);
    move(each.faces);
  }
  call.obstacles = obstacles.data();
  call.balls = (balls = take<T>(in)).data();
  call.links = (links = take<SurfaceLink<T>>(in)).data();
  call.capsules = (capsules = take<CapsuleData<T>>(in)).data();
  call.pairs = (pairs = take<LinkPair>(in)).data();
  call.pair_capsules = (pair_capsules = take<int>(in)).data();
  call.regions = (regions = take<RegionData<T>>(in)).data();
  places = take<DevicePlaces>(in);
  static std::vector<std::vector<double>> transforms(places.size());  // empty: not placed
  for (std::size_t k = 0; k < places.size(); ++k) {
    transforms[k] = take<double>(in);
    places[k].data = transforms[k].empty() ? nullptr : transforms[k].data();
  }
  call.places = places.data();
  return call;
}

template <class T> void give(std::FILE* out, const std::vector<T>& rows) {
  std::fwrite(rows.data(), sizeof(T), rows.size(), out);
}

constexpr int M = f32::n_rows <= 10 ? f32::n_rows : 0;

// further searches of a large body
template <class P, class B, class Io> void gather_by_teams(const P& problem, const B& moving, const Io& io,
                                                           const ClearanceCall<double>& clear, int searches,
                                                           const std::vector<int>& left) {
  if constexpr (has_teams<P>) {
    const Settings<float> settings = f32::settings();
    TeamMemory<P, float> numbers{};
    TeamSearch<P, float, Alone> search{problem, settings, numbers};
    Suspect suspect;
    int next = 0;
    ClearSearches work{io,
                       left.data(),
                       static_cast<int>(left.size()),
                       searches,
                       [&](int row, const float* pose) {
                         return judge_row_gap(problem, moving, io, clear, row, pose, suspect) == Gap::CLEAR;
                       },
                       [&] { return next++; }};
    run_searches(search, work, Alone{});
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  int searches = 0;
  std::sscanf(argv[3], "%d", &searches);
  std::FILE* in = std::fopen(argv[1], "rb");
  auto clear = take_clearance<double>(in);
  auto coarse = take_clearance<float>(in);
  const auto poses = take<double>(in), targets = take<double>(in), starts = take<double>(in);
  const auto seeds = take<float>(in);
  std::fclose(in);
  const body::Problem moving;

  const f32::Problem problem;
  const f64::Problem exact;
  const std::size_t width = f32::model_q, n = starts.size() / width;
  const int rows = static_cast<int>(n);
  std::vector<signed char> verdicts;
  for (std::size_t k = 0; k < poses.size(); k += body::model_q) {
    Suspect suspect;
    const int row = static_cast<int>(k / body::model_q % n);
    verdicts.push_back(static_cast<signed char>(judge_gap(moving, clear, row, poses.data() + k, suspect)));
  }
  std::vector<double> errors(n * 2 * f32::n_goals);
  std::vector<float> q(n * width), best(2 * n);
  std::vector<signed char> codes(n);
  std::vector<int> steps(n), tried(n), left;
  std::vector<char> reached(n);
  DeviceRows<float, f32::n_goals> io{};
  io.targets[0] = targets.data();
  io.target_stride[0] = static_cast<long long>(targets.size() / n);
  io.starts = starts.data();
  io.start_stride = f32::model_q;
  io.rows = rows;
  io.q = q.data();
  io.errors = errors.data();
  io.reached = reinterpret_cast<bool*>(reached.data());
  io.codes = codes.data();
  io.steps = steps.data();
  io.searches = tried.data();
  io.best = best.data();
  io.seeds = seeds.data();
  SearchMemory<f32::Problem, float> memory;
  LaneState<float> state = memory.state();
  std::vector<double> moved(targets.size());
  clear.targets = moved.data();
  for (int row = 0; row < rows; ++row) move_row_targets(exact, io, clear, row);
  io.targets[0] = moved.data();
  const auto check = [&](int row) {
    if (codes[static_cast<std::size_t>(row)] != ROW_IN_COLLISION) check_row(exact, io, row);
    return check_clear_row(exact, moving, io, clear, row);
  };
  for (int row = 0; row < rows; ++row) {
    bool open = true;
    if constexpr (f32::begins_at_branch) open = place_row(problem, f32::settings(), f32::Rest{}.posture(), io, row);
    if (open) search_row_together<M>(problem, f32::settings(), io, 0, searches, row, Alone{}, memory, state);
    if (check(row)) left.push_back(row);
  }
  clear.last = 1;
  gather_by_teams(problem, moving, io, clear, searches, left);
  for (int row : left) {
    if constexpr (lists) list_clear_row(problem, exact, moving, io, coarse, row, Alone{});
    if constexpr (!has_teams<f32::Problem>) {
      gather_clear_row<M>(problem, f32::settings(), moving, io, clear, searches, row, Alone{}, memory, state);
    }
    if (check(row)) return 4;
  }
  for (int row = 0; row < rows && clear.places[0].data; ++row) block_row(io, clear, row);
  std::FILE* out = std::fopen(argv[2], "wb");
  give(out, verdicts);
  give(out, q);
  give(out, errors);
  give(out, codes);
  give(out, reached);
  give(out, tried);
  std::fclose(out);
  return 0;
}
