// Lesson 24: arrays in the language of xtensor: a data set, a transform, a metric, and a callback of its expressions.
// link: xtensor
#include <cstdio>
#include <span>

#include <tenon/dataset/operations.hpp>
#include <tenon/dataset/source/xtensor_column.hpp>
#include <tenon/tenon.hpp>

#if __has_include(<xtensor/generators/xbuilder.hpp>)  // 0.26 and newer
#include <xtensor/core/xmath.hpp>
#include <xtensor/generators/xbuilder.hpp>
#include <xtensor/generators/xrandom.hpp>
#include <xtensor/misc/xsort.hpp>
#include <xtensor/views/xview.hpp>
#else
#include <xtensor/xbuilder.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xrandom.hpp>
#include <xtensor/xsort.hpp>
#include <xtensor/xview.hpp>
#endif

using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<16, 32> hidden;
  nn::Dense<32, 1> output;
  constexpr auto construct(auto x) const { return output(tanh(hidden(x))); }
};

// A wave of 16 samples in time, and what is asked for: its frequency.
static auto waves(std::size_t count, unsigned seed) {
  xt::random::seed(seed);
  const xt::xtensor<float, 2> frequency = xt::random::rand<float>({count, std::size_t(1)}, 1.0f, 4.0f);
  const xt::xtensor<float, 1> time = xt::linspace<float>(0, 1, 16);
  const xt::xtensor<float, 2> wave = 5.0f + 3.0f * xt::sin(frequency * xt::view(time, xt::newaxis(), xt::all()));
  return dataset::from_arrays(dataset::column_of<Shape<16>>(wave), dataset::column_of<Shape<1>>(frequency));
}

// A transform of one sample: mean 0 and standard deviation 1.
static void standardize(std::span<const float> in, std::span<float> out) {
  const auto x = xt::adapt(in.data(), in.size(), xt::no_ownership(), std::array{in.size()});
  auto y = xt::adapt(out.data(), out.size(), xt::no_ownership(), std::array{out.size()});
  y = (x - xt::mean(x)()) / xt::stddev(x)();
}

// A metric: the median of the errors of all batches.
struct MedianError {
  static constexpr std::string_view name = "median_error";
  xt::xtensor<float, 1> errors = xt::zeros<float>({0});
  void clear() { errors = xt::zeros<float>({0}); }
  void update(const AnyTensor& prediction, const AnyTensor& label) {
    const xt::xarray<float> batch = xt::abs(as_xtensor<float>(prediction) - as_xtensor<float>(label));
    errors = xt::concatenate(xt::xtuple(errors, xt::flatten(batch)));
  }
  double eval() const { return double(xt::median(errors)); }
};

// A callback: how many units of the hidden layer have weights of a norm above 1.
struct WideUnits {
  std::size_t count = 0;
  void epoch_end(auto& run) {
    const auto weight = as_xtensor<float>(run.network().hidden.weight.view());
    const xt::xtensor<float, 1> norms = xt::sqrt(xt::sum(weight * weight, {1}));
    count = xt::sum(xt::cast<std::size_t>(norms > 1.0f))();
    if (run.cur_epoch_num % 20 == 0) std::printf("epoch %ld: %zu units above 1\n", run.cur_epoch_num, count);
  }
};

int main() {
  set_context({.seed = 1});
  const auto transformed = [](auto data) {
    return data | dataset::map<0, dataset::Column<float, Shape<16>, "wave">>(standardize) | dataset::batch(32);
  };
  const auto train = transformed(waves(1000, 1) | dataset::shuffle(1000));
  const auto test = transformed(waves(200, 2));

  Net net;
  WideUnits units;
  Model model{net, nn::MSELoss{}, nn::Adam{.learning_rate = 3e-3f}, MedianError{}};
  model.train(60, train, units);
  const double error = model.eval(test)["median_error"];

  // predictions as an xt::xtensor
  auto predicted = model.predict(test);
  const xt::xtensor<float, 2> frequencies = as_xtensor(predicted);
  std::printf("median error %.3f of frequencies from %.2f to %.2f\n", error, double(xt::amin(frequencies)()),
              double(xt::amax(frequencies)()));
  return error < 0.1 && units.count > 0 ? 0 : 1;
}
