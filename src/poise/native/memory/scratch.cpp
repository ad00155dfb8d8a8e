// scratch.cpp: the growing memory block of a thread.
#include "memory/scratch.h"

#include <new>

namespace poise {

namespace {
constexpr std::align_val_t pack_alignment{64};
}

Scratch::Scratch() : block_(nullptr), size_(0) {}

Scratch::~Scratch() { ::operator delete(block_, pack_alignment); }

void* Scratch::reserve(std::size_t bytes) {
  if (bytes > size_) {
    ::operator delete(block_, pack_alignment);
    block_ = nullptr;
    size_ = 0;
    block_ = ::operator new(bytes, pack_alignment);
    size_ = bytes;
  }
  return block_;
}

}  // namespace poise
