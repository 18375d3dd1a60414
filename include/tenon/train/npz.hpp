// With this header save_checkpoint and load_checkpoint write and read NumPy's files, too: paths that end with ".npz".
// Compressed ones need zlib.
#pragma once
#include <tenon/io/npz.hpp>
#include <tenon/train/checkpoint.hpp>

namespace tenon::inline TENON_ABI::detail {

inline constexpr CkptFormat npz_functions{[](const std::string& path, std::span<const io::NamedTensor> tensors,
                                             const std::vector<io::NamedValue>*) { io::save_npz(path, tensors); },
                                          [](const std::string& path, FunctionRef<const io::HeldTensors&> use) {
                                            const io::Npz file(path, std::uint64_t{1} << 62);
                                            use({path, file.tensors()});
                                          }};
inline const bool npz_is_there = (npz_format = &npz_functions, true);

}  // namespace tenon::detail
