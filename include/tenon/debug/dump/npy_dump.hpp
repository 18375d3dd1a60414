// NpyDump: a dump of plain .npy files, in folders as the scopes of operators.
#pragma once
#include <string>
#include <string_view>

#include <tenon/debug/dump/dump_folder.hpp>

namespace tenon::inline TENON_ABI::debug {

/// A writer of a .npy file per tensor, below `folder`:
/// LeNet_train_0/12/Default/network-LeNet/conv1-Conv2d/Conv2D-op0.output.0.npy is the result of that operator in step
/// 12; parameters are in Parameter/conv1.weight.npy. `numpy.load` reads each; bfloat16 is written as float32.
struct NpyDump {
  std::string folder = "dump";

  std::string open(const DumpedStep& step) const { return step_folder(folder, step); }
  [[gnu::cold]] static void write(const std::string& step, const DumpedTensor& what, const AnyTensor& tensor) {
    const std::string path = what.type == "Parameter"
                                 ? text(step, "/Parameter/", what.name, ".npy")
                                 : text(step, "/", what.name, what.output ? ".output." : ".input.", what.slot, ".npy");
    make_dump_folder(io::directory_of(path));
    std::vector<float> widened;
    const std::span<const std::byte> elements = dump_npy_elements(tensor, widened);
    detail::write_dump_file(path, dump_npy_header(tensor.dtype, tensor.shape()), elements);
  }
  static void close(const std::string&) {}
};

}  // namespace tenon::debug
