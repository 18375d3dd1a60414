// link: protozero
// A network through export_onnx and tenon-import: the header is the one that is checked in, and computes the same.
#include <doctest/doctest.h>

#include <filesystem>

#include <tenon/more.hpp>
#include <tenon/onnx.hpp>
#include <tenon/train/load_param_into_net.hpp>

#include "../../examples/tools/import/import.hpp"
#include "onnx_files/round_image.hpp"
#include "onnx_files/round_numbers.hpp"
#include "onnx_files/round_rows.hpp"
#include "onnx_files/round_steps.hpp"

using namespace tenon;

namespace {
/// The example of docs/onnx.md, with a norm of groups; 6 channels, whose parameters are small constants, too.
struct RoundImage : nn::Cell<RoundImage> {
  nn::Conv2d<1, 6, 5> conv;
  nn::BatchNorm2d<6> norm;
  nn::GroupNorm<2, 6> groups;
  nn::Dense<6 * 6 * 6, 10> fc;
  constexpr auto construct(auto image) const {
    return softmax(fc(flatten(max_pool2d<2>(groups(relu(norm(conv(image))))))));
  }
};
struct RoundRows : nn::Cell<RoundRows> {
  nn::Dense<4, 20> fc;
  nn::BatchNorm1d<20, nn::BatchNormConfig{.epsilon = 1e-3f}> norm;
  nn::RMSNorm<Shape<20>> rms;
  constexpr auto construct(auto x) const {
    const auto y = norm(fc(x));
    return std::tuple(l2_normalize<1>(y), norm_keep<1>(rms(y)), top_k_filter<3>(y), top_p_filter(y, 0.8f),
                      cast<float>(argmax(y)));
  }
};
/// Numbers and constants that the file computes.
struct RoundNumbers : nn::Cell<RoundNumbers> {
  Parameter<float, Shape<4>, nn::One{}> scale;
  constexpr auto construct(auto x) const {
    const auto y = concat<1>(leaky_relu(x, 0.3f), zeros_like(x), ones_like(x) * 2.0f, elu(x));
    const auto z = sqrt(value_in(x, scale) * 2.0f + 1.0f) * sign(floor(x)) + -0.0f;
    return std::tuple(y, clip_by_value(z, 0.5f, -0.5f), fmod(x, 0.7f), logical_not(x > z));
  }
};

struct RoundSteps : nn::Cell<RoundSteps> {
  nn::LSTM<4, 6> lstm;
  nn::Dense<6, 2> fc;
  constexpr auto construct(auto x) const { return fc(std::get<0>(lstm(x))); }
};

/// Other values for all parameters: those of norms begin as ones and zeros.
template <class Net>
void disturb(const Net& net) {
  int k = 0;
  for (const auto& [name, parameter] : net.parameters_and_names())
    for (long i = 0; i < parameter.view().count(); ++i)
      parameter.view().template as<float>()[i] = 0.3f + float((++k * 7) % 11) / 8;
}
template <class Made, class Net, class X>
void check_round_trip(const std::string& name, const Net& net, const X& x) {
  const std::string path = name + ".onnx", files = std::string(__FILE__).substr(0, std::string(__FILE__).rfind('/'));
  disturb(net);
  export_onnx(net, path, x);
  const importer::Imported made = importer::import_model(onnx::read_model(path), name, "", {});
  std::filesystem::remove(path);
  CHECK(made.problems.empty());
  CHECK(made.header == io::read_file(files + "/onnx_files/" + name + ".hpp"));
  std::vector<io::NamedTensor> tensors;
  for (const importer::Weight& w : made.weights) {
    Dtype dtype{};
    REQUIRE(onnx::dtype_of_onnx(w.tensor.type, dtype));
    tensors.push_back({w.name, AnyTensor(dtype, w.tensor.extents, const_cast<char*>(w.tensor.bytes.data()))});
  }
  const Made again;
  load_param_into_net(again, tensors, {.strict = true});
  CHECK(again.trainable_params().size() == net.trainable_params().size());
  CHECK(again.untrainable_params().size() >= net.untrainable_params().size());  // constants are among them
  const auto as_tuple = []<class Y>(const Y& y) {
    if constexpr (requires { std::tuple_size<Y>::value; }) return y;
    else return std::tuple(y);
  };
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    set_context({.mode = mode});
    const auto wanted = as_tuple(net(x)), got = as_tuple(again(x));
    [&]<std::size_t... k>(std::index_sequence<k...>) {
      const auto compare = [](const auto& a, const auto& b) {
        REQUIRE(std::ranges::equal(a.view().shape(), b.view().shape()));
        for (long i = 0; i < a.count(); ++i) {
          const double p = double(a.data()[i]), q = double(b.data()[i]);
          CHECK((p == q || std::abs(p - q) < 1e-5));
        }
      };
      (compare(std::get<k>(wanted), std::get<k>(got)), ...);
    }(std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<decltype(wanted)>>>());
  }
  set_context({.mode = Mode::graph});
}
template <class S>
Tensor<float, S> filled() {
  auto x = Tensor<float, S>::zeros(3);
  for (long i = 0; i < x.count(); ++i) x.data()[i] = float(i * 7 % 11 - 5) / 4;
  return x;
}
}  // namespace

TEST_CASE("norms are cells again") {
  check_round_trip<round_image::RoundImage>("round_image", RoundImage(), filled<Shape<dyn, 1, 12, 12>>());
  check_round_trip<round_rows::RoundRows>("round_rows", RoundRows(), filled<Shape<dyn, 4>>());
}
TEST_CASE("a recurrent layer is one again, with one sum for its two biases") {
  check_round_trip<round_steps::RoundSteps>("round_steps", RoundSteps(), filled<Shape<dyn, 5, 4>>());
}
TEST_CASE("what a file computes of constants") {
  check_round_trip<round_numbers::RoundNumbers>("round_numbers", RoundNumbers(), filled<Shape<dyn, 4>>());
}
