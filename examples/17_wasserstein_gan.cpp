// Lesson 17: a Wasserstein GAN with gradient penalty: the loss of the critic contains a gradient of the critic.
//
// Source: Gulrajani and others, arXiv 1704.00028. The step is one compiled graph, in both modes.
#include <cstdio>

#include <tenon/more.hpp>
#include <tenon/tenon.hpp>

using namespace tenon;

template <int out>
using Mlp = nn::SequentialCell<nn::Dense<2, 64>, nn::ReLU, nn::Dense<64, 64>, nn::ReLU, nn::Dense<64, out>>;

struct Gan : nn::Cell<Gan> {
  Mlp<2> generator;
  Mlp<1> critic;
};

// The critic's values of real points shall exceed those of made ones, with slopes of 1 between them.
constexpr auto critic_loss = [](const auto& gan, const auto& real) {  // real: [n, 2]
  const auto made = gan.generator(rand_like(real) * 2 - 1);
  const auto part = rand_like(slice<1, Part{0, 1}>(real));
  const auto between = part * real + (1 - part) * made;
  const auto slope = grad([&](auto x) { return reduce_sum(gan.critic(x)); })(between);
  const auto length = sqrt(reduce_sum<1>(square(slope)) + 1e-12f);
  return reduce_mean(gan.critic(made)) - reduce_mean(gan.critic(real)) + 10 * reduce_mean(square(length - 1));
};
constexpr auto generator_loss = [](const auto& gan, const auto& real) {
  return -reduce_mean(gan.critic(gan.generator(rand_like(real) * 2 - 1)));
};

// Points [count, 2] around the corners of a square.
static auto corners(long count) {
  const auto like = Tensor<float, Shape<dyn, 2>>::zeros(count);
  return sign(rand_like(like) - 0.5) + rand_like(like) * 0.2 - 0.1;
}

int main() {
  set_context({.seed = 3});
  const auto data = dataset::from_arrays(corners(6400)) | dataset::shuffle(6400) | dataset::batch(64);
  Gan gan;
  nn::TrainOneStepCell train_critic(gan, gan.critic, nn::Adam{.learning_rate = 5e-4, .beta1 = 0.5f, .beta2 = 0.9f},
                                    critic_loss);
  nn::TrainOneStepCell train_generator(gan, gan.generator,
                                       nn::Adam{.learning_rate = 5e-4, .beta1 = 0.5f, .beta2 = 0.9f}, generator_loss);
  for (std::uint64_t epoch = 1; epoch <= 150; ++epoch) {
    float distance = 0;
    int step = 0;
    for (const auto& [real] : dataset::rows(data, epoch)) {
      distance = -train_critic(real).item();
      if (++step % 5 == 0) train_generator(real);  // the critic learns faster than the generator
    }
    if (epoch % 30 == 0) std::printf("epoch %3d  estimated distance %.3f\n", int(epoch), double(distance));
  }

  // How far new points are from the next corner on average, and how many of the corners they reach.
  const auto points = gan.generator(rand_like(Tensor<float, Shape<dyn, 2>>::zeros(1000)) * 2 - 1);
  const double distance = double(reduce_mean(norm<1>(abs(points) - 1)).item());
  const auto right = cast<std::int32_t>(points > 0);
  const auto corner = slice<1, Part{0, 1}>(right) + 2 * slice<1, Part{1, 2}>(right);
  const auto count = reduce_sum<0>(one_hot<4>(squeeze<1>(corner)));
  const int reached = int(reduce_sum(cast<float>(count >= 100)).item());
  std::printf("new points are %.3f from a corner on average, at %d of 4 corners\n", distance, reached);
  return distance < 0.25 && reached == 4 ? 0 : 1;
}
