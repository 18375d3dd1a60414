// The names of an operator's settings: the members of its Config.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/reflect.hpp>
#include <tenon/graph/ir/operator.hpp>

namespace tenon::inline TENON_ABI::debug {

/// A member of an operator's Config, and which of the attributes' words it has.
struct AttributeName {
  std::string_view name;
  int first = 0, words = 1;
  bool real = false;  // float: the word holds its bits
};

/// The settings of an operator; none if its Config is not a plain aggregate, or in a program that cannot be observed.
std::vector<AttributeName> attribute_names(const OperatorInfo& op);

#if TENON_DEFINES
/// The member that stands in "..., p3 = &object.name, p4 = ..." (clang, nvcc) or "...; const void* p3 = (&
/// object.Config::name); const void* p4 = ..." (g++).
inline std::string_view setting_name(std::string_view text, int i) {
  const auto place = [&](int member) { return text.find("p" + std::to_string(member) + " = "); };
  std::string_view part = text.substr(0, place(i + 1));
  part = part.substr(place(i));
  return tenon::detail::last_word(part.substr(0, part.find_last_of(",;")));
}
[[gnu::noinline]] TENON_INLINE std::vector<AttributeName> attribute_names([[maybe_unused]] const OperatorInfo& op) {
  std::vector<AttributeName> made;
#if defined(TENON_OBSERVE)
  const ConfigMembers* const all = op.settings;
  const int count = all ? all->count : 0;
  const auto words = [](const void* from, const void* to) {
    return int((static_cast<const char*>(to) - static_cast<const char*>(from)) / long(sizeof(int)));
  };
  for (int i = 0; i < count; ++i) {
    const auto& member = all->member[i];
    const void* const next = i + 1 < count ? all->member[i + 1].at : all->end;
    made.push_back(
        {setting_name(all->text, i), words(all->member[0].at, member.at), words(member.at, next), member.real});
  }
#endif
  return made;
}
#endif

}  // namespace tenon::debug
