// surface_data.h: the surfaces of a clearance, grouped by links, with the memory of one pose.
#pragma once
#include <vector>

#include "kernels/limits/surfaces.h"
#include "memory/obstacle_data.h"

namespace poise {

struct SurfaceData {
  int first_row = 0, n_rows = 0;  // its rows among the limits
  int n_planes = 0, n_solids = 0, stride = 0;
  double distance = 0.0;
  std::vector<SurfaceLink<double>> links;
  std::vector<LinkPair> pairs;
  std::vector<int> pair_rows, pair_capsules;
  std::vector<double> planes, covers, centers, bounds;
  std::vector<char> arrived;
  std::vector<RegionData<double>> regions;  // as given, half-spaces first
  int first_number = 0;                     // of the regions, among the numbers of the limits

  SurfaceList<double> list() {
    return {links.data(),
            pairs.data(),
            pair_rows.data(),
            pair_capsules.data(),
            planes.data(),
            covers.data(),
            static_cast<int>(links.size()),
            static_cast<int>(pairs.size()),
            n_planes,
            n_solids,
            stride,
            distance,
            centers.data(),
            bounds.data(),
            arrived.data()};
  }
};

// The capsules of a clearance, both in `capsules`: which pairs are kept apart, and which capsules meet the world.
struct SurfaceRules {
  int first_capsule = 0;
  std::vector<int> pairs;                   // two for each
  std::vector<char> moving;                 // of each capsule
  std::vector<RegionData<double>> regions;  // half-spaces first
  double distance = 0.0;
};

// Appends the rows of a clearance to the limits and their numbers, and groups them; `scaled` marks the primitives that
// change their size.
SurfaceData add_surfaces(const SurfaceRules& rules, const std::vector<CapsuleData<double>>& capsules,
                         const std::vector<char>& scaled, std::vector<LimitSpec<double>>& limits,
                         std::vector<double>& numbers);

// Moves a region of the world from its given place by a rigid motion (4x4, row by row).
void move_region(SurfaceData& surfaces, std::vector<double>& numbers, int region, const double* T);

}  // namespace poise
