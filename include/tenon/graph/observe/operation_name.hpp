// The names of operations: written once each, they stay until the program ends.
#pragma once
#include <string>
#include <string_view>

#include <tenon/core/context.hpp>
#include <tenon/graph/observe/operation.hpp>
#if TENON_DEFINES
#include <mutex>

#include <tenon/graph/observe/word_map.hpp>
#endif

namespace tenon::inline TENON_ABI::detail {

/// A text that lives as long as the program, the same one for equal contents.
const std::string& interned(std::string text);

#if TENON_DEFINES
TENON_INLINE const std::string& interned(std::string text) {
  struct Kept {
    std::string text;
    const Kept* next;  // with the same hash
  };
  static std::mutex mutex;
  static WordMap* const all = new WordMap;  // observers may outlive statics
  const std::lock_guard lock(mutex);
  std::uint64_t hash = 0;
  for (const char c : text) hash = hash_number(std::uint64_t(c), hash);
  std::uint64_t& first = (*all)[{{hash}}];
  const auto* const known = reinterpret_cast<const Kept*>(first);
  for (const Kept* kept = known; kept; kept = kept->next)
    if (kept->text == text) return kept->text;
  const Kept* const made = new Kept{std::move(text), known};
  first = address_word(made);
  return made->text;
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
[[gnu::noinline]] TENON_INLINE const std::string& make_operation_name(const Entry* entries, int scope,
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

// A thread keeps the names that it has seen, so that one is not written for every call.
[[gnu::noinline]] TENON_INLINE std::string_view operation_name(const Entry* entries, int scope, const Origin& origin,
                                                               std::string_view type) {
  static thread_local WordMap seen;
  const std::uint64_t flags = std::uint64_t(origin.in_loss) | std::uint64_t(origin.sums) << 1 |
                              std::uint64_t(get_context().reserve_class_name_in_scope) << 2;
  std::uint64_t& name = seen[{{address_word(entries), address_word(origin.of), address_word(type.data()),
                               std::uint64_t(scope) << 32 | std::uint32_t(origin.number), flags}}];
  if (!name) name = address_word(&make_operation_name(entries, scope, origin, type));
  return *reinterpret_cast<const std::string*>(name);
}
#endif

}  // namespace tenon::detail
