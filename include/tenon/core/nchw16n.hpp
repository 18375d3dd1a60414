// The second layout of images: blocks of 16 samples, each feature of a block a vector over its samples.
#pragma once
#include <tenon/core/shape.hpp>

namespace tenon::inline TENON_ABI {

/// Samples of a block. Element f of sample s stands at (s / 16 * features + f) * 16 + s % 16. Vectors over samples are
/// always full, whatever the extents of the image, and need no shuffle. Samples that a last block lacks are zero where
/// it is packed and have any value after that: no kernel lets them reach another sample.
inline constexpr int block_samples = 16;

/// Blocks of samples that a chain of sums per channel takes (backend/cpu/nchw16n/layout.hpp).
inline constexpr long block_chain = 8;

/// n rounded up to whole blocks.
constexpr long whole_blocks(long n) { return (n + block_samples - 1) / block_samples * block_samples; }

/// Samples of the largest block of a batch of n.
constexpr long tile_of(long n) { return n < block_samples ? n : block_samples; }

/// True if n samples, a batch or a tile, are computed in NCHW16n: if not too many of their blocks' samples are missing.
/// No bit depends on it.
constexpr bool in_nchw16n(long n) { return 5 * n >= 3 * whole_blocks(n); }

/// The place of element `feature` of a sample.
constexpr long nchw16n_place(long sample, long feature, long features) {
  return (sample / block_samples * features + feature) * block_samples + sample % block_samples;
}

/// True for the values that have the layout: images [n, C, H, W] of float32.
constexpr bool is_image(const TensorType& t) { return t.rank == 4 && t.extent[0] == dyn && t.dtype == Dtype::float32; }

}  // namespace tenon
