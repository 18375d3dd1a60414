// Checkpoints from one format to another: nothing is lost, and a model of PyTorch predicts the same numbers.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../dataset/support.hpp"

#include <tenon/nn/nn.hpp>
#include <tenon/train/convert_checkpoint.hpp>
#if __has_include(<protozero/pbf_reader.hpp>)
#include <tenon/train/ckpt.hpp>
#endif

#include "../support/npz.hpp"

using namespace support;

namespace {
/// As in golden/onnx.
struct LeNet : nn::Cell<LeNet> {
  nn::Conv2d<1, 6, 5, nn::Conv2dConfig{.pad_mode = PadMode::valid, .has_bias = true}> c1;
  nn::Conv2d<6, 16, 5, nn::Conv2dConfig{.pad_mode = PadMode::valid, .has_bias = true}> c2;
  nn::Dense<256, 64> f1;
  nn::Dense<64, 10> f2;
  constexpr auto construct(auto x) const {
    auto a = max_pool2d<2>(relu(c1(x)));
    auto b = max_pool2d<2>(relu(c2(a)));
    return f2(relu(f1(flatten(b))));
  }
};
std::vector<std::string> formats() {
  std::vector<std::string> suffixes{".safetensors", ".npz"};
#if __has_include(<protozero/pbf_reader.hpp>)
  suffixes.push_back(".ckpt");
#endif
  return suffixes;
}
}  // namespace

TEST_CASE("from each format to each: names, dtypes, shapes, and bits stay") {
  const Folder folder;
  std::vector<float> single{1.5f, -0.0f, 3};
  std::vector<std::int64_t> whole{std::int64_t{1} << 62, -1};
  bool flags[]{true, false};
  const std::int64_t three[]{3, 1}, two[]{2};
  const std::vector<io::NamedTensor> tensors{{"fc.weight", AnyTensor(Dtype::float32, three, single.data())},
                                             {"\u00e9", AnyTensor(Dtype::int64, two, whole.data())},
                                             {"flags", AnyTensor(Dtype::bool_, two, flags)},
                                             {"scalar", AnyTensor(Dtype::float32, {}, single.data())}};
  save_checkpoint(tensors, folder / "0.safetensors");
  int number = 0;
  std::string last = "0.safetensors";
  for (const std::string& from : formats())
    for (const std::string& to : formats()) {
      const std::string first = text(++number, from), second = text(++number, to);
      convert_checkpoint(folder / last, folder / first);
      convert_checkpoint(folder / first, folder / second);
      last = second;
    }
  convert_checkpoint(folder / last, folder / "end.safetensors");
  CHECK(io::read_file(folder / "end.safetensors") == io::read_file(folder / "0.safetensors"));
}

TEST_CASE("what it refuses") {
  const Folder folder;
  float value = 1;
  save_checkpoint(std::vector<io::NamedTensor>{{"a", AnyTensor(Dtype::float32, {}, &value)}}, folder / "f.safetensors");
  const auto said = [&](auto kind, const char* from, const char* to) {
    return message<decltype(kind)>([&] { convert_checkpoint(folder / from, folder / to); });
  };
  CHECK(has(said(ValueError(""), "f.safetensors", "f.pt"), "Cannot save '" + (folder / "f.pt")));
  CHECK(has(said(ValueError(""), "f.pt", "f.npz"), "Cannot load '" + (folder / "f.pt")));
  CHECK(has(said(RuntimeError(""), "absent.npz", "f.safetensors"), "No such file"));
  const std::string header = R"({"q":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})";
  const std::uint64_t length = header.size();
  io::write_file(folder / "foreign.safetensors", std::string(reinterpret_cast<const char*>(&length), 8) + header + "x");
  CHECK(has(said(TypeError(""), "foreign.safetensors", "f.npz"), "F8_E4M3"));
}

#if __has_include(<protozero/pbf_reader.hpp>)
namespace {
/// The weights in a model that torch.onnx exported: the initializers of its graph, with dims, name, and raw_data.
/// The views point into `model`.
std::vector<io::NamedTensor> torch_weights(std::string& model) {
  std::vector<io::NamedTensor> weights;
  for (protozero::pbf_reader file(model); file.next();) {
    if (file.tag() != 7) {
      file.skip();
      continue;
    }
    for (protozero::pbf_reader graph = file.get_message(); graph.next(5);) {
      io::NamedTensor& weight = weights.emplace_back();
      for (protozero::pbf_reader tensor = graph.get_message(); tensor.next();) switch (tensor.tag()) {
          case 1: weight.tensor.extent[weight.tensor.rank++] = tensor.get_int64(); break;
          case 8: weight.name = tensor.get_string(); break;
          case 9: weight.tensor.data = const_cast<char*>(tensor.get_view().data()); break;
          default: tensor.skip();
        }
    }
  }
  return weights;
}
}  // namespace

TEST_CASE("golden/onnx: a model of PyTorch arrives in each format and predicts the same numbers in both modes") {
  if (!have_shared("golden/onnx")) return;
  const Folder folder;
  std::string model = io::read_file(shared_folder() + "/golden/onnx/lenet.onnx");
  std::vector<io::NamedTensor> weights = torch_weights(model);
  REQUIRE(weights.size() == 8);
  io::save_npz(folder / "torch.npz", weights);
  convert_checkpoint(folder / "torch.npz", folder / "torch.ckpt");
  convert_checkpoint(folder / "torch.ckpt", folder / "torch.safetensors");
  const Npz golden = load_npz(shared_folder() + "/golden/onnx/lenet.npz");
  const auto x = Tensor<float, Shape<dyn, 1, 28, 28>>::from(golden["in/in0"].values<float>());
  const std::vector<float> expected = golden["out/0"].values<float>();
  for (const char* const file : {"torch.ckpt", "torch.safetensors"})
    for (const Mode mode : {Mode::graph, Mode::pynative}) {
      const ContextScope scope({.mode = mode});
      LeNet net;
      load_checkpoint(folder / file, net);
      const auto y = net(x);
      REQUIRE(y.values().size() == expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i)
        CHECK(y.values()[i] == doctest::Approx(expected[i]).epsilon(1e-4));
    }
}
#endif
