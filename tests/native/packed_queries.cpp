// packed_queries.cpp: a walk of questions side by side is that of each alone, also if every lane follows a branch of its own. Prints of each plan how many questions were asked, how many branches they
// have, how many of those only one of the two walks has, how many joints differ by more than they may, and how many are NaN.
#include <cstdio>

#include "chains.h"
#include "kernels/algebra/twin.h"
#include "kernels/closed/packed_queries.h"

using namespace poise;

namespace {

using S = Twin<Pack<double, 2>>;
constexpr int rounds = 1500, lanes = ScalarTraits<S>::lanes;

struct Branch {
  bool there = false;
  Known<double> turn[6] = {};
  bool certain = false;
};

// what the chain makes with these joints
FamilyAsked<double> ask(const FamilyChain<double>& chain, const double* v) {
  FamilyAsked<double> asked{};
  double at[3], center[3];
  for (int k = 0; k < 3; ++k) {
    double column[3] = {double(k == 0), double(k == 1), double(k == 2)};
    move_all(chain, v, true, column);
    for (int i = 0; i < 3; ++i) asked.R[3 * i + k] = column[i];
  }
  copy(chain.center, at);
  move_all(chain, v, false, at);
  rotate(asked.R, chain.center, center);
  for (int i = 0; i < 3; ++i) asked.p[i] = at[i] - center[i];
  asked.turn_error = family_room;
  asked.center_error = asked.distance_error = 4.0 * family_room;
  return asked;
}

FamilyAsked<S> put_abreast(const FamilyAsked<double>* asked) {
  FamilyAsked<S> out;
  for (int lane = 0; lane < lanes; ++lane) {
    for (int k = 0; k < 9; ++k) set_lane(out.R[k], lane, asked[lane].R[k]);
    for (int k = 0; k < 3; ++k) set_lane(out.p[k], lane, asked[lane].p[k]);
    set_lane(out.turn_error, lane, asked[lane].turn_error);
    set_lane(out.center_error, lane, asked[lane].center_error);
    set_lane(out.distance_error, lane, asked[lane].distance_error);
  }
  return out;
}

void take_lane(const FamilyLeaf<S>& leaf, int lane, Branch& one) {
  if (leaf.span.closed.lane(lane)) return;
  one.there = true;
  one.certain = leaf.certain.lane(lane);
  for (int j = 0; j < 6; ++j) one.turn[j] = {leaf.turn[j].at.lane(lane), leaf.turn[j].slack.lane(lane)};
}

// whether lanes that follow one branch each have other branches than these
bool differ_chosen(const FamilyChain<S>& chain, const FamilyAsked<S>& asked, const Branch (&abreast)[lanes][8]) {
  bool differ = false;
  for (int first = 0; first < 8; ++first) {
    Branch chosen[lanes];
    int branches[lanes];
    for (int lane = 0; lane < lanes; ++lane) branches[lane] = (first + lane) % (1 << choices_of(chain));
    walk_chosen(chain, asked, sides_of<S>(branches), [&](const FamilyLeaf<S>& leaf) {
      for (int lane = 0; lane < lanes; ++lane) take_lane(leaf, lane, chosen[lane]);
      return false;
    });
    for (int lane = 0; lane < lanes; ++lane) {
      const Branch &one = chosen[lane], &other = abreast[lane][branches[lane]];
      differ = differ || one.there != other.there || one.certain != other.certain;
      for (int j = 0; j < 6; ++j) differ = differ || !(absolute(one.turn[j].at - other.turn[j].at) <= 1e-12);
    }
  }
  return differ;
}

void report(const Kind& kind) {
  int tried = 0, found = 0, lost = 0, off = 0, odd = 0;
  for (int round = 0; round < rounds; ++round) {
    FamilyChain<double> chain;
    if (!draw_chain(kind, chain)) continue;
    double v[6];
    FamilyAsked<double> asked[lanes];
    for (int lane = 0; lane < lanes; ++lane) {
      draw_joints(chain, round + lane, v);
      asked[lane] = ask(chain, v);
      if (lane == round % lanes) asked[lane].p[0] += 3.0;  // this one may have no answer
    }
    if (round % 2 == 1) {
      chain.prune = 1;
      for (FamilyAxis<double>& axis : chain.axes) axis.half = 1.5 + absolute(noise());
      measure_fifth(chain);
    }
    FamilySpec<double> spec{};
    spec.chain = chain;
    const FamilySpec<S> wide = spread_spec<S>(spec);
    Branch abreast[lanes][8];
    walk_branches(wide.chain, put_abreast(asked), 1, all_branches, [&](const FamilyLeaf<S>& leaf) {
      for (int lane = 0; lane < lanes; ++lane) take_lane(leaf, lane, abreast[lane][leaf.branch]);
      return false;
    });
    lost += differ_chosen(wide.chain, put_abreast(asked), abreast);
    for (int lane = 0; lane < lanes; ++lane) {
      ++tried;
      walk_branches(chain, asked[lane], 1, all_branches, [&](const FamilyLeaf<double>& leaf) {
        Branch& other = abreast[lane][leaf.branch];
        ++found;
        lost += !other.there || other.certain != leaf.certain;
        for (int j = 0; j < 6 && other.there; ++j) {
          double apart = leaf.turn[j].at - other.turn[j].at;
          if (!chain.axes[j].slides) apart = without_turns(apart);
          odd += !(other.turn[j].at - other.turn[j].at == 0.0);
          off += absolute(apart) > 1e-9 + leaf.turn[j].slack;
        }
        other.there = false;
        return false;
      });
      for (const Branch& branch : abreast[lane]) lost += branch.there;
    }
  }
  std::printf("%s %d %d %d %d %d\n", kind.name, tried, found, lost, off, odd);
}

}  // namespace

int main() {
  for (const Kind& kind : kinds) report(kind);
  return 0;
}
