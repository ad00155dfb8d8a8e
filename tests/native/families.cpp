// families.cpp: the claim of families.h on random chains of every plan: each joint of each pose whose product is within the errors lies within
// its slack of some branch. Prints of each plan how many poses were tried, how many no branch held, and how many branches were certain.
#include <cstdio>

#include "chains.h"
#include "kernels/closed/question.h"

using namespace poise;

namespace {

constexpr int rounds = 6000;  // of each plan; one in 8 is cut into few pieces, one in 40 into many

// what the chain makes with these joints, off by the whole of both errors
FamilyAsked<double> ask(const FamilyChain<double>& chain, const double* v, double turn, double far) {
  FamilyAsked<double> asked{};
  double axis[3], way[3], at[3], center[3];
  draw_unit(axis);
  draw_unit(way);
  for (int k = 0; k < 3; ++k) {
    double column[3] = {double(k == 0), double(k == 1), double(k == 2)};
    move_all(chain, v, true, column);
    turn_about(axis, 0.9999 * turn, column, column);
    for (int i = 0; i < 3; ++i) asked.R[3 * i + k] = column[i];
  }
  copy(chain.center, at);
  move_all(chain, v, false, at);
  rotate(asked.R, chain.center, center);
  for (int i = 0; i < 3; ++i) asked.p[i] = at[i] + 0.9999 * far * way[i] - center[i];
  asked.turn_error = turn + family_room;
  asked.center_error = asked.distance_error = far + family_room * 4.0;
  return asked;
}

// ranges in which the joints are, some of them just so: branches outside are dropped
void narrow(const double* v, FamilyChain<double>& chain) {
  chain.prune = 1;
  for (int j = 0; j < 6; ++j) {
    FamilyAxis<double>& axis = chain.axes[j];
    axis.half = 0.2 + 2.0 * absolute(noise());
    axis.middle = v[j] + axis.half * (noise() < 0 ? 1.0 - 1e-9 : 0.9 * noise());
  }
  measure_fifth(chain);
}

bool holds(const FamilyChain<double>& chain, const FamilyLeaf<double>& leaf, const double* v, double room) {
  for (int j = 0; j < 6; ++j) {
    double off = v[j] - leaf.turn[j].at;
    if (!chain.axes[j].slides) off = without_turns(off);
    if (!(absolute(off) <= leaf.turn[j].slack + room)) return false;
  }
  return true;
}

void report(const Kind& kind) {
  int tried = 0, lost = 0, certain = 0, odd = 0;
  for (int round = 0; round < rounds; ++round) {
    FamilyChain<double> chain;
    if (!draw_chain(kind, chain)) continue;
    double v[6];
    draw_joints(chain, round, v);
    const double wide = round % 5 == 0 ? 1e-9 : 0.3;  // almost no errors: what is left is rounding
    const double size = wide * absolute(noise() * noise() * noise()), share = 0.5 * (1 + noise());
    if (round % 10 == 0) fold(chain, v);
    if (round % 2 == 1) narrow(v, chain);
    const FamilyAsked<double> asked = ask(chain, v, size * share, size * (1 - share));
    const int finest = round % 40 == 0 ? 16 : round % 8 == 0 ? 4 : 1;
    for (int cuts = 1; cuts <= finest; cuts *= 4) {
      bool held = false;
      walk_branches(chain, asked, cuts, all_branches, [&](const FamilyLeaf<double>& leaf) {
        certain += leaf.certain;
        for (const Known<double>& one : leaf.turn) odd += !(one.at - one.at == 0.0) || !(one.slack >= 0.0);
        held = held || holds(chain, leaf, v, 1e-7);
        return false;
      });
      ++tried;
      lost += !held;
    }
  }
  std::printf("%s %d %d %d %d\n", kind.name, tried, lost, certain, odd);
}

}  // namespace

int main() {
  for (const Kind& kind : kinds) report(kind);
  return 0;
}
