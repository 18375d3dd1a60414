// A GPU gathers the samples of a batch from those of a data set that it keeps.
#pragma once
#include <cstdint>

#include <tenon/backend/cuda/device.hpp>
#include <tenon/backend/cuda/step/neighbours.hpp>
#include <tenon/backend/cuda/target.hpp>
#include <tenon/core/memory/row_gather.hpp>

namespace tenon::inline TENON_ABI {

namespace kernel::cuda {

/// A thread moves 16 bytes of a column, or makes 4 elements of bytes.
struct GatherRows {
  static constexpr int threads = 256;
  static constexpr int unit_bytes = 16;
  GatheredRows rows;

  /// Threads for a sample of a column: a data set that is kept has less than 2^30 bytes.
  TENON_DEVICE static constexpr unsigned units(const GatheredColumn& column) {
    const long together = column.as == GatherAs::same ? unit_bytes : 4;
    return unsigned((column.sample_elements + together - 1) / together);
  }
  __device__ void block(const Arguments&) const {
    unsigned i = unsigned(thread_of_grid());
    for (int c = 0; c < GatheredRows::most_columns; ++c) {
      if (c >= rows.columns) return;
      const GatheredColumn& column = rows.column[c];
      const unsigned each = units(column), all = each * unsigned(rows.samples);
      if (i < all) return move(column, int(i / each), i % each);
      i -= all;
    }
  }

 private:
  __device__ void move(const GatheredColumn& column, int sample, unsigned unit) const {
    const long elements = column.sample_elements;
    const long from = rows.index[sample] * elements, to = (rows.first + sample) * elements;
    const auto* const sample_bytes = reinterpret_cast<const std::uint8_t*>(column.from) + from;
    if (column.as == GatherAs::same)
      copy(reinterpret_cast<std::uint8_t*>(column.to) + to, sample_bytes, elements, unit);
    else make(column, to, sample_bytes, unit);
  }
  __device__ static void copy(std::uint8_t* to, const std::uint8_t* from, long bytes, unsigned unit) {
    const long first = long(unit) * unit_bytes;
    store_neighbours(load_neighbours<unit_bytes>(from, first, bytes - first), to, first, bytes - first);
  }
  __device__ static void make(const GatheredColumn& column, long to, const std::uint8_t* from, unsigned unit) {
    for (long e = long(unit) * 4; e < column.sample_elements && e < long(unit) * 4 + 4; ++e)
      if (column.as == GatherAs::label) reinterpret_cast<std::int32_t*>(column.to)[to + e] = from[e];
      else reinterpret_cast<float*>(column.to)[to + e] = float(from[e]) / 255.0f;
  }
};

}  // namespace kernel::cuda

inline void Cuda::gather(const GatheredRows& rows) {
  using kernel::cuda::GatherRows;
  long units = 0;
  for (int c = 0; c < rows.columns; ++c) units += long(GatherRows::units(rows.column[c])) * rows.samples;
  const kernel::cuda::Queues& on = kernel::cuda::queues();
  kernel::cuda::run_with({.stream = on.kernels, .overlaps = on.overlaps}, [&] {
    kernel::cuda::launch_blocks(GatherRows{rows}, Arguments(), kernel::cuda::blocks_for(units, GatherRows::threads));
  });
}

}  // namespace tenon
