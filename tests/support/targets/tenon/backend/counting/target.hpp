// A target of tests: Counting is Reference, and counts what passes between the host and the target.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <map>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/backend/reference/target.hpp>

namespace tenon::inline TENON_ABI {

namespace kernel::counting {

/// Since the last reset().
struct Counts {
  long submits = 0, launches = 0;
  long replayed = 0;  // submits
  long copies_in = 0, bytes_in = 0;
  long copies_out = 0, bytes_out = 0;
  long waits = 0;  // of the host, until all that is in the queue is done
};
inline Counts counts;
/// The kernel calls since the last reset(), if `keeps_launches`, as the bytes that the target gets.
inline std::vector<std::byte> launched;
inline bool keeps_launches = false;
/// Whether the kernel calls of graphs are recorded and replayed.
inline bool replays = false;
inline void reset() {
  counts = {};
  launched.clear();
}

}  // namespace kernel::counting

/// Counts for one thread of the host.
struct Counting : Reference {
  using Parent = Reference;
  static constexpr std::string_view name = "Counting";

  static void copy_in(std::byte* to, const std::byte* from, std::size_t bytes) {
    ++kernel::counting::counts.copies_in, kernel::counting::counts.bytes_in += long(bytes);
    Reference::copy_in(to, from, bytes);
  }
  static void copy_out(std::byte* to, const std::byte* from, std::size_t bytes) {
    ++kernel::counting::counts.copies_out, kernel::counting::counts.bytes_out += long(bytes);
    ++kernel::counting::counts.waits;
    Reference::copy_out(to, from, bytes);
  }
  static void copy_out_later(std::byte* to, const std::byte* from, std::size_t bytes, std::atomic<bool>& done) {
    ++kernel::counting::counts.copies_out, kernel::counting::counts.bytes_out += long(bytes);
    Reference::copy_out_later(to, from, bytes, done);
  }
  static void wait() {
    ++kernel::counting::counts.waits;
    Reference::wait();
  }
  template <class Step>
  struct Begun {
    using Launch = typename Step::Launch;
    const Step step;
    std::vector<Launch> launches{};

    void launch(const Launch& call) { launches.push_back(call); }
    void commit() {
      ++kernel::counting::counts.submits;
      kernel::counting::counts.launches += long(launches.size());
      const auto bytes = std::as_bytes(std::span(launches));
      if (kernel::counting::keeps_launches)
        kernel::counting::launched.insert(kernel::counting::launched.end(), bytes.begin(), bytes.end());
      if (!kernel::counting::replays || !step.program) return run(launches);
      // A step that has been recorded runs as it was then, if it is the same.
      static std::map<std::pair<const void*, long>, std::vector<Launch>> recorded;
      std::vector<Launch>& before = recorded[{step.program, step.n}];
      if (std::ranges::equal(bytes, std::as_bytes(std::span(before)))) ++kernel::counting::counts.replayed;
      else before = launches;
      run(before);
    }
    static void run(const std::vector<Launch>& calls) {
      for (const Launch& call : calls) enqueue(call);
    }
  };
  template <class Step>
  static Begun<Step> begin(const Step& step) {
    return {step};
  }
};

namespace kernel::counting {
using Target = Counting;
}

}  // namespace tenon
