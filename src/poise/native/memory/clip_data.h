// clip_data.h: all frames of a clip as one problem. Created for one call; its memory is allocated before the first
// step.
#pragma once
#include <vector>

#include "memory/solver_data.h"

namespace poise {

// The input of a clip; all arrays are frame by frame.
struct ClipData {
  SolverData* solver = nullptr;  // the goals, the body, the ranges; its own targets are not read
  int frames = 0;
  int n_targets = 0;                 // numbers of all targets of a frame
  std::vector<double> q;             // frames x n_q: the start, then the result
  std::vector<double> guide;         // frames x n_q: the origin of the displacements
  std::vector<double> targets;       // frames x n_targets
  std::vector<double> weights;       // frames x goals: factor on the rows of a goal in a frame; 0 omits it
  std::vector<char> hard;            // goals: whether held exactly
  std::vector<char> frozen;          // frames: whether it does not move
  std::vector<double> damping;       // frames: cost of a step, squared, which keeps it short
  std::vector<double> hold;          // n_v of the problem: cost of a displacement, squared
  std::vector<double> smooth;        // n_v of the problem: cost of its second difference, squared
  bool timed = false;                // whether speed or acceleration is bounded
  std::vector<double> speed;         // n_v of the problem: largest motion from frame to frame
  std::vector<double> acceleration;  // n_v of the problem: largest change of that motion
  int max_steps = 20;
  // the weight of hard goals, squared: more at first would prevent the rotation that a leg needs, and the last one leaves
  // about a millionth of the length, which each frame then corrects
  double first_weight = 1e2, last_weight = 1e6;
  double most_correction = 1e6;  // rad, or lengths of the body: of a frame to its hard goals
  double rest = 0.0;             // radians (times L: metres): a shorter step is the last one

  // results
  std::vector<double> errors;   // frames x goals x 2
  std::vector<double> gaps;     // frames: the nearest or most violated limit
  std::vector<double> lengths;  // frames: the length of the last step, in radians or lengths of the body
  int systems = 0;              // linear systems over all frames that were solved
  double cost = 0.0;
  bool called_off = false;

  // memory
  std::vector<double> trial, displacement, step, gradient, rows, J, front, factors, scratch;
  std::vector<double> placements;                 // frames x size_of_placements: of the last look at each
  std::vector<double> packed_force, packed_rest;  // of one frame: J^T r of coupled velocities; residuals of packed rows
  std::vector<GoalSpec<double>> lone_goals;       // the goals, each with its rows first
  std::vector<int> packed_before;                 // of one frame: the number of packed rows before each row
  std::vector<double> nearest;                 // 2 n_q: of one frame, the pose nearest to its hard goals, and its start
  std::vector<double> limit_rows, limit_rest;  // of one frame: rows of limits, and their gaps
  std::vector<double> pace, rate_force, rate_couplings;  // for speeds and accelerations: see run/clip/rates.h
  std::vector<int> coupled;                              // velocities that affect a row, in order
  std::vector<double> coupled_step, alone;               // their steps; 3 x frames for one of the other velocities
  std::vector<char> held;                                // frames x n_v: whether at a bound and pushed against it
  std::vector<char> resting;                             // rows of one frame: whether inside a range and staying there
};

// allocates the memory of a clip, once
void allot(ClipData& clip);

struct ClipOps { void (*solve)(ClipData&); };

const ClipOps& clip_ops();

}  // namespace poise
