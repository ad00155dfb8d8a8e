// tuning.h: the parameters of the strict solve, each with its reason. Part of solve.cpp.
//
// They do not affect correctness: a pose is taken only if the limits and the levels above are kept. They set the effort
// of a solve, its range, and the size of rounding. Lengths are in lengths of the body (L), angles in radians, costs as
// fractions of a cost.
#pragma once

namespace poise {

// The pace of a descent, by its purpose; `pace_of` (descent.h) chooses.
struct Pace {
  double enough;      // of the cost: a step that gains less is quiet
  int patience;       // number of quiet steps that end the descent
  int attempts;       // trials for one step, each shorter than the previous one
  int steps;          // at most; 0 for the limit of the call
  double least_gain;  // of the cost: a step with a smaller prediction is not tried
};

struct StrictTuning {
  // --- the descent of a level
  Pace whole{1e-7, 3, 12, 0, 1e-9};          // until there is little to gain: restarts and the finish follow
  Pace whole_posture{1e-4, 3, 12, 0, 1e-9};  // a posture is only a preference: its last digits are not worth a step
  // to the minimum itself, so that a missed goal gives a constant pose
  Pace finish{1e-13, 3, 12, 0, 1e-9};
  // continuous mode: the next call continues from here, so small gains wait for it
  Pace frame{1e-2, 1, 4, 8, 1e-4};
  Pace frame_posture{1e-2, 3, 4, 2, 1e-4};  // likewise
  Pace hopeless{1e-2, 1, 4, 8, 1e-4};       // a row of a batch that cannot reach needs a pose, not the best one
  Pace leave{1e-2, 2, 4, 20, 1e-4};         // out of a collision: it often fails, and should do so soon
  int frame_steps = 12;                     // continuous mode: steps solved in one call, over all levels
  int frame_level_steps = 3;                // least number for every level
  // a search from a seed reaches the known result of the levels above, or is abandoned
  int return_steps = 40;
  int searches = 8;                // for the built-in figure, no search after the eighth had a lower cost
  int free_searches = 32;          // without the limits, for a pose that keeps them
  int search_poses = 600;          // with limits: after so many poses no search begins, unless their number is given
  int samples = 96;                // of the joints outside the chain of a closed form,
  int sampled_values = 4;          // each with so many values of its free joint;
  int samples_between = 32;        // then the least deep collision of these is left
  int same_ends = 1;               // searches with the result of the best one, after which no more are made
  double posture_at_rest = 1e-12;  // a posture with a lower cost has arrived

  // --- poses on the arcs of a free joint, if all listed ones collide
  double arc_spacing = 0.1;  // of the first poses: rad, or tenths of the chain
  double arc_end = 1e-5;     // likewise, of the cells that contain an arc's end
  int arc_cells = 2000;      // at most
  double arc_finest = 1e-5;  // of L: a shorter way is not divided
  double leads_out = 4.0;    // of the tolerance: from a deeper collision no descent within it is tried

  // --- the length of a step
  double shorten = 0.3;          // length ratio of the next trial after a failed one
  double lengthen = 2.0;         // largest length ratio of the next step after a success
  double lengthen_by = 1e-3;     // plus this length, or a very short step would take too long to grow
  double shortest_trust = 1e-9;  // no trial is shorter
  // the trust never falls below a step of this length
  double shortest_step = 1e-12;
  double still_step = 1e-11;  // a finish ends at a shorter step
  // a level that seems to stand still is tried again with a step of this length, since bounds may have bent a long one
  double short_step = 0.02;
  // continuous mode, towards the posture: a long step often fails to keep the levels above, and a body that waits in
  // one frame and jumps in the next one shakes
  double frame_posture_step = 0.015;
  // and this fraction of the way: a body far from its posture would go four times too far with the whole
  double frame_posture_part = 0.25;

  // --- conditions of a step
  double guard_slack = 5e-10;    // loss of a level above: rounding, far below any tolerance
  double touching_slack = 1e-6;  // of the cost: the price of leaving a touched limit, once
  // of the cost: a finish may keep the cost up to the last digits, or rounding would end it early
  double finish_slack = 4e-15;
  double comes_back = 0.999;     // of the violation of a limit: less counts as returning
  double better = 0.999;         // of the best cost: a search must end below it to replace the best
  double same_end = 1e-6;        // of the best cost: two searches this close have the same end
  double worth_beating = 1.001;  // of the best cost: a search with a higher predicted minimum is abandoned

  // --- damping
  double as_predicted = 0.9;   // of the predicted gain: a step with more needs less damping next time
  double less_damping = 0.1;   // ratio of the damping; otherwise a level out of reach would converge slowly
  double more_damping = 10.0;  // after a failed trial, up to the usual damping
  // of levels above, and of one with the predicted gain: enough for a singular system
  double least_damping = 1e-12;
  // of the square of a level's smallest weight: damping stays below, or the level would be damped away
  double weight_floor = 1e-2;
  double returning = 1e-9;  // damping of the rows that reduce a violated limit
  // continuous mode: damping in proportion to the residual of a level, like the second-order term. A step that is only
  // right to first order overshoots curved directions, and a stretched arm would shake
  double curved = 0.05;

  // --- corrections of the levels above
  int corrections = 8;         // of one trial; if more are needed, a shorter step is better
  int frame_corrections = 5;   // likewise in continuous mode
  double least_halved = 0.35;  // a correction between this
  double most_halved = 0.65;   // and this fraction of the previous one counts as halved
  // continuous mode: a correction that leaves more than this is not repeated
  double frame_convergence = 0.5;
  double convergence = 1.0;       // otherwise any gain is enough
  double easy_convergence = 0.1;  // by the joints off their bounds alone: if slower than this, all joints are used
  double no_correction = 1e-15;   // a shorter correction changes nothing

  // --- limits
  double brought_back = 1e-9;  // gap to which a violated limit returns
  // least gap that is kept, so that it is not negative after rounding
  double hair = 1e-14;
  double horizon = 0.01;      // limits within twice the step and this are considered
  double at_the_edge = 1e-7;  // a row less than this outside its range is at its end, and may move in
  double at_bound = 1e-9;     // a joint this near to the end of its range is at its end
  // weight of a joint without a gain in the posture: it does not move if that costs nothing
  double no_gain = 1e-3;
  int forced_trials = 30;     // for joints that cannot stop at once: number of fractions of the way to try,
  double forced_share = 0.7;  // ratio of each to the previous one

  // --- a level that cannot descend from its pose is nudged: every joint a little, each by a different amount
  double nudge = 0.03;         // the smallest amount
  double nudge_spread = 0.04;  // added by the golden ratio, so that no two joints rotate equally
  double golden = 0.6180339887498949;
  double nudge_trust = 0.1;  // the longest motion, including the correction of the levels above

  // --- Newton's step
  double newton_gain = 1e-9;          // of the cost: a step with a smaller prediction is not tried
  double finish_newton_gain = 1e-15;  // in a finish
  int newton_trials = 3;              // of one step, each a quarter of the previous one
  double pressed_step = 1e-6;         // an inequality this near counts as met
  double least_pull = 5e-8;           // of the level's whole gradient: a smaller free part is rounding
  // of the cost: smaller predictions are below the accuracy of the corrections above
  double settled_gain = 1e-8;
  // of a row's square, in the system of the multipliers: rows above may be dependent
  double multiplier_floor = 1e-10;
  double flattest = 1e-6;   // of the largest curvature: directions with less are ignored
  double no_speed = 1e-14;  // an inequality that changes more slowly along the way is not met
  // the conjugate gradients end at this fraction of the gradient, or at its free fraction,
  double widest_answer = 0.03;
  double finest_answer = 1e-4;  // but no finer than this, since the next step starts anew
  double in_valley = 0.5;       // of the trust: a shorter step is at the minimum of its valley
  double poor = 0.25;           // of the prediction: after a smaller gain, the next step has `shrink` times its length
  double good = 0.75;           // a step with a gain between this
  double too_good = 1.25;       // and this fraction of its prediction is followed by a longer one
  double shrink = 0.25;
  double grow = 2.0;
};

inline constexpr StrictTuning tuning{};

}  // namespace poise
