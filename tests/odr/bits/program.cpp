// What bits.sh builds under many sets of flags: a small network of every kind of layer, trained in both modes on 1 to 3
// threads. Prints hashes of its weights, at first and after a few steps, which must be the same in each of these ways.
// headers: yes
#include <cstdio>

#include <tenon/dataset/dataset.hpp>
#include <tenon/nn/layer/attention/multi_head_attention.hpp>
#include <tenon/nn/layer/conv/conv2d.hpp>
#include <tenon/nn/layer/dense.hpp>
#include <tenon/nn/layer/dropout.hpp>
#include <tenon/nn/layer/norm/batch_norm.hpp>
#include <tenon/nn/layer/norm/layer_norm.hpp>
#include <tenon/nn/layer/recurrent/lstm.hpp>
#include <tenon/nn/loss/softmax_cross_entropy.hpp>
#include <tenon/nn/optim/adam.hpp>
#include <tenon/ops/pool2d.hpp>
#include <tenon/ops/relu.hpp>
#include <tenon/ops/tanh.hpp>
#include <tenon/ops/transpose.hpp>
#include <tenon/train/model.hpp>

using namespace tenon;

namespace {

/// Images [n, 1, 12, 12], read as sequences of 36 steps of 6 channels, to 4 logits.
struct Net : nn::Cell<Net> {
  nn::Conv2d<1, 6, 3> conv;
  nn::BatchNorm2d<6> batch_norm;
  nn::LSTM<6, 20> lstm;
  nn::LayerNorm<Shape<20>> layer_norm;
  nn::MultiHeadAttention<20, 2> attention;
  nn::Dropout<nn::DropoutConfig{.p = 0.25f}> dropout;
  nn::Dense<20, 4> fc;

  constexpr auto construct(auto x) const {
    auto images = max_pool2d<2>(relu(batch_norm(conv(x))));
    auto [steps, h, c] = lstm(transpose<0, 2, 1>(images.template reshape<Shape<dyn, 6, 36>>()));
    auto seen = steps + attention(layer_norm(steps));
    return fc(dropout(tanh(seen.template mean<1>())));
  }
};

/// FNV-1a of the bytes of all parameters, running statistics among them.
unsigned long long hash(const Net& net) {
  const ParameterList list(net);
  const auto* bytes = reinterpret_cast<const unsigned char*>(list.arena()->data);
  unsigned long long value = 0xcbf29ce484222325;
  for (long i = 0; i < long(list.bytes()); ++i) value = (value ^ bytes[i]) * 0x100000001b3;
  return value;
}

struct Losses {
  std::vector<double>& value;
  void step_end(RunInfo& run) { value.push_back(run.loss()); }
};

struct Outcome {
  unsigned long long first, last;
  std::vector<double> losses;
  bool operator==(const Outcome&) const = default;
};

Outcome trained(Mode mode, int threads) {
  const ContextScope scope({.mode = mode, .num_threads = threads, .seed = 7});
  std::vector<float> x;
  std::vector<std::int32_t> y;
  Random random(3);
  for (int i = 0; i < 40; ++i) {
    y.push_back(i % 4);
    for (int k = 0; k < 144; ++k) x.push_back(random.uniform(-0.5f, 0.5f) + (k / 36 == i % 4 ? 1.0f : 0.0f));
  }
  const auto data =
      dataset::from_arrays(dataset::column<Shape<1, 12, 12>>(std::move(x)), dataset::column<Shape<>>(std::move(y)));
  Net net;
  net.init_parameters();
  Outcome outcome{hash(net), 0, {}};
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 0.02f}};
  model.train(8, data | dataset::batch(16), Losses{outcome.losses});  // 3 batches, one short
  outcome.last = hash(net);
  return outcome;
}

}  // namespace

int main() {
  const Outcome graph = trained(Mode::graph, 1);
  if (!(graph.losses.back() < graph.losses.front() / 2)) {
    std::printf("the loss does not fall: %g, then %g\n", graph.losses.front(), graph.losses.back());
    return 1;
  }
  for (const int threads : {1, 2, 3})
    for (const Mode mode : {Mode::graph, Mode::pynative})
      if (!(trained(mode, threads) == graph)) {
        std::printf("other bits in mode %d on %d threads\n", int(mode), threads);
        return 1;
      }
  std::printf("%016llx %016llx\n", graph.first, graph.last);
}
