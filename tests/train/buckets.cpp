// Batches of several shapes in one training: a graph for each bucket, one set of parameters.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>

#include <unistd.h>

#include <tenon/dataset/operations.hpp>
#include <tenon/more.hpp>
#include <tenon/nn/loss/cross_entropy.hpp>
#include <tenon/train/checkpoint.hpp>
#include <tenon/train/training_file.hpp>

#include "../support/peak_memory.hpp"
#include "../support/sanitized.hpp"
#include "../support/tensors.hpp"

using namespace tenon;
using namespace support;
using dataset::any, dataset::Column, dataset::Columns, dataset::Ragged, dataset::pad;
using dataset::bucket_batch_by_length;

namespace {
constexpr int letters = 11, width = 16, heads = 2, longest = 128;

struct Block : nn::Cell<Block> {
  nn::LayerNorm<Shape<width>> norm1, norm2;
  nn::MultiHeadAttention<width, heads, nn::MultiHeadAttentionConfig{.causal = true}> attention;
  nn::Dense<width, 4 * width> up;
  nn::Dense<4 * width, width> down;
  constexpr auto construct(auto x) const {
    auto y = x + attention(norm1(x));
    return y + down(gelu(up(norm2(y))));
  }
};
struct Gpt : nn::Cell<Gpt> {
  nn::Embedding<letters, width> token;
  nn::PositionalEmbedding<longest, width> position;
  nn::CellList<Block, 2> blocks;
  nn::LayerNorm<Shape<width>> norm;
  nn::Dense<width, letters> head;
  constexpr auto construct(auto text) const { return head(norm(blocks(position(token(text))))); }
};
using NextLetter = nn::CrossEntropyLoss<nn::Reduction::mean, nn::CrossEntropyConfig{.ignore_index = -1}>;

// Texts of 5 to 128 letters with the next letters, as in buckets.py.
auto texts() {
  return dataset::generator<
      Columns<Column<std::int32_t, Ragged<any>, "text">, Column<std::int32_t, Ragged<any>, "next">>>(
      40, [](long i, auto text, auto next) {
        const long n = 5 + (37 * i) % 124;
        std::int32_t* const a = text.resize(n);
        std::int32_t* const b = next.resize(n);
        for (long t = 0; t < n; ++t) a[t] = int((i + t * (1 + i % 2)) % letters), b[t] = (a[t] + 1 + i % 2) % letters;
      });
}
// A file that is removed at the end.
const struct Path {
  std::string name = "buckets_" + std::to_string(::getpid()) + ".safetensors";
  ~Path() { std::remove(name.c_str()); }
} path;
// The weights of buckets.py.
void start(Gpt& net) {
  net.init_parameters();
  int k = 0;
  for (const auto& [name, parameter] : net.parameters_and_names()) {
    const float offset = name.ends_with("gamma") ? 1 : 0;
    auto values = parameter.view().template as<float>();
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = float(offset + 0.2 * std::sin(0.7 * double(i + 1) + k));
    ++k;
  }
}
struct Losses {
  std::vector<float>* all;
  std::vector<std::string>* shapes = nullptr;
  void on_train_step_end(auto& run) const {
    all->push_back(float(run.loss()));
    if (shapes) shapes->push_back(shape_text(run.dataset_element()[0].shape()));
  }
};
template <class Net>
std::vector<float> weights(Net& net) {
  std::vector<float> all;
  for (const auto& [name, parameter] : net.parameters_and_names())
    for (const float v : parameter.view().template as<float>()) all.push_back(v);
  return all;
}
// Losses of two epochs on the lengths 32, 64, 128, each text alone and without padding, in PyTorch: buckets.py.
constexpr float torch_losses[]{
    2.7821895f, 2.3818698f, 2.2745500f, 2.3915337f, 2.2329744f, 2.1428683f, 2.2653100f, 2.0135931f,
    2.0149760f, 2.0162653f, 2.0586347f, 2.0524159f, 1.9545941f, 2.0165144f, 1.8661278f, 1.8317611f,
    1.8227238f, 1.8589642f, 1.7312200f, 1.7370882f, 1.7648994f, 1.9260961f, 1.7121148f, 1.7427149f,
    1.7192666f, 1.8417790f, 1.7487101f, 1.6856943f, 1.9166478f, 1.6119155f,
};
}  // namespace

TEST_CASE("a GPT on mixed lengths: losses as without padding, equal bits in both modes") {
  const auto data = texts() | bucket_batch_by_length<"text", 32, 64, 128>({8, 4, 2}, pad<"next">(-1));
  std::vector<float> losses[2], trained[2];
  std::vector<std::string> shapes;
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode, .seed = 1});
    Gpt net;
    start(net);
    Model model{net, NextLetter{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}};
    shapes.clear();
    model.train(2, data, Losses{&losses[int(mode)], &shapes});
    trained[int(mode)] = weights(net);
    CHECK(data.size() == 15);
    CHECK(model.global_step() == 30);
  }
  CHECK(losses[0] == losses[1]);
  CHECK(trained[0] == trained[1]);
  REQUIRE(losses[0].size() == std::size(torch_losses));
  for (std::size_t i = 0; i < losses[0].size(); ++i) CHECK(std::abs(losses[0][i] - torch_losses[i]) < 1e-5);
  CHECK(torch_losses[29] < 0.7f * torch_losses[0]);  // it learns
  int count[3]{};
  for (const auto& shape : shapes) ++count[shape.ends_with(" 32]") ? 0 : shape.ends_with(" 64]") ? 1 : 2];
  CHECK(count[0] + count[1] + count[2] == 30);
  CHECK((count[0] > 0 && count[1] > 0 && count[2] > 0));
}

namespace {
// 1 if the last word, which padding would hide, is above 5.
struct Classifier : nn::Cell<Classifier> {
  nn::Embedding<letters, 8> token;
  nn::LSTM<8, 12> lstm;
  nn::Dense<12, 2> fc;
  constexpr auto construct(auto text) const {
    auto lengths = reduce_sum<1>(cast<std::int32_t>(text != 0));
    auto [all, h, c] = lstm(token(text), lengths);
    return fc(flatten(h));
  }
};
auto phrases(long count) {
  return dataset::generator<Columns<Column<std::int32_t, Ragged<any>, "text">, Column<std::int32_t, Shape<>>>>(
      count, [](long i, auto text, std::span<std::int32_t> label) {
        const long n = 1 + i * 7 % 12;
        std::int32_t* const words = text.resize(n);
        for (long t = 0; t < n; ++t) words[t] = int(1 + (i * 5 + t * t * 3) % (letters - 1));
        label[0] = words[n - 1] > 5;
      });
}
struct Stop {
  void on_train_step_end(auto& run) const {
    if (run.cur_step_num == 5) save_training(run.model, path.name), run.request_stop();
  }
};
}  // namespace

TEST_CASE("an LSTM on lengths: fit, predict, checkpoints, prefetch") {
  const auto data = phrases(240) | dataset::shuffle(240, 5) | bucket_batch_by_length<"text", 4, 8, 12>({16, 16, 8});
  const auto valid = phrases(60) | bucket_batch_by_length<"text", range<4, 12, 4>>(16);
  std::vector<float> trained[2];
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode, .seed = 3});
    Classifier net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 0.02f}, nn::Accuracy{}};
    static_assert(plan_of(model, data).bytes(16) > 0);
    std::vector<float> losses;
    model.fit(mode == Mode::graph ? 6 : 1, data | dataset::prefetch(2), valid, Losses{&losses});
    if (mode == Mode::graph) {
      CHECK(model.eval(valid)["accuracy"] > 0.95);
      const auto logits = model.predict(valid);  // in the order of the batches
      CHECK(logits.n() == 60);
      long right = 0, at = 0;
      for (const auto& row : valid)
        row.visit([&](const auto& one) {
          for (const std::int32_t label : one.template values<1>())
            right += (logits.data()[2 * at + 1] > logits.data()[2 * at]) == (label == 1), ++at;
        });
      CHECK(double(right) / 60 == doctest::Approx(model.eval(valid)["accuracy"]));
      save_checkpoint(net, path.name);
      Classifier again;
      load_checkpoint(path.name, again);
      // a length of the run: the smallest bucket that has room for it, with the bits of any other
      for (const long n : {3L, 8L, 9L}) {
        const auto in = [&]<int L>() {
          auto x = Tensor<std::int32_t, Shape<dyn, L>>::zeros(1);
          for (long t = 0; t < n; ++t) x.data()[t] = int(1 + t);
          const auto y = again(x);
          return std::pair(y.data()[0], y.data()[1]);
        };
        CHECK(choose_bucket<4, 8, 12>(n, in) == in.template operator()<12>());
      }
    }
    Classifier one;
    Model single{one, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 0.02f}};
    single.train(1, data);
    trained[int(mode)] = weights(one);
  }
  CHECK(trained[0] == trained[1]);
}

TEST_CASE("one bucket has the bits of a padded batch") {
  const ContextScope scope({.seed = 2});
  const nn::Momentum optimizer{.learning_rate = 0.1f, .momentum = 0.9f};
  Classifier a, b;
  Model bucketed{a, nn::SoftmaxCrossEntropyWithLogits{}, optimizer};
  Model padded{b, nn::SoftmaxCrossEntropyWithLogits{}, optimizer};
  bucketed.train(2, phrases(50) | bucket_batch_by_length<"text", 12>(16));
  padded.train(2, phrases(50) | dataset::batch(16, pad<"text">(Shape<12>{}, 0)));
  CHECK(weights(a) == weights(b));
}

TEST_CASE("a training resumes in the middle of an epoch") {
  const ContextScope scope({.seed = 2});
  const auto data = phrases(100) | dataset::shuffle(100, 1) | bucket_batch_by_length<"text", 4, 12>(8);
  const nn::Adam optimizer{.learning_rate = 0.01f};
  Classifier whole, begun, resumed;
  Model a{whole, nn::SoftmaxCrossEntropyWithLogits{}, optimizer};
  a.train(2, data);
  Model b{begun, nn::SoftmaxCrossEntropyWithLogits{}, optimizer};
  b.train(2, data, Stop{});
  Model c{resumed, nn::SoftmaxCrossEntropyWithLogits{}, optimizer};
  load_training(path.name, c);
  c.train(2, data);
  CHECK(weights(whole) == weights(resumed));
  CHECK(weights(whole) != weights(begun));
}

namespace {
struct Images : nn::Cell<Images> {
  nn::Conv2d<1, 4, 3> conv;
  nn::Dense<4, 2> fc;
  constexpr auto construct(auto x) const { return fc(reduce_mean<2, 3>(relu(conv(x)))); }
};
}  // namespace

TEST_CASE("a convolutional network on images of two sizes") {
  // stripes along or across, 8 x 8 or 12 x 10
  const auto images =
      dataset::generator<Columns<Column<float, Ragged<1, any, any>, "image">, Column<std::int32_t, Shape<>, "label">>>(
          64, [](long i, auto image, std::span<std::int32_t> label) {
            const long height = i % 3 ? 8 : 12, width = i % 3 ? 8 : 10;
            label[0] = int(i / 2 % 2);
            float* const to = image.resize(1, height, width);
            for (long y = 0; y < height; ++y)
              for (long x = 0; x < width; ++x) to[y * width + x] = float(((label[0] ? x : y) + i) / 2 % 2);
          });
  const auto data = images | bucket_batch_by_length<"image", Shape<8, 8>{}, Shape<12, 10>{}>({8, 4});
  std::vector<float> trained[2];
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode, .seed = 1});
    Images net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 0.05f}, nn::Accuracy{}};
    model.train(8, data);
    CHECK(model.eval(data)["accuracy"] > 0.95);
    trained[int(mode)] = weights(net);
  }
  CHECK(trained[0] == trained[1]);
}

TEST_CASE("the steps of all buckets share scratch memory") {
  const ContextScope scope({.num_threads = 1, .seed = 1});
  const auto data = texts() | bucket_batch_by_length<"text", 44, 84, 128>(12, pad<"next">(-1));
  Gpt net;
  Model model{pinned<Mode::graph>, net, NextLetter{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}};
  const long before = live_bytes;
  model.train(1, data);
  const long held = live_bytes - before, scratch = plan_of(model, data).bytes(12, 1);
  CHECK(scratch > 1 << 20);
  if (sanitized) return;  // nothing is counted
  CHECK(held > scratch * 3 / 4);
  CHECK(held < scratch * 5 / 4);
}
