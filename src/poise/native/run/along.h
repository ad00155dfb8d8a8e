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

namespace poise {

// Sets a joint that is undetermined at a singular pose as near to the start as its bounds and range allow; a search
// corrects the others.
inline void follow_start(const FamilySpec<double>& spec, const ListStart& start, ArcPose& pose) {
  constexpr double undetermined = 0.5;  // [rad]
  pose.way = 0.0;
  for (int k = 0; k < 7; ++k) {
    const FamilyAxis<double>& axis = axis_of(spec, k);
    double& joint = pose.joints[k];
    if (!axis.slides && pose.slacks[k] > undetermined) {
      joint = minimum(maximum(start.values[k], joint - pose.slacks[k]), joint + pose.slacks[k]);
      joint = minimum(maximum(joint, axis.middle - axis.half), axis.middle + axis.half);
    }
    pose.way = maximum(pose.way, absolute(joint - start.values[k]) * start.scale[k]);
  }
}

// The poses of one arc: some in order, and the best of them.
class AlongArc {
 public:
  AlongArc(const Piece& arc, const FamilySpec<double>& spec, const ListStart& start)
      : arc_(arc), spec_(spec), start_(start) {}

  // asks for the ends, `samples` values between them, some more if these are few, and the start's own
  void ask_first(int samples, std::vector<ArcAsk>& asks) const {
    const double width = arc_.high - arc_.low, inset = width / 8192.0;
    for (double at : {arc_.low, arc_.low + inset, arc_.high, arc_.high - inset}) ask(at, asks);
    ask(start_.values[spec_.free_joint == FREE_FIRST ? 0 : 6], asks);
    for (int k = 0; k < samples; ++k) ask(arc_.low + (k + 0.5) / samples * width, asks);
    for (int k = 1; k < some && samples < some; ++k) ask(arc_.low + width * k / some, asks);
  }
  void take_first(int samples, const std::vector<ArcPose>& found, std::size_t& next) {
    const ArcPose* pose = found.data() + next;
    const int more = samples < some ? some - 1 : 0;
    near_.reserve(static_cast<std::size_t>(samples + more) + 24);
    all_.reserve(near_.capacity());
    poses_.reserve(static_cast<std::size_t>(samples) + 1);
    poses_.push_back({});
    if (!add(pose[0])) add(pose[1]);
    for (int k = 0; k < samples; ++k) {
      if (add(pose[5 + k])) poses_.push_back(pose[5 + k]);
    }
    if (!add(pose[2])) add(pose[3]);
    for (int k = 0; k < more; ++k) add(pose[5 + samples + k]);
    ArcPose own = pose[4];
    if (own.there) follow_start(spec_, start_, own);
    add(own);
    next += static_cast<std::size_t>(5 + samples + more);
    done_ = near_.empty();
  }

  // Asks for the pose that the parabolas predict to be nearest, if it is nearer, and for the midpoints to both sides of
  // the best one, in case they are wrong.
  void ask_nearer(std::vector<ArcAsk>& asks) {
    done_ = done_ || near_.size() < 3 || !(near_[best_].way > 1e-9);
    if (done_) return;
    double turn;
    predict(std::min(std::max(best_, std::size_t{1}), near_.size() - 2), turn, predicted_);
    hopes_ = predicted_ < near_[best_].way - little;
    const double at = turn_of(near_[best_]);
    first_ = asks.size();
    if (hopes_) ask_turn(turn, asks);
    if (best_ > 0) ask_turn(0.5 * (turn_of(near_[best_ - 1]) + at), asks);
    if (best_ + 1 < near_.size()) ask_turn(0.5 * (at + turn_of(near_[best_ + 1])), asks);
    last_ = asks.size();
  }
  void take_nearer(const std::vector<ArcPose>& found) {
    if (done_) return;
    const double before = near_[best_].way;
    for (std::size_t i = first_; i < last_; ++i) add(found[i]);
    const bool wrong = hopes_ && found[first_].there && absolute(found[first_].way - predicted_) > little;
    done_ = !wrong && !(near_[best_].way < before - little);
  }

  // the nearest pose, then those along the arc; empty if the arc has none
  const std::vector<ArcPose>& poses() {
    if (near_.empty()) {
      poses_.clear();
    } else {
      poses_[0] = pose_of(near_[best_]);
    }
    return poses_;
  }

 private:
  struct Near {
    double value, way;
    std::size_t at;  // of its pose
  };
  struct Parabola { double at, slope, bend; };
  static constexpr double little = 1e-6;  // a motion that is smaller by less counts as equal
  static constexpr int some = 16;

  const ArcPose& pose_of(const Near& one) const { return all_[one.at]; }
  double turn_of(const Near& one) const {
    return half() > 0.0 ? arc_cosine((middle() - one.value) / half()) : 0.5 * one_pi;
  }
  bool are_same(const Near& one, const Near& next) const {
    constexpr double little_turn = 1e-9;
    return next.value - one.value <= little_turn * half() && turn_of(next) - turn_of(one) < little_turn;
  }
  double middle() const { return 0.5 * (arc_.low + arc_.high); }
  double half() const { return 0.5 * (arc_.high - arc_.low); }

  void ask(double value, std::vector<ArcAsk>& asks) const {
    asks.push_back({minimum(maximum(value, arc_.low), arc_.high), arc_.branch});
  }
  void ask_turn(double turn, std::vector<ArcAsk>& asks) const { ask(middle() - half() * std::cos(turn), asks); }

  // inserts a pose in order; false if there is none
  bool add(const ArcPose& pose) {
    if (!pose.there) return false;
    const Near one{pose.value, pose.way, all_.size()};
    all_.push_back(pose);
    std::size_t to = near_.size();
    // ends: at the first
    while (to > 0 && near_[to - 1].value > one.value) --to;
    if (to > 0 && are_same(near_[to - 1], one)) {
      if (pose.way < near_[to - 1].way) near_[--to] = one;
    } else {
      near_.insert(near_.begin() + static_cast<std::ptrdiff_t>(to), one);
      if (near_.size() > 1 && to <= best_) ++best_;
    }
    if (to < near_.size() && near_[to].way < near_[best_].way) best_ = to;
    return true;
  }

  // the value between the neighbours of pose i at which the largest motion should be smallest
  void predict(std::size_t i, double& turn, double& way) const {
    const ArcPose &a = pose_of(near_[i - 1]), &b = pose_of(near_[i]), &c = pose_of(near_[i + 1]);
    const double at = turn_of(near_[i]), left = turn_of(near_[i - 1]) - at, right = turn_of(near_[i + 1]) - at;
    Parabola joints[7];
    for (int k = 0; k < 7; ++k) {
      const double before = apart(k, b, a) / left, behind = apart(k, b, c) / right;
      const double bend = (behind - before) / (right - left), scale = start_.scale[k];
      joints[k] = {(b.joints[k] - start_.values[k]) * scale, (before - bend * left) * scale, bend * scale};
    }
    constexpr int points = 8;
    double best = 0.0, low = left, step = (right - left) / (points - 1);
    way = b.way;
    for (int round = 0; round < 5; ++round) {
      double x[points], longest[points] = {};
      for (int n = 0; n < points; ++n) x[n] = minimum(maximum(low + step * n, left), right);
      for (const Parabola& one : joints) {
        for (int n = 0; n < points; ++n)
          longest[n] = std::max(longest[n], std::abs(one.at + x[n] * (one.slope + x[n] * one.bend)));
      }
      for (int n = 0; n < points; ++n) {
        if (longest[n] >= way) continue;
        way = longest[n];
        best = x[n];
      }
      low = best - step;
      step *= 2.0 / (points - 1);  // between the neighbours of the best one
    }
    turn = at + best;
  }

  // the difference of a joint between two poses, by the shorter way round
  double apart(int k, const ArcPose& from, const ArcPose& to) const {
    const double by = to.joints[k] - from.joints[k];
    return axis_of(spec_, k).slides ? by : by - whole_turn * std::round(by / whole_turn);
  }

  Piece arc_;
  const FamilySpec<double>& spec_;
  ListStart start_;
  std::vector<Near> near_;  // along the arc
  std::vector<ArcPose> all_;
  std::vector<ArcPose> poses_;
  std::size_t best_ = 0, first_ = 0, last_ = 0;  // index of the best one; of the answers of a round
  double predicted_ = 0.0;
  bool hopes_ = false, done_ = false;
};

// Returns the nearest pose of each arc, and poses along it. The arcs are searched together: many questions are answered
// at once.
inline std::vector<AlongArc> sample_arcs(const FamilyQuestion<double>& question, const std::vector<Piece>& arcs,
                                         int samples, const ListStart& start) {
  constexpr int most_rounds = 8;
  std::vector<AlongArc> out;
  out.reserve(arcs.size());
  for (const Piece& arc : arcs) out.emplace_back(arc, question.spec, start);
  std::vector<ArcAsk> asks;
  std::vector<ArcPose> found;
  const auto answer = [&] {
    found.resize(asks.size());
    list_ops().place(question, start, asks.data(), static_cast<int>(asks.size()), found.data());
  };
  for (const AlongArc& one : out) one.ask_first(samples, asks);
  answer();
  std::size_t next = 0;
  for (AlongArc& one : out) one.take_first(samples, found, next);
  for (int round = 0; round < most_rounds; ++round) {
    asks.clear();
    for (AlongArc& one : out) one.ask_nearer(asks);
    if (asks.empty()) break;
    answer();
    for (AlongArc& one : out) one.take_nearer(found);
  }
  return out;
}

}  // namespace poise
