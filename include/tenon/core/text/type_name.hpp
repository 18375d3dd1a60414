// Names of types as the compiler writes them, and numbers made of them.
#pragma once
#include <cstdint>
#include <string_view>

#include <tenon/core/config.hpp>
#include <tenon/core/random/philox.hpp>

namespace tenon::inline TENON_ABI {

// A namespace of its own: g++ leaves out the one in which the function itself stands.
//
// These functions return `auto`, so that naming one defines it: g++ 13 and 14 look for tautologies in a comparison of
// numbers of types while they parse it, define no other function for that, and stop as its value is not known.
namespace type_names {
// With its size, or compilers count the letters one by one.
template <class T>
constexpr auto pretty() {
  return std::string_view(__PRETTY_FUNCTION__, sizeof __PRETTY_FUNCTION__ - 1);
}
inline constexpr std::size_t begins = pretty<void>().find("void"), behind = pretty<void>().size() - begins - 4;
}  // namespace type_names

/// The qualified name of a type as this compiler writes it: "tenon::ops::Relu". For people, and for numbers within one
/// translation unit: in another one, types of an anonymous namespace are others under the same name.
template <class T>
constexpr auto type_name() {
  const std::string_view s = type_names::pretty<T>();
  return std::string_view(s.data() + type_names::begins, s.size() - type_names::begins - type_names::behind);
}

namespace detail {
struct Here;
inline constexpr std::string_view own_namespace = type_name<Here>().substr(0, type_name<Here>().rfind("detail"));

// Without the name of Tenon's own namespace: compilers take as long for a letter as for a statement.
template <class T>
constexpr auto hash_type() {
  const std::string_view s = type_name<T>();
  const std::size_t n = own_namespace.size();
  if (s.size() <= n || __builtin_memcmp(s.data(), own_namespace.data(), n) != 0) return hash_bytes(s.data(), s.size());
  return hash_bytes(s.data() + n, s.size() - n, 1);
}
}  // namespace detail

/// The qualified name of a type, without Tenon's own namespace: "ops::Relu".
template <class T>
constexpr std::string_view name_in_tenon() {
  const std::string_view s = type_name<T>(), own = detail::own_namespace;
  return s.starts_with(own) ? s.substr(own.size()) : s;
}

/// A number that tells types apart within one translation unit.
template <class T>
inline constexpr std::uint64_t type_number = detail::hash_type<T>();

namespace detail {
template <class T>
constexpr std::string_view find_class_name() {
  std::string_view s = type_name<T>();
  if (s.ends_with('>')) {
    std::size_t end = s.size();
    for (int depth = 0; end && (end == s.size() || depth);) --end, depth += (s[end] == '>') - (s[end] == '<');
    s = s.substr(0, end);
  }
  const auto colon = s.rfind("::");
  return colon == s.npos ? s : s.substr(colon + 2);
}
template <class T>
inline constexpr std::string_view found_class_name = find_class_name<T>();
}  // namespace detail

/// The unqualified name of a class without its template arguments: "Conv2d". Found once, not for each of 500 layers.
template <class T>
constexpr std::string_view class_name() {
  return detail::found_class_name<T>;
}

}  // namespace tenon
