// subproblems.cpp: the canonical subproblems on random geometry and at the edges where they degenerate, in double, float and packs. Prints
// the worst residual of each, how often a bound was broken, and how many numbers were not numbers.
#include "kernels/closed/subproblems.h"

#include <cstdio>
#include <cstdlib>
#include <initializer_list>

#include "noise.h"

using namespace poise;

namespace {

double lane_of(double x) { return x; }
double lane_of(float x) { return double(x); }
template <class T, int N> double lane_of(Pack<T, N> x) { return double(x.lane(N - 1)); }
bool lane_of(bool m) { return m; }
template <class T, int N> bool lane_of(Mask<T, N> m) { return m.lane(N - 1); }

template <class S> void draw(S* x, double size = 1.0) {
  for (int i = 0; i < 3; ++i) x[i] = S(real_t<S>(size * noise()));
}
template <class S> void draw_unit(S* x) {
  draw(x);
  x[0] += S(real_t<S>(0.1));
  const S n = norm(x);
  for (int i = 0; i < 3; ++i) x[i] = x[i] / n;
}

struct Figures {
  double onto = 0, height = 0, distance = 0, slide = 0;
  int broken = 0, checked = 0, odd = 0, missing = 0, worse = 0;
};

double wrap(double a) {
  const double turn = 2 * one_pi;
  return absolute(a - turn * double(static_cast<long long>(a / turn + (a < 0 ? -0.5 : 0.5))));
}

template <class S> S height(const S* h, const S* k, const S* p, S t) {
  S x[3];
  turn_about(k, t, p, x);
  return dot(h, x);
}

template <class S> TwoTurns<S> turn_to_height(const S* h, const S* k, const S* p, S d, S error) {
  return turns_of(height_line(h, k, p, d, error));
}
template <class S> TwoTurns<S> turn_to_distance(const S* k, const S* p, const S* q, S d, S error) {
  return turns_of(distance_line(k, p, q, d, maximum(d - error, S(real_t<S>(0))), d + error));
}

template <class S> double note(Figures& f, double worst, S value) {
  const double x = lane_of(absolute(value));
  if (!(x < 1e300)) ++f.odd;
  return x > worst ? x : worst;
}

template <class S> void solve_random(Figures& f) {
  using T = real_t<S>;
  S h[3], k[3], p[3], q[3], x[3], y[3];
  const S t = S(T(3 * noise())), none = S(T(0));
  draw_unit(k);
  draw(h);
  draw(p);
  draw(q);

  turn_about(k, t, p, x);
  turn_about(k, turn_onto(k, p, x, none, none).at, p, y);
  for (int i = 0; i < 3; ++i) f.onto = note(f, f.onto, x[i] - y[i]);

  const TwoTurns<S> high = turn_to_height(h, k, p, dot(h, x), none);
  for (const Known<S>& one : high.turn) f.height = note(f, f.height, height(h, k, p, one.at) - dot(h, x));

  S d[3] = {x[0] - q[0], x[1] - q[1], x[2] - q[2]};
  const S far = norm(d);
  for (const Known<S>& one : turn_to_distance(k, p, q, far, none).turn) {
    turn_about(k, one.at, p, y);
    for (int i = 0; i < 3; ++i) d[i] = y[i] - q[i];
    f.distance = note(f, f.distance, norm(d) - far);
  }
  for (int i = 0; i < 3; ++i) d[i] = p[i] + t * k[i] - q[i];
  const S along = norm(d);
  for (const Known<S>& one : slide_to_distance(k, p, q, along, none).turn) {
    for (int i = 0; i < 3; ++i) d[i] = p[i] + one.at * k[i] - q[i];
    f.slide = note(f, f.slide, norm(d) - along);
  }
}

// whether some answer is within its slack of t
template <class S> bool holds(const TwoTurns<S>& two, double t) {
  const double room = sizeof(real_t<S>) == 8 ? 1e-7 : 1e-2;
  for (const Known<S>& one : two.turn) {
    if (wrap(t - lane_of(one.at)) <= lane_of(one.slack) + room) return true;
  }
  return false;
}

// What is asked for is off by up to the error: the turn that was true stays inside the bound, also near where two answers are one.
template <class S> void check_bounds(Figures& f) {
  using T = real_t<S>;
  S h[3], k[3], p[3], q[3], x[3], d[3];
  const double t = 3 * noise(), size = 0.3 * absolute(noise() * noise());
  const S error = S(T(size)), off = S(T(0.999 * size * noise()));
  draw_unit(k);
  draw(h);
  draw(p, noise() > 0.5 ? 0.05 : 1.0);
  draw(q);
  turn_about(k, S(T(t)), p, x);
  f.checked += 3;
  const TwoTurns<S> high = turn_to_height(h, k, p, dot(h, x) + off, error);
  f.broken += !lane_of(high.found) || !holds(high, t);
  for (int i = 0; i < 3; ++i) d[i] = x[i] - q[i];
  const TwoTurns<S> away = turn_to_distance(k, p, q, maximum(norm(d) + off, S(T(0))), error);
  f.broken += !lane_of(away.found) || !holds(away, t);
  draw_unit(d);
  for (int i = 0; i < 3; ++i) x[i] += off * d[i];
  const Known<S> onto = turn_onto(k, p, x, S(T(0)), error);
  const double room = sizeof(T) == 8 ? 1e-7 : 1e-2;
  f.broken += !(wrap(t - lane_of(onto.at)) <= lane_of(onto.slack) + room);
}

// Nothing is NaN where vectors vanish or are along the axis; what cannot be reached is answered by what comes nearest.
template <class S> void solve_edges(Figures& f) {
  using T = real_t<S>;
  const S zero[3] = {S(T(0)), S(T(0)), S(T(0))};
  S h[3], k[3], p[3];
  draw(h);
  draw_unit(k);
  draw(p);
  const S two[3] = {S(T(2)) * k[0], S(T(2)) * k[1], S(T(2)) * k[2]};
  const S* vectors[4] = {zero, two, p, k};
  const S errors[2] = {S(T(0)), S(T(0.1))};
  for (const S* a : vectors) {
    for (const S* b : vectors) {
      for (const S& e : errors) {
        for (const S& d : {S(T(0)), S(T(1)), S(T(1e6))}) {
          for (const TwoTurns<S>& two_turns :
               {turn_to_height(a, k, b, d, e), turn_to_distance(k, a, b, d, e), slide_to_distance(k, a, b, d, e)}) {
            for (const Known<S>& one : two_turns.turn) {
              note(f, 0, one.at);
              note(f, 0, one.slack);
            }
          }
        }
        note(f, 0, turn_onto(k, a, b, e, e).at);
        note(f, 0, turn_onto(k, a, b, e, e).slack);
      }
    }
  }
  // too high: not found, and no turn is higher
  const S d = S(T(10));
  const TwoTurns<S> high = turn_to_height(h, k, p, d, S(T(0)));
  f.missing += lane_of(high.found);
  const double best = lane_of(height(h, k, p, high.turn[0].at)), room = sizeof(T) == 8 ? 1e-12 : 1e-5;
  for (int i = 0; i < 20; ++i) f.worse += lane_of(height(h, k, p, S(T(0.3 * i)))) > best + room;
}

template <class S> void report(const char* name, int rounds) {
  drawn = 0;
  Figures f;
  for (int i = 0; i < rounds; ++i) {
    solve_random<S>(f);
    check_bounds<S>(f);
  }
  for (int i = 0; i < 200; ++i) solve_edges<S>(f);
  std::printf("residuals_%s %g %g %g %g\n", name, f.onto, f.height, f.distance, f.slide);
  std::printf("counts_%s %d %d %d %d %d\n", name, f.broken, f.checked, f.odd, f.missing, f.worse);
}

}  // namespace

// With an argument: so many rounds of random geometry.
int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 20000;
  report<double>("double", rounds);
  report<float>("float", rounds);
  report<Pack<double, 2>>("pack", rounds);
  return 0;
}
