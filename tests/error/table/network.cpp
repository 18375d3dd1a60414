// A right program. network.txt says how it goes wrong.
#include <functional>
#include <memory>

#include <tenon/tenon.hpp>
using namespace tenon;

struct Block : nn::Cell<Block> {
  nn::Dense<16, 16> dense;
  nn::LayerNorm<Shape<16>> norm;
  constexpr auto construct(auto x) const { return x + gelu(dense(norm(x))); }
};

struct Images : nn::Cell<Images> {
  nn::Conv2d<1, 8, 3, nn::Conv2dConfig{.stride = 2}> conv;
  nn::BatchNorm2d<8> batch_norm;
  nn::MaxPool2d<2, nn::Pool2dConfig{.stride = 2}> pool;
  nn::Flatten flatten;
  nn::Dense<392, 16> dense;
  nn::Dropout<{.p = 0.5f}> dropout;
  nn::CellList<Block, 2> blocks;
  nn::Dense<16, 10> head;
  int depth = 2;
  constexpr auto construct(auto x) const {  // x: [n, 1, 28, 28]
    auto y = pool(relu(batch_norm(conv(x))));
    auto z = dropout(relu(dense(flatten(y))));
    for (int i = 0; i < depth; ++i) z = blocks[0](z);
    return head(blocks(z));
  }
};

struct Words : nn::Cell<Words> {
  nn::Embedding<100, 16> table;
  nn::LSTM<16, 16> lstm;
  nn::Dense<16, 4> head;
  constexpr auto construct(auto words) const {  // words: [n, 12]
    const auto [y, h, c] = lstm(table(words));
    const auto last = reshape<Shape<dyn, 16>>(h);
    return ops::softmax<-1>(head(reduce_mean<1>(y) + last));
  }
};

int main() {
  Images images;
  const auto x = Tensor<float, Shape<dyn, 1, 28, 28>>::full(0.5f, 2);
  const auto y = images(x);
  Words words;
  const auto w = Tensor<std::int32_t, Shape<dyn, 12>>::full(7, 2);
  const auto p = words(w);
  std::printf("%ld %ld\n", y.count(), p.count());
}
