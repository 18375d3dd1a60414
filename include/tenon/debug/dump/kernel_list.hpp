// KernelList: the operators that a dump configuration names, and which of them a program never had.
#pragma once
#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/error.hpp>

namespace tenon::inline TENON_ABI::debug {

/// Operators by their full scope name ("Default/network-Net/conv1-Conv2d/Conv2D-op0"), or by type: a name without '/'
/// and without "-op" means all operators whose type contains it, small letters and capitals alike ("conv2d": Conv2D,
/// Conv2DBackpropFilter). Source: MindSpore 2.x.
class KernelList {
 public:
  explicit KernelList(const std::vector<std::string>& names) : names_(names), seen_(new Seen[names.size()]()) {
    for (const std::string& name : names) {
      const bool full = name.find('/') != name.npos || name.find("-op") != name.npos;
      types_.push_back(full ? std::string() : lower_case(name));
    }
  }

  /// Whether an operator is meant. Several threads may ask. Names of operators live as long as the program, and a zero
  /// byte follows them.
  bool contains(std::string_view full_name, std::string_view type) const {
    bool found = false;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const bool meant = types_[i].empty() ? names_[i] == full_name : lower_case(type).find(types_[i]) != type.npos;
      if (meant) seen_[i].used.store(true, std::memory_order_relaxed);
      else if (types_[i].empty() && before_number(names_[i]) == before_number(full_name))
        seen_[i].nearest.store(full_name.data(), std::memory_order_relaxed);
      found |= meant;
    }
    return found;
  }
  /// What contains() was never asked for.
  std::vector<std::string> unused() const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (!seen_[i].used.load(std::memory_order_relaxed)) names.push_back(names_[i]);
    return names;
  }
  /// " There is 'a/Conv2D-op0'." for an unused 'a/Conv2D-op1', and so on; numbers depend on MindSpore's release.
  std::string near_unused() const {
    std::string all;
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (const char* const nearest = seen_[i].nearest.load(std::memory_order_relaxed);
          nearest && !seen_[i].used.load(std::memory_order_relaxed))
        all += text(" There is '", nearest, "'.");
    return all;
  }

 private:
  struct Seen {
    std::atomic<bool> used{false};
    std::atomic<const char*> nearest{nullptr};
  };
  static std::string_view before_number(std::string_view name) { return name.substr(0, name.rfind("-op")); }

  std::vector<std::string> names_, types_;  // a full name has no type
  std::unique_ptr<Seen[]> seen_;
};

}  // namespace tenon::debug
