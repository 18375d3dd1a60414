// The names of an operator's settings, for who prints a graph: the members of its Config.
#pragma once
#include <array>
#include <type_traits>

#include <tenon/core/reflect.hpp>

namespace tenon::inline TENON_ABI {

/// A member of an operator's Config, and which of the attributes' words it has.
struct AttributeName {
  std::string_view name;
  int first = 0, words = 1;
  bool real = false;  // float: the word holds its bits
};

namespace detail {
template <class T>
struct ConfigBase {
  template <class B>
  requires(std::is_base_of_v<B, T> && !std::is_same_v<B, T>)
  operator B() const;
};
/// Whether the members of a Config can be bound to names.
template <class Config>
constexpr bool has_plain_members() {
  if constexpr (!std::is_aggregate_v<Config> || std::is_empty_v<Config>) return false;
  else return !requires { Config{ConfigBase<Config>{}}; };
}

template <int I, class... M>
constexpr auto pointer_to(M&... member) {
  PointerTo<I> which;
  return each(which, member...);
}
/// The address of member I of `count`, of which a Config has at most 12.
template <int I, int count, class T>
constexpr auto config_member(T& t) {
  if constexpr (count == 1) {
    auto& [a] = t;
    return pointer_to<I>(a);
  } else if constexpr (count == 2) {
    auto& [a, b] = t;
    return pointer_to<I>(a, b);
  } else if constexpr (count == 3) {
    auto& [a, b, c] = t;
    return pointer_to<I>(a, b, c);
  } else if constexpr (count == 4) {
    auto& [a, b, c, d] = t;
    return pointer_to<I>(a, b, c, d);
  } else if constexpr (count == 5) {
    auto& [a, b, c, d, e] = t;
    return pointer_to<I>(a, b, c, d, e);
  } else if constexpr (count == 6) {
    auto& [a, b, c, d, e, f] = t;
    return pointer_to<I>(a, b, c, d, e, f);
  } else if constexpr (count == 7) {
    auto& [a, b, c, d, e, f, g] = t;
    return pointer_to<I>(a, b, c, d, e, f, g);
  } else if constexpr (count == 8) {
    auto& [a, b, c, d, e, f, g, h] = t;
    return pointer_to<I>(a, b, c, d, e, f, g, h);
  } else if constexpr (count == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = t;
    return pointer_to<I>(a, b, c, d, e, f, g, h, i);
  } else if constexpr (count == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = t;
    return pointer_to<I>(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (count == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = t;
    return pointer_to<I>(a, b, c, d, e, f, g, h, i, j, k);
  } else {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = t;
    return pointer_to<I>(a, b, c, d, e, f, g, h, i, j, k, l);
  }
}
/// Whether members of this type are whole words of one kind.
template <class M, class One = std::remove_all_extents_t<M>>
constexpr bool is_words() {
  if constexpr (std::is_class_v<One>) return sizeof(M) % sizeof(int) == 0;
  else return sizeof(One) == sizeof(int);
}
template <class Config, int I, int count>
constexpr AttributeName attribute_name() {
  constexpr const auto* p = config_member<I, count>(prototype<Config>);
  using M = std::remove_cvref_t<decltype(*p)>;
  static_assert(is_words<M>(), "an operator's Config is at most 12 members of type int, float, or int enum");
  return {last_word(pretty_pointer<p>()), 0, int(sizeof(M) / sizeof(int)),
          std::is_same_v<std::remove_all_extents_t<M>, float>};
}
// As initializers() of core/reflect.hpp, from as many as there are words: for most Configs that is right at once.
template <class Config, int words = int(sizeof(Config) / sizeof(int))>
constexpr int config_members() {
  if constexpr (words <= 3) {
    if constexpr (words == 3 && requires { Config{{}, {}, {}}; }) return 3;
    else if constexpr (words >= 2 && requires { Config{{}, {}}; }) return 2;
    else return 1;
  } else if constexpr (words == 7 && requires { Config{{}, {}, {}, {}, {}, {}, {}}; }) return 7;
  else if constexpr (words == 9 && requires { Config{{}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return 9;
  else return initializers<Config>();
}
/// Whether the members are at most 12 words together, and none is smaller than a word.
template <class Config, int words = int(sizeof(Config) / sizeof(int))>
constexpr bool fits_attributes() {
  if constexpr (sizeof(Config) % sizeof(int) != 0 || words > 12) return false;
  else if constexpr (words == 1) return !requires { Config{{}, {}}; };
  else if constexpr (words == 2) return !requires { Config{{}, {}, {}}; };
  else if constexpr (words == 3) return !requires { Config{{}, {}, {}, {}}; };
  else if constexpr (words == 7) return !requires { Config{{}, {}, {}, {}, {}, {}, {}, {}}; };
  else if constexpr (words == 9) return !requires { Config{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
  else return initializers<Config>() <= words;
}
template <class Config, int... I>
constexpr auto list_attributes(std::integer_sequence<int, I...>) {
  std::array<AttributeName, sizeof...(I)> made{attribute_name<Config, I, int(sizeof...(I))>()...};
  for (std::size_t i = 1; i < made.size(); ++i) made[i].first = made[i - 1].first + made[i - 1].words;
  return made;
}
}  // namespace detail

/// The members of a Config; none if it is not a plain aggregate.
template <class Config>
constexpr auto make_attribute_names() {
  if constexpr (!detail::has_plain_members<Config>()) return std::array<AttributeName, 0>{};
  else if constexpr (constexpr bool fits = detail::fits_attributes<Config>(); !fits) {
    static_assert(fits, "an operator's Config is at most 12 members of type int, float, or int enum");
    return std::array<AttributeName, 0>{};
  } else return detail::list_attributes<Config>(std::make_integer_sequence<int, detail::config_members<Config>()>());
}
template <class Config>
inline constexpr auto attribute_names = make_attribute_names<Config>();

}  // namespace tenon
