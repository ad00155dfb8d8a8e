// obstacle_data.h: the points of a cloud or the faces of a hull, shared by the problems that avoid it.
#pragma once
#include <memory>
#include <vector>

#include "kernels/limits/obstacles.h"
#include "memory/point_data.h"

namespace poise {

struct ObstacleData {
  PointData cloud;
  double radius = 0.0;
  std::vector<double> faces;
  bool solid = false;

  Obstacle<double> view() const {
    return {cloud.view(), radius, faces.data(), static_cast<int>(faces.size()) / hull_face_size, solid};
  }
};

// The obstacles of a problem, in the order of their indices.
struct ObstacleList {
  std::vector<std::shared_ptr<const ObstacleData>> data;
  std::vector<Obstacle<double>> views;

  void add(std::shared_ptr<const ObstacleData> obstacle) {
    views.push_back(obstacle->view());
    data.push_back(std::move(obstacle));
  }
};

}  // namespace poise
