// Summary operators hand their values to whoever records, in both modes; by hand to the last record that is open.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/ops/summary.hpp>
#include <tenon/tenon.hpp>

using namespace tenon;

namespace {
std::string seen;
void see(std::string_view plugin, std::string_view name, const AnyTensor& value) {
  seen += text(plugin, " ", name, " ", shape_text(value.shape()), " ", value.as<float>()[0], "\n");
}
}  // namespace

struct Looks : nn::Cell<Looks> {
  nn::Conv2d<1, 3, 1, nn::Conv2dConfig{}, nn::One{}> conv;
  constexpr auto construct(auto x) const {
    auto y = conv(x);
    image_summary("picture", y);
    histogram_summary("weight", value_in(x, conv.weight));
    scalar_summary("mean", reduce_mean(y));
    tensor_summary("rows", flatten(y));
    return y;
  }
};

TEST_CASE("summary operators: what they see, in the order of the source") {
  const auto x = Tensor<float, Shape<dyn, 1, 2, 2>>::full(0.5f, 20);
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode});
    Looks net;
    ops::summary_sink = nullptr;
    CHECK(net(x).n() == 20);  // nobody records
    ops::summary_sink = &see;
    seen.clear();
    net(x);
    ops::summary_sink = nullptr;
    CHECK(seen == "image picture [20, 3, 2, 2] 0.5\nhistogram weight [3, 1, 1, 1] 1\nscalar mean [] 0.5\ntensor rows "
                  "[20, 12] 0.5\n");
  }
}

template <class Op>
std::string refused(const TensorType& x) {
  Sentence error;
  Op::shape({{x}, 1}, NoConfig{}, error);
  return std::string(error.view());
}
TEST_CASE("summary operators: shapes that do not fit are compile errors with a sentence") {
  const TensorType rows{{dyn, 3}, 2, Dtype::float32}, number{{}, 0, Dtype::float32}, one{{1, 1}, 2, Dtype::float32};
  CHECK(refused<ops::ScalarSummary>(rows) ==
        "ScalarSummary got [n,3], it needs a tensor of one element: reduce_mean(x)");
  CHECK(refused<ops::ScalarSummary>(number) == "");
  CHECK(refused<ops::ScalarSummary>(one) == "");
  CHECK(refused<ops::ImageSummary>(rows) == "ImageSummary got [n,3], it needs images [n,C,H,W] with 1 or 3 channels");
  CHECK(refused<ops::TensorSummary>(number) == "TensorSummary got a number without axes; record it by scalar_summary");
  CHECK(refused<ops::HistogramSummary>(number) ==
        "HistogramSummary got a number without axes; record it by scalar_summary");
}
