// load_keras_weights: the weights of a Keras model into a network whose cells compute the same.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/tensor/elements_as_doubles.hpp>
#include <tenon/io/keras.hpp>
#include <tenon/io/text/escaped_text.hpp>
#include <tenon/train/load_param_into_net.hpp>

namespace tenon::inline TENON_ABI {

/// A cell of a network, such as "block.conv", and the layer of Keras with its weights: its name, as model.summary()
/// tells it, or its group in the file: "layers/conv2d_1".
struct KerasLayer {
  std::string cell, layer;
};

namespace detail {

/// The weights of one layer of Keras in the layout of a cell's parameters.
class KerasLayerReader {
 public:
  KerasLayerReader(const io::Keras& file, const std::string& path, const std::string& cell, const std::string& layer)
      : file_(file), path_(path), cell_(cell), layer_(layer) {
    for (const io::Hdf5Label& label : file.labels())
      if (label.name == layer && label.group.ends_with("/vars"))
        add_group(label.group.substr(0, label.group.size() - 5));
    for (const char* const before : {"", "layers/", "model_weights/", "_layer_checkpoint_dependencies/"})
      if (found_.empty()) add_group(before + layer);
    if (found_.empty()) fail<KeyError>(text("is not there.", did_you_mean(layer, layer_names())));
  }
  std::span<const io::NamedTensor* const> tensors() const { return {found_.data(), found_.size()}; }

  /// The elements that a parameter takes. `hidden`: the units of a recurrent cell.
  std::vector<float> values(std::string_view parameter, const AnyTensor& to, std::int64_t hidden) {
    const bool reverse = parameter.ends_with("_reverse");
    if (reverse) parameter.remove_suffix(8);
    if (parameter.ends_with("_l0")) parameter.remove_suffix(3);
    const std::string_view way = reverse ? "backward" : "forward";
    if (parameter == "weight") return kernel(take({"kernel", "depthwise_kernel"}, 0), to);
    if (parameter == "bias") return plain(take({"bias"}, 1), to);
    if (parameter == "embedding_table") return plain(take({"embeddings"}, 0), to);
    if (parameter == "gamma") return plain(take({"gamma"}, 0), to);
    if (parameter == "beta") return plain(take({"beta"}, 1), to);
    if (parameter == "moving_mean") return plain(take({"moving_mean"}, 2), to);
    if (parameter == "moving_variance") return plain(take({"moving_variance"}, 3), to);
    if (parameter == "weight_ih") return gates(kernel(take({"kernel"}, 0, way), to), to, hidden);
    if (parameter == "weight_hh") return gates(kernel(take({"recurrent_kernel"}, 1, way), to), to, hidden);
    if (parameter == "bias_ih" || parameter == "bias_hh")
      return gates(bias(take({"bias"}, 2, way), to, parameter == "bias_hh", hidden), to, hidden);
    throw_error<ValueError>("Cannot load '", path_, "': the cell ", io::printable(cell_), " has the parameter ",
                            io::printable(parameter),
                            ", for which Keras's layers have no counterpart here. Set it from ",
                            "io::Keras(path).find(name), and give the others by load_param_into_net.");
  }
  /// Throws ValueError if the layer has weights that the cell does not.
  void check_all_taken() const {
    for (const io::NamedTensor* const tensor : found_)
      if (std::ranges::find(taken_, tensor) == taken_.end())
        fail<ValueError>(text("has a weight that the cell has not: ", io::printable(tensor->name), ", of shape ",
                              shape_text(tensor->tensor.shape()), "."));
  }

 private:
  /// `what`: the rest of the first sentence and all after it, with a stop at the end.
  template <class Error>
  [[noreturn]] void fail(const std::string& what) const {
    throw_error<Error>("Cannot load '", path_, "': the layer ", io::printable(layer_), " of Keras, for the cell ",
                       io::printable(cell_), ", ", what);
  }
  std::vector<std::string> layer_names() const {
    std::vector<std::string> names;
    for (const io::Hdf5Label& label : file_.labels())
      if (names.size() < 1000) names.push_back(label.name);
    for (const io::NamedTensor& tensor : file_.tensors()) {
      const std::size_t begin = tensor.name.starts_with("model_weights/") ? 14 : 0;
      if (names.size() < 1000) names.push_back(tensor.name.substr(begin, tensor.name.find('/', begin) - begin));
    }
    return names;
  }
  void add_group(const std::string& group) {
    std::vector<const io::NamedTensor*> there;
    for (const io::NamedTensor& tensor : file_.tensors())
      if (tensor.name.starts_with(group + "/") && tensor.name.find("/seed_generator/") == std::string::npos)
        there.push_back(&tensor);
    if (there.empty()) return;
    if (!found_.empty()) fail<ValueError>(text("is there twice. Name its group, such as ", io::printable(group), "."));
    found_ = std::move(there);
  }
  /// The weight of one of these names, as older files have them, or of this place. `way`: of a bidirectional layer.
  const AnyTensor& take(std::initializer_list<std::string_view> roles, std::size_t place, std::string_view way = "") {
    const bool has_ways = std::ranges::any_of(
        found_, [](const io::NamedTensor* tensor) { return tensor->name.find("/backward_") != std::string::npos; });
    if (way == "backward" && !has_ways) fail<ValueError>("has one direction, and the cell two.");
    for (const io::NamedTensor* const tensor : found_) {
      std::string_view name = tensor->name;
      if (has_ways && !way.empty() && name.find(text("/", way, "_")) == name.npos) continue;
      if (name.ends_with(":0")) name.remove_suffix(2);
      const std::string_view last = name.substr(name.rfind('/') + 1);
      if (std::ranges::find(roles, last) == roles.end() && !name.ends_with(text("/vars/", place))) continue;
      taken_.push_back(tensor);
      return tensor->tensor;
    }
    fail<ValueError>(text("has no ", *roles.begin(), ". Declare the cell without it, or train the layer with it."));
  }
  [[noreturn]] void fail_shape(const AnyTensor& from, const AnyTensor& to) const {
    fail<ValueError>(text("has a weight of the shape ", shape_text(from.shape()),
                          " in Keras's layout, the parameter needs ", shape_text(to.shape()), " in Tenon's."));
  }
  std::vector<float> numbers(const AnyTensor& from) const {
    if (!is_floating(from.dtype)) fail<TypeError>(text("has a weight of ", name(from.dtype), "."));
    std::vector<double> wide(std::size_t(from.count()));
    elements_as_doubles(from, 0, wide.size(), wide.data());
    return {wide.begin(), wide.end()};
  }
  std::vector<float> plain(const AnyTensor& from, const AnyTensor& to) const {
    if (!io::detail::same_shape(from, to)) fail_shape(from, to);
    return numbers(from);
  }
  /// [..., in, out] as [out, in, ...], of Conv1D as [out, in, 1, k]; of a depthwise convolution [..., in, m] as
  /// [in m, 1, ...].
  std::vector<float> kernel(const AnyTensor& from, const AnyTensor& to) const {
    if (from.rank < 2 || to.rank < 2) fail_shape(from, to);
    const std::size_t rank = std::size_t(from.rank);
    const std::int64_t in = from.extent[rank - 2], out = from.extent[rank - 1];
    const bool is_depthwise = rank > 2 && to.extent[1] == 1 && in != 1;
    std::span<const std::int64_t> window = to.shape().subspan(2);
    if (to.rank == 4 && rank == 3 && window[0] == 1) window = window.subspan(1);  // of Conv1d
    const bool fits = std::ranges::equal(from.shape().first(rank - 2), window) &&
                      (is_depthwise ? to.extent[0] == in * out : to.extent[0] == out && to.extent[1] == in);
    std::int64_t area = 1;
    for (const std::int64_t extent : window) area *= extent;
    if (!fits) fail_shape(from, to);
    const std::vector<float> source = numbers(from);
    std::vector<float> result(source.size());
    for (std::int64_t k = 0; k < area; ++k)
      for (std::int64_t i = 0; i < in; ++i)
        for (std::int64_t o = 0; o < out; ++o)
          result[std::size_t((is_depthwise ? i * out + o : o * in + i) * area + k)] =
              source[std::size_t((k * in + i) * out + o)];
    return result;
  }
  /// Keras has one bias for LSTM, and a row for each product of GRU.
  std::vector<float> bias(const AnyTensor& from, const AnyTensor& to, bool second, std::int64_t hidden) const {
    const std::vector<float> all = numbers(from);
    const std::size_t rows = std::size_t(to.count());
    if (is_gru(to, hidden) && from.rank == 1)
      fail<ValueError>("has reset_after=False, another formula than the cell's. Train it with True.");
    if (is_gru(to, hidden) && all.size() == 2 * rows)
      return {all.begin() + std::ptrdiff_t(second ? rows : 0), all.end() - std::ptrdiff_t(second ? 0 : rows)};
    if (is_gru(to, hidden) || all.size() != rows) fail_shape(from, to);
    return second ? std::vector<float>(rows) : all;
  }
  static bool is_gru(const AnyTensor& to, std::int64_t hidden) { return to.extent[0] == 3 * hidden; }
  /// GRU's gates z, r, h as r, z, h. LSTM's have one order.
  static std::vector<float> gates(std::vector<float> rows, const AnyTensor& to, std::int64_t hidden) {
    if (!is_gru(to, hidden)) return rows;
    const std::ptrdiff_t block = std::ptrdiff_t(rows.size() / 3);
    std::swap_ranges(rows.begin(), rows.begin() + block, rows.begin() + block);
    return rows;
  }

  const io::Keras& file_;
  const std::string& path_;
  const std::string &cell_, &layer_;
  std::vector<const io::NamedTensor*> found_{}, taken_{};
};

/// "block.conv" of "block.conv.weight".
inline std::string cell_of(std::string_view parameter) {
  const std::size_t dot = parameter.rfind('.');
  return std::string(dot == parameter.npos ? std::string_view() : parameter.substr(0, dot));
}
inline bool is_keras_training_state(std::string_view name) {
  for (const char* const root : {"optimizer/", "optimizer_weights/", "metrics/", "_metrics/"})
    if (name.starts_with(root)) return true;
  return name.find("/seed_generator/") != std::string_view::npos || name.starts_with("seed_generator/");
}
/// The parameters of a network with the values of the file, in `data`.
inline std::vector<io::NamedTensor> keras_parameters(const io::Keras& file, const std::string& path,
                                                     std::span<const io::NamedTensor> parameters,
                                                     std::span<const KerasLayer> layers,
                                                     std::vector<std::vector<float>>& data) {
  std::vector<io::NamedTensor> result;
  std::vector<std::string> cells;
  std::vector<const io::NamedTensor*> used;
  for (const io::NamedTensor& parameter : parameters)
    if (std::ranges::find(cells, cell_of(parameter.name)) == cells.end()) cells.push_back(cell_of(parameter.name));
  for (const KerasLayer& named : layers)
    if (std::ranges::find(cells, named.cell) == cells.end())
      throw_error<KeyError>("Cannot load '", path, "': the network has no cell ", io::printable(named.cell),
                            " with parameters.", did_you_mean(named.cell, cells));
  for (const std::string& cell : cells) {
    std::string layer = cell;
    std::ranges::replace(layer, '.', '/');
    for (const KerasLayer& named : layers)
      if (named.cell == cell) layer = named.layer;
    KerasLayerReader reader(file, path, cell, layer);
    std::int64_t hidden = -1;
    for (const auto& [name, tensor] : parameters)
      if (cell_of(name) == cell && tensor.rank == 2 && name.find("weight_hh") == (cell.empty() ? 0 : cell.size() + 1))
        hidden = tensor.extent[1];
    for (const auto& [name, tensor] : parameters) {
      if (cell_of(name) != cell) continue;
      data.push_back(reader.values(std::string_view(name).substr(name.rfind('.') + 1), tensor, hidden));
      result.push_back({name, AnyTensor(Dtype::float32, tensor.shape(), data.back().data())});
    }
    reader.check_all_taken();
    used.insert(used.end(), reader.tensors().begin(), reader.tensors().end());
  }
  for (const io::NamedTensor& tensor : file.tensors())
    if (!is_keras_training_state(tensor.name) && std::ranges::find(used, &tensor) == used.end())
      throw_error<KeyError>("Cannot load '", path, "': no cell takes ", io::printable(tensor.name),
                            ". Name the cell for its layer: load_keras_weights(path, net, {{\"cell\", \"layer\"}}).");
  return result;
}
}  // namespace detail

/// Copies the weights of a Keras model into a network, in Tenon's layout. A cell takes the layer of its own name, and
/// "block.conv" that of the group "block/conv"; `layers` names others. Nothing changes unless all fits.
///
///     load_keras_weights("model.weights.h5", net, {{"head", "dense_1"}});
///
/// layers      of Keras: Dense, Conv1D to Conv3D, DepthwiseConv2D, Conv2DTranspose, Embedding, BatchNormalization,
///             LayerNormalization, SimpleRNN, LSTM, GRU(reset_after=True), and Bidirectional of these
/// throws      what io::Keras throws; KeyError for a layer or a cell that is not there, and for weights that no cell
///             takes, an optimizer's left out; ValueError for another shape, or weights that one side lacks
/// source      Keras 3.15, Keras 2's names
template <AnyCell Net>
io::LoadReport load_keras_weights(const std::string& path, const Net& net, const std::vector<KerasLayer>& layers = {}) {
  const io::Keras file(path);
  std::vector<std::vector<float>> data;
  return load_param_into_net(net, detail::keras_parameters(file, path, named_parameters(net), layers, data),
                             {.strict = true});
}

}  // namespace tenon
