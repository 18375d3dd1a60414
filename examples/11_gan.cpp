// Lesson 11: a generative adversarial network: two networks in one, two losses, two optimizers.
//
// The generator makes points from noise, and the critic distinguishes them from points on a ring. Each learns from
// the other.
#include <cmath>
#include <cstdio>
#include <vector>

#include <tenon/tenon.hpp>

using namespace tenon;

struct Generator : nn::Cell<Generator> {
  nn::Dense<2, 32> hidden1;
  nn::Dense<32, 32> hidden2;
  nn::Dense<32, 2> output;
  constexpr auto construct(auto noise) const { return output(relu(hidden2(relu(hidden1(noise))))); }
};
struct Critic : nn::Cell<Critic> {
  nn::Dense<2, 32> hidden1;
  nn::Dense<32, 32> hidden2;
  nn::Dense<32, 1> output;
  constexpr auto construct(auto point) const { return output(relu(hidden2(relu(hidden1(point))))); }
};

struct Gan : nn::Cell<Gan> {
  Generator generator;
  Critic critic;
};

// The target of the critic: points of the ring are real, points of the generator are not.
constexpr auto critic_loss = [](const auto& gan, const auto& real, const auto& noise) {
  return reduce_mean(softplus(-gan.critic(real))) + reduce_mean(softplus(gan.critic(gan.generator(noise))));
};
// The target of the generator: the critic classifies its points as real.
constexpr auto generator_loss = [](const auto& gan, const auto& noise) {
  return reduce_mean(softplus(-gan.critic(gan.generator(noise))));
};

using Points = Tensor<float, Shape<dyn, 2>>;
constexpr long batch = 64;

static Points noise(Random& random, long count) {
  Points z = Points::empty(count);
  for (long i = 0; i < 2 * count; ++i) z.data()[i] = random.uniform(-1, 1);
  return z;
}
static Points ring(Random& random, long count) {
  Points p = Points::empty(count);
  for (long i = 0; i < count; ++i) {
    const float angle = random.uniform(0, 6.2832f), radius = random.uniform(0.9f, 1.1f);
    p.data()[2 * i] = radius * std::cos(angle), p.data()[2 * i + 1] = radius * std::sin(angle);
  }
  return p;
}

int main() {
  set_context({.seed = 3});
  Gan gan;  // each step trains a part of it
  nn::TrainOneStepCell train_critic(gan, gan.critic, nn::Adam{.learning_rate = 2e-3, .beta1 = 0.5f}, critic_loss);
  nn::TrainOneStepCell train_generator(gan, gan.generator, nn::Adam{.learning_rate = 1e-3, .beta1 = 0.5f},
                                       generator_loss);

  Random random(5);
  for (long i = 1; i <= 6000; ++i) {
    const float c = train_critic(ring(random, batch), noise(random, batch)).item();
    const float g = train_generator(noise(random, batch)).item();
    if (i % 1500 == 0) std::printf("step %4ld  critic %.3f  generator %.3f\n", i, double(c), double(g));
  }

  // The distance of new points from the ring, and the number of eighths of the ring that they reach.
  const Points points = gan.generator(noise(random, 1000));
  double distance = 0;
  int eighths[8]{}, reached = 0;
  for (long i = 0; i < points.n(); ++i) {
    const double x = double(points.data()[2 * i]), y = double(points.data()[2 * i + 1]);
    distance += std::fabs(std::hypot(x, y) - 1) / double(points.n());
    ++eighths[int((std::atan2(y, x) + 3.14160) / 6.2832 * 8) & 7];
  }
  for (const int count : eighths) reached += count >= 25;
  std::printf("new points are %.3f from the ring on average, in %d of its 8 eighths\n", distance, reached);
  return distance < 0.25 && reached >= 7 ? 0 : 1;
}
