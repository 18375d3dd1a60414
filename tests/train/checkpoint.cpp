// alone: yes
// Checkpoints of networks: round trip, names, partial loading, files that do not fit.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstdio>

#include <unistd.h>

#include <tenon/train/checkpoint.hpp>

#include "small.hpp"

using namespace small;

namespace {
struct Wider : nn::Cell<Wider> {
  nn::Dense<3, 9> fc1;
  nn::Dense<9, 2> fc2;
  constexpr auto construct(auto x) const { return fc2(relu(fc1(x))); }
};
struct More : nn::Cell<More> {
  nn::Dense<3, 8> fc1;
  nn::Dense<8, 2> head;
  constexpr auto construct(auto x) const { return head(relu(fc1(x))); }
};

/// A path that is removed at the end.
struct Path {
  std::string name = "checkpoint_" + std::to_string(::getpid()) + ".safetensors";
  ~Path() { std::remove(name.c_str()); }
};
}  // namespace

TEST_CASE("checkpoint: what was saved is loaded bit by bit, by an unbound network as well") {
  const Path path;
  Net trained;
  Model model{trained, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}};
  model.train(1, ten());
  save_checkpoint(trained, path.name);
  const ContextScope scope({.seed = 5});
  Net fresh;
  named_parameters(fresh);
  CHECK(bits(fresh) != bits(trained));
  const io::LoadReport report = load_checkpoint(path.name, fresh);
  CHECK((report.missing.empty() && report.unexpected.empty()));
  CHECK(bits(fresh) == bits(trained));
  Net unbound;
  load_checkpoint(path.name, unbound);
  CHECK(bits(unbound) == bits(trained));
}

TEST_CASE("checkpoint: names are those of the members, in their order, and readable without a network") {
  const Path path;
  Net net;
  const auto parameters = named_parameters(net);
  REQUIRE(parameters.size() == 4);
  CHECK(parameters[0].name == "fc1.weight");
  CHECK(parameters[3].name == "fc2.bias");
  CHECK(shape_text(parameters[2].tensor.shape()) == "[2, 8]");
  save_checkpoint(net, path.name);
  const io::Safetensors file = load_checkpoint(path.name);
  CHECK(file.tensors().size() == 4);
  REQUIRE(file.find("fc2.weight"));
  CHECK(std::memcmp(file.find("fc2.weight")->data, net.fc2.weight.data, 64) == 0);
  CHECK(file.find("fc3.weight") == nullptr);
}

TEST_CASE("checkpoint: another network is refused as a whole, or loads what matches") {
  const Path path;
  Net net;
  save_checkpoint(net, path.name);
  Wider wider;
  named_parameters(wider);
  const std::string before = bits(wider);
  CHECK_THROWS_WITH_AS(
      load_checkpoint(path.name, wider),
      doctest::Contains("tensor 'fc1.weight' has the shape [8, 3] in the file, the parameter needs [9, 3]"),
      ValueError);
  CHECK(bits(wider) == before);
  More more;
  CHECK_THROWS_AS(load_checkpoint(path.name, more), KeyError);
  const io::LoadReport report = load_checkpoint(path.name, more, false);
  CHECK(report.missing == std::vector<std::string>{"head.weight", "head.bias"});
  CHECK(report.unexpected.size() == 2);
  CHECK(std::memcmp(more.fc1.weight.data, net.fc1.weight.data, 96) == 0);
}

TEST_CASE("checkpoint: without strict, what has another shape is left out and said, the rest is loaded") {
  const Path path;
  Net net;
  save_checkpoint(net, path.name);
  Wider wider;
  named_parameters(wider);
  const std::string first(reinterpret_cast<const char*>(wider.fc1.weight.data), 96);
  const io::LoadReport report = load_checkpoint(path.name, wider, false);
  CHECK(report.missing.empty());
  CHECK(report.unexpected.empty());
  REQUIRE(!report.mismatched.empty());
  CHECK(report.mismatched[0] == "fc1.weight");
  CHECK(std::memcmp(wider.fc1.weight.data, first.data(), 96) == 0);
  CHECK(std::memcmp(wider.fc2.bias.data, net.fc2.bias.data, 8) == 0);
  CHECK(report.mismatched.size() + 1 == named_parameters(wider).size());
}

TEST_CASE("checkpoint: other suffixes and missing files are refused") {
  Net net;
  for (const char* const name : {"net.pt", "net.ckpt", "net.npz"})
    CHECK_THROWS_WITH_AS(save_checkpoint(net, name),
                         text("Cannot save '", name,
                              "': the name of a checkpoint ends with '.safetensors'; with "
                              "#include <tenon/train/ckpt.hpp> also with '.ckpt' for MindSpore, with #include "
                              "<tenon/train/npz.hpp> with '.npz'.")
                             .c_str(),
                         ValueError);
  CHECK_THROWS_AS(load_checkpoint("net.ckpt", net), ValueError);
  CHECK_THROWS_AS(load_checkpoint("net.ckpt"), ValueError);
  CHECK_THROWS_AS(load_checkpoint(".safetensors"), ValueError);
  CHECK_THROWS_AS(load_checkpoint("there_is_no.safetensors", net), RuntimeError);
  CHECK_THROWS_AS(save_checkpoint(net, "no_such_folder/net.safetensors"), RuntimeError);
}
