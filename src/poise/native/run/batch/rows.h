// rows.h: functions shared by rows.cpp and several.cpp: reading a row, writing its answers, checking a pose.
#pragma once
#include "run/alike.h"
#include "run/batch/batch.h"

namespace poise {

inline std::size_t index(int i) { return static_cast<std::size_t>(i); }

// reads a row's start into the worker's solver; false if a number is not finite or a quaternion is zero
bool read_start(Worker& worker, std::size_t row);

// reads a row's targets into the worker's solver; false if one is invalid
bool read_targets(Worker& worker, std::size_t row);

// places the regions of a row in the worker's solver; false if a number is not finite
bool read_places(Worker& worker, std::size_t row);

// reads a row's start, targets and places into the worker's solver; false if it is invalid, and written as such
bool read_given(Worker& worker, std::size_t row);

// whether the start has angles beyond the range of the packs' own sine
bool far_turned(const Worker& worker);

void write_pose(BatchJob& job, std::size_t at, const double* q, const double* errors, RowStatus status);

// writes `count` poses without an answer
void write_nothing(BatchJob& job, std::size_t at, std::size_t count, RowStatus status);

// writes the effort of a row, which is then done
void write_counts(BatchJob& job, std::size_t row, int steps, int searches);

// writes the answer of the worker's solver
void write_own(Worker& worker, std::size_t row);

// Checks a pose that should reach in double; if it does not, tries a few steps in double.
bool verify(Worker& worker, Slot& slot);

// Whether lanes search the rows of a problem with limits without them first: one level, answered by the first search
// whose end keeps the limits. A chain of six joints is answered by its list of branches instead.
bool limited_lanes_serve(const SolverData& solver);

// ---------------------------------------------------------------------------------------------- several answers

// Whether the slot's pose was found before, or one that is whole turns apart and nearer to the start; `far` is its own distance. Otherwise the
// answers whole turns apart are removed.
bool is_known(Worker& worker, Slot& slot, double far);

// the largest motion of a joint between two poses, in radians or metres over L
double distance_between(Worker& worker, const double* a, const double* b);

// stores the slot's pose in order of its distance from the start; true if there are enough
bool keep_solution(Worker& worker, Slot& slot, double far);

void write_solutions(Worker& worker, const Slot& slot);

// memory for lists of poses by a closed form
void allot_lists(Worker& worker);

// Answers the next rows of the batch from their closed form; rows without a listed answer remain. False without rows.
bool answer_block(Worker& worker, Slot& slot);

}  // namespace poise
