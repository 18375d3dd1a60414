// What a target is asked for that keeps the samples of a data set: the rows of a batch, gathered in its own memory.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI {

/// How an element of a data set becomes one of a row: as it is; a byte divided by 255, as a float; a byte as an int32.
enum class GatherAs : char { same, unit_float, label };

/// A column of a row: where it goes, from which samples, in the memory of the target.
struct GatheredColumn {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  long sample_elements = 0;  // as GatherAs::same: bytes
  GatherAs as = GatherAs::same;
};
/// Samples for a batch, from place `first` of it on. All of this fits the arguments of a kernel, 4 KB.
struct GatheredRows {
  static constexpr int most_columns = 4, most_samples = 800;
  GatheredColumn column[most_columns]{};
  int columns = 0, samples = 0;
  long first = 0;
  std::int32_t index[most_samples];  // of each sample in the data set
};

/// A target that gathers rows, after the work that is in its queue.
template <class Target>
concept GathersRows = requires(const GatheredRows& rows) {
  Target::gather(rows);
  { Target::free_bytes() } -> std::same_as<std::size_t>;  // that it has for other memory
};

}  // namespace tenon
