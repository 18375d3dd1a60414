// The order of a backward pass, for graph and tape.
#pragma once
#include <vector>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI {

/// What is reachable from a root, operands first, in the order of operand positions. This order is the same in graph
/// and PyNative mode, while the order in which compilers evaluate f(a) + g(a), and thus trace it, is not.
class PostOrder {
 public:
  /// The numbers below `size` that are reachable from `root`. `operands(i)` counts the operands of i, `operand(i, k)`
  /// is one of them, or -1. The result is valid until the next call, which reuses its memory.
  template <class Operands, class Operand>
  constexpr const std::vector<int>& from(int root, std::size_t size, Operands operands, Operand operand) {
    order_.clear();
    next_.assign(size, 0);
    return and_from(root, operands, operand);
  }
  /// The same with what is also reachable from a further root.
  template <class Operands, class Operand>
  constexpr const std::vector<int>& and_from(int root, Operands operands, Operand operand) {
    if (next_[std::size_t(root)]) return order_;
    stack_.assign(1, root);
    next_[std::size_t(root)] = 1;
    while (!stack_.empty()) {
      const int id = stack_.back(), k = next_[std::size_t(id)] - 1;
      if (k == operands(id)) {
        order_.push_back(id);
        stack_.pop_back();
        continue;
      }
      ++next_[std::size_t(id)];
      const int before = operand(id, k);
      if (before >= 0 && !next_[std::size_t(before)]) {
        next_[std::size_t(before)] = 1;
        stack_.push_back(before);
      }
    }
    return order_;
  }

 private:
  std::vector<int> order_, stack_, next_;  // next_: 0 if not seen; k + 1 if operand k is the next to visit
};

}  // namespace tenon
