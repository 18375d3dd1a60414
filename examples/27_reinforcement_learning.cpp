// Lesson 27: reinforcement learning. A network learns to balance a pole on a cart, by pushing it left or right, from
// nothing but how long the pole stays up: an actor, which chooses, and a critic, which says how good a state is.
#include <cmath>
#include <cstdio>
#include <vector>

#include <tenon/more.hpp>

using namespace tenon;

// The cart-pole of Barto, Sutton, and Anderson (1983), as most libraries of environments have it.
struct CartPole {
  float position = 0, speed = 0, angle = 0, turn = 0;
  void reset(Random& random) {
    for (float* one : {&position, &speed, &angle, &turn}) *one = random.uniform(-0.05f, 0.05f);
  }
  // False if the pole has fallen, or the cart has left its track.
  bool push(bool right) {
    const float force = right ? 10.0f : -10.0f, cosine = std::cos(angle), sine = std::sin(angle);
    const float common = (force + 0.05f * turn * turn * sine) / 1.1f;
    const float turning = (9.8f * sine - cosine * common) / (0.5f * (4.0f / 3 - 0.1f * cosine * cosine / 1.1f));
    const float pushing = common - 0.05f * turning * cosine / 1.1f;
    position += 0.02f * speed, speed += 0.02f * pushing, angle += 0.02f * turn, turn += 0.02f * turning;
    return std::abs(position) < 2.4f && std::abs(angle) < 0.2095f;
  }
};

struct ActorCritic : nn::Cell<ActorCritic> {
  nn::Dense<4, 64> actor_hidden, critic_hidden;
  nn::Dense<64, 2> actor;
  nn::Dense<64, 1> critic;
  constexpr auto construct(auto state) const {  // [n, 4] -> logits [n, 2], values [n]
    return std::tuple(actor(tanh(actor_hidden(state))), squeeze<1>(critic(tanh(critic_hidden(state)))));
  }
};

using States = Tensor<float, Shape<dyn, 4>>;
using Actions = Tensor<std::int32_t, Shape<dyn>>;
using Returns = Tensor<float, Shape<dyn>>;

// What a game has shown: states, actions, and for each of them the sum of the rewards from there on, a little less for
// each step in between.
struct Experience {
  std::vector<float> states, returns;
  std::vector<std::int32_t> actions;
};

constexpr int longest = 200;

// Plays one game, and returns how many steps the pole stayed up.
static int play(const ActorCritic& net, Random& random, Experience& all) {
  CartPole game;
  game.reset(random);
  int length = 0;
  for (bool up = true; up && length < longest; ++length) {
    const auto [logits, value] = net(States::from({game.position, game.speed, game.angle, game.turn}));
    const std::int32_t action = random_categorical(logits).item();
    all.states.insert(all.states.end(), {game.position, game.speed, game.angle, game.turn});
    all.actions.push_back(action);
    up = game.push(action == 1);
  }
  std::vector<float> returns(std::size_t(length), 0.0f);
  float sum = length == longest ? 50.0f : 0.0f;  // the game was stopped: it might have gone on
  for (auto at = returns.rbegin(); at != returns.rend(); ++at) *at = sum = 1 + 0.98f * sum;
  all.returns.insert(all.returns.end(), returns.begin(), returns.end());
  return length;
}

int main() {
  set_context({.seed = 1});
  Random random(1);
  ActorCritic net;
  nn::TrainOneStepCell train(
      net, nn::ClipByGlobalNorm{nn::Adam{.learning_rate = 1e-2f}, 1.0f},
      [](const auto& cell, const auto& states, const auto& actions, const auto& returns) {
        const auto [logits, values] = cell(states);
        const auto log_p = log_softmax(logits);
        const auto advantage = stop_gradient(returns - values);
        const auto scaled = (advantage - reduce_mean(advantage)) / (reduce_std(advantage) + 1e-6f);
        const auto chosen = reduce_sum<1>(log_p * one_hot<2>(actions));
        const auto entropy = -reduce_mean(reduce_sum<1>(exp(log_p) * log_p));
        return nn::SmoothL1Loss{}(values, returns) * 0.05f - reduce_mean(chosen * scaled) - entropy * 0.01f;
      });
  double average = 0;
  for (int round = 1; round <= 60; ++round) {
    Experience all;
    average = 0;
    for (int game = 0; game < 8; ++game) average += play(net, random, all) / 8.0;
    train(States::from(all.states), Actions::from(all.actions), Returns::from(all.returns));
    if (round % 10 == 0) std::printf("round %d: the pole stays up for %.0f of %d steps\n", round, average, longest);
  }
  return average > 100 ? 0 : 1;
}
