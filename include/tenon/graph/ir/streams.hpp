// Which random stream a call draws from: the cell's path and a number, never the place in the source.
#pragma once
#include <span>
#include <vector>

#include <tenon/core/random/philox.hpp>
#include <tenon/graph/ir/node.hpp>

namespace tenon::inline TENON_ABI {

/// A random call of a trace: its site, which is unique in a step of one program, and the stream that it draws from.
struct Draw {
  std::uint64_t site, stream;
};

/// Counts visits per key, and gives each a number that differs from those of other keys and visits.
class VisitCounts {
 public:
  constexpr std::uint64_t next(std::uint64_t key) {
    for (Draw& visit : visits_)
      if (visit.site == key) return hash_number(++visit.stream, key);
    visits_.push_back({key, 0});
    return hash_number(0, key);
  }
  constexpr void clear() { visits_.clear(); }

 private:
  std::vector<Draw> visits_;  // keys and their counts: a vector of draws is there already
};

/// The random streams of one step. A stream is the hash of a cell's path and of how many random calls that cell has
/// made in the step: a comment moves nothing, and all compilers number alike.
///
/// C++ leaves the order of the operands in `drop(a) + drop(b)` open, and g++ runs them in another order than it traces
/// them. So the numbers are those of the trace, which compilers evaluate from left to right, and PyNative mode looks
/// them up by the site of the call, which it shares with the trace of the same program alone. Without a trace (a
/// network that asks for values, a direct call in training) it counts the calls as they run. Two visits of one site in
/// one expression, as in `h(x) + h(y)` with a lambda h that calls dropout, cannot be told apart: write such visits in
/// two statements.
class Streams {
 public:
  /// Begins a step. `known` are the draws of its trace, if it has one; they must live as long as the step.
  constexpr void start(std::span<const Draw> known) {
    known_ = known.data();
    known_count_ = known.size();
    sites_.clear();
    cells_.clear();
  }
  /// The stream of the next random call of a cell. `site` is the place of the call.
  std::uint64_t next(std::uint64_t site, std::uint64_t path) {
    if (known_count_ == 0) return cells_.next(path);
    const std::uint64_t visit = sites_.next(hash_number(site, path));
    for (const Draw& draw : std::span(known_, known_count_))
      if (draw.site == visit) return draw.stream;
    return cells_.next(~path);  // a call that was not traced gets no stream of one that was
  }
  /// The same in a trace.
  constexpr Draw traced(std::uint64_t site, std::uint64_t path) {
    return {sites_.next(hash_number(site, path)), cells_.next(path)};
  }

 private:
  const Draw* known_ = nullptr;  // no std::span: beside a std::vector it makes a class non-literal for nvcc
  std::size_t known_count_ = 0;
  VisitCounts sites_, cells_;
};

constexpr std::uint64_t site_number(const Location& at) {
  return std::uint64_t(std::uint32_t(at.line)) << 32 | std::uint32_t(at.column);
}

}  // namespace tenon
