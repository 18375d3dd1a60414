// Lesson 25: a diffusion model that draws points of a spiral. It learns to tell the noise from points that have a known
// share of it. A drawing begins with noise alone, of which the network then takes away a little in each of 50 steps.
// Ho and others, Denoising Diffusion Probabilistic Models, arXiv 2006.11239.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <tenon/more.hpp>
#include <tenon/train/callbacks.hpp>

using namespace tenon;

constexpr int steps = 50, width = 128;

struct Denoiser : nn::Cell<Denoiser> {
  nn::Dense<2, width> point;
  nn::Embedding<steps, width, {}, nn::Normal{1.0f}> step;
  nn::CellList<nn::SequentialCell<nn::Dense<width, width>, nn::SiLU>, 3> layers;
  nn::Dense<width, 2> output;
  // The noise in points x [n, 2] that have that of step t [n].
  constexpr auto construct(auto x, auto t) const { return output(layers(silu(point(x) + step(t)))); }
};

// The loss: points get the noise of random steps.
struct Diffusion : nn::Cell<Diffusion> {
  Denoiser denoiser;
  Parameter<float, Shape<steps>, nn::Zero{}, false> kept;  // of a point's variance after each step
  constexpr auto construct(auto x) const {
    auto t = randint<Shape<dyn>, 0, steps>(x);
    auto share = expand_dims<1>(gather(value_in(x, kept), t));
    auto noise = randn_like(x);
    return nn::MSELoss{}(denoiser(sqrt(share) * x + sqrt(1.0f - share) * noise, t), noise);
  }
};

using Points = Tensor<float, Shape<dyn, 2>>;

static Points draw(const Denoiser& denoiser, const std::vector<float>& kept, long count) {
  Points x = randn_like(Points::zeros(count));
  for (int t = steps - 1; t >= 0; --t) {
    const float now = kept[std::size_t(t)], before = t > 0 ? kept[std::size_t(t) - 1] : 1, share = now / before;
    const auto noise = denoiser(x, Tensor<std::int32_t, Shape<dyn>>::full(t, count));
    x = (x - noise * ((1 - share) / std::sqrt(1 - now))) / std::sqrt(share);
    if (t > 0) x = x + randn_like(x) * std::sqrt((1 - share) * (1 - before) / (1 - now));
  }
  return x;
}

struct Place {
  float x, y;
};
// A spiral of about a turn; u is 0 in its middle, and 1 at its end.
static Place spiral(float u) {
  const float angle = 7 * u, radius = 0.3f + 1.5f * u;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}
static float distance_to_spiral(float x, float y) {
  float least = 100;
  for (int i = 0; i <= 500; ++i) {
    const Place place = spiral(float(i) / 500);
    least = std::min(least, std::hypot(x - place.x, y - place.y));
  }
  return least;
}

int main() {
  set_context({.seed = 1});
  Random random(1);
  std::vector<float> points;
  for (int i = 0; i < 6400; ++i) {
    const Place place = spiral(random.uniform());
    points.insert(points.end(), {place.x, place.y});
  }
  const auto data =
      dataset::from_arrays(dataset::column<Shape<2>>(points)) | dataset::shuffle(6400) | dataset::batch(64);
  Diffusion net;
  net.init_parameters();
  std::vector<float> kept;
  for (int t = 0; t < steps; ++t) kept.push_back((t > 0 ? kept.back() : 1) * (1 - 0.001f - 0.2f * float(t) / steps));
  std::copy(kept.begin(), kept.end(), net.kept.values().begin());

  Model model{net, NoLoss{}, nn::Adam{.learning_rate = nn::CosineDecayLR(1e-4, 3e-3, 5000)}};
  model.train(50, data, LossMonitor{1000}, ExponentialMovingAverage{.decay = 0.99});

  const Points drawn = draw(net.denoiser, kept, 400);
  std::vector<std::string> picture(21, std::string(42, ' '));
  double distance = 0;
  for (long i = 0; i < drawn.n(); ++i) {
    const float x = drawn.data()[2 * i], y = drawn.data()[2 * i + 1];
    distance += double(distance_to_spiral(x, y)) / double(drawn.n());
    const int column = int((x + 2) * 10.5f), row = int((2 - y) * 5.25f);
    if (column >= 0 && column < 42 && row >= 0 && row < 21) picture[std::size_t(row)][std::size_t(column)] = '*';
  }
  for (const std::string& line : picture) std::puts(line.c_str());
  std::printf("points are %.3f away from the spiral\n", distance);
  return distance < 0.1 ? 0 : 1;
}
