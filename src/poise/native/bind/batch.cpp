// batch.cpp: bindings of batches: workers run without the GIL, and the calling thread reports progress and checks for
// Ctrl-C.
#define NO_IMPORT_ARRAY
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "bind/bindings.h"
#include "bind/parallel.h"
#include "bind/prepared.h"
#include "run/batch/rows.h"

namespace poise {
namespace {

constexpr std::size_t rows_without_threads = 16;
constexpr auto watch_every = std::chrono::milliseconds(50);

// an array checked by Python: C-contiguous, of the right type
template <class T> T* data_of(nb::handle x) {
  return static_cast<T*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(x.ptr())));
}

BatchJob& describe(BatchJob& job, const PreparedSolver& solver, const nb::dict& table) {
  job.solver = &solver.data;
  for (nb::handle entry : nb::cast<nb::list>(table["targets"])) {
    const auto part = nb::cast<nb::tuple>(entry);
    const auto name = nb::cast<std::string>(part[0]);
    std::size_t goal = 0;
    // ends: Python has found the name among them
    while (solver.names[goal] != name) ++goal;
    job.targets.push_back(
        {goal, data_of<void>(part[1]), is_float32(part[1]), nb::cast<bool>(part[3]), nb::cast<std::size_t>(part[2])});
  }
  for (nb::handle entry : nb::cast<nb::list>(table["places"])) {
    const auto part = nb::cast<nb::tuple>(entry);
    job.places.push_back({nb::cast<std::size_t>(part[0]), nb::cast<int>(part[1]), data_of<double>(part[2]),
                          nb::cast<std::size_t>(part[3])});
  }
  job.starts = data_of<double>(table["starts"]);
  job.start_stride = nb::cast<std::size_t>(table["start_stride"]);
  job.rows = nb::cast<std::size_t>(table["rows"]);
  job.solutions = nb::cast<int>(table["solutions"]);
  if (is_float32(table["q"])) {
    job.q32 = data_of<float>(table["q"]);
  } else {
    job.q64 = data_of<double>(table["q"]);
  }
  job.errors = data_of<double>(table["errors"]);
  job.status = data_of<std::int8_t>(table["status"]);
  job.steps = data_of<std::int32_t>(table["steps"]);
  job.searches = data_of<std::int32_t>(table["searches"]);
  return job;
}

// the threads of one call; always joined
class Crew {
 public:
  Crew(BatchJob& job, std::size_t count) : job_(job) {
    const bool limited = job.solutions == 1 && limited_lanes_serve(*job.solver);
    const bool lanes = limited || (lanes_serve(*job.solver) && (job.solutions > 1 || lanes_pay(*job.solver)));
    const SolverData& searched = limited ? *job.solver->first : *job.solver;
    if (lanes) lanes_ = std::make_unique<LaneProblem<double>>(searched);
    for (std::size_t t = 0; t < count; ++t)
      workers_.push_back(std::make_unique<Worker>(job, lanes ? batch_ops().lanes : 1));
  }
  ~Crew() {
    job_.stop = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  void work(std::size_t t) {
    if (lanes_) {
      batch_ops().run(*workers_[t], *lanes_);
    } else {
      run_alone(*workers_[t]);
    }
  }

  void start() {
    running_ = workers_.size();
    for (std::size_t t = 0; t < workers_.size(); ++t) {
      threads_.emplace_back([this, t] {
        work(t);
        const std::lock_guard<std::mutex> lock(mutex_);
        if (--running_ == 0) ended_.notify_all();
      });
    }
  }

  // true if all rows are done
  bool wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    return ended_.wait_for(lock, watch_every, [this] { return running_ == 0; });
  }

 private:
  BatchJob& job_;
  std::unique_ptr<LaneProblem<double>> lanes_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::size_t running_ = 0;
};

void tell(nb::handle progress, const BatchJob& job) {
  if (!progress.is_none()) progress(job.done.load(), job.rows);
}

// called by a worker thread: whether the calling thread has cancelled
bool is_stopped(const void* job) { return static_cast<const BatchJob*>(job)->stop.load(std::memory_order_relaxed); }

void solve_batch(const PreparedSolver& solver, const AnyDict& table, std::size_t threads, nb::handle progress) {
  const Use use(solver);
  BatchJob job;
  describe(job, solver, table);
  const bool alone = !has_threads || job.rows <= rows_without_threads;
  job.asks = alone ? hear_signals : is_stopped;
  const std::size_t useful = (job.rows + rows_without_threads - 1) / rows_without_threads;
  Crew crew(job, threads < useful ? threads : useful ? useful : 1);
  if (alone) {
    nb::gil_scoped_release release;
    crew.work(0);
  } else {
    {
      nb::gil_scoped_release release;
      crew.start();
    }
    for (bool ended = false; !ended;) {
      {
        nb::gil_scoped_release release;
        ended = crew.wait();
      }
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (!ended) tell(progress, job);
    }
  }
  tell(progress, job);
}

// Poses that the closed form of a goal lists for the solver's start and targets at `values` values of a free joint:
// (k, n_q), the branch of each (k,), and the spacing of the values; empty without a closed form.
AnyTuple list_branches(const PreparedSolver& solver, int values) {
  const SolverData& own = solver.data;
  ListedJoints joints;
  std::vector<ListedPose> poses;
  std::vector<ListedPlace> order;
  double middle = 0.0, half = 0.0;
  if (!own.closed.empty()) {
    const ClosedForm<double>& form = own.closed[0];
    const double* targets = own.targets.data() + own.goals[static_cast<std::size_t>(form.goal)].target;
    joints = measure_joints(own, form);
    if (form.spec.free_joint != FREE_NONE) scanned_range(form.spec.free, middle, half);
    std::vector<ListAsk> asks(most_asked(form));
    double start[7];
    read_joints(joints, own.start.data(), start);
    poses.resize(most_listed(form));
    ListedRow row{poses.data(), 0, static_cast<int>(poses.size())};
    const int count = ask_poses(form, targets, start, values, 0, asks.data());
    list_ops().list(form.spec, joints, asks.data(), count, &row);
    order.resize(static_cast<std::size_t>(row.count));
    arrange_poses(row, order.data());
  }
  const npy_intp shape[2] = {static_cast<npy_intp>(order.size()), own.n_q};
  Array out(PyArray_SimpleNew(2, shape, NPY_DOUBLE));
  std::vector<int> branches;
  for (std::size_t i = 0; i < order.size(); ++i) {
    double* q = out.data<double>() + i * own.start.size();
    std::copy(own.start.begin(), own.start.end(), q);
    place_joints(joints, poses[static_cast<std::size_t>(order[i].at)].values, q);
    branches.push_back(order[i].branch);
  }
  return nb::make_tuple(out.release(), nb::cast(branches), values > 0 ? 2.0 * half / values : 0.0);
}

// the same at the values for a number of answers: the poses alone
nb::object listed_of(const PreparedSolver& solver, int solutions) {
  const SolverData& own = solver.data;
  return list_branches(solver, own.closed.empty() ? 0 : values_for(own.closed[0], solutions))[0];
}

// Whether several answers of a row are listed by a closed form and checked against the limits.
bool limited_lists_serve(const PreparedSolver& solver) {
  const SolverData& own = solver.data;
  return lists_serve(own) && threads_serve(own) && !own.limits.empty() && own.posture_gain.empty() &&
         own.mode != Mode::CONTINUOUS;
}

AnyTuple why_not(const PreparedSolver& solver) {
  const Refused why = refused_by_device(solver.data);
  const std::string goal = why.goal < 0 ? std::string() : solver.names[static_cast<std::size_t>(why.goal)];
  return nb::make_tuple(why.cause, goal, why.q_index);
}

}  // namespace

void bind_batch(nb::module_& m) {
  m.def("solve_batch", solve_batch, nb::arg("solver"), nb::arg("table"), nb::arg("threads"), nb::arg("progress").none(),
        "Solves every row of a batch. Private: use poise.solve_batch.");
  m.def("listed_of", listed_of, nb::arg("solver"), nb::arg("solutions"),
        "Return (k, nq): poses by the closed form of a goal, the nearest of each branch first; after `restart`.");
  m.def("list_branches", list_branches, nb::arg("solver"), nb::arg("values") = finer_values,
        "Return the poses of all branches (k, nq), their branches (k,) and the spacing of the free joint; after "
        "`restart`.");
  m.def("limited_lists_serve", limited_lists_serve, nb::arg("solver"),
        "Return whether a batch lists several answers by a closed form and checks them against the limits.");
  m.def("branches_are_all",
        [](const PreparedSolver& s) { return lists_serve(s.data) && s.data.closed[0].spec.free_joint == FREE_NONE; });
  m.def("threads_serve", [](const PreparedSolver& s) { return threads_serve(s.data); });
  m.def("device_serves", [](const PreparedSolver& s) { return device_serves(s.data); });
  m.def("refused_by_device", why_not,
        "Why a GPU does not serve it: the cause, the goal's name, the joint's place in q. Private: see "
        "poise.batch.device.");
  m.def("lanes_serve", [](const PreparedSolver& s) { return lanes_serve(s.data); });
}

}  // namespace poise
