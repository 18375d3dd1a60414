// flags: -O0
// Special values through every operator, forward and backward, against PyTorch (special_values.txt, written by
// special_values.py): equal but for the differences that docs/special_values.md lists with their reasons, of which each
// must be met. Graph mode against PyNative mode on the same values.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "special_values.hpp"

#include <tenon/more.hpp>

using namespace special_values;

namespace {

void unary() {
  run<V>("abs", [](const auto& x) { return abs(x); });
  run<V>("exp", [](const auto& x) { return exp(x); });
  run<V>("gelu", [](const auto& x) { return gelu(x); });
  run<V>("gelu.erf", [](const auto& x) { return gelu<ops::GeluForm::erf>(x); });
  run<V>("log", [](const auto& x) { return log(x); });
  run<V>("neg", [](const auto& x) { return neg(x); });
  run<V>("relu", [](const auto& x) { return relu(x); });
  run<V>("rsqrt", [](const auto& x) { return rsqrt(x); });
  run<V>("sigmoid", [](const auto& x) { return sigmoid(x); });
  run<V>("silu", [](const auto& x) { return silu(x); });
  run<V>("softplus", [](const auto& x) { return softplus(x); });
  run<V>("sqrt", [](const auto& x) { return sqrt(x); });
  run<V>("square", [](const auto& x) { return square(x); });
  run<V>("tanh", [](const auto& x) { return tanh(x); });
  run<V>("full_like", [](const auto& x) { return ones_like(x); });
  run<Tensor<float16, Shape<dyn>>>("relu.float16", [](const auto& x) { return relu(x); });
  run<Tensor<bfloat16, Shape<dyn>>>("relu.bfloat16", [](const auto& x) { return relu(x); });
  run<I>("abs.int32", [](const auto& x) { return abs(x); });
  run<I>("neg.int32", [](const auto& x) { return neg(x); });
  run<I>("square.int32", [](const auto& x) { return square(x); });
  run<I>("relu.int32", [](const auto& x) { return relu(x); });
  run<B>("logical.not", [](const auto& x) { return logical_not(x); });
  run<V>("dropout", [](const auto& x) { return dropout(x, Tensor<float, Shape<>>::full(0)); });
  run<V>("dropout.all", [](const auto& x) { return dropout(x, Tensor<float, Shape<>>::full(0x1.fffffep-1f)); });
}

void binary() {
  run<V, V>("add", [](const auto& a, const auto& b) { return add(a, b); });
  run<V, V>("sub", [](const auto& a, const auto& b) { return sub(a, b); });
  run<V, V>("mul", [](const auto& a, const auto& b) { return mul(a, b); });
  run<V, V>("div", [](const auto& a, const auto& b) { return div(a, b); });
  run<V, V>("maximum", [](const auto& a, const auto& b) { return maximum(a, b); });
  run<V, V>("minimum", [](const auto& a, const auto& b) { return minimum(a, b); });
  run<V, V>("pow", [](const auto& a, const auto& b) { return pow(a, b); });
  run<V, V>("floor_div", [](const auto& a, const auto& b) { return floor_div(a, b); });
  run<V, V>("compare.equal", [](const auto& a, const auto& b) { return equal(a, b); });
  run<V, V>("compare.not_equal", [](const auto& a, const auto& b) { return not_equal(a, b); });
  run<V, V>("compare.less", [](const auto& a, const auto& b) { return less(a, b); });
  run<V, V>("compare.less_equal", [](const auto& a, const auto& b) { return less_equal(a, b); });
  run<V, V>("compare.greater", [](const auto& a, const auto& b) { return greater(a, b); });
  run<V, V>("compare.greater_equal", [](const auto& a, const auto& b) { return greater_equal(a, b); });
  run<I, I>("add.int32", [](const auto& a, const auto& b) { return add(a, b); });
  run<I, I>("sub.int32", [](const auto& a, const auto& b) { return sub(a, b); });
  run<I, I>("mul.int32", [](const auto& a, const auto& b) { return mul(a, b); });
  run<I, I>("maximum.int32", [](const auto& a, const auto& b) { return maximum(a, b); });
  run<I, I>("minimum.int32", [](const auto& a, const auto& b) { return minimum(a, b); });
  for (const char* name : {"floor_div.int32", "floor_div.zero"})
    run<I, I>(name, [](const auto& a, const auto& b) { return floor_div(a, b); });
  run<B, B>("logical.and", [](const auto& a, const auto& b) { return logical_and(a, b); });
  run<B, B>("logical.or", [](const auto& a, const auto& b) { return logical_or(a, b); });
  run<B, B>("logical.xor", [](const auto& a, const auto& b) { return logical_xor(a, b); });
  run<B, V, V>("select", [](const auto& c, const auto& a, const auto& b) { return select(c, a, b); });
  run<V>("cast.int32", [](const auto& x) { return ops::cast<std::int32_t>(x); });
  run<V>("cast.bool", [](const auto& x) { return ops::cast<bool>(x); });
  run<V>("cast.float16", [](const auto& x) { return ops::cast<float16>(x); });
  run<V>("cast.bfloat16", [](const auto& x) { return ops::cast<bfloat16>(x); });
}

void along_axes() {
  run<Rows>("softmax", [](const auto& x) { return softmax(x); });
  run<Rows>("softmax.axis0", [](const auto& x) { return ops::softmax<0>(x); });
  run<Floats<4, 1>>("softmax.one", [](const auto& x) { return softmax(x); });
  run<Rows>("log_softmax", [](const auto& x) { return log_softmax(x); });
  run<Rows>("log_softmax.axis0", [](const auto& x) { return ops::log_softmax<0>(x); });
  run<Floats<4, 1>>("log_softmax.one", [](const auto& x) { return log_softmax(x); });
  run<Rows, Tensor<std::int64_t, Shape<12>>>("softmax_cross_entropy",
                                             [](const auto& x, const auto& t) { return softmax_cross_entropy(x, t); });
  run<Floats<4, 4>>("softmax_cross_entropy.shares",
                    [](const auto& x) { return softmax_cross_entropy(x, Floats<4, 4>::full(0.25f)); });
  run<Rows>("reduce_sum.axis0", [](const auto& x) { return ops::reduce_sum<0>(x); });
  run<Rows>("reduce_sum.axis1", [](const auto& x) { return ops::reduce_sum<1>(x); });
  run<Rows>("reduce_mean", [](const auto& x) { return ops::reduce_mean<1>(x); });
  run<Rows>("reduce_prod", [](const auto& x) { return ops::reduce_prod<1>(x); });
  run<Rows>("reduce_max.axis0", [](const auto& x) { return ops::reduce_max<0>(x); });
  run<Rows>("reduce_max.axis1", [](const auto& x) { return ops::reduce_max<1>(x); });
  run<Rows>("reduce_min.axis0", [](const auto& x) { return ops::reduce_min<0>(x); });
  run<Rows>("reduce_min.axis1", [](const auto& x) { return ops::reduce_min<1>(x); });
  run<Rows>("sort.axis0", [](const auto& x) { return std::get<0>(sort<0>(x)); });
  run<Rows>("sort.axis1", [](const auto& x) { return std::get<0>(sort<1>(x)); });
  run<Rows>("sort.places0", [](const auto& x) { return argsort<0, true>(x); });
  run<Rows>("sort.places1", [](const auto& x) { return argsort<1, true>(x); });
  run<Rows>("cumsum", [](const auto& x) { return cumsum<1>(x); });
  run<Floats<dyn, 4>>("cumprod", [](const auto& x) { return cumprod<1>(x); });
  run<Rows>("argmax.axis0", [](const auto& x) { return ops::argmax<0>(x); });
  run<Rows>("argmax.axis1", [](const auto& x) { return ops::argmax<1>(x); });
  run<Rows>("argmin.axis0", [](const auto& x) { return ops::argmin<0>(x); });
  run<Rows>("argmin.axis1", [](const auto& x) { return ops::argmin<1>(x); });
  using Empty = Floats<dyn, 3>;
  run<Empty>("reduce_sum.empty", [](const auto& x) { return reduce_sum(x); });
  run<Empty>("reduce_mean.empty", [](const auto& x) { return reduce_mean(x); });
  run<Empty>("reduce_prod.empty", [](const auto& x) { return reduce_prod(x); });
  run<Empty>("reduce_max.empty", [](const auto& x) { return reduce_max(x); });
  run<I>("reduce_sum.int32", [](const auto& x) { return reduce_sum(x); });
  run<I>("reduce_max.int32", [](const auto& x) { return reduce_max(x); });
  run<I>("reduce_min.int32", [](const auto& x) { return reduce_min(x); });
  using G = Floats<4>;
  run<Rows, G, G>("layer_norm", [](const auto& x, const auto& gamma, const auto& beta) {
    return ops::layer_norm<ops::LayerNormAttributes{.epsilon = 1e-5f}>(x, gamma, beta);
  });
  run<Floats<3, 4>, G, G>("batch_norm", [](const auto& x, const auto& gamma, const auto& beta) {
    constexpr ops::BatchNormAttributes attributes{1e-5f, 2};
    return apply<ops::BatchNorm, attributes>({}, x, apply<ops::BatchNormStatistics, attributes>({}, x), gamma, beta);
  });
}

constexpr Pool2dOptions overlapping{.kernel = 3, .stride = 2, .pad_mode = PadMode::pad, .padding = 1};

void images() {
  using Image = Floats<1, 1, 6, 6>;
  run<Image>("pool2d.max2", [](const auto& x) { return ops::max_pool2d<2>(x); });
  run<Image>("pool2d.max3", [](const auto& x) { return ops::max_pool2d<overlapping>(x); });
  run<Image>("pool2d.avg2", [](const auto& x) { return ops::avg_pool2d<2>(x); });
  run<Floats<1, 1, 6, 18>>("pool2d.max2.wide", [](const auto& x) { return ops::max_pool2d<2>(x); });
  run<Image, Floats<1, 1, 3, 3>>("conv2d", [](const auto& x, const auto& w) {
    return ops::conv2d<Conv2dOptions{.pad_mode = PadMode::valid}>(x, w);
  });
  run<Floats<1, 1, 4, 4>, Floats<1, 1, 3, 3>>("conv2d.weight", [](const auto& x, const auto& w) {
    return ops::conv2d<Conv2dOptions{.pad_mode = PadMode::pad, .padding = 1}>(x, w);
  });
  run<Rows>("pad", [](const auto& x) { return ops::pad<Margin{}, Margin{1, 2}>(x); });
  run<Floats<dyn, 4>, Floats<4, 2>>("matmul", [](const auto& a, const auto& b) { return matmul(a, b); });
  run<Floats<dyn, 4>, Floats<4, 2>>("matmul.empty", [](const auto& a, const auto& b) { return matmul(a, b); });
  using Heads = Floats<2, 3, 2>;
  run<Heads, Heads, Heads>("attention", [](const auto& q, const auto& k, const auto& v) { return attention(q, k, v); });
  run<Floats<3, 1, 2>, Floats<4, 2>, Floats<4, 1>>(
      "lstm", [](const auto& x, const auto& w, const auto& r) { return std::get<0>(lstm(x, w, r)); });
}

void movement() {
  run<Rows>("reshape", [](const auto& x) { return ops::reshape<Shape<4, 12>>(x); });
  run<Rows>("transpose", [](const auto& x) { return transpose(x); });
  run<Rows>("slice", [](const auto& x) { return ops::slice<Part{}, Part{1, 3}>(x); });
  run<Rows>("split", [](const auto& x) { return ops::split<1, 2>(x)[1]; });
  run<Rows, Rows>("concat", [](const auto& a, const auto& b) { return ops::concat<1>(a, b); });
  run<Floats<9>>("broadcast_to", [](const auto& x) { return ops::broadcast_to<Shape<3, 9>>(x); });
  run<Rows, Floats<4>>("sum_to", [](const auto& a, const auto& b) { return a + b; });
  run<Rows>("triangle", [](const auto& x) { return ops::tril(x); });
  run<Rows, L>("gather", [](const auto& table, const auto& numbers) { return gather(table, numbers); });
  run<Rows, Tensor<std::int64_t, Shape<12, 2>>>(
      "gather_elements", [](const auto& x, const auto& numbers) { return gather_elements<1>(x, numbers); });
  run<Rows, L>("gather.outside", [](const auto& table, const auto& numbers) { return gather(table, numbers); });
  run<L>("one_hot", [](const auto& numbers) { return ops::one_hot<4>(numbers); });
  run<L>("one_hot.outside", [](const auto& numbers) { return ops::one_hot<4>(numbers); });
}

/// The headers of ops/ops.hpp and ops/more.hpp, without the ending.
std::set<std::string> operators() {
  std::set<std::string> names;
  const std::string begin = "#include <tenon/ops/";
  for (const char* list : {"ops.hpp", "more.hpp"}) {
    std::ifstream file(here() / "../../include/tenon/ops" / list);
    REQUIRE(file);
    for (std::string line; std::getline(file, line);)
      if (line.starts_with(begin)) names.insert(line.substr(begin.size(), line.find('.') - begin.size()));
  }
  return names;
}
}  // namespace

TEST_CASE("special values: what PyTorch gives, but for the differences of docs/special_values.md") {
  unary();
  binary();
  along_axes();
  images();
  movement();
  for (const auto run_group : Group::all()) run_group();
  for (const auto& [row, places] : report().unknown) FAIL_CHECK("not in docs/special_values.md: ", row, " at ", places);
  for (const Difference& d : report().page.differences) {
    CAPTURE(d.name);
    CAPTURE(d.tensor);
    CAPTURE(d.at);
    CHECK_MESSAGE(d.met, "a row of docs/special_values.md is not met");
  }
  for (const auto& [name, golden] : report().cases) {
    CAPTURE(name);
    CHECK_MESSAGE(report().ran.contains(name), "a case of special_values.txt was not run");
  }
  std::set<std::string> covered = report().page.without_case;
  for (const std::string& name : report().ran) covered.insert(name.substr(0, name.find('.')));
  for (const std::string& name : operators()) {
    CAPTURE(name);
    CHECK_MESSAGE(covered.contains(name), "ops/ has a header without a case, and docs/special_values.md no reason");
  }
}

namespace {
template <std::size_t count>
Tensor<float, Shape<int(count), 12>> each_row(const std::array<float, 12>& row) {
  auto x = Tensor<float, Shape<int(count), 12>>::empty(1);
  for (std::size_t i = 0; i < count * 12; ++i) x.data()[i] = row[i % 12];
  return x;
}
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN(),
                infinity = std::numeric_limits<float>::infinity(), largest = std::numeric_limits<float>::max();
constexpr std::array<float, 12> specials{not_a_number, infinity, -infinity, 0.0f,  -0.0f, 1.0f,
                                         -1.0f,        largest,  -largest,  30.0f, 0.5f,  -100.0f};
template <int row>
constexpr auto at(const auto& x) {
  return ops::slice<0, Part{row, row + 1}>(x);
}
}  // namespace

TEST_CASE("special values: graph mode gives the numbers of PyNative mode, forward and backward") {
  both_modes<SameNumbers>(
      [](const auto& x) {
        return ops::concat<0>(ops::concat<0>(abs(at<0>(x)), exp(at<1>(x)), gelu(at<2>(x)),
                                             gelu<ops::GeluForm::erf>(at<3>(x)), log(at<4>(x)), relu(at<5>(x))),
                              ops::concat<0>(rsqrt(at<6>(x)), sigmoid(at<7>(x)), silu(at<8>(x)), softplus(at<9>(x)),
                                             sqrt(at<10>(x)), tanh(at<11>(x))),
                              softmax(at<12>(x)), log_softmax(at<13>(x)),
                              ops::broadcast_to<Shape<1, 12>>(reduce_max(at<14>(x))),
                              ops::broadcast_to<Shape<1, 12>>(reduce_min(at<15>(x))));
      },
      each_row<16>(specials));
  auto a = Tensor<float, Shape<12, 12>>::empty(1), b = Tensor<float, Shape<12, 12>>::empty(1);
  for (std::size_t i = 0; i < 144; ++i) a.data()[i] = specials[i / 12], b.data()[i] = specials[i % 12];
  both_modes<SameNumbers>(
      [](const auto& x, const auto& y) {
        return ops::concat<0>(maximum(x, y), minimum(x, y), x * y, x / y, pow(x, y), select(x < y, x, y));
      },
      a, b);
}
