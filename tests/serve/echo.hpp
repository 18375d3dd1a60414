// A model that returns its input, for tests of a server.
#pragma once
#include <functional>
#include <utility>
#include <vector>

#include <tenon/serve/servable.hpp>

namespace serving_test {

/// x: float32 [n, width], [n] with width 0; y is x. Calls `meanwhile` with n before it answers.
struct Echo final : tenon::serving::Servable {
  explicit Echo(int width, std::function<void(long)> meanwhile = {})
      : bytes_(std::size_t(width ? width : 1) * 4), meanwhile_(std::move(meanwhile)) {
    const tenon::TensorType type{{-1, width}, width ? 2 : 1, tenon::Dtype::float32};
    signature_.inputs = {{"x", type}};
    signature_.outputs = {{"y", type}};
  }
  void compute(long n, tenon::FunctionRef<std::byte* const*> fill,
               tenon::FunctionRef<const std::byte* const*> take) const override {
    std::vector<std::byte> bytes(std::size_t(n) * bytes_);
    std::byte* const to[]{bytes.data()};
    fill(to);
    if (meanwhile_) meanwhile_(n);
    const std::byte* const from[]{bytes.data()};
    take(from);
  }
  std::size_t bytes_;
  std::function<void(long)> meanwhile_;
};

}  // namespace serving_test
