// Where the layout pass converts images: at the borders of a network, not inside of it.
#include <doctest/doctest.h>

#include <tenon/nn/nn.hpp>
#include <tenon/train/model.hpp>

using namespace tenon;

namespace {
template <class Op, int N>
int count(const Graph<N>& graph) {
  int found = 0;
  for (int id = 0; id < graph.count; ++id) found += is<Op>(graph[id]);
  return found;
}
struct Net : nn::Cell<Net> {
  nn::Conv2d<3, 16, 3> conv1;
  nn::BatchNorm2d<16> norm1;
  nn::Conv2d<16, 16, 3> conv2;
  nn::BatchNorm2d<16> norm2;
  nn::Dense<16, 2> fc;
  constexpr auto construct(auto x) const {
    const auto y = relu(norm1(conv1(x)));
    return fc(reduce_mean<2, 3>(relu(norm2(conv2(y)) + y)));
  }
};
}  // namespace

TEST_CASE("a residual step with batch norm converts the batch, and around the mean over the images") {
  using Step = detail::TrainStep<Net, nn::SoftmaxCrossEntropyWithLogits<>, nn::Momentum,
                                 TypeKey<Dtype::float32, dyn, 3, 12, 12>, TypeKey<Dtype::int32, dyn>>;
  CHECK(count<ops::ToNchw16n>(Compiled<Step>::graph) == 2);
  CHECK(count<ops::FromNchw16n>(Compiled<Step>::graph) == 1);
}
