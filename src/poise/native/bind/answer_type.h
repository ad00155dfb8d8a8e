// answer_type.h: the named tuple that a solve returns.
#pragma once
#include "bind/arrays.h"

namespace poise {

// The result of a solve: a named tuple, defined once with the module.
inline PyTypeObject* answer_type = nullptr;
inline PyStructSequence_Field answer_fields[] = {
    {"q", "the best configuration"},
    {"errors", "metres and radians of each goal as bytes, closed loops first"},
    {"outcome", "an Outcome"},
    {"steps", "steps taken, over all searches"},
    {"searches", "searches made"},
    {"winner", "the search that the answer came from, from 1"},
    {"seconds", "how long it took"},
    {"late", "whether time ran out"},
    {"unreachable", "whether a bound proves that no pose reaches the goals"},
    {"colliding", "how many poses of the goal were tested, if all collide"},
    {"targets", "copies of the given targets by name, or None"},
    {nullptr, nullptr}};
inline PyStructSequence_Desc answer_description = {"poise.native._core.Answer", "What a solve returns.", answer_fields,
                                                   11};

inline nb::object define_answer() {
  answer_type = PyStructSequence_NewType(&answer_description);
  if (!answer_type) throw nb::python_error();
  return nb::borrow(reinterpret_cast<PyObject*>(answer_type));
}

template <class... Values> AnyTuple make_answer(Values... values) {
  PyObject* out = PyStructSequence_New(answer_type);
  if (!out) throw nb::python_error();
  Py_ssize_t k = 0;
  (PyStructSequence_SetItem(out, k++, values.release().ptr()), ...);
  return nb::steal<AnyTuple>(out);
}

}  // namespace poise
