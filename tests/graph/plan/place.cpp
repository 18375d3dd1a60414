// Both orders of placement and the joint regions, on graphs small enough to plan by hand.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "../planning.hpp"

using namespace graph_test;

namespace {
constexpr TensorType samples_of(int elements) { return {{dyn, elements}, 2, Dtype::float32}; }
constexpr TensorType fixed_of(int elements) { return {{elements}, 1, Dtype::float32}; }

// A node that reads the given ones and has a type of its own.
template <int N, class... Ids>
int node(Maker<N>& make, const TensorType& type, Ids... ids) {
  const int id = make.template call<Mix>(ids...);
  make.graph[id].type = type;
  return id;
}
template <int N>
Plan<N> planned(const Graph<N>& graph, Region region) {
  return place_by_time(graph, lifetimes(graph), Plan<N>{}, region);
}
}  // namespace

TEST_CASE("holes: the tightest is taken, neighbours join, the top sinks") {
  tenon::detail::Holes<8> holes;
  const long a = holes.take(64), b = holes.take(192), c = holes.take(64), d = holes.take(128), e = holes.take(64);
  CHECK(holes.top == 512);
  holes.give(b, 192), holes.give(d, 128);
  CHECK(holes.count == 2);
  CHECK(holes.take(128) == d);
  CHECK(holes.take(64) == b);
  holes.give(b, 64), holes.give(a, 64), holes.give(c, 64);
  CHECK(holes.count == 1);
  CHECK(holes.length[0] == 320);
  holes.give(d, 128);
  CHECK(holes.top == 512);
  holes.give(e, 64);
  CHECK(holes.top == 0);
  CHECK(holes.count == 0);
}

TEST_CASE("a value is kept until its last reader has run, and no reader shares its memory with its operand") {
  Maker<8> make;
  const int x = make.input(samples_of(16));
  const int a = node(make, samples_of(16), x), b = node(make, samples_of(16), a), c = node(make, samples_of(16), b);
  make.output(c);
  const auto plan = planned(make.graph, Region::sample);
  CHECK(plan.at[a].offset != plan.at[b].offset);
  CHECK(plan.at[c].offset == plan.at[a].offset);
  CHECK(plan.size[0] == 128);
  CHECK(plan.bound[0] == 128);
}

TEST_CASE("a result stands in the place of an operand that is read for the last time, if its kernel can do that") {
  for (int kind : {0, 1, 2, 3, 4}) {
    CAPTURE(kind);
    Maker<12> make;
    const int x = make.input(samples_of(16)), p = make.parameter(fixed_of(16));
    const int a = kind == 3 ? x : node(make, samples_of(16), x);
    const int view = kind == 4 ? make.reshape(TensorType{{dyn, 4, 4}, 3, Dtype::float32}, a) : a;
    const int b = kind == 2 ? node(make, samples_of(16), a) : make.call<ops::Add>(a, p);
    make.output(kind == 1 || kind == 4 ? node(make, samples_of(16), b, view) : node(make, samples_of(16), b));
    const Lifetimes<12> lives = lifetimes(make.graph, {}, true);
    CHECK((lives.root[b] == a) == (kind == 0));
    if (kind == 0) CHECK(lives.last[a] == make.graph.count - 1);
    CHECK(lifetimes(make.graph).root[b] == b);
  }
}

TEST_CASE("views and effects live in the buffer of their operand and keep it alive") {
  Maker<12> make;
  const int x = make.input(samples_of(4)), p = make.parameter(fixed_of(4));
  const int a = node(make, samples_of(4), x), view = make.reshape(TensorType{{dyn, 2, 2}, 3, Dtype::float32}, a);
  const int sum = node(make, fixed_of(4), x);
  const int changed = make.call<Update>(sum, p), between = node(make, samples_of(4), x);
  const int reader = node(make, samples_of(4), view, changed);
  make.output(reader);
  const Lifetimes<12> lives = lifetimes(make.graph);
  const Entry parameters[1]{};
  CHECK(lives.root[view] == a);
  CHECK(lives.last[a] == reader);
  CHECK(lives.root[changed] == sum);
  CHECK(lives.last[sum] == reader);
  const auto plan =
      place_rest(make.graph, lives,
                 lift_fixed(make.graph, lives,
                            place_by_time(make.graph, lives, planned(make.graph, Region::sample), Region::fixed)),
                 parameters);
  CHECK(plan.at[view].offset == plan.at[a].offset);
  CHECK(plan.at[between].offset != plan.at[a].offset);
  CHECK(plan.at[changed].region == Region::fixed);
  CHECK(plan.at[p].region == Region::parameters);
  CHECK(plan.at[x].region == Region::input);
  for (long n : {1, 5}) CHECK(overlap(make.graph, plan, n) == "");
}

TEST_CASE("outputs are kept to the end") {
  Maker<8> make;
  const int x = make.input(samples_of(4)), a = node(make, samples_of(4), x), b = node(make, samples_of(4), x),
            c = node(make, samples_of(4), b);
  make.output(a), make.output(c);
  CHECK(planned(make.graph, Region::sample).size[0] == 3 * 64);
}

TEST_CASE("a value that nobody reads has memory while it is written") {
  Maker<8> make;
  const int x = make.input(samples_of(4)), a = node(make, samples_of(4), x);
  node(make, samples_of(16), x);
  make.output(a);
  CHECK(planned(make.graph, Region::sample).size[0] == 128);
}

TEST_CASE("where the order of time leaves a gap, the order of size closes it") {
  // small and large alive together, then small dies, then something between both is needed beside large
  Maker<12> make;
  const int x = make.input(samples_of(1));
  const int small = node(make, samples_of(16), x), large = node(make, samples_of(64), small);
  const int middle = node(make, samples_of(32), large);
  make.output(node(make, samples_of(16), middle));
  const Lifetimes<12> lives = lifetimes(make.graph);
  const auto by_time = planned(make.graph, Region::sample);
  CHECK(by_time.bound[0] == 6 * 64);
  CHECK(by_time.size[0] == 7 * 64);
  const auto by_size = place_by_size(make.graph, lives, by_time, Region::sample, PlaceOrder::size);
  CHECK(by_size.size[0] == 6 * 64);
  CHECK(overlap(make.graph, by_size, Region::sample) == "");
}

TEST_CASE("a short-lived fixed buffer stands above the samples of its time, not above all of them") {
  Maker<16> make;
  const int x = make.input(samples_of(1)), p = make.parameter(fixed_of(400));
  const int forward = node(make, samples_of(160), x), loss = node(make, fixed_of(1), forward);
  const int back = node(make, samples_of(16), loss);
  const int gradient = node(make, fixed_of(400), back);
  make.call<Update>(p, gradient);
  make.output(loss);
  for (int i = 0; i < 8; ++i) node(make, samples_of(1), x);
  const Lifetimes<16> lives = lifetimes(make.graph);
  const auto both = place_by_time(make.graph, lives, planned(make.graph, Region::sample), Region::fixed);
  const auto plan = lift_fixed(make.graph, lives, both);
  CHECK(plan.floor == 64);  // the loss lives to the end
  CHECK(plan.at[gradient].lift < plan.size[0]);
  CHECK(plan.bytes(1000) == 64 + plan.size[0] * 1000);
  CHECK(plan.bytes(1) < plan.size[0] + plan.size[1]);
  for (long n : {1, 2, 3, 100}) CHECK(overlap(make.graph, plan, n) == "");
  CHECK(forward == 2);
}

TEST_CASE("a fixed buffer stands above samples of more bytes than an int counts") {
  Maker<8> make;
  const int x = make.input(samples_of(1 << 30)), p = make.parameter(fixed_of(16));
  const int high = node(make, samples_of(1 << 30), x), fixed = node(make, fixed_of(16), p, high);
  make.output(node(make, samples_of(1 << 30), fixed, high));
  const Lifetimes<8> lives = lifetimes(make.graph);
  const auto both = place_by_time(make.graph, lives, planned(make.graph, Region::sample), Region::fixed);
  const auto plan = lift_fixed(make.graph, lives, both);
  CHECK(plan.bytes(1) >= 8L << 30);
  for (long n : {0, 1, 2, 100}) CHECK(overlap(make.graph, plan, n) == "");
}

TEST_CASE("no scratch memory is needed for a graph of leaves") {
  Maker<4> make;
  make.output(make.input(samples_of(4)));
  const Lifetimes<4> lives = lifetimes(make.graph);
  const auto plan = lift_fixed(make.graph, lives,
                               place_by_time(make.graph, lives, planned(make.graph, Region::sample), Region::fixed));
  CHECK(plan.bytes(100) == 0);
  CHECK(joint_bound(make.graph, lives, 100) == 0);
}
