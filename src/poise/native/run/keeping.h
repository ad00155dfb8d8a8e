// keeping.h: how poses meet the limits, and the poses between those that a closed form lists. Part of solve.cpp.
#pragma once
#include <vector>

#include "run/arcs.h"
#include "run/search.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

// How a pose meets the limits.
enum class Keeping : int { KEPT, COLLIDES, BROKEN };

// A link in collision with the world: in other poses of the same target it often is again. With `keeps`, the least deep
// pose in collision so far is kept in strict_state.here.q, and its gap here [m].
struct Suspect {
  SurfaceData* surfaces = nullptr;
  int link = 0;
  bool keeps = false;
  S least = -HUGE_VAL;
};

// Whether a link is nearer to the world than `least` [m], in the pose of strict_state.there.
bool is_link_near(SolverData& solver, const Suspect& suspect, S least) {
  SurfaceList<S> list = suspect.surfaces->list();
  list.links += suspect.link;
  list.n_links = 1;
  list.n_pairs = 0;
  return least_gap<NativePack<S>>(solver.limit_list(), list, solver.strict_state.there.placements, least, least) <
         least;
}

// Evaluates a pose in strict_state.there.
void place_there(SolverData& solver, const S* q) {
  StrictPoint& p = solver.strict_state.there;
  const auto problem = solver.problem();
  copy_configuration(problem, q, p.q);
  count_pose(solver);
  evaluate(problem, p.q, solver.targets.data(), p.placements, p.rows, p.errors, p.room);
}

// Whether a gap of the pose of strict_state.there is less than `least` [m]. The suspect is checked first, and replaced
// by the first link that is nearer to the world.
bool is_any_near(SolverData& solver, Suspect& suspect, S least) {
  if (suspect.surfaces && is_link_near(solver, suspect, least)) return true;
  for (SurfaceData& surfaces : solver.surfaces) {
    const S* placements = solver.strict_state.there.placements;
    if (!(least_gap<NativePack<S>>(solver.limit_list(), surfaces.list(), placements, least, least) < least)) continue;
    const int links = static_cast<int>(surfaces.links.size());
    suspect.surfaces = &surfaces;
    suspect.link = 0;
    // ends: after the last link
    while (suspect.link < links && !is_link_near(solver, suspect, least)) ++suspect.link;
    if (suspect.link == links) suspect.surfaces = nullptr;
    return true;
  }
  return false;
}

// Returns the smallest gap of the pose of strict_state.there [m], or `least` if it is smaller than that.
S measure_gap(SolverData& solver, S least, Suspect& suspect) {
  if (is_any_near(solver, suspect, least)) return least;
  S gap = HUGE_VAL;
  for (SurfaceData& surfaces : solver.surfaces)
    gap = least_gap<NativePack<S>>(solver.limit_list(), surfaces.list(), solver.strict_state.there.placements, gap,
                                   -HUGE_VAL);
  return gap;
}

// The same for any pose.
S measure_gap(SolverData& solver, const S* q, S least, Suspect& suspect) {
  place_there(solver, q);
  return measure_gap(solver, least, suspect);
}

// Keeps the pose q of strict_state.there if it is less deep than the kept one.
void keep_less_deep(SolverData& solver, const S* q, Suspect& suspect) {
  const S gap = suspect.keeps ? measure_gap(solver, suspect.least, suspect) : suspect.least;
  if (!(gap > suspect.least)) return;
  suspect.least = gap;
  copy_configuration(solver.problem(), q, solver.strict_state.here.q);
}

// Returns how a pose meets the limits; its errors are then in strict_state.there.
Keeping check_limits(SolverData& solver, const S* q, Suspect& suspect) {
  StrictPoint& p = solver.strict_state.there;
  const auto problem = solver.problem();
  place_there(solver, q);
  if (is_any_near(solver, suspect, tuning.hair * solver.scale)) return Keeping::COLLIDES;
  const LimitList<double> limits = solver.limit_list();
  int rows = 0;
  for (const SurfaceData& surfaces : solver.surfaces) rows += surfaces.n_rows;
  if (rows == limits.n) return Keeping::KEPT;
  place_capsules(limits, p.placements);
  std::size_t next = 0;
  for (int i = 0; i < limits.n; ++i) {
    if (next < solver.surfaces.size() && i == solver.surfaces[next].first_row)
      i += solver.surfaces[next++].n_rows - 1;
    else if (!is_surely_kept(limits, i) && gap_of(problem, limits, i, p.q) < tuning.hair)
      return Keeping::BROKEN;
  }
  return Keeping::KEPT;
}

// Whether the suspect moves with the frame of the only goal, and is so deep in the world in the pose of
// strict_state.there that it collides in every pose that reaches the goal.
bool is_blocked(SolverData& solver, const Suspect& suspect) {
  if (!suspect.surfaces || solver.goals.size() != 1) return false;
  const GoalSpec<S>& goal = solver.goals[0];
  if (goal.op != GOAL_POSE || goal.base >= 0) return false;
  const SurfaceLink<S>& link = suspect.surfaces->links[static_cast<std::size_t>(suspect.link)];
  if (link.primitive < 0 || link.primitive != solver.frames[static_cast<std::size_t>(goal.frame)].primitive)
    return false;
  return is_link_near(solver, suspect, -2.0 * (goal.tolerance[0] + goal.tolerance[1] * solver.scale));
}

bool keeps_all(SolverData& solver, const S* q) {
  Suspect suspect;
  return check_limits(solver, q, suspect) == Keeping::KEPT;
}

// Part of an arc: its ends, and their gaps or a lower bound of these [m].
struct ArcPart {
  ArcPose ends[2];
  S gaps[2];
  int branch;
};

// The poses of the only goal between the listed ones, on the arcs of its free joint.
class ArcPoses {
 public:
  ArcPoses(SolverData& solver, const SolverData& free)
      : solver_(solver),
        form_(free.closed[0]),
        question_(question_of(form_.spec, target_of<double>(free.targets.data() + free.goals[0].target, zeros, zeros))),
        joints_(measure_joints(free, form_)) {
    read_joints(joints_, solver.start.data(), near_);
    for (int k = 0; k < 7; ++k) chain_[k] = form_.gain[k] * near_[k] + form_.bias[k];
  }

  // Writes the least deep pose to strict_state.here, or the first clear one; returns its gap [m]. A part of an arc is
  // halved as long as the way between its ends is longer than they are deep.
  S find_room(Clock::time_point begun) {
    begin_parts();
    // ends: parts become shorter
    while (!parts_.empty() && best_ < tuning.hair * solver_.scale && !late(solver_, begun)) {
      asks_.clear();
      for (const ArcPart& part : parts_)
        asks_.push_back({0.5 * (part.ends[0].value + part.ends[1].value), part.branch});
      place();
      std::vector<ArcPart> shorter;
      for (std::size_t i = 0; i < poses_.size() && best_ < tuning.hair * solver_.scale; ++i) {
        const ArcPart& part = parts_[i];
        if (!poses_[i].there) continue;
        const S gap = measure(poses_[i], -measure_way(part.ends[0], part.ends[1]));
        add({{part.ends[0], poses_[i]}, {part.gaps[0], gap}, part.branch}, shorter);
        add({{poses_[i], part.ends[1]}, {gap, part.gaps[1]}, part.branch}, shorter);
      }
      parts_.swap(shorter);
    }
    return best_;
  }

 private:
  void begin_parts() {
    std::vector<Piece> arcs;
    find_arcs(question_, tuning.arc_end, tuning.arc_cells, arcs);
    for (const Piece& arc : arcs) {
      const double inset = (arc.high - arc.low) / 8192.0, low = arc.low + inset, width = arc.high - inset - low;
      const int count = 2 + static_cast<int>(width / (tuning.arc_spacing * unit_of_free(form_.spec)));
      for (int k = 0; k <= count; ++k) asks_.push_back({low + width * k / count, arc.branch});
    }
    place();
    std::vector<S> ways(poses_.size() + 1, 0.0),
        gaps(poses_.size());  // ways[i]: from the pose before, if they are joined
    for (std::size_t i = 1; i < poses_.size(); ++i) {
      const bool both = poses_[i - 1].there && poses_[i].there && asks_[i - 1].branch == asks_[i].branch;
      if (both && poses_[i - 1].value < poses_[i].value) ways[i] = measure_way(poses_[i - 1], poses_[i]);
    }
    for (std::size_t i = 0; i < poses_.size(); ++i) {
      if (poses_[i].there) gaps[i] = measure(poses_[i], -maximum(ways[i], ways[i + 1]));
      if (ways[i] > 0.0) add({{poses_[i - 1], poses_[i]}, {gaps[i - 1], gaps[i]}, asks_[i].branch}, parts_);
    }
  }

  void place() {
    constexpr double alike[7] = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0};
    poses_.resize(asks_.size());
    list_ops().place(question_, {chain_, alike}, asks_.data(), static_cast<int>(asks_.size()), poses_.data());
  }

  // An estimate of the longest way of a point of the body between two poses [m].
  S measure_way(const ArcPose& a, const ArcPose& b) const {
    S most = 0.0;
    for (int k = 0; k < 7; ++k) {
      const S by = b.joints[k] - a.joints[k];
      most = maximum(most, absolute(joints_.period[k] > 0.0 ? std::remainder(by, whole_turn) : by / solver_.scale));
    }
    return arc_lever * solver_.scale * most;
  }

  void add(const ArcPart& part, std::vector<ArcPart>& to) const {
    const S way = measure_way(part.ends[0], part.ends[1]);
    if (way > tuning.arc_finest * solver_.scale && maximum(part.gaps[0], part.gaps[1]) > -way) to.push_back(part);
  }

  S measure(const ArcPose& pose, S least) {
    double* q = solver_.listed.q.data();
    copy_configuration(solver_.problem(), solver_.start.data(), q);
    for (int k = 0; k < 7; ++k) q[joints_.q_index[k]] = place_joint(joints_, form_.spec, k, pose.joints[k], near_[k]);
    const S gap = measure_gap(solver_, q, least, suspect_);
    if (gap > least && gap > best_) {
      best_ = gap;
      copy_configuration(solver_.problem(), q, solver_.strict_state.here.q);
    }
    return gap;
  }

  static constexpr double zeros[3] = {0.0, 0.0, 0.0};
  SolverData& solver_;
  const ClosedForm<double>& form_;
  const FamilyQuestion<double> question_;
  const ListedJoints joints_;
  double near_[7], chain_[7];
  Suspect suspect_;
  S best_ = -HUGE_VAL;
  std::vector<ArcAsk> asks_;
  std::vector<ArcPose> poses_;
  std::vector<ArcPart> parts_;
};

}  // namespace
}  // namespace POISE_LEVEL
}  // namespace poise
