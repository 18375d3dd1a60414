// Exports networks, and writes what they are called with and what they return, for check.py: `program FOLDER`.
#include <cstdio>
#include <filesystem>

#include <tenon/io/npy.hpp>
#include <tenon/onnx.hpp>

#include "control.hpp"
#include "places.hpp"
#include "resample.hpp"

using namespace tenon;

namespace {

std::string folder;
int failures = 0;

void save(const std::string& name, const AnyTensor& tensor) {
  io::write_file(folder + "/" + name + ".npy", io::npy_header(tensor.dtype, tensor.shape()) +
                                                   std::string(static_cast<const char*>(tensor.data), tensor.bytes()));
}
template <class T, int... E>
void save_results(const std::string& name, const Tensor<T, Shape<E...>>& y) {
  save(name + ".y0", y.view());
}
template <class... Y>
void save_results(const std::string& name, const std::tuple<Y...>& results) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (save(name + ".y" + std::to_string(I), std::get<I>(results).view()), ...);
  }(std::index_sequence_for<Y...>{});
}
template <class T, int... E>
bool same_bits(const Tensor<T, Shape<E...>>& a, const Tensor<T, Shape<E...>>& b) {
  return bit_equal(a, b);
}
template <class... Y>
bool same_bits(const std::tuple<Y...>& a, const std::tuple<Y...>& b) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return (same_bits(std::get<I>(a), std::get<I>(b)) && ...);
  }(std::index_sequence_for<Y...>{});
}
/// All pairs of numbers, the first or the second of each, 64 in a row.
template <class T>
auto pairs(std::initializer_list<T> numbers, bool first) {
  const auto count = numbers.size();
  auto x = Tensor<T, Shape<dyn, 64>>::zeros(long(count * count + 63) / 64);
  for (std::size_t i = 0; i < count * count; ++i) x.data()[i] = numbers.begin()[first ? i / count : i % count];
  return x;
}
/// Numbers from -1 to 1, or from 0 below `most`.
template <class T>
T filled(long n, int most = 0) {
  T x = T::empty(n);
  for (long i = 0; i < x.count(); ++i)
    x.data()[i] = std::remove_reference_t<decltype(*x.data())>(most ? i * 7 % most : float(i * 37 % 101) / 50 - 1);
  return x;
}
template <class Net, class... X>
void try_export(const char* name, const X&... x) try {
  Net net;
  net.set_train(false);
  export_onnx(net, folder + "/" + name + ".onnx", x...);
  const auto y = net(x...);
  save_results(name, y);
  set_context({.mode = Mode::pynative});
  if (!same_bits(y, net(x...))) std::printf("%s: the modes differ\n", name), ++failures;
  set_context({.mode = Mode::graph});
  int k = 0;
  (save(std::string(name) + ".x" + std::to_string(k++), x.view()), ...);
} catch (const std::exception& error) {
  std::printf("%s: %s\n", name, error.what());
  ++failures;
}

using Image = Tensor<float, Shape<dyn, 3, 32, 32>>;
using Rows = Tensor<float, Shape<dyn, 12>>;
using Text = Tensor<std::int32_t, Shape<dyn, 16>>;
using Sequence = Tensor<float, Shape<dyn, 7, 12>>;

template <int In, int Out, int stride>
struct Residual : nn::Cell<Residual<In, Out, stride>> {
  nn::Conv2d<In, Out, 3, nn::Conv2dConfig{.stride = stride}> conv1;
  nn::BatchNorm2d<Out> bn1, bn2, bn3;
  nn::Conv2d<Out, Out, 3> conv2;
  nn::Conv2d<In, Out, 1, nn::Conv2dConfig{.stride = stride}> shortcut;
  constexpr auto construct(auto x) const { return relu(bn2(conv2(relu(bn1(conv1(x))))) + bn3(shortcut(x))); }
};
struct ResNet : nn::Cell<ResNet> {
  nn::Conv2d<3, 8, 7, nn::Conv2dConfig{.stride = 2, .pad_mode = PadMode::pad, .padding = 3}> stem;
  nn::MaxPool2d<3, nn::Pool2dConfig{.stride = 2, .pad_mode = PadMode::same}> pool;
  Residual<8, 8, 1> block1;
  Residual<8, 16, 2> block2;
  nn::Dense<16, 10> head;
  constexpr auto construct(auto x) const { return head(reduce_mean<2, 3>(block2(block1(pool(relu(stem(x))))))); }
};
struct MobileNet : nn::Cell<MobileNet> {
  nn::Conv2d<3, 8, 3, nn::Conv2dConfig{.stride = 2, .has_bias = true}> stem;
  nn::Conv2d<8, 8, 3, nn::Conv2dConfig{.groups = 8}> depth;
  nn::BatchNorm2d<8> bn;
  nn::Conv2d<8, 16, 1> point;
  nn::Dense<16, 10> head;
  constexpr auto construct(auto x) const {
    return log_softmax(head(reduce_mean<2, 3>(hswish(point(relu6(bn(depth(stem(x)))))))));
  }
};
struct UNet : nn::Cell<UNet> {
  nn::Conv2d<3, 4, 3> down1;
  nn::Conv2d<4, 8, 3> down2;
  nn::MaxPool2d<2, nn::Pool2dConfig{.stride = 2}> pool;
  nn::Conv2dTranspose<8, 4, 2, nn::Conv2dTransposeConfig{.stride = 2}> up;
  nn::Conv2dTranspose<8, 2, 3, nn::Conv2dTransposeConfig{.has_bias = true}> last;
  constexpr auto construct(auto x) const {
    auto wide = relu(down1(x));
    return sigmoid(last(concat<1>(wide, up(relu(down2(pool(wide)))))));
  }
};
struct Block : nn::Cell<Block> {
  nn::LayerNorm<Shape<16>> norm1, norm2;
  nn::MultiHeadAttention<16, 2, nn::MultiHeadAttentionConfig{.causal = true}> attention;
  nn::Dense<16, 64> up;
  nn::Dense<64, 16> down;
  constexpr auto construct(auto x) const {
    auto y = x + attention(norm1(x));
    return y + down(gelu(up(norm2(y))));
  }
};
struct Gpt : nn::Cell<Gpt> {
  nn::Embedding<11, 16> token;
  nn::PositionalEmbedding<16, 16> position;
  nn::CellList<Block, 2> blocks;
  nn::LayerNorm<Shape<16>> norm;
  nn::Dense<16, 11> head;
  constexpr auto construct(auto text) const { return head(norm(blocks(position(token(text))))); }
};
struct Encoder : nn::Cell<Encoder> {
  nn::Embedding<11, 16> token;
  nn::MultiHeadAttention<16, 4> attention;
  nn::Dense<16, 16> mixed;
  nn::LayerNorm<Shape<16>> norm;
  constexpr auto construct(auto text) const {
    auto x = token(text);
    auto y = norm(x + attention(x));
    return std::tuple(tanh(mixed(squeeze<1>(slice<1, Part{0, 1}>(y)))), y);
  }
};
struct Lstm : nn::Cell<Lstm> {
  nn::LSTM<12, 8> lstm;
  nn::GRU<8, 6> gru;
  nn::Dense<6, 3> head;
  constexpr auto construct(auto x) const {
    auto [h, last, c] = lstm(x);
    auto [g, end] = gru(h);
    return std::tuple(head(g), last, c, end);
  }
};
struct Groups : nn::Cell<Groups> {
  nn::Conv2d<3, 8, 3> conv;
  nn::GroupNorm<4, 8> norm;
  nn::AvgPool2d<2, nn::Pool2dConfig{.stride = 2}> pool;
  constexpr auto construct(auto x) const { return pool(leaky_relu(norm(conv(x)), 0.1f)); }
};
struct Functions : nn::Cell<Functions> {
  constexpr auto construct(auto x) const {
    auto positive = square(x) + 0.5f;
    auto a = sin(x) + cos(x) * tan(x) - asin(x * 0.9f) + acos(x * 0.9f) + atan(x) + sinh(x) + cosh(x) + asinh(x);
    auto b = log(positive) + log1p(positive) + log2(positive) + log10(positive) + rsqrt(positive) + sqrt(positive) +
             exp(x) + exp2(x) + expm1(x) + erf(x) + erfc(x) + pow(positive, 1.5f) + acosh(positive + 1);
    auto c = elu(x) + celu(x) + selu(x) + silu(x) + mish(x) + softplus(x) + softsign(x) + hsigmoid(x) + hswish(x) +
             logsigmoid(x) + gelu(x) + fast_gelu(x) + hardtanh(x) + relu6(x) + abs(x) + neg(x) + sign(x) +
             floor(x * 3) + ceil(x * 3);
    return std::tuple(a, b, c, maximum(x, 0.2f) / minimum(x, -0.1f));
  }
};
struct Selection : nn::Cell<Selection> {
  constexpr auto construct(auto x) const {
    auto large = logical_and(greater(x, 0.1f), not_equal(x, 0.5f));
    auto chosen = select(logical_or(large, less_equal(x, -0.7f)), x, x * 2);
    return std::tuple(chosen, cast<std::int32_t>(greater_equal(x, 0)), argmax<1>(x), one_hot<12>(argmax<1>(x)));
  }
};
struct Movement : nn::Cell<Movement> {
  constexpr auto construct(auto x) const {
    auto cube = reshape<Shape<dyn, 3, 4>>(x);
    auto [left, right] = split<1, 2>(reshape<Shape<dyn, 4, 3>>(x));
    auto padded = pad<Margin{}, Margin{1, 2}>(x, 3);
    return std::tuple(transpose<0, 2, 1>(cube), left * right, padded,
                      slice<Part{}, Part{.begin = 1}, Part{.step = -1}>(cube),
                      broadcast_to<Shape<dyn, 2, 12>>(expand_dims<1>(x)), tril(cube), x * full_like(x, 2.5f),
                      cumsum<1>(x) + arange<12, float>(x));
  }
};
struct Reductions : nn::Cell<Reductions> {
  constexpr auto construct(auto x) const {
    auto cube = reshape<Shape<dyn, 3, 4>>(x);
    return std::tuple(reduce_sum<1>(cube), reduce_max<2>(cube), reduce_min_keep<1>(cube), reduce_prod<1, 2>(cube),
                      reduce_sum_square<1>(cube), softmax<1>(cube), matmul(cube, transpose<0, 2, 1>(cube)));
  }
};

constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
void try_special_values() {
  const auto reals = {0.f,  -0.f, 1.f,  -1.f,     2.5f,      -2.5f, 0.7f, -0.7f,
                      0.5f, 3.f,  -3.f, infinity, -infinity, nan,   7.5f, -7.5f};
  const auto wholes = {0, 1, -1, 2, -2, 3, -3, 7, -7, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()};
  auto i = Tensor<int, Shape<dyn, 64>>::zeros(4), k = i;
  const auto first = pairs<int>(wholes, true), second = pairs<int>(wholes, false);
  std::copy_n(first.data(), first.count(), i.data());
  k = Tensor<int, Shape<dyn, 64>>::zeros(4);
  std::copy_n(second.data(), second.count(), k.data());
  try_export<places::Remainders>("remainders", pairs<float>(reals, true), pairs<float>(reals, false), i, k);
}

}  // namespace

int main(int, char** argument) {
  folder = argument[1];
  const auto image = filled<Image>(2);
  try_export<ResNet>("resnet", image);
  try_export<MobileNet>("mobilenet", image);
  try_export<UNet>("unet", image);
  try_export<Groups>("groups", image);
  try_export<Gpt>("gpt", filled<Text>(3, 11));
  try_export<Encoder>("encoder", filled<Text>(3, 11));
  try_export<Lstm>("lstm", filled<Sequence>(3));
  try_export<Functions>("functions", filled<Rows>(5));
  try_export<Selection>("choices", filled<Rows>(5));
  try_export<Movement>("moves", filled<Rows>(5));
  try_export<Reductions>("sums", filled<Rows>(5));
  try_export<resampling::Resized>("resized", image);
  try_export<resampling::Moved>("moved", image);
  try_special_values();
  try_export<places::Elements>("elements", filled<Rows>(5), filled<Tensor<std::int64_t, Shape<dyn, 12>>>(5, 12));
  try_export<places::Products>("products", filled<Rows>(5));
  try_export<places::Windows>("windows", image);
  try_export<places::Turned>("turned", filled<Sequence>(3), filled<Tensor<std::int32_t, Shape<dyn>>>(3, 5));
  try_export<control::Memory>("memory", filled<Sequence>(3));
  try_export<control::Several>("several", filled<Sequence>(3));
  try_export<control::Nested>("nested", filled<Sequence>(3));
  try_export<control::Mapped>("mapped", filled<Sequence>(3));
  try_export<control::Either<1>>("then", filled<Rows>(5));
  try_export<control::Either<-1>>("else", filled<Rows>(5));
  try_export<control::Root>("root", filled<Rows>(5));
  return failures != 0;
}
