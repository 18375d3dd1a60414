// flags: -O1
// State dicts of PyTorch, torchvision, and transformers (pytorch_models.txt, written by pytorch_models.py): each loads
// by one call, and the network predicts what the model predicts, with equal bits in both modes.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "pytorch_models.hpp"

#include <cmath>

using namespace pytorch_models;
using support::Folder;

namespace {
template <class T>
std::vector<float> values_of(const T& x) {
  return {x.data(), x.data() + x.view().count()};
}
void check_close(const std::vector<float>& found, const std::vector<float>& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(found[i] - expected[i]) <= 1e-5f * (1 + std::abs(expected[i])));
  }
}
/// f(net), values, in both modes.
template <class Net, class F>
std::vector<float> in_both_modes(const Net& net, F f) {
  const auto graph = [&] {
    const ContextScope scope({.mode = Mode::graph});
    return f(net);
  }();
  const ContextScope scope({.mode = Mode::pynative});
  CHECK(f(net) == graph);
  return graph;
}
template <class Net>
io::LoadReport load(const StateDict& model, Net& net) {
  const Folder folder;
  save_checkpoint(model.tensors(), folder / "model.safetensors");
  io::LoadReport report = load_checkpoint(folder / "model.safetensors", net);
  CHECK(report.missing.empty());
  CHECK(report.unexpected.empty());
  CHECK(report.mismatched.empty());
  return report;
}
template <class Net, class... X>
std::vector<std::string> check_model(const std::string& name, const X&... x) {
  CAPTURE(name);
  const StateDict model(name);
  Net net;
  const io::LoadReport report = load(model, net);
  check_close(in_both_modes(net, [&](const Net& n) { return values_of(n(x...)); }), model.result());
  return report.notes;
}
using Notes = std::vector<std::string>;
}  // namespace

TEST_CASE("convolutions and batch norms of PyTorch") {
  CHECK(check_model<Transfer>("transfer", image<Shape<dyn, 3, 8, 8>>(2)) ==
        Notes{"Parameters with PyTorch\'s names in the file: 4."});
}
TEST_CASE("a ResNet of torchvision's blocks") {
  CHECK(check_model<ResNet>("resnet", image<Shape<dyn, 3, 16, 16>>(2)) ==
        Notes{"Parameters with PyTorch\'s names in the file: 32."});
}
TEST_CASE("GPT-2 of transformers: its Conv1D is transposed, its head tied") {
  const Notes notes = check_model<Gpt>("gpt2", ids<6>(1));
  CHECK(notes == Notes{"Names are found after the prefix 'transformer.'.",
                       "Parameters with PyTorch\'s names in the file: 12.",
                       "Weights of transformers' Conv1D (c_attn, c_fc, c_proj) that are transposed: 8."});
  check_model<GptWithHead>("gpt2", ids<6>(1));
}
TEST_CASE("BERT of transformers") {
  const StateDict model("bert");
  Bert net;
  load(model, net);
  auto types = Tensor<std::int32_t, Shape<dyn, 6>>::empty(1);
  for (int i = 0; i < 6; ++i) types.data()[i] = i / 3;
  const auto part = [&]<int which>(std::integral_constant<int, which>) {
    return in_both_modes(net, [&](const Bert& n) { return values_of(std::get<which>(n(ids<6>(1), types))); });
  };
  check_close(part(std::integral_constant<int, 0>()), model.result());
  check_close(part(std::integral_constant<int, 1>()), model.result("pooled"));
}
TEST_CASE("recurrent layers of PyTorch: two layers, two directions") {
  check_model<Lstm>("lstm", ids<5>(2));
  check_model<Gru>("gru", ids<5>(2));
}
TEST_CASE("nn.TransformerEncoder") { check_model<Encoder>("encoder", ids<5>(2)); }
