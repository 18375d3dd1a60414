// Lesson 19: a residual network on CIFAR-10 from JPEG files, with augmentation, batch norms, and a learning rate that
// rises and falls.
// link: png jpeg
// label: long
//
//     19_cifar FOLDER [EPOCHS]    FOLDER/train and FOLDER/test have a folder of images for each of the ten classes.
//                                 Without a folder, pictures are drawn: they take seconds to learn
//
// It is ResNet-18 (He and others, arXiv 1512.03385) for images of 32 x 32 pixels with a quarter of its channels.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <tenon/dataset/source/image_folder.hpp>
#include <tenon/dataset/vision/vision.hpp>
#include <tenon/io/png.hpp>
#include <tenon/tenon.hpp>
#include <tenon/train/callbacks.hpp>

using namespace tenon;

constexpr int width = 16, classes = 10;

template <int In, int Out, int kernel, int stride>
using Convolution = nn::Conv2d<In, Out, kernel, nn::Conv2dConfig{.stride = stride}>;

// Two convolutions whose result is added to the input, which a third one changes if the shape changes.
template <int In, int Out, int stride>
struct Block : nn::Cell<Block<In, Out, stride>> {
  Convolution<In, Out, 3, stride> conv1;
  nn::BatchNorm2d<Out> norm1;
  Convolution<Out, Out, 3, 1> conv2;
  nn::BatchNorm2d<Out> norm2;
  nn::SequentialCell<Convolution<In, Out, 1, stride>, nn::BatchNorm2d<Out>> shortcut;

  constexpr auto construct(auto x) const {
    auto y = norm2(conv2(relu(norm1(conv1(x)))));
    if constexpr (In == Out) return relu(y + x);
    else return relu(y + shortcut(x));
  }
};
template <int In, int Out, int stride>
using Stage = nn::SequentialCell<Block<In, Out, stride>, Block<Out, Out, 1>>;

struct ResNet : nn::Cell<ResNet> {
  Convolution<3, width, 3, 1> conv;
  nn::BatchNorm2d<width> norm;
  Stage<width, width, 1> stage1;
  Stage<width, 2 * width, 2> stage2;
  Stage<2 * width, 4 * width, 2> stage3;
  Stage<4 * width, 8 * width, 2> stage4;
  nn::Dense<8 * width, classes> output;

  constexpr auto construct(auto image) const {  // [n, 3, 32, 32] -> [n, 10]
    auto x = stage4(stage3(stage2(stage1(relu(norm(conv(image)))))));
    return output(reduce_mean<2, 3>(x));
  }
};

// Pictures of rings; the class is their color.
static void draw(const std::string& folder, int count, Random random) {
  for (int kind = 0; kind < classes; ++kind) {
    const std::string to = folder + "/" + std::to_string(kind);
    std::filesystem::create_directories(to);
    for (int i = 0; i < count; ++i) {
      const float x = random.uniform(8, 24), y = random.uniform(8, 24);
      std::vector<std::uint8_t> pixels;
      for (int k = 0; k < 32 * 32; ++k) {
        const float wave = std::sin(std::hypot(float(k % 32) - x, float(k / 32) - y));
        for (int channel = 0; channel < 3; ++channel) {
          const float color = std::cos(6.2832f * (float(kind) / classes + float(channel) / 3));
          pixels.push_back(std::uint8_t(128 + 50 * color + 20 * wave + random.uniform(-50, 50)));
        }
      }
      io::write_file(to + "/" + std::to_string(i) + ".png", io::encode_png({32, 32, 3, pixels}));
    }
  }
}

int main(int count, char** argument) {
  set_context({.seed = 1});
  std::string folder = count > 1 ? argument[1] : "rings";
  const long epochs = count > 2 ? std::atol(argument[2]) : 5;
  if (count == 1) draw(folder + "/train", 64, Random(1)), draw(folder + "/test", 20, Random(2));

  // Means and standard deviations of CIFAR-10's colors.
  const vision::NormalizeToCHW normalize{{125.3f, 123.0f, 113.9f}, {63.0f, 62.1f, 66.7f}};
  const vision::Compose augment{vision::DecodeTo<3>{}, vision::RandomCrop<32, 32>{.padding = 4},
                                vision::RandomHorizontalFlip{}, normalize};
  const vision::Compose plain{vision::DecodeTo<3>{}, vision::CenterCrop<32, 32>{}, normalize};
  const auto images = dataset::ImageFolder{folder + "/train"};
  const auto train = images | dataset::shuffle(images.size()) | dataset::map<"image">(augment) | dataset::batch(32) |
                     dataset::prefetch(4);
  const auto test = dataset::ImageFolder{folder + "/test"} | dataset::map<"image">(plain) | dataset::batch(100) |
                    dataset::prefetch(4);

  ResNet net;
  const nn::AdamWeightDecay optimizer{.learning_rate = nn::OneCycleLR(4e-3, epochs * train.size()),
                                      .weight_decay = 0.01f};
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer, nn::Accuracy{}};
  model.fit(epochs, train, test, ProgressBar{}, TimeMonitor{});
  const double accuracy = model.eval(test)["accuracy"];
  std::printf("accuracy on %ld test images: %.3f\n", dataset::ImageFolder{folder + "/test"}.size(), accuracy);
  return count > 1 || accuracy > 0.9 ? 0 : 1;
}
