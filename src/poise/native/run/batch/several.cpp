// several.cpp: several answers of a row: distinct poses, and poses that a closed form lists; the nearest of them for a
// chain of six joints.
#include <algorithm>

#include "run/batch/rows.h"
#include "run/ops.h"
#include "run/rounding.h"

namespace poise {

namespace {

// a radian, or L
double unit_of(const SolverData& own, int velocity) { return own.freedoms[index(velocity)].angular ? 1.0 : own.scale; }

// the difference of two poses, by velocities
const double* way_between(SolverData& own, const double* a, const double* b) {
  difference(own.coordinates.data(), static_cast<int>(own.coordinates.size()), a, b, own.state.dq);
  return own.state.dq;
}

}  // namespace

double distance_between(Worker& worker, const double* a, const double* b) {
  SolverData& own = worker.own;
  const double* d = way_between(own, a, b);
  double most = 0.0;
  for (int c = 0; c < own.n_v; ++c) most = maximum(most, absolute(d[c]) / unit_of(own, c));
  return most;
}

bool is_known(Worker& worker, Slot& slot, double far) {
  SolverData& own = worker.own;
  const int width = own.n_q + static_cast<int>(worker.end_errors.size()) + 1;
  int kept = 0;
  for (int i = 0; i < slot.found; ++i) {
    const double *one = slot.solutions + i * width, *d = way_between(own, one, slot.best_q);
    const bool alike = are_alike(
        own.n_v, distinct, [&](int c) { return without_turns(d[c], own.periods[index(c)]); },
        [&](int c) { return unit_of(own, c); });
    if (alike && far >= one[width - 1] - distinct) return true;
    if (!alike) std::copy_n(one, width, slot.solutions + width * kept++);
  }
  slot.found = kept;
  return false;
}

bool keep_solution(Worker& worker, Slot& slot, double far) {
  const int n_q = worker.own.n_q, n_e = static_cast<int>(worker.end_errors.size()), width = n_q + n_e + 1;
  int at = slot.found++;
  for (; at > 0 && slot.solutions[at * width - 1] > far; --at) {
    for (int k = 0; k < width; ++k) slot.solutions[at * width + k] = slot.solutions[(at - 1) * width + k];
  }
  double* to = slot.solutions + at * width;
  for (int k = 0; k < n_q; ++k) to[k] = slot.best_q[k];
  for (int k = 0; k < n_e; ++k) to[n_q + k] = slot.best_errors[k];
  to[width - 1] = far;
  return slot.found == worker.job.solutions;
}

void write_solutions(Worker& worker, const Slot& slot) {
  const int n_q = worker.own.n_q, width = n_q + static_cast<int>(worker.end_errors.size()) + 1;
  const std::size_t k = index(worker.job.solutions), found = index(slot.found);
  for (int i = 0; i < slot.found; ++i) {
    const double* pose = slot.solutions + i * width;
    write_pose(worker.job, slot.row * k + index(i), pose, pose + n_q, ROW_REACHED);
  }
  write_nothing(worker.job, slot.row * k + found, k - found, ROW_STALLED);
  write_counts(worker.job, slot.row, slot.steps, slot.searches);
}

// ---------------------------------------------------------------------------------------------- lists

void allot_lists(Worker& worker) {
  const SolverData& own = worker.own;
  const bool several = worker.job.solutions > 1;
  const ClosedForm<double>& form = several ? own.closed[0] : own.branches->form;
  ListBlock& lists = worker.lists;
  const std::size_t lanes = index(list_ops().lanes), n_q = own.start.size();
  const std::size_t rows =
      form.spec.free_joint == FREE_NONE ? 2 * lanes : 1;  // a query with a free joint fills packs by itself
  const std::size_t room = several ? most_listed(form) : 0;
  lists.serve = true;
  lists.form = &form;
  lists.rows = rows;
  lists.joints = several ? measure_joints(own, form) : own.branches->joints;
  lists.numbers.resize(rows);
  lists.left.reserve(rows);
  lists.starts.resize(rows * n_q);
  lists.targets.resize(rows * own.targets.size());
  lists.from.resize(rows * 7);
  lists.asks.resize(rows * most_asked(form));
  lists.nearest.resize(several ? 0 : rows);
  lists.poses.resize(rows * room);
  lists.kept.resize(room);
  lists.kept_far.resize(room);
  lists.kept_at.resize(room);
  lists.order.resize(room);
  lists.listed.resize(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    lists.listed[i] = {lists.poses.data() + i * room, 0, static_cast<int>(room)};
  }
  lists.base.resize(n_q);
  lists.q.resize(2 * lanes * n_q);
  lists.errors.resize(2 * lanes * 2);
  lists.which.resize(2 * lanes);
}

namespace {

// The joint in which poses are compared first: the free one, whose values are farther apart than two answers must be.
int most_distinct_joint(const Worker& worker) { return worker.lists.form->spec.free_joint == FREE_LAST ? 6 : 0; }

// Whether a pose is one of those kept, from number `first` on, perhaps whole turns apart. Poses whose distance from the
// start or whose most distinct joint differ are distinct; only the others are compared joint by joint.
bool is_kept(const Worker& worker, std::size_t first, std::size_t kept, const ListedPose& pose) {
  const ListBlock& lists = worker.lists;
  const int joint = most_distinct_joint(worker);
  const double at = pose.values[joint], far = pose.far, most = distinct * lists.joints.unit[joint],
               way = distinct + 1e-9, period = lists.joints.period[joint];
  const double *ways = lists.kept_far.data(), *places = lists.kept_at.data();
  int near = 0;
  for (std::size_t i = first; i < kept; ++i) {
    const double apart = absolute(places[i] - at);
    const int close = apart <= most, turned = (period > 0.0) & (apart >= period - most);
    near |= (close & (absolute(ways[i] - far) <= way)) |
            ((close | turned) & (maximum(ways[i], far) >= lists.joints.long_way));
  }
  for (std::size_t i = first; i < kept && near; ++i) {
    const double *a = lists.kept[i].values, *b = pose.values, *unit = lists.joints.unit, *turn = lists.joints.period;
    if (are_alike(
            lists.joints.count, distinct, [=](int k) { return without_turns(a[k] - b[k], turn[k]); },
            [=](int k) { return unit[k]; }))
      return true;
  }
  return false;
}

// the start, inside the ranges, for the coordinates that the list does not set
void write_base(Worker& worker, const Slot& slot) {
  const SolverData& own = worker.own;
  double* q = worker.lists.base.data();
  std::copy_n(slot.start, own.start.size(), q);
  if (own.settings.limits == LIMITS_OFF) return;
  for (const Freedom<double>& f : own.freedoms) {
    if (f.q_index >= 0) q[f.q_index] = minimum(maximum(q[f.q_index], f.lower), f.upper);
  }
}

// Copies the next poses of a list that are not among the kept ones, as many as are checked together, into lists.q, with
// their errors. Returns their number; `next` is the position to continue from.
int judge_some(Worker& worker, const Slot& slot, const ListedRow& listed, std::size_t kept, int& next) {
  const SolverData& own = worker.own;
  ListBlock& lists = worker.lists;
  int count = 0;
  for (; next < listed.count && count < list_ops().lanes; ++next) {
    const int at = lists.order[index(next)].at;
    const ListedPose& pose = listed.poses[at];
    if (is_kept(worker, 0, kept, pose)) continue;
    double* q = lists.q.data() + index(count) * lists.base.size();
    std::copy(lists.base.begin(), lists.base.end(), q);
    place_joints(lists.joints, pose.values, q);
    if (worker.job.q32) round_pose(own, q);
    lists.which[index(count++)] = at;
  }
  if (count > 0) {
    list_ops().judge(own, slot.targets + own.goals[0].target, 0, lists.q.data(), count, lists.scratch,
                     lists.errors.data());
  }
  return count;
}

// Makes number i of the poses that were checked together the slot's pose. Returns whether it reaches, possibly after a
// few steps, and was not found before; the pose is then stored.
bool take_judged(Worker& worker, Slot& slot, int i, ListedPose& pose) {
  const ListBlock& lists = worker.lists;
  const std::size_t n_q = lists.base.size();
  const int before = slot.steps;
  ++slot.searches;  // it may be refined, with as many steps as a search
  std::copy_n(lists.q.data() + index(i) * n_q, n_q, slot.best_q);
  std::copy_n(lists.errors.data() + 2 * i, 2, slot.best_errors);
  const double* tolerance = worker.own.goals[0].tolerance;
  const bool good = slot.best_errors[0] <= tolerance[0] && slot.best_errors[1] <= tolerance[1];
  if (!good && !verify(worker, slot)) return false;
  if (!worker.own.limits.empty() && !solver_ops().keeps_limits(worker.own, slot.best_q)) return false;
  if (good && !worker.job.q32) return true;
  pose.far = distance_between(worker, slot.start, slot.best_q);
  if (!good && slot.steps != before && is_known(worker, slot, pose.far)) return false;
  read_joints(lists.joints, slot.best_q, pose.values);
  return true;
}

// stores the answers of a list in the slot; true if there are enough
bool take_listed(Worker& worker, Slot& slot, const ListedRow& listed) {
  ListBlock& lists = worker.lists;
  std::size_t kept = 0;
  bool enough = false;
  slot.found = 0;
  slot.best_outside = 0.0;
  arrange_poses(listed, lists.order.data());
  write_base(worker, slot);
  for (int next = 0; next < listed.count && !enough;) {
    const std::size_t before = kept;
    const int count = judge_some(worker, slot, listed, kept, next);
    for (int i = 0; i < count && !enough; ++i) {
      ListedPose& pose = lists.kept[kept];
      pose = listed.poses[lists.which[index(i)]];
      if (is_kept(worker, before, kept, pose) || !take_judged(worker, slot, i, pose)) continue;
      lists.kept_far[kept] = pose.far;
      lists.kept_at[kept++] = pose.values[most_distinct_joint(worker)];
      enough = keep_solution(worker, slot, pose.far);
    }
  }
  return enough;
}

// reads the rows of a block and lists their poses; returns the number of rows
std::size_t list_block(Worker& worker, std::size_t first, std::size_t last) {
  SolverData& own = worker.own;
  ListBlock& lists = worker.lists;
  const ClosedForm<double>& form = *lists.form;
  const bool several = worker.job.solutions > 1;
  const int values = values_for(form, worker.job.solutions);
  std::size_t rows = 0;
  int asked = 0;
  for (std::size_t row = first; row < last; ++row) {
    if (!read_given(worker, row)) continue;
    const bool far = far_turned(worker);
    if (!far && !several) solver_ops().begin(own);
    if (far || (!several && own.proved_unreachable)) {
      lists.left.push_back(row);
      continue;
    }
    double *start = lists.starts.data() + rows * own.start.size(), *from = lists.from.data() + 7 * rows;
    double* targets = lists.targets.data() + rows * own.targets.size();
    std::copy(own.start.begin(), own.start.end(), start);
    std::copy(own.targets.begin(), own.targets.end(), targets);
    read_joints(lists.joints, start, from);
    ListAsk* asks = lists.asks.data() + asked;
    asked += ask_poses(form, targets + own.goals[0].target, from, values, static_cast<int>(rows), asks);
    if (!several) asks->metres = own.goals[0].tolerance[0];
    if (!several) asks->radians = own.goals[0].tolerance[1];
    lists.listed[rows].count = 0;
    lists.numbers[rows++] = row;
  }
  if (several) {
    list_ops().list(form.spec, lists.joints, lists.asks.data(), asked, lists.listed.data());
  } else {
    list_ops().nearest(form.spec, lists.joints, lists.asks.data(), asked, lists.nearest.data());
  }
  return rows;
}

// appends the poses of a row at more values of the free joint
void list_finer(Worker& worker, std::size_t i) {
  ListBlock& lists = worker.lists;
  const ClosedForm<double>& form = *lists.form;
  const double* target = lists.targets.data() + i * worker.own.targets.size() + worker.own.goals[0].target;
  ListAsk* asks = lists.asks.data();
  const int asked = ask_poses(form, target, lists.from.data() + 7 * i, finer_values, static_cast<int>(i), asks);
  list_ops().list(form.spec, lists.joints, asks, asked, lists.listed.data());
}

// Examines a row without a listed pose more closely: its arcs of the free joint are narrow. If some are found, more
// closely still.
void list_closer(Worker& worker, std::size_t i) {
  constexpr int most = 16, parts = 8;
  ListBlock& lists = worker.lists;
  const ClosedForm<double>& form = *lists.form;
  ListAsk* asks = lists.asks.data();
  const ListedRow& listed = lists.listed[i];
  list_finer(worker, i);
  const int free = form.spec.free_joint == FREE_FIRST ? 0 : 6;
  double found[most], middle, half;
  scanned_range(form.spec.free, middle, half);
  const double apart = 2.0 * half / finer_values;
  int count = 0;
  for (int k = 0; k < listed.count && count < most; ++k) {
    const double value = form.gain[free] * listed.poses[k].values[free] + form.bias[free];
    if (std::find(found, found + count, value) == found + count) found[count++] = value;
  }
  ListAsk ask = asks[0];
  for (int k = 0, n = 0; k < count; ++k) {
    for (int part = 1 - parts / 2; part < parts / 2; ++part) {
      ask.value = inside_of(form.spec.free, found[k] + apart * part / parts);
      if (part != 0) asks[n++] = ask;
    }
    if (k + 1 == count) list_ops().list(form.spec, lists.joints, asks, n, lists.listed.data());
  }
}

// Checks the starts of a block's rows, or with steps = 1 their nearest branches, and writes those that reach. A branch
// is not taken if another one stands for a curve of poses that may be nearer.
void write_reaching(Worker& worker, std::size_t rows, int steps) {
  SolverData& own = worker.own;
  ListBlock& lists = worker.lists;
  const std::size_t n_q = own.start.size();
  const auto problem = own.problem();
  for (std::size_t i = 0; i < rows; ++i) {
    double* q = lists.q.data() + i * n_q;
    const NearestPose& pose = lists.nearest[i];
    std::copy_n(lists.starts.data() + i * n_q, n_q, q);
    if (steps > 0 && pose.far < HUGE_VAL && !(pose.open < pose.far)) place_joints(lists.joints, pose.values, q);
    if (worker.job.q32) round_pose(own, q);
  }
  list_ops().judge(own, lists.targets.data() + own.goals[0].target, static_cast<int>(own.targets.size()),
                   lists.q.data(), static_cast<int>(rows), lists.scratch, lists.errors.data());
  for (std::size_t i = 0; i < rows; ++i) {
    const double *q = lists.q.data() + i * n_q, *errors = lists.errors.data() + 2 * i;
    const bool reached = within_tolerance(problem, errors, 1.0) && !(outside_of(problem, own.settings, q) > 0.0);
    if (lists.which[i] || !reached) continue;
    lists.which[i] = 1;
    write_pose(worker.job, lists.numbers[i], q, errors, ROW_REACHED);
    write_counts(worker.job, lists.numbers[i], steps, 1);
  }
}

// Answers the rows of a block by their starts, if these reach, then by their nearest branches. Rows without a branch
// remain; the single solver answers those that need a search.
void answer_nearest(Worker& worker, std::size_t rows) {
  SolverData& own = worker.own;
  ListBlock& lists = worker.lists;
  const std::size_t n_q = own.start.size(), n_t = own.targets.size();
  std::fill_n(lists.which.begin(), rows, 0);  // 1 for a row that is answered
  bool at_start = false;
  for (std::size_t i = 0; i < rows; ++i) at_start = at_start || lists.nearest[i].at_start;
  if (at_start) write_reaching(worker, rows, 0);
  write_reaching(worker, rows, 1);
  for (std::size_t i = 0; i < rows; ++i) {
    if (lists.which[i]) continue;
    if (!(lists.nearest[i].far < HUGE_VAL)) {
      lists.left.push_back(lists.numbers[i]);
      continue;
    }
    std::copy_n(lists.starts.data() + i * n_q, n_q, own.start.begin());
    std::copy_n(lists.targets.data() + i * n_t, n_t, own.targets.begin());
    solver_ops().solve(own);
    write_own(worker, lists.numbers[i]);
  }
}

}  // namespace

bool answer_block(Worker& worker, Slot& slot) {
  ListBlock& lists = worker.lists;
  lists.left.clear();
  lists.next_left = 0;
  const std::size_t first = worker.job.next.fetch_add(lists.rows, std::memory_order_relaxed);
  if (first >= worker.job.rows) return false;
  const std::size_t rows = list_block(worker, first, std::min(first + lists.rows, worker.job.rows));
  if (worker.job.solutions == 1) {
    answer_nearest(worker, rows);
    return true;
  }
  const std::size_t n_q = worker.own.start.size(), n_t = worker.own.targets.size();
  const bool free = lists.form->spec.free_joint != FREE_NONE;
  for (std::size_t i = 0; i < rows; ++i) {
    const ListedRow& listed = lists.listed[i];
    if (free && listed.count == 0) list_closer(worker, i);
    slot.row = lists.numbers[i];
    slot.searches = slot.steps = 0;
    std::copy_n(lists.starts.data() + i * n_q, n_q, slot.start);
    std::copy_n(lists.targets.data() + i * n_t, n_t, slot.targets);
    read_places(worker, slot.row);
    const bool enough = take_listed(worker, slot, listed);
    if (!enough && slot.found > 0 && free && !worker.own.limits.empty()) {  // the limits exclude too many
      list_finer(worker, i);
      take_listed(worker, slot, listed);
    }
    if (slot.found > 0)
      write_solutions(worker, slot);
    else
      lists.left.push_back(slot.row);
  }
  return true;
}

}  // namespace poise
