// With this header save_checkpoint, load_checkpoint, save_training, load_training, SaveBest, and ModelCheckpoint write
// and read MindSpore's checkpoints, too: paths that end with ".ckpt". Needs protozero.
#pragma once
#include <tenon/io/ckpt.hpp>
#include <tenon/train/checkpoint.hpp>

namespace tenon::inline TENON_ABI::detail {

inline constexpr CkptFormat ckpt_functions{
    [](const std::string& path, std::span<const io::NamedTensor> tensors, const std::vector<io::NamedValue>* values) {
      io::save_ckpt(path, tensors, values ? *values : std::vector<io::NamedValue>());
    },
    [](const std::string& path, FunctionRef<const io::HeldTensors&> use) {
      const io::Ckpt file(path);
      use({path, file.tensors()});
    }};
inline const bool ckpt_is_there = (ckpt_format = &ckpt_functions, true);

}  // namespace tenon::detail
