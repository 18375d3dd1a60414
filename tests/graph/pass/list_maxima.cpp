#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "../interpreter.hpp"

using namespace graph_test;

namespace {
using ops::Add, ops::Mul, ops::Relu;

// Makes lists, and checks what that must keep.
template <int N>
Graph<N> listed(const Graph<N>& graph) {
  const Graph<N> before = fuse(graph), after = list_maxima(before);
  CHECK(in_order(after));
  CHECK(kernels_can_run(after));
  CHECK(interpret(after) == interpret(before));
  bool maxima = false;
  for (int id = 0; id < before.count; ++id) maxima |= has_maxima(before, before[id]);
  CHECK(maxima >= (find<ops::MaxPoolList>(after) >= 0));
  return after;
}

/// Windows of a user's own, under the name of another operator.
struct Windows : Operator<Windows, "MaxPoolGrad"> {
  using Config = ops::Pool2dGradAttributes;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    return ops::MaxPool2dGrad::shape(in, c, error);
  }
};

// relu(conv + bias), 3 x 3 with `size` x `size` results and `channels` of the input, a maximum over `window` after it,
// and gradients.
struct Convolution {
  Maker<24> make;
  ops::Conv2dAttributes settings;
  int x = 0, w = 0, y = 0, maximum = 0, gradient = 0;
  explicit Convolution(int channels, int size = 8, int groups = 1, int dilation = 1, bool clips = true,
                       ops::Pool2dAttributes window = {2, 2, 2, 2, 0, 0, 0, 0}, Dtype dtype = Dtype::float32) {
    const int height = size + 2 * dilation;
    x = make.input({{dyn, channels, height, height}, 4, dtype}),
    w = make.parameter({{4, channels / groups, 3, 3}, 4, dtype});
    settings.first = settings.second = size, settings.groups = groups,
    settings.dilation_h = settings.dilation_w = dilation;
    y = make.call<Relu>(
        make.call<Add>(make.call_with<ops::Conv2d>(settings, x, w), make.input({{4, 1, 1}, 3, dtype}, 1)));
    if (window.oh == 0) window.oh = window.ow = size / 2;
    maximum = make.call_with<ops::MaxPool2d>(window, y);
    make.output(maximum);
    const int dy = make.input({{dyn, 4, window.oh, window.ow}, 4, dtype}, 2);
    gradient = make.call_with<ops::MaxPool2dGrad>({window, make.graph[y].type}, make.result(maximum, 1), dy);
    if (clips) gradient = make.call<ops::ReluGrad>(y, gradient);
  }
  void add_weight() {
    settings.first = settings.second = 3;
    make.output(make.call_with<ops::Conv2dBackwardWeight>(settings, x, gradient));
  }
  void add_input() {
    settings.first = make.graph[x].type[2], settings.second = make.graph[x].type[3];
    make.output(make.call<Relu>(make.call_with<ops::Conv2dBackwardInput>(settings, w, gradient)));
  }
  void add_bias() { make.output(make.call_with<ops::SumTo>(ops::SumTo::to({{4, 1, 1}, 3, Dtype::float32}), gradient)); }
  // How many nodes there are that have to do with lists; either all that could be or none.
  int lists() {
    const Graph<24> after = listed(make.graph);
    int count = 0;
    for (int id = 0; id < after.count; ++id)
      count += is<ops::MaxPoolList>(after[id]) || is<ops::ArgmaxConv2dWeight>(after[id]) ||
               is<ops::ArgmaxConv2dInput>(after[id]) || is<ops::SumOfLists>(after[id]);
    CHECK((find<ops::MaxPool2dGrad>(after) >= 0) == (count == 0));
    return count;
  }
};
}  // namespace

TEST_CASE("list_maxima: the gradients of a convolution take a list of argmaxes if all of them can") {
  Convolution all(6);
  all.add_weight(), all.add_bias(), all.add_input();
  CHECK(all.lists() == 4);
  const Graph<24> after = listed(all.make.graph);
  CHECK(after[find<ops::ArgmaxConv2dInput>(after)].steps == 1);  // its epilogue stays
  const Node& list = after[find<ops::MaxPoolList>(after)];
  const ListForm form = unpack<ListForm>(list.attributes);
  CHECK(form.row == 10 * 8);  // six channels take eight lanes
  CHECK(form.column == 8);
  // of the convolution itself only its maxima are read
  CHECK(list.operands == 3);
  CHECK(list.operand[0] == find<ops::MaxPool2d>(after));
  CHECK(after[list.operand[1]].type.dtype == Dtype::uint8);
  Convolution only_weight(1);
  only_weight.add_weight();
  CHECK(only_weight.lists() == 2);
}

TEST_CASE("list_maxima: the sum of a list comes when the weight's gradient has left it there, and keeps its readers") {
  Convolution late(6);
  late.add_bias();
  const int sum = late.make.graph.count - 1;
  late.make.output(late.make.call<Relu>(sum));
  late.add_weight();
  CHECK(late.lists() == 3);
  const Graph<24> after = listed(late.make.graph);
  const int moved = find<ops::SumOfLists>(after);
  CHECK(find<ops::ArgmaxConv2dWeight>(after) < moved);
  CHECK(after[after.output[1]].op->id == ops::SumOfLists::id);
  CHECK(after[after.output[2]].operand[0] == moved);
  CHECK(after[after.output[3]].op->id == ops::ArgmaxConv2dWeight::id);
}

TEST_CASE("list_maxima: other windows, dtypes, and nodes between keep the whole gradient, and so does an output") {
  Convolution overlapping(6, 8, 1, 1, true, {3, 3, 2, 2, 1, 1, 4, 4}), cut(6, 7, 1, 1, true, {2, 2, 2, 2, 0, 0, 4, 4}),
      wide(6, 8, 1, 1, true, {2, 2, 2, 2, 0, 0, 0, 0}, Dtype::bfloat16), linear(6, 8, 1, 1, false), output(6), read(6),
      user(6);
  for (Convolution* c : {&overlapping, &cut, &wide, &linear, &output, &read, &user}) c->add_weight();
  output.make.output(output.gradient);
  read.make.output(read.make.call<Mul>(read.gradient, read.gradient));
  for (int id = 0; id < user.make.graph.count; ++id)
    if (is<ops::MaxPool2dGrad>(user.make.graph[id])) user.make.graph[id].op = &info<Windows>;
  for (Convolution* c : {&overlapping, &cut, &wide, &linear, &output, &read}) CHECK(c->lists() == 0);
  CHECK(find<ops::MaxPoolList>(listed(user.make.graph)) < 0);
}

TEST_CASE("list_maxima: if one reader needs the whole gradient, all of them get it") {
  Convolution only_bias(6);
  only_bias.add_bias();
  CHECK(only_bias.lists() == 0);
  Convolution few_channels(3);  // pixels of their gradient are no whole vectors
  few_channels.add_weight(), few_channels.add_input();
  CHECK(few_channels.lists() == 0);
  Convolution grouped(6, 8, 2), dilated(6, 8, 1, 2), large(64, 32);
  for (Convolution* c : {&grouped, &dilated, &large}) {
    c->add_weight();
    CHECK(c->lists() == 0);
  }
}

TEST_CASE("layout: lists of argmaxes are row-major, of maxima in blocks, too") {
  Convolution all(6);
  all.add_weight(), all.add_bias(), all.add_input();
  const Graph<24> after = listed(all.make.graph);
  const Layouts<24> layouts = choose_layouts(after);
  const int list = find<ops::MaxPoolList>(after), weight = find<ops::ArgmaxConv2dWeight>(after),
            input = find<ops::ArgmaxConv2dInput>(after);
  CHECK((layouts.kernel[list] && layouts.value[after[list].operand[0]] && layouts.value[after[list].operand[1]]));
  CHECK_FALSE(layouts.value[list]);
  CHECK_FALSE((layouts.kernel[input] || layouts.value[input]));
  CHECK(layouts.kernel[weight] == layouts.value[after[weight].operand[0]]);
  CHECK_FALSE(detail::converts(after, layouts, weight, 1));
  CHECK_FALSE(detail::converts(after, layouts, input, 1));
  for (int k = 0; k < 3; ++k) CHECK_FALSE(detail::converts(after, layouts, list, k));
}
