// layout.h: the layout of a struct for numpy.dtype, so that Python reads and writes its members by name.
#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "bind/arrays.h"

namespace poise {

class Layout {
 public:
  void add(const char* name, const std::string& format, std::size_t offset) {
    names_.append(name);
    formats_.append(format.c_str());
    offsets_.append(offset);
  }
  AnyDict for_dtype(std::size_t size) const {
    AnyDict out;
    out["names"] = names_;
    out["formats"] = formats_;
    out["offsets"] = offsets_;
    out["itemsize"] = size;
    return out;
  }

 private:
  nb::list names_, formats_, offsets_;
};

// a new array of rows, whose members Python reads by name
template <class R> NumpyArray array_of_rows(const std::vector<R>& rows, const Layout& layout) {
  PyArray_Descr* type = nullptr;
  if (!PyArray_DescrConverter(layout.for_dtype(sizeof(R)).ptr(), &type)) throw nb::python_error();
  npy_intp shape[1] = {static_cast<npy_intp>(rows.size())};
  Array out(PyArray_NewFromDescr(&PyArray_Type, type, 1, shape, nullptr, nullptr, 0, nullptr));
  std::copy(rows.begin(), rows.end(), out.data<R>());
  return out.release();
}

}  // namespace poise
