// A fixed-size aligned array of plain values, zero at first.
//
// Used instead of std::vector in code that is compiled once per instruction set: the linker
// merges a standard template's instances over all of them and might keep one that this machine
// cannot run.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

namespace pliant::PLIANT_ISA {

template <class T>
class Buffer {
 public:
  Buffer() = default;
  // One element at least, so that &x[0] is an address where a body has nothing of a kind.
  explicit Buffer(std::size_t size) : size_(size) {
    const std::size_t room = (size == 0 ? 1 : size) * sizeof(T);
    data_ = static_cast<T*>(::operator new(room, std::align_val_t{64}));
    std::memset(static_cast<void*>(data_), 0, room);
  }
  explicit Buffer(int size) : Buffer(static_cast<std::size_t>(size)) {}
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer() { ::operator delete(data_, std::align_val_t{64}); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(T); }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T& operator[](int i) { return data_[i]; }
  const T& operator[](int i) const { return data_[i]; }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace pliant::PLIANT_ISA
