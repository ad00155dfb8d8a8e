// general_six.h: the poses of six rotations in general position: all of them, if their number can be counted.
//
// The loop E1 ... E6 = A can begin at any of its axes, and run either way: twelve variants of one elimination (elimination.h),
// each with another joint as its unknown. A variant fails where its equations depend on each other, and is poor near
// there; another one is not. Every root on or near the circle becomes a start of a search on the loop itself.
//
// A variant has 16 roots, and no two poses share one: poses that have a joint in common make it a multiple root, as long as
// the pivots of joints 1 and 2 are not zero. So if all poses are certainly distinct, and they and the roots that are
// certainly not real add up to 16, these are all poses.
#pragma once
#include "kernels/algebra/dense.h"
#include "kernels/closed/elimination.h"
#include "kernels/closed/form.h"

namespace poise {

struct GeneralPose {
  double at[6];
  double error, firmness;  // of the closure, and a lower bound of its derivative's least singular value
};

struct GeneralPoses {
  static constexpr int most = 32;  // more than 16 only if some are singular
  GeneralPose pose[most];
  int count;
  bool complete;
};

constexpr int loop_variants = 12;
constexpr double closed_loop = 1e-12;    // error of a pose [rad, or of the unit]
constexpr double singular_pose = 1e-5;   // less firmness: two poses may meet here
constexpr double closure_bend = 16.0;    // bound of the closure's second derivative, with the chain's length as unit
constexpr double separate_poses = 1e-6;  // rad: poses that differ by less are one
constexpr double least_rank = 1e-4;      // of the equations of joints 1 and 2
constexpr double near_circle = 0.1;      // roots farther from the circle are not tried

// ---------------------------------------------------------------------------------------------- one loop

// The derivative and error of a loop: twists at the point A p6. The product of its rotations is in R and t.
POISE_LARGE_FN void linearise_loop(const RotationLoop& loop, const double* v, double (*J)[6], double* error, double* R,
                                   double* t) {
  double target[3], end[3];
  for (int i = 0; i < 9; ++i) R[i] = i % 4 == 0;
  for (int i = 0; i < 3; ++i) t[i] = 0.0;
  place(loop.R, loop.t, loop.p[5], target);
  for (int k = 0; k < 6; ++k) {
    double h[3], p[3], arm[3], side[3], E[9], moved[3];
    rotate(R, loop.h[k], h);
    place(R, t, loop.p[k], p);
    difference_of(target, p, arm);
    cross(h, arm, side);
    for (int i = 0; i < 3; ++i) {
      J[i][k] = h[i];
      J[3 + i][k] = side[i];
    }
    rotation_about(loop.h[k], v[k], E);
    rotate(E, loop.p[k], moved);
    difference_of(loop.p[k], moved, moved);
    rotate(R, moved, side);
    for (int i = 0; i < 3; ++i) t[i] += side[i];
    multiply(R, E, E);
    for (int i = 0; i < 9; ++i) R[i] = E[i];
  }
  place(R, t, loop.p[5], end);
  double D[9];
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 3; ++c) D[3 * r + c] = dot(loop.R + 3 * r, R + 3 * c);
  }
  log_of_matrix(D, error);
  difference_of(target, end, error + 3);
}

// Solves (J^T J + damping) x = J^T e; sets `least`, if asked, to 1 / sqrt(tr (J^T J)^-1), at most J's least singular value.
POISE_LARGE_FN void solve_damped(const double (*J)[6], const double* e, double damping, double* x,
                                 double* least = nullptr) {
  double A[21], inverse[6], trace = 0.0;
  for (int r = 0; r < 6; ++r) {
    x[r] = 0.0;
    for (int i = 0; i < 6; ++i) x[r] += J[i][r] * e[i];
    for (int c = 0; c <= r; ++c) {
      A[packed(r, c)] = r == c ? damping : 0.0;
      for (int i = 0; i < 6; ++i) A[packed(r, c)] += J[i][r] * J[i][c];
    }
  }
  cholesky<6>(6, A, inverse, 1e-30);
  cholesky_solve<6>(6, A, inverse, x);
  for (int r = 0; r < 6 && least; ++r) {
    double column[6] = {};
    column[r] = 1.0;
    cholesky_solve<6>(6, A, inverse, column);
    trace += column[r];
  }
  if (least) *least = 1.0 / square_root(trace);
}

// Levenberg and Marquardt from a start; false if it does not close the loop.
POISE_LARGE_FN bool close_loop(const RotationLoop& loop, GeneralPose& pose) {
  constexpr int most_steps = 12;
  constexpr double worst = 1e-10, longest = 0.7;
  double best[6] = {}, J[6][6], e[6], x[6], R[9], t[3], least = 1e300;
  int waits = 0;
  for (int step = 0; step <= most_steps && waits < 3; ++step) {
    linearise_loop(loop, pose.at, J, e, R, t);
    double square = 0.0;
    for (int i = 0; i < 6; ++i) square += e[i] * e[i];
    waits = square < 0.25 * least ? 0 : waits + 1;
    if (square < least) {
      least = square;
      for (int k = 0; k < 6; ++k) best[k] = pose.at[k];
    }
    if (square < closed_loop * closed_loop || (step > 4 && square > 1e-2)) break;
    solve_damped(J, e, 0.01 * minimum(square, 1.0), x);
    double size = 0.0;
    for (int k = 0; k < 6; ++k) size = maximum(size, absolute(x[k]));
    const double shrink = size > longest ? longest / size : 1.0;
    for (int k = 0; k < 6; ++k) pose.at[k] += shrink * x[k];
  }
  for (int k = 0; k < 6; ++k) pose.at[k] = best[k];
  pose.error = square_root(least);
  if (!(pose.error < worst)) return false;
  linearise_loop(loop, pose.at, J, e, R, t);
  solve_damped(J, e, 0.0, x, &pose.firmness);
  for (int k = 0; k < 6; ++k) {
    if (pose.firmness > singular_pose) pose.at[k] += x[k];
    pose.at[k] -= whole_turn * floor_of(pose.at[k] / whole_turn + 0.5);
  }
  return true;
}

// ---------------------------------------------------------------------------------------------- all poses

// variant `which` of a loop; `own` has the joint of the loop at each place of the variant
POISE_LARGE_FN void turn_loop(const RotationLoop& from, int which, RotationLoop& out, int* own) {
  const bool back = which >= 6;
  const int first = which % 6;
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 3; ++k) out.R[3 * i + k] = back ? from.R[3 * k + i] : from.R[3 * i + k];
  }
  double moved[3];
  rotate_back(from.R, from.t, moved);
  for (int i = 0; i < 3; ++i) out.t[i] = back ? -moved[i] : from.t[i];
  for (int k = 0; k < 6; ++k) {
    const int at = (first + k) % 6, joint = back ? 5 - at : at;
    const double *h = from.h[joint], *p = from.p[joint], sign = back ? -1.0 : 1.0;
    own[k] = joint;
    double way[3] = {sign * h[0], sign * h[1], sign * h[2]}, point[3] = {p[0], p[1], p[2]};
    if (first + k > 5) {  // seen from the other end
      rotate_back(out.R, way, out.h[k]);
      place_back(out.R, out.t, point, out.p[k]);
    } else {
      for (int i = 0; i < 3; ++i) {
        out.h[k][i] = way[i];
        out.p[k][i] = point[i];
      }
    }
  }
}

// Whether Newton's method certainly converges from a pose, to the only solution within firmness / (2 closure_bend) (Kantorovich).
POISE_FN bool is_firm(const GeneralPose& pose) {
  return pose.firmness > singular_pose && 4.0 * closure_bend * pose.error < pose.firmness * pose.firmness;
}

// the largest difference of a joint
POISE_LARGE_FN double measure_turns(const double* a, const double* b) {
  double apart = 0.0;
  for (int k = 0; k < 6; ++k) {
    const double d = a[k] - b[k];
    apart = maximum(apart, absolute(d - whole_turn * floor_of(d / whole_turn + 0.5)));
  }
  return apart;
}

// the number of poses that are certainly different
POISE_LARGE_FN int count_firm(const GeneralPoses& poses) {
  int count = 0;
  for (int i = 0; i < poses.count; ++i) {
    bool own = is_firm(poses.pose[i]);
    for (int j = 0; j < i && own; ++j) {
      const double radius = poses.pose[i].firmness / (2.0 * closure_bend);
      own = !is_firm(poses.pose[j]) || measure_turns(poses.pose[i].at, poses.pose[j].at) > radius;
    }
    count += own;
  }
  return count;
}

// adds a pose that is not there yet
POISE_LARGE_FN void add_pose(const GeneralPose& pose, GeneralPoses& to) {
  for (int i = 0; i < to.count; ++i) {
    if (measure_turns(pose.at, to.pose[i].at) < separate_poses) {
      if (pose.error < to.pose[i].error) to.pose[i] = pose;
      return;
    }
  }
  if (to.count < GeneralPoses::most) to.pose[to.count++] = pose;
}

// Adds the poses at the roots on or near the circle.
POISE_LARGE_FN void add_roots(const RotationLoop& loop, const RotationLoop& turned, const Elimination& from,
                              const CircleArc* arc, const CircleRoots& roots, const int* own, GeneralPoses& out) {
  const CircleView view = arc ? arc->view : CircleView{0.0, 0.0};
  for (int i = 0; i < CircleRoots::count; ++i) {
    const double size = square_root(roots.re[i] * roots.re[i] + roots.im[i] * roots.im[i]);
    const bool other = arc && arc->middle_re * roots.re[i] + arc->middle_im * roots.im[i] < 0.0;
    if (other || !(absolute(size - 1.0) < near_circle)) continue;
    double sine, cosine, joints[6];
    leave_view(view, roots.re[i] / size, roots.im[i] / size, cosine, sine);
    joints_at_root(turned, from, sine, cosine, joints);
    GeneralPose pose;
    for (int k = 0; k < 6; ++k) pose.at[own[k]] = joints[k];
    if (close_loop(loop, pose)) add_pose(pose, out);
  }
}

// Adds the poses of one variant, and raises `unreal`, the number of roots that are certainly no poses, if it counts more of
// them. `seen` is the loop whose roots are found: another one than `loop` gives only starts.
template <class S> POISE_LARGE_FN void search_variant(const RotationLoop& loop, const RotationLoop& seen, int which,
                                                      int& unreal, GeneralPoses& out) {
  constexpr int n = CircleRoots::count, most_arcs = 4;
  RotationLoop turned;
  Elimination equations;
  int own[6];
  turn_loop(seen, which, turned, own);
  eliminate(turned, equations);
  const auto finish = [&](int found) {
    if (equations.rank > least_rank && unreal < found) unreal = found;
    return count_firm(out) == out.count && out.count + unreal == n;
  };
  const CircleRoots roots = find_turn_roots<S>(equations, {0.0, 0.0});
  bool off[n];
  mark_unreal(roots, off);
  int found = 0;
  for (int i = 0; i < n; ++i) found += 2 * off[i];
  add_roots(loop, turned, equations, nullptr, roots, own, out);
  if (&loop != &seen || finish(found)) return;
  CircleArc arcs[most_arcs];
  const int count = find_arcs_of_roots(roots, off, arcs, most_arcs);
  int inside[most_arcs] = {}, outside = 0;
  for (int i = 0; i < n; ++i) {
    bool out_of_all = off[i];
    for (int k = 0; k < count && off[i]; ++k) {
      const int side = side_of_arc(arcs[k], roots.re[i], roots.im[i], roots.radius[i]);
      inside[k] += 2 * (side > 0);
      out_of_all = out_of_all && side < 0;
    }
    outside += 2 * out_of_all;
  }
  found = outside;
  for (int k = 0; k < count; ++k) {
    const CircleRoots closer = find_turn_roots<S>(equations, arcs[k].view);
    bool clear[n];
    mark_unreal(closer, clear);
    int here = 0;
    for (int i = 0; i < n; ++i) {
      const double left = arcs[k].middle_re * closer.re[i] + arcs[k].middle_im * closer.im[i];
      here += 2 * (clear[i] && left > closer.radius[i]);
    }
    found += here > inside[k] ? here : inside[k];
    add_roots(loop, turned, equations, &arcs[k], closer, own, out);
  }
  finish(found);
}

// The variants worth a search, best first.
struct LoopVariants {
  static constexpr int most = 4;
  int which[most], count;
};

// Two branches meet in a singular pose, and rounding leaves them apart: of close poses one stays if the pose between them
// closes the loop too.
POISE_LARGE_FN void drop_twins(const RotationLoop& loop, GeneralPoses& poses) {
  constexpr double close = 1e-3, closes = 1e-8;
  for (int i = poses.count - 1; i > 0; --i) {
    bool twin = false;
    for (int j = 0; j < i && !twin && !is_firm(poses.pose[i]); ++j) {
      double apart = 0.0, between[6], J[6][6], e[6], R[9], t[3], square = 0.0;
      for (int k = 0; k < 6; ++k) {
        double d = poses.pose[j].at[k] - poses.pose[i].at[k];
        d -= whole_turn * floor_of(d / whole_turn + 0.5);
        apart = maximum(apart, absolute(d));
        between[k] = poses.pose[i].at[k] + 0.5 * d;
      }
      if (apart > close) continue;
      linearise_loop(loop, between, J, e, R, t);
      for (int k = 0; k < 6; ++k) square += e[k] * e[k];
      twin = square < closes * closes;
    }
    if (twin) poses.pose[i] = poses.pose[--poses.count];
  }
}

// Whether the axes cannot span the distance from the first to the last.
POISE_FN bool is_too_far(const RotationLoop& loop) {
  double d[3], moved[3], reach = 1e-9;
  for (int k = 0; k < 5; ++k) {
    difference_of(loop.p[k + 1], loop.p[k], d);
    reach += norm(d);
  }
  place(loop.R, loop.t, loop.p[5], moved);
  difference_of(moved, loop.p[0], d);
  return norm(d) > (1.0 + 1e-9) * reach;
}

// All poses of a loop, by its variants, until they are complete. Where poses have joints in common, as with a target square
// to the base, roots are multiple: the loop of a target nearby has simple ones, which are starts.
template <class S>
POISE_LARGE_FN void find_general(const RotationLoop& loop, const LoopVariants& variants, GeneralPoses& out) {
  constexpr double nudge[3] = {1e-3, -0.7e-3, 0.4e-3};
  int unreal = 0, ignored = 0;
  const auto is_complete = [&] { return count_firm(out) == out.count && out.count + unreal == CircleRoots::count; };
  out.count = 0;
  out.complete = is_too_far(loop);
  if (out.complete) return;
  for (int i = 0; i < variants.count && !is_complete(); ++i) {
    const int known = out.count, counted = unreal;
    search_variant<S>(loop, loop, variants.which[i], unreal, out);
    if (i > 0 && out.count == known && unreal == counted) break;
  }
  for (int i = 0; i < variants.count && !is_complete(); ++i) {
    RotationLoop near = loop;
    for (int k = 0; k < 3; ++k) {
      double column[3], turned[3];
      for (int r = 0; r < 3; ++r) column[r] = loop.R[3 * r + k];
      cross(nudge, column, turned);
      for (int r = 0; r < 3; ++r) near.R[3 * r + k] += turned[r];
      near.t[k] += nudge[2 - k];
    }
    search_variant<S>(loop, near, variants.which[i], ignored, out);
  }
  out.complete = is_complete();
  if (!out.complete) drop_twins(loop, out);
}

// The variants that list the poses of most probes, or find most of them; the product of the loop is not read.
template <class S> POISE_LARGE_FN LoopVariants choose_variants(RotationLoop loop) {
  constexpr int probes = 16;
  int unreal[probes][loop_variants], found[loop_variants] = {}, listed[loop_variants] = {};
  for (int probe = 0; probe < probes; ++probe) {
    double v[6], J[6][6], e[6];
    for (int k = 0; k < 6; ++k) {
      const double x = (probe + 1) * square_root(2.0 + 3.0 * k * (k + 1.0)) * 0.37;
      v[k] = whole_turn * (x - floor_of(x));
    }
    double R[9], t[3];
    for (int i = 0; i < 9; ++i) loop.R[i] = i % 4 == 0;
    for (int i = 0; i < 3; ++i) loop.t[i] = 0.0;
    linearise_loop(loop, v, J, e, R, t);
    for (int i = 0; i < 9; ++i) loop.R[i] = R[i];
    for (int i = 0; i < 3; ++i) loop.t[i] = t[i];
    GeneralPoses all;
    all.count = 0;
    int most = 0;
    for (int k = 0; k < loop_variants; ++k) most = most < found[k] ? found[k] : most;
    for (int k = 0; k < loop_variants; ++k) {
      GeneralPoses own;
      own.count = unreal[probe][k] = 0;
      if (probe > 3 && 2 * found[k] < most) continue;
      search_variant<S>(loop, loop, k, unreal[probe][k], own);
      found[k] += own.count;
      for (int i = 0; i < own.count; ++i) add_pose(own.pose[i], all);
    }
    for (int k = 0; k < loop_variants; ++k) listed[k] += count_firm(all) + unreal[probe][k] == CircleRoots::count;
  }
  LoopVariants out{};
  for (int rank = 0; rank < LoopVariants::most; ++rank) {
    int best = -1;
    for (int k = 0; k < loop_variants; ++k) {
      const bool better = best < 0 || listed[k] > listed[best] || (listed[k] == listed[best] && found[k] > found[best]);
      if (found[k] >= 0 && better) best = k;
    }
    if (found[best] == 0 && rank > 0) break;
    out.which[out.count++] = best;
    found[best] = -1;
    listed[best] = -1;
  }
  return out;
}

}  // namespace poise
