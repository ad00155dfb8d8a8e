// interval_numbers.cpp: the claim of interval_numbers.h on random chains of every plan, some of them folded, with a free joint before or behind them. In a cell of the free joint, each joint
// of each pose whose product is within the errors is at + rate t, off by at most what is reported, in some branch; so it is in the part of the
// cell where the branch may be inside. Where a branch is surely inside there is a pose of it. Cells that are half as wide are off by a quarter.
// Prints of each plan: poses tried, those that no branch held, places that are sure, those where no pose is, branches that were compared
// with half the cell, those that are off by more than 0.3 of it, and numbers that are none, or others in lanes.
#include <cstdio>

#include "chains.h"
#include "kernels/algebra/twin.h"
#include "kernels/closed/decide.h"
#include "kernels/closed/interval_cell.h"
#include "kernels/closed/packed_queries.h"

using namespace poise;

namespace {

constexpr int rounds = 12000;
constexpr double room = 1e-9;
using Leaf = FamilyLeaf<double, Flowing<double>>;

struct Figures { int tried = 0, lost = 0, sure = 0, empty = 0, compared = 0, slow = 0, odd = 0; };

// Folds a chain that has a wrist: in the pose its center stands on the second axis, or a millionth next to it, so that the lengths that decide are
// as good as nothing.
void fold_chain(FamilyChain<double>& chain, const double* v) {
  if (chain.plan == PLAN_PLANAR || chain.plan == PLAN_GANTRY) return;
  double at[3];
  copy(chain.axes[1].p, at);
  if (noise() < 0) at[0] += 1e-6 * noise();
  move_one(chain.axes[2], -v[2], false, at);
  copy(at, chain.center);
  for (int j = 3; j < 6; ++j) copy(at, chain.axes[j].p);
}

// a chain with a free joint, and ranges about a pose of all seven in which it is inside; some of them end just behind it
bool draw_spec(const Kind& kind, int round, double* v, double& u, FamilySpec<double>& spec) {
  spec = {};
  if (!draw_chain(kind, spec.chain)) return false;
  spec.chain.prune = 1;
  draw_joints(spec.chain, round, v);
  if (round % 7 == 0) fold_chain(spec.chain, v);
  draw_unit(spec.free.h);
  draw_point(spec.free.p);
  draw_point(spec.p0);
  if (round % 5 == 0) copy(spec.chain.axes[0].h, spec.free.h);
  if (round % 10 == 0) copy(spec.chain.axes[0].p, spec.free.p);
  spec.free.half = 3.0;
  spec.free.slides = round % 4 == 1;
  spec.backwards = round % 2;
  spec.free_joint = noise() < 0 ? FREE_FIRST : FREE_LAST;
  spec.nearest = spec.farthest = -1.0;
  for (int k = 0; k < 9; ++k) spec.R0[k] = k % 4 == 0;
  u = noise();
  for (int j = 0; j < 6; ++j) {
    FamilyAxis<double>& axis = spec.chain.axes[j];
    axis.half = noise() < 0 ? 4.0 : 0.2 + 2.0 * absolute(noise());
    axis.middle = v[j] + axis.half * (noise() < 0 ? 1.0 - 1e-6 : 0.9 * noise());
  }
  measure_fifth(spec.chain);
  return true;
}

// the transform that the frame has in the pose, off by at most the tolerances: A = F C or C F of the question, solved for the frame
FamilyTarget<double> draw_target(const FamilySpec<double>& spec, const double* v, double u, double metres,
                                 double radians) {
  FamilyTarget<double> target{};
  double axis[3], way[3], at[3] = {spec.p0[0], spec.p0[1], spec.p0[2]};
  const auto move = [&](double* x, bool turns_only) {
    const bool first = (spec.free_joint == FREE_FIRST) != (spec.backwards != 0);  // of all as they are read
    if (spec.backwards) {
      if (first) move_one(spec.free, u, turns_only, x);
      for (int j = 0; j < 6; ++j) move_one(spec.chain.axes[j], -v[j], turns_only, x);
      if (!first) move_one(spec.free, u, turns_only, x);
      return;
    }
    if (!first) move_one(spec.free, u, turns_only, x);
    move_all(spec.chain, v, turns_only, x);
    if (first) move_one(spec.free, u, turns_only, x);
  };
  draw_unit(axis);
  draw_unit(way);
  for (int k = 0; k < 3; ++k) {
    double column[3] = {double(k == 0), double(k == 1), double(k == 2)};
    move(column, true);
    turn_about(axis, 0.999 * radians, column, column);
    for (int i = 0; i < 3; ++i) target.R[3 * i + k] = column[i];
  }
  move(at, false);
  for (int i = 0; i < 3; ++i) target.p[i] = at[i] + 0.999 * metres * way[i];
  target.metres = metres;
  target.radians = radians;
  return target;
}

bool holds(const FamilySpec<double>& spec, const Leaf& leaf, const double* v, double t) {
  for (int j = 0; j < 6; ++j) {
    const IntervalKnown<double>& one = leaf.turn[j];
    double off = v[j] - one.at.at - one.at.rate * t;
    if (!spec.chain.axes[j].slides) off = without_turns(off);
    if (!(absolute(off) <= one.at.off + one.slack + room)) return false;
  }
  return leaf.span.low - room <= t && t <= leaf.span.high + room;
}

// whether the branch has a pose at a value of the free joint that is inside the ranges, but for rounding
bool is_inside(const FamilyQuestion<double>& question, FamilySpec<double>& open, int branch, double at) {
  bool inside = false;
  const FamilyAsked<double> asked = ask_of(question, at, 0.0, true);
  open.chain.prune = 0;
  walk_branches(open.chain, asked, 1, 1u << branch, [&](const FamilyLeaf<double>& leaf) {
    inside = true;
    for (int j = 0; j < 6; ++j)
      inside = inside && excess_of_range(open.chain.axes[j], Known<double>{leaf.turn[j].at, room}) <= 0.0;
    return inside;
  });
  return inside;
}

// widths of what is left to the first order of all joints of the branch; negative: it is not there or not smooth
double off_of(const FamilyQuestion<double>& question, double at, double half, int branch, double* slope) {
  double most = -1.0;
  walk_cell(question.spec.chain, flow_of(question, at, half, true), 1u << branch, [&](const Leaf& leaf) {
    most = leaf.span.smooth ? 0.0 : -1.0;
    *slope = 0.0;
    for (const IntervalKnown<double>& one : leaf.turn) {
      most = leaf.span.smooth ? maximum(most, one.at.off) : -1.0;
      *slope = maximum(*slope, absolute(one.at.rate));
    }
    return true;
  });
  return most;
}

// Counts the lanes, each with a cell and a branch of its own, whose parts of the cell are others than in a walk of that cell alone.
int count_other_lanes(const FamilyQuestion<double>& question, double at, double half) {
  using S = Twin<Pack<double, 2>>;
  constexpr int lanes = ScalarTraits<S>::lanes;
  const FamilySpec<S> spec = spread_spec<S>(question.spec);
  const FamilyQuestion<S> wide = spread_question(spec, question);
  const int all = 1 << choices_of(spec.chain);
  int others = 0;
  for (int first = 0; first < all; ++first) {
    S middle, width;
    int branches[lanes];
    IntervalSpan<double> alone[lanes], chosen[lanes];
    for (int lane = 0; lane < lanes; ++lane) {
      const double own_half = half / (1 + lane), own = at + 0.3 * lane * half;
      alone[lane] = chosen[lane] = {2.0, -2.0, 2.0, -2.0, false};
      branches[lane] = (first + lane) % all;
      set_lane(middle, lane, own);
      set_lane(width, lane, own_half);
      walk_cell(question.spec.chain, flow_of(question, own, own_half), 1u << branches[lane], [&](const Leaf& leaf) {
        alone[lane] = leaf.span;
        return true;
      });
    }
    walk_chosen_cells(spec.chain, flow_of(wide, middle, width), sides_of<S>(branches),
                      [&](const FamilyLeaf<S, Flowing<S>>& leaf) {
                        const IntervalSpan<S>& span = leaf.span;
                        for (int k = 0; k < lanes; ++k)
                          chosen[k] = {span.low.lane(k), span.high.lane(k), span.from.lane(k), span.to.lane(k), false};
                        return true;
                      });
    for (int lane = 0; lane < lanes; ++lane) {
      const IntervalSpan<double>&one = alone[lane], &other = chosen[lane];
      const bool open = one.low <= one.high, sure = open && one.from < one.to;
      const bool same_open = !open || (absolute(one.low - other.low) < 1e-6 && absolute(one.high - other.high) < 1e-6);
      const bool same_sure = !sure || (absolute(one.from - other.from) < 1e-6 && absolute(one.to - other.to) < 1e-6);
      others += open != (other.low <= other.high) || !same_open || !same_sure;
    }
  }
  return others;
}

void look(const FamilySpec<double>& spec, const FamilyTarget<double>& target, const double* v, double u, Figures& to) {
  const double half = 0.3 * absolute(noise() * noise() * noise()) + 1e-9, t = noise();
  const FamilyQuestion<double> question = question_of(spec, target);
  const double at = u - half * t;
  FamilySpec<double> open = spec;
  bool held = false;
  walk_cell(spec.chain, flow_of(question, at, half), all_branches, [&](const Leaf& leaf) {
    for (const IntervalKnown<double>& one : leaf.turn) {
      const double sum = one.at.at + one.at.rate + one.at.off + one.slack;
      to.odd += !(sum - sum == 0.0) || !(one.slack >= 0.0) || !(one.at.off >= 0.0);
    }
    held = held || holds(spec, leaf, v, t);
    if (leaf.span.from < leaf.span.to) {
      const double where = leaf.span.from + (leaf.span.to - leaf.span.from) * 0.5 * (1.0 + noise());
      ++to.sure;
      to.empty += !is_inside(question, open, leaf.branch, at + half * where);
    }
    double slope, slope_half;
    const double off = off_of(question, at, half, leaf.branch, &slope),
                 quarter = off_of(question, at, 0.5 * half, leaf.branch, &slope_half);
    if (half > 1e-3 && off > 1e-7 && off < 0.05 && slope < 0.5 && quarter >= 0.0) {
      ++to.compared;
      to.slow += quarter > 0.3 * off;
    }
    return false;
  });
  if (to.tried % 16 == 0) to.odd += count_other_lanes(question, at, half);
  ++to.tried;
  to.lost += !held;
}

void report(const Kind& kind) {
  Figures to;
  for (int round = 0; round < rounds; ++round) {
    FamilySpec<double> spec;
    double v[6], u;
    if (!draw_spec(kind, round, v, u, spec)) continue;
    const double size = round % 3 == 2 ? 0.0 : 0.01 * absolute(noise() * noise() * noise()),
                 share = 0.5 * (1 + noise());
    look(spec, draw_target(spec, v, u, size * share, size * (1 - share)), v, u, to);
  }
  std::printf("%s %d %d %d %d %d %d %d\n", kind.name, to.tried, to.lost, to.sure, to.empty, to.compared, to.slow,
              to.odd);
}

}  // namespace

int main() {
  for (const Kind& kind : kinds) report(kind);
  return 0;
}
