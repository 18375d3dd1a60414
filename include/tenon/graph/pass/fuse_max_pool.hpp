// Fusion of a convolution with max pooling after it, and of their gradients.
#pragma once
#include <tenon/core/argmax_places.hpp>
#include <tenon/graph/ir/step.hpp>
#include <tenon/graph/pass/conv_max_pool.hpp>
#include <tenon/graph/plan/buffers.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct Conv2d;
struct Conv2dBackwardInput;
struct Conv2dBackwardWeight;
struct MaxPool2d;
struct MaxPool2dGrad;
struct ReluGrad;
struct SumOfLists;
struct SumTo;
struct ArgmaxConv2dWeight;
}  // namespace ops

namespace detail {

/// The settings of a maximum over windows of 2 x 2 side by side.
constexpr ops::Pool2dAttributes halving_pool(int height, int width) {
  return {.kh = 2, .kw = 2, .stride_h = 2, .stride_w = 2, .oh = height, .ow = width};
}

/// True if the maximum over windows `pool` of node `product` can be computed with it: if that is a convolution, a pair
/// of rows at a time, and its epilogue reads numbers and values per channel only.
template <int N>
constexpr bool joins_pool(const Graph<N>& graph, const Node& pool, const Node& product) {
  if (!is<ops::MaxPool2d>(pool) || !rules_of(product.op).takes_max_pool || product.type.dtype != Dtype::float32)
    return false;
  if (unpack<ops::Pool2dAttributes>(pool.attributes) !=
      halving_pool(product.type.extent[2] / 2, product.type.extent[3] / 2))
    return false;
  for (int k = 2; k < product.operands; ++k)
    if (graph[product.operand[k]].type.same_shape(product.type)) return false;
  return true;
}
/// What a convolution and the nodes around it become.
constexpr const ConvMaxPool& joined_operators(const Node& convolution) { return *rules_of(convolution.op).max_pool; }
/// Both as one node.
constexpr Node joined_node(const Node& pool, Node product, const OperatorRules* joined) {
  product.op = joined;
  product.type = pool.type;
  product.location = pool.location, product.scope = pool.scope, product.parts = pool.parts;
  return product;
}

/// True if node `gradient` is that of the maximum over windows `pool` and of the ReLU before it, whose result is
/// `product`: all that it reads of the convolution is which element of a window won, and whether it is greater than 0.
template <int N>
constexpr bool reads_argmaxes(const Graph<N>& graph, const Node& gradient, int product, int pool) {
  if (!is<ops::MaxPool2dGrad>(gradient) || maker(graph, gradient.operand[0]) != pool || gradient.steps != 1 ||
      gradient.operand[2] != product)
    return false;
  const Step step = Step::unpack(graph.program[gradient.program], graph.program[gradient.program + 1]);
  return is<ops::ReluGrad>(step) && step.source[0] == 1 && step.source[1] == 0;
}
/// Windows in a row from which on the gradient is put in its place. In shorter ones it is added to 0, which can change
/// the sign of a zero.
inline constexpr int least_windows = 4;

/// Bytes of the image that a list's readers make of each sample: more would not stay in the cache.
inline constexpr long most_image_bytes = 40 << 10;

/// Where the pixels of `spread` stand in that image, if a convolution's gradient reads it that can do so by a list of
/// argmaxes; else nothing.
template <int N>
constexpr ArgmaxPlaces places_of(const Graph<N>& graph, const Node& reader, int spread) {
  const bool weight = is<ops::Conv2dBackwardWeight>(reader), input = is<ops::Conv2dBackwardInput>(reader);
  if ((!weight && !input) || reader.operand[1] != spread || reader.operand[0] == spread ||
      reader.type.dtype != Dtype::float32)
    return {};
  for (int k = 2; k < reader.operands; ++k)
    if (reader.operand[k] == spread) return {};
  const TensorType &kernel = weight ? reader.type : graph[reader.operand[0]].type, &y = graph[spread].type;
  const auto setting = unpack<ops::Conv2dAttributes>(reader.attributes);
  if (setting.dilation_h != 1 || setting.dilation_w != 1 || setting.groups != 1) return {};
  if (kernel[2] * kernel[3] == 1) return {};  // its sums are segments of pixels, a list has no borders of them
  const ArgmaxPlaces places = argmax_places(kernel[1], kernel[3], y[3], setting.stride_h, setting.stride_w);
  const long rows = long(y[2] - 1) * setting.stride_h + kernel[2];
  return (weight || whole_pixels(places)) && rows * places.line * long(sizeof(float)) <= most_image_bytes
             ? places
             : ArgmaxPlaces{};
}

/// Makes a list of the argmaxes' gradient `spread` if all that read it take one: the gradients of one convolution, and
/// of its bias.
template <int N>
constexpr void list_argmaxes(Graph<N>& graph, int spread, const ConvMaxPool& becomes) {
  ArgmaxPlaces places{};
  for (int k = 0; k < graph.outputs; ++k)
    if (graph.output[k] == spread) return;
  const auto reads = [&](const Node& node) {
    for (int k = 0; k < node.operands; ++k)
      if (node.operand[k] == spread) return true;
    return false;
  };
  for (int id = spread + 1; id < graph.count; ++id) {
    const Node& node = graph[id];
    if (!reads(node)) continue;
    if (is<ops::SumTo>(node) && rules_of(node.op).fits_nchw16n(node.type, &graph[spread].type, 1)) continue;
    const ArgmaxPlaces own = places_of(graph, node, spread);
    if (own.column == 0 ||
        (places.column != 0 && (own.row != places.row || own.column != places.column || own.split != places.split)))
      return;
    places = own;
  }
  if (places.column == 0) return;
  graph[spread].op = becomes.list;
  graph[spread].attributes = pack(ops::ArgmaxListAttributes{places.row, places.column, places.split});
  for (int id = spread + 1; id < graph.count; ++id)
    if (Node& node = graph[id]; reads(node))
      node.op = is<ops::SumTo>(node)                  ? becomes.sum_of_list
                : is<ops::Conv2dBackwardWeight>(node) ? becomes.weight_from_list
                                                      : becomes.input_from_list;
}

/// Joins the maximum over windows, node `pool`, to the convolution whose result the gradient reads, too: the places of
/// the maxima become numbers of argmaxes, and nothing reads the result any more. False if that cannot be done.
template <int N>
constexpr bool keep_argmaxes(Graph<N>& graph, int pool) {
  const int product = graph[pool].operand[0];
  const Node maximum = graph[pool];
  const ConvMaxPool& becomes = joined_operators(graph[product]);
  if (maximum.type.extent[3] < least_windows || graph[product].operands == max_operands) return false;
  int gradient = -1;
  for (int id = pool + 1; id < graph.count && gradient < 0; ++id)
    if (reads_argmaxes(graph, graph[id], product, pool)) gradient = id;
  if (gradient < 0) return false;
  graph[pool] = joined_node(maximum, graph[product], becomes.joined_with_argmax);
  Node& spread = graph[gradient];
  graph[spread.operand[0]].type = maximum.type;
  spread.op = becomes.spread, spread.operands = 2, spread.steps = 0, spread.attributes = {};
  list_argmaxes(graph, gradient, becomes);
  return true;
}

/// Puts gradients of weights before the sums of the same lists, which find there what those add up anyway
/// (backend/cpu/pool/argmax_lists.hpp).
template <int N>
constexpr void sum_lists_late(Graph<N>& graph) {
  for (int sum = 0; sum < graph.count; ++sum) {
    if (!is<ops::SumOfLists>(graph[sum])) continue;
    int from = sum + 1;
    while (from < graph.count &&
           !(is<ops::ArgmaxConv2dWeight>(graph[from]) && graph[from].operand[1] == graph[sum].operand[0]))
      ++from;
    if (from == graph.count) continue;
    const Node node = graph[from];
    bool moves = true;
    for (int k = 0; k < node.operands; ++k) moves &= node.operand[k] < sum;
    if (!moves) continue;
    for (int id = from; id > sum; --id) graph[id] = graph[id - 1];
    graph[sum] = node;
    const auto move = [&](int& id) { id = id == from ? sum : id >= sum && id < from ? id + 1 : id; };
    for (int id = sum + 1; id < graph.count; ++id)
      for (int k = 0; k < graph[id].operands; ++k) move(graph[id].operand[k]);
    for (int k = 0; k < graph.outputs; ++k) move(graph.output[k]);
    ++sum;
  }
}

}  // namespace detail
}  // namespace tenon
