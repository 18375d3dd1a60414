// The names of operations: written once each, they stay until the program ends.
#pragma once
#include <string>
#include <string_view>

#include <tenon/core/context.hpp>
#include <tenon/graph/observe/operation.hpp>
#if TENON_DEFINES
#include <mutex>
#include <unordered_map>
#endif

namespace tenon::inline TENON_ABI::detail {

/// A text that lives as long as the program, the same one for equal contents.
std::string_view interned(std::string text);

#if TENON_DEFINES
TENON_INLINE std::string_view interned(std::string text) {
  static std::mutex mutex;
  static auto* const all = new std::unordered_map<std::string, bool>;  // observers may outlive statics
  const std::lock_guard lock(mutex);
  return all->emplace(std::move(text), true).first->first;
}
TENON_INLINE void write_scope(std::string& text, const Entry* entries, int i) {
  if (entries[i].parent >= 0) write_scope(text, entries, entries[i].parent);
  text += '/';
  if (entries[i].index >= 0) text += std::to_string(entries[i].index);
  else text += entries[i].name;
  if (!get_context().reserve_class_name_in_scope) return;
  text += '-';
  text += entries[i].class_name;
}
[[gnu::noinline]] TENON_INLINE std::string_view make_operation_name(const Entry* entries, int scope,
                                                                    const Origin& origin, std::string_view type) {
  std::string text = origin.gradient ? "Gradients/Default" : "Default";
  if (origin.in_loss) text += "/loss";
  else if (part_of(entries, scope, origin) == StepPart::optimizer)
    text += "/optimizer/" + parameter_name(entries, scope);
  else if (entries) write_scope(text, entries, scope);
  if (origin.gradient) text += (origin.sums ? "/Sum_" : "/Grad_") + std::string(origin.of->name);
  text += '/';
  text += type;
  return interned(text + "-op" + std::to_string(origin.number));
}

// What a name is made of. A thread keeps those that it has seen, so that a name is not written for every call.
struct NameKey {
  const Entry* entries;
  const OperatorInfo* of;
  const char* type;
  int scope, number;
  bool in_loss, sums, classes;
  bool operator==(const NameKey&) const = default;
  struct Hash {
    std::size_t operator()(const NameKey& k) const {
      const auto bits = [](const void* address) { return reinterpret_cast<std::uintptr_t>(address); };
      return hash_number(bits(k.type) ^ std::uint64_t(k.scope) << 32 ^ std::uint64_t(k.number) << 8 ^
                             std::uint64_t(k.in_loss) << 2 ^ std::uint64_t(k.classes) << 1 ^ std::uint64_t(k.sums),
                         bits(k.entries) ^ bits(k.of));
    }
  };
};
[[gnu::noinline]] TENON_INLINE std::string_view operation_name(const Entry* entries, int scope, const Origin& origin,
                                                               std::string_view type) {
  static thread_local std::unordered_map<NameKey, std::string_view, NameKey::Hash> seen;
  const bool classes = get_context().reserve_class_name_in_scope;
  std::string_view& name =
      seen[{entries, origin.of, type.data(), scope, origin.number, origin.in_loss, origin.sums, classes}];
  if (name.empty()) name = make_operation_name(entries, scope, origin, type);
  return name;
}
#endif

}  // namespace tenon::detail
