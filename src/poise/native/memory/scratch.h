// scratch.h: one growing block of memory per thread, from which the batch loops take their workspaces.
#pragma once
#include <cstddef>

namespace poise {

// Defined in scratch.cpp and not inline: run/ops.cpp is compiled for several instruction levels, and a function that the linker
// may take from any of them could end up with instructions that the machine does not have.
class Scratch {
 public:
  Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();

  // room for `bytes` bytes, aligned for any pack; what an earlier call returned is gone
  void* reserve(std::size_t bytes);

 private:
  void* block_;
  std::size_t size_;
};

}  // namespace poise
