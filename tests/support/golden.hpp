// Operators and layers against results of other frameworks (golden/ops, one .npz per case).
#pragma once
#include <cmath>
#include <cstring>
#include <map>
#include <span>

#include <doctest/doctest.h>

#include <tenon/core/function_ref.hpp>
#include <tenon/run/tape.hpp>

#include "expect.hpp"
#include "npz.hpp"
#include "shared.hpp"
#include "tensors.hpp"

namespace support {

/// The arrays of a case of golden/ops: "in/x", "param/weight", "out/0", "dy/0", "grad/x", "gradparam/weight".
inline Npz load_case(const std::string& name) { return load_npz(shared_folder() + "/golden/ops/" + name + ".npz"); }

/// The cases that ran, and whether all of each was right.
inline std::map<std::string, bool>& golden_cases() {
  static std::map<std::string, bool> cases;
  return cases;
}
/// Calls check(arrays) of a case and notes how it went. One case that throws does not keep the others from running.
/// What is no template here and below is compiled once for all cases.
[[gnu::noinline]] inline void golden_case(const std::string& name, tenon::FunctionRef<const Npz&> check) {
  CAPTURE(name);
  const int before = failures();
  try {
    check(load_case(name));
  } catch (const std::exception& error) {
    const std::string what = error.what();
    CAPTURE(what);
    expect(false);
  }
  const bool passed = failures() == before;
  bool& all_passed = golden_cases().try_emplace(name, true).first->second;  // some names are checked twice
  all_passed = all_passed && passed;
}

/// The n of an array that is to be a tensor of type t. Throws ValueError if it has another shape.
[[gnu::noinline]] inline long batch_of(const NpyArray& array, const tenon::TensorType& t, const std::string& name) {
  bool fits = int(array.shape.size()) == t.rank;
  long n = 1;
  for (int axis = 0; fits && axis < t.rank; ++axis) {
    const long found = static_cast<long>(array.shape[std::size_t(axis)]);
    if (t.extent[axis] < 0) n = found / -t.extent[axis];
    fits = found == t.size(axis, n);
  }
  if (!fits)
    throw tenon::ValueError(tenon::text("'", name, "' is ", tenon::shape_text(array.shape), ", asked for ",
                                        tenon::shape_text(tenon::AnyTensor(t, n, nullptr).shape())));
  return n;
}

/// An array as a tensor. The shape must agree; a dynamic leading extent of k * n takes n from the array.
/// throws      ValueError, TypeError if shape or dtype are others
template <class T, class S>
tenon::Tensor<T, S> to_tensor(const NpyArray& array, const std::string& name) {
  using Result = tenon::Tensor<T, S>;
  const long n = batch_of(array, Result::dims, name);
  const std::vector<T> values = array.values<T>();
  Result result = Result::empty(n);
  for (std::size_t i = 0; i < values.size(); ++i) result.values()[i] = values[i];
  return result;
}

/// What the checks below compared with references on the CPU, in their order: a second target that promises the CPU's
/// results must give the same numbers, bit for bit, where NaN equals NaN.
struct OnCpu {
  std::vector<std::vector<double>> arrays;
  std::size_t next = 0;
  enum { unused, written, compared } state = unused;
};
inline OnCpu& on_cpu() {
  static OnCpu all;
  return all;
}
[[gnu::noinline]] inline void check_as_on_cpu(const std::vector<double>& found) {
  OnCpu& cpu = on_cpu();
  if (cpu.state == OnCpu::written) cpu.arrays.push_back(found);
  if (cpu.state != OnCpu::compared) return;
  bool as_on_cpu = cpu.next < cpu.arrays.size() && cpu.arrays[cpu.next].size() == found.size();
  for (std::size_t i = 0; as_on_cpu && i < found.size(); ++i) {
    const double here = cpu.arrays[cpu.next][i];
    as_on_cpu = std::memcmp(&here, &found[i], sizeof here) == 0 || (std::isnan(here) && std::isnan(found[i]));
  }
  ++cpu.next;
  CAPTURE(as_on_cpu);
  expect(as_on_cpu);
}

/// How far a result may be from the reference: |error| <= absolute + relative * max |reference| over the array.
struct Tolerance {
  double absolute = 1e-5, relative = 1e-4;
};
/// For what has tanh inside: MindSpore's own is an approximation.
inline constexpr Tolerance with_tanh{1e-5, 3e-4};

template <class T>
[[gnu::noinline]] std::vector<double> as_double(std::span<const T> elements) {
  return {elements.begin(), elements.end()};
}
/// Checks numbers against those of a reference, and against the CPU's. With no tolerance all must be equal.
[[gnu::noinline]] inline void check_values(const std::vector<double>& found, const std::vector<double>& expected,
                                           const Tolerance* tolerance) {
  check_as_on_cpu(found);
  const bool same_count = found.size() == expected.size();
  expect(same_count);
  if (!same_count) return;
  double largest = 0, worst = 0;
  std::size_t at = 0;
  for (double e : expected) largest = std::fmax(largest, std::fabs(e));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double value = found[i], error = std::fabs(value - expected[i]);
    const bool equal = value == expected[i] || (std::isnan(value) && std::isnan(expected[i]));
    if (!equal && !(error <= worst)) worst = std::isnan(error) ? INFINITY : error, at = i;
  }
  const double wanted = expected.empty() ? 0 : expected[at];
  CAPTURE(at);
  CAPTURE(wanted);
  CAPTURE(worst);
  expect(tolerance ? worst <= tolerance->absolute + tolerance->relative * largest : worst == 0);
}
[[gnu::noinline]] inline void check_near(const tenon::AnyTensor& view, const std::vector<double>& found,
                                         const Npz& golden, const std::string& name, Tolerance tolerance) {
  const std::string what = golden.path() + ":" + name;
  CAPTURE(what);
  const NpyArray& array = golden[name];
  const bool same_shape = std::vector<std::int64_t>(view.shape().begin(), view.shape().end()) == array.shape;
  expect(same_shape);
  if (same_shape) check_values(found, array.numbers(), tenon::is_floating(view.dtype) ? &tolerance : nullptr);
}
/// Checks elements against a reference array: integers and bool exactly, floating-point within the tolerance.
template <class T, class S>
void check_near(const tenon::Tensor<T, S>& found, const Npz& golden, const std::string& name,
                Tolerance tolerance = {}) {
  check_near(found.view(), as_double<T>(found.values()), golden, name, tolerance);
}

[[gnu::noinline]] inline std::string path_of(const std::string& name) {
  return name.starts_with("param/") ? name : "in/" + name;
}
[[gnu::noinline]] inline std::string gradient_of(const std::string& name) {
  return name.starts_with("param/") ? "grad" + name : "grad/" + name;
}
/// An input of a case: `In<float, Shape<2, 3>>{"x"}` is in/x with gradient grad/x, {"param/weight"} a parameter.
template <class T, class S>
struct In {
  std::string name;
  std::string path() const { return path_of(name); }
  std::string gradient() const { return gradient_of(name); }
  tenon::Tensor<T, S> tensor(const Npz& golden) const {
    return to_tensor<T, S>(golden[path()], golden.path() + ":" + path());
  }
};

namespace detail {
[[gnu::noinline]] inline int count_gradients(const Npz& golden) {
  int count = 0;
  for (const auto& [name, array] : golden.arrays())
    count += name.starts_with("grad/") || name.starts_with("gradparam/");
  return count;
}
template <class F, class... Inputs, std::size_t... I>
void check_case_of(const Npz& golden, Tolerance tolerance, F f, std::index_sequence<I...>, const Inputs&... input) {
  auto x = std::make_tuple(input.tensor(golden)...);
  tenon::eager::Tape tape;
  const auto watch = [&](const auto& in, const auto& value) {
    if (golden.has(in.gradient())) tape.watch(value);
  };
  (watch(input, std::get<I>(x)), ...);
  const auto y = f(std::get<I>(x)...);
  check_near(y, golden, "out/0", tolerance);
  if (!golden.has("dy/0")) return;
  using Result = std::remove_cvref_t<decltype(y)>;
  if constexpr (is_floating_tensor<Result>) {
    tape.backward(
        y, to_tensor<typename Result::type, typename Result::shape_type>(golden["dy/0"], golden.path() + ":dy/0"));
    int compared = 0;
    const auto compare = [&](const auto& in, const auto& value) {
      if (golden.has(in.gradient())) check_near(tape.gradient(value), golden, in.gradient(), tolerance), ++compared;
    };
    (compare(input, std::get<I>(x)), ...);
    expect(compared == count_gradients(golden));  // no gradient of the case is forgotten
  }
}
}  // namespace detail

/// Runs y = f(inputs...) of a case and checks out/0, and every stored gradient of sum(y * dy/0).
///
///   check_case("bin_add_0", {}, [](const auto& x, const auto& y) { return x + y; }, In<float, Shape<2, 3, 4>>{"x"},
///   In<float, Shape<4>>{"y"});
template <class F, class... Inputs>
void check_case(const std::string& name, Tolerance tolerance, F f, const Inputs&... input) {
  golden_case(name, [&](const Npz& golden) {
    detail::check_case_of(golden, tolerance, f, std::index_sequence_for<Inputs...>{}, input...);
  });
}

}  // namespace support
