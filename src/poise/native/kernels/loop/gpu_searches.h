// gpu_searches.h: which searches the teams of gpu_team.h run, and which of their results is kept.
//
// Passes, without synchronisation with the host:
//   search_bodies  persistent teams; each takes the next row when done, and abandons a row after a few searches
//   search_late    further searches of the abandoned rows, each by a team of its own: a slow row delays nobody
//   store_late     the best of them is run again and stored, so that the result is that of a sequence of searches
//   rest_bodies    after end_rows (gpu_entry.h): the postures of the rows that reach (gpu_team_posture.h)
#pragma once
#include "kernels/loop/gpu_team.h"

namespace poise {

// The result of a search as a number: one that reached is less than one that missed; then the lower search, or the pose
// that is less outside the ranges, or of less cost.
using SearchKey = unsigned long long;
constexpr int search_bits = 20;
constexpr SearchKey stored_search = (SearchKey(1) << search_bits) - 1;  // in place of a search whose pose is stored

template <class T> POISE_FN SearchKey key_of(const LaneState<T>& state, int search) {
  if (is_set(state.reached)) return SearchKey(search);
  const auto outside = static_cast<SearchKey>(bits_of(float(state.at.best_outside)) >> 10);
  const auto cost = static_cast<SearchKey>(bits_of(float(state.at.best_cost)) >> 9);
  return (SearchKey(1) << 63) | (outside << (22 + search_bits)) | (cost << search_bits) | SearchKey(search);
}

POISE_FN constexpr int search_of(SearchKey key) { return int(key & stored_search); }
POISE_FN constexpr bool is_reached(SearchKey key) { return (key >> 63) == 0; }

// a team of one thread
struct Alone {
  static POISE_FN constexpr int size() { return 1; }
  static POISE_FN constexpr int rank() { return 0; }
  POISE_FN void wait() const {}
  POISE_FN bool any(bool x) const { return x; }
  POISE_FN int lowest(bool x) const { return x ? 0 : -1; }
  POISE_FN int least(float, float) const { return 0; }
  template <class X> POISE_FN X from(X x, int) const { return x; }
  POISE_FN int sum(int x) const { return x; }
  POISE_FN float total(float x) const { return x; }
  POISE_FN float most(float x) const { return x; }
  POISE_FN int add(int* at, int x) const { return (*at += x) - x; }
  template <class X> POISE_FN void lower(X* at, X x) const { *at = x < *at ? x : *at; }
  POISE_FN void raise(int* at, int x) const { *at = x > *at ? x : *at; }
  POISE_FN SearchKey read(const SearchKey* at) const { return *at; }
};

// Runs searches until `work` has none left. Several teams may share a warp (`all`), and take their steps together.
template <class Search, class Work, class All> POISE_FN void run_searches(Search& search, Work& work, All all) {
  bool busy = work.begin(search);
  // ends: every search ends, and there are so many
  while (all.any(busy)) {
    if (busy && (search.advance() || work.is_void(search))) {
      work.end(search);
      busy = work.begin(search);
    }
  }
}

// the first searches of each row; a row that misses them all is passed to `give_up`
template <class Io, class Next, class GiveUp> struct EarlySearches {
  const Io& io;
  SearchKey* keys;
  int early, most;
  Next next;
  GiveUp give_up;
  int row = -1, tried = 0, last = 0, steps = 0;
  SearchKey best = ~SearchKey(0);

  template <class Search> POISE_FN bool begin(Search& search) {
    if (row >= 0 && tried < early && tried < last && !is_reached(best)) return search.begin(io, row, tried);
    // ends: every round takes a row
    for (;;) {
      if (row >= 0) leave(search);
      row = search.team.from(search.team.rank() == 0 ? next() : 0, 0);
      if (row >= io.rows) return false;
      tried = steps = 0;
      best = ~SearchKey(0);
      if (search.begin(io, row, 0)) {
        const bool hopeless = out_of_reach(search.problem, search.memory.targets);
        last = hopeless && Search::hopeless_searches < most ? Search::hopeless_searches : most;
        return true;
      }
      search.refuse(io, row);
      row = -1;
    }
  }

  template <class Search> POISE_FN bool is_void(const Search&) const { return false; }

  template <class Search> POISE_FN void end(Search& search) {
    const SearchKey key = key_of(search.state, tried++);
    steps += int(search.state.steps);
    if (key >= best) return;
    best = key;
    search.store(io, row);
    if (search.team.rank() == 0) io.codes[row] = search.code();
  }

  template <class Search> POISE_FN void leave(const Search& search) {
    if (search.team.rank() != 0) return;
    keys[row] = best | stored_search;
    io.steps[row] = steps;
    io.searches[row] = tried;
    if (!is_reached(best) && tried < last) give_up(row);
  }
};

// Searches early, early + 1, ... of the missed rows, each by a team of its own. They only find the best search of a row: its lowest
// one that reaches, or else its best one. Searches above one that reached are void.
template <class Io, class Next> struct LateSearches {
  const Io& io;
  SearchKey* keys;
  const int* rows;
  int count, early, most;
  Next next;
  int row = 0, number = 0;

  template <class Search> POISE_FN bool begin(Search& search) {
    // ends: every round takes a search
    for (;;) {
      const long long k = search.team.from(search.team.rank() == 0 ? next() : 0, 0);
      if (k >= static_cast<long long>(count) * (most - early)) return false;
      row = rows[k % count];
      number = early + static_cast<int>(k / count);
      if (is_void(search) || !search.begin(io, row, number)) continue;
      if (number < Search::hopeless_searches || !out_of_reach(search.problem, search.memory.targets)) return true;
    }
  }

  template <class Search> POISE_FN bool is_void(const Search& search) const {
    const SearchKey found = search.team.read(keys + row);
    return is_reached(found) && search_of(found) < number;
  }

  template <class Search> POISE_FN void end(Search& search) const {
    if (search.team.rank() == 0) {
      search.team.lower(keys + row, key_of(search.state, number));
      search.team.raise(io.searches + row, number + 1);
    }
    search.team.wait();
  }
};

// repeats the best late search of each missed row, and stores its pose
template <class Io, class Next> struct RepeatedSearches {
  const Io& io;
  SearchKey* keys;
  const int* rows;
  int count;
  Next next;
  int row = 0;

  template <class Search> POISE_FN bool begin(Search& search) {
    // ends: every round takes a row
    for (;;) {
      const int k = search.team.from(search.team.rank() == 0 ? next() : 0, 0);
      if (k >= count) return false;
      row = rows[k];
      const SearchKey key = search.team.read(keys + row);
      if (search.team.rank() == 0 && is_reached(key)) io.searches[row] = search_of(key) + 1;
      if (search_of(key) != stored_search) return search.begin(io, row, search_of(key));
    }
  }

  template <class Search> POISE_FN bool is_void(const Search&) const { return false; }

  template <class Search> POISE_FN void end(Search& search) const {
    // another kernel may round differently, and miss where the search reached: then the stored pose remains
    if (is_reached(search.team.read(keys + row)) && !is_set(search.state.reached)) return;
    search.store(io, row);
    if (search.team.rank() != 0) return;
    io.codes[row] = search.code();
    io.steps[row] += int(search.state.steps);
  }
};

}  // namespace poise
