// export_onnx: a network as an ONNX file, for ONNX Runtime and other programs. Needs protozero (component `protozero`).
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/onnx/writer.hpp>

namespace tenon::inline TENON_ABI {

/// Writes a network, as it evaluates, to an ONNX file: `export_onnx(net, "lenet.onnx", image)`.
///
/// net      any network; the file has its parameters, under the names that checkpoints use. One that is called like an
///          input or a result gets an underscore
/// path     ends with .onnx; a network of more than 1.9 GB has its parameters in a second file, PATH.data
/// x        what the network is called with. Only the types count: a leading extent that depends on the size of a batch
///          is the dimension `n` of the file. Inputs are called input_0, input_1, ...; results output, or output_0, ...
///          for several
/// throws   ValueError for another suffix, for an operator without a rule for ONNX, and for one that ONNX does not have
///          for a dtype, with its cell, file, and line; RuntimeError if the file cannot be written. Nothing is written
///          then
/// source   ONNX 1.12 with operators of version 17; MindSpore's export, PyTorch's torch.onnx.export
template <AnyCell Net, class... X>
[[gnu::cold]] void export_onnx(const Net& net, const std::string& path, const X&...) {
  using Graph = detail::Forward<Net, typename detail::KeyFor<X>::type...>;
  if constexpr (!Compiled<Graph>::ok) report<Compiled<Graph>>();
  else {
    if (!path.ends_with(".onnx"))
      throw_error<ValueError>("export_onnx writes a file that ends with .onnx, not ", path, ".");
    check_members(net);
    const ParameterList parameters(net);
    parameters.bind();
    const Builder graph = Graph::trace();
    onnx::Writer(graph, parameters, path, onnx::most_bytes).write(class_name<Net>());
  }
}

namespace detail {
template <class Net>
struct PathStandsSecond {
  static constexpr Sentence sentence = Sentence{}
                                       << "the arguments are in the wrong order: export_onnx(net, \"net.onnx\", x)";
};
}  // namespace detail
/// The error for arguments in PyTorch's order.
template <AnyCell Net, class X, class... Rest>
requires(!std::is_convertible_v<const X&, std::string>)
void export_onnx(const Net&, const X&, const Rest&...) {
  using Wrong = Mistake<detail::PathStandsSecond<Net>>;
  static_cast<void>(Wrong::corrected);
}

}  // namespace tenon
