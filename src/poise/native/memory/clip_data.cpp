// clip_data.cpp: allocates the memory of a clip.
#include "memory/clip_data.h"

#include "kernels/algebra/banded.h"
#include "kernels/algebra/factor.h"

namespace poise {

void allot(ClipData& clip) {
  const SolverData& s = *clip.solver;
  const auto frames = static_cast<std::size_t>(clip.frames), n = static_cast<std::size_t>(s.n_v);
  const auto m = static_cast<std::size_t>(s.n_rows), block = static_cast<std::size_t>(band_block<double>(s.n_v));
  clip.trial = clip.q;
  clip.displacement.assign(frames * n, 0.0);
  clip.step.assign(frames * n, 0.0);
  clip.coupled_step.assign((frames + 2) * block, 0.0);
  clip.alone.assign(3 * frames, 0.0);
  clip.gradient.assign(frames * n, 0.0);
  clip.held.assign(frames * n, 0);
  clip.nearest.assign(2 * static_cast<std::size_t>(s.n_q), 0.0);
  clip.rows.assign(m, 0.0);
  clip.resting.assign(m, 0);
  clip.J.assign(m * n, 0.0);
  clip.front.assign(static_cast<std::size_t>(size_of_front<double>(s.n_v)), 0.0);
  clip.factors.assign(frames * static_cast<std::size_t>(size_of_band_frame<double>(s.n_v)), 0.0);
  const std::size_t limits = s.limits.size(), most = m + limits;  // rows of one frame
  const int placements = size_of_placements(static_cast<int>(s.primitives.size()));
  clip.placements.assign(frames * static_cast<std::size_t>(placements), 0.0);
  clip.lone_goals = s.goals;
  for (GoalSpec<double>& goal : clip.lone_goals) goal.first_row = 0;
  clip.packed_force.assign(block, 0.0);
  clip.packed_rest.assign(most, 0.0);
  clip.packed_before.assign(m + 1, 0);
  clip.limit_rows.assign(limits * n, 0.0);
  clip.limit_rest.assign(limits, 0.0);
  clip.gaps.assign(frames, 0.0);
  clip.lengths.assign(frames, 0.0);
  const auto correction = most * n + most + static_cast<std::size_t>(qr_workspace(static_cast<int>(most), s.n_v));
  clip.scratch.assign(correction > most * block ? correction : most * block, 0.0);
  clip.pace.assign(2 * n, 0.0);
  if (clip.timed) {
    clip.rate_force.assign(frames * n, 0.0);
    clip.rate_couplings.assign(3 * frames * n, 0.0);
  }
  clip.errors.assign(frames * s.goals.size() * 2, 0.0);
}

}  // namespace poise
