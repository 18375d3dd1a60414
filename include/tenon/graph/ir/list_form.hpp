// The form of the list that replaces the gradient of max pooling.
#pragma once
#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI {

/// Where a list says that pixel (y, x) is: at element y * row + x * column of the image that its readers make of
/// theirs. The default is no list.
struct ListForm {
  int row = 0, column = 0;
  constexpr bool operator==(const ListForm&) const = default;
  /// Any of them: where pixels are does not matter.
  static constexpr ListForm any() { return {-1, -1}; }
  /// The form that does for both.
  friend constexpr ListForm common(const ListForm& a, const ListForm& b) {
    return a == b || b == any() ? a : a == any() ? b : ListForm{};
  }
};

}  // namespace tenon
