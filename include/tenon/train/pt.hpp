// With this header load_checkpoint reads PyTorch's files, too: paths that end with ".pt", ".pth", or ".bin".
#pragma once
#include <tenon/io/pt.hpp>
#include <tenon/train/checkpoint.hpp>

namespace tenon::inline TENON_ABI::detail {

inline void read_pt(const std::string& path, FunctionRef<const io::HeldTensors&> use) {
  const io::Pt file(path, "", std::uint64_t{1} << 62);
  use({path, file.tensors()});
}
inline const bool pt_is_there = (pt_format = read_pt, true);

}  // namespace tenon::detail
