// Weights of Keras: what it saved gives its predictions in Tenon, other forms are read or refused, damaged files end
// with an error. TENON_KERAS_FILES names a folder with another keras_files.zip, as keras.sh does.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#if !defined(TENON_WITH_ZLIB) && __has_include(<zlib.h>)
#define TENON_WITH_ZLIB 1
#endif
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>

#include "../dataset/support.hpp"

#include <tenon/io/npz.hpp>
#include <tenon/more.hpp>
#include <tenon/tenon.hpp>
#include <tenon/train/keras.hpp>

using namespace tenon;
using support::Folder, support::message, support::Random;

namespace {
std::string archive_path() {
  const char* const other = std::getenv("TENON_KERAS_FILES");
  const std::string here = std::string(__FILE__).substr(0, std::string(__FILE__).rfind('/')) + "/keras_files";
  return (other ? std::string(other) : here) + "/keras_files.zip";
}
/// The files in the archive.
const std::map<std::string, std::string>& files() {
  static const std::map<std::string, std::string> all = [] {
    std::map<std::string, std::string> result;
    const std::string archive = io::read_file(archive_path());
    for (const io::ZipMember& member : io::zip_members(archive, "keras_files.zip"))
      result[std::string(member.name)] = io::zip_content(member, "keras_files.zip");
    return result;
  }();
  return all;
}
std::string write(const Folder& folder, const std::string& name) {
  std::ofstream(folder / name, std::ios::binary) << files().at(name);
  return folder / name;
}
std::vector<double> values(const AnyTensor& tensor) {
  std::vector<double> result(std::size_t(tensor.count()));
  elements_as_doubles(tensor, 0, result.size(), result.data());
  return result;
}

constexpr nn::Conv2dConfig same{.has_bias = true},
    per_channel{.pad_mode = PadMode::valid, .groups = 3, .has_bias = true};
constexpr nn::Conv2dTransposeConfig wider_by_two{.stride = 2, .pad_mode = PadMode::valid, .has_bias = true};
/// The network of tests/golden/keras_files.py.
struct Net : nn::Cell<Net> {
  nn::Conv2d<2, 3, 3, same> conv;
  nn::BatchNorm2d<3, nn::BatchNormConfig{.epsilon = 1e-3f}> norm;
  nn::Conv2d<3, 6, 3, per_channel> depthwise;
  nn::Conv2dTranspose<6, 2, 2, wider_by_two> wider;
  nn::Embedding<11, 4> words;
  nn::LayerNorm<Shape<4>, nn::LayerNormConfig{.epsilon = 1e-5f}> scale;
  nn::LSTM<4, 3> memory;
  nn::GRU<4, 2, nn::GRUConfig{.bidirectional = true}> both;
  nn::Conv1d<4, 2, 3, nn::Conv1dConfig{.has_bias = true}> along;
  nn::Dense<141, 4> hidden;
  nn::Dense<4, 2> head;

  constexpr auto construct(auto image, auto ids) const {
    auto y = wider(depthwise(relu(norm(conv(ops::transpose<0, 3, 1, 2>(image))))));
    auto e = scale(words(ids));
    auto [steps, h, c] = memory(e);
    auto [two, last] = both(e);
    auto narrow = ops::transpose<0, 2, 1>(along(ops::transpose<0, 2, 1>(two)));
    auto all = ops::concat<1>(ops::flatten(ops::transpose<0, 2, 3, 1>(y)), ops::flatten(h), ops::flatten(narrow));
    return head(tanh(hidden(all)));
  }
};
const std::vector<KerasLayer> groups{{"conv", "layers/conv2d"},
                                     {"norm", "layers/batch_normalization"},
                                     {"depthwise", "layers/depthwise_conv2d"},
                                     {"head", "layers/dense_1"}};

template <class T, class S>
Tensor<T, S> input(const io::Npz& arrays, const std::string& name) {
  const AnyTensor& from = *arrays.find(name);
  auto x = Tensor<T, S>::zeros(from.extent[0]);
  REQUIRE(x.view().bytes() == from.bytes());
  std::memcpy(x.data(), from.data, from.bytes());
  return x;
}
double distance_to_keras(const Net& net) {
  const io::Npz arrays(std::string_view(files().at("predictions.npz")), "predictions.npz");
  net.set_train(false);
  const auto y =
      net(input<float, Shape<dyn, 6, 6, 2>>(arrays, "image"), input<std::int32_t, Shape<dyn, 5>>(arrays, "ids"));
  const std::vector<double> wanted = values(*arrays.find("output"));
  REQUIRE(wanted.size() == y.values().size());
  double most = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) most = std::max(most, std::abs(wanted[i] - double(y.values()[i])));
  return most;
}
}  // namespace

TEST_CASE("the network gives the predictions of Keras from each form of its files, in both modes") {
  const Folder folder;
  for (const char* const name : {"net.weights.h5", "net.h5", "net.keras"}) {
    CAPTURE(std::string(name));
    for (const Mode mode : {Mode::graph, Mode::pynative}) {
      set_context({.mode = mode});
      Net net;
      CHECK(distance_to_keras(net) > 0.01);
      CHECK(load_keras_weights(write(folder, name), net).missing.empty());
      const double most = distance_to_keras(net);
      MESSAGE(std::string(name), ": ", most);
      CHECK(most < 1e-5);
    }
    set_context({.mode = Mode::graph});
  }
  Net net;
  load_keras_weights(folder / "net.weights.h5", net, groups);
  CHECK(distance_to_keras(net) < 1e-5);
}

TEST_CASE("dtypes, chunks, gzip, shuffle, empty arrays") {
  const io::Keras file(std::string_view(files().at("forms.h5")), "forms.h5");
  const std::vector<double> ramp{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const std::map<std::string, Dtype> dtypes{{"g/float16", Dtype::float16}, {"g/float32", Dtype::float32},
                                            {"g/float64", Dtype::float64}, {"g/int8", Dtype::int8},
                                            {"g/int64", Dtype::int64},     {"g/uint16", Dtype::uint16},
                                            {"chunked", Dtype::float32},   {"plain_chunks", Dtype::float32}};
  for (const auto& [name, dtype] : dtypes) {
    CAPTURE(name);
    REQUIRE(file.find(name));
    CHECK(file.find(name)->dtype == dtype);
    CHECK(shape_text(file.find(name)->shape()) == "[3, 4]");
    CHECK(values(*file.find(name)) == ramp);
  }
  CHECK(values(*file.find("scalar")) == std::vector<double>{2.5});
  CHECK(shape_text(file.find("none")->shape()) == "[0, 3]");
  CHECK(file.find("random")->count() == 64);
  CHECK(file.tensors().size() == dtypes.size() + 3);

  const io::Keras compact(std::string_view(files().at("compact.h5")), "compact.h5");
  CHECK(values(*compact.find("one")) == std::vector<double>{7});
  CHECK(values(*compact.find("scalar")) == std::vector<double>{2.5});
  CHECK(values(*compact.find("ramp")) == ramp);
}

namespace {
template <bool has_bias>
struct WithGru : nn::Cell<WithGru<has_bias>> {
  nn::GRU<4, 2, nn::GRUConfig{.has_bias = has_bias}> gru;
  constexpr auto construct(auto x) const { return std::get<0>(gru(x)); }
};
/// A GRU alone gets what it gets as a part of a network, its gates in Tenon's order.
template <bool has_bias>
void check_gru(const std::string& path) {
  const WithGru<has_bias> part;
  const nn::GRU<4, 2, nn::GRUConfig{.has_bias = has_bias}> alone;
  load_keras_weights(path, part);
  load_keras_weights(path, alone, {{"", "gru"}});
  const auto wanted = named_parameters(part), found = named_parameters(alone);
  REQUIRE(found.size() == (has_bias ? 4 : 2));
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(values(found[i].tensor) == values(wanted[i].tensor));
  const io::Keras file(path);
  const std::vector<double> kernel = values(*file.find("layers/gru/cell/vars/1"));  // z, r, h; Tenon's are r, z, h
  CHECK(values(found[1].tensor) == std::vector<double>{kernel[2], kernel[8], kernel[3], kernel[9], kernel[0], kernel[6],
                                                       kernel[1], kernel[7], kernel[4], kernel[10], kernel[5],
                                                       kernel[11]});
}
}  // namespace

TEST_CASE("a recurrent cell that is the whole network") {
  const Folder folder;
  check_gru<true>(write(folder, "gru_bias.h5"));
  check_gru<false>(write(folder, "gru_plain.h5"));
}

TEST_CASE("what Keras does not write is refused, and no other file is opened") {
  const std::pair<const char*, const char*> cases[]{
      {"soft", "'b' is a link to another place"},
      {"link", "'/' is a group of a newer form of HDF5, or one of links"},
      {"hard", "is there under two names, or in itself"},
      {"external", "'a' lies in another file, which is not opened"},
      {"virtual", "'a' is stored in a form that is not read"},
      {"filter", "'a' is packed by filter 32000"},
      {"checksum", "'a' is packed by filter 3"},
      {"text", "'a' holds no float16, float32, float64, or integers"},
      {"bomb", "more than 16 times as many bytes"},
      {"absent", "'a' has 0 chunks where its shape needs 1048576"},
      {"new", "it has the newer form"},
  };
  for (const auto& [name, reason] : cases) {
    CAPTURE(name);
    const std::string& file = files().at(std::string("bad_") + name + ".h5");
    const std::string said = message<RuntimeError>([&] { io::Keras(std::string_view(file), "f.h5"); });
    CAPTURE(said);
    CHECK(said.find(reason) != std::string::npos);
  }
  const std::string& weights = files().at("net.weights.h5");
  CHECK(message<RuntimeError>([&] { io::Keras(std::string_view(weights).substr(0, 3000), "f"); }) != "");
  CHECK(message<RuntimeError>([&] { io::Keras(std::string_view(weights), "f", 100); }).find("limit of 100") !=
        std::string::npos);
  CHECK(message<RuntimeError>([&] { io::Keras(std::string_view("PK"), "f"); }) != "");
}

namespace {
struct Other : nn::Cell<Other> {
  nn::Dense<141, 4> hidden;
  nn::Dense<4, 3> head;
  constexpr auto construct(auto x) const { return head(hidden(x)); }
};
struct Parts : nn::Cell<Parts> {
  nn::Dense<141, 4, nn::DenseConfig{.has_bias = false}> hidden;
  constexpr auto construct(auto x) const { return hidden(x); }
};
struct OneWay : nn::Cell<OneWay> {
  nn::GRU<4, 2> both;
  constexpr auto construct(auto x) const { return std::get<0>(both(x)); }
};
}  // namespace

TEST_CASE("what does not fit is an error that names both sides, and the network stays as it was") {
  const Folder folder;
  const std::string path = write(folder, "net.weights.h5");
  const auto said = [&]<class Error>(Error*, const auto& net, const std::vector<KerasLayer>& layers) {
    return message<Error>([&] { load_keras_weights(path, net, layers); });
  };
  ValueError* const value = nullptr;
  KeyError* const key = nullptr;
  const auto has = [](const std::string& all, const char* part) {
    CAPTURE(all);
    CHECK(all.find(part) != std::string::npos);
  };
  Other other;
  const std::vector<double> before = values(named_parameters(other)[0].tensor);
  has(said(value, other, {}), "[4, 2] in Keras's layout, the parameter needs [3, 4]");
  CHECK(values(named_parameters(other)[0].tensor) == before);
  has(said(key, other, {{"hidden", "hiden"}}), "Did you mean 'hidden'?");
  has(said(key, other, {{"heads", "head"}}), "no cell 'heads'");
  has(said(value, Parts{}, {}), "has a weight that the cell has not: 'layers/dense/vars/1', of shape [4]");
  has(said(value, OneWay{}, {}), "has a weight that the cell has not: 'layers/bidirectional/backward_layer");
  has(said(key, nn::Dense<4, 2>{}, {{"", "head"}}), "no cell takes 'layers/batch_normalization/vars/0'");
}

TEST_CASE("a thousand damaged files end with an error or tensors") {
  Random random(7);
  int read = 0, refused = 0;
  for (int turn = 0; turn < 1500; ++turn) {
    std::string file = files().at(turn % 3 == 0 ? "forms.h5" : turn % 3 == 1 ? "net.weights.h5" : "net.h5");
    for (int k = 0; k <= turn % 4; ++k) {
      const char* const signatures[]{"TREE", "HEAP", "SNOD", "GCOL"};
      const std::size_t at = file.find(signatures[random.below(4)], std::size_t(random.below(file.size())));
      const std::size_t near = at == file.npos ? std::size_t(random.below(file.size())) : at + random.below(64);
      file[std::min(near, file.size() - 1)] = char(random.below(256));
      file[std::size_t(random.below(file.size()))] = char(random.below(256));
    }
    try {
      read += io::Keras(std::string_view(file), "f", 1 << 22).tensors().size() > 0;
    } catch (const RuntimeError&) {
      ++refused;
    } catch (const ValueError&) {
      ++refused;
    }
  }
  CHECK(read > 100);
  CHECK(refused > 100);
}
