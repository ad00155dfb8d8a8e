// rows.h: what rows.cpp and several.cpp share: reading a row, writing its answers, judging a pose.
#pragma once
#include "run/alike.h"
#include "run/batch/batch.h"

namespace poise {

inline std::size_t index(int i) { return static_cast<std::size_t>(i); }

// a row's start in the worker's solver; false if a number is not finite or a quaternion has no direction
bool read_start(Worker& worker, std::size_t row);

// a row's targets in the worker's solver; false if one is none
bool read_targets(Worker& worker, std::size_t row);

// a row's start and targets in the worker's solver; false: it is written as invalid
bool read_given(Worker& worker, std::size_t row);

// whether the start has angles beyond what the packs' own sine serves
bool far_turned(const Worker& worker);

void write_pose(BatchJob& job, std::size_t at, const double* q, const double* errors, RowStatus status);

// `count` poses for which there is no answer
void write_nothing(BatchJob& job, std::size_t at, std::size_t count, RowStatus status);

// what a row has cost; the row is done
void write_counts(BatchJob& job, std::size_t row, int steps, int searches);

// A pose that should reach, judged in double; where that says no, a few steps in double are tried.
bool verify(Worker& worker, Slot& slot);

// ---------------------------------------------------------------------------------------------- several answers

// whether the slot's pose is one of those found before
bool is_known(Worker& worker, const Slot& slot);

// the longest way of a joint between two poses, radians or metres over L
double distance_between(Worker& worker, const double* a, const double* b);

// keeps the slot's pose in order of its distance from the start; true: there are enough
bool keep_solution(Worker& worker, Slot& slot, double far);

void write_solutions(Worker& worker, const Slot& slot);

// memory for lists of poses by a closed form
void allot_lists(Worker& worker);

// Answers the next rows of the batch by what their closed form lists; those that it lists nothing for are left. False: there is none.
bool answer_block(Worker& worker, Slot& slot);

}  // namespace poise
