// scratch.h: one growing memory block per thread, from which the batch loops take their workspaces.
#pragma once
#include <cstddef>

namespace poise {

// Defined in scratch.cpp, not inline: run/ops.cpp is compiled for several instruction levels, and the linker may choose
// a function from any of them, with instructions that the machine does not support.
class Scratch {
 public:
  Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();

  // returns `bytes` bytes, aligned for any pack; invalidates earlier results
  void* reserve(std::size_t bytes);

 private:
  void* block_;
  std::size_t size_;
};

}  // namespace poise
