// flags: -O0
// Weights under PyTorch's names: which tensor each parameter takes, what is refused, and what is said of it.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../golden/pytorch_models.hpp"

#include <algorithm>
#include <functional>

#include <tenon/train/load_param_into_net.hpp>
#include <tenon/train/npz.hpp>

using namespace pytorch_models;
using support::Folder, support::message, support::has;

namespace {
using Names = std::vector<std::string>;

/// All values of a network.
template <class Net>
std::vector<float> values(const Net& net) {
  std::vector<float> all;
  for (const io::NamedTensor& named : named_parameters(net))
    all.insert(all.end(), named.tensor.as<float>().begin(), named.tensor.as<float>().end());
  return all;
}
/// A network that has loaded a model of pytorch_models.txt.
template <class Net>
Net loaded(const std::string& model) {
  Net net;
  CHECK(load_param_into_net(net, StateDict(model).tensors()).missing.empty());
  return net;
}
const io::NamedTensor& find(const std::vector<io::NamedTensor>& tensors, std::string_view name) {
  const auto found = std::ranges::find(tensors, name, &io::NamedTensor::name);
  REQUIRE(found != tensors.end());
  return *found;
}

/// A file that loads into a network, with what a case changes before.
struct Case {
  StateDict model;
  Folder folder;
  std::string path = folder / "model.safetensors";
  explicit Case(const std::string& name) : model(name) {}

  std::vector<io::NamedTensor>& tensors() { return model.tensors(); }
  io::NamedTensor& operator[](std::string_view name) { return const_cast<io::NamedTensor&>(find(tensors(), name)); }
  void rename(const std::function<std::string(const std::string&)>& f) {
    for (io::NamedTensor& tensor : tensors()) tensor.name = f(tensor.name);
  }
  void erase(std::string_view name) {
    std::erase_if(tensors(), [&](const io::NamedTensor& tensor) { return tensor.name == name; });
  }
  template <class Net>
  io::LoadReport load(Net& net, bool strict = true) {
    io::save_safetensors(path, tensors());
    return load_checkpoint(path, net, strict);
  }
  template <class Error, class Net>
  std::string refusal(Net& net) {
    const std::vector<float> before = values(net);
    const std::string said = message<Error>([&] { load(net); });
    CHECK(values(net) == before);
    return said;
  }
};

struct Scaled : nn::Cell<Scaled> {  // a user's scale called gamma, also in PyTorch, and a weight
  Parameter<float, Shape<4>, nn::One{}> gamma, weight;
  constexpr auto construct(auto x) const { return x * gamma * weight; }
};
struct OwnNames : nn::Cell<OwnNames> {
  nn::LayerNorm<Shape<4>> norm;
  Scaled scale;
  nn::Frozen<nn::BatchNorm1d<4>> frozen_norm;
  constexpr auto construct(auto x) const { return frozen_norm(scale(norm(x))); }
};
/// A user's own norm, whose scale PyTorch calls weight.
struct RmsNorm : nn::Cell<RmsNorm> {
  Parameter<float, Shape<4>, nn::One{}> scale;
  constexpr auto construct(auto x) const { return x * rsqrt(reduce_mean<1, true>(square(x)) + 1e-6f) * scale; }
};
constexpr PytorchName rms_norm_names[]{{"scale", "weight"}};
struct RmsNet : nn::Cell<RmsNet> {
  RmsNorm norms[2];
  constexpr auto construct(auto x) const { return norms[1](norms[0](x)); }
};
struct TwoTables : nn::Cell<TwoTables> {
  nn::Embedding<11, 4> source, target;
  nn::Dense<4, 11, nn::DenseConfig{.has_bias = false}> lm_head;
  constexpr auto construct(auto ids) const { return lm_head(source(ids) + target(ids)); }
};
struct Predictions : nn::Cell<Predictions> {
  nn::Dense<4, 11> decoder;
  constexpr auto construct(auto x) const { return decoder(x); }
};
struct MaskedLm : nn::Cell<MaskedLm> {
  nn::Embedding<11, 4> words;
  Predictions predictions;
  constexpr auto construct(auto ids) const { return predictions(words(ids)); }
};
struct Body : nn::Cell<Body> {  // Transfer without its last layer
  nn::Conv2d<3, 4, 3, conv(1, 1, true)> conv1;
  nn::BatchNorm2d<4> bn1;
  nn::Conv2d<4, 2, 3, conv(1, 1, true)> conv2;
  constexpr auto construct(auto x) const { return conv2(bn1(conv1(x))); }
};
struct NewHead : nn::Cell<NewHead> {
  Body backbone;
  nn::Dense<128, 2> head;
  constexpr auto construct(auto x) const { return head(flatten(backbone(x))); }
};
}  // namespace
template <>
inline constexpr std::span<const PytorchName> tenon::pytorch_names<RmsNorm>{rms_norm_names};

TEST_CASE("a user's own cell says its names as the library's do") {
  RmsNet net;
  CHECK(named_parameters(net)[1].name == "norms.1.scale");
  CHECK(named_parameters(net, NameFamily::pytorch)[1].name == "norms.1.weight");
}
TEST_CASE("each parameter of each cell has PyTorch's name beside its own") {
  OwnNames net;
  const std::vector<io::NamedTensor> own = named_parameters(net), theirs = named_parameters(net, NameFamily::pytorch);
  Names names, pytorch;
  for (const io::NamedTensor& named : own) names.push_back(named.name);
  for (const io::NamedTensor& named : theirs) pytorch.push_back(named.name);
  CHECK(names == Names{"norm.gamma", "norm.beta", "scale.gamma", "scale.weight", "frozen_norm.gamma",
                       "frozen_norm.beta", "frozen_norm.moving_mean", "frozen_norm.moving_variance"});
  CHECK(pytorch == Names{"norm.weight", "norm.bias", "scale.gamma", "scale.weight", "frozen_norm.weight",
                         "frozen_norm.bias", "frozen_norm.running_mean", "frozen_norm.running_var"});
  for (std::size_t i = 0; i < own.size(); ++i) CHECK(own[i].tensor.data == theirs[i].tensor.data);
}

TEST_CASE("what is saved under PyTorch's names has the names of the model, and comes back") {
  const ResNet net = loaded<ResNet>("resnet");
  Case file("resnet");
  const std::vector<io::NamedTensor> tensors = named_parameters(net, NameFamily::pytorch);
  for (const io::NamedTensor& held : file.tensors()) {
    if (held.name.ends_with("num_batches_tracked")) continue;
    CAPTURE(held.name);
    CHECK(std::ranges::equal(find(tensors, held.name).tensor.as<float>(), held.tensor.as<float>()));
  }
  CHECK(tensors.size() == file.tensors().size() - 8);
  save_checkpoint(tensors, file.path);
  ResNet again;
  CHECK(load_checkpoint(file.path, again).notes == Names{"Parameters with PyTorch\'s names in the file: 32."});
  CHECK(values(again) == values(net));
  save_checkpoint(net, file.path);
  ResNet third;
  CHECK(load_checkpoint(file.path, third).notes.empty());
  CHECK(values(third) == values(net));
}

TEST_CASE("NumPy's files load by the same call") {
  Case file("transfer");
  const std::string path = file.folder / "model.npz";
  save_checkpoint(file.tensors(), path);
  Transfer net;
  CHECK(load_checkpoint(path, net).unexpected.empty());
  CHECK(values(net) == values(loaded<Transfer>("transfer")));
  file.erase("bn1.running_var");
  io::save_npz(path, file.tensors());
  CHECK(has(message<KeyError>([&] { load_checkpoint(path, net); }),
            "Parameter 'bn1.moving_variance' is not in the file."));
}

TEST_CASE("a missing statistic is an error that names it, in both families") {
  for (const char* name : {"bn1.running_mean", "bn1.weight", "conv2.bias"}) {
    Case file("transfer");
    file.erase(name);
    Transfer net;
    const std::string said = file.refusal<KeyError>(net);
    CHECK(has(said, "is not in the file."));
    const io::LoadReport left = file.load(net, false);
    CHECK(left.missing.size() == 1);
    CHECK(left.unexpected.empty());
  }
}

TEST_CASE("names of both families in one file, as the older BERT's are") {
  Case file("bert");
  file.rename([](const std::string& name) {
    if (name.ends_with("LayerNorm.weight")) return name.substr(0, name.size() - 6) + "gamma";
    return name.ends_with("LayerNorm.bias") ? name.substr(0, name.size() - 4) + "beta" : name;
  });
  Bert net;
  CHECK(file.load(net).notes == Names{"Parameters with PyTorch\'s names in the file: 3."});
  CHECK(values(net) == values(loaded<Bert>("bert")));
}

TEST_CASE("a scale that a user calls gamma is not a layer norm's") {
  std::vector<float> one{1, 2, 3, 4}, two{5, 6, 7, 8};
  const std::int64_t four[]{4};
  OwnNames source, net;
  Case file("transfer");
  file.tensors() = named_parameters(source, NameFamily::pytorch);
  file["scale.gamma"].tensor = AnyTensor(Dtype::float32, four, one.data());
  file["scale.weight"].tensor = AnyTensor(Dtype::float32, four, two.data());
  file.load(net);
  CHECK(std::ranges::equal(net.scale.gamma.values(), one));
  CHECK(std::ranges::equal(net.scale.weight.values(), two));
  file.erase("scale.gamma");  // and never the weight beside it
  CHECK(has(file.refusal<KeyError>(net), "Parameter 'scale.gamma' is not in the file."));
}

TEST_CASE("prefixes of wrappers are left out if all names are found so, and it is said") {
  const std::vector<float> right = values(loaded<ResNet>("resnet"));
  for (const std::string prefix : {"module.", "model.", "net.backbone."}) {
    CAPTURE(prefix);
    Case file("resnet");
    file.rename([&](const std::string& name) { return prefix + name; });
    ResNet net;
    const Names notes = file.load(net).notes;
    CHECK(notes[0] == "Names are found after the prefix '" + prefix + "'.");
    CHECK(values(net) == right);
    file.erase(prefix + "fc.bias");
    ResNet other;
    CHECK(has(file.refusal<KeyError>(other), "Parameter 'fc.bias' is not in the file."));
  }
  Case file("resnet");  // a part of the names only
  file.rename([&](const std::string& name) { return name.starts_with("layer1") ? "module." + name : name; });
  ResNet net;
  CHECK(has(file.refusal<KeyError>(net), "Parameter 'layer1.0.conv1.weight' is not in the file. Did you mean "
                                         "'module.layer1.0.conv1.weight'?"));
  CHECK(file.load(net, false).missing.empty());
  CHECK(values(net) == right);
}

TEST_CASE("names that torch.compile and others put in the middle are no part of a name") {
  const std::vector<float> right = values(loaded<ResNet>("resnet"));
  for (const std::string wrapper : {"_orig_mod.", "_fsdp_wrapped_module._orig_mod.", "_checkpoint_wrapped_module."}) {
    Case file("resnet");
    file.rename([&](std::string name) {
      if (const auto at = name.find("layer"); at != name.npos) name.insert(at + 7, wrapper);
      return "module." + wrapper + name;
    });
    ResNet net;
    CHECK(file.load(net).notes[0] == "Names are found without '_orig_mod.' and other wrappers.");
    CHECK(values(net) == right);
    file.rename([](const std::string& name) { return name == "module.x" ? name : name + "_"; });
    CHECK(has(file.refusal<KeyError>(net), wrapper));  // names are said as the file has them
  }
}

TEST_CASE("what PyTorch saves beside parameters is left alone, other tensors are not") {
  Case file("gpt2");
  std::vector<float> mask(36), numbers(6), one(1);
  std::vector<std::int64_t> positions(6);
  const std::int64_t square[]{1, 1, 6, 6}, six[]{6}, row[]{1, 6};
  file.tensors().push_back({"transformer.h.0.attn.bias", AnyTensor(Dtype::float32, square, mask.data())});
  file.tensors().push_back({"transformer.h.0.attn.masked_bias", AnyTensor(Dtype::float32, {}, one.data())});
  file.tensors().push_back({"transformer.position_ids", AnyTensor(Dtype::int64, row, positions.data())});
  Gpt net;
  file.load(net);
  CHECK(values(net) == values(loaded<Gpt>("gpt2")));
  file.tensors().push_back({"transformer.h.0.attn.biases", AnyTensor(Dtype::float32, six, numbers.data())});
  CHECK(has(file.refusal<KeyError>(net), "Tensor 'transformer.h.0.attn.biases' is not among the parameters."));
  CHECK(file.load(net, false).unexpected == Names{"transformer.h.0.attn.biases"});
}

TEST_CASE("transformers' Conv1D: all of its weights are transposed, or none") {
  const Gpt right = loaded<Gpt>("gpt2");
  Case file("gpt2");  // as nn.Linear has them
  std::list<std::string> owned;
  for (io::NamedTensor& tensor : file.tensors())
    if (tensor.tensor.rank == 2 && tensor.name.find(".c_") != tensor.name.npos)
      tensor.tensor = detail::transposed_matrix(tensor.tensor, owned.emplace_back());
  Gpt net;
  CHECK(file.load(net).notes.size() == 2);
  CHECK(values(net) == values(right));

  Case renamed("gpt2");  // a weight of another name is not guessed
  renamed.rename([](std::string name) {
    if (const auto at = name.find("c_fc"); at != name.npos) name.replace(at, 4, "up");
    return name;
  });
  CHECK(has(renamed.refusal<KeyError>(net), "c_fc"));
  Case other("encoder");
  other["encoder.layers.0.linear1.weight"].tensor =
      detail::transposed_matrix(other["encoder.layers.0.linear1.weight"].tensor, owned.emplace_back());
  Encoder encoder;
  CHECK(has(other.refusal<ValueError>(encoder),
            "tensor 'encoder.layers.0.linear1.weight' has the shape [4, 8] in the file, the parameter needs [8, 4]. "
            "One is the other transposed: save the transposed tensor."));
}

TEST_CASE("tied tensors: left out by save_pretrained, by save_model, by nobody") {
  const std::vector<float> right = values(loaded<Gpt>("gpt2")), headed = values(loaded<GptWithHead>("gpt2"));
  CHECK(headed.size() == right.size() + 44);
  Case pretrained("gpt2");
  pretrained.erase("lm_head.weight");
  Gpt net;
  pretrained.load(net);
  CHECK(values(net) == right);
  GptWithHead with_head;
  const Names notes = pretrained.load(with_head).notes;
  CHECK(notes[0] == "'lm_head.weight' is not in the file and takes 'transformer.wte.weight', with which transformers' "
                    "models share it.");
  CHECK(values(with_head) == headed);

  Case saved("gpt2");  // save_model keeps the first name of the alphabet, and says so
  saved.erase("transformer.wte.weight");
  Gpt third;
  CHECK(has(saved.refusal<KeyError>(third), "Parameter 'wte.embedding_table' is not in the file."));
  io::save_safetensors(saved.path, saved.tensors(), {{"transformer.wte.weight", "lm_head.weight"}});
  CHECK(load_checkpoint(saved.path, third).unexpected.empty());
  CHECK(values(third) == right);
  GptWithHead fourth;
  load_checkpoint(saved.path, fourth);
  CHECK(values(fourth) == headed);

  Case trained("gpt2");  // a head of its own, which this network lacks
  std::vector<float> head(44, 0.5f);
  trained["lm_head.weight"].tensor.data = head.data();
  CHECK(has(trained.refusal<KeyError>(net), "Tensor 'lm_head.weight' is not among the parameters."));
}

TEST_CASE("a tie is no guess: two tables of one shape, or another name") {
  TwoTables source, net;
  Case file("transfer");
  file.tensors() = named_parameters(source, NameFamily::pytorch);
  file.erase("lm_head.weight");
  CHECK(has(file.refusal<KeyError>(net), "Parameter 'lm_head.weight' is not in the file."));

  GptWithHead own, with_head;  // Tenon's names: nothing is tied in such a file
  file.tensors() = named_parameters(own);
  file.erase("lm_head.weight");
  CHECK(has(file.refusal<KeyError>(with_head), "Parameter 'lm_head.weight' is not in the file."));

  MaskedLm lm, other;
  file.tensors() = named_parameters(lm, NameFamily::pytorch);
  file["predictions.decoder.bias"].name = "predictions.bias";
  file.erase("predictions.decoder.weight");
  CHECK(file.load(other).notes.size() == 3);
  CHECK(std::ranges::equal(other.predictions.decoder.bias.values(), lm.predictions.decoder.bias.values()));
  CHECK(std::ranges::equal(other.predictions.decoder.weight.values(), lm.words.embedding_table.values()));
}

TEST_CASE("16-bit files become float32; what would lose digits is refused with its name") {
  Case file("transfer");
  const std::vector<float> right = values(loaded<Transfer>("transfer"));  // sixteenths, which both formats hold
  std::list<std::vector<float16>> halves;
  std::list<std::vector<bfloat16>> brains;
  for (io::NamedTensor& tensor : file.tensors()) {
    if (tensor.tensor.dtype != Dtype::float32) continue;
    const auto old = tensor.tensor.as<float>();
    if (tensor.name.starts_with("conv")) {
      tensor.tensor =
          AnyTensor(Dtype::float16, tensor.tensor.shape(), halves.emplace_back(old.begin(), old.end()).data());
    } else {
      tensor.tensor =
          AnyTensor(Dtype::bfloat16, tensor.tensor.shape(), brains.emplace_back(old.begin(), old.end()).data());
    }
  }
  Transfer net;
  CHECK(file.load(net).notes.back() == "Tensors that are 16-bit floats in the file, float32 here: 10.");
  CHECK(values(net) == right);
  std::vector<double> wide(3);
  file["fc.bias"].tensor = AnyTensor(Dtype::float64, file["fc.bias"].tensor.shape(), wide.data());
  CHECK(has(file.refusal<TypeError>(net), "tensor 'fc.bias' is float64 in the file, the parameter needs float32. "
                                          "load_param_into_net converts it."));
  CHECK(file.load(net, false).mismatched == Names{"fc.bias"});
}

TEST_CASE("another shape is one sentence with both names") {
  Case file("transfer");
  std::vector<float> eight(8);
  const std::int64_t shape[]{8};
  for (const char* name : {"bn1.weight", "bn1.running_var"})
    file[name].tensor = AnyTensor(Dtype::float32, shape, eight.data());
  Transfer net;
  CHECK(has(file.refusal<ValueError>(net),
            "tensor 'bn1.weight' for parameter 'bn1.gamma' has the shape [8] in the file, the parameter needs [4]. So "
            "it is with 1 more. Pass strict = false to load the rest."));
  const io::LoadReport left = file.load(net, false);
  CHECK(left.mismatched == Names{"bn1.gamma", "bn1.moving_variance"});
}

TEST_CASE("transfer learning: a backbone from a larger model, and nothing of it keeps its initial values") {
  Case file("transfer");
  NewHead net;
  const std::vector<float> head = values(net.head);
  CHECK(has(file.refusal<KeyError>(net.backbone), "Tensor 'fc.weight' is not among the parameters."));
  const io::LoadReport left = file.load(net.backbone, false);
  CHECK(left.missing.empty());
  CHECK(left.unexpected == Names{"fc.bias", "fc.weight"});
  Body other;
  CHECK(load_param_into_net(other, file.tensors()).missing.empty());
  CHECK(values(other) == values(net.backbone));
  CHECK(std::ranges::equal(other.bn1.moving_mean.values(), file["bn1.running_mean"].tensor.as<float>()));
  CHECK(std::ranges::equal(other.bn1.moving_variance.values(), file["bn1.running_var"].tensor.as<float>()));
  CHECK(values(net.head) == head);
  Body strict;
  file.erase("fc.weight"), file.erase("fc.bias");
  load_param_into_net(strict, file.tensors(), {.strict = true});
  CHECK(values(strict) == values(other));
}

TEST_CASE("files of torch.save are refused with what to do instead") {
  Transfer net;
  for (const char* path : {"model.pt", "model.pth", "pytorch_model.bin"})
    CHECK(has(message<ValueError>([&] { load_checkpoint(path, net); }), "include <tenon/train/pt.hpp>"));
  const Folder folder;
  io::write_file(folder / "renamed.safetensors", std::string_view("PK\3\4\0\0\10\10\0\0\0\0", 12));
  CHECK(has(message<RuntimeError>([&] { load_checkpoint(folder / "renamed.safetensors", net); }),
            "it is a zip archive, as numpy.savez writes; or torch.save writes such files"));
  CHECK(has(message<ValueError>([&] { save_checkpoint(net, folder / "net.pt"); }), "ends with '.safetensors'"));
}
