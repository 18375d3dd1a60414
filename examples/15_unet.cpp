// Lesson 15: a U-Net that finds the pixels of disks among rings and noise.
//
// The network halves an image twice and enlarges it again with transposed convolutions. Each size also gets the image
// of the same size from the way down. The label has a class for each pixel.
#include <cmath>
#include <cstdio>
#include <vector>

#include <tenon/more.hpp>

using namespace tenon;

constexpr int size = 32;
constexpr nn::Conv2dConfig with_bias{.has_bias = true};

template <int In, int Out>
struct TwoConvolutions : nn::Cell<TwoConvolutions<In, Out>> {
  nn::Conv2d<In, Out, 3, with_bias> first;
  nn::Conv2d<Out, Out, 3, with_bias> second;
  constexpr auto construct(auto x) const { return relu(second(relu(first(x)))); }
};

template <int In, int Out>
using Enlarge = nn::Conv2dTranspose<In, Out, 2, nn::Conv2dTransposeConfig{.stride = 2, .has_bias = true}>;

struct UNet : nn::Cell<UNet> {
  TwoConvolutions<1, 8> down1;
  TwoConvolutions<8, 16> down2;
  TwoConvolutions<16, 32> bottom;
  Enlarge<32, 16> enlarge2;
  TwoConvolutions<32, 16> up2;
  Enlarge<16, 8> enlarge1;
  TwoConvolutions<16, 8> up1;
  nn::Conv2d<8, 1, 1, with_bias> output;

  // [n, 1, 32, 32] -> [n, 1, 32, 32], logits
  constexpr auto construct(auto image) const {
    auto x1 = down1(image);                      // [n, 8, 32, 32]
    auto x2 = down2(max_pool2d<2>(x1));          // [n, 16, 16, 16]
    auto x3 = bottom(max_pool2d<2>(x2));         // [n, 32, 8, 8]
    auto y2 = up2(concat<1>(x2, enlarge2(x3)));  // [n, 16, 16, 16]
    return output(up1(concat<1>(x1, enlarge1(y2))));
  }
};

// Images of a disk and a ring at random places; the label is 1 in the disk.
static auto images(Random random, int count) {
  std::vector<float> pixels, labels;
  for (int i = 0; i < count; ++i) {
    const float disk_x = random.uniform(6, 26), disk_y = random.uniform(6, 26), disk = random.uniform(3, 6);
    const float ring_x = random.uniform(6, 26), ring_y = random.uniform(6, 26), ring = random.uniform(3, 6);
    for (int y = 0; y < size; ++y)
      for (int x = 0; x < size; ++x) {
        const float to_disk = std::hypot(float(x) - disk_x, float(y) - disk_y);
        const float to_ring = std::hypot(float(x) - ring_x, float(y) - ring_y);
        const bool in_disk = to_disk < disk, in_ring = std::fabs(to_ring - ring) < 1;
        pixels.push_back(float(in_disk || in_ring) + random.uniform(-0.4f, 0.4f));
        labels.push_back(float(in_disk));
      }
  }
  return dataset::from_arrays(dataset::column<Shape<1, size, size>>(pixels),
                              dataset::column<Shape<1, size, size>>(labels));
}

int main() {
  set_context({.seed = 1});
  UNet net;
  Model model{net, nn::BCEWithLogitsLoss{}, nn::Adam{.learning_rate = 2e-3f}};
  model.train(6, images(Random(1), 512) | dataset::shuffle(512) | dataset::batch(16), LossMonitor{32});

  // Twice the common pixels, divided by those of the label and of the prediction.
  double common = 0, both = 0;
  for (const auto& [image, label] : images(Random(2), 100) | dataset::batch(50)) {
    const auto logits = model.predict(image);
    for (long i = 0; i < logits.count(); ++i) {
      const bool found = logits.data()[i] > 0, there = label.data()[i] > 0;
      common += found && there, both += found + there;
    }
  }
  std::printf("Dice coefficient of new images: %.3f\n", 2 * common / both);
  return 2 * common / both > 0.9 ? 0 : 1;
}
