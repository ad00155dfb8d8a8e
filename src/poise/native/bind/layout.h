// layout.h: the layout of a struct for numpy.dtype, so that Python reads and writes its members by name.
#pragma once
#include <cstddef>
#include <string>

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

}  // namespace poise
