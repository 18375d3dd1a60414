// Random small graphs with everything that passes must respect: views, copies, effects, broadcasting, several dtypes.
#pragma once
#include <vector>

#include <tenon/graph/plan/buffers.hpp>

#include "maker.hpp"

namespace graph_test {

inline constexpr TensorType squares{{dyn, 2, 2}, 3, Dtype::float32};
inline constexpr TensorType half_rows{{dyn, 4}, 2, Dtype::float16};
inline constexpr TensorType matrix{{3, 4}, 2, Dtype::float32};
inline constexpr TensorType wide_rows{{dyn, 40}, 2, Dtype::float32}, wider_rows{{dyn, 90}, 2, Dtype::float32},
    table{{50}, 1, Dtype::float32}, large_table{{70}, 1, Dtype::float32};

/// A graph of up to N nodes that the seed fixes. Effects go to parameters, to views of them, and to computed values.
template <int N>
class RandomGraph {
 public:
  explicit RandomGraph(std::uint64_t seed) : random_(seed) {}

  Graph<N> make() {
    make_.input(rows, 0), make_.input(half_rows, 1), make_.input(matrix, 2);
    make_.input(wide_rows, 3), make_.input(wider_rows, 4), make_.input(table, 5), make_.input(large_table, 6);
    make_.parameter(vector4, 0), make_.parameter(vector4, 1), make_.parameter(matrix, 2), make_.parameter(rows, 3);
    state_ = make_.state(vector4, 0), number_ = make_.state(number, 64);
    for (double value : {1.0, 0.5, 2.0}) make_.constant(value);
    const int wanted = 16 + int(random_.below(N - 20));
    while (make_.graph.count < wanted) add_node();
    const int outputs = 1 + int(random_.below(3));
    for (int k = 0; k < outputs; ++k) make_.output(any());
    return make_.graph;
  }

 private:
  // A node, more often one of the last.
  int any() {
    const auto count = std::uint64_t(make_.graph.count);
    return int(random_.below(3) == 0 ? random_.below(count) : count - 1 - random_.below(count < 8 ? count : 8));
  }
  int any_of(const TensorType& type) {
    std::vector<int> fitting;
    for (int id = 0; id < make_.graph.count; ++id)
      if (make_.graph[id].type == type) fitting.push_back(id);
    const auto count = std::uint64_t(fitting.size());
    return fitting[std::size_t(random_.below(2) ? random_.below(count) : count - 1)];
  }
  void add_node() {
    const int x = any();
    const TensorType t = make_.graph[x].type;
    switch (random_.below(16)) {
      case 0: make_.template call<ops::Identity>(x); break;
      case 1: make_.template call<ops::StopGradient>(x); break;
      case 2:
        if (t == rows) make_.reshape(squares, x);
        else if (t == squares) make_.reshape(random_.below(2) ? rows : squares, x);
        else make_.reshape(t, x);
        break;
      case 3: make_.template call<Mix>(x, any()); break;
      case 4: make_.template call<Product>(any_of(rows), any_of(vector4)); break;
      case 5: make_.template call<Product>(any_of(matrix), any()); break;
      case 6: make_.template call<ImageProduct>(any_of(rows), any_of(vector4)); break;
      case 7: update(x, t); break;
      case 8: make_.template call<ops::Mul>(x, make_.constant(random_.below(2) ? 1 : 0.25, t.dtype)); break;
      case 9: make_.template call<ops::Relu>(x); break;
      default: binary(x, t);
    }
  }
  void update(int x, const TensorType& t) {
    const Node& target = make_.graph[buffers_of(make_.graph).owner[x]];
    if (target.op->leaf && !is<ops::ParameterLeaf>(target)) return;
    if (t == vector4 && random_.below(2)) make_.template call<Update>(x, any_of(t), state_, number_);
    else make_.template call<Update>(x, any_of(t));
  }
  void binary(int x, const TensorType& t) {
    const int y = random_.below(3) == 0 && t.dtype == Dtype::float32 ? any_of(number) : any_of(t);
    const int z = t == rows && random_.below(4) == 0 ? any_of(vector4) : y;
    if (random_.below(2)) make_.template call<ops::Add>(x, z);
    else make_.template call<ops::Mul>(z, x);
  }

  Random random_;
  Maker<N> make_;
  int state_ = 0, number_ = 0;
};

}  // namespace graph_test
