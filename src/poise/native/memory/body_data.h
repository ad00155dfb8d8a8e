// body_data.h: the arrays behind a BodyView, in double and in float, and the names of the frames.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernels/body/body.h"

namespace poise {

template <class T> struct BodyArrays {
  std::vector<Primitive<T>> primitives;
  std::vector<Mass<T>> masses;
  std::vector<FrameData<T>> frames;
  bool shared_columns = false;

  BodyView<T> view(int n_q, int n_v) const {
    return {primitives.data(), masses.data(), static_cast<int>(primitives.size()), n_q, n_v, shared_columns};
  }
};

// The curves of a body's paths. Primitives point to them, so their addresses do not change, and copies of primitives
// share them.
struct CurveStore {
  std::vector<std::vector<CurvePiece>> pieces;
  std::vector<Curve> curves;
};

// lookup by string_view without constructing a string
struct NameHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
};
using NameMap = std::unordered_map<std::string, int, NameHash, std::equal_to<>>;

struct Body {
  int n_q = 0, n_v = 0;
  BodyArrays<double> f64;
  BodyArrays<float> f32;
  std::shared_ptr<const CurveStore> curves;
  std::vector<Coordinate> coordinates;
  NameMap frame_index;

  template <class T> const BodyArrays<T>& arrays() const {
    if constexpr (sizeof(T) == 8) {
      return f64;
    } else {
      return f32;
    }
  }
};

}  // namespace poise
