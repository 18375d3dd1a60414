// SequentialSampler: consecutive rows, from a given row on.
#pragma once
#include <algorithm>

#include <tenon/dataset/sampler/sample.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// Rows start_index, start_index + 1, ...: num_samples of them, or all rows up to the end. Throws ValueError if there
/// is no row start_index. Source: MindSpore's SequentialSampler.
struct SequentialSampler {
  long start_index = 0, num_samples = 0;

  struct Prepared {
    static constexpr bool reorders = false;
    long start, count;
    long size(long) const { return count; }
    void describe(auto& d) const { d.add(start, count); }
    Drawn draw(long position, long, std::uint64_t) const { return {start + position}; }
  };
  Prepared prepared(long rows) const {
    if (start_index < 0 || start_index >= rows)
      throw_error<ValueError>("SequentialSampler: start_index is ", start_index, ", but the rows are 0 .. ", rows - 1,
                              ".");
    return {start_index, detail::samples_among("SequentialSampler", num_samples, rows - start_index)};
  }
};

}  // namespace tenon::dataset
