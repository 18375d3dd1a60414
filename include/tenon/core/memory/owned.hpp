// Owned and Shared: objects on the heap with one owner, and with as many as there are copies. std::unique_ptr and
// std::shared_ptr do the same, but cost g++ 10 ms for each type, and a sixth of what tenon.hpp took for <memory>.
#pragma once
#include <cstddef>
#include <type_traits>
#include <utility>

#include <tenon/core/config.hpp>
#include <tenon/core/thread/atomic.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI::detail {

/// An object of `new`, deleted with this. Moving hands it on and leaves nothing.
template <class T>
class Owned {
 public:
  Owned() = default;
  explicit Owned(T* object) : object_(object) {}
  Owned(Owned&& other) noexcept : object_(other.release()) {}
  Owned& operator=(Owned&& other) noexcept {
    T* const old = object_;
    object_ = other.release();
    if (old != object_) delete old;
    return *this;
  }
  ~Owned() {
    static_assert(sizeof(T) > 0, "a type that is only declared cannot be deleted");
    delete object_;
  }

  T* get() const { return object_; }
  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  T* release() {
    T* const object = object_;
    object_ = nullptr;
    return object;
  }

 private:
  T* object_ = nullptr;
};
/// The same for an array of `new T[n]`.
template <class T>
class Owned<T[]> {
 public:
  Owned() = default;
  explicit Owned(T* first) : first_(first) {}
  Owned(Owned&& other) noexcept : first_(other.first_) { other.first_ = nullptr; }
  Owned& operator=(Owned&& other) noexcept {
    T* const old = first_;
    first_ = other.first_;
    other.first_ = nullptr;
    if (old != first_) delete[] old;
    return *this;
  }
  ~Owned() { delete[] first_; }

  T* get() const { return first_; }
  T& operator[](std::size_t i) const { return first_[i]; }
  explicit operator bool() const { return first_ != nullptr; }

 private:
  T* first_ = nullptr;
};

/// What copies of a Shared count in.
struct Owners {
  Atomic<int> count{1};
  void (*remove)(Owners*) = nullptr;
};
/// One of them, for any type.
class Owner {
 public:
  Owner() = default;
  explicit Owner(Owners* owners) : owners_(owners) {}
  Owner(const Owner& other) : owners_(other.owners_) {
    if (owners_) owners_->count.fetch_add(1, MemoryOrder::relaxed);
  }
  Owner& operator=(const Owner& other) {
    Owner copy(other);
    std::swap(owners_, copy.owners_);
    return *this;
  }
  ~Owner() {
    if (owners_ && owners_->count.fetch_sub(1, MemoryOrder::acq_rel) == 1) owners_->remove(owners_);
  }

 private:
  Owners* owners_ = nullptr;
};

/// An object that lives until the last copy of this goes: `Shared<T>::make(arguments...)`. Threads may copy as they
/// like.
template <class T>
class Shared {
 public:
  Shared() = default;

  T* get() const { return object_; }
  std::add_lvalue_reference_t<T> operator*() const { return *object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

  /// Makes an object of type U, which T is the base of, or T without const, or void.
  template <class U = std::remove_const_t<T>, class... A>
  static Shared make(A&&... arguments) {
    struct Held : Owners {
      U object;
      explicit Held(A&&... a) : object(std::forward<A>(a)...) {
        remove = [](Owners* held) { delete static_cast<Held*>(held); };
      }
    };
    Held* const held = new Held(std::forward<A>(arguments)...);
    return Shared(held, &held->object);
  }

 private:
  Shared(Owners* owners, T* object) : owner_(owners), object_(object) {}

  Owner owner_;
  T* object_ = nullptr;
};

}  // namespace tenon::detail
TENON_INT_SIZES_END
