// Lesson 17: a Wasserstein GAN with gradient penalty: the loss of the critic contains a gradient of the critic.
//
// Source: Gulrajani and others, arXiv 1704.00028. The step is one compiled graph, in both modes.
#include <cmath>
#include <cstdio>

#include <tenon/tenon.hpp>

using namespace tenon;

struct Generator : nn::Cell<Generator> {
  nn::Dense<2, 64> hidden1;
  nn::Dense<64, 64> hidden2;
  nn::Dense<64, 2> output;
  constexpr auto construct(auto noise) const { return output(relu(hidden2(relu(hidden1(noise))))); }
};
struct Critic : nn::Cell<Critic> {
  nn::Dense<2, 64> hidden1;
  nn::Dense<64, 64> hidden2;
  nn::Dense<64, 1> output;
  constexpr auto construct(auto point) const { return output(relu(hidden2(relu(hidden1(point))))); }
};

struct Gan : nn::Cell<Gan> {
  Generator generator;
  Critic critic;
};

// The critic's values of real points shall exceed those of made ones, with slopes of 1 between them.
// real, noise: [n, 2], part: [n, 1] in 0 .. 1
constexpr auto critic_loss = [](const auto& gan, const auto& real, const auto& noise, const auto& part) {
  const auto made = gan.generator(noise);
  const auto between = part * real + (1 - part) * made;
  const auto slope = grad([&](auto x) { return reduce_sum(gan.critic(x)); })(between);
  const auto length = sqrt(reduce_sum<1>(square(slope)) + 1e-12f);
  return reduce_mean(gan.critic(made)) - reduce_mean(gan.critic(real)) + 10 * reduce_mean(square(length - 1));
};
constexpr auto generator_loss = [](const auto& gan, const auto& noise) {
  return -reduce_mean(gan.critic(gan.generator(noise)));
};

using Points = Tensor<float, Shape<dyn, 2>>;
constexpr long batch = 64;

// Real points lie around the corners of a square.
static Points corners(Random& random) {
  Points p = Points::empty(batch);
  for (long i = 0; i < 2 * batch; ++i) p.data()[i] = (random.below(2) ? 1.0f : -1.0f) + random.uniform(-0.1f, 0.1f);
  return p;
}
template <class T>
static T uniform(Random& random, long n, float low, float high) {
  T t = T::empty(n);
  for (long i = 0; i < t.count(); ++i) t.data()[i] = random.uniform(low, high);
  return t;
}

int main() {
  set_context({.seed = 3});
  Gan gan;
  nn::TrainOneStepCell train_critic(gan, gan.critic, nn::Adam{.learning_rate = 1e-3f, .beta1 = 0.5f}, critic_loss);
  nn::TrainOneStepCell train_generator(gan, gan.generator, nn::Adam{.learning_rate = 1e-3f, .beta1 = 0.5f},
                                       generator_loss);

  Random random(5);
  for (long i = 1; i <= 1500; ++i) {
    float distance = 0;
    for (int k = 0; k < 5; ++k)  // the critic learns faster than the generator
      distance = -train_critic(corners(random), uniform<Points>(random, batch, -1, 1),
                               uniform<Tensor<float, Shape<dyn, 1>>>(random, batch, 0, 1))
                      .item();
    train_generator(uniform<Points>(random, batch, -1, 1));
    if (i % 300 == 0) std::printf("step %4ld  estimated distance %.3f\n", i, double(distance));
  }

  // How far new points are from the next corner on average, and how many of the corners they reach.
  const Points points = gan.generator(uniform<Points>(random, 1000, -1, 1));
  double distance = 0;
  int corner[4]{}, reached = 0;
  for (long i = 0; i < points.n(); ++i) {
    const double x = double(points.data()[2 * i]), y = double(points.data()[2 * i + 1]);
    distance += std::hypot(std::fabs(x) - 1, std::fabs(y) - 1) / double(points.n());
    ++corner[(x > 0) + 2 * (y > 0)];
  }
  for (const int count : corner) reached += count >= 100;
  std::printf("new points are %.3f from a corner on average, at %d of 4 corners\n", distance, reached);
  return distance < 0.25 && reached == 4 ? 0 : 1;
}
