// How the graph sees a kernel: a few function pointers per distinct kernel, no type.
#pragma once
#include <cstddef>
#include <cstdint>

#include <tenon/core/target.hpp>
#include <tenon/graph/ir/node.hpp>

namespace tenon::inline TENON_ABI {

/// What a kernel is called with: pointers to result and operands, the batch size, and scratch memory of the thread.
struct Arguments {
  void* buffer[max_buffers];  // at result_at, operand_at(k), further_at(operands, k)
  long n = 1;
  std::uint64_t immediate = 0;
  std::byte* workspace = nullptr;

  constexpr Arguments() : buffer{} {}
  struct Unset {};
  /// The caller sets the buffers that the kernel has: eleven zeros would take a tenth of a small PyNative call.
  Arguments(Unset, long samples, std::uint64_t number) : n(samples), immediate(number) {
    if constexpr (several_targets)
      for (void*& at : buffer) at = nullptr;  // a launch elsewhere looks at all of them
  }

  /// Indices of `buffer`: first the result, then the operands, then of a call with several results those from k = 1 on.
  static constexpr int result_at = 0;
  TENON_DEVICE static constexpr int operand_at(int k) { return k + 1; }
  TENON_DEVICE static constexpr int further_at(int operands, int k) { return operands + k; }

  template <class T>
  TENON_DEVICE T* result() const {
    return static_cast<T*>(buffer[result_at]);
  }
  template <class T>
  TENON_DEVICE const T* operand(int k) const {
    return static_cast<const T*>(buffer[operand_at(k)]);
  }
  /// For operators with an effect: operand k is written.
  template <class T>
  TENON_DEVICE T* changed(int k) const {
    return static_cast<T*>(buffer[operand_at(k)]);
  }
  /// For operators with an effect on the host: the bytes of the HostText, in place of the immediate of other calls.
  const char* text() const { return static_cast<const char*>(host_data()); }
  /// What immediate_of() was given.
  const void* host_data() const { return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(immediate)); }
  static std::uint64_t immediate_of(const void* data) { return reinterpret_cast<std::uintptr_t>(data); }
};

/// How much a kernel has to do for a batch of n samples.
struct KernelWork {
  long items = 0;      // units that threads may share
  long cost = 1;       // multiply-adds or elements of one item, roughly
  long workspace = 0;  // bytes of scratch that each thread needs
};

/// The work of a kernel whose items are a multiple of n and a constant, of equal cost each: most of them. It needs no
/// function.
struct LinearWork {
  long items_per_sample = 0, items = 0, cost = 1, workspace = 0;
  constexpr KernelWork of(long n) const { return {items_per_sample * n + items, cost, workspace}; }
};

/// One distinct kernel.
struct KernelEntry {
  void (*run)(const Arguments&, long begin, long end) = nullptr;  // computes items begin .. end - 1
  KernelWork (*work_of)(long n) = nullptr;                        // unless is_linear
  void (*run_nchw16n)(const Arguments&, long begin,
                      long end) = nullptr;          // with NCHW16n images; null: none
  KernelWork (*nchw16n_work_of)(long n) = nullptr;  // unless is_nchw16n_linear
  LinearWork linear{}, nchw16n_linear{};            // the second counts blocks
  // not whether a pointer is null: UBSan refuses to compare one in constant evaluation
  bool is_linear = true, is_nchw16n_linear = true, has_indices = false;
#if defined(TENON_TARGET)
  bool meets_ranks = false;  // run() waits for other ranks, so the host calls it when it is its turn
#endif
  long rows = 1;                            // of a sample, which are samples to `run` and `work_of` (OnRows)
  const IndexRange* indices = nullptr;      // of an operand; null: none are looked at
  const LeastBatch* least_batch = nullptr;  // null: any batch will do
  // of a kernel on the CPU: the one on each of the other targets, null if there is none
  struct Elsewhere {
    const KernelEntry* on[OtherTargets::count + 1]{};
  };
  [[no_unique_address]] std::conditional_t<several_targets, Elsewhere, NoConfig> elsewhere{};

  constexpr KernelWork work(long n) const { return is_linear ? linear.of(n) : work_of(rows * n); }
  constexpr KernelWork nchw16n_work(long n) const {
    return is_nchw16n_linear ? nchw16n_linear.of(whole_blocks(n) / block_samples) : nchw16n_work_of(n);
  }
};

/// Below this cost a kernel is not shared between threads: a fork and join takes about as long.
inline constexpr long cost_per_thread = 32768;

}  // namespace tenon
