// Denormal numbers are flushed to zero during every computation, in both modes and on every thread: momenta that decay
// towards zero otherwise slow a step down by a factor of 2 to 30. This is part of the bit contract.
#pragma once
#include <cstdint>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI {

/// Flushes denormals to zero on this thread until the end of the scope. Every call that computes does so by itself;
/// switching takes some processors 40 ns, which a scope of your own around a loop of tiny calls saves: inside of it,
/// others cost nothing.
class FlushDenormals {
 public:
  [[gnu::always_inline]] FlushDenormals() {
    if (depth_++ > 0) return;
    before_ = read();
    if ((before_ & flush) != flush) write(before_ | flush);
  }
  [[gnu::always_inline]] ~FlushDenormals() {
    if (--depth_ == 0 && (before_ & flush) != flush) write(before_);
  }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  friend class KeepDenormals;
#if defined(__x86_64__)
  using Word = unsigned;
  static constexpr Word flush = 0x8040;  // flush-to-zero and denormals-are-zero
  static Word read() {
    Word w;
    __asm__ volatile("stmxcsr %0" : "=m"(w));
    return w;
  }
  static void write(Word w) { __asm__ volatile("ldmxcsr %0" : : "m"(w) : "memory"); }
#elif defined(__aarch64__)
  using Word = std::uint64_t;
  static constexpr Word flush = 1u << 24;
  static Word read() {
    Word w;
    __asm__ volatile("mrs %0, fpcr" : "=r"(w));
    return w;
  }
  static void write(Word w) { __asm__ volatile("msr fpcr, %0" : : "r"(w)); }
#elif defined(__arm__) && defined(__ARM_FP)
  using Word = std::uint32_t;
  static constexpr Word flush = 1u << 24;
  static Word read() {
    Word w;
    __asm__ volatile("vmrs %0, fpscr" : "=r"(w));
    return w;
  }
  static void write(Word w) { __asm__ volatile("vmsr fpscr, %0" : : "r"(w)); }
#else
  using Word = unsigned;
  static constexpr Word flush = 0;
  static Word read() { return 0; }
  static void write(Word) {}
#endif
#if defined(TENON_EMBEDDED)
  static inline constinit int depth_ = 0;
#else
  static inline constinit thread_local int depth_ = 0;  // scopes open on this thread
#endif
  Word before_ = flush;
};

/// Takes denormals as they are on this thread until the end of the scope, also inside of FlushDenormals: for what shows
/// values instead of computing with them.
class KeepDenormals {
 public:
  KeepDenormals() { FlushDenormals::write(before_ & ~FlushDenormals::flush); }
  ~KeepDenormals() { FlushDenormals::write(before_); }
  KeepDenormals(const KeepDenormals&) = delete;
  KeepDenormals& operator=(const KeepDenormals&) = delete;

 private:
  const FlushDenormals::Word before_ = FlushDenormals::read();
};

}  // namespace tenon
