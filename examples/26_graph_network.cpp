// Lesson 26: a network on a graph. The members of two clubs know each other; of two members the club is known, and the
// network finds it for all others, by what they tell their friends.
// Kipf and Welling, Semi-Supervised Classification with Graph Convolutional Networks, arXiv 1609.02907.
#include <cstdio>
#include <vector>

#include <tenon/more.hpp>

using namespace tenon;

constexpr int members = 60, friendships = 300, edges = members + 2 * friendships, width = 16;

// Each node becomes the mean of what its neighbours and itself send. `from` and `to` have an end of each edge.
struct GraphConvolution : nn::Cell<GraphConvolution> {
  nn::Dense<width, width> send;
  constexpr auto construct(auto x, auto from, auto to) const {  // x: [members, width]
    return tanh(unsorted_segment_mean<members>(gather(send(x), from), to));
  }
};

struct Clubs : nn::Cell<Clubs> {
  Parameter<float, Shape<members, width>, nn::Normal{0.3f}> features;  // nothing is known of the members
  GraphConvolution first, second;
  nn::Dense<width, 2> club;
  constexpr auto construct(auto from, auto to) const {
    auto x = first(value_in(from, features), from, to);
    return club(second(x, from, to));
  }
};

int main() {
  set_context({.seed = 1});
  Random random(1);
  std::vector<std::int32_t> from, to;  // edges: one to each member itself, two for each friendship
  for (std::int32_t i = 0; i < members; ++i) from.push_back(i), to.push_back(i);
  while (from.size() < edges) {
    const auto a = std::int32_t(random.below(members)), b = std::int32_t(random.below(members));
    const bool same_club = a / 30 == b / 30;
    if (a == b || (!same_club && random.uniform() < 0.9f)) continue;
    from.insert(from.end(), {a, b}), to.insert(to.end(), {b, a});
  }
  using Edges = Tensor<std::int32_t, Shape<edges>>;
  const Edges senders = Edges::from(from), receivers = Edges::from(to);
  const auto known = Tensor<std::int32_t, Shape<2>>::from({0, members - 1});  // the founders of the clubs
  const auto clubs = Tensor<std::int32_t, Shape<2>>::from({0, 1});

  Clubs net;
  nn::TrainOneStepCell train(
      net, nn::AdamW{.learning_rate = 1e-2f, .weight_decay = 0.1f},
      [](const auto& cell, const auto& a, const auto& b, const auto& nodes, const auto& classes) {
        return nn::SoftmaxCrossEntropyWithLogits{}(gather(cell(a, b), nodes), classes);
      });
  for (int step = 1; step <= 100; ++step) {
    const float loss = train(senders, receivers, known, clubs).item();
    if (step % 25 == 0) std::printf("step %d: loss %.4f\n", step, double(loss));
  }
  const auto found = argmax(net(senders, receivers));
  int right = 0;
  for (int i = 0; i < members; ++i) right += found.data()[i] == i / 30;
  std::printf("%d of %d members are in their club\n", right, members);
  return right >= members * 9 / 10 ? 0 : 1;
}
