// load_param_into_net: exact names, prefixes, filters, other dtypes and shapes, what it says of the rest; and counting.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <algorithm>

#include "../dataset/support.hpp"
#include "../support/logged.hpp"

#include <tenon/nn/optim/adam.hpp>
#include <tenon/train/load_param_into_net.hpp>
#include <tenon/train/training_file.hpp>

#include "small.hpp"

using namespace small;
using support::Folder, support::message, support::has;

namespace {
struct Head : nn::Cell<Head> {
  nn::Dense<8, 2> fc2;
  constexpr auto construct(auto x) const { return fc2(x); }
};
/// The layers of Net, one of them deeper.
struct Deep : nn::Cell<Deep> {
  nn::Dense<3, 8> fc1;
  Head head;
  constexpr auto construct(auto x) const { return head(relu(fc1(x))); }
};
struct Counter : nn::Cell<Counter> {
  Parameter<std::int8_t, Shape<2>, nn::Zero{}, false> counts;
  Parameter<float, Shape<3>, nn::One{}> scale;
  constexpr auto construct(auto x) const { return x * scale; }
};

/// The parameters of a network under other names.
template <class N>
std::vector<io::NamedTensor> renamed(const N& net, const std::string& prefix) {
  std::vector<io::NamedTensor> tensors = named_parameters(net);
  for (io::NamedTensor& tensor : tensors) tensor.name = prefix + tensor.name;
  return tensors;
}
template <class T>
AnyTensor view_of(std::vector<T>& values, std::vector<std::int64_t> shape) {
  return AnyTensor(dtype_of<T>, shape, values.data());
}
Net seeded(int seed) {
  const ContextScope scope({.seed = std::uint64_t(seed)});
  Net net;
  named_parameters(net);
  return net;
}
using Names = std::vector<std::string>;
}  // namespace

TEST_CASE("names that are equal, then those with the prefix that most of the missing ones have") {
  const Net source = seeded(1);
  Net net = seeded(2);
  CHECK(load_param_into_net(net, named_parameters(source)).missing.empty());
  CHECK(bits(net) == bits(source));
  net = seeded(2);
  const io::LoadReport left = load_param_into_net(net, renamed(source, "backbone.net."));
  CHECK((left.missing.empty() && left.unexpected.empty()));
  CHECK(bits(net) == bits(source));

  // two prefixes: the layers lie in two folders
  std::vector<io::NamedTensor> split = named_parameters(source);
  for (io::NamedTensor& tensor : split) tensor.name = (tensor.name.starts_with("fc1") ? "a." : "b.c.") + tensor.name;
  net = seeded(2);
  CHECK(load_param_into_net(net, split).missing.empty());
  CHECK(bits(net) == bits(source));

  // what ends like a parameter's name, but not behind a dot, is another thing
  net = seeded(2);
  const std::string before = bits(net);
  CHECK(load_param_into_net(net, renamed(source, "my_")).missing.size() == 4);
  CHECK(bits(net) == before);
}

TEST_CASE("an optimizer's moments are no parameters with the prefix `moment1.`") {
  Net source = seeded(1);
  Model model{source, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 0.01f}};
  model.train(1, ten());
  const Folder folder;
  save_training(model, folder / "run.safetensors");
  CHECK(parameter_count(folder / "run.safetensors") == 3 * 8 + 8 + 8 * 2 + 2);
  const io::Safetensors file = load_checkpoint(folder / "run.safetensors");
  CHECK(parameter_count(file.tensors()) == 50);
  Net net = seeded(2);
  CHECK(load_param_into_net(net, file.tensors(), {.strict = true}).unexpected.empty());
  CHECK(bits(net) == bits(source));
  net = seeded(2);
  CHECK(load_checkpoint(folder / "run.safetensors", net).unexpected.empty());
  CHECK(bits(net) == bits(source));
  Deep deep;
  const io::LoadReport left = load_param_into_net(deep, file.tensors());
  CHECK(left.missing == Names{"head.fc2.weight", "head.fc2.bias"});
  CHECK(left.unexpected == Names{"fc2.bias", "fc2.weight"});
}

TEST_CASE("prefix and filter choose") {
  const Net source = seeded(1), other = seeded(3);
  Net net = seeded(2);
  std::vector<io::NamedTensor> both = renamed(source, "student."), teacher = renamed(other, "teacher.");
  both.insert(both.end(), teacher.begin(), teacher.end());
  CHECK(load_param_into_net(net, both, {.prefix = "teacher."}).missing.empty());
  CHECK(bits(net) == bits(other));
  CHECK(load_param_into_net(net, both, {.filter = {"teacher.", "no such"}}).missing.empty());
  CHECK(bits(net) == bits(source));
  net = seeded(2);
  CHECK(load_param_into_net(net, named_parameters(source), {.filter = {"fc2"}}).missing ==
        Names{"fc2.weight", "fc2.bias"});
  const std::string said =
      support::logged({}, [&] { load_param_into_net(net, named_parameters(source), {.filter = {"fc2"}}); });
  CHECK(has(said, "the 2 of 4 tensors that prefix and filter leave: 2 parameters in the net are not loaded."));
  CHECK(said.find("leaves out nothing") == said.npos);
  CHECK(support::logged({}, [&] { load_param_into_net(net, both, {.prefix = "student.", .filter = {"teacher."}}); }) ==
        "");
  const std::string misspelt = support::logged({}, [&] { load_param_into_net(net, both, {.filter = {"techer."}}); });
  CHECK(has(misspelt, "the filter 'techer.' leaves out nothing, as none of the 8 names begins so; the first ones: "
                      "'student.fc1.weight', 'student.fc1.bias', 'student.fc2.weight'."));
  const auto refused = [&](const LoadParamConfig& config) {
    return message<ValueError>([&] { load_param_into_net(net, both, config); });
  };
  CHECK(has(refused({.filter = {""}}), "a filter is empty"));
  CHECK(has(refused({.prefix = "x"}), "of 8 tensors none is left"));
  both.push_back(both[0]);
  CHECK(has(refused({}), "is there twice"));
}

TEST_CASE("strict: names that do not match are errors with the nearest ones, and nothing changes") {
  const Net source = seeded(1);
  Net net = seeded(2);
  const std::string before = bits(net);
  std::vector<io::NamedTensor> tensors = named_parameters(source);
  tensors[0].name = "fc1.weigth";
  const std::string said = message<KeyError>([&] { load_param_into_net(net, tensors, {.strict = true}); });
  CHECK(has(said, "Parameter 'fc1.weight' is not in the file. Did you mean 'fc1.weigth'?"));
  CHECK(has(said, "Tensor 'fc1.weigth' is not among the parameters. Did you mean 'fc1.weight'?"));
  CHECK(has(message<KeyError>([&] { load_param_into_net(net, renamed(source, "a."), {.strict = true}); }), "strict"));
  CHECK(bits(net) == before);
  CHECK(load_param_into_net(net, tensors).missing == Names{"fc1.weight"});
}

TEST_CASE("shapes differ in ones at the end, dtypes within a family; the rest is refused, and nothing changes") {
  std::vector<float> scale{1.5f, -2.25f, 1e-3f};
  std::vector<std::int64_t> counts{-128, 127};
  std::vector<io::NamedTensor> tensors{{"counts", view_of(counts, {2})}, {"scale", view_of(scale, {3, 1, 1})}};
  Counter net;
  const auto said = [&](auto kind, bool strict = false) {
    return message<decltype(kind)>([&] { load_param_into_net(net, tensors, {.strict = strict}); });
  };
  CHECK(said(Error("")).empty());
  CHECK(std::ranges::equal(net.counts.values(), counts));
  CHECK(std::ranges::equal(net.scale.values(), scale));
  CHECK(
      has(said(TypeError(""), true), "'counts' for parameter 'counts' is int64, the network needs int8. Pass strict"));

  scale[0] = 7;
  counts[1] = 128;
  CHECK(has(said(ValueError("")), "element 1 of 'counts' is 128, which int8 does not have"));
  CHECK(net.scale.values()[0] == 1.5f);
  counts[1] = 1;
  tensors[1].tensor = view_of(scale, {1, 3});
  CHECK(has(said(ValueError("")), "has the shape [1, 3], the network needs [3]"));
  std::vector<std::uint8_t> unsigned_counts{1, 2};
  tensors[1].tensor = view_of(scale, {3});
  tensors[0].tensor = view_of(unsigned_counts, {2});
  CHECK(has(said(TypeError("")), "is uint8, the network needs int8."));
  CHECK(net.scale.values()[0] == 1.5f);

  std::vector<double> wide{0.1, 2, 3};
  std::vector<float16> half{1.0f, 0.5f, -2.0f};
  std::vector<bfloat16> brain{1.0f, 0.25f, -4.0f};
  tensors[0].tensor = view_of(counts, {2});
  tensors[1].tensor = view_of(wide, {3});
  CHECK(said(Error("")).empty());
  CHECK(net.scale.values()[0] == 0.1f);
  tensors[1].tensor = view_of(half, {3});
  CHECK(said(Error("")).empty());
  CHECK(net.scale.values()[2] == -2.0f);
  tensors[1].tensor = view_of(brain, {3});
  CHECK(said(Error("")).empty());
  CHECK(net.scale.values()[1] == 0.25f);
}
