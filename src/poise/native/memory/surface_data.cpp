// surface_data.cpp: rows of a clearance, grouped by links.
#include "memory/surface_data.h"

#include <algorithm>
#include <cmath>

namespace poise {
namespace {

constexpr int widest = 8;  // lanes of a pack

// the smallest ball around the middle of the capsules' box that contains them
void cover_link(SurfaceLink<double>& link, const std::vector<CapsuleData<double>>& capsules, bool scaled) {
  double low[3] = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, high[3] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
  const auto each_end = [&](const auto& visit) {
    for (int c = link.first; c < link.last; ++c) {
      const CapsuleData<double>& capsule = capsules[static_cast<std::size_t>(c)];
      for (const auto& end : capsule.ends) visit(end, capsule.radius);
    }
  };
  each_end([&](const double* end, double radius) {
    for (int k = 0; k < 3; ++k) {
      low[k] = minimum(low[k], end[k] - radius);
      high[k] = maximum(high[k], end[k] + radius);
    }
  });
  for (int k = 0; k < 3; ++k) link.center[k] = 0.5 * (low[k] + high[k]);
  each_end([&](const double* end, double radius) {
    const double apart[3] = {end[0] - link.center[0], end[1] - link.center[1], end[2] - link.center[2]};
    link.radius = maximum(link.radius, square_root(dot(apart, apart)) + radius);
  });
  link.radius = scaled ? HUGE_VAL : link.radius * (1.0 + 1e-12);
}

void find_links(SurfaceData& to, const SurfaceRules& rules, const std::vector<CapsuleData<double>>& capsules,
                const std::vector<char>& scaled) {
  const int last = static_cast<int>(capsules.size());
  for (int c = rules.first_capsule; c < last; ++c) {
    const int primitive = capsules[static_cast<std::size_t>(c)].primitive;
    const bool moves = rules.moving[static_cast<std::size_t>(c - rules.first_capsule)] != 0;
    if (to.links.empty() || to.links.back().primitive != primitive || (to.links.back().world_row >= 0) != moves)
      to.links.push_back({primitive, c, c, moves ? 0 : -1, {}, 0.0});
    ++to.links.back().last;
  }
  for (SurfaceLink<double>& link : to.links)
    cover_link(link, capsules, link.primitive >= 0 && scaled[static_cast<std::size_t>(link.primitive)]);
}

// a box around a solid; one that contains everything for an operation without a case
void cover_solid(const RegionData<double>& solid, double* box) {
  const double* x = solid.numbers;
  const bool boxed = solid.op == LIMIT_BOX || solid.op == LIMIT_OBSTACLE, turned = boxed || solid.op == LIMIT_CYLINDER;
  for (int k = 0; k < 12; ++k) box[k] = turned ? x[k] : k % 4 == 0 && k < 9;
  for (int k = 0; k < 3; ++k) box[12 + k] = boxed ? x[12 + k] : HUGE_VAL;
  if (solid.op == LIMIT_CYLINDER) {
    box[12] = box[13] = x[12];
    box[14] = x[13];
  }
  for (int k = 0; k < 3 && solid.op == LIMIT_SEGMENT; ++k) {
    box[9 + k] = 0.5 * (x[k] + x[3 + k]);
    box[12 + k] = 0.5 * absolute(x[3 + k] - x[k]) + x[6];
  }
}

// the number of rows of a region and a capsule
int rows_of_region(const RegionData<double>& region) { return region.op == LIMIT_PLANE ? 2 : 1; }

// Writes the cover of a region, or its plane.
void cover_region(SurfaceData& to, int i, const RegionData<double>& region) {
  if (region.op == LIMIT_PLANE) {
    for (int k = 0; k < 4; ++k) to.planes[static_cast<std::size_t>(4 * i + k)] = region.numbers[k];
    return;
  }
  double box[15];
  cover_solid(region, box);
  for (int k = 0; k < 15; ++k) to.covers[static_cast<std::size_t>(k * to.stride + i - to.n_planes)] = box[k];
}

void cover_world(SurfaceData& to) {
  for (const RegionData<double>& region : to.regions) to.n_planes += region.op == LIMIT_PLANE;
  to.n_solids = static_cast<int>(to.regions.size()) - to.n_planes;
  to.stride = (to.n_solids + widest - 1) / widest * widest;
  to.covers.assign(15 * static_cast<std::size_t>(to.stride), 0.0);
  to.planes.assign(4 * static_cast<std::size_t>(to.n_planes), 0.0);
  for (std::size_t i = 0; i < to.regions.size(); ++i) cover_region(to, static_cast<int>(i), to.regions[i]);
}

// a point after a rigid motion (4x4)
void move_point(const double* T, const double* x, double* out) {
  for (int k = 0; k < 3; ++k) out[k] = T[4 * k] * x[0] + T[4 * k + 1] * x[1] + T[4 * k + 2] * x[2] + T[4 * k + 3];
}

// a region after a rigid motion
RegionData<double> moved_region(const RegionData<double>& region, const double* T) {
  RegionData<double> out = region;
  const double *x = region.numbers, R[9] = {T[0], T[1], T[2], T[4], T[5], T[6], T[8], T[9], T[10]};
  if (region.op == LIMIT_PLANE) {
    const double p[3] = {T[3], T[7], T[11]};
    rotate(R, x, out.numbers);
    out.numbers[3] = x[3] + dot(out.numbers, p);
  } else if (region.op == LIMIT_SEGMENT) {
    move_point(T, x, out.numbers);
    move_point(T, x + 3, out.numbers + 3);
  } else {
    for (int i = 0; i < 9; ++i)
      out.numbers[i] = R[i / 3 * 3] * x[i % 3] + R[i / 3 * 3 + 1] * x[3 + i % 3] + R[i / 3 * 3 + 2] * x[6 + i % 3];
    move_point(T, x + 9, out.numbers + 9);
  }
  return out;
}

// the rows of pairs, sorted by their two links
void group_pairs(SurfaceData& to, const SurfaceRules& rules) {
  std::vector<int> link_of;
  for (std::size_t l = 0; l < to.links.size(); ++l)
    link_of.insert(link_of.end(), static_cast<std::size_t>(to.links[l].last - to.links[l].first), static_cast<int>(l));
  const std::size_t links = to.links.size(), count = rules.pairs.size() / 2;
  const auto group_of = [&](std::size_t i) {
    const auto a = static_cast<std::size_t>(rules.pairs[2 * i]), b = static_cast<std::size_t>(rules.pairs[2 * i + 1]);
    return static_cast<std::size_t>(link_of[a]) * links + static_cast<std::size_t>(link_of[b]);
  };
  std::vector<int> ends(links * links + 1, 0);
  for (std::size_t i = 0; i < count; ++i) ++ends[group_of(i) + 1];
  for (std::size_t g = 0; g < links * links; ++g) {
    ends[g + 1] += ends[g];
    if (ends[g + 1] > ends[g])
      to.pairs.push_back({static_cast<int>(g / links), static_cast<int>(g % links), ends[g], ends[g + 1]});
  }
  to.pair_rows.resize(count);
  for (std::size_t i = 0; i < count; ++i)
    to.pair_rows[static_cast<std::size_t>(ends[group_of(i)]++)] = to.first_row + static_cast<int>(i);
  const auto first_of = [&](int row) { return rules.pairs[2 * static_cast<std::size_t>(row - to.first_row)]; };
  const auto before = [&](int a, int b) { return first_of(a) < first_of(b); };
  for (const LinkPair& pair : to.pairs) {
    const auto first = to.pair_rows.begin() + pair.first, last = to.pair_rows.begin() + pair.last;
    if (!std::is_sorted(first, last, before)) std::stable_sort(first, last, before);
  }
  to.pair_capsules.reserve(2 * count);
  for (int row : to.pair_rows) {
    for (std::size_t k = 0; k < 2; ++k)
      to.pair_capsules.push_back(rules.first_capsule +
                                 rules.pairs[2 * static_cast<std::size_t>(row - to.first_row) + k]);
  }
}

}  // namespace

SurfaceData add_surfaces(const SurfaceRules& rules, const std::vector<CapsuleData<double>>& capsules,
                         const std::vector<char>& scaled, std::vector<LimitSpec<double>>& limits,
                         std::vector<double>& numbers) {
  SurfaceData to;
  to.first_row = static_cast<int>(limits.size());
  to.distance = rules.distance;
  to.regions = rules.regions;
  find_links(to, rules, capsules, scaled);
  cover_world(to);
  group_pairs(to, rules);
  to.first_number = static_cast<int>(numbers.size());
  for (const RegionData<double>& region : rules.regions)
    numbers.insert(numbers.end(), region.numbers, region.numbers + most_numbers);
  const std::size_t each = rules.regions.size() + static_cast<std::size_t>(to.n_planes);
  limits.reserve(limits.size() + rules.pairs.size() / 2 + each * rules.moving.size());
  for (std::size_t i = 0; i < rules.pairs.size(); i += 2) {
    const int first = rules.first_capsule + rules.pairs[i], second = rules.first_capsule + rules.pairs[i + 1];
    limits.push_back({LIMIT_PAIR, first, second, 0, rules.distance});
  }
  for (SurfaceLink<double>& link : to.links) {
    if (link.world_row < 0) continue;
    link.world_row = static_cast<int>(limits.size());
    for (int c = link.first; c < link.last; ++c) {
      int at = to.first_number;
      for (const RegionData<double>& region : rules.regions) {
        for (int end = 0; end < rows_of_region(region); ++end)
          limits.push_back({region.op, c, end, at, rules.distance});
        at += most_numbers;
      }
    }
  }
  to.n_rows = static_cast<int>(limits.size()) - to.first_row;
  to.centers.resize(3 * to.links.size());
  to.bounds.resize(to.links.size() * static_cast<std::size_t>(to.n_planes + to.stride));
  to.arrived.resize(to.links.size());
  return to;
}

void move_region(SurfaceData& surfaces, std::vector<double>& numbers, int region, const double* T) {
  const RegionData<double> placed = moved_region(surfaces.regions[static_cast<std::size_t>(region)], T);
  cover_region(surfaces, region, placed);
  std::copy_n(placed.numbers, most_numbers, numbers.begin() + surfaces.first_number + most_numbers * region);
}

}  // namespace poise
