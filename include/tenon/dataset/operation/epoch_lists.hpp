// Information about the rows of an epoch that a stage collects while they are read, for all threads.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI::dataset {

namespace detail {

/// A list of numbers per epoch, made as far as it was needed, shared by the copies of a stage. The lists of the last
/// two epochs are kept: a walk with prefetch crosses from one to the next. Of others the length is. `More` is what a
/// stage has beside the numbers.
template <class More>
class EpochListsWith {
 public:
  struct List : More {
    std::mutex mutex;  // guards the others
    std::vector<long> numbers;
    long scanned = 0;  // rows before, up to which they are known
    bool complete = false;
  };

  std::shared_ptr<List> of(std::uint64_t epoch) {
    const std::lock_guard lock(mutex_);
    if (kept_[0].second && kept_[0].first == epoch) return kept_[0].second;
    std::swap(kept_[0], kept_[1]);  // the one that is used goes in front
    if (!kept_[0].second || kept_[0].first != epoch) kept_[0] = {epoch, std::make_shared<List>()};
    return kept_[0].second;
  }
  /// The number of rows of an epoch that was walked to its end.
  void set_length(std::uint64_t epoch, long rows) {
    const std::lock_guard lock(mutex_);
    lengths_[epoch] = rows;
  }
  std::optional<long> length(std::uint64_t epoch) {
    const std::lock_guard lock(mutex_);
    const auto found = lengths_.find(epoch);
    return found == lengths_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::mutex mutex_;
  std::pair<std::uint64_t, std::shared_ptr<List>> kept_[2];
  std::unordered_map<std::uint64_t, long> lengths_;
};
struct NumbersAlone {};
using EpochLists = EpochListsWith<NumbersAlone>;

}  // namespace detail

}  // namespace tenon::dataset
