// expects: what visit() calls, or what model.predict(data) returns, has another type for each bucket
// lines: g++ 13, clang 20, nvcc 40
#include <tenon/dataset/operations.hpp>
#include <tenon/tenon.hpp>

using namespace tenon;
using dataset::any, dataset::Column, dataset::Columns, dataset::Ragged;

struct Net : nn::Cell<Net> {
  nn::Embedding<8, 4> token;
  constexpr auto construct(auto text) const { return token(text); }
};

auto f(const Model<Net, NoLoss, NoOptimizer, ModelOptions{}>& model) {
  const auto texts = dataset::generator<Columns<Column<std::int32_t, Ragged<any>, "text">>>(
      9, [](long i, auto text) { std::fill_n(text.resize(i), i, 1); });
  return model.predict(texts | dataset::bucket_batch_by_length<"text", 4, 8>(2));
}
