// convert_checkpoint: the tensors of a file in another format.
#pragma once
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/io/tensors/held_tensors.hpp>
#include <tenon/train/checkpoint.hpp>
#include <tenon/train/npz.hpp>

namespace tenon::inline TENON_ABI {

/// Reads the tensors of one file and writes them to another under the same names. The suffixes determine the formats:
/// ".safetensors" (PyTorch's and MindSpore's models), ".npz" (NumPy), ".ckpt" (MindSpore, with
/// `#include <tenon/train/ckpt.hpp>`):
///
///     convert_checkpoint("resnet50.npz", "resnet50.ckpt");
///
/// Metadata and texts are left out. bfloat16, which NumPy lacks, becomes float32 in a .npz. Throws ValueError for
/// another suffix and for names that the format cannot hold, TypeError for a tensor whose element type Tenon lacks,
/// RuntimeError for a file that cannot be read or written. After an error the target file is unchanged.
inline void convert_checkpoint(const std::string& from, const std::string& to) {
  if (!to.ends_with(".npz")) static_cast<void>(detail::is_ckpt_path("save", to));
  detail::read_checkpoint(from, [&](const io::HeldTensors& file) {
    if (!file.foreign.empty()) io::detail::throw_foreign(from, file.foreign[0]);
    save_checkpoint(file.tensors, to);
  });
}

}  // namespace tenon
