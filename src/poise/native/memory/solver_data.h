// solver_data.h: a prepared problem with all its memory. Built once; a solve allocates nothing.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/closed/form.h"
#include "kernels/loop/search.h"
#include "kernels/problem/reachable.h"
#include "kernels/strict/hierarchy.h"
#include "memory/body_data.h"
#include "memory/listed_poses.h"
#include "memory/surface_data.h"

namespace poise {

enum class Mode : int { NEAREST = 0, REPEATABLE = 1, CONTINUOUS = 2 };

// A pose with all its evaluated quantities.
struct StrictPoint {
  double *q, *placements;
  double *rows, *room;    // residuals of the goals, and how far each may move within its range
  double* errors;         // errors of each goal in metres and radians
  double* gaps;           // gaps of the limits, negative if violated; near_enough unless listed in `near`
  double* costs;          // costs of each level, and of the posture
  std::vector<int> near;  // limits: the nearest ones, and all violated ones
  int n_near = 0;
  double* measured;          // the pose of the gaps,
  bool is_measured = false;  // if they are of this call
};

// The purpose of a descent. run/strict/strict.h has a diagram of these states.
enum class Descent : int {
  LEVEL,    // until there is little to gain
  LEAVE,    // a pose of the goals out of collision, which often fails
  RETURN,   // a level above, after a search from elsewhere: back to its known result
  FINISH,   // a missed level: to the minimum itself
  POSTURE,  // after the last level
};

// The errors within which the goals of a level count as reached.
enum class Bars : int {
  TOLERANCE,  // their own tolerances
  GUARD,      // their known results
};

// The strict solve (run/strict/strict.h): its memory and its state.
struct StrictState {
  StrictPoint here{}, there{};   // the current pose, and the trial of the next step
  HierarchyWork<double> work{};  // of one step for all levels
  std::vector<double> memory;    // the memory behind the pointers
  std::vector<int> level_rows;   // the first row of each level, and the end
  std::vector<int> level_goals;  // the first goal of each level, and the end

  // the state of the descent
  Descent phase = Descent::LEVEL;  // its purpose
  int level = 0;                   // the descending level
  Bars bars = Bars::TOLERANCE;     // the errors within which its goals are reached,
  double* error_bar;               // in metres and radians
  int steps_solved = 0;            // in this call
  bool cut = false;                // the last descent ran out of steps before a minimum
  bool unfinished = false;         // so did the one that ended a missed level of this call
  double cost_to_beat = -1.0;      // a search is useful only below this cost; negative: at any cost
  double damping_share = 1.0;      // of the usual damping, for the descending level

  // the guard of the levels above
  double *error_guard, *cost_guard;  // no error of a goal, and no cost of a level, may exceed these
  std::vector<char>
      frozen;  // for each level: its rows are fixed (frozen_rows); otherwise they may move within its tolerance
  double* frozen_rows;
  double* start_gaps;  // gaps of the limits at the start of the call

  // the last step
  double predicted_cost = 0.0;        // the predicted cost of its level, to first order
  int n_returning = 0;                // violated limits that it corrects
  bool bounds_held = false;           // joints at a bound are excluded from it
  const double* assembled = nullptr;  // the pose of state.J, and its last level
  int assembled_level = 0;
  double *wanted, *limit_rows, *nearest_gaps;
  std::vector<Inequality<double>> inequalities;
  std::vector<int> order, near_limits, holds;
  std::vector<char> active, resting, loose;
};

// the end of a search, kept while others are tried
struct Kept {
  std::vector<double> q, errors;
  double cost = 0.0, outside = 0.0;
  Outcome outcome = Outcome::RUNNING;
  int winner = 0;
};

// The cost of a call so far, and its cancellation; see `late` in run/running.h.
struct Watch {
  using Time = std::chrono::steady_clock::time_point;
  Time begun{}, heard{};                // the times of the start of the call and of the last callback
  bool (*asks)(const void*) = nullptr;  // whether to stop; may throw
  const void* caller = nullptr;         // the argument of the callback
  bool over = false;                    // the result of the callback
  int patience = 0;                     // remaining checks of the clock before the next callback
  int unasked = 0, most_unasked = 0;    // poses evaluated since the last callback; the most between two
  long long poses = 0;                  // all evaluated poses

  // Calls back unless the last callback was recent: Python takes time.
  bool called_off() {
    const Time now = std::chrono::steady_clock::now();
    if (over || !asks || std::chrono::duration<double>(now - heard).count() < 0.05) return over;
    heard = now;
    return over = asks(caller);
  }
};

struct SolverData {
  // the problem
  std::vector<Primitive<double>> primitives;
  std::shared_ptr<const CurveStore> curves;  // memory behind their pointers
  std::vector<FrameData<double>> frames;
  std::vector<GoalSpec<double>> goals;
  std::vector<Coordinate> coordinates;  // indices of the movable velocities
  std::vector<Freedom<double>> freedoms;
  std::vector<double> periods;        // of the freedoms: the motion after which the body is the same; 0 for none
  std::vector<Freedom<double>> idle;  // joints that may move but that no goal depends on
  std::vector<int> idle_velocities;   // of the body
  bool shared_columns = false;
  int n_q = 0, n_v = 0, n_rows = 0;
  int chain = 0;  // 6 or 7 if the problem is that of an arm with so many hinges (kernels/problem/chain.h)
  double scale = 1.0;
  std::vector<double> posture_wanted, posture_gain;  // empty without a posture
  int posture_power = 2;
  std::vector<Mass<double>> masses;  // empty unless a goal needs them
  std::vector<int> points;           // frames of the supports' points
  std::vector<int> velocities;       // of the body, in the order of the columns
  std::vector<Run> runs;             // the rows that each velocity affects
  std::vector<Run> row_runs;         // the velocities that affect each row, if rows outnumber them
  std::vector<double> ones;          // likewise
  bool ranged = false;               // whether a goal has a range
  std::vector<LimitSpec<double>> limits;
  std::vector<double> numbers;  // of the limits
  std::vector<CapsuleData<double>> capsules;
  std::vector<PlacedCapsule<double>> placed;
  std::vector<SurfaceData> surfaces;  // rows of clearances among the limits
  ObstacleList obstacles;
  std::vector<ConeSpec<double>> cones;
  std::vector<CoupledTerm<double>> terms;
  bool strict = false;          // whether there are several levels, or limits other than joint ranges
  SolverData* first = nullptr;  // the first level alone, without such limits; null with closed loops

  // rows and columns of custom goals among the first `goals` goals, computed by their owner: (q, rows, errors, goals),
  // (q, J, goals)
  std::function<void(const double*, double*, double*, int)> custom_rows;
  std::function<void(const double*, double*, int)> custom_columns;

  // options of the solve
  Settings<double> settings{};
  Mode mode = Mode::NEAREST;
  int searches = 1;      // the first from the start, the others from seeds
  bool counted = false;  // whether that number was given; otherwise a strict solve makes fewer
  unsigned seed = 0;
  double time_limit = -1.0;  // seconds; negative for none
  double span = 0.0;         // continuous mode: largest motion in radians (times L: metres) per call
  bool polish = false;       // refine a missed goal to its true minimum
  int extra = 0;             // numbers of workspace of the method
  bool record = false;       // record every evaluated pose in `history`
  bool loose = false;        // whether a tolerance is wider than the default: later searches then aim at its region

  std::vector<Reachable<double>> reachable;
  std::function<void()> more_proofs;  // appends the other bounds, if they were postponed until a search misses
  bool proofs_complete = false;
  std::size_t early_bounds = 0;            // number of bounds in `reachable` that are known before a search misses
  std::size_t bounds_used = 0;             // number of active ones: a reused solver gives the same result as a new one
  std::vector<ClosedForm<double>> closed;  // computed together with them
  std::shared_ptr<const SampledForm> sampled;   // likewise; null unless the only goal has a longer chain than these
  std::shared_ptr<const BranchStart> branches;  // null if a solve begins at its start
  int tries = 20;                               // largest number of searches for the best pose if no pose reaches

  // the current call
  std::vector<double> start, targets, memory;
  std::vector<double> window;  // for the next call: 2 for each velocity of the body; empty for none
  std::vector<double> own_window, held;
  std::vector<double> newton;  // see run/newton.h
  std::vector<double> bend;    // for custom goals under Halley's rule: 2 n_rows n_v, and a pose
  SearchState<double> state{};
  StrictState strict_state;
  int relaxed_from = 0, relaxed_to = 0;  // goals of which only the errors beyond their tolerances count
  int total_steps = 0, total_searches = 0, winner = 0;
  Outcome outcome = Outcome::RUNNING;
  bool out_of_time = false, proved_unreachable = false;
  bool searched = false;              // the caller has made the first search without the limits,
  const double* known_end = nullptr;  // and this is its end, if it reaches
  int colliding = 0;                  // listed poses, each in collision; 0 unless all of them are
  bool nearly_clear = false;          // all of them are, one by less than the tolerance: a batch searches no further
  double seconds = 0.0;
  Watch watch;
  std::vector<double> best_q, best_errors;
  double best_cost = 0.0, best_outside = 0.0;
  Kept kept;
  ListMemory listed;            // of find.h
  std::vector<double> history;  // rows of: search, cost, damping, errors, q

  Problem<double, BodyView<double>, GoalList<double>> problem() const {
    const Mass<double>* mass = masses.empty() ? nullptr : masses.data();
    return {{primitives.data(), mass, static_cast<int>(primitives.size()), n_q, n_v, shared_columns},
            {goals.data(), frames.data(), static_cast<int>(goals.size()), points.data()},
            coordinates.data(),
            static_cast<int>(coordinates.size()),
            freedoms.data(),
            n_q,
            n_v,
            n_rows,
            scale,
            cones.data(),
            static_cast<int>(cones.size())};
  }
  LimitList<double> limit_list() {
    return {limits.data(),         static_cast<int>(limits.size()),   capsules.data(), cones.data(),
            terms.data(),          static_cast<int>(capsules.size()), placed.data(),   numbers.data(),
            obstacles.views.data()};
  }
  Posture<double> posture() const {
    if (posture_gain.empty()) return {nullptr, nullptr};
    return {posture_wanted.data(), posture_gain.data(), 1.0, posture_power};
  }
};

// allocates the memory of the search, once
void allot(SolverData& solver);

struct SolverOps {
  void (*solve)(SolverData&);    // solves from start and targets to the best pose
  void (*restart)(SolverData&);  // starts one search at start
  void (*advance)(SolverData&);  // runs one phase of it

  // parts of a solve, for callers that run the searches themselves
  void (*begin)(SolverData&);                                   // prepares a solve after start and targets are set
  void (*seed)(const SolverData&, unsigned search, double* q);  // computes the start of search 1, 2, ...
  bool (*place_nearest)(const SolverData&, double* q);          // moves a start to the nearest branch, if any
  void (*polish)(SolverData&);                                  // refines best_q to the minimum
  bool (*keeps_limits)(SolverData&, const double* q);           // whether a pose keeps the limits

  // the smallest gap of each of `count` poses [m]
  void (*least_gaps)(const BodyView<double>&, const LimitList<double>&, const SurfaceList<double>&, const double* q,
                     std::size_t count, double* placements, double* out);
};

}  // namespace poise
