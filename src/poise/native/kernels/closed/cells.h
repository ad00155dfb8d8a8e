// cells.h: a team of threads decides many rows at once, one cell per thread.
//
// A team processes a few rows and has a stack of their cells. In each round a thread takes a cell of any row; an
// undecided cell is divided into two halves, which are pushed onto the stack. If its midpoint may have a pose, the cell
// itself is pushed too and tested in another round, so that a round is one walk for every thread. Among a row's first
// cells is the narrowest one about the final pose of its searches: if that cannot be excluded, nothing will be proved,
// and no other cell is divided. Of several cells with a pose the one with the lowest mark is used, and cells after it
// are dropped, so that a row's answer does not depend on the other rows.
#pragma once
#include "kernels/closed/decide.h"

namespace poise {

constexpr int cell_rows = 16;  // largest number of rows of a team
// Cells on the stack: first cells of all rows, and one round's halves for each level. Midpoints are on top and are
// taken in the next round.
constexpr int cell_room = 1536;
// A team gets rows that searches have missed: most have no pose, and narrow cells are soon excluded. With few rows,
// fewer cells are processed in fewer rounds, and idle threads can test every midpoint: an early pose ends the row.
struct Looking {
  int most_first;
  double first_width;
  bool thorough;
};
POISE_FN Looking choose_looking(int places) {
  return places < cell_rows ? Looking{32, 0.18, true} : Looking{40, 0.15, false};
}
constexpr int cell_levels = 13;  // a cell of the last level is not divided further

// The mark of a cell: its level, the first cell that contains it, and the halves that were taken; in one word with its
// row and whether its midpoint is tested.
constexpr unsigned first_shift = 14u, level_shift = 20u, place_shift = 24u, middle_bit = 1u << 31u;
constexpr unsigned mark_mask = (1u << place_shift) - 1u, no_mark = mark_mask;
constexpr unsigned narrowest = 0u;  // the mark of the cell about the final pose of the searches
POISE_FN int level_of(unsigned mark) { return static_cast<int>(mark >> level_shift & 15u); }
POISE_FN unsigned first_cell(int index) { return 1u << level_shift | static_cast<unsigned>(index) << first_shift; }
POISE_FN unsigned half_cell(unsigned mark, int side) {
  const unsigned path = mark & ((1u << first_shift) - 1u), above = mark - path;
  return above + (1u << level_shift) + (2u * path + static_cast<unsigned>(side));
}

// a row in progress
template <class T> struct CellRow {
  FamilyScan<T> scan;
  int row;         // -1 for none
  int form;        // index of the closed form
  int first;       // approximate number of first cells
  int left;        // cells on the stack or being processed
  int open;        // cells that can neither be excluded nor divided
  int shut;        // one of them is the narrowest about the final pose of the searches: no other cell is divided
  unsigned found;  // the lowest mark of a cell with a pose
};

template <class T> struct CellMemory {
  CellRow<T> rows[cell_rows];
  unsigned stack[cell_room];
  int height, taken;
};

// the interval of the cell with a mark
template <class T> POISE_FN void place_cell(const CellRow<T>& row, unsigned mark, T& at, T& half) {
  cell_of(row.scan, row.first, static_cast<int>(mark >> first_shift & 63u), at, half);
  // ends: a bit for each level but the first
  for (int bit = level_of(mark) - 2; bit >= 0; --bit) {
    half *= T(0.5);
    at += (mark >> bit & 1u) != 0u ? half : -half;
  }
}

// reserves `count` entries of the stack; -1 if it is full
template <class T, class Team> POISE_FN int reserve_cells(CellMemory<T>& memory, Team team, int count) {
  const int at = team.add(&memory.height, count);
  if (at + count <= cell_room) return at;
  team.add(&memory.height, -count);
  return -1;
}

// the interval of a row's cell, and the width below which it is not divided
template <class T> struct CellPlace { T at, half, finest; };

template <class T, class Rows> POISE_LARGE_FN CellPlace<T> place_of(const CellRow<T>& row, const Rows& rows,
                                                                    const FamilySpec<T>& spec, unsigned mark) {
  CellPlace<T> out{T(0), T(0), T(0)};
  if (spec.free_joint == FREE_NONE) return out;
  out.half = out.finest = spec.free.slides ? rows.metres(row.form) : rows.radians(row.form);
  if (mark == narrowest) {
    out.at = rows.near(row.row, row.form);
  } else {
    place_cell(row, mark, out.at, out.half);
  }
  return out;
}

// Processes an undecided cell: pushes its halves, and on top its midpoint if `worth` testing. A cell that is not
// divided leaves the row open.
template <class T, class Team>
POISE_LARGE_FN void cut_cell(CellMemory<T>& memory, Team team, unsigned cell, bool narrow, bool worth) {
  const unsigned place = cell >> place_shift, mark = cell & mark_mask;
  CellRow<T>& row = memory.rows[place];
  const int halves = narrow || level_of(mark) >= cell_levels ? 0 : 2, middles = worth ? 1 : 0;
  const int to = reserve_cells(memory, team, halves + middles);
  if (to >= 0) {
    for (int i = 0; i < halves; ++i) memory.stack[to + i] = place << place_shift | half_cell(mark, i);
    if (worth) memory.stack[to + halves] = cell | middle_bit;
    team.add(&row.left, halves + middles);
  }
  if (to < 0 || halves == 0) team.add(&row.open, 1);
  if (mark == narrowest) row.shut = 1;
}

// the verdict on a row without remaining cells
template <class T> POISE_FN Verdict verdict_of(const CellRow<T>& row) {
  return row.found != no_mark ? Verdict::FOUND : row.open != 0 ? Verdict::OPEN : Verdict::PROVED;
}

// Pushes the first cells of a row, with the narrowest on top.
template <class T, class Team, class Rows>
POISE_LARGE_FN void begin_row(CellMemory<T>& memory, Team team, const Rows& rows, int place, const Looking& looking) {
  CellRow<T>& row = memory.rows[place];
  const FamilyQuestion<T> question = rows.question(row.row, row.form);
  int count = 0;
  if (question.spec.free_joint != FREE_NONE) {
    row.scan = scan_of(question);
    row.first = first_cells(question.spec, row.scan, looking.most_first, looking.first_width);
    T at, half;
    // ends: there are at most `first` cells and one more for each interval
    while (count < 63 && cell_of(row.scan, row.first, count, at, half)) ++count;
  }
  const bool none = count == 0 && question.spec.free_joint != FREE_NONE;
  const int to = none ? 0 : reserve_cells(memory, team, count + 1);
  row.open = to < 0;
  row.shut = 0;
  row.left = none || to < 0 ? 0 : count + 1;
  row.found = no_mark;
  for (int i = 0; i < row.left; ++i)
    memory.stack[to + i] = static_cast<unsigned>(place) << place_shift | (i < count ? first_cell(i) : narrowest);
}

// Updates an entry of the rows: a finished row is reported, and the next row or its next closed form takes the entry.
template <class T, class Team, class Rows>
POISE_LARGE_FN void serve_place(CellMemory<T>& memory, Team team, const Rows& rows, int place, const Looking& looking) {
  CellRow<T>& row = memory.rows[place];
  // ends: every round takes a row or a closed form of it
  while (row.left == 0) {
    if (row.row >= 0) {
      const Verdict verdict = rows.judge(verdict_of(row));
      const bool another = verdict == Verdict::OPEN && row.form + 1 < rows.forms();
      if (!another) rows.end(row.row, verdict);
      row.form = another ? row.form + 1 : 0;
      row.row = another ? row.row : -1;
    }
    if (row.row < 0) row.row = rows.next();
    if (row.row < 0) return;
    begin_row(memory, team, rows, place, looking);
  }
}

// Takes a cell for a thread; all threads of the team call it together, including those without a cell. `thorough`:
// every midpoint is worth testing.
template <class T, class Team, class Rows> POISE_LARGE_FN void take_cell(CellMemory<T>& memory, Team team,
                                                                         const Rows& rows, unsigned cell, bool mine,
                                                                         bool thorough) {
  const unsigned mark = cell & mark_mask;
  const bool middle = (cell & middle_bit) != 0u;
  CellRow<T>& row = memory.rows[(cell & ~middle_bit) >> place_shift];
  T values[7] = {};
  bool narrow = false, left = false, worth = false;
  if (mine && mark < row.found && (row.shut == 0 || level_of(mark) <= 1)) {
    const FamilyQuestion<T> question = rows.question(row.row, row.form);
    const CellPlace<T> where = place_of(row, rows, question.spec, mark);
    narrow = where.half <= where.finest;
    left = find_left(question, where.at, middle ? T(0) : where.half, middle ? 1 : cuts_of(where.half, narrow), middle,
                     values);
    worth = left && (narrow || thorough || has_inside(question.spec, values));
  }
  team.wait();
  if (left && middle) team.lower(&row.found, mark);
  if (left && !middle) cut_cell(memory, team, cell, narrow, worth);
  team.wait();
  if (left && middle && row.found == mark) rows.store(row.row, row.form, values);
  if (mine) team.add(&row.left, -1);
}

// Decides rows until none are left, `places` at once. All threads of the team call it together. `rows` provides them:
// next(), -1 at the end; question(row, form); near(row, form), the free joint of its pose; store(row, form, values);
// judge(verdict); end(row, verdict).
template <class T, class Team, class Rows>
POISE_LARGE_FN void decide_cells(CellMemory<T>& memory, Team team, const Rows& rows, int places) {
  for (int place = team.rank(); place < cell_rows; place += team.size()) {
    memory.rows[place].row = -1;
    memory.rows[place].form = memory.rows[place].left = 0;
  }
  if (team.rank() == 0) memory.height = 0;
  const Looking looking = choose_looking(places);
  team.wait();
  // ends: a round takes cells, of which every row has a bounded number, or no rows are left
  for (;;) {
    for (int place = team.rank(); place < places; place += team.size()) serve_place(memory, team, rows, place, looking);
    team.wait();
    const int height = memory.height, count = height < team.size() ? height : team.size();
    if (count == 0) return;
    const bool mine = team.rank() < count;
    const unsigned cell = mine ? memory.stack[height - 1 - team.rank()] : 0u;
    team.wait();
    if (team.rank() == 0) memory.height = height - count;
    team.wait();
    take_cell(memory, team, rows, cell, mine, looking.thorough);
    team.wait();
  }
}

}  // namespace poise
