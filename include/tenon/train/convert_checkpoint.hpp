// convert_checkpoint: the tensors of a file in another format.
#pragma once
#include <cstdint>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/io/named_tensor.hpp>
#include <tenon/io/npz.hpp>
#include <tenon/train/checkpoint.hpp>

namespace tenon::inline TENON_ABI {

/// Reads the tensors of one file and writes them to another under the same names. The suffixes say the formats:
/// ".safetensors" (PyTorch's and MindSpore's models), ".npz" (NumPy), ".ckpt" (MindSpore, with
/// `#include <tenon/train/ckpt.hpp>`):
///
///     convert_checkpoint("resnet50.npz", "resnet50.ckpt");
///
/// Metadata and texts are left out. bfloat16, which NumPy lacks, becomes float32 in a .npz.
/// Throws ValueError for another suffix and for names that the format cannot hold, TypeError for a tensor whose element
/// type Tenon lacks, RuntimeError for a file that cannot be read or written; then the other file is as it was.
inline void convert_checkpoint(const std::string& from, const std::string& to) {
  const auto is_npz = [](const std::string& path) { return path.size() > 4 && path.ends_with(".npz"); };
  if (!is_npz(to)) static_cast<void>(detail::is_ckpt_path("save", to));
  const auto write = [&](const io::HeldTensors& file) {
    if (!file.foreign.empty()) io::detail::throw_foreign(from, file.foreign[0]);
    if (is_npz(to)) io::save_npz(to, file.tensors);
    else save_checkpoint(file.tensors, to);
  };
  if (is_npz(from)) write({from, io::Npz(from, std::uint64_t{1} << 62).tensors()});
  else detail::read_checkpoint(from, write);
}

}  // namespace tenon
