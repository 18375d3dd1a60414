#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "../interpreter.hpp"

using namespace graph_test;

namespace {
using ops::Add, ops::Mul, ops::Relu, ops::Fused;

// Fuses, and checks what every fusion must keep.
template <int N>
Graph<N> fused(const Graph<N>& graph) {
  const Graph<N> after = fuse(graph);
  CHECK(in_order(after));
  CHECK(kernels_can_run(after));
  CHECK(interpret(after) == interpret(graph));
  return after;
}
}  // namespace

TEST_CASE("fuse: a chain becomes one node with its steps in order") {
  Maker<8> make;
  const int x = make.input(rows), y = make.input(rows, 1);
  make.output(make.call<Relu>(make.call<Mul>(make.call<Add>(x, y), y)));
  const Graph<8> after = fused(make.graph);
  REQUIRE(after.count == 3);
  const Node& node = after[2];
  CHECK(is<Fused>(node));
  REQUIRE(node.steps == 3);
  CHECK(node.operands == 2);
  CHECK(after.program[node.program] == Add::id);
  CHECK(after.program[node.program + 2] == Mul::id);
  CHECK(after.program[node.program + 4] == Relu::id);
  CHECK(after.output[0] == 2);
}

TEST_CASE("fuse: a value with two users or that is an output stays a node of its own") {
  for (bool output : {false, true}) {
    Maker<8> make;
    const int x = make.input(rows), shared = make.call<Relu>(x);
    const int a = make.call<Add>(shared, x);
    if (output) make.output(shared);
    make.output(output ? a : make.call<Mul>(a, shared));
    const Graph<8> after = fused(make.graph);
    CHECK(find<Relu>(after) >= 0);
    CHECK(after.count == 3);  // x, relu, one kernel
  }
}

TEST_CASE("fuse: both arms of a diamond join") {
  Maker<8> make;
  const int x = make.input(rows);
  make.output(make.call<Add>(make.call<Relu>(x), make.call<Mul>(x, x)));
  const Graph<8> after = fused(make.graph);
  REQUIRE(after.count == 2);
  CHECK(after[1].steps == 3);
  CHECK(after[1].operands == 1);
}

TEST_CASE("fuse: a product of a value with itself reads it once and does not swallow it twice") {
  Maker<8> make;
  const int x = make.input(rows), a = make.call<Relu>(x);
  make.output(make.call<Mul>(a, a));
  CHECK(fused(make.graph).count == 3);
}

TEST_CASE("fuse: a smaller operand is broadcast by the kernel, but not computed in it") {
  Maker<8> make;
  const int x = make.input(rows), bias = make.input(vector4, 1);
  make.output(make.call<Relu>(make.call<Add>(x, make.call<Mul>(bias, bias))));
  const Graph<8> after = fused(make.graph);
  REQUIRE(after.count == 4);
  CHECK(is<Mul>(after[2]));
  CHECK(after[3].steps == 2);
}

TEST_CASE("fuse: another dtype ends a chain") {
  Maker<8> make;
  const int x = make.input(rows), a = make.call<Relu>(x);
  Node to_half = make.graph[a];  // an element-wise node whose result has another dtype, as a comparison has
  to_half.operand[0] = a;
  to_half.type.dtype = Dtype::float16;
  const int h = make.add(to_half);
  make.output(make.call<Relu>(h));
  CHECK(fuse(make.graph).count == make.graph.count);
}

TEST_CASE("fuse: a kernel has at most max_operands operands") {
  Maker<32> make;
  int sum = make.input(rows);
  for (int i = 1; i < 12; ++i) sum = make.call<Add>(sum, make.input(rows, i));
  make.output(sum);
  const Graph<32> after = fused(make.graph);
  int kernels = 0, steps = 0;
  for (int id = 0; id < after.count; ++id)
    kernels += !after[id].op->leaf, steps += is<Fused>(after[id]) ? after[id].steps : !after[id].op->leaf;
  CHECK(steps == 11);
  CHECK(kernels == 3);  // 5 + 5 + 1 steps: each kernel reads 6 operands
}

TEST_CASE("fuse: a kernel has at most max_steps steps") {
  Maker<80> make;
  const int x = make.input(rows);
  int y = x;
  for (int i = 0; i < 60; ++i) y = i % 2 ? make.call<Mul>(y, x) : make.call<Relu>(y);
  make.output(y);
  const Graph<80> after = fused(make.graph);
  int steps = 0;
  for (int id = 0; id < after.count; ++id) {
    CHECK(after[id].steps <= max_steps);
    steps += after[id].op->leaf ? 0 : after[id].steps ? after[id].steps : 1;
  }
  CHECK(steps == 60);
  CHECK(after.count == 1 + 3);
}

TEST_CASE("fuse: a long chain reuses its room in the program pool") {
  Maker<400> make;
  const int x = make.input(rows);
  int y = x;
  for (int i = 0; i < 380; ++i) y = make.call<Relu>(y);
  make.output(y);
  const Graph<400> after = fused(make.graph);
  CHECK(after.program_length == 2 * 380);
  CHECK(after.count == 1 + (380 + max_steps - 1) / max_steps);
}

TEST_CASE("fuse: bias, residual, number, and relu become the epilogue of a product") {
  Maker<16> make;
  const int x = make.input(rows), w = make.input(vector4, 1), bias = make.parameter(vector4),
            residual = make.input(rows, 2), half = make.constant(0.5);
  const int product = make.call<Product>(x, w);
  const int sum = make.call<Add>(residual, make.call<Mul>(make.call<Add>(product, bias), half));
  make.output(make.call<Relu>(sum));
  const Graph<16> after = fused(make.graph);
  REQUIRE(after.count == 6);
  const Node& node = after[after.output[0]];
  CHECK(is<Product>(node));
  CHECK(node.steps == 4);
  CHECK(node.operands == 5);
  CHECK(Step::unpack(0, after.program[node.program + 1]).source[0] == 0);  // the product's own result
}

TEST_CASE("fuse: an epilogue takes operands until it has max_operands, the rest is a chain") {
  Maker<32> make;
  int y = make.call<Product>(make.input(rows), make.input(vector4, 1));
  for (int i = 0; i < 7; ++i) y = make.call<Add>(y, make.input(rows, 2 + i));
  make.output(y);
  const Graph<32> after = fused(make.graph);
  const Node& product = after[find<Product>(after)];
  CHECK(product.operands == max_operands);
  CHECK(product.steps == 4);
  CHECK(after[after.output[0]].steps == 3);
}

TEST_CASE("fuse: what has neither the shape of the product nor one value per channel is no operand of its epilogue") {
  constexpr TensorType images{{dyn, 3, 2, 3}, 4, Dtype::float32}, per_channel{{3, 1, 1}, 3, Dtype::float32},
      per_column{{3}, 1, Dtype::float32}, per_row{{2, 1}, 2, Dtype::float32};
  const auto steps_with = [&]<class Op>(Op, const TensorType& operand) {
    Maker<8> make;
    const int product = make.call<Op>(make.input(images), make.input(vector4, 1));
    make.output(make.call<Add>(product, make.input(operand, 2)));
    const Graph<8> after = fused(make.graph);
    return after[find<Op>(after)].steps;
  };
  CHECK(steps_with(ImageProduct{}, per_channel) == 1);
  CHECK(steps_with(ImageProduct{}, per_column) == 0);
  CHECK(steps_with(ImageProduct{}, per_row) == 0);
  CHECK(steps_with(ImageProduct{}, images) == 1);
  CHECK(steps_with(Product{}, per_channel) == 0);  // a stack of matrices has its channels in the last axis
  CHECK(steps_with(Product{}, per_column) == 1);
  CHECK(steps_with(Product{}, per_row) == 0);
}

TEST_CASE("fuse: a node is not moved behind a change of what it reads") {
  Maker<16> make;
  const int p = make.parameter(rows), x = make.input(rows);
  const int before = make.call<Relu>(p), product = make.call<Product>(p, x);
  make.call<Update>(p, x);
  make.output(make.call<Add>(before, x));
  make.output(make.call<Mul>(product, x));
  const Graph<16> after = fused(make.graph);
  CHECK(after.count == make.graph.count);
}

namespace {
/// Windows of a user's own, under the name of another operator.
struct Windows : Operator<Windows, "MaxPool"> {
  using Config = ops::Pool2dAttributes;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    return first_of(ops::MaxPool2d::shape(in, c, error));
  }
};

// relu(conv + bias), 3 x 3 with `height` x `width` results, and a maximum over windows behind it.
struct Pooling {
  Maker<16> make;
  int convolution = 0, result = 0;
  constexpr explicit Pooling(int height, const ops::Pool2dAttributes& window,
                             const TensorType& bias = {{4, 1, 1}, 3, Dtype::float32}, Dtype dtype = Dtype::float32,
                             int width = 6) {
    const int x = make.input({{dyn, 2, height + 2, width + 2}, 4, dtype}), w = make.parameter({{4, 2, 3, 3}, 4, dtype});
    TensorType added = bias;
    added.dtype = dtype;
    ops::Conv2dAttributes c;
    c.first = height, c.second = width;
    convolution = make.call<Relu>(make.call<Add>(make.call_with<ops::Conv2d>(c, x, w), make.input(added, 1)));
    result = make.call_with<ops::MaxPool2d>(window, convolution);
    make.output(result);
  }
  // The gradient of it, up to the ReLU's operand.
  constexpr int gradient(const ops::Pool2dAttributes& window) {
    return make.call<ops::ReluGrad>(convolution, of_maximum(window));
  }
  // The gradient of the maximum.
  constexpr int of_maximum(const ops::Pool2dAttributes& window) {
    const TensorType image = make.graph[convolution].type, maximum = make.graph[result].type;
    return make.call_with<ops::MaxPool2dGrad>({window, image}, make.result(result, 1), make.input(maximum, 2));
  }
};
}  // namespace

TEST_CASE("fuse: a maximum over windows of 2 x 2 joins the convolution before it, with its epilogue") {
  for (int height : {6, 7}) {
    const Graph<16> after = fused(Pooling(height, {2, 2, 2, 2, 0, 0, 3, 3}).make.graph);
    REQUIRE(after.count == 4);
    CHECK(is<ops::Conv2dMaxPool>(after[3]));
    CHECK(after[3].steps == 2);
    CHECK(after[3].operands == 3);
    CHECK(after[3].type == TensorType{{dyn, 4, 3, 3}, 4, Dtype::float32});
  }
}

TEST_CASE("fuse: an operator that is called MaxPool, too, is not mistaken for it") {
  Pooling other(6, {2, 2, 2, 2, 0, 0, 3, 3});
  other.make.graph[other.result].op = &info<Windows>;
  const Graph<16> after = fused(other.make.graph);
  CHECK(count_of<Windows>(after) == 1);
  CHECK(count_of<ops::Conv2d>(after) == 1);
}

TEST_CASE("fuse: other windows, dtypes, and operands keep the convolution's result, and so does a second reader") {
  // windows that overlap
  CHECK(find<ops::MaxPool2d>(fused(Pooling(6, {3, 3, 2, 2, 1, 1, 3, 3}).make.graph)) >= 0);
  // a cut one
  CHECK(find<ops::MaxPool2d>(fused(Pooling(7, {2, 2, 2, 2, 0, 0, 4, 3}).make.graph)) >= 0);
  CHECK(find<ops::MaxPool2d>(fused(Pooling(6, {2, 2, 2, 2, 0, 0, 3, 3}, {{4, 1, 1}, 3}, Dtype::bfloat16).make.graph)) >=
        0);
  // an image is added
  CHECK(find<ops::MaxPool2d>(fused(Pooling(6, {2, 2, 2, 2, 0, 0, 3, 3}, {{dyn, 4, 6, 6}, 4}).make.graph)) >= 0);
  Pooling read_twice(6, {2, 2, 2, 2, 0, 0, 3, 3});
  read_twice.make.output(read_twice.convolution);
  CHECK(find<ops::MaxPool2d>(fused(read_twice.make.graph)) >= 0);
}

TEST_CASE("fuse: where the gradient is asked for, numbers of argmaxes take the place of the convolution's result") {
  const ops::Pool2dAttributes window{2, 2, 2, 2, 0, 0, 3, 4};
  for (bool read : {false, true}) {
    Pooling pooling(6, window, {{4, 1, 1}, 3, Dtype::float32}, Dtype::float32, 8);
    pooling.make.output(pooling.gradient(window));
    if (read) pooling.make.output(pooling.convolution);
    const Graph<16> after = fused(pooling.make.graph);
    CHECK((find<ops::Conv2dMaxPoolArgmax>(after) >= 0) == !read);
    CHECK((find<ops::MaxPoolSpread>(after) >= 0) == !read);
    CHECK((find<ops::Conv2d>(after) < 0) == !read);
  }
  Pooling narrow(6, {2, 2, 2, 2, 0, 0, 3, 3});  // rows of three windows
  narrow.make.output(narrow.gradient({2, 2, 2, 2, 0, 0, 3, 3}));
  CHECK(find<ops::MaxPoolSpread>(fused(narrow.make.graph)) < 0);
  Pooling linear(6, window, {{4, 1, 1}, 3, Dtype::float32}, Dtype::float32, 8);  // a gradient that no ReLU clips
  linear.make.output(linear.of_maximum(window));
  CHECK(find<ops::MaxPoolSpread>(fused(linear.make.graph)) < 0);
}

namespace {
// The same with the gradients of the convolution and of its bias; `channels` of the input.
struct Convolution {
  Maker<24> make;
  ops::Conv2dAttributes settings;
  int x = 0, w = 0, gradient = 0;
  explicit Convolution(int channels, int size = 8, int groups = 1, int dilation = 1) {
    const int height = size + 2 * dilation;
    x = make.input({{dyn, channels, height, height}, 4, Dtype::float32}),
    w = make.parameter({{4, channels / groups, 3, 3}, 4, Dtype::float32});
    settings.first = settings.second = size, settings.groups = groups,
    settings.dilation_h = settings.dilation_w = dilation;
    const int y = make.call<Relu>(
        make.call<Add>(make.call_with<ops::Conv2d>(settings, x, w), make.input({{4, 1, 1}, 3, Dtype::float32}, 1)));
    const ops::Pool2dAttributes window{2, 2, 2, 2, 0, 0, size / 2, size / 2};
    const int maximum = make.call_with<ops::MaxPool2d>(window, y);
    make.output(maximum);
    const int dy = make.input({{dyn, 4, size / 2, size / 2}, 4, Dtype::float32}, 2);
    gradient = make.call<ops::ReluGrad>(
        y, make.call_with<ops::MaxPool2dGrad>({window, make.graph[y].type}, make.result(maximum, 1), dy));
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
    const Graph<24> after = fused(make.graph);
    const bool spread = find<ops::MaxPoolSpread>(after) >= 0;
    int count = 0;
    for (int id = 0; id < after.count; ++id)
      count += is<ops::MaxPoolList>(after[id]) || is<ops::ArgmaxConv2dWeight>(after[id]) ||
               is<ops::ArgmaxConv2dInput>(after[id]) || is<ops::SumOfLists>(after[id]);
    CHECK(spread == (count == 0));
    return count;
  }
};
}  // namespace

TEST_CASE("fuse: the gradients of a convolution take a list of argmaxes if all of them can") {
  Convolution all(6);
  all.add_weight(), all.add_bias(), all.add_input();
  CHECK(all.lists() == 4);
  const Graph<24> after = fused(all.make.graph);
  CHECK(after[find<ops::ArgmaxConv2dInput>(after)].steps == 1);  // its epilogue stays
  const ops::MaxPoolList::Config steps =
      unpack<ops::MaxPoolList::Config>(after[find<ops::MaxPoolList>(after)].attributes);
  CHECK(steps.row == 10 * 8);  // six channels take eight lanes
  CHECK(steps.column == 8);
  Convolution only_weight(1);
  only_weight.add_weight();
  CHECK(only_weight.lists() == 2);
}

TEST_CASE("fuse: the sum of a list comes when the weight's gradient has left it there, and keeps its readers") {
  Convolution late(6);
  late.add_bias();
  const int sum = late.make.graph.count - 1;
  late.make.output(late.make.call<Relu>(sum));
  late.add_weight();
  CHECK(late.lists() == 3);
  const Graph<24> after = fused(late.make.graph);
  const int moved = find<ops::SumOfLists>(after);
  CHECK(find<ops::ArgmaxConv2dWeight>(after) < moved);
  CHECK(after[after.output[1]].op->id == ops::SumOfLists::id);
  CHECK(after[after.output[2]].operand[0] == moved);
  CHECK(after[after.output[3]].op->id == ops::ArgmaxConv2dWeight::id);
}

TEST_CASE("layout: lists of argmaxes are row-major, of argmaxes in blocks, too") {
  Convolution all(6);
  all.add_weight(), all.add_bias(), all.add_input();
  const Graph<24> after = fused(all.make.graph);
  const Layouts<24> layouts = choose_layouts(after);
  const int list = find<ops::MaxPoolList>(after), weight = find<ops::ArgmaxConv2dWeight>(after),
            input = find<ops::ArgmaxConv2dInput>(after);
  CHECK((layouts.kernel[list] && layouts.value[after[list].operand[0]]));
  CHECK_FALSE(layouts.value[list]);
  CHECK_FALSE((layouts.kernel[input] || layouts.value[input]));
  CHECK(layouts.kernel[weight] == layouts.value[after[weight].operand[0]]);
  CHECK_FALSE(detail::converts(after, layouts, weight, 1));
  CHECK_FALSE(detail::converts(after, layouts, input, 1));
}

TEST_CASE("fuse: whoever needs the whole gradient gets it, and so do all others") {
  Convolution only_bias(6);
  only_bias.add_bias();
  CHECK(only_bias.lists() == 0);
  Convolution few_channels(3);  // pixels of their gradient are no whole vectors
  few_channels.add_weight(), few_channels.add_input();
  CHECK(few_channels.lists() == 0);
  Convolution grouped(6, 8, 2), dilated(6, 8, 1, 2), large(64, 32), read(6), output(6);
  grouped.add_weight(), dilated.add_weight(), large.add_weight(), read.add_weight(), output.add_weight();
  read.make.output(read.make.call<Mul>(read.gradient, read.gradient));
  output.make.output(output.gradient);
  for (Convolution* c : {&grouped, &dilated, &large, &read, &output}) CHECK(c->lists() == 0);
}
