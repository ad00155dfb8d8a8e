// clip_data.h: all frames of a clip as one problem. Built for one call; its memory is given out before the first step.
#pragma once
#include <vector>

#include "memory/solver_data.h"

namespace poise {

// What is asked of a clip: everything is by frames, one after the other.
struct ClipData {
  SolverData* solver = nullptr;  // the goals, the body, the ranges; its own targets are not read
  int frames = 0;
  int n_targets = 0;                 // numbers of all targets of one frame
  std::vector<double> q;             // frames x n_q: the start, then the answer
  std::vector<double> guide;         // frames x n_q: displacements are told from it
  std::vector<double> targets;       // frames x n_targets
  std::vector<double> weights;       // frames x goals: factor on the rows of a goal at a frame; 0 leaves it out
  std::vector<char> hard;            // goals: held exactly
  std::vector<char> frozen;          // frames: does not move
  std::vector<double> hold;          // n_v of the problem: cost of a displacement, squared
  std::vector<double> smooth;        // n_v of the problem: cost of its second difference, squared
  bool timed = false;                // whether there are bounds of speed or acceleration
  std::vector<double> speed;         // n_v of the problem: most that a velocity moves from frame to frame
  std::vector<double> acceleration;  // n_v of the problem: most by which that changes
  int max_steps = 20;
  double rest = 1e-7;  // radians (times L: metres) below which a step counts as none

  // what came out
  std::vector<double> errors;  // frames x goals x 2
  std::vector<double> gaps;    // frames: of the limit that is nearest, or broken most
  int steps = 0;
  int systems = 0;  // linear systems over all frames that were solved for them
  double cost = 0.0;
  bool called_off = false, settled = false;

  // memory
  std::vector<double> trial, displacement, step, gradient, rows, J, front, factors, scratch;
  std::vector<double> nearest;                           // 2 n_q: of one frame, nearest to its hard goals; its start
  std::vector<double> limit_rows, limit_rest;            // of one frame: rows of limits, and what is left of each
  std::vector<double> pace, rate_force, rate_couplings;  // of speeds and accelerations: see run/clip/rates.h
  std::vector<int> coupled;                              // velocities that a row moves, in order
  std::vector<double> coupled_step, alone;               // their steps; 3 x frames for one of the others
  std::vector<char> held;                                // frames x n_v: at a bound, and pushed against it
  std::vector<char> resting;                             // rows of one frame: inside a range, and not led out of it
};

// gives a clip its memory, once
void allot(ClipData& clip);

struct ClipOps { void (*solve)(ClipData&); };

const ClipOps& clip_ops();

}  // namespace poise
