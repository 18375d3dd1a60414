// Windows of a long text, each with the tokens that follow, for training a language model.
#pragma once
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include <tenon/dataset/stage/stage.hpp>

namespace tenon::inline TENON_ABI::dataset {

struct TokenWindowsConfig {
  /// The distance between the begins of windows; 0 means `length`, so that windows do not overlap.
  long stride = 0;
};

/// Windows of `length` tokens: `TokenWindows<32>(vocabulary.encode(text), {.stride = 5})`.
///
/// columns     text: int32 [length]; next: int32 [length], the same window shifted by one token
/// rows        (tokens - length - 1) / stride + 1: an incomplete window at the end is dropped
/// throws      ValueError for fewer than length + 1 tokens, and for a stride below 0
template <int length>
class TokenWindows : public Source<TokenWindows<length>> {
  static_assert(length >= 1, "TokenWindows<length>: a piece has a token or more");

 public:
  using columns = Columns<Column<std::int32_t, Shape<length>, "text">, Column<std::int32_t, Shape<length>, "next">>;

  explicit TokenWindows(std::vector<std::int32_t> tokens, const TokenWindowsConfig& config = {})
      : tokens_(std::make_shared<const std::vector<std::int32_t>>(std::move(tokens))),
        stride_(config.stride ? config.stride : length) {
    if (stride_ < 1) throw_error<ValueError>("TokenWindows: the stride is ", stride_, ", it must be 1 or more.");
    if (count() < length + 1)
      throw_error<ValueError>("TokenWindows<", length, "> needs ", length + 1, " tokens or more, for a piece and what ",
                              "follows; it was given ", count(), ".");
  }

  long size() const { return (count() - length - 1) / stride_ + 1; }
  void describe(auto& d) const {
    d.add(stride_);
    d.add_content(tokens_->data(), tokens_->size());
  }
  void sample(long index, void* const* out) const {
    const std::int32_t* const begin = tokens_->data() + index * stride_;
    std::memcpy(out[0], begin, length * sizeof *begin);
    std::memcpy(out[1], begin + 1, length * sizeof *begin);
  }

 private:
  long count() const { return static_cast<long>(tokens_->size()); }

  std::shared_ptr<const std::vector<std::int32_t>> tokens_;
  long stride_;
};

}  // namespace tenon::dataset
