// tuning.h: the numbers of the strict solve, each with its reason. Part of solve.cpp.
//
// None of them decides what is right: a pose is taken only if the limits and the levels above are kept. They decide how soon a solve gives
// up, how far it looks, and what counts as rounding. Lengths are in lengths of the body (L), angles in radians, costs as shares of a cost.
#pragma once

namespace poise {

// How a level is descended, by what the descent is for; `pace_of` (descent.h) chooses.
struct Pace {
  double enough;      // of the cost: a step that gains less is quiet
  int patience;       // so many quiet steps end the descent
  int attempts;       // trials for one step, each shorter than the one before
  int steps;          // at most; 0: as many as the call allows
  double least_gain;  // of the cost: a step that promises less is not tried
};

struct StrictTuning {
  // --- the descent of a level
  Pace whole{1e-7, 3, 12, 0, 1e-9};          // to where little is left to gain: restarts and the finish come after it
  Pace whole_posture{1e-4, 3, 12, 0, 1e-9};  // a posture is a taste: its last digits are worth no step
  // to the minimum itself, so that a missed goal is answered by a still pose
  Pace finish{1e-13, 3, 12, 0, 1e-9};
  // continuous mode: the next call goes on from here, so what hardly pays waits for it
  Pace frame{1e-2, 1, 4, 8, 1e-4};
  Pace frame_posture{1e-2, 3, 4, 2, 1e-4};  // likewise
  int frame_steps = 12;                     // continuous mode: steps that one call solves for, over all levels
  int frame_level_steps = 3;                // but every level has so many in any case
  // a search from a seed comes to what the levels above are known to reach, or is given up
  int return_steps = 40;
  int searches = 8;   // with the built-in figure no search after the eighth came lower than those before it
  int same_ends = 1;  // searches that end where the best one did, before no more are made
  double posture_at_rest = 1e-12;  // a posture that costs less has arrived

  // --- the length of a step
  double shorten = 0.3;          // a trial that fails is followed by one of so much of its length
  double lengthen = 2.0;         // a step that worked is followed by one that may be so much longer
  double lengthen_by = 1e-3;     // and this much, or a very short one would take for ever to grow
  double shortest_trust = 1e-9;  // below this no trial is made
  // the trust never falls below a step of this length, however short the step was
  double shortest_step = 1e-12;
  double still_step = 1e-11;  // a finish ends where its step is shorter
  // a level that seems to stand still is asked once more with a step of this length, for a long one may only have been bent by its bounds
  double short_step = 0.02;
  // continuous mode, towards the posture: a long step often fails at keeping what is above, and a body that waits in one frame and leaps
  // in the next one shakes
  double frame_posture_step = 0.015;
  // and so much of the way: a body held far from its posture would go four times too far with the whole
  double frame_posture_part = 0.25;

  // --- what a step must do to be taken
  double guard_slack = 5e-10;    // what a level above may lose: rounding, and far below any tolerance
  double touching_slack = 1e-6;  // of the cost: what leaving a touched limit may cost, once
  // of the cost: a finish may step level in the last digits, or rounding would end it early
  double finish_slack = 4e-15;
  double comes_back = 0.999;     // of how far a limit is broken: less than that counts as coming back
  double better = 0.999;         // of the best cost: a search has to end below that to replace the best
  double same_end = 1e-6;        // of the best cost: two searches this close have ended at the same place
  double worth_beating = 1.001;  // of the best cost: a search whose valley has its floor above that is given up

  // --- damping
  double as_predicted = 0.9;   // a step that gained so much of what was predicted needs less damping next time
  double less_damping = 0.1;   // so much of it; a level that cannot be reached would creep otherwise
  double more_damping = 10.0;  // after a trial that failed, up to the usual damping
  // of levels above, and of one that goes as predicted: enough for a singular system
  double least_damping = 1e-12;
  // of the square of a level's lightest weight: damping stays below, or it would be damped away
  double weight_floor = 1e-2;
  double returning = 1e-9;  // damping of the rows that bring a broken limit back
  // continuous mode: damping in proportion to what a level misses, as the second order is. A step that is right to first order alone goes
  // too far across what is curved, and a stretched arm would shake
  double curved = 0.05;

  // --- corrections of what is above
  int corrections = 5;  // of one trial; what takes more is better answered by a shorter step
  // continuous mode: a correction that leaves more than this is not worth another
  double frame_convergence = 0.5;
  double convergence = 1.0;       // else any that gains is
  double easy_convergence = 0.1;  // by the joints off their bounds alone: slower than this, and all joints help
  double no_correction = 1e-15;   // a correction so short changes nothing

  // --- limits
  double brought_back = 1e-9;  // a broken limit is brought so far inside
  // a gap that is kept is at least this, so that it is not negative however its last digits are rounded
  double hair = 1e-14;
  double horizon = 0.01;      // limits are looked at that lie within twice the step and this
  double at_the_edge = 1e-7;  // a row so little outside its range is at the end of it, and may go in
  double at_bound = 1e-9;     // a joint so near to the end of its range stands at it
  // weight of a joint without a gain in the posture: it stays where it is, where that costs nothing
  double no_gain = 1e-3;
  int forced_trials = 30;     // for what cannot stop at once: so many shares of the way are tried,
  double forced_share = 0.7;  // each so much of the one before

  // --- a level that cannot go down where it stands is nudged: every joint a little, each by its own amount
  double nudge = 0.03;         // the least of them
  double nudge_spread = 0.04;  // what is added, by the golden ratio, so that no two joints turn alike
  double golden = 0.6180339887498949;
  double nudge_trust = 0.1;  // the longest motion, with what it takes to keep the levels above

  // --- Newton's step
  double newton_gain = 1e-9;          // of the cost: a step that promises less is not tried
  double finish_newton_gain = 1e-15;  // in a finish
  int newton_trials = 3;              // of one step, each a quarter of the one before
  double pressed_step = 1e-6;         // an inequality so near is met
  double least_pull = 5e-8;           // of the level's whole pull: less of it that is free is rounding
  // of the cost: a promise below that cannot be told from how well what is above is corrected
  double settled_gain = 1e-8;
  // of a row's square, in the system of the multipliers: rows above may depend on each other
  double multiplier_floor = 1e-10;
  double flattest = 1e-6;   // of the stiffest direction: what bends less leads nowhere
  double no_speed = 1e-14;  // an inequality that changes more slowly along the way is not met
  // the conjugate gradients end at this share of the pull, or at the share that is free of it,
  double widest_answer = 0.03;
  double finest_answer = 1e-4;  // but never ask for more than this: the next step begins anew anyway
  double in_valley = 0.5;       // of the trust: a shorter step is at the floor of its valley
  double poor = 0.25;           // of the promise: a step that gained less is followed by one of `shrink` its length
  double good = 0.75;           // a step that gained between this
  double too_good = 1.25;       // and this of its promise is followed by a longer one
  double shrink = 0.25;
  double grow = 2.0;
};

inline constexpr StrictTuning tuning{};

}  // namespace poise
