// What the plugins of a SummaryRecord make of tensors.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/tensor/elements_as_doubles.hpp>
#include <tenon/io/event/event.hpp>
#include <tenon/io/event/image_grid.hpp>

namespace tenon::inline TENON_ABI {

using SummaryFormat = io::EventFormat;

namespace detail {
inline constexpr const char* summary_plugins =
    "scalar image tensor histogram graph train_lineage eval_lineage dataset_graph custom_lineage_data";

/// Throws unless the plugin is `asked`, the one for such a value.
inline void check_summary_plugin(std::string_view plugin, std::string_view asked) {
  if (plugin == asked) return;
  const std::vector<std::string> known = words(summary_plugins);
  if (std::find(known.begin(), known.end(), plugin) == known.end())
    throw_error<ValueError>("SummaryRecord.add_value: there is no plugin '", plugin, "', there are ",
                            quoted_list(known), ".", did_you_mean(plugin, known));
  throw_error<TypeError>("SummaryRecord.add_value: the plugin '", plugin, "' does not take a value of '", asked, "'.");
}
/// The value that a plugin makes of a tensor. Throws ValueError for one that is none for it.
inline io::EventValue::Value summary_value(SummaryFormat format, std::string_view plugin, std::string_view name,
                                           const AnyTensor& tensor) {
  const auto refuse = [&](std::string_view wanted) {
    throw_error<ValueError>("SummaryRecord.add_value: '", name, "' is a tensor ", shape_text(tensor.shape()), ", a ",
                            plugin, " is ", wanted, ".");
  };
  if (tensor.device.kind != DeviceKind::cpu || (!tensor.data && tensor.count() > 0)) refuse("one in memory of the CPU");
  if (plugin == "scalar") {
    if (tensor.count() != 1) refuse("a number, or a tensor of one element");
    float scalar = 0;
    each_as_double(tensor, [&](double element) { scalar = static_cast<float>(element); });
    return scalar;
  }
  if (plugin == "image") {
    const io::Pixels pixels = io::image_grid(tensor);
    return io::EventImage{pixels.height, pixels.width, pixels.channels, io::encode_png(pixels)};
  }
  if (plugin != "tensor" && plugin != "histogram") check_summary_plugin(plugin, "tensor");
  if (tensor.rank == 0) refuse("a tensor of at least one axis; record a scalar");
  if (plugin == "histogram") {
    if (format == SummaryFormat::mindspore) return io::histogram_of(tensor);
    return io::without_empty_runs(io::limit_histogram_of(tensor));
  }
  io::EventTensor copy{tensor.dtype, {tensor.shape().begin(), tensor.shape().end()}, {}};
  each_as_double(tensor, [&](double element) { copy.elements.push_back(static_cast<float>(element)); });
  return copy;
}
}  // namespace detail

}  // namespace tenon
