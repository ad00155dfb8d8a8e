// families.cpp: the claim of families.h on random chains of every plan: each joint of each pose whose product is within the errors lies within
// its slack of some branch. Prints of each plan how many poses were tried, how many no branch held, and how many branches were certain.
#include "kernels/closed/families.h"

#include <cstdio>

#include "noise.h"

using namespace poise;

namespace {

constexpr int rounds = 6000;  // of each plan; one in 8 is cut into few pieces, one in 40 into many

void draw_unit(double* x) {
  for (int i = 0; i < 3; ++i) x[i] = noise() + (i == 0 ? 0.05 : 0.0);
  const double n = norm(x);
  for (int i = 0; i < 3; ++i) x[i] /= n;
}

void draw_point(double* x) {
  for (int i = 0; i < 3; ++i) x[i] = 0.5 * noise();
}

void copy(const double* from, double* to) {
  for (int i = 0; i < 3; ++i) to[i] = from[i];
}

bool slanted(const FamilyAxis<double>& a, const FamilyAxis<double>& b) {
  double n[3];
  cross(a.h, b.h, n);
  return norm(n) > 0.3;
}

// the kinds of the first joint and of the third: 0 turns, 1 slides
struct Kind { int plan, first, third; };

bool draw_chain(const Kind& kind, FamilyChain<double>& chain) {
  chain = {};
  chain.plan = kind.plan;
  chain.length = 3.0;
  for (FamilyAxis<double>& axis : chain.axes) {
    draw_unit(axis.h);
    draw_point(axis.p);
    axis.half = 1e9;
  }
  FamilyAxis<double>* a = chain.axes;
  a[0].slides = kind.first || kind.plan == PLAN_GANTRY;
  a[1].slides = kind.plan == PLAN_GANTRY;
  a[2].slides = kind.third || kind.plan == PLAN_GANTRY;
  draw_point(chain.center);
  draw_point(chain.meet);
  for (int j = kind.plan == PLAN_PLANAR ? 4 : 3; j < 6; ++j) copy(chain.center, a[j].p);
  const auto alike = [&](int from, int to) {
    for (int j = from + 1; j <= to; ++j) copy(a[from].h, a[j].h);
  };
  if (kind.plan == PLAN_PARALLEL_LAST) alike(1, 2);
  if (kind.plan == PLAN_PARALLEL_FIRST) alike(0, 1);
  if (kind.plan == PLAN_PLANAR) alike(1, 3);
  const int met = kind.plan == PLAN_MEET_FIRST ? 0 : kind.plan == PLAN_MEET_LAST ? 1 : -1;
  for (int j = met; met >= 0 && j < met + 2; ++j) copy(chain.meet, a[j].p);
  for (int j = 3; j < 5; ++j) {
    if (!slanted(a[j], a[j + 1])) return false;
  }
  return slanted(a[0], a[2]) && (met < 0 || slanted(a[met], a[met + 1]));
}

// x moved by all joints, the last first
void move_all(const FamilyChain<double>& chain, const double* v, bool turns_only, double* x) {
  for (int j = 5; j >= 0; --j) {
    const FamilyAxis<double>& axis = chain.axes[j];
    if (axis.slides) {
      for (int i = 0; i < 3 && !turns_only; ++i) x[i] += v[j] * axis.h[i];
      continue;
    }
    double d[3];
    for (int i = 0; i < 3; ++i) d[i] = x[i] - (turns_only ? 0.0 : axis.p[i]);
    turn_about(axis.h, v[j], d, x);
    for (int i = 0; i < 3 && !turns_only; ++i) x[i] += axis.p[i];
  }
}

// Puts the center where these joints bring it to `meet`: at the distance zero, whose equation is lost in rounding first.
void fold(FamilyChain<double>& chain, const double* v) {
  const FamilyAxis<double>& third = chain.axes[2];
  if (chain.plan == PLAN_MEET_LAST && !chain.axes[0].slides) copy(chain.meet, chain.center);
  if (chain.plan == PLAN_MEET_FIRST && !third.slides) {
    double d[3];
    for (int i = 0; i < 3; ++i) d[i] = chain.meet[i] - third.p[i];
    turn_about(third.h, -v[2], d, chain.center);
    for (int i = 0; i < 3; ++i) chain.center[i] += third.p[i];
  }
  for (int j = chain.plan == PLAN_PLANAR ? 4 : 3; j < 6; ++j) copy(chain.center, chain.axes[j].p);
}

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

bool holds(const FamilyChain<double>& chain, const FamilyLeaf<double>& leaf, const double* v, double room) {
  for (int j = 0; j < 6; ++j) {
    double off = v[j] - leaf.turn[j].at;
    if (!chain.axes[j].slides)
      off -= 2 * one_pi * static_cast<double>(static_cast<long long>(off / (2 * one_pi) + (off < 0 ? -0.5 : 0.5)));
    if (!(absolute(off) <= leaf.turn[j].slack + room)) return false;
  }
  return true;
}

void report(const char* name, const Kind& kind) {
  int tried = 0, lost = 0, certain = 0, odd = 0;
  for (int round = 0; round < rounds; ++round) {
    FamilyChain<double> chain;
    if (!draw_chain(kind, chain)) continue;
    double v[6];
    for (int j = 0; j < 6; ++j) {
      v[j] = chain.axes[j].slides ? noise() : 3 * noise();
      if (round % 3 == 0 && j == round / 3 % 6) v[j] = 1e-3 * noise();  // near where axes may fall together
    }
    const double wide = round % 5 == 0 ? 1e-9 : 0.3;  // almost no errors: what is left is rounding
    const double size = wide * absolute(noise() * noise() * noise()), share = 0.5 * (1 + noise());
    if (round % 10 == 0) fold(chain, v);
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
  std::printf("%s %d %d %d %d\n", name, tried, lost, certain, odd);
}

}  // namespace

int main() {
  report("parallel_last", {PLAN_PARALLEL_LAST, 0, 0});
  report("slide_parallel_last", {PLAN_PARALLEL_LAST, 1, 0});
  report("parallel_first", {PLAN_PARALLEL_FIRST, 0, 0});
  report("parallel_first_slide", {PLAN_PARALLEL_FIRST, 0, 1});
  report("meet_first", {PLAN_MEET_FIRST, 0, 0});
  report("meet_first_slide", {PLAN_MEET_FIRST, 0, 1});
  report("meet_last", {PLAN_MEET_LAST, 0, 0});
  report("slide_meet_last", {PLAN_MEET_LAST, 1, 0});
  report("gantry", {PLAN_GANTRY, 1, 1});
  report("planar", {PLAN_PLANAR, 0, 0});
  report("slide_planar", {PLAN_PLANAR, 1, 0});
  return 0;
}
