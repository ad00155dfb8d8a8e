namespace /*SPACE*/ {

// ---------------------------------------------------------------------------------------------- goals and results

// POSITION_FIRST: the position exactly, and the rotation as well as the position allows.
enum class Goal { TRANSFORM, POSITION, POSITION_FIRST };

constexpr Goal usual_goal = joints < 6 ? Goal::POSITION_FIRST : Goal::TRANSFORM;

template <class T> struct Options {
  T position_tolerance = T(1e-5);
  T rotation_tolerance = T(1e-4);
  int max_steps = joints < 6 ? 160 : 128;
};

template <class T> struct Result {
  bool reached;  // whether the errors that the goal is about are within their tolerances
  T position_error, rotation_error;
  int steps;
};

namespace detail {

// The rotation vector from one rotation to another, in the base; returns its length.
template <class T> T turn_between(const T* from, const T* to, T* turn) {
  T E[9];  // to from^T
  POISE_UNROLL
  for (int r = 0; r < 3; ++r) {
    POISE_UNROLL
    for (int c = 0; c < 3; ++c)
      E[3 * r + c] = to[3 * r] * from[3 * c] + to[3 * r + 1] * from[3 * c + 1] + to[3 * r + 2] * from[3 * c + 2];
  }
  turn[0] = T(0.5) * (E[7] - E[5]);
  turn[1] = T(0.5) * (E[2] - E[6]);
  turn[2] = T(0.5) * (E[3] - E[1]);
  const T s = std::sqrt(turn[0] * turn[0] + turn[1] * turn[1] + turn[2] * turn[2]);
  const T c = T(0.5) * (E[0] + E[4] + E[8] - T(1)), angle = std::atan2(s, c);
  if (c < T(-0.9)) {  // near half a turn, the axis is a column of E + E^T + (1 - trace E) I
    const int k = E[0] > E[4] ? (E[0] > E[8] ? 0 : 2) : (E[4] > E[8] ? 1 : 2);
    T axis[3] = {E[3 * k] + E[k], E[3 * k + 1] + E[3 + k], E[3 * k + 2] + E[6 + k]};
    axis[k] -= T(2) * c;
    const T length = std::sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
    const bool back = axis[0] * turn[0] + axis[1] * turn[1] + axis[2] * turn[2] < T(0);
    for (int r = 0; r < 3; ++r) turn[r] = axis[r] * ((back ? -angle : angle) / length);
  } else if (s > T(1e-6)) {
    for (int r = 0; r < 3; ++r) turn[r] *= angle / s;
  }
  return angle;
}

// x <- A^-1 x, by Cholesky's factorisation of the lower triangle of A
template <int M, class T> void solve_symmetric(T (&A)[M][M], T (&x)[M]) {
  POISE_UNROLL
  for (int i = 0; i < M; ++i) {
    POISE_UNROLL
    for (int k = 0; k < i; ++k) {
      T sum = A[i][k];
      POISE_UNROLL
      for (int j = 0; j < k; ++j) sum -= A[i][j] * A[k][j];
      A[i][k] = sum * A[k][k];
      A[i][i] -= A[i][k] * A[i][k];
      x[i] -= A[i][k] * x[k];
    }
    A[i][i] = T(1) / std::sqrt(A[i][i] > T(1e-30) ? A[i][i] : T(1e-30));  // the inverse of the diagonal
    x[i] *= A[i][i];
  }
  POISE_UNROLL
  for (int i = M - 1; i >= 0; --i) {
    POISE_UNROLL
    for (int k = i + 1; k < M; ++k) x[i] -= A[k][i] * x[k];
    x[i] *= A[i][i];
  }
}

// a pose of the joints: the error of the tool, and its Jacobian
template <class T> struct State {
  T q[joints], rows[6], J[joints][6];  // position, divided by `scale`, then rotation vector; so are slides
  T position_error, rotation_error, cost;
};

template <class T> void evaluate(const Pose<T>& target, bool turned, State<T>& state) {
  constexpr T per = T(1) / scale<T>;
  Axes<T> at;
  const Pose<T> now = place(state.q, at);
  T* rows = state.rows;
  for (int r = 0; r < 3; ++r) rows[r] = (target.p[r] - now.p[r]) * per;
  const T square = rows[0] * rows[0] + rows[1] * rows[1] + rows[2] * rows[2];
  state.position_error = std::sqrt(square) * scale<T>;
  state.rotation_error = turn_between(now.R, target.R, rows + 3);
  state.cost = square + (turned ? state.rotation_error * state.rotation_error : T(0));
  for (T(&column)[6] : state.J) {
    for (T& x : column) x = T(0);
  }
  for (int i = 0; i < axes; ++i) {
    const Axis<T>& axis = chain<T>[i];
    T(&column)[6] = state.J[axis.joint];
    T z[3], arm[3];
    POISE_UNROLL
    for (int r = 0; r < 3; ++r) {
      z[r] = at.z[i][r] * axis.gain;
      arm[r] = (now.p[r] - at.p[i][r]) * per;
    }
    POISE_UNROLL
    for (int r = 0; r < 3; ++r) {
      const int s = (r + 1) % 3, t = (r + 2) % 3;
      column[r] += axis.slides ? z[r] : z[s] * arm[t] - z[t] * arm[s];
      if (!axis.slides) column[3 + r] += z[r];
    }
  }
}

// The damped least-squares step of the first M rows, inside the ranges: joints that would leave theirs stop at its end,
// and the others are solved again. Returns the largest motion [rad, or over `scale`].
template <int M, class T> T step(State<T>& state, T damping, T damping_of_rotation) {
  T rhs[M], dq[joints], low[joints], high[joints], largest = T(0);
  bool fixed[joints] = {}, crossed = true;
  for (int r = 0; r < M; ++r) rhs[r] = state.rows[r];
  for (int c = 0; c < joints; ++c) {
    const T unit = slides[c] ? T(1) / scale<T> : T(1);
    const T down = (lower<T>[c] - state.q[c]) * unit, up = (upper<T>[c] - state.q[c]) * unit;
    low[c] = down > T(-1) ? down : T(-1);
    high[c] = up < T(1) ? up : T(1);
  }
  for (int round = 0; crossed && round < 4; ++round) {
    T A[M][M] = {}, y[M];
    for (int c = 0; c < joints; ++c) {
      if (fixed[c]) continue;
      POISE_UNROLL
      for (int i = 0; i < M; ++i) {
        POISE_UNROLL
        for (int k = 0; k <= i; ++k) A[i][k] += state.J[c][i] * state.J[c][k];
      }
    }
    for (int i = 0; i < M; ++i) {
      A[i][i] += i < 3 ? damping : damping_of_rotation;
      y[i] = rhs[i];
    }
    solve_symmetric<M>(A, y);
    crossed = false;
    for (int c = 0; c < joints; ++c) {
      if (fixed[c]) continue;
      T x = T(0);
      POISE_UNROLL
      for (int i = 0; i < M; ++i) x += state.J[c][i] * y[i];
      dq[c] = inside(x, low[c], high[c]);
      if (dq[c] == x) continue;
      crossed = fixed[c] = true;
      for (int i = 0; i < M; ++i) rhs[i] -= state.J[c][i] * dq[c];
    }
  }
  for (int c = 0; c < joints; ++c) {
    state.q[c] = inside(state.q[c] + dq[c] * (slides[c] ? scale<T> : T(1)), lower<T>[c], upper<T>[c]);
    if (absolute(dq[c]) > largest) largest = absolute(dq[c]);
  }
  return largest;
}

// a number of 0 to 1 from the state of a generator (Marsaglia 2003)
template <class T> T draw(std::uint32_t& state) {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return T(state >> 8) * T(1.0 / 16777216.0);
}

// the best pose so far
template <class T> struct Best {
  Result<T> result;
  T cost, *q;

  void keep(const State<T>& state, T its_cost, bool reached) {
    if (!(its_cost < cost)) return;
    cost = its_cost;
    result.reached = reached;
    result.position_error = state.position_error;
    result.rotation_error = state.rotation_error;
    for (int c = 0; c < joints; ++c) q[c] = state.q[c];
  }
};

// Searches from the pose in `state` until the target is reached, the error stops falling, or `last` steps are made.
template <class T>
void search(const Pose<T>& target, bool turned, const Options<T>& options, int last, State<T>& state, Best<T>& best) {
  T lowest = T(1e30);
  // ends: after `last` steps at most
  for (int idle = 0;;) {
    evaluate(target, turned, state);
    best.keep(state, state.cost,
              state.position_error <= options.position_tolerance &&
                  (!turned || state.rotation_error <= options.rotation_tolerance));
    idle = state.cost < T(0.9) * lowest ? 0 : idle + 1;
    if (state.cost < lowest) lowest = state.cost;
    if (best.result.reached || idle > 2 || best.result.steps >= last) return;
    ++best.result.steps;
    const T damping = T(0.05) * state.cost + T(1e-6);
    turned ? step<6>(state, damping, damping) : step<3>(state, damping, damping);
  }
}

// Moves from the pose in `state` to the position, and from there turns the tool as far as the position allows: steps in
// which the position has far more weight, and after each of them steps for the position alone.
template <class T>
void turn_in_place(const Pose<T>& target, const Options<T>& options, State<T>& state, Best<T>& best) {
  T least = T(1e30);
  for (int idle = 0, away = 0; idle < 3 && away < 10 && best.result.steps < options.max_steps; ++best.result.steps) {
    evaluate(target, true, state);
    const bool placed = state.position_error <= options.position_tolerance;
    best.keep(state, placed ? state.rotation_error : T(10) + state.position_error / scale<T>, placed);
    away = placed ? 0 : away + 1;
    if (placed) {
      idle = state.rotation_error < T(0.99) * least ? 0 : idle + 1;
      if (state.rotation_error < least) least = state.rotation_error;
      step<6>(state, T(1e-6), T(0.01));
    } else {
      const T away_by = state.position_error / scale<T>, damping = T(0.05) * away_by * away_by + T(1e-6);
      step<3>(state, damping, damping);
    }
  }
}

// the next pose to search from: one near the start if `attempt` is -1, one of `seeds`, then random ones
template <class T> void restart(int attempt, const T* start, std::uint32_t& random, T* q) {
  for (int c = 0; c < joints; ++c) {
    const T low = lower<T>[c] > -open<T> ? lower<T>[c] : start[c] - pi<T>,
            high = upper<T>[c] < open<T> ? upper<T>[c] : start[c] + pi<T>;
    T x = low + draw<T>(random) * (high - low);
    if (attempt < 0)
      x = start[c] + T(0.1) * (draw<T>(random) - T(0.5)) * (slides[c] ? scale<T> : T(1));
    else if (attempt < n_seeds)
      x = seeds<T>[attempt][c];
    if (winds[c]) {  // the turn that is nearest to the start
      // ends: at the end of the range
      while (x - start[c] > pi<T> && x - T(2) * pi<T> >= lower<T>[c]) x -= T(2) * pi<T>;
      // ends: at the end of the range
      while (start[c] - x > pi<T> && x + T(2) * pi<T> <= upper<T>[c]) x += T(2) * pi<T>;
    }
    q[c] = inside(x, lower<T>[c], upper<T>[c]);
  }
}

}  // namespace detail

// Finds joints `q` that bring the tool to a target, beginning at `start`; q may be start. A start that is not a number or
// outside its range counts as the middle, or the end, of the range.
template <class T> Result<T> solve(const Pose<T>& target, const T (&start)[joints], T (&q)[joints],
                                   Goal goal = usual_goal, const Options<T>& options = {}) {
  using namespace detail;
  const bool turned = goal != Goal::POSITION, placed = goal == Goal::POSITION_FIRST;
  State<T> state;
  T from[joints];
  std::uint32_t random = 2463534242u;
  for (int c = 0; c < joints; ++c) {
    const bool good = absolute(start[c]) < T(1e4);
    const bool ranged = lower<T>[c] > -open<T> && upper<T>[c] < open<T>;
    const T middle = ranged ? T(0.5) * (lower<T>[c] + upper<T>[c]) : T(0);
    from[c] = state.q[c] = inside(good ? start[c] : middle, lower<T>[c], upper<T>[c]);
  }
  for (int c = 0; c < joints; ++c) q[c] = from[c];
  Best<T> best = {{false, T(1e30), T(1e30), 0}, T(1e30), q};
  const int last = placed ? options.max_steps / 3 : options.max_steps;
  search(target, turned, options, last, state, best);
  const bool stuck = best.result.steps < 5;  // such as a straight arm with a target on its own line
  for (int attempt = stuck ? -1 : 0; !best.result.reached && best.result.steps < last; ++attempt) {
    restart(attempt, from, random, state.q);
    ++best.result.steps;
    search(target, turned, options, last, state, best);
  }
  if (!placed || best.result.reached) return best.result;
  best.cost = T(1e30);
  for (int c = 0; c < joints; ++c) state.q[c] = q[c];
  for (int attempt = 0; best.result.steps < options.max_steps; ++attempt) {
    turn_in_place(target, options, state, best);
    restart(attempt, from, random, state.q);
  }
  return best.result;
}

// Finds joints that bring the tool to a position [m], with any rotation.
template <class T> Result<T> solve_position(const T (&position)[3], const T (&start)[joints], T (&q)[joints],
                                            const Options<T>& options = {}) {
  const Pose<T> target = {{T(1), T(0), T(0), T(0), T(1), T(0), T(0), T(0), T(1)},
                          {position[0], position[1], position[2]}};
  return solve(target, start, q, Goal::POSITION, options);
}

}  // namespace

#undef POISE_UNROLL
