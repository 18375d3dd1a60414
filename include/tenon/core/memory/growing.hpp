// An array that grows, for what is not handed to users: a std::vector costs each program 50 functions per type.
#pragma once
#include <cstddef>
#include <new>
#include <utility>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI::detail {

/// Elements one after the other, which move when there is no room for one more.
template <class T>
class Growing {
 public:
  Growing() = default;
  Growing(Growing&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        room_(std::exchange(other.room_, 0)) {}
  Growing(const Growing& other) : Growing() {  // so that elements go, too, if one cannot be copied
    for (const T& element : other) push_back(element);
  }
  Growing& operator=(Growing other) noexcept {
    std::swap(first_, other.first_), std::swap(size_, other.size_), std::swap(room_, other.room_);
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
    while (size_ > 0) first_[--size_].~T();
  }

 private:
  [[gnu::noinline, gnu::cold]] void grow(std::size_t room) {
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    T* const first = static_cast<T*>(::operator new(room * sizeof(T)));
    for (std::size_t i = 0; i < size_; ++i) {
      ::new (first + i) T(std::move(first_[i]));
      first_[i].~T();
    }
    ::operator delete(first_);
    first_ = first, room_ = room;
  }

  T* first_ = nullptr;
  std::size_t size_ = 0, room_ = 0;
};

}  // namespace tenon::detail
