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
  explicit KernelList(const std::vector<std::string>& names)
      : names_(names), used_(new std::atomic<bool>[names.size()]()) {
    for (const std::string& name : names) {
      const bool full = name.find('/') != name.npos || name.find("-op") != name.npos;
      types_.push_back(full ? std::string() : lower_case(name));
    }
  }

  /// Whether an operator is meant. Several threads may ask.
  bool contains(std::string_view full_name, std::string_view type) const {
    bool found = false;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const bool meant = types_[i].empty() ? names_[i] == full_name : lower_case(type).find(types_[i]) != type.npos;
      if (meant) used_[i].store(true, std::memory_order_relaxed);
      found |= meant;
    }
    return found;
  }
  /// What contains() was never asked for.
  std::vector<std::string> unused() const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (!used_[i].load(std::memory_order_relaxed)) names.push_back(names_[i]);
    return names;
  }

 private:
  std::vector<std::string> names_, types_;  // a full name has no type
  std::unique_ptr<std::atomic<bool>[]> used_;
};

}  // namespace tenon::debug
