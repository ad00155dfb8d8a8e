// batch.h: many problems of one prepared solver: the data shared by the threads, and the processing of one row.
//
// A worker has slots, one per lane. A slot contains a row of the batch: its start, its targets, the best pose so far.
// The worker's own copy of the solver is used for work on single rows: proofs, seeds, the final check, the polish of a
// missed goal.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/algebra/twin.h"
#include "kernels/loop/lanes.h"
#include "memory/scratch.h"
#include "memory/solver_data.h"
#include "run/listed.h"

namespace poise {

// the targets of one goal: rows of 3, 9 or 16 numbers
struct TargetRows {
  std::size_t goal;
  const void* data;
  bool single;         // float, not double
  bool raw;            // in the kernels' format, for goals that only Python can read
  std::size_t stride;  // numbers from one row to the next; 0 for a single row
};

// the places of a region of a clearance, as rows of 16 numbers
struct PlaceRows {
  std::size_t surfaces;
  int region;
  const double* data;
  std::size_t stride;  // 0 for a single row
};

struct BatchJob {
  const SolverData* solver = nullptr;
  std::vector<TargetRows> targets;
  std::vector<PlaceRows> places;
  const double* starts = nullptr;
  std::size_t start_stride = 0;  // 0 for a single row
  std::size_t rows = 0;
  int solutions = 1;

  // out: (rows, solutions, ...) except for steps and searches, which are (rows,)
  double* q64 = nullptr;  // one of the two
  float* q32 = nullptr;
  double* errors = nullptr;
  std::int8_t* status = nullptr;
  std::int32_t* steps = nullptr;
  std::int32_t* searches = nullptr;

  std::atomic<std::size_t> next{0}, done{0};
  std::atomic<bool> stop{false};
  bool (*asks)(const void*) = nullptr;  // whether to stop, called by the workers; may throw
};

// one row in progress; the arrays belong to the worker
struct Slot {
  std::size_t row = 0;
  bool busy = false;
  int searches = 0, steps = 0, found = 0;
  double best_outside = 0.0, best_cost = 0.0;
  Outcome outcome = Outcome::RUNNING;
  double *start = nullptr, *targets = nullptr, *best_q = nullptr, *best_errors = nullptr;
  double* q = nullptr;          // the start of the next search
  double* solutions = nullptr;  // solutions * (n_q + 2 goals + 1): pose, errors, distance from the start
};

// the result of a search
struct SearchEnd {
  bool reached;
  Outcome outcome;
  int steps;
  double outside, cost;
  const double* q;
  const double* errors;
};

// Rows whose closed form is evaluated together, in the lanes of a pack. Rows without a listed answer remain.
struct ListBlock {
  bool serve = false;
  const ClosedForm<double>* form = nullptr;
  std::size_t rows = 0;  // of a block, at most
  std::vector<std::size_t> numbers, left;
  std::size_t next_left = 0;
  ListedJoints joints;
  std::vector<double> starts, targets,
      from;  // for each row: the start, the targets, the chain's joint values at the start
  std::vector<ListAsk> asks;
  std::vector<NearestPose> nearest;     // of each row, if one answer is requested; otherwise
  std::vector<ListedPose> poses, kept;  // of all rows; the answers of one,
  std::vector<double> kept_far,
      kept_at;  // and separately their distances from the start and one joint, to compare many at once
  std::vector<ListedRow> listed;
  std::vector<ListedPlace> order;

  // poses that are checked together
  std::vector<double> base, q, errors;  // base: their common part
  std::vector<int> which;
  Scratch scratch;
};

struct Worker {
  BatchJob& job;
  SolverData own;
  std::unique_ptr<SolverData> first;  // of a strict problem
  std::vector<Slot> slots;
  std::vector<double> memory, end_q, end_errors;
  ListBlock lists;  // if there is a closed form, and several answers are requested or its branches are all of them
  Scratch scratch;

  Worker(BatchJob& shared, int lanes);
};

// Whether the batch has to end. A worker checks this in every iteration of a search, so that Ctrl-C works.
bool is_called_off(Worker& worker);

// reads the next row to search into the slot; false if none is left
bool take_row(Worker& worker, Slot& slot);

// Ends a search of the slot's row. True: another one begins at slot.q. False: the row is written.
bool next_search(Worker& worker, Slot& slot, const SearchEnd& end);

// whether a pose reaches the goals inside the ranges, in double; computes its errors
bool check_pose(SolverData& own, const double* targets, const double* q, double* errors);

// solves all rows with the single solver: for problems that lanes do not support
void run_alone(Worker& worker);

// whether threads can share the problem: not if it calls Python
bool threads_serve(const SolverData& solver);

// Problems that a GPU supports: two levels of point, rotation, pose and direction goals, a balance, a posture and ranges
// with the default method. The posture follows the search, once the goals are reached.
bool device_serves(const SolverData& solver);

// The first reason why a GPU does not support a problem, with the goal or the joint's index in q (-1 for none). Python
// has the texts (batch/device.py).
enum class Refusal : int {
  NONE,
  LOOP,
  GOAL_KIND,
  GOAL_RANGE,
  GOAL_LEVEL,
  METHOD,
  HANDLING,
  CONE,
  LIMIT,
  POWER,
  MODE,
  TIME,
  RECORD,
  STILL,
  PATH_JOINT,
  SCALE_JOINT
};
struct Refused {
  Refusal cause = Refusal::NONE;
  int goal = -1, q_index = -1;
};
Refused refused_by_device(const SolverData& solver);

// problems that lanes on the CPU support: the same without a posture, which the strict solver handles better row by row
bool lanes_serve(const SolverData& solver);
bool lanes_pay(const SolverData& solver);

// ---------------------------------------------------------------------------------------------- lanes

// the register type of lanes: one register, or two short ones
using LanePack = std::conditional_t<(POISE_REGISTER_BYTES < 32), Twin<NativePack<double>>, NativePack<double>>;

// the goals that lanes support: a list without points, so that the kernels omit the code for single problems
template <class T> struct PlainGoals {
  const GoalSpec<T>* specs;
  const FrameData<T>* frame_data;
  int n;
  POISE_FN int count() const { return n; }
  POISE_FN const GoalSpec<T>& operator[](int i) const { return specs[i]; }
  POISE_FN const FrameData<T>* frames() const { return frame_data; }
};

// the problem in T, float only on a GPU, relative to an origin: positions are subtracted in double
template <class T> struct LaneProblem {
  std::vector<Primitive<T>> primitives;
  std::vector<FrameData<T>> frames;
  std::vector<GoalSpec<T>> goals;
  std::vector<Freedom<T>> freedoms;
  std::vector<Mass<T>> masses;
  int n_targets = 0;
  std::vector<T> posture_wanted, posture_gain;
  Problem<T, BodyView<T>, PlainGoals<T>> view{};
  Settings<T> settings{};
  double origin[3] = {0, 0, 0};
  T fraction = T(1);

  explicit LaneProblem(const SolverData& solver);
};

struct BatchOps {
  int lanes;
  void (*run)(Worker&, const LaneProblem<double>&);
};
const BatchOps& batch_ops();  // the best level that this machine supports

}  // namespace poise
