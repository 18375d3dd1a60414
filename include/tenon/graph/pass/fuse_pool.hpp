// Fusion of a convolution with the maximum over windows behind it.
#pragma once
#include <tenon/core/winner_places.hpp>
#include <tenon/graph/buffers.hpp>
#include <tenon/graph/step.hpp>

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
struct WinnerConv2dWeight;
}  // namespace ops

namespace detail {

/// The settings of a maximum over windows of 2 x 2 side by side: in the order of ops::Pool2dAttributes.
constexpr Attributes halving_pool(int height, int width) { return {{2, 2, 2, 2, 0, 0, height, width}}; }

/// True if the maximum over windows `pool` of node `product` can be computed with it: if that is a convolution, a pair
/// of rows at a time, and its epilogue reads numbers and values per channel only.
template <int N>
constexpr bool joins_pool(const Graph<N>& graph, const Node& pool, const Node& product) {
  if (!is<ops::MaxPool2d>(pool) || !is<ops::Conv2d>(product) || product.type.dtype != Dtype::float32) return false;
  if (pool.attributes != halving_pool(product.type.extent[2] / 2, product.type.extent[3] / 2)) return false;
  for (int k = 2; k < product.operands; ++k)
    if (graph[product.operand[k]].type.same_shape(product.type)) return false;
  return true;
}
/// Both as one node, if nothing else reads the convolution.
constexpr Node with_pool(const Node& pool, Node product) {
  product.op = rules_of(product.op).with_pool;
  product.type = pool.type;
  product.location = pool.location, product.scope = pool.scope;
  return product;
}

/// True if node `gradient` is that of a maximum over windows of `product` and of the ReLU between: all that it reads of
/// the convolution is which element of a window won, and whether it is greater than 0.
template <int N>
constexpr bool reads_winners(const Graph<N>& graph, const Node& gradient, int product, const Attributes& window) {
  if (!is<ops::MaxPool2dGrad>(gradient) || gradient.operand[0] != product || gradient.attributes != window ||
      gradient.steps != 1 || gradient.operand[2] != product)
    return false;
  const Step step = Step::unpack(graph.program[gradient.program], graph.program[gradient.program + 1]);
  return step.op == operator_id<ops::ReluGrad> && step.source[0] == 1 && step.source[1] == 0;
}
/// Windows in a row from which on the gradient is put in its place. In shorter ones it is added to 0, which can change
/// the sign of a zero.
inline constexpr int least_windows = 4;

/// Bytes of the image that a list's readers make of each sample: more would not stay in the cache.
inline constexpr long most_image_bytes = 40 << 10;

/// Where the pixels of `spread` stand in that image, if a convolution's gradient reads it that can do so by a list of
/// winners; else nothing.
template <int N>
constexpr WinnerPlaces places_of(const Graph<N>& graph, const Node& reader, int spread) {
  const bool weight = is<ops::Conv2dBackwardWeight>(reader), input = is<ops::Conv2dBackwardInput>(reader);
  if ((!weight && !input) || reader.operand[1] != spread || reader.operand[0] == spread ||
      reader.type.dtype != Dtype::float32)
    return {};
  for (int k = 2; k < reader.operands; ++k)
    if (reader.operand[k] == spread) return {};
  const TensorType &kernel = weight ? reader.type : graph[reader.operand[0]].type, &y = graph[spread].type;
  const int* const setting = reader.attributes.word;  // in the order of ops::Conv2dAttributes
  if (setting[4] != 1 || setting[5] != 1 || setting[6] != 1) return {};
  if (kernel[2] * kernel[3] == 1) return {};  // its sums are segments of pixels, a list has no borders of them
  const WinnerPlaces places = winner_places(kernel[1], kernel[3], y[3], setting[0], setting[1]);
  const long rows = long(y[2] - 1) * setting[0] + kernel[2];
  return (weight || whole_pixels(places)) && rows * places.line * long(sizeof(float)) <= most_image_bytes
             ? places
             : WinnerPlaces{};
}

/// Makes a list of the winners' gradient `spread` if all that read it take one: the gradients of one convolution, and
/// of its bias.
template <int N>
constexpr void list_winners(Graph<N>& graph, int spread) {
  WinnerPlaces places{};
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
    if (is<ops::SumTo>(node) && rules_of(node.op).fits_blocks(node.type, &graph[spread].type, 1)) continue;
    const WinnerPlaces own = places_of(graph, node, spread);
    if (own.column == 0 ||
        (places.column != 0 && (own.row != places.row || own.column != places.column || own.split != places.split)))
      return;
    places = own;
  }
  if (places.column == 0) return;
  for (int id = spread; id < graph.count; ++id)
    if (Node& node = graph[id]; id == spread || reads(node)) node.op = rules_of(node.op).with_pool;
  graph[spread].attributes = {{places.row, places.column, places.split}};
}

/// Joins the maximum over windows, node `pool`, to the convolution whose result the gradient reads, too: in place of
/// the result there will be room for the winners' numbers.
template <int N>
constexpr void keep_winners(Graph<N>& graph, int pool) {
  const int product = graph[pool].operand[0];
  Node joined = graph[product], &maximum = graph[pool];
  if (maximum.type.extent[3] < least_windows || joined.operands == max_operands) return;
  int gradient = -1;
  for (int id = pool + 1; id < graph.count && gradient < 0; ++id)
    if (reads_winners(graph, graph[id], product, maximum.attributes)) gradient = id;
  if (gradient < 0) return;
  for (int k = joined.operands++; k > 2; --k) joined.operand[k] = joined.operand[k - 1];
  joined.operand[2] = product;
  joined = with_pool(maximum, with_pool(maximum, joined));
  Node room = maximum;
  room.op = rules_of(maximum.op).with_pool, room.operands = 0, room.attributes = {};
  Node& spread = graph[gradient];
  spread.op = rules_of(spread.op).with_pool, spread.operands = 2, spread.steps = 0, spread.attributes = {};
  graph[product] = room, graph[pool] = joined;
  list_winners(graph, gradient);
}

/// Puts gradients of weights in front of the sums of the same lists, which find there what those add up anyway
/// (kernel/cpu/winner_lists.hpp).
template <int N>
constexpr void sum_lists_late(Graph<N>& graph) {
  for (int sum = 0; sum < graph.count; ++sum) {
    if (!is<ops::SumOfLists>(graph[sum])) continue;
    int from = sum + 1;
    while (from < graph.count &&
           !(is<ops::WinnerConv2dWeight>(graph[from]) && graph[from].operand[1] == graph[sum].operand[0]))
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
