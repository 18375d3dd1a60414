// Operators that move elements in ONNX: views, parts, joins, look-ups, constants of a shape.
#pragma once
#include <tenon/more.hpp>
#include <tenon/onnx/node_export.hpp>

namespace tenon::inline TENON_ABI::onnx {

namespace rules {
inline void reshape(NodeExport& call) { call.give("Reshape", {call.input(0), call.shape_of(call.result())}); }
inline void transpose(NodeExport& call) {
  const auto c = call.config<ops::Transpose>();
  std::vector<std::int64_t> order;
  for (int k = 0; k < c.axes; ++k) order.push_back(normalized_axis(c.order[k], c.axes));
  call.give("Transpose", {call.input(0)}, {{"perm", order}});
}
inline void slice(NodeExport& call) {
  const auto c = call.config<ops::Slice>();
  std::vector<std::int64_t> first, end, axes, steps;
  for (int k = 0; k < ops::SliceWindow::axes; ++k) {
    const int axis = c.axis(k);
    if (axis < 0 || axis >= call.type(0).rank || c.part[k] < 0) continue;  // all of n
    const std::int64_t last = c.first[k] + std::int64_t(c.part[k] - 1) * c.step[k], behind = last + c.step[k];
    first.push_back(c.first[k]), axes.push_back(axis), steps.push_back(c.step[k]);
    end.push_back(behind < 0 ? -std::int64_t(call.type(0)[axis]) - 1 : behind);  // below 0 counts from the end
  }
  if (axes.empty()) return call.give("Identity", {call.input(0)});
  call.give("Slice", {call.input(0), call.whole_numbers(first), call.whole_numbers(end), call.whole_numbers(axes),
                      call.whole_numbers(steps)});
}
inline void split(NodeExport& call) {
  const ops::SliceWindow w = ops::Split::window(call.config<ops::Split>(), call.type(0));
  const int last = ops::SliceWindow::axes - 1, axis = w.axis(last);
  call.give("Slice", {call.input(0), call.whole_numbers({w.first[last]}),
                      call.whole_numbers({w.first[last] + call.result()[axis]}), call.whole_numbers({axis})});
}
inline void concat(NodeExport& call) {
  std::vector<std::string> inputs;
  for (int k = 0; k < call.operands(); ++k) inputs.push_back(call.input(k));
  const int axis = normalized_axis(call.config<ops::Concat>().axis, call.result().rank);
  call.give_list("Concat", inputs, {{"axis", axis}});
}
inline void pad(NodeExport& call) {
  const auto c = call.config<ops::Pad>();
  const int rank = call.type(0).rank;
  std::vector<std::int64_t> margins(std::size_t(2 * rank));
  for (int k = 0; k < ops::SliceWindow::axes; ++k)
    if (const int axis = c.axis(k); axis >= 0 && axis < rank)
      margins[std::size_t(axis)] = c.before[k], margins[std::size_t(rank + axis)] = c.after[k];
  call.give("Pad", {call.input(0), call.whole_numbers(margins), call.immediate()});
}
inline void one_hot(NodeExport& call) {
  const auto c = call.config<ops::OneHot>();
  const std::string values =
      call.make("Concat",
                {call.make("Reshape", {call.number(double(c.off), c.dtype), call.whole_numbers({1})}),
                 call.make("Reshape", {call.number(double(c.on), c.dtype), call.whole_numbers({1})})},
                {{"axis", 0}});
  call.give("OneHot", {call.input(0), call.number(c.depth, call.type(0).dtype), values});
}
inline void full_like(NodeExport& call) {
  const std::string wanted = call.make("Shape", {call.input(0)});
  call.give("Expand", {call.immediate(), wanted});
}
inline void arange(NodeExport& call) {
  const auto c = call.config<ops::Arange>();
  call.give("Range", {call.number(c.start, c.dtype), call.number(c.start + double(c.count) * c.step, c.dtype),
                      call.number(c.step, c.dtype)});
}
inline void triangle(NodeExport& call) {
  const auto c = call.config<ops::Triangle>();
  const Dtype dtype = call.type(0).dtype;
  std::string mask;  // where x is kept
  const TensorType& x = call.type(0);
  for (int row = 0; row < x[x.rank - 2]; ++row)
    for (int column = 0; column < x.last(); ++column)
      mask += char(c.upper ? column - row >= c.diagonal : column - row <= c.diagonal);
  const std::string kept = call.constant(Dtype::bool_, {x[x.rank - 2], x.last()}, mask);
  call.give("Where", {kept, call.input(0), call.number(double(c.value), dtype)});
}
}  // namespace rules

inline constexpr Rule movement_rules[]{
    {operator_id<ops::Arange>, rules::arange},
    {operator_id<ops::BroadcastTo>,
     [](NodeExport& call) { call.give("Expand", {call.input(0), call.extents_of(call.result())}); }},
    {operator_id<ops::Concat>, rules::concat},
    {operator_id<ops::Full>,
     [](NodeExport& call) { call.give("Expand", {call.immediate(), call.extents_of(call.result())}); }},
    {operator_id<ops::FullLike>, rules::full_like},
    {operator_id<ops::Gather>,
     [](NodeExport& call) { call.give("Gather", {call.input(0), call.input(1)}, {{"axis", 0}}); }},
    {operator_id<ops::Identity>, [](NodeExport& call) { call.give("Identity", {call.input(0)}); }},
    {operator_id<ops::OneHot>, rules::one_hot},
    {operator_id<ops::Pad>, rules::pad},
    {operator_id<ops::Reshape>, rules::reshape},
    {operator_id<ops::Slice>, rules::slice},
    {operator_id<ops::Split>, rules::split},
    {operator_id<ops::StopGradient>, [](NodeExport& call) { call.give("Identity", {call.input(0)}); }},
    {operator_id<ops::Transpose>, rules::transpose},
    {operator_id<ops::Triangle>, rules::triangle},
};

}  // namespace tenon::onnx
