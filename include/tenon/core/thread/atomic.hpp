// Atomic values, by the compiler's own functions. std::atomic does the same, but <atomic> took g++ 0.03 s in each
// program.
#pragma once
#include <tenon/core/abi.hpp>

namespace tenon::inline TENON_ABI::detail {

/// What other threads see of the accesses before and after one: std::memory_order.
enum class MemoryOrder : int {
  relaxed = __ATOMIC_RELAXED,
  acquire = __ATOMIC_ACQUIRE,
  release = __ATOMIC_RELEASE,
  acq_rel = __ATOMIC_ACQ_REL,
  seq_cst = __ATOMIC_SEQ_CST
};

// What an exchange that fails has of the order of one that stores.
constexpr MemoryOrder order_of_failure(MemoryOrder stored) {
  if (stored == MemoryOrder::acq_rel) return MemoryOrder::acquire;
  return stored == MemoryOrder::release ? MemoryOrder::relaxed : stored;
}

/// A variable, which everything else must access in this way, too: std::atomic_ref.
template <class T>
class AtomicRef {
 public:
  explicit constexpr AtomicRef(T& to) : to_(&to) {}

  T load(MemoryOrder order = MemoryOrder::seq_cst) const {
    T value;
    __atomic_load(to_, &value, int(order));
    return value;
  }
  void store(T value, MemoryOrder order = MemoryOrder::seq_cst) const { __atomic_store(to_, &value, int(order)); }
  /// The value before.
  T exchange(T value, MemoryOrder order = MemoryOrder::seq_cst) const {
    T before;
    __atomic_exchange(to_, &value, &before, int(order));
    return before;
  }
  /// Stores `value` where there is `expected`, otherwise loads into `expected`; whether it has stored. The weak one may
  /// fail without a reason, and is meant for loops.
  bool compare_exchange_weak(T& expected, T value, MemoryOrder stored = MemoryOrder::seq_cst) const {
    return __atomic_compare_exchange(to_, &expected, &value, true, int(stored), int(order_of_failure(stored)));
  }
  bool compare_exchange_strong(T& expected, T value, MemoryOrder stored = MemoryOrder::seq_cst) const {
    return __atomic_compare_exchange(to_, &expected, &value, false, int(stored), int(order_of_failure(stored)));
  }
  /// The value before.
  T fetch_add(T by, MemoryOrder order = MemoryOrder::seq_cst) const { return __atomic_fetch_add(to_, by, int(order)); }
  T fetch_sub(T by, MemoryOrder order = MemoryOrder::seq_cst) const { return __atomic_fetch_sub(to_, by, int(order)); }

 private:
  T* to_;
};

/// A number, pointer, or enumerator that several threads read and write: std::atomic.
template <class T>
class Atomic {
 public:
  constexpr Atomic() = default;
  constexpr Atomic(T initial) : value_(initial) {}
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  T load(MemoryOrder order = MemoryOrder::seq_cst) const { return ref().load(order); }
  void store(T value, MemoryOrder order = MemoryOrder::seq_cst) { ref().store(value, order); }
  T exchange(T value, MemoryOrder order = MemoryOrder::seq_cst) { return ref().exchange(value, order); }
  bool compare_exchange_weak(T& expected, T value, MemoryOrder stored = MemoryOrder::seq_cst) {
    return ref().compare_exchange_weak(expected, value, stored);
  }
  bool compare_exchange_strong(T& expected, T value, MemoryOrder stored = MemoryOrder::seq_cst) {
    return ref().compare_exchange_strong(expected, value, stored);
  }
  T fetch_add(T by, MemoryOrder order = MemoryOrder::seq_cst) { return ref().fetch_add(by, order); }
  T fetch_sub(T by, MemoryOrder order = MemoryOrder::seq_cst) { return ref().fetch_sub(by, order); }

  operator T() const { return load(); }
  T operator=(T value) {
    store(value);
    return value;
  }
  T operator++() { return fetch_add(1) + 1; }
  T operator--() { return fetch_sub(1) - 1; }

 private:
  AtomicRef<T> ref() const { return AtomicRef<T>(value_); }
  alignas(sizeof(T)) mutable T value_{};
};

}  // namespace tenon::detail
