// Lesson 21: transfer learning: what a network has learned of the digits 0 to 4 helps it to learn 5 to 9 from a few
// images.
#include <cstdio>
#include <span>

#include <tenon/dataset/operations.hpp>
#include <tenon/tenon.hpp>
#include <tenon/train/checkpoint.hpp>

using namespace tenon;
using dataset::Column;

struct Backbone : nn::Cell<Backbone> {
  nn::Conv2d<1, 8, 5> conv1;
  nn::Conv2d<8, 16, 5> conv2;
  constexpr auto construct(auto image) const {  // [n, 1, 28, 28] -> [n, 784]
    auto x = max_pool2d<2>(relu(conv1(image)));
    return flatten(max_pool2d<2>(relu(conv2(x))));
  }
};
struct Net : nn::Cell<Net> {
  Backbone backbone;
  nn::Dense<784, 5> head;
  constexpr auto construct(auto image) const { return head(backbone(image)); }
};

// The digits from `first` to first + 4 among `count` digits, as classes 0 to 4.
static auto five_digits(int first, dataset::Usage usage, long count) {
  return dataset::Digits{.usage = usage, .size = count} |
         dataset::filter<"label">(
             [first](std::span<const std::int32_t> label) { return label[0] >= first && label[0] < first + 5; }) |
         dataset::map<"label">([first](std::int32_t label) { return label - first; });
}

// The accuracy of the digits 5 to 9 after a training on about 30 of them.
static double learn_from_few(auto& net) {
  using enum dataset::Usage;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 3e-3f}, nn::Accuracy{}};
  model.train(20, five_digits(5, train, 60) | dataset::shuffle(60) | dataset::batch(10));
  return model.eval(five_digits(5, test, 1000) | dataset::batch(100))["accuracy"];
}

int main() {
  set_context({.seed = 1});
  {
    Net first;
    Model model{first, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 1e-3f}};
    model.train(2, five_digits(0, dataset::Usage::train, 8000) | dataset::shuffle(8000) | dataset::batch(50),
                LossMonitor{60});
    save_checkpoint(first.backbone, "backbone.safetensors");
  }
  Net scratch, transferred;
  load_checkpoint("backbone.safetensors", transferred.backbone);
  transferred.backbone.requires_grad(false);  // only the head is trained

  const double without = learn_from_few(scratch), with = learn_from_few(transferred);
  std::printf("digits 5 to 9 after some 30 images: accuracy %.3f from scratch, %.3f with what 0 to 4 taught\n", without,
              with);
  return with > without ? 0 : 1;
}
