// Values, gradients, and second derivatives of operators on random operands in float64, against PyTorch's. Shared by
// derivatives.cpp and its parts, each of which registers cases.
#pragma once
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <source_location>
#include <sstream>
#include <string>
#include <vector>

#include <tenon/core/float/denormals.hpp>
#include <tenon/more.hpp>

#include "../support/both_modes.hpp"

namespace derivatives {

using namespace tenon;

constexpr int draws = 40;  // of each case, with batches of 1 to 6 samples

/// A line of derivatives.txt: the range of each operand, and the sums that PyTorch gives.
struct Golden {
  std::vector<double> range, sum;
};
inline std::map<std::string, Golden> read_golden() {
  std::map<std::string, Golden> cases;
  std::ifstream file(std::filesystem::path(std::source_location::current().file_name()).parent_path() /
                     "derivatives.txt");
  REQUIRE(file);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    Golden& golden = cases[name];
    std::vector<double>* to = &golden.range;
    for (std::string word; words >> word;)
      if (word == "=") to = &golden.sum;
      else to->push_back(std::strtod(word.c_str(), nullptr));
  }
  return cases;
}
struct Report {
  const std::map<std::string, Golden> golden = read_golden();
  std::set<std::string> ran;
};
inline Report& report() {
  static Report r;
  return r;
}

/// Element i of tensor `tensor` of a draw, a number in [0, 1): splitmix64, as in derivatives.py.
inline double uniform(int draw, int tensor, long i) {
  std::uint64_t z = (std::uint64_t(draw * 32 + tensor) << 32) + std::uint64_t(i) + 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return double((z ^ z >> 31) >> 11) * 0x1p-53;
}
// The numbers of the tensors of a draw: operands from 0, the gradient of the result, directions of the operands, and
// what derivatives are multiplied with.
constexpr int of_result = 8, of_direction = 9, of_sum = 16;

inline Storage random_tensor(const TensorType& type, long n, int draw, int tensor, double low, double high) {
  Storage storage(std::size_t(type.bytes(n)));
  for (long i = 0; i < type.count(n); ++i) {
    const double value = low + (high - low) * uniform(draw, tensor, i);
    if (type.dtype == Dtype::float64) reinterpret_cast<double*>(storage.data())[i] = value;
    else if (type.dtype == Dtype::int32) reinterpret_cast<std::int32_t*>(storage.data())[i] = int(std::floor(value));
    else reinterpret_cast<bool*>(storage.data())[i] = value >= 0;
  }
  return storage;
}

/// A sum of products, and that of their absolute values.
struct Sum {
  double value = 0, size = 0;
};
/// Runs the program of a case on all draws, and compares the sums of its outputs with PyTorch's.
inline void run(const std::string& name, const Program& program, const std::vector<TensorType>& operands,
                const TensorType& result, const std::vector<TensorType>& outputs) {
  CAPTURE(name);
  const auto found = report().golden.find(name);
  REQUIRE(found != report().golden.end());
  report().ran.insert(name);
  const Golden& golden = found->second;
  REQUIRE(golden.range.size() == 2 * operands.size());
  REQUIRE(golden.sum.size() == outputs.size());
  std::vector<Sum> sums(outputs.size());
  for (int draw = 0; draw < draws; ++draw) {
    const long n = 1 + draw % 6;
    std::vector<Storage> given;
    for (int k = 0; k < int(operands.size()); ++k)
      given.push_back(random_tensor(operands[std::size_t(k)], n, draw, k, golden.range[std::size_t(2 * k)],
                                    golden.range[std::size_t(2 * k + 1)]));
    given.push_back(random_tensor(result, n, draw, of_result, -1, 1));
    for (int k = 0; k < int(operands.size()); ++k)
      if (is_floating(operands[std::size_t(k)].dtype))
        given.push_back(random_tensor(operands[std::size_t(k)], n, draw, of_direction + k, -1, 1));
    std::vector<const void*> inputs;
    for (const Storage& one : given) inputs.push_back(one.data());
    Executor executor(program);
    executor.run(inputs.data(), n);
    for (int k = 0; k < int(outputs.size()); ++k) {
      const double* const y = static_cast<const double*>(executor.output(k));
      for (long i = 0; i < outputs[std::size_t(k)].count(n); ++i) {
        const double product = y[i] * (2 * uniform(draw, of_sum + k, i) - 1);
        sums[std::size_t(k)].value += product, sums[std::size_t(k)].size += std::fabs(product);
      }
    }
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    CAPTURE(k);
    const double ours = sums[k].value, theirs = golden.sum[k];
    CAPTURE(ours);
    CAPTURE(theirs);
    CHECK(std::fabs(ours - theirs) <= 1e-10 * sums[k].size);
  }
}

/// The graph of f(x...), its gradients with a given gradient of the result, and, to the second order, derivatives of
/// those along directions of the operands.
template <int order, class F, class... X>
struct Source {
  static constexpr const Entry* entries = nullptr;
  static constexpr int floats = (int(is_floating(X::dims.dtype)) + ...);

  static constexpr Builder trace() {
    Builder b;
    trace_operands(b, std::index_sequence_for<X...>{});
    return b;
  }
  template <std::size_t... I>
  static constexpr void trace_operands(Builder& b, std::index_sequence<I...>) {
    const std::tuple<Traced<typename X::type, typename X::shape_type>...> x{
        {&b, b.leaf(&info<ops::Input>, X::dims, I)}...};
    const auto y = F{}(std::get<I>(x)...);
    using Y = std::remove_const_t<decltype(y)>;
    if constexpr (!is_broken<Y>) {
      b.outputs.push_back(y.id);
      int leaves = sizeof...(X);
      const int weight = b.leaf(&info<ops::Input>, Y::dims, std::uint64_t(leaves++));
      std::vector<int> operands, directions;
      const auto add = [&](int id, const TensorType& type) {
        if (!is_floating(type.dtype)) return;
        operands.push_back(id);
        directions.push_back(b.leaf(&info<ops::Input>, type, std::uint64_t(leaves++)));
      };
      (add(std::get<I>(x).id, X::dims), ...);
      differentiate(b, {y.id}, {weight}, operands, directions, order);
    }
  }
  // Appends the gradients of the operands, and those of their products with the directions.
  static constexpr void differentiate(Builder& b, std::vector<int> roots, std::vector<int> seeds,
                                      const std::vector<int>& operands, const std::vector<int>& directions, int left) {
    if (left == 0) return;
    std::vector<int> wanted(b.nodes.size(), 0);
    for (const int id : operands) wanted[std::size_t(id)] = 1;
    std::vector<int> gradients(b.nodes.size(), -1);
    if (!roots.empty()) gradients = backward(b, roots, seeds, wanted);
    std::vector<int> next, next_seeds;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const std::size_t id = std::size_t(operands[k]);
      const int found = id < gradients.size() ? gradients[id] : -1;
      const TensorType type = b.nodes[id].type;
      b.outputs.push_back(found >= 0 ? found
                                     : b.call<ops::BroadcastTo>(ops::SumTo::to(type), b.constant(type.dtype, 0)));
      if (found >= 0) next.push_back(found), next_seeds.push_back(directions[k]);
    }
    differentiate(b, next, next_seeds, operands, directions, left - 1);
  }
};

/// Compares f on operands of the types X with the case of this name. `order`: 1 where there is no second derivative.
template <int order, class... X, class F>
void check_to(const std::string& name, F) {
  using Graph = Compiled<Source<order, F, X...>>;
  if constexpr (!Graph::ok) tenon::report<Graph>();
  else {
    using Y = decltype(F{}(std::declval<const Traced<typename X::type, typename X::shape_type>&>()...));
    std::vector<TensorType> outputs{Y::dims};
    for (int k = 0; k < order; ++k)
      for (const TensorType& type : {X::dims...})
        if (is_floating(type.dtype)) outputs.push_back(type);
    run(name, Graph::program, {X::dims...}, Y::dims, outputs);
  }
}
template <class... X, class F>
void check(const std::string& name, F f) {
  check_to<2, X...>(name, f);
}

template <int... E>
using D = Tensor<double, Shape<E...>>;
template <int... E>
using I = Tensor<std::int32_t, Shape<E...>>;
template <int... E>
using B = Tensor<bool, Shape<E...>>;

/// Two cases of a function of one tensor, and of two that are broadcast.
template <int order = 2, class F>
void unary(const std::string& name, F f) {
  check_to<order, D<dyn, 5>>(name, f);
  check_to<order, D<2, 1, 3>>(name + ".fixed", f);
}
template <class F>
void binary(const std::string& name, F f) {
  check<D<dyn, 3>, D<dyn, 3>>(name, f);
  check<D<2, 1, 4>, D<3, 1>>(name + ".broadcast", f);
}

/// Cases that run together: `const Group group([] { unary("abs", ...); });`
struct Group {
  explicit Group(void (*run)()) { all().push_back(run); }
  static std::vector<void (*)()>& all() {
    static std::vector<void (*)()> groups;
    return groups;
  }
};

}  // namespace derivatives
