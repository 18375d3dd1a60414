// ScatterND of constants, such as the mask of windows that an image was shifted in: the result is a constant, too.
#pragma once
#include "constants.hpp"

namespace importer {

/// A constant with all its elements. Weights to be trained are none unless `takes_weights`.
inline std::optional<ReadTensor> whole_constant(const NodeView& n, std::size_t k, bool takes_weights = false) {
  if (!n.has(k) || n.in(k).call >= 0 || !n.in(k).is_constant()) return std::nullopt;
  const Value& v = n.in(k);
  if (!takes_weights && v.tensor && is_weight(*v.tensor) && v.tensor->count() > 1) return std::nullopt;
  const bool is_known = v.tensor || v.reals || v.whole;
  if (is_known &&
      (!v.whole || std::all_of(v.whole->begin(), v.whole->end(), [](const Extent& e) { return e.is_number(); })))
    return tensor_of(n, n.id(k));
  const Extent count = count_of(v.shape);
  if (!v.filled || !count.is_number() || count.factor > 1l << 22) return std::nullopt;
  if (v.type != 1 && v.type != 6 && v.type != 7 && v.type != 9) return std::nullopt;
  const std::string one =
      v.type == 1 ? bytes_of(v, {}, {*v.filled}) : bytes_of(v, {Extent(v.whole_scalar())}, std::vector<double>());
  ReadTensor t{"", v.type, {}, {}};
  for (const Extent& each : v.shape) t.extents.push_back(each.factor);
  for (long i = 0; i < count.factor; ++i) t.bytes += one;
  return t;
}
/// Writes parts of a constant, each at the place that a row of numbers says. A weight stays one that is trained, such
/// as a bias of which the file hides a part. Whether the node does that.
inline bool fold_scatter(const NodeView& n) {
  if (n.node.operation != "ScatterND" || n.ids.size() != 3 || n.word("reduction", "none") != "none") return false;
  auto data = whole_constant(n, 0, true);
  const auto places = whole_constant(n, 1), parts = whole_constant(n, 2);
  if (!data || !places || !parts || places->type != 7 || parts->type != data->type) return false;
  if (places->extents.empty() || data->count() == 0) n.refuse("its numbers do not fit its tensor");
  const auto axes = std::size_t(places->extents.back()), rank = data->extents.size();
  std::vector<std::int64_t> shape(places->extents.begin(), places->extents.end() - 1);
  if (axes > rank) n.refuse("its numbers do not fit its tensor");
  shape.insert(shape.end(), data->extents.begin() + long(axes), data->extents.end());
  if (shape != parts->extents) n.refuse("its updates do not fit its numbers");
  std::size_t width = data->bytes.size() / std::size_t(data->count());  // bytes of a part
  for (std::size_t k = axes; k < rank; ++k) width *= std::size_t(data->extents[k]);
  const std::vector<double> about = elements_of(*places);
  for (std::size_t row = 0; axes && row * axes < about.size(); ++row) {
    std::size_t place = 0;
    for (std::size_t k = 0; k < axes; ++k) {
      const auto extent = std::size_t(data->extents[k]);
      place = place * extent + n.axis(whole_element(*places, row * axes + k, about[row * axes + k]), extent);
    }
    data->bytes.replace(place * width, width, parts->bytes, row * width, width);
  }
  return give_constant(n, 0, std::move(*data)), true;
}

}  // namespace importer
