// arcs.h: the arcs of a free joint: for each branch of a transform, every interval with all joints inside their ranges.
// arc_search.h finds their pieces.
#pragma once
#include <algorithm>
#include <vector>

#include "run/listed.h"

namespace poise {

// The unit of length of the free joint: radians, or a tenth of the chain if it slides.
POISE_FN double unit_of_free(const FamilySpec<double>& spec) {
  return spec.free.slides ? 0.1 * spec.chain.length : 1.0;
}

// merges pieces that touch
inline std::vector<Piece> join(std::vector<Piece> pieces, double gap) {
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& a, const Piece& b) { return a.branch != b.branch ? a.branch < b.branch : a.low < b.low; });
  std::vector<Piece> out;
  for (const Piece& piece : pieces) {
    if (!out.empty() && out.back().branch == piece.branch && piece.low - out.back().high <= gap) {
      out.back().high = maximum(out.back().high, piece.high);
    } else {
      out.push_back(piece);
    }
  }
  return out;
}

// Collects the pieces of a search. Most follow the last one of their branch, and lengthen it.
struct PieceCollector {
  double gap;
  std::vector<Piece> sure = {}, open = {};
  std::size_t last[8] = {};  // of the sure pieces of each branch: index + 1, or 0

  static void add(void* to, bool sure, const Piece& piece) {
    PieceCollector& own = *static_cast<PieceCollector*>(to);
    if (!sure) return own.open.push_back(piece);
    std::size_t& last = own.last[piece.branch];
    Piece* before = last > 0 ? &own.sure[last - 1] : nullptr;
    if (before && before->low <= piece.low && piece.low - before->high <= own.gap) {
      before->high = maximum(before->high, piece.high);
    } else {
      own.sure.push_back(piece);
      last = own.sure.size();
    }
  }
};

constexpr double far_from_arcs = 1e-4;

// whether every point of an interval is within `far` of an arc of its branch; the arcs of a branch are sorted
inline bool is_near_arcs(const Piece& open, const std::vector<Piece>& arcs, double far) {
  double from = open.low;
  for (const Piece& arc : arcs) {
    if (arc.branch != open.branch || arc.high + far < from) continue;
    if (arc.low - far > from) return false;
    from = arc.high + far;
    if (from >= open.high) return true;
  }
  return false;
}

// The merged arcs, and whether they are proved complete: the whole range was processed, and nothing farther from an arc
// than `far_from_arcs` may be inside. If the free joint slides, that and `finest` are relative to a tenth of the
// chain's length.
inline bool find_arcs(const FamilyQuestion<double>& question, double finest, int most, std::vector<Piece>& out) {
  // no finer than the precision of the chain itself
  const double own = question.spec.turn_error + question.spec.point_error / question.spec.chain.length;
  const double unit = unit_of_free(question.spec), width = unit * maximum(finest, own);
  PieceCollector found{2.0 * width};
  // a cell of the search has one of eight branches
  bool whole = list_ops().search_arcs(question, width, 8 * most, {&found, PieceCollector::add});
  out = join(std::move(found.sure), 2.0 * width);
  for (const Piece& piece : join(std::move(found.open), 2.0 * width))
    whole = whole && is_near_arcs(piece, out, unit * far_from_arcs);
  return whole;
}

}  // namespace poise
