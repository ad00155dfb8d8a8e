// along.h: poses along an arc of the free joint, and the one nearest to a start.
//
// The nearest pose has the smallest largest motion of a joint. It is searched among poses along the arc, then between
// the neighbours of the best one: each joint is approximated by a parabola through three poses, and the next pose is
// evaluated where the largest motion of these is smallest. An arc often ends where two branches meet. There the joints
// behave like a square root, which no parabola follows; as functions of s, with value = middle - half cos s, they are
// smooth, so the parabolas are functions of s.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "run/arcs.h"
#include "run/listed.h"

namespace poise {

// The start of the distances: the joint values, and the weight of a unit of each.
struct ListStart { const double *values, *scale; };

// A pose on an arc: the value of the free joint, all joints near the start, their uncertainties, and the largest motion
// of a joint from the start.
struct ArcPose { double value, way, joints[7], slacks[7]; };

// Returns whether a branch is inside the ranges at a value, and its pose. With `follow`, a joint that is undetermined
// at a singular pose is set as near to the start as its bounds and range allow; a search corrects the others.
inline bool pose_at(const FamilyQuestion<double>& question, int branch, double value, const ListStart& start,
                    bool follow, ArcPose& out) {
  constexpr double undetermined = 0.5;  // [rad]
  const FamilyAsked<double> asked = ask_of(question, value, 0.0);
  return walk_branches(question.spec.chain, asked, 1, 1u << branch, [&](const FamilyLeaf<double>& leaf) {
    FamilyLeaf<double> slack = leaf;
    for (Known<double>& one : slack.turn) one.at = one.slack;
    out.value = value;
    out.way = 0.0;
    joints_of(question.spec, leaf, value, out.joints);
    joints_of(question.spec, slack, 0.0, out.slacks);
    for (int k = 0; k < 7; ++k) {
      const FamilyAxis<double>& axis = axis_of(question.spec, k);
      double& joint = out.joints[k];
      joint = bring_near(axis, joint, start.values[k]);
      if (follow && !axis.slides && out.slacks[k] > undetermined) {
        joint = minimum(maximum(start.values[k], joint - out.slacks[k]), joint + out.slacks[k]);
        joint = minimum(maximum(joint, axis.middle - axis.half), axis.middle + axis.half);
      }
      out.way = maximum(out.way, absolute(joint - start.values[k]) * start.scale[k]);
    }
    return true;
  });
}

// Searches along the arcs of one query, one after the other.
class AlongArcs {
 public:
  AlongArcs(const FamilyQuestion<double>& question, int samples, const ListStart& start)
      : question_(question), samples_(samples), start_(start) {}

  // the nearest pose of an arc, then poses along it; empty if the arc has none
  const std::vector<ArcPose>& sample(const Piece& arc) {
    constexpr int some = 16;
    arc_ = arc;
    near_.clear();
    best_ = 0;
    poses_.assign(1, {});
    const double width = arc.high - arc.low, inset = width / 8192.0;
    if (!look(arc.low)) look(arc.low + inset);
    for (int k = 0; k < samples_; ++k) {
      if (look(arc.low + (k + 0.5) / samples_ * width)) poses_.push_back(pose_);
    }
    if (!look(arc.high)) look(arc.high - inset);
    for (int k = 1; k < some && samples_ < some; ++k) look(arc.low + width * k / some);
    look(start_.values[question_.spec.free_joint == FREE_FIRST ? 0 : 6], true);
    if (near_.empty()) {
      poses_.clear();
    } else {
      refine();
      poses_[0] = near_[best_].pose;
    }
    return poses_;
  }

 private:
  struct Near {
    double turn;  // s
    ArcPose pose;
  };
  struct Parabola { double at, slope, bend; };
  static constexpr double little = 1e-6;  // a motion that is smaller by less counts as equal

  double middle() const { return 0.5 * (arc_.low + arc_.high); }
  double half() const { return 0.5 * (arc_.high - arc_.low); }

  // inserts the pose at a value in order; false if there is none
  bool look(double value, bool follow = false) {
    const double inside = minimum(maximum(value, arc_.low), arc_.high);
    if (!pose_at(question_, arc_.branch, inside, start_, follow, pose_)) return false;
    const double cosine = half() > 0.0 ? (middle() - inside) / half() : 0.0;
    const Near one{arc_cosine(cosine), pose_};
    std::size_t to = near_.size();
    // ends: at the first
    while (to > 0 && near_[to - 1].turn > one.turn) --to;
    if (to > 0 && one.turn - near_[to - 1].turn < 1e-9) {  // the same pose again
      if (pose_.way < near_[to - 1].pose.way) near_[--to] = one;
    } else {
      near_.insert(near_.begin() + static_cast<std::ptrdiff_t>(to), one);
      if (near_.size() > 1 && to <= best_) ++best_;
    }
    if (to < near_.size() && near_[to].pose.way < near_[best_].pose.way) best_ = to;
    return true;
  }
  bool look_at_turn(double turn) { return look(middle() - half() * std::cos(turn)); }

  // Evaluates poses between the neighbours of the best one until they are as near as the parabolas predict; then the
  // midpoints to both sides, in case the prediction is wrong.
  void refine() {
    constexpr int most_rounds = 8;
    bool probed = false;
    for (int round = 0; round < most_rounds && near_.size() > 2 && near_[best_].pose.way > 1e-9; ++round) {
      double turn, way;
      predict(std::min(std::max(best_, std::size_t{1}), near_.size() - 2), turn, way);
      const bool looked = way < near_[best_].pose.way - little && look_at_turn(turn);
      if (looked && absolute(pose_.way - way) > little) continue;
      if (probed) return;
      probed = true;
      const double at = near_[best_].turn, before = near_[best_ > 0 ? best_ - 1 : 0].turn;
      const double behind = near_[std::min(best_ + 1, near_.size() - 1)].turn;
      if (before < at) look_at_turn(0.5 * (before + at));
      if (behind > at) look_at_turn(0.5 * (at + behind));
    }
  }

  // the value between the neighbours of pose i at which the largest motion should be smallest
  void predict(std::size_t i, double& turn, double& way) const {
    const Near &a = near_[i - 1], &b = near_[i], &c = near_[i + 1];
    const double left = a.turn - b.turn, right = c.turn - b.turn;
    Parabola joints[7];
    for (int k = 0; k < 7; ++k) {
      const double before = apart(k, b.pose, a.pose) / left, behind = apart(k, b.pose, c.pose) / right;
      const double bend = (behind - before) / (right - left), scale = start_.scale[k];
      joints[k] = {(b.pose.joints[k] - start_.values[k]) * scale, (before - bend * left) * scale, bend * scale};
    }
    double best = 0.0, low = left, step = (right - left) / 8.0;
    way = b.pose.way;
    for (int round = 0; round < 5; ++round, step *= 0.25) {
      for (int n = 0; n <= 8; ++n) {
        const double x = minimum(maximum(low + step * n, left), right);
        double longest = 0.0;
        for (const Parabola& one : joints)
          longest = maximum(longest, absolute(one.at + x * (one.slope + x * one.bend)));
        if (longest >= way) continue;
        way = longest;
        best = x;
      }
      low = best - step;
    }
    turn = b.turn + best;
  }

  // the difference of a joint between two poses, by the shorter way round
  double apart(int k, const ArcPose& from, const ArcPose& to) const {
    const double by = to.joints[k] - from.joints[k];
    return axis_of(question_.spec, k).slides ? by : by - whole_turn * std::round(by / whole_turn);
  }

  const FamilyQuestion<double>& question_;
  int samples_;
  ListStart start_;
  Piece arc_{};
  ArcPose pose_{};          // the last pose evaluated
  std::vector<Near> near_;  // along the arc
  std::vector<ArcPose> poses_;
  std::size_t best_ = 0;  // index of the best one
};

}  // namespace poise
