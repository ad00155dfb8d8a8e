// prepared.h: a prepared solver in Python: the problem, its names, and the readers of its targets.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bind/arrays.h"
#include "memory/body_data.h"
#include "memory/solver_data.h"

namespace poise {

struct PreparedSolver {
  SolverData data;
  std::vector<std::string> names;      // of the goals
  std::vector<nb::object> converters;  // converts targets that are not plain arrays
  std::vector<nb::object> residuals;   // of custom goals; None for the others
  std::vector<nb::object> jacobians;
  nb::object prove;                       // computes the postponed bounds; None if there are none
  std::vector<int> quaternions;           // where the quaternions of q start, movable or not
  std::vector<double> pending;            // targets being read
  std::unique_ptr<PreparedSolver> first;  // the first level alone, if the strict solve begins with it
  int n_v = 0;                            // of the body
  std::vector<int> index, column;         // of the body's primitives and velocities in the problem; -1 for none
  std::vector<double> gaussian_memory;    // for steps to a Gaussian's most likely pose; grows once
  std::vector<int> gaussian_columns;
  mutable std::atomic<bool> in_use{false};  // whether a thread is inside a call; other threads raise an error
  std::thread::id solved_by;                // the call that the last recorded solve belongs to
};

// A call of one thread. Meanwhile calls from other threads raise SolverInUse, because the solver's memory serves one
// call at a time.
class Use {
 public:
  explicit Use(const PreparedSolver& solver) : solver_(solver) {
    if (solver.in_use.exchange(true, std::memory_order_acquire)) refuse_use();
  }
  ~Use() { solver_.in_use.store(false, std::memory_order_release); }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

  // raises SolverInUse
  [[noreturn]] static void refuse_use() {
    refuse("SolverInUse",
           "this Solver is at work in another thread (or in a goal of its own that calls it); give each "
           "thread its own: solver.copy().");
  }

 private:
  const PreparedSolver& solver_;
};

// sets the time limit of the following calls; negative for none
inline void set_time_limit(PreparedSolver& solver, double seconds) {
  const Use use(solver);
  for (SolverData* d = &solver.data; d; d = d->first) d->time_limit = seconds;
}

// computes the postponed bounds, before threads share the problem
void complete_proofs(PreparedSolver& solver);

// fills a new solver from the table of poise.solvers
void prepare(PreparedSolver* solver, const Body& body, const AnyDict& table);

// fills a new solver with the problem of another one and the limits of a table; the cones and sums are the same
void prepare_again(PreparedSolver* solver, const PreparedSolver& other, const Body& body, const AnyDict& table);

}  // namespace poise
