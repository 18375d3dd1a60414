// Members of an aggregate by position, and their names, without a macro in the user's class.
#pragma once
#include <string_view>
#include <tuple>
#include <type_traits>

#include <tenon/core/config.hpp>
#include <tenon/core/reflect/many.hpp>

namespace tenon::inline TENON_ABI {

namespace detail {
// Never destroyed: g++ with UBSan refuses the destruction of an array member as a constant expression.
template <class T>
union Undestroyed {
  T object;
  constexpr Undestroyed() : object{} {}
  constexpr ~Undestroyed() {}
};
template <class T>
inline constexpr Undestroyed<T> undestroyed{};
}  // namespace detail

/// One constexpr object per type: its members' addresses identify them while tracing.
template <class T>
inline constexpr const T& prototype = detail::undestroyed<T>.object;

namespace detail {
// The number of `{}` that T accepts, its bases included: unlike other probes `{}` is not spread over array elements.
template <class T>
constexpr int initializers() {
  if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    if constexpr (requires {
                    T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                      {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                  })
      return many_initializers<T>();
    else if constexpr (requires {
                         T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                           {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                       })
      return 25;
    else if constexpr (requires {
                         T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                           {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                       })
      return 24;
    else if constexpr (requires {
                         T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                       })
      return 23;
    else if constexpr (requires {
                         T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                       })
      return 22;
    else if constexpr (requires {
                         T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                       })
      return 21;
    else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; })
      return 20;
    else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; })
      return 19;
    else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; })
      return 18;
    else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return 17;
    else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return 16;
    else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return 15;
    else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return 14;
    else return 13;
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return 12;
  else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return 11;
  else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return 10;
  else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return 9;
  else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}}; }) return 8;
  else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}}; }) return 7;
  else if constexpr (requires { T{{}, {}, {}, {}, {}, {}}; }) return 6;
  else if constexpr (requires { T{{}, {}, {}, {}, {}}; }) return 5;
  else if constexpr (requires { T{{}, {}, {}, {}}; }) return 4;
  else if constexpr (requires { T{{}, {}, {}}; }) return 3;
  else if constexpr (requires { T{{}, {}}; }) return 2;
  else if constexpr (requires { T{{}}; }) return 1;
  else return 0;
}
}  // namespace detail

/// Number of data members of an aggregate with exactly one (empty) base class.
template <class T>
inline constexpr int member_count = detail::initializers<T>() - 1;

/// Calls f(member, position) for each data member of t. f may be MemberTypesOf{}.
template <class T, class F>
constexpr auto for_each_member(T& t, F f) {
  constexpr int count = member_count<std::remove_cv_t<T>>;
  using detail::each;
  static_assert(count <= max_members, "a cell has at most 64 members: group some of them in a cell of their own");
  if constexpr (count <= 0) {
    return each(f);
  } else if constexpr (count == 1) {
    auto& [a] = t;
    return each(f, a);
  } else if constexpr (count == 2) {
    auto& [a, b] = t;
    return each(f, a, b);
  } else if constexpr (count == 3) {
    auto& [a, b, c] = t;
    return each(f, a, b, c);
  } else if constexpr (count == 4) {
    auto& [a, b, c, d] = t;
    return each(f, a, b, c, d);
  } else if constexpr (count == 5) {
    auto& [a, b, c, d, e] = t;
    return each(f, a, b, c, d, e);
  } else if constexpr (count == 6) {
    auto& [a, b, c, d, e, g] = t;
    return each(f, a, b, c, d, e, g);
  } else if constexpr (count == 7) {
    auto& [a, b, c, d, e, g, h] = t;
    return each(f, a, b, c, d, e, g, h);
  } else if constexpr (count == 8) {
    auto& [a, b, c, d, e, g, h, i] = t;
    return each(f, a, b, c, d, e, g, h, i);
  } else if constexpr (count == 9) {
    auto& [a, b, c, d, e, g, h, i, j] = t;
    return each(f, a, b, c, d, e, g, h, i, j);
  } else if constexpr (count == 10) {
    auto& [a, b, c, d, e, g, h, i, j, k] = t;
    return each(f, a, b, c, d, e, g, h, i, j, k);
  } else if constexpr (count == 11) {
    auto& [a, b, c, d, e, g, h, i, j, k, l] = t;
    return each(f, a, b, c, d, e, g, h, i, j, k, l);
  } else if constexpr (count == 12) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m] = t;
    return each(f, a, b, c, d, e, g, h, i, j, k, l, m);
  } else if constexpr (count == 13) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, n] = t;
    return each(f, a, b, c, d, e, g, h, i, j, k, l, m, n);
  } else if constexpr (count == 14) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, n, o] = t;
    return each(f, a, b, c, d, e, g, h, i, j, k, l, m, n, o);
  } else if constexpr (count == 15) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, n, o, p] = t;
    return each(f, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p);
  } else if constexpr (count == 16) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q] = t;
    return each(f, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q);
  } else if constexpr (count == 17) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r] = t;
    return each(f, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r);
  } else if constexpr (count == 18) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s] = t;
    return each(f, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s);
  } else if constexpr (count == 19) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, u] = t;
    return each(f, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, u);
  } else if constexpr (count == 20) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, u, v] = t;
    return each(f, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, u, v);
  } else if constexpr (count == 21) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, u, v, w] = t;
    return each(f, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, u, v, w);
  } else if constexpr (count == 22) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, u, v, w, x] = t;
    return each(f, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, u, v, w, x);
  } else if constexpr (count == 23) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, u, v, w, x, y] = t;
    return each(f, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, u, v, w, x, y);
  } else if constexpr (count == 24) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, u, v, w, x, y, z] = t;
    return each(f, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, u, v, w, x, y, z);
  } else if constexpr (count <= max_members) {
    return detail::each_of_many<count>(t, f);
  }
}

namespace detail {
template <auto P>
constexpr std::string_view pretty_pointer() {
  return {__PRETTY_FUNCTION__, sizeof __PRETTY_FUNCTION__ - 1};
}

// The last identifier of "[with auto P = (& prototype<Net>.Net::conv1); ...]" (g++) or "[P = &prototype<Net>.conv1]"
// (clang, nvcc).
constexpr std::string_view last_word(std::string_view s) {
  auto end = s.find(';', s.find('P'));
  if (end == s.npos) end = s.size();
  const auto in_word = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  while (end && !in_word(s[end - 1])) --end;
  auto begin = end;
  while (begin && in_word(s[begin - 1])) --begin;
  return s.substr(begin, end - begin);
}

// Declared only: members of a class that has no constexpr objects have addresses, and so names, too.
template <class T>
struct External {
  T object;
};
template <class T>
extern const External<T> external;

template <class T, int I>
struct MemberAt {
  template <class M>
  static constexpr const M* pointer() {
    const M* found = nullptr;
#if defined(__CUDA_ARCH__)  // to nvcc, when it compiles for the device, a member of the union is "(char*)(&union) + 48"
    const T& object = external<T>.object;
#else
    const T& object = prototype<T>;
#endif
    for_each_member(object, [&]<class X>(const X& member, int position) {
      if constexpr (std::is_same_v<X, M>)
        if (position == I) found = &member;
    });
    return found;
  }
  template <class M>
  static constexpr std::string_view name() {
    constexpr const M* p = pointer<M>();
    return last_word(pretty_pointer<p>());
  }
};
}  // namespace detail

namespace detail {
template <class T, int I, class M>
inline constexpr std::string_view found_member_name = MemberAt<T, I>::template name<M>();
}  // namespace detail

/// Name of member I of T, which has type M. Looked for once, as that of a class.
template <class T, int I, class M>
constexpr std::string_view member_name() {
  return detail::found_member_name<T, I, M>;
}

namespace detail {
template <class T, int I>
constexpr auto external_member() {
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#endif
  return for_each_member(external<T>.object, PointerTo<I>{});
#if defined(__clang__)
#pragma clang diagnostic pop
#endif
}
}  // namespace detail

/// Name of member I of T, which need not be a class of constexpr objects.
template <class T, int I>
consteval std::string_view external_member_name() {
  constexpr const auto* p = detail::external_member<T, I>();
  return detail::last_word(detail::pretty_pointer<p>());
}

}  // namespace tenon
