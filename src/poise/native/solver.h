// solver.h: a prepared problem with all its memory. Built once; a solve allocates nothing.
#pragma once
#include <vector>

#include "kernels/search.h"

namespace poise {

enum class Mode : int { NEAREST = 0, REPEATABLE = 1, CONTINUOUS = 2 };

struct SolverData {
  // the problem
  std::vector<Primitive<double>> primitives;
  std::vector<FrameData<double>> frames;
  std::vector<GoalSpec<double>> goals;
  std::vector<Coordinate> coordinates;  // of the velocities that may move
  std::vector<Freedom<double>> freedoms;
  std::vector<Freedom<double>> idle;  // joints that may move but that no goal depends on
  bool shared_columns = false;
  int n_q = 0, n_v = 0, n_rows = 0;
  double scale = 1.0;
  std::vector<double> posture_wanted, posture_gain;  // empty: no posture

  // how to solve it
  Settings<double> settings{};
  Mode mode = Mode::NEAREST;
  int searches = 1;  // the first from the start, the others from seeds
  unsigned seed = 0;
  double time_limit = -1.0;  // seconds; negative: none
  double span = 0.0;         // continuous mode: most radians (times L: metres) in one call
  bool polish = false;       // bring a missed goal to its true minimum
  int extra = 0;             // numbers of workspace that the method asked for
  bool record = false;       // keep every evaluated pose in `history`

  // for each goal with a position: a point that cannot move and the distances from it that can be
  struct Reachable {
    int goal;
    double center[3];
    double nearest, farthest;
  };
  std::vector<Reachable> reachable;

  // one call
  std::vector<double> start, targets, memory;
  SearchState<double> state{};
  int total_steps = 0, total_searches = 0, winner = 0;
  Outcome outcome = Outcome::RUNNING;
  bool out_of_time = false, proved_unreachable = false;
  double seconds = 0.0;
  std::vector<double> best_q, best_errors;
  double best_cost = 0.0, best_outside = 0.0;
  std::vector<double> history;  // rows of: search, cost, damping, errors, q

  Problem<double, BodyView<double>, GoalList<double>> problem() const {
    return {{primitives.data(), nullptr, static_cast<int>(primitives.size()), n_q, n_v, shared_columns},
            {goals.data(), frames.data(), static_cast<int>(goals.size())},
            coordinates.data(),
            static_cast<int>(coordinates.size()),
            freedoms.data(),
            n_q,
            n_v,
            n_rows,
            scale};
  }
  Posture<double> posture() const {
    if (posture_gain.empty()) return {nullptr, nullptr};
    return {posture_wanted.data(), posture_gain.data()};
  }
};

// gives the search its memory, once
void allot(SolverData& solver);

struct SolverOps {
  void (*solve)(SolverData&);    // from start and targets to the best pose
  void (*restart)(SolverData&);  // begins one search at start
  void (*advance)(SolverData&);  // one phase of it
};

}  // namespace poise
