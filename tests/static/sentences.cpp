// The sentences of compile errors as values, and cells that look at values: tests/error has what the compilers print.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <string>

#include <tenon/tenon.hpp>

using namespace tenon;

namespace sentences {

using Rows = TypeKey<Dtype::float32, dyn, 8>;
template <class Net>
constexpr std::string_view sentence_of = Compiled<tenon::detail::Forward<Net, Rows>>::sentence.view();

struct TooMany : nn::Cell<TooMany> {
  nn::Dense<8, 2> fc;
  constexpr auto construct(auto x) const { return fc(x, x); }
};
struct TooFew : nn::Cell<TooFew> {
  nn::SoftmaxCrossEntropyWithLogits<> loss;
  constexpr auto construct(auto x) const { return loss(x); }
};
struct Deep : nn::Cell<Deep> {
  TooMany inner[2];
  constexpr auto construct(auto x) const { return inner[1](x); }
};
struct WrongSize : nn::Cell<WrongSize> {
  nn::SequentialCell<nn::Dense<8, 4>, nn::ReLU, nn::Dense<5, 2>> layers;
  constexpr auto construct(auto x) const { return layers(x); }
};

struct Branch : nn::Cell<Branch> {
  constexpr auto construct(auto x) const {
    if (reduce_sum(x).item() > 0) return x * 2;
    return x * 3;
  }
};

struct Chooser : nn::Cell<Chooser> {
  nn::Dense<8, 1> low, high;
  constexpr auto construct(auto x) const {
    if (reduce_mean(x).item() > 1) return high(x);
    return low(x);
  }
};

}  // namespace sentences
using namespace sentences;

TEST_CASE("a cell says how many arguments it takes, with its path and the line of the call") {
  CHECK(sentence_of<TooMany> == "network.fc: Dense takes 1 argument, got 2 (sentences.cpp:19)");
  CHECK(sentence_of<TooFew> ==
        "network.loss: SoftmaxCrossEntropyWithLogits takes 2 arguments, got 1 (sentences.cpp:23)");
  CHECK(sentence_of<Deep> == "network.inner.1.fc: Dense takes 1 argument, got 2 (sentences.cpp:19)");
  CHECK(std::string(tenon::detail::WithoutArguments<nn::Dense<8, 2>>::sentence.view()) ==
        "Dense takes 1 argument, got none");
}

TEST_CASE("a wrong size is named with both shapes and the path through a list") {
  CHECK(sentence_of<WrongSize> == "network.layers.2: MatMul got rows of 4 [n,4], its weight [2,5] needs 5 "
                                  "(sentences.cpp:31)");
}

TEST_CASE("a right cell has no sentence") { CHECK(sentence_of<nn::Dense<8, 2>> == ""); }

TEST_CASE("a cell that looks at values runs operator by operator, and says so where it cannot") {
  using Forward = Compiled<tenon::detail::Forward<Branch, Rows>>;
  static_assert(!Forward::ok && Forward::asks_values);
  const auto up = Tensor<float, Shape<dyn, 8>>::from({1, 1, 1, 1, 1, 1, 1, 1}), down = up * -1;
  Branch net;
  set_context({.mode = Mode::pynative});
  CHECK(net(up).view().as<float>()[0] == 2);
  CHECK(net(down).view().as<float>()[0] == -3);
  Model model{pinned<Mode::pynative>, net};
  CHECK(model.predict(up).view().as<float>()[7] == 2);
  CHECK(model.predict(down).view().as<float>()[7] == -3);
  set_context({.mode = Mode::graph});
  CHECK(model.predict(down).view().as<float>()[7] == -3);  // pinned: the context does not matter
  std::string what;
  try {
    net(up);
  } catch (const RuntimeError& e) {
    what = e.what();
  }
  CHECK(what.find("network: item() asks for the value of a tensor") != std::string::npos);
  CHECK(what.find("set_context({.mode = Mode::pynative})") != std::string::npos);
}

TEST_CASE("a pinned model that looks at values trains") {
  const auto data = dataset::from_arrays(dataset::column<Shape<8>>(std::vector<float>(64, 0.5f)),
                                         dataset::column<Shape<1>>(std::vector<float>(8, 3.0f))) |
                    dataset::batch(8);
  Chooser net;
  Model model{pinned<Mode::pynative>, net, nn::MSELoss{}, nn::Momentum{.learning_rate = 0.05f, .momentum = 0.0f},
              nn::Loss{}};
  const double before = model.eval(data)["loss"];
  model.train(20, data);
  CHECK(model.eval(data)["loss"] < before / 4);
}
