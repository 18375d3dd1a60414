// An array that grows, for what is not handed to users: a std::vector costs each program 50 functions per type.
#pragma once
#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI::detail {

/// Memory of `room` bytes with the first `size` bytes of other memory, which is freed.
[[gnu::noinline, gnu::cold]] inline void* moved_bytes(void* first, std::size_t size, std::size_t room) {
  void* const moved = ::operator new(room);
  if (size > 0) std::memcpy(moved, first, size);
  ::operator delete(first);
  return moved;
}

/// The same of elements that must move themselves.
template <class T>
[[gnu::noinline, gnu::cold]] T* moved_elements(T* first, std::size_t size, std::size_t room) {
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  T* const moved = static_cast<T*>(::operator new(room * sizeof(T)));
  for (std::size_t i = 0; i < size; ++i) {
    ::new (moved + i) T(std::move(first[i]));
    first[i].~T();
  }
  ::operator delete(first);
  return moved;
}

/// Elements one after the other, which move when there is no room for one more.
template <class T>
class Growing {
 public:
  Growing() = default;
  Growing(Growing&& other) noexcept { exchange(other); }
  Growing(const Growing& other) : Growing() {  // so that elements go, too, if one cannot be copied
    for (const T& element : other) push_back(element);
  }
  Growing& operator=(Growing other) noexcept {
    exchange(other);
    return *this;
  }
  ~Growing() {
    clear();
    ::operator delete(first_);
  }

  T* begin() { return first_; }
  T* end() { return first_ + size_; }
  const T* begin() const { return first_; }
  const T* end() const { return first_ + size_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return first_[i]; }
  const T& operator[](std::size_t i) const { return first_[i]; }
  T& back() { return first_[size_ - 1]; }

  T& push_back(T element) {
    if (size_ == room_) grow(2 * room_ + 8);
    return *::new (first_ + size_++) T(std::move(element));
  }
  /// Appends elements without values of their own until there are this many.
  void fill(std::size_t size) {
    if (size > room_) grow(size > 2 * room_ ? size : 2 * room_);
    while (size_ < size) ::new (first_ + size_++) T();
  }
  void clear() {
    if constexpr (__is_trivially_copyable(T)) size_ = 0;
    else
      while (size_ > 0) first_[--size_].~T();
  }

 private:
  // Not by std::swap, which g++ would instantiate for each type.
  void exchange(Growing& other) {
    T* const first = first_;
    const std::size_t size = size_, room = room_;
    first_ = other.first_, size_ = other.size_, room_ = other.room_;
    other.first_ = first, other.size_ = size, other.room_ = room;
  }
  // Where bytes are all there is to move, types share a function. std::is_trivially_copyable costs tenon.hpp more than
  // it saves.
  void grow(std::size_t room) {
    if constexpr (__is_trivially_copyable(T))
      first_ = static_cast<T*>(moved_bytes(first_, size_ * sizeof(T), room * sizeof(T)));
    else first_ = moved_elements(first_, size_, room);
    room_ = room;
  }
  T* first_ = nullptr;
  std::size_t size_ = 0, room_ = 0;
};

}  // namespace tenon::detail
