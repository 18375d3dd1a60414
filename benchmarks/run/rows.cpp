// What larger works hide, for benchmarks/groups/rows.py: gradients of weights, one row times matrices of many widths,
// row-wise operators, gradients of pools whose windows overlap.
#include <functional>
#include <map>

#include "classifier.hpp"
#include "shapes.hpp"

using namespace tenon;

using Makers = std::map<std::string, std::function<benchmark::Work(const std::string& variant)>>;

/// From C channels to as many, on images of Size x Size.
template <int C, int Size, int K>
void add_gradient(Makers& makers) {
  using Shape = benchmark::Convolution<C, Size, Size, C, K, K, 1, 1, K / 2, K / 2>;
  makers["conv/backward_weight/32" + Shape::shape_name()] = [](const std::string&) {
    return Shape::backward_weight(32);
  };
}
template <int C, int Size>
void add_gradients(Makers& makers) {
  add_gradient<C, Size, 1>(makers);
  add_gradient<C, Size, 3>(makers);
  add_gradient<C, Size, 5>(makers);
  add_gradient<C, Size, 7>(makers);
}

template <int Width>
struct Row : nn::Cell<Row<Width>> {
  nn::Dense<Width, 512> fc;
  constexpr auto construct(auto x) const { return fc(x); }
};
template <int... Width>
void add_products(Makers& makers, const std::string& folder) {
  const auto add = [&]<int width>(Shape<width>) {
    const std::string name = text("row", width), weights = benchmark::initial_weights<Row<width>>(folder, name.c_str());
    makers[name + "/forward/1"] = [=](const std::string& variant) {
      return benchmark::forward<Row<width>>(weights, benchmark::mode_of(variant), 1, Shape<width>{});
    };
  };
  (add(Shape<Width>{}), ...);
}

template <int R, int C>
void add_rows(Makers& makers) {
  for (const std::string what : {"softmax", "log_softmax"})
    makers["rows/" + what + "/" + text(R, "x", C)] = [=](const std::string&) {
      return benchmark::Rows<R, C>::make(what);
    };
}
/// Windows of K x K, Step apart, on images of C x Size x Size.
template <int N, int C, int Size, int K, int Step, int Padding>
void add_pools(Makers& makers) {
  const auto size =
      text(N, "x", C, "x", Size, "x", Size, "-k", K, "x", K, "-s", Step, "x", Step, "-p", Padding, "x", Padding);
  for (const std::string what : {"max_backward", "avg_backward", "max_train"})
    makers["pool/" + what + "/" + size] = [=](const std::string&) {
      return benchmark::Pool<C, Size, Size, K, K, Step, Step, Padding, Padding>::make(what, N);
    };
}

int main(int argc, char** argv) {
  return benchmark::main_of(argc, argv, [](int threads, const std::string& folder) -> benchmark::Maker {
    set_context({.num_threads = threads, .seed = 1});
    Makers makers;
    add_gradients<3, 28>(makers);
    add_gradients<6, 28>(makers);
    add_gradients<16, 28>(makers);
    add_gradients<32, 14>(makers);
    add_gradients<64, 14>(makers);
    add_products<784, 896, 1008, 1024, 1040, 1152, 1280, 1408, 1536, 1664, 1792, 1920, 2032, 2048, 2064>(makers,
                                                                                                         folder);
    add_rows<32, 10>(makers);
    add_rows<512, 65>(makers);
    add_rows<64, 1000>(makers);
    add_rows<3000, 33>(makers);
    add_rows<8, 5000>(makers);
    add_pools<8, 64, 56, 3, 2, 1>(makers);
    add_pools<8, 32, 28, 3, 1, 1>(makers);
    add_pools<16, 16, 31, 5, 2, 0>(makers);
    return [=](const std::string& name, const std::string& variant) { return makers.at(name)(variant); };
  });
}
