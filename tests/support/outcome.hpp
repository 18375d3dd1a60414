// What a training leaves, and images for one: for tests that compare the bits of trainings.
#pragma once
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/random/random.hpp>
#include <tenon/dataset/dataset.hpp>
#include <tenon/nn/parameters.hpp>
#include <tenon/train/callback/run/run_info.hpp>

namespace support {

/// What some steps leave: the losses, and the bytes of all parameters, running statistics among them.
struct Outcome {
  std::vector<double> losses;
  std::string parameters;
  bool operator==(const Outcome&) const = default;

  template <class Net>
  void take_parameters(const Net& net) {
    const tenon::ParameterList list(net);
    parameters.assign(reinterpret_cast<const char*>(list.arena()->data), std::size_t(list.bytes()));
  }
};

struct Losses {
  std::vector<double>& value;
  void step_end(tenon::RunInfo& run) { value.push_back(run.loss()); }
};

/// Images in which one of four bands is bright, says the label. `missing`: the number of a pixel that is NaN.
template <class Image>
auto bands(long count, long missing = -1) {
  namespace dataset = tenon::dataset;
  tenon::Random random(3);
  std::vector<float> x;
  std::vector<std::int32_t> y;
  const long size = Image::dims.count(1);
  for (long i = 0; i < count; ++i) {
    y.push_back(std::int32_t(i % 4));
    for (long k = 0; k < size; ++k) x.push_back(random.uniform(-0.5f, 0.5f) + (k * 4 / size == i % 4 ? 1.0f : 0.0f));
  }
  if (missing >= 0) x[std::size_t(missing)] = std::nanf("");
  return dataset::from_arrays(dataset::column<Image>(std::move(x)), dataset::column<tenon::Shape<>>(std::move(y)));
}

/// What a Model leaves that trains on batches of them.
template <class Image, class M>
Outcome trained_on_bands(M& model, long epochs, long samples, long batch) {
  Outcome outcome;
  Losses losses{outcome.losses};
  model.train(epochs, bands<Image>(samples) | tenon::dataset::batch(batch), losses);
  outcome.take_parameters(model.network());
  return outcome;
}

}  // namespace support
