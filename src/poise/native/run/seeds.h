// seeds.h: the starts of the searches after the first. Part of solve.cpp.
#pragma once
#include "run/running.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

// the i-th number of the van der Corput sequence in a base: evenly spread in [0, 1) for any count
double spread(unsigned i, unsigned base) {
  double x = 0.0, f = 1.0;
  for (; i > 0; i /= base) {
    f /= base;
    x += f * (i % base);
  }
  return x;
}

constexpr unsigned primes[] = {2, 3, 5, 7, 11, 13, 17, 19};
constexpr unsigned n_primes = sizeof(primes) / sizeof(primes[0]);

// a pseudo-random number in [0, 1): the finaliser of SplitMix64 (Steele, Lea and Flood 2014)
double scattered(unsigned long long x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

// Halton's sequence, one prime per velocity, for the first eight. For larger primes its first numbers are correlated
// (i / 113 and i / 127): an arm far down a body would be seeded along a line. These numbers are scrambled.
double seed_number(const SolverData& solver, unsigned search, unsigned c) {
  const unsigned i = search + 20 + solver.seed * 409u;
  const auto v = static_cast<unsigned>(solver.velocities[c]);  // of the body: independent of the goals
  return v < n_primes ? spread(i, primes[v]) : scattered((static_cast<unsigned long long>(i) << 20) + v);
}

constexpr double pi = 3.14159265358979323846;

// the cone of a ball joint, or null
const ConeSpec<double>* cone_of(const SolverData& solver, int q_index) {
  if (solver.settings.limits == LIMITS_OFF) return nullptr;
  for (const ConeSpec<double>& cone : solver.cones) {
    if (cone.q_index == q_index) return &cone;
  }
  return nullptr;
}

// A rotation inside a cone: a swing to the point (x, y) of the unit disc, and a twist at a share of its range; half a
// turn without a range.
void seed_in_cone(const ConeSpec<double>& cone, double x, double y, double share, S* q) {
  const double a = is_bounded(cone.swing[0]) ? cone.swing[0] : pi, b = is_bounded(cone.swing[1]) ? cone.swing[1] : pi;
  const double low = is_bounded(cone.twist[0]) ? cone.twist[0] : -pi,
               high = is_bounded(cone.twist[1]) ? cone.twist[1] : pi;
  const double twist = low + share * (high - low);
  S turn[3], about[3], swung[4], twisted[4];
  for (int k = 0; k < 3; ++k) {
    turn[k] = x * a * cone.first[k] + y * b * cone.second[k];
    about[k] = twist * cone.axis[k];
  }
  quaternion_of_log(turn, swung);
  quaternion_of_log(about, twisted);
  quaternion_multiply(swung, twisted, q);
  clamp_to_cone(cone, q);
}

// The value of velocity c for search number `search` > 0, uniform over `part` of its range around the middle. A joint
// without a range starts within a turn or a body length of the start.
double seed_value(const SolverData& solver, unsigned search, int c, double part) {
  const Freedom<S>& f = solver.freedoms[static_cast<std::size_t>(c)];
  const double half = f.angular ? pi : 0.5 * solver.scale;
  const double middle = solver.start[static_cast<std::size_t>(f.q_index)];
  double low = f.lower, high = f.upper;
  if (!is_bounded(low)) low = is_bounded(high) ? high - 2 * half : middle - half;
  if (!is_bounded(high)) high = low + 2 * half;
  const double x =
      0.5 * (low + high) + part * (high - low) * (seed_number(solver, search, static_cast<unsigned>(c)) - 0.5);
  return minimum(maximum(x, low), high);
}

// A start for search number `search` > 0: uniform over the middle part of each range, first half of it, then more
// (joints far from their bounds can move most freely: measured 1.37 compared with 1.42 searches on the Panda, 1.25 with
// 1.43 on the UR5), and finally beyond it, so that more joints start at a limit: poses near several limits are hard to
// reach from elsewhere. If no pose reaches, the best one usually has joints at their limits. A ball joint with a cone
// starts inside it.
void seed_start(const SolverData& solver, unsigned search, S* q) {
  // a proof for a lower level does not affect the searches of the levels above it
  const bool hopeless = solver.proved_unreachable && !solver.strict;
  const double part = hopeless ? 1.5 : minimum(1.5, 0.5 + 0.025 * (search - 1));
  for (int c = 0; c < solver.n_v; ++c) {
    const Freedom<S>& f = solver.freedoms[static_cast<std::size_t>(c)];
    if (f.q_index >= 0) q[f.q_index] = seed_value(solver, search, c, part);
  }
  for (const Coordinate& at : solver.coordinates) {
    if (!at.quaternion) continue;
    // three uniform numbers to a uniform rotation (Shoemake 1992)
    const auto c = static_cast<unsigned>(at.v_index);
    const double u = seed_number(solver, search, c), a = 2 * pi * seed_number(solver, search, c + 1),
                 b = 2 * pi * seed_number(solver, search, c + 2);
    S sa, ca, sb, cb;
    sine_cosine(a, sa, ca);
    S* x = q + at.q_index;
    if (const ConeSpec<double>* cone = cone_of(solver, at.q_index)) {
      const double out = part * square_root(u);
      seed_in_cone(*cone, out * ca, out * sa, 0.5 + part * (b / (2 * pi) - 0.5), x);
      continue;
    }
    sine_cosine(b, sb, cb);
    const double v = square_root(1.0 - u), w = square_root(u);
    x[0] = w * cb;
    x[1] = v * sa;
    x[2] = v * ca;
    x[3] = w * sb;
  }
}

}  // namespace
}  // namespace POISE_LEVEL
}  // namespace poise
