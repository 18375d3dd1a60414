// The members of an operator's Config, for printing a graph.
#pragma once
#include <type_traits>

#include <tenon/core/reflect.hpp>

namespace tenon::inline TENON_ABI {

namespace detail {
/// Whether members of this type are whole words of one kind.
template <class M, class One = std::remove_all_extents_t<M>>
constexpr bool is_words() {
  if constexpr (std::is_class_v<One>) return sizeof(M) % sizeof(int) == 0;
  else return sizeof(One) == sizeof(int);
}
}  // namespace detail

/// Where the members of a Config are in one of its objects, and a text that names them. All are of one type, and there
/// is one function for each Config: programs have many, and few of them print a graph.
struct ConfigMembers {
  struct Member {
    const void* at = nullptr;
    bool real = false;
    constexpr Member() = default;
    template <class M>
    constexpr Member(const M* member) : at(member), real(std::is_same_v<std::remove_all_extents_t<M>, float>) {
      static_assert(detail::is_words<M>(),
                    "an operator's Config is at most 12 members of type int, float, or int enum");
    }
  };
  static constexpr int most = 12;
  Member member[most + 1]{};
  int count = 0;
  const void* end = nullptr;  // of the object
  const char* text = "";      // of compilers: "... p0 = &object.name, p1 = ..."
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

template <class Config>
inline constexpr Config config_object{};

/// The address of each of the members, of which a Config has at most 12.
template <int count, class Config>
constexpr void find_members(ConfigMembers& found, const Config& config) {
  ConfigMembers::Member(&members)[ConfigMembers::most + 1] = found.member;
  if constexpr (count == 1) {
    auto& [a] = config;
    const ConfigMembers::Member all[]{&a};
    for (int m = 0; m < count; ++m) members[m] = all[m];
  } else if constexpr (count == 2) {
    auto& [a, b] = config;
    const ConfigMembers::Member all[]{&a, &b};
    for (int m = 0; m < count; ++m) members[m] = all[m];
  } else if constexpr (count == 3) {
    auto& [a, b, c] = config;
    const ConfigMembers::Member all[]{&a, &b, &c};
    for (int m = 0; m < count; ++m) members[m] = all[m];
  } else if constexpr (count == 4) {
    auto& [a, b, c, d] = config;
    const ConfigMembers::Member all[]{&a, &b, &c, &d};
    for (int m = 0; m < count; ++m) members[m] = all[m];
  } else if constexpr (count == 5) {
    auto& [a, b, c, d, e] = config;
    const ConfigMembers::Member all[]{&a, &b, &c, &d, &e};
    for (int m = 0; m < count; ++m) members[m] = all[m];
  } else if constexpr (count == 6) {
    auto& [a, b, c, d, e, f] = config;
    const ConfigMembers::Member all[]{&a, &b, &c, &d, &e, &f};
    for (int m = 0; m < count; ++m) members[m] = all[m];
  } else if constexpr (count == 7) {
    auto& [a, b, c, d, e, f, g] = config;
    const ConfigMembers::Member all[]{&a, &b, &c, &d, &e, &f, &g};
    for (int m = 0; m < count; ++m) members[m] = all[m];
  } else if constexpr (count == 8) {
    auto& [a, b, c, d, e, f, g, h] = config;
    const ConfigMembers::Member all[]{&a, &b, &c, &d, &e, &f, &g, &h};
    for (int m = 0; m < count; ++m) members[m] = all[m];
  } else if constexpr (count == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = config;
    const ConfigMembers::Member all[]{&a, &b, &c, &d, &e, &f, &g, &h, &i};
    for (int m = 0; m < count; ++m) members[m] = all[m];
  } else if constexpr (count == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = config;
    const ConfigMembers::Member all[]{&a, &b, &c, &d, &e, &f, &g, &h, &i, &j};
    for (int m = 0; m < count; ++m) members[m] = all[m];
  } else if constexpr (count == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = config;
    const ConfigMembers::Member all[]{&a, &b, &c, &d, &e, &f, &g, &h, &i, &j, &k};
    for (int m = 0; m < count; ++m) members[m] = all[m];
  } else {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = config;
    const ConfigMembers::Member all[]{&a, &b, &c, &d, &e, &f, &g, &h, &i, &j, &k, &l};
    for (int m = 0; m < count; ++m) members[m] = all[m];
  }
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
constexpr bool fits_words() {
  if constexpr (sizeof(Config) % sizeof(int) != 0 || words > ConfigMembers::most) return false;
  else if constexpr (words == 1) return !requires { Config{{}, {}}; };
  else if constexpr (words == 2) return !requires { Config{{}, {}, {}}; };
  else if constexpr (words == 3) return !requires { Config{{}, {}, {}, {}}; };
  else if constexpr (words == 7) return !requires { Config{{}, {}, {}, {}, {}, {}, {}, {}}; };
  else if constexpr (words == 9) return !requires { Config{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
  else return initializers<Config>() <= words;
}
template <const void* p0, const void* p1, const void* p2, const void* p3, const void* p4, const void* p5,
          const void* p6, const void* p7, const void* p8, const void* p9, const void* p10, const void* p11,
          const void* p12>
constexpr const char* members_text() {
  return __PRETTY_FUNCTION__;
}
template <class Config>
constexpr ConfigMembers list_members() {
  ConfigMembers made;
  made.count = config_members<Config>();
  made.end = &config_object<Config> + 1;
  find_members<config_members<Config>()>(made, config_object<Config>);
  return made;
}
template <class Config>
inline constexpr ConfigMembers listed_members = list_members<Config>();
template <class Config>
constexpr ConfigMembers named_members() {
  constexpr const auto& m = listed_members<Config>.member;
  ConfigMembers made = listed_members<Config>;
  made.text = members_text<m[0].at, m[1].at, m[2].at, m[3].at, m[4].at, m[5].at, m[6].at, m[7].at, m[8].at, m[9].at,
                           m[10].at, m[11].at, m[12].at>();
  return made;
}
template <class Config>
inline constexpr ConfigMembers members_of_config = named_members<Config>();
}  // namespace detail

/// The members of a Config; null if it is not a plain aggregate.
template <class Config>
constexpr const ConfigMembers* make_config_members() {
  if constexpr (!detail::has_plain_members<Config>()) return nullptr;
  else if constexpr (constexpr bool fits = detail::fits_words<Config>(); !fits) {
    static_assert(fits, "an operator's Config is at most 12 members of type int, float, or int enum");
    return nullptr;
  } else return &detail::members_of_config<Config>;
}

}  // namespace tenon
