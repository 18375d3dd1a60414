// Lesson 16: an autoencoder that removes noise: it turns 784 pixels into 16 numbers, and these into the clean digit.
#include <cmath>
#include <cstdio>
#include <span>

#include <tenon/dataset/operation/split.hpp>
#include <tenon/tenon.hpp>

using namespace tenon;
using dataset::Column, dataset::Columns, dataset::Inputs;

struct Encoder : nn::Cell<Encoder> {
  nn::Dense<784, 128> hidden;
  nn::Dense<128, 16> code;
  constexpr auto construct(auto image) const { return code(relu(hidden(flatten(image)))); }
};
struct Decoder : nn::Cell<Decoder> {
  nn::Dense<16, 128> hidden;
  nn::Dense<128, 784> pixels;
  constexpr auto construct(auto code) const { return pixels(relu(hidden(code))); }
};
struct Autoencoder : nn::Cell<Autoencoder> {
  Encoder encoder;
  Decoder decoder;
  constexpr auto construct(auto image) const { return decoder(encoder(image)); }  // [n, 1, 28, 28] -> [n, 784]
};

// Each row becomes a digit with noise, which is new in each epoch, and the same digit without. The label is left out.
static const auto add_noise =
    dataset::map<Inputs<"image", "label">,
                 Columns<Column<float, Shape<1, 28, 28>, "noisy">, Column<float, Shape<784>, "clean">>>(
        [](auto image, auto, std::span<float> noisy, std::span<float> clean, Random& random) {
          for (std::size_t i = 0; i < noisy.size(); ++i) {
            clean[i] = image.data()[i];
            noisy[i] = clean[i] + random.uniform(-0.5f, 0.5f);
          }
        });

int main() {
  set_context({.seed = 1});
  const auto [train, test] = dataset::split(dataset::Digits{} | dataset::take(2200), {2000, 200});
  Autoencoder net;
  Model model{net, nn::MSELoss{}, nn::Adam{.learning_rate = 1e-3f}};
  model.train(10, train | add_noise | dataset::shuffle(2000) | dataset::batch(50), LossMonitor{200});

  double before = 0, after = 0, numbers = 0;
  for (const auto& [noisy, clean] : test | add_noise | dataset::batch(100)) {
    const auto code = net.encoder(noisy);  // the parts of a trained network can be called, too
    const auto cleaned = net.decoder(code);
    for (long i = 0; i < clean.count(); ++i) {
      const double truth = double(clean.data()[i]);
      before += std::pow(double(noisy.data()[i]) - truth, 2), after += std::pow(double(cleaned.data()[i]) - truth, 2);
    }
    numbers += double(clean.count());
  }
  std::printf("mean squared error of new digits: %.4f with noise, %.4f cleaned\n", before / numbers, after / numbers);
  return after < before / 2 ? 0 : 1;
}
