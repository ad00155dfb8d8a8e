// bytes.cpp: writes bodies and prepared problems as bytes.
#define NO_IMPORT_ARRAY
#include "bind/bindings.h"
#include "memory/problem_bytes.h"

namespace poise {
namespace {

nb::bytes write_body(const Body& body) {
  Body copy = body;
  ByteWriter out;
  visit_body(out, copy);
  return nb::bytes(out.bytes.data(), out.bytes.size());
}

// the problem, a flag, and the problem of the first level alone if the flag is set
nb::bytes write_problem(PreparedSolver& solver) {
  const Use use(solver);
  ByteWriter out;
  for (SolverData* d = &solver.data; d; d = d->first) {
    if (d->custom_rows) refuse("InvalidValue", "a problem with a Custom goal has no bytes: it calls Python.");
    visit_problem(out, *d);
    bool more = d->first != nullptr;
    visit_plain(out, more);
  }
  return nb::bytes(out.bytes.data(), out.bytes.size());
}

}  // namespace

void bind_bytes(nb::module_& m) {
  m.def("write_body", write_body, nb::arg("body"), "Return a body as bytes, for wasm/interface.cpp.");
  m.def("write_problem", write_problem, nb::arg("solver"), "Return a prepared problem as bytes, with its targets.");
}

}  // namespace poise
