// What is kept between calls: an operand that depends on parameters only, in the order in which its kernel reads it.
#pragma once
#include <tenon/core/memory/aligned_bytes.hpp>
#include <tenon/lowering/program.hpp>

namespace tenon::inline TENON_ABI {

/// How a kernel works with an operand that was prepared for it (target/kernel.hpp): the same bits, in less time.
struct KeptEntry {
  int operand = 0;
  long (*bytes)(long n) = nullptr;  // of what is kept for a batch of n, 0: nothing
  void (*make)(const void* operand, long n, void* to) = nullptr;
  KernelWork (*work)(long n) = nullptr;  // its workspace is no larger than without
  void (*run)(const Arguments&, long begin, long end) = nullptr;
  bool for_all = false;  // batches of which as many bytes are kept need the same ones
};

/// An instruction of a program with such an operand, a parameter that the program does not change.
struct KeptOperand {
  const KeptEntry* entry = nullptr;
  int instruction = 0;

  /// NCHW16n images are this many samples that the time to prepare weights does not matter.
  long bytes(const Instruction& of, long n) const {
    return n > block_samples || (of.nchw16n && in_nchw16n(n)) ? 0 : aligned(entry->bytes(n));
  }
  /// True if the same is kept for two batches.
  bool is_same(const Instruction& of, long n, long other) const {
    return entry->for_all && bytes(of, n) == bytes(of, other);
  }
};

/// Upper limit: beyond this size, reading the weights is memory-bound in any order.
inline constexpr long most_kept_bytes = 256 << 20;

/// What one executor keeps. Parameters have a number for their values, which changes with them, 0 if they may change
/// unseen (ParameterArena::values). Nothing is made of values that are met for the first time: a network that is called
/// once per change of its parameters is as fast as without.
class KeptOperands {
 public:
  /// The values with which the next run computes.
  void meet(std::uint64_t values) { values_ = values; }
  /// True if what is kept, or that nothing is, fits them.
  bool fits() const { return values_ == made_of_; }
  /// True if there is something that fits them.
  bool made() const { return fits() && made_; }
  /// Forgets what was made, as for other addresses.
  void forget() { leave(), held_ = 0; }
  /// For another batch: the next run asks for room again, and copies that are right for it stay.
  void leave() { made_of_ = seen_ = 0, made_ = false; }
  /// The batch of the copies that are there.
  long batch() const { return batch_; }
  /// Where what is now to be made of these values, for a batch of n, stands; null: nothing is to be made. `bytes`: room
  /// for all of it. `same`: what was made for batch() is also right for this one. It is then set to whether it stands
  /// there already.
  std::byte* room(long bytes, long n, bool& same);

 private:
  AlignedBytes memory_;
  long capacity_ = 0, batch_ = 0;
  std::uint64_t values_ = 0, seen_ = 0, made_of_ = 0, held_ = 0;  // held_: of which values the memory has a copy
  bool made_ = false;
};

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE std::byte* KeptOperands::room(long bytes, long n, bool& same) {
  if (bytes > most_kept_bytes) bytes = 0;
  if (values_ && bytes > capacity_) try {
      held_ = 0;
      memory_ = AlignedBytes(std::size_t(bytes));  // now, so that later calls allocate nothing
      capacity_ = bytes;
    } catch (const OutOfMemory&) {
      bytes = 0;
    }
  same = same && bytes && values_ && held_ == values_;
  const bool again = same || (values_ && (values_ == seen_ || bytes == 0));
  seen_ = values_;
  made_of_ = again ? values_ : 0;
  made_ = again && bytes;
  if (made_) held_ = values_, batch_ = n;
  return made_ ? memory_.data() : nullptr;
}
#endif  // TENON_DEFINES

}  // namespace tenon
