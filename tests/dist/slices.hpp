// Networks in slices, one on each rank, and what their trainings leave, for tests.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <tenon/dist/mesh.hpp>
#include <tenon/dist/threads.hpp>
#include <tenon/nn/loss/softmax_cross_entropy.hpp>
#include <tenon/train/model.hpp>
#include <tenon/train/shards/sliced_ranks.hpp>

#include "../support/outcome.hpp"
#include "words.hpp"

namespace slices {

using namespace tenon;

/// What a training leaves on a rank: losses, parameters and moments by name.
struct Trained {
  std::vector<double> losses;
  std::map<std::string, std::vector<float>> values;
  bool operator==(const Trained&) const = default;
};

template <class Net, ModelOptions options = ModelOptions{}, class Data, class Optimizer, class... Parts>
Trained trained(const Data& data, long epochs, const Optimizer& optimizer, const Parts&... parts) {
  Net net;
  Model model{WithOptions<options>(), net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer, parts...};
  Trained all;
  support::Losses losses{all.losses};
  model.train(epochs, data, losses);
  const auto take = [&](const std::string& name, const AnyTensor& values) {
    const auto numbers = values.as<float>();
    all.values[name].assign(numbers.begin(), numbers.end());
  };
  for (const auto& [name, parameter] : ParameterList(net).dict()) take(name, parameter.view());
  for (const io::NamedTensor& moment : model.optimizer_state()) take(moment.name, moment.tensor);
  return all;
}

/// The axis along which a parameter of `Words` is in slices, or -1.
inline int axis_of(const std::string& name) {
  if (name.ends_with("down.weight")) return 1;
  return name.ends_with("down.bias") ? -1 : 0;
}
/// The whole tensor from those of the ranks, which have `columns` elements in each row along the axis.
inline std::vector<float> joined(const std::vector<Trained>& ranks, const std::string& name, std::size_t rows) {
  std::vector<float> whole;
  for (std::size_t row = 0; row < rows; ++row)
    for (const Trained& rank : ranks) {
      const std::vector<float>& own = rank.values.at(name);
      const std::size_t columns = own.size() / rows;
      whole.insert(whole.end(), own.begin() + std::ptrdiff_t(row * columns),
                   own.begin() + std::ptrdiff_t((row + 1) * columns));
    }
  return whole;
}
/// The ranks of a group of slices have equal losses and parameters that are not in slices. Returns what they have,
/// joined.
inline Trained joined(const std::vector<Trained>& ranks) {
  Trained whole{ranks[0].losses, {}};
  for (const auto& [name, values] : ranks[0].values) {
    const int axis = axis_of(name);
    for (const Trained& rank : ranks)
      if (axis < 0) CHECK(rank.values.at(name) == values);
    whole.values[name] = axis < 0 ? values : joined(ranks, name, axis == 0 ? 1 : 16);
  }
  for (const Trained& rank : ranks) CHECK(rank.losses == ranks[0].losses);
  return whole;
}

/// How far two trainings are from each other: the largest difference in relation to the largest number, of each tensor.
inline double distance(const Trained& a, const Trained& b) {
  double worst = 0;
  const auto compare = [&](const auto& x, const auto& y) {
    REQUIRE(x.size() == y.size());
    double most = 0, size = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      most = std::max(most, std::abs(double(x[i]) - double(y[i])));
      size = std::max(size, std::abs(double(x[i])));
    }
    worst = std::max(worst, size > 0 ? most / size : most);
  };
  compare(a.losses, b.losses);
  REQUIRE(a.values.size() == b.values.size());
  for (const auto& [name, values] : a.values) compare(values, b.values.at(name));
  return worst;
}

/// Trains a network in `Slices` slices on threads, as many for each replica, by train(group of replicas); joins them.
template <int Slices, class Train>
Trained trained_in_slices(Mode mode, int replicas, Train train) {
  const ContextScope scope({.mode = mode, .num_threads = 1, .seed = 11});
  std::vector<Trained> all(std::size_t(Slices * replicas));
  dist::run_ranks(Slices * replicas, [&](const dist::Communicator& ranks) {
    dist::create_mesh({{"replicas", replicas}, {"slices", Slices}});
    all[std::size_t(ranks.rank())] = train(dist::communicator("replicas"));
  });
  for (std::size_t k = 0; k < all.size(); ++k) CHECK(all[k] == all[k % Slices]);
  all.resize(Slices);
  return joined(all);
}

}  // namespace slices
