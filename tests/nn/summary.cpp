// The table of a network: rows, shapes, counts by hand, totals, memory.
// headers: yes
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "support.hpp"

#include <tenon/nn/frozen.hpp>
#include <tenon/nn/layer/cell_list.hpp>
#include <tenon/nn/layer/conv/conv2d.hpp>
#include <tenon/nn/layer/dropout.hpp>
#include <tenon/nn/layer/norm/batch_norm.hpp>
#include <tenon/nn/summary.hpp>
#include <tenon/ops/pool2d.hpp>
#include <tenon/ops/reshape.hpp>
#include <tenon/train/summary.hpp>

using namespace cells;

namespace {

struct LeNet : nn::Cell<LeNet> {
  nn::Conv2d<1, 6, 5> conv1;
  nn::Conv2d<6, 16, 5, nn::Conv2dConfig{.pad_mode = PadMode::valid, .has_bias = true}> conv2;
  nn::BatchNorm2d<16> norm;
  nn::Frozen<nn::Dense<400, 120>> fc1;
  nn::Dropout<> drop;
  nn::CellList<nn::Dense<120, 120>, 2> list;
  nn::Dense<120, 10> fc;
  constexpr auto construct(auto x) const {
    const auto a = max_pool2d<2>(relu(conv1(x)));
    const auto b = max_pool2d<2>(relu(norm(conv2(a))));
    return fc(list(drop(relu(fc1(flatten(b))))));
  }
};
using X = Tensor<float, Shape<dyn, 1, 28, 28>>;

bool has(const std::string& text, const std::string& part) {
  CAPTURE(part);
  const bool found = text.find(part) != text.npos;
  CHECK(found);
  return found;
}

}  // namespace

TEST_CASE("summary: cells in their order with shapes, parameters, and multiply-adds counted by hand") {
  const ContextScope scope({.num_threads = 1});
  LeNet net;
  const std::string table = nn::summary(net, X::empty(32));
  const char* const expected = "Cell                  Output            Parameters  Multiply-adds\n"
                               "-----------------------------------------------------------------\n"
                               "network (LeNet)       [32, 10]              81,000     13,939,200\n"
                               "  conv1 (Conv2d)      [32, 6, 28, 28]          150      3,763,200\n"
                               "  conv2 (Conv2d)      [32, 16, 10, 10]       2,416      7,680,000\n"
                               "  norm (BatchNorm2d)  [32, 16, 10, 10]          64              0\n"
                               "  fc1 (Frozen)        [32, 120]             48,120      1,536,000\n"
                               "  drop (Dropout)      [32, 120]                  0              0\n"
                               "  list (CellList)     [32, 120]             29,040        921,600\n"
                               "    0 (Dense)         [32, 120]             14,520        460,800\n"
                               "    1 (Dense)         [32, 120]             14,520        460,800\n"
                               "  fc (Dense)          [32, 10]               1,210         38,400\n"
                               "-----------------------------------------------------------------\n"
                               "Parameters: 81,000, trained 32,848, not trained 48,152\n";
  CHECK(table.substr(0, table.find("Multiply-adds: ")) == expected);
  has(table, "Multiply-adds: 13,939,200 for a batch of 32\n");
}

TEST_CASE("summary: freezing by flag shows in the totals") {
  LeNet net;
  net.conv1.weight.requires_grad(false);
  has(nn::summary(net, X::empty(1)), "trained 32,698, not trained 48,302\n");
}

TEST_CASE("summary: the memory of an evaluation and of a training step is that of their plans") {
  const ContextScope scope({.num_threads = 1});
  LeNet net;
  const auto label = Tensor<std::int32_t, Shape<dyn>>::empty(32);
  using Predict = Compiled<detail::Forward<LeNet, TypeKey<Dtype::float32, dyn, 1, 28, 28>>>;
  has(nn::summary(net, X::empty(32)),
      "Memory, scratch of an evaluation: " + detail::bytes_text(Predict::program.bytes(32, 1)) + "\n");
  const std::string training =
      training_summary(net, nn::SoftmaxCrossEntropyWithLogits{}, momentum(), X::empty(32), label);
  has(training, "Memory, parameters: ");
  has(training, "Memory, optimizer state: ");
  has(training, "Memory, scratch of a training step: ");
  has(training, "Memory, peak: ");
}

TEST_CASE("summary: bytes and numbers as text") {
  CHECK(detail::bytes_text(0) == "0 B");
  CHECK(detail::bytes_text(1023) == "1023 B");
  CHECK(detail::bytes_text(1024) == "1.0 KiB");
  CHECK(detail::bytes_text(1536 * 1024) == "1.5 MiB");
  CHECK(detail::bytes_text(3L << 30) == "3.0 GiB");
  CHECK(detail::with_commas(0) == "0");
  CHECK(detail::with_commas(999) == "999");
  CHECK(detail::with_commas(1000) == "1,000");
  CHECK(detail::with_commas(1234567) == "1,234,567");
}
