// What a user writes outside of templates, where nvcc writes each type anew for the host's compiler: types of results,
// lists in lists, a dump.
#define TENON_OBSERVE
#include <string>
#include <vector>

#include <tenon/debug/debug.hpp>
#include <tenon/tenon.hpp>

using namespace tenon;

namespace {
struct Net : nn::Cell<Net> {
  nn::Dense<4, 3> fc;
  constexpr auto construct(auto x) const { return relu(fc(x)); }
};
/// Counts what a dump hands to it.
struct Counting {
  int* written;
  int open(const debug::DumpedStep&) { return 0; }
  void write(int&, const debug::DumpedTensor&, const AnyTensor&) { ++*written; }
  void close(int&) {}
};
}  // namespace

int main() {
  const auto x = Tensor<float, Shape<dyn, 4>>::full(1.0f, 2);
  // results of operators whose settings are a class
  static_assert(decltype(argmax<0>(Tensor<bool, Shape<dyn, 3>>{}))::dims == type_of<std::int32_t, Shape<3>>);
  static_assert(decltype(reshape<Shape<dyn, 2, 0>>(x))::dims == type_of<float, Shape<dyn, 2, 2>>);
  static_assert(decltype(expand_dims<1, -1>(x))::dims == type_of<float, Shape<dyn, 1, 4, 1>>);
  static_assert(decltype(concat<1>(x, x))::dims == type_of<float, Shape<dyn, 8>>);
  // of a cell and of a Model
  Net net;
  Model model{net};
  decltype(net(x)) called = net(x);
  std::vector<decltype(model.predict(x))> predicted(2);
  predicted[1] = model.predict(x);
  // one list in a list
  const Tensor row({{1.0f, 2.0f}});
  static_assert(decltype(row)::dims == type_of<float, Shape<1, 2>>);
  const auto also = Tensor<float, Shape<1, 2>>({{1.0f, 2.0f}});
  // a dump
  int written = 0;
  {
    debug::Dump dump(Counting{&written});
    const Watching scope(dump);
    model.predict(x).data();
  }
  return bit_equal(called, predicted[1]) && bit_equal(row, also) && row.data()[1] == 2 && written > 3 ? 0 : 1;
}
