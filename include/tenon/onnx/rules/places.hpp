// Elements by number, in order, and in windows, in ONNX.
#pragma once
#include <tenon/more.hpp>
#include <tenon/onnx/node_export.hpp>

namespace tenon::inline TENON_ABI::onnx {

namespace rules {
inline void gather_elements(NodeExport& call) {
  const int axis = normalized_axis(call.config<ops::GatherElements>().axis, call.type(0).rank);
  call.give("GatherElements", {call.input(0), call.input(1)}, {{"axis", axis}});
}
inline void scatter_elements(NodeExport& call) {
  const std::string zeros = call.make("Expand", {call.number(0, call.result().dtype), call.extents_of(call.result())});
  call.give("ScatterElements", {zeros, call.input(0), call.input(1)},
            {{"axis", call.config<ops::ScatterElements>().axis}, {"reduction", "add"}});
}
inline void update_elements(NodeExport& call) {
  const auto c = call.config<ops::UpdateElements>();
  if (c.update == 1 || c.update == 2)
    call.refuse("takes the larger or smaller element, which ScatterElements of version 17 does not");
  call.give("ScatterElements", {call.input(2), call.input(0), call.input(1)},
            {{"axis", normalized_axis(c.axis, call.type(2).rank)}, {"reduction", c.update == 3 ? "mul" : "none"}});
}
/// Equal elements keep their order in both. ONNX does not say where a NaN is.
inline void sort(NodeExport& call) {
  const auto c = call.config<ops::Sort>();
  const int axis = normalized_axis(c.axis, call.type(0).rank);
  const std::string places = call.output() + "_places";
  call.give_all("TopK", {call.input(0), call.whole_numbers({call.result()[axis]})}, {call.output(), places},
                {{"axis", axis}, {"largest", c.descending}, {"sorted", 1}});
  if (call.node().parts >> 1 & 1) call.give_as(call.output(1), "Cast", {places}, {{"to", data_type(Dtype::int32)}});
}
/// A Scan that multiplies the elements along an axis.
inline void cumprod(NodeExport& call) {
  const auto c = call.config<ops::CumProd>();
  TensorType line = call.type(0);
  const int axis = normalized_axis(c.axis, line.rank);
  for (int k = axis; k + 1 < line.rank; ++k) line.extent[k] = line[k + 1];
  --line.rank;
  const std::string name = call.output() + "/body", before = name + "/before", x = name + "/x", product = name + "/y";
  ModelMessage& message = call.message();
  message.begin_graph();
  message.add_input(before, line), message.add_input(x, line);
  message.add_node("Mul", product, {{before, x}}, {{product}}, {});
  message.add_node("Identity", name + "/result", {{c.exclusive ? before : product}}, {{name + "/result"}}, {});
  message.add_output(product, line), message.add_output(name + "/result", line);
  InnerGraph body = message.end_graph(name);
  const std::string ones = call.make("Expand", {call.number(1, line.dtype), call.extents_of(line)});
  const std::vector<std::int64_t> axes{axis}, directions{c.reverse};
  call.give_all("Scan", {ones, call.input(0)}, {call.output() + "_all", call.output()},
                {{"body", std::move(body)},
                 {"num_scan_inputs", 1},
                 {"scan_input_axes", axes},
                 {"scan_output_axes", axes},
                 {"scan_input_directions", directions},
                 {"scan_output_directions", directions}});
}
inline void reverse_sequence(NodeExport& call) {
  const std::string lengths = call.make("Cast", {call.input(1)}, {{"to", data_type(Dtype::int64)}});
  const std::string most = call.number(call.type(0)[1], Dtype::int64), least = call.number(0, Dtype::int64);
  call.give("ReverseSequence", {call.input(0), call.make("Max", {call.make("Min", {lengths, most}), least})},
            {{"batch_axis", 0}, {"time_axis", 1}});
}

inline std::string part(NodeExport& call, const std::string& x, std::int64_t axis, std::int64_t first, std::int64_t end,
                        std::int64_t step = 1) {
  return call.make("Slice", {x, call.whole_numbers({first}), call.whole_numbers({end}), call.whole_numbers({axis}),
                             call.whole_numbers({step})});
}
/// The largest elements of windows of several sizes, first along the rows, then along the columns.
inline void adaptive_max_pool(NodeExport& call) {
  const auto c = call.config<ops::AdaptiveMaxPool>();
  if (call.node().parts >> 1 & 1) call.refuse("gives the places of the elements, too");
  std::string x = call.input(0);
  for (const auto& [axis, from, to] : {std::array{2, c.h, c.oh}, std::array{3, c.w, c.ow}}) {
    std::vector<std::string> windows;
    const std::vector<std::int64_t> axes{axis};
    for (int k = 0; k < to; ++k) {
      const std::string window = part(call, x, axis, k * from / to, ((k + 1) * from + to - 1) / to);
      windows.push_back(call.make("ReduceMax", {window}, {{"axes", axes}}));
    }
    x = call.make_list("Concat", windows, {{"axis", axis}});
  }
  call.give("Identity", {x});
}
/// The elements of all windows at one place in them.
inline void im2col(NodeExport& call) {
  const auto c = call.config<ops::Im2Col>();
  const TensorType& x = call.type(0);
  const auto behind = [](int count, int stride, int kernel, int dilation, int extent, int before) {
    const int needed = (count - 1) * stride + (kernel - 1) * dilation + 1 - extent - before;
    return needed < 0 ? 0 : needed;
  };
  const int bottom = behind(c.rows, c.stride_h, c.kh, c.dilation_h, x[2], c.top),
            right = behind(c.columns, c.stride_w, c.kw, c.dilation_w, x[3], c.left);
  const std::string padded =
      call.make("Pad", {call.input(0), call.whole_numbers({0, 0, c.top, c.left, 0, 0, bottom, right})});
  std::vector<std::string> places;
  for (int i = 0; i < c.kh; ++i) {
    const int top = i * c.dilation_h;
    const std::string rows = part(call, padded, 2, top, top + (c.rows - 1) * c.stride_h + 1, c.stride_h);
    for (int k = 0; k < c.kw; ++k) {
      const int left = k * c.dilation_w;
      const std::string own = part(call, rows, 3, left, left + (c.columns - 1) * c.stride_w + 1, c.stride_w);
      places.push_back(call.make("Reshape", {own, call.whole_numbers({-1, x[1], 1, c.rows * c.columns})}));
    }
  }
  call.give("Reshape", {call.make_list("Concat", places, {{"axis", 2}}), call.shape_of(call.result())});
}
/// Each place of the windows as an image: zeros between its elements and around them. Then the sum of the images.
inline void col2im(NodeExport& call) {
  const auto c = call.config<ops::Col2Im>();
  const std::int64_t channels = call.result()[1], places = c.kh * c.kw;
  const std::string cut =
      call.make("Reshape", {call.input(0), call.whole_numbers({-1, channels, places, c.rows, c.columns})});
  std::string sum;
  for (int i = 0; i < c.kh; ++i) {
    std::string row;
    for (int k = 0; k < c.kw; ++k) {
      const std::int64_t place = i * c.kw + k, top = i * c.dilation_h - c.top, left = k * c.dilation_w - c.left;
      const std::int64_t height = std::int64_t(c.rows) * c.stride_h, width = std::int64_t(c.columns) * c.stride_w;
      std::string own = call.make("Reshape", {part(call, cut, 2, place, place + 1),
                                              call.whole_numbers({-1, channels, c.rows, 1, c.columns, 1})});
      own = call.make("Pad", {own, call.whole_numbers({0, 0, 0, 0, 0, 0, 0, 0, 0, c.stride_h - 1, 0, c.stride_w - 1})});
      own = call.make("Reshape", {own, call.whole_numbers({-1, channels, height, width})});
      own = call.make(
          "Pad", {own, call.whole_numbers({0, 0, top, left, 0, 0, c.height - top - height, c.width - left - width})});
      row = k ? call.make("Add", {row, own}) : own;
    }
    sum = i ? call.make("Add", {sum, row}) : row;
  }
  call.give("Identity", {sum});
}
}  // namespace rules

inline constexpr Rule places_rules[]{
    {operator_id<ops::AdaptiveMaxPool>, rules::adaptive_max_pool},
    {operator_id<ops::Col2Im>, rules::col2im},
    {operator_id<ops::CumProd>, rules::cumprod},
    {operator_id<ops::GatherElements>, rules::gather_elements},
    {operator_id<ops::Im2Col>, rules::im2col},
    {operator_id<ops::ReverseSequence>, rules::reverse_sequence},
    {operator_id<ops::ScatterElements>, rules::scatter_elements},
    {operator_id<ops::Sort>, rules::sort},
    {operator_id<ops::UpdateElements>, rules::update_elements},
};

}  // namespace tenon::onnx
