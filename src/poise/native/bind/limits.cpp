// limits.cpp: reading limits from the tables of poise.solvers and poise.limits.
#define NO_IMPORT_ARRAY
#include "bind/limits.h"

#include <algorithm>

#include <nanobind/stl/vector.h>

namespace poise {
namespace {

// the numbers of a cone: axis, first, second, swing (2), twist (2), angle; only for joints that may move
void take_cones(SolverData& to, const nb::dict& table, const std::vector<int>& column) {
  for (nb::handle entry : nb::cast<nb::list>(table["cones"])) {
    const auto given = nb::cast<nb::tuple>(entry);
    const int q_index = nb::cast<int>(given[0]), c = column[nb::cast<std::size_t>(given[1])];
    const auto x = nb::cast<std::vector<double>>(given[2]);
    if (c < 0) throw std::logic_error("a cone of a joint that may not move");
    to.cones.push_back(
        {q_index, c, {x[0], x[1], x[2]}, {x[3], x[4], x[5]}, {x[6], x[7], x[8]}, {x[9], x[10]}, {x[11], x[12]}, x[13]});
  }
}

// a capsule of a frame, from both ends and the radius, in the axes of the primitive that carries it
CapsuleData<double> make_capsule(const FrameData<double>& frame, const std::vector<int>& index, const double* ends,
                                 double radius) {
  const bool own = frame.primitive < 0 || index.empty();
  CapsuleData<double> capsule{own ? frame.primitive : index[static_cast<std::size_t>(frame.primitive)], {}, radius};
  for (std::size_t i = 0; i < 2; ++i) {
    rotate(frame.R, ends + 3 * i, capsule.ends[i]);
    for (int k = 0; k < 3; ++k) capsule.ends[i][k] += frame.p[k];
  }
  return capsule;
}

const FrameData<double>& frame_at(const Body& body, std::size_t index) { return body.f64.frames.at(index); }

// Appends a row as given: (op, first, second, numbers, distance).
void add_row(SolverData& to, const nb::tuple& given) {
  to.limits.push_back({nb::cast<int>(given[0]), nb::cast<int>(given[1]), nb::cast<int>(given[2]),
                       static_cast<int>(to.numbers.size()), nb::cast<double>(given[4])});
  auto x = nb::cast<std::vector<double>>(given[3]);
  x.resize(most_numbers);
  to.numbers.insert(to.numbers.end(), x.begin(), x.end());
}

}  // namespace

SurfaceRules read_surfaces(const Body& body, const nb::dict& table, const std::vector<int>& index,
                           std::vector<CapsuleData<double>>& capsules, ObstacleList& obstacles) {
  SurfaceRules rules;
  const auto read = [&](const char* key) { return as_array<double>(table[key], key); };
  const Array frames = read("frames"), ends = read("ends"), radius = read("radius"), moves = read("moves"),
              pairs = read("pairs"), regions = read("regions");
  const auto first_obstacle = static_cast<double>(obstacles.data.size());
  for (nb::handle each : nb::cast<nb::list>(table["obstacles"])) obstacles.add(nb::cast<SharedObstacle&>(each).data);
  rules.first_capsule = static_cast<int>(capsules.size());
  rules.distance = nb::cast<double>(table["distance"]);
  for (npy_intp c = 0; c < frames.size(); ++c) {
    const auto frame = static_cast<std::size_t>(frames.data<double>()[c]);
    capsules.push_back(
        make_capsule(frame_at(body, frame), index, ends.data<double>() + 6 * c, radius.data<double>()[c]));
    rules.moving.push_back(moves.data<double>()[c] != 0.0);
  }
  for (npy_intp i = 0; i < pairs.size(); ++i) rules.pairs.push_back(static_cast<int>(pairs.data<double>()[i]));
  for (npy_intp i = 0; i < regions.dim(0); ++i) {
    const double* x = regions.data<double>() + 17 * i;
    RegionData<double> region{static_cast<int>(x[0]), {}};
    std::copy_n(x + 1, most_numbers, region.numbers);
    if (region.op == LIMIT_OBSTACLE) region.numbers[15] += first_obstacle;
    rules.regions.push_back(region);
  }
  return rules;
}

// Copies rows and clearances as given; their classes have selected them. A clearance has capsules of its own, after
// those of the rows.
void take_rows(PreparedSolver& solver, const Body& body, const nb::dict& table) {
  SolverData& to = solver.data;
  for (nb::handle entry : nb::cast<nb::list>(table["capsules"])) {
    const auto given = nb::cast<nb::tuple>(entry);
    const auto x = nb::cast<std::vector<double>>(given[1]);
    to.capsules.push_back(make_capsule(frame_at(body, nb::cast<std::size_t>(given[0])), solver.index, x.data(), x[6]));
  }
  std::vector<char> scaled;
  for (const Primitive<double>& b : to.primitives) scaled.push_back(b.scaled);
  for (nb::handle entry : nb::cast<nb::list>(table["limits"])) {
    if (!nb::isinstance<nb::dict>(entry)) {
      add_row(to, nb::cast<nb::tuple>(entry));
      continue;
    }
    const SurfaceRules rules = read_surfaces(body, nb::cast<nb::dict>(entry), solver.index, to.capsules, to.obstacles);
    to.surfaces.push_back(add_surfaces(rules, to.capsules, scaled, to.limits, to.numbers));
  }
}

void take_limits(PreparedSolver& solver, const Body& body, const nb::dict& table) {
  SolverData& to = solver.data;
  take_cones(to, table, solver.column);
  for (nb::handle entry : nb::cast<nb::list>(table["terms"])) {
    const auto term = nb::cast<nb::tuple>(entry);
    const int column = solver.column[nb::cast<std::size_t>(term[1])];
    to.terms.push_back({nb::cast<int>(term[0]), column, nb::cast<double>(term[2])});
  }
  take_rows(solver, body, table);
}

}  // namespace poise
