// expects: network: item() asks for the value of a tensor while a graph is traced, which has none: use
// select(condition, a, b), or cond, scan, or while_loop of <tenon/more.hpp>, or pin the model to PyNative mode: Model
// model{pinned<Mode::pynative>, net, ...}
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<8, 2> fc;
  constexpr auto construct(auto x) const {
    auto y = fc(x);
    if (reduce_sum(y).item() > 0) return y * 2;
    return y * 1;
  }
};

auto f(Net& net, const Tensor<float, Shape<dyn, 8>>& rows) {
  Model model{net};
  return model.predict(rows);
}
