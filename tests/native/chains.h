// chains.h: random chains of every plan, and what they make; for the laws of families.h.
#pragma once
#include "kernels/closed/families.h"
#include "noise.h"

namespace poise {

inline void draw_unit(double* x) {
  for (int i = 0; i < 3; ++i) x[i] = noise() + (i == 0 ? 0.05 : 0.0);
  const double n = norm(x);
  for (int i = 0; i < 3; ++i) x[i] /= n;
}

inline void draw_point(double* x) {
  for (int i = 0; i < 3; ++i) x[i] = 0.5 * noise();
}

inline void copy(const double* from, double* to) {
  for (int i = 0; i < 3; ++i) to[i] = from[i];
}

inline bool slanted(const FamilyAxis<double>& a, const FamilyAxis<double>& b) {
  double n[3];
  cross(a.h, b.h, n);
  return norm(n) > 0.3;
}

// the kinds of the first joint and of the third: 0 turns, 1 slides
struct Kind {
  const char* name;
  int plan, first, third;
};

constexpr Kind kinds[] = {
    {"parallel_last", PLAN_PARALLEL_LAST, 0, 0},
    {"slide_parallel_last", PLAN_PARALLEL_LAST, 1, 0},
    {"parallel_first", PLAN_PARALLEL_FIRST, 0, 0},
    {"parallel_first_slide", PLAN_PARALLEL_FIRST, 0, 1},
    {"meet_first", PLAN_MEET_FIRST, 0, 0},
    {"meet_first_slide", PLAN_MEET_FIRST, 0, 1},
    {"meet_last", PLAN_MEET_LAST, 0, 0},
    {"slide_meet_last", PLAN_MEET_LAST, 1, 0},
    {"gantry", PLAN_GANTRY, 1, 1},
    {"planar", PLAN_PLANAR, 0, 0},
    {"slide_planar", PLAN_PLANAR, 1, 0},
};

inline bool draw_chain(const Kind& kind, FamilyChain<double>& chain) {
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

// x moved by a joint, or only turned
inline void move_one(const FamilyAxis<double>& axis, double v, bool turns_only, double* x) {
  if (axis.slides) {
    for (int i = 0; i < 3 && !turns_only; ++i) x[i] += v * axis.h[i];
    return;
  }
  double d[3];
  for (int i = 0; i < 3; ++i) d[i] = x[i] - (turns_only ? 0.0 : axis.p[i]);
  turn_about(axis.h, v, d, x);
  for (int i = 0; i < 3 && !turns_only; ++i) x[i] += axis.p[i];
}

// x moved by all joints, the last first
inline void move_all(const FamilyChain<double>& chain, const double* v, bool turns_only, double* x) {
  for (int j = 5; j >= 0; --j) move_one(chain.axes[j], v[j], turns_only, x);
}

// Puts the center where these joints bring it to `meet`: at the distance zero, whose equation is lost in rounding first.
inline void fold(FamilyChain<double>& chain, const double* v) {
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

// joints anywhere, every third time one of them near where axes may fall together
inline void draw_joints(const FamilyChain<double>& chain, int round, double* v) {
  for (int j = 0; j < 6; ++j) {
    v[j] = chain.axes[j].slides ? noise() : 3 * noise();
    if (round % 3 == 0 && j == round / 3 % 6) v[j] = 1e-3 * noise();
  }
}

// what is left of a difference of two turns, whole turns aside
inline double without_turns(double off) {
  return off - 2 * one_pi * static_cast<double>(static_cast<long long>(off / (2 * one_pi) + (off < 0 ? -0.5 : 0.5)));
}

}  // namespace poise
