// Layers and losses as cells, against MindSpore's results (golden/ops), forward and backward.
#include <cmath>

#include <tenon/backend/more.hpp>
#include <tenon/nn/layer/attention/transformer.hpp>
#include <tenon/nn/layer/bi_dense.hpp>
#include <tenon/nn/layer/conv/conv1d.hpp>
#include <tenon/nn/layer/conv/conv2d.hpp>
#include <tenon/nn/layer/conv/conv2d_transpose.hpp>
#include <tenon/nn/layer/conv/conv3d.hpp>
#include <tenon/nn/layer/dense.hpp>
#include <tenon/nn/layer/dropout.hpp>
#include <tenon/nn/layer/embedding.hpp>
#include <tenon/nn/layer/norm/batch_norm.hpp>
#include <tenon/nn/layer/norm/group_norm.hpp>
#include <tenon/nn/layer/norm/layer_norm.hpp>
#include <tenon/nn/layer/norm/lrn.hpp>
#include <tenon/nn/layer/pool/adaptive_pool.hpp>
#include <tenon/nn/layer/pool/avg_pool2d.hpp>
#include <tenon/nn/layer/pool/max_pool2d.hpp>
#include <tenon/nn/layer/pool/pool1d.hpp>
#include <tenon/nn/loss/l1.hpp>
#include <tenon/nn/loss/mse.hpp>
#include <tenon/nn/loss/softmax_cross_entropy.hpp>
#include <tenon/ops/relu.hpp>
#include <tenon/ops/structural.hpp>

#include "ops.hpp"

using namespace tenon;
using support::check_near;
using support::expect;
using support::Npz;
using support::to_tensor;

namespace {

/// The name in the network of a parameter of a case: the running statistics have longer ones here.
std::string own_name(const std::string& name) {
  return name == "mean" ? "moving_mean" : name == "variance" ? "moving_variance" : name;
}

void load_parameters(const Npz& golden, const ParameterDict& parameters) {
  std::size_t loaded = 0;
  for (const auto& [path, array] : golden.arrays()) {
    if (!path.starts_with("param/")) continue;
    const ParameterRef& own = parameters[own_name(path.substr(6))];
    const std::vector<float> values = array.values<float>();
    own.set_data(AnyTensor(Dtype::float32, array.shape, const_cast<float*>(values.data())));
    ++loaded;
  }
  expect(loaded == parameters.size());
}
void check_parameters(const Npz& golden, const std::string& prefix, const ParameterDict& parameters,
                      const auto& values_of) {
  for (const auto& [path, array] : golden.arrays()) {
    if (!path.starts_with(prefix)) continue;
    CAPTURE(path);
    const std::vector<double> expected = array.numbers();
    const float* found = values_of(parameters[own_name(path.substr(prefix.size()))]);
    expect(found != nullptr);
    if (!found) continue;
    const support::Tolerance tolerance;
    support::check_values({found, found + expected.size()}, expected, &tolerance);
  }
}

/// The first result of a cell that may have several.
template <class R>
const auto& first_of(const R& results) {
  if constexpr (requires { std::get<0>(results); }) return std::get<0>(results);
  else return results;
}

/// A cell of some tensors: out/0, gradients of inputs and parameters, parameters afterwards; in both modes.
template <class Cell, class... X, std::size_t... I>
void check_cell_with(const Npz& golden, const std::string& name, bool training, const Cell& cell,
                     std::index_sequence<I...>, const char* const (&names)[sizeof...(X)], const X&... input) {
  load_parameters(golden, cell.parameters_dict());
  const std::tuple<X...> x(
      to_tensor<typename X::type, typename X::shape_type>(golden[std::string("in/") + names[I]], name)...);
  (void)std::initializer_list<int>{(void(input), 0)...};
  if (!training) {  // without a tape the compiled graph runs
    const ContextScope graph({.mode = Mode::graph});
    check_near(first_of(cell(std::get<I>(x)...)), golden, "out/0");
  }
  cell.set_train(training);
  eager::Tape tape;
  const auto watch = [&](const auto& value) {
    if constexpr (support::is_floating_tensor<decltype(value)>) tape.watch(value);
  };
  (watch(std::get<I>(x)), ...);
  const auto results = cell(std::get<I>(x)...);
  const auto& y = first_of(results);
  using Y = std::remove_cvref_t<decltype(y)>;
  check_near(y, golden, "out/0");
  const auto dy = to_tensor<float, typename Y::shape_type>(golden["dy/0"], name);
  if constexpr (requires { std::get<1>(results); }) {
    using Second = std::remove_cvref_t<decltype(std::get<1>(results))>;
    check_near(std::get<1>(results), golden, "out/1");
    const auto second = to_tensor<float, typename Second::shape_type>(golden["dy/1"], name);
    tape.backward(ops::add(ops::reduce_sum(ops::mul(y, dy)), ops::reduce_sum(ops::mul(std::get<1>(results), second))));
    tape.pause();
  } else tape.backward(y, dy);
  const auto check = [&](const auto& value, const std::string& gradient) {
    if (golden.has(gradient)) check_near(tape.gradient(value), golden, gradient);
  };
  (check(std::get<I>(x), std::string("grad/") + names[I]), ...);
  const ParameterList list(cell);
  check_parameters(golden, "gradparam/", cell.parameters_dict(), [&](const ParameterRef& p) -> const float* {
    for (int e = 0; e < list.entries(); ++e)
      if (list.table()[e].parameter && parameter_name(list.table(), e) == p.name())
        return static_cast<const float*>(tenon::detail::home(tape.gradient_data(list.handle(e))));
    return nullptr;
  });
  check_parameters(golden, "param_after/", cell.parameters_dict(),
                   [](const ParameterRef& p) { return p.values<float>().data(); });
}
template <class Cell, class... X>
void check_cell(const std::string& name, bool training, const Cell& cell, const char* const (&names)[sizeof...(X)],
                const X&... input) {
  support::golden_case(name, [&](const Npz& golden) {
    check_cell_with(golden, name, training, cell, std::index_sequence_for<X...>{}, names, input...);
  });
}
template <class X, class Cell>
void check_layer(const std::string& name, const Cell& cell, bool training = true, const char* input = "x") {
  check_cell(name, training, cell, {input}, X{});
}
template <class Loss>
void check_loss(const std::string& name) {
  using X = Tensor<float, Shape<6, 5>>;
  check_cell(name, true, Loss{}, {"x", "y"}, X{}, X{});
}
template <nn::Reduction reduction>
void check_entropy(const std::string& name) {
  check_cell(name, true, nn::SoftmaxCrossEntropyWithLogits<reduction>{}, {"logits", "labels"},
             Tensor<float, Shape<6, 5>>{}, Tensor<std::int32_t, Shape<6>>{});
}

struct DenseRelu : nn::Cell<DenseRelu> {
  Parameter<float, Shape<5, 7>, nn::Zero{}> weight;
  Parameter<float, Shape<5>, nn::Zero{}> bias;
  constexpr auto construct(auto x) const {
    return relu(nn::add_bias(ops::matmul<ops::Transposed::second>(x, weight), bias));
  }
};

using Batch = Tensor<float, Shape<4, 7>>;
using Image = Tensor<float, Shape<2, 4, 9, 10>>;
using DynamicImage = Tensor<float, Shape<dyn, 4, 9, 10>>;

}  // namespace

const Group batch_norms("BatchNorm1d and BatchNorm2d, training and evaluation", [] {
  using Small = Tensor<float, Shape<6, 7>>;
  using Images = Tensor<float, Shape<dyn, 4, 5, 6>>;
  check_layer<Small>("batchnorm1d_train", nn::BatchNorm1d<7>{});
  check_layer<Tensor<float, Shape<dyn, 7>>>("batchnorm1d_train", nn::BatchNorm1d<7>{});
  check_layer<Small>("batchnorm1d_eval", nn::BatchNorm1d<7>{}, false);
  check_layer<Images>("batchnorm2d_train", nn::BatchNorm2d<4>{});
  check_layer<Images>("batchnorm2d_eval", nn::BatchNorm2d<4>{}, false);
});

const Group layer_norms("LayerNorm over one axis and over two", [] {
  check_layer<Tensor<float, Shape<3, 5, 8>>>("layernorm_0", nn::LayerNorm<Shape<8>>{});
  check_layer<Tensor<float, Shape<dyn, 3, 4, 5>>>("layernorm_1", nn::LayerNorm<Shape<4, 5>>{});
});

const Group denses("Dense with and without bias, and followed by relu", [] {
  check_layer<Batch>("dense_b_None", nn::Dense<7, 5>{});
  check_layer<Tensor<float, Shape<dyn, 7>>>("dense_nb_None", nn::Dense<7, 5, nn::DenseConfig{.has_bias = false}>{});
  check_layer<Batch>("dense_b_relu", DenseRelu{});
});

const Group convolutions("Conv2d with bias in the three pad modes", [] {
  check_layer<DynamicImage>("conv2d_same_s2_d1",
                            nn::Conv2d<4, 6, Pair(5, 4), nn::Conv2dConfig{.stride = 2, .has_bias = true}>{});
  check_layer<DynamicImage>(
      "conv2d_valid_s1_d2",
      nn::Conv2d<4, 6, 3, nn::Conv2dConfig{.pad_mode = PadMode::valid, .dilation = 2, .has_bias = true}>{});
  check_layer<Image>(
      "conv2d_pad_s1_d1",
      nn::Conv2d<4, 6, 3,
                 nn::Conv2dConfig{.pad_mode = PadMode::pad, .padding = Padding(1, 2, 0, 1), .has_bias = true}>{});
});

const Group poolings("MaxPool2d and AvgPool2d", [] {
  using nn::Pool2dConfig;
  check_layer<Image>("maxpool2d_same_k3_s2", nn::MaxPool2d<3, Pool2dConfig{.stride = 2, .pad_mode = PadMode::same}>{});
  check_layer<DynamicImage>("maxpool2d_valid_k3_s1", nn::MaxPool2d<3>{});
  check_layer<Image>("maxpool2d_pad",
                     nn::MaxPool2d<3, Pool2dConfig{.stride = 2, .pad_mode = PadMode::pad, .padding = 1}>{});
  check_layer<Image>("avgpool2d_same_k3_s2", nn::AvgPool2d<3, Pool2dConfig{.stride = 2, .pad_mode = PadMode::same}>{});
  check_layer<DynamicImage>("avgpool2d_valid_k2_s2", nn::AvgPool2d<2, Pool2dConfig{.stride = 2}>{});
  check_layer<Image>("avgpool2d_pad",
                     nn::AvgPool2d<3, Pool2dConfig{.stride = 2, .pad_mode = PadMode::pad, .padding = 1}>{});
});

const Group sequences("Conv1d, MaxPool1d, AvgPool1d", [] {
  using nn::Conv1dConfig;
  using Sequence = Tensor<float, Shape<dyn, 4, 13>>;
  using Short = Tensor<float, Shape<2, 4, 11>>;
  check_layer<Sequence>("conv1d_same", nn::Conv1d<4, 6, 3, Conv1dConfig{.stride = 2, .has_bias = true}>{});
  check_layer<Sequence>("conv1d_valid",
                        nn::Conv1d<4, 6, 3, Conv1dConfig{.stride = 2, .pad_mode = PadMode::valid, .has_bias = true}>{});
  check_layer<Sequence>(
      "conv1d_pad",
      nn::Conv1d<4, 6, 3, Conv1dConfig{.stride = 2, .pad_mode = PadMode::pad, .padding = 1, .has_bias = true}>{});
  check_layer<Short>("maxpool1d", nn::MaxPool1d<3, nn::Pool1dConfig{.stride = 2}>{});
  check_layer<Short>("avgpool1d", nn::AvgPool1d<3, nn::Pool1dConfig{.stride = 2}>{});
});

const Group more_norms("GroupNorm, InstanceNorm2d, LRN, adaptive pooling", [] {
  using Small = Tensor<float, Shape<dyn, 4, 4, 5>>;
  check_layer<Small>("groupnorm", nn::GroupNorm<2, 4>{});
  check_layer<Small>("instancenorm2d", nn::InstanceNorm2d<4>{});
  check_layer<Tensor<float, Shape<2, 6, 3, 3>>>(
      "lrn", nn::LRN<LRNConfig{.depth_radius = 2, .bias = 1, .alpha = 0.001f, .beta = 0.75f}>{});
  check_layer<DynamicImage>("adaptiveavgpool2d", nn::AdaptiveAvgPool2d<Pair(3, 2)>{});
});

const Group transposed("Conv2dTranspose and Conv3d", [] {
  using nn::Conv2dTransposeConfig;
  using Small = Tensor<float, Shape<dyn, 4, 5, 4>>;
  check_layer<Small>("conv2dtranspose_same",
                     nn::Conv2dTranspose<4, 6, 3, Conv2dTransposeConfig{.stride = 2, .has_bias = true}>{});
  check_layer<Small>(
      "conv2dtranspose_valid",
      nn::Conv2dTranspose<4, 6, 3, Conv2dTransposeConfig{.stride = 2, .pad_mode = PadMode::valid, .has_bias = true}>{});
  check_layer<Small>(
      "conv2dtranspose_pad",
      nn::Conv2dTranspose<
          4, 6, 3, Conv2dTransposeConfig{.stride = 2, .pad_mode = PadMode::pad, .padding = 1, .has_bias = true}>{});
  check_layer<Tensor<float, Shape<2, 3, 4, 5>>>(
      "conv2dtranspose_outpad",
      nn::Conv2dTranspose<
          3, 2, 3, Conv2dTransposeConfig{.stride = 3, .pad_mode = PadMode::pad, .padding = 1, .output_padding = 1}>{});
  check_layer<Tensor<float, Shape<dyn, 2, 4, 5, 4>>>("conv3d_same",
                                                     nn::Conv3d<2, 3, 2, nn::Conv3dConfig{.has_bias = true}>{});
});

const Group attentions("MultiHeadAttention with weights and with a mask, TransformerEncoderLayer, BiDense", [] {
  using X = Tensor<float, Shape<2, 5, 8>>;
  const nn::MultiHeadAttention<8, 2, nn::MultiHeadAttentionConfig{.need_weights = true}> attention;
  check_cell("multiheadattention", true, attention, {"q", "k", "v"}, X{}, X{}, X{});
  check_cell("multiheadattention_mask", true, attention, {"q", "k", "v", "mask"}, X{}, X{}, X{},
             Tensor<bool, Shape<5, 5>>{});
  check_layer<X>("transformerencoderlayer_post",
                 nn::TransformerEncoderLayer<8, 2, nn::TransformerConfig{.dim_feedforward = 16, .dropout = 0}>{});
  check_layer<X>(
      "transformerencoderlayer_pre",
      nn::TransformerEncoderLayer<8, 2,
                                  nn::TransformerConfig{.dim_feedforward = 16, .dropout = 0, .norm_first = true}>{});
  check_cell("bidense", true, nn::BiDense<4, 5, 3>{}, {"x1", "x2"}, Tensor<float, Shape<6, 4>>{},
             Tensor<float, Shape<6, 5>>{});
});

const Group embeddings("Embedding", [] {
  check_layer<Tensor<std::int32_t, Shape<3, 4>>>("embedding", nn::Embedding<11, 5>{}, true, "ids");
});

const Group dropouts("Dropout in evaluation",
                     [] { check_layer<Tensor<float, Shape<3, 4>>>("dropout_eval", nn::Dropout<>{}, false); });

const Group losses("MSELoss and L1Loss with each reduction", [] {
  check_loss<nn::MSELoss<>>("mse_mean");
  check_loss<nn::MSELoss<nn::Reduction::sum>>("mse_sum");
  check_loss<nn::MSELoss<nn::Reduction::none>>("mse_none");
  check_loss<nn::L1Loss<>>("l1_mean");
  check_loss<nn::L1Loss<nn::Reduction::sum>>("l1_sum");
  check_loss<nn::L1Loss<nn::Reduction::none>>("l1_none");
});

const Group entropies("SoftmaxCrossEntropyWithLogits with class numbers, MindSpore's CrossEntropyLoss", [] {
  check_entropy<nn::Reduction::mean>("crossentropy_mean");
  check_entropy<nn::Reduction::sum>("crossentropy_sum");
  check_entropy<nn::Reduction::none>("crossentropy_none");
});
