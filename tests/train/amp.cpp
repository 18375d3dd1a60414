// Mixed precision: levels, both modes with the same bits, what stays float32, numbers of another framework.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <algorithm>

#include <doctest/doctest.h>
#include <unistd.h>

#include <tenon/tenon.hpp>
#include <tenon/train/checkpoint.hpp>

#include "../nn/support.hpp"
#include "../support/logged.hpp"
#include "../support/models.hpp"
#include "../support/sanitized.hpp"

using namespace tenon;

namespace {

using Mixed = Amp<AmpLevel::O2>;

/// Tokens [n, 6] in, logits for the next one out.
struct Language : nn::Cell<Language> {
  nn::Embedding<11, 8> token;
  nn::PositionalEmbedding<6, 8> position;
  nn::LayerNorm<Shape<8>> norm;
  nn::MultiHeadAttention<8, 2, nn::MultiHeadAttentionConfig{.causal = true}> attention;
  nn::Dense<8, 11> head;
  constexpr auto construct(auto tokens) const {
    auto x = position(token(reshape<Shape<dyn, 6>>(flatten(tokens))));  // through operators on integers
    return head(x + attention(norm(x)));
  }
};
auto texts() {
  std::vector<std::int32_t> now(120), next(120);
  for (std::size_t i = 0; i < now.size(); ++i)
    now[i] = std::int32_t(i * i % 11), next[i] = std::int32_t((i + 1) * (i + 1) % 11);
  return dataset::from_arrays(dataset::column<Shape<6>>(now), dataset::column<Shape<6>>(next)) | dataset::batch(7);
}
// batches of a full block of samples and more, and a short one
auto images() { return cells::samples<Shape<3, 8, 8>>(44) | dataset::batch(20); }

/// Losses and parameters after a training.
template <class Net, Passes passes = Passes{}, class Data, class... Parts>
cells::Trained after(Mode mode, int threads, const Data& data, long epochs, Parts... parts) {
  const ContextScope scope({.mode = mode, .num_threads = threads, .seed = 3});
  Net net;
  Model model{with_passes<passes>, net, nn::SoftmaxCrossEntropyWithLogits{},
              nn::Momentum{.learning_rate = 0.02f, .momentum = 0.9f}, parts...};
  cells::Losses losses;
  model.train(epochs, data, losses);
  for (const auto& [name, parameter] : net.parameters_and_names()) CHECK(parameter.view().dtype == Dtype::float32);
  return {losses.value, cells::bits(net)};
}
/// Modes, threads, and passes must not matter, the loss must fall, and the level must be felt.
template <class Net, class Tag, class Data>
void check_level(const Data& data, long epochs) {
  const auto graph = after<Net>(Mode::graph, 1, data, epochs, Tag{});
  CHECK(graph == after<Net>(Mode::pynative, 1, data, epochs, Tag{}));
  CHECK(graph == after<Net>(Mode::graph, 2, data, epochs, Tag{}));
  CHECK(graph == after<Net>(Mode::pynative, 2, data, epochs, Tag{}));
  CHECK(graph == after<Net, no_passes>(Mode::graph, 1, data, epochs, Tag{}));
  CHECK(graph.losses.back() < graph.losses.front() * 0.75);
  CHECK(graph.bits != after<Net>(Mode::graph, 1, data, epochs).bits);
}

}  // namespace

// The first case of this program: a child of it has not said anything yet.
TEST_CASE("a program says once that an instruction is missing for a 16-bit type") {
  const auto lines = []<class... Parts>(Parts... parts) {
    return support::lines_of(support::logged({}, [&] {
      for (int i = 0; i < 2; ++i) {
        Language net;
        Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::SGD{.learning_rate = 0.1f}, parts...};
      }
    }));
  };
  CHECK(lines().empty());
  CHECK(lines(amp<AmpLevel::O0>).empty());
  const auto float16_lines = lines(amp<AmpLevel::O2, float16>);
  REQUIRE(float16_lines.size() == 1);
  CHECK(float16_lines[0].find("products of float16 are computed in float32") != std::string::npos);
  CHECK(lines(amp<AmpLevel::O2>).size() == (multiplies_pairs<simd_width<float>> ? 0 : 1));
}

TEST_CASE("amp: O0 has the bits of a Model without a level") {
  for (const Mode mode : cells::modes)
    CHECK(after<support::SmallResNet>(mode, 1, images(), 2) ==
          after<support::SmallResNet>(mode, 1, images(), 2, amp<AmpLevel::O0>));
}
TEST_CASE("amp: O2 of convolutions, batch norms, and dropout has one result") {
  check_level<support::SmallResNet, Mixed>(images(), 12);
}
TEST_CASE("amp: O3 and float16, too") { check_level<support::SmallResNet, Amp<AmpLevel::O3, float16>>(images(), 12); }
TEST_CASE("amp: a network of integers computes in 16 bits from its embedding on") {
  check_level<Language, Mixed>(texts(), 60);
  check_level<Language, Amp<AmpLevel::O2, float16>>(texts(), 60);
}

TEST_CASE("amp: the graph computes where the level says") {
  using detail::TrainStepIn, detail::EvalStepIn;
  using Loss = nn::SoftmaxCrossEntropyWithLogits<>;
  using Graph = Compiled<TrainStepIn<Language, Loss, nn::SGD, MixedPrecision{Dtype::bfloat16},
                                     TypeKey<Dtype::int32, dyn, 6>, TypeKey<Dtype::int32, dyn, 6>>>;
  static_assert(Graph::ok);
  for (int id = 0; id < Graph::graph.count; ++id) {
    const Node& node = Graph::graph[id];
    if (is<ops::MatMul>(node) || is<ops::Attention>(node) || is<ops::LayerNorm>(node))
      CHECK(node.type.dtype == Dtype::bfloat16);
    if (is<ops::ApplySgd>(node)) CHECK(!is<ops::Cast>(Graph::graph[node.operand[1]]));  // widened where it is read
    if (is<ops::SoftmaxCrossEntropy>(node) || is<ops::GatherGrad>(node) || is<ops::ApplySgd>(node))
      CHECK(node.type.dtype == Dtype::float32);
  }
}

TEST_CASE("amp: predictions are float32, equal in both modes, and each sample has its own") {
  const auto x = support::random_tensor<float, Shape<dyn, 3, 8, 8>>(4, -1, 1, 20);
  std::vector<Tensor<float, Shape<dyn, 5>>> results;
  for (const Mode mode : cells::modes) {
    const ContextScope scope({.mode = mode, .seed = 3});
    support::SmallResNet net;
    Model half{net, NoLoss{}, NoOptimizer{}, amp<AmpLevel::O2, float16>};  // without an optimizer no loss is scaled
    CHECK(half.predict(x).count() == 100);
    Model model{net, NoLoss{}, NoOptimizer{}, amp<AmpLevel::O2>};
    results.push_back(model.predict(x));
    const auto one =
        model.predict(Tensor<float, Shape<dyn, 3, 8, 8>>::from(std::vector<float>(x.data() + 192, x.data() + 384)));
    CHECK(std::equal(one.values().begin(), one.values().end(), results.back().values().begin() + 5));
  }
  CHECK(bit_equal(results[0], results[1]));
}

namespace {
/// Two losses of 16 bits, from two columns, the second of them numbers of classes.
struct TwoLosses : nn::Cell<TwoLosses> {
  nn::Dense<6, 3> fc;
  constexpr auto construct(auto x, auto y) const {
    auto logits = fc(x);
    return std::tuple(reduce_mean(softmax_cross_entropy(logits, y)), reduce_mean(square(logits)) * 0.01);
  }
};
}  // namespace

TEST_CASE("amp: a network that returns its losses") {
  std::vector<std::string> bits;
  for (const Mode mode : cells::modes) {
    const ContextScope scope({.mode = mode, .seed = 3});
    TwoLosses net;
    Model model{net, NoLoss{}, nn::SGD{.learning_rate = 0.1f}, amp<AmpLevel::O2>};
    struct Dtypes : cells::Losses {
      void step_end(RunInfo& run) {
        cells::Losses::step_end(run);
        CHECK(run.net_outputs.size() == 2);
        for (const AnyTensor& loss : run.net_outputs) CHECK(loss.dtype == Dtype::float32);
      }
    } losses;
    model.train(10, cells::samples<Shape<6>>(30) | dataset::batch(7), losses);
    CHECK(losses.value.back() < losses.value.front());
    bits.push_back(cells::bits(net));
  }
  CHECK(bits[0] == bits[1]);
}

namespace {
struct TwoLayers : nn::Cell<TwoLayers> {
  nn::Dense<8, 16> fc1;
  nn::Dense<16, 4> fc2;
  constexpr auto construct(auto x) const { return fc2(relu(fc1(x))); }
};
float place(int i, int a, int b) { return float(double(i * a % b) / b * 2 - 1); }
}  // namespace

// Losses of the same training in PyTorch 2, SGD with a rate of 0.3 and a momentum of 0.9: `rounded` with products and
// sums of bfloat16 tensors, each rounded, as here; `autocast` as torch.autocast has it, which rounds a product and its
// bias once; `full` in float32. Both sides add up in float32, in other orders: now and then a sum falls on the other
// side of a rounding border, half a unit in the last place (2^-9 of a logit) for one of 12 samples. Ten such events per
// step are 4e-4; full precision is 2e-3 away.
TEST_CASE("amp: the losses of PyTorch in bfloat16") {
  constexpr double rounded[]{1.452032, 1.411994, 1.346776, 1.269275, 1.187755, 1.104937, 1.024266,
                             0.942811, 0.869404, 0.792702, 0.71379,  0.629599, 0.551781, 0.485617,
                             0.43022,  0.381011, 0.340813, 0.30835,  0.281499, 0.251429};
  constexpr double autocast[]{1.451876, 1.412099, 1.347192, 1.269312, 1.187704, 1.105107, 1.023789,
                              0.943127, 0.869431, 0.792915, 0.714661, 0.630067, 0.552336, 0.485401,
                              0.429363, 0.380767, 0.340187, 0.307415, 0.280958, 0.251347};
  constexpr double full[]{1.451916, 1.412328, 1.347297, 1.269921, 1.188391, 1.106359, 1.024941,
                          0.944589, 0.870426, 0.794454, 0.716213, 0.63151,  0.553865, 0.487737,
                          0.430934, 0.382144, 0.342411, 0.310057, 0.282981, 0.253733};
  std::vector<float> x(96);
  std::vector<std::int32_t> y(12);
  for (int i = 0; i < 96; ++i) x[std::size_t(i)] = place(i, 37, 101);
  for (int i = 0; i < 12; ++i) y[std::size_t(i)] = i * 7 % 4;
  const auto data =
      dataset::from_arrays(dataset::column<Shape<8>>(x), dataset::column<Shape<>>(y)) | dataset::batch(12);
  const auto losses_of = [&](auto level) {
    TwoLayers net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::SGD{.learning_rate = 0.3f, .momentum = 0.9f}, level};
    for (int i = 0; i < 128; ++i) net.fc1.weight.values()[std::size_t(i)] = place(i, 53, 97) * 0.5f;
    for (int i = 0; i < 16; ++i) net.fc1.bias.values()[std::size_t(i)] = place(i, 29, 89) * 0.1f;
    for (int i = 0; i < 64; ++i) net.fc2.weight.values()[std::size_t(i)] = place(i, 61, 103) * 0.5f;
    for (int i = 0; i < 4; ++i) net.fc2.bias.values()[std::size_t(i)] = place(i, 31, 83) * 0.1f;
    cells::Losses losses;
    model.train(20, data, losses);
    return losses.value;
  };
  const auto mixed = losses_of(amp<AmpLevel::O2>), exact = losses_of(amp<AmpLevel::O0>);
  for (std::size_t s = 0; s < 20; ++s) {
    CAPTURE(s);
    CHECK(std::abs(mixed[s] - rounded[s]) < 4e-4);
    CHECK(std::abs(mixed[s] - autocast[s]) < 1e-3);
    CHECK(std::abs(exact[s] - full[s]) < 2e-6);
  }
  CHECK(std::abs(mixed[19] - full[19]) > 1e-3);
}

TEST_CASE("amp: drawn digits are learnt as well as in float32") {
  const auto accuracy = [](auto level) {
    const ContextScope scope({.mode = Mode::graph, .seed = 1});
    const auto train = dataset::Digits{.usage = dataset::Usage::train, .size = 8000, .seed = 1} |
                       dataset::shuffle(8000, 1) | dataset::batch(32) | dataset::take(support::sanitized ? 10 : 250);
    const auto test = dataset::Digits{.usage = dataset::Usage::test, .size = 1000, .seed = 1} | dataset::batch(100);
    support::LeNet net;
    Model model{pinned<Mode::graph>,
                net,
                nn::SoftmaxCrossEntropyWithLogits{},
                nn::Momentum{.learning_rate = 0.02f, .momentum = 0.9f},
                nn::Accuracy{},
                level};
    model.train(4, train);
    return model.eval(test)["accuracy"];
  };
  const double full = accuracy(amp<AmpLevel::O0>), brain = accuracy(amp<AmpLevel::O2>),
               half = accuracy(amp<AmpLevel::O2, float16>);
  MESSAGE("float32 ", full, ", bfloat16 ", brain, ", float16 ", half);
  if (support::sanitized) return;
  CHECK(full > 0.95);
  // of 1,000 digits; one standard deviation of the difference of two such counts is about 0.01
  CHECK(brain > full - 0.02);
  CHECK(half > full - 0.02);
}

TEST_CASE("amp: a checkpoint of a mixed training is that of a float32 network") {
  const std::string path = "/tmp/tenon_amp_" + std::to_string(::getpid()) + ".safetensors";
  support::Mlp net, other;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{}, amp<AmpLevel::O3>};
  save_checkpoint(net, path);
  load_checkpoint(path, other);
  std::remove(path.c_str());
  CHECK(cells::bits(net) == cells::bits(other));
  for (const auto& moment : model.optimizer_state()) CHECK(moment.tensor.dtype == Dtype::float32);
}
