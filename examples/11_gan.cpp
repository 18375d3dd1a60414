// Lesson 11: a generative adversarial network: two networks in one, two losses, two optimizers.
//
// The generator makes points from noise, and the critic distinguishes them from points on a ring. Each learns from
// the other.
#include <cstdio>
#include <numbers>

#include <tenon/more.hpp>
#include <tenon/tenon.hpp>

using namespace tenon;

template <int out>
using Mlp = nn::SequentialCell<nn::Dense<2, 32>, nn::ReLU, nn::Dense<32, 32>, nn::ReLU, nn::Dense<32, out>>;

struct Gan : nn::Cell<Gan> {
  Mlp<2> generator;
  Mlp<1> critic;
};

// The target of the critic: points of the ring are real, points of the generator are not.
constexpr auto critic_loss = [](const auto& gan, const auto& real) {
  const auto made = gan.generator(rand_like(real) * 2 - 1);
  return reduce_mean(softplus(-gan.critic(real))) + reduce_mean(softplus(gan.critic(made)));
};
// The target of the generator: the critic classifies its points as real.
constexpr auto generator_loss = [](const auto& gan, const auto& real) {
  return reduce_mean(softplus(-gan.critic(gan.generator(rand_like(real) * 2 - 1))));
};

// Points [count, 2] at distances of 0.9 to 1.1.
static auto ring(long count) {
  const auto like = Tensor<float, Shape<dyn, 1>>::zeros(count);
  const auto angle = rand_like(like) * 2 * std::numbers::pi, radius = 0.9 + 0.2 * rand_like(like);
  return concat<1>(radius * cos(angle), radius * sin(angle));
}

int main() {
  set_context({.seed = 3});
  const auto data = dataset::from_arrays(ring(6400)) | dataset::shuffle(6400) | dataset::batch(64);
  Gan gan;  // each step trains a part of it
  nn::TrainOneStepCell train_critic(gan, gan.critic, nn::Adam{.learning_rate = 2e-3, .beta1 = 0.5f}, critic_loss);
  nn::TrainOneStepCell train_generator(gan, gan.generator, nn::Adam{.learning_rate = 1e-3, .beta1 = 0.5f},
                                       generator_loss);
  for (std::uint64_t epoch = 1; epoch <= 60; ++epoch) {
    float critic = 0, generator = 0;
    for (const auto& [real] : dataset::rows(data, epoch)) {
      critic = train_critic(real).item();
      generator = train_generator(real).item();
    }
    if (epoch % 15 == 0)
      std::printf("epoch %2d  critic %.3f  generator %.3f\n", int(epoch), double(critic), double(generator));
  }

  // The distance of new points from the ring, and the number of eighths of the ring that they reach.
  const auto points = gan.generator(rand_like(Tensor<float, Shape<dyn, 2>>::zeros(1000)) * 2 - 1);
  const double distance = double(reduce_mean(abs(norm<1>(points) - 1)).item());
  const auto angle = atan2(slice<1, Part{1, 2}>(points), slice<1, Part{0, 1}>(points));
  const auto eighth = cast<std::int32_t>((angle / (2 * std::numbers::pi) + 0.5) * 8);
  const auto count = reduce_sum<0>(one_hot<8>(squeeze<1>(clip_by_value(eighth, 0, 7))));
  const int reached = int(reduce_sum(cast<float>(count >= 25)).item());
  std::printf("new points are %.3f from the ring on average, in %d of its 8 eighths\n", distance, reached);
  return distance < 0.25 && reached >= 7 ? 0 : 1;
}
