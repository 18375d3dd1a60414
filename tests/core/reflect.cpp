// Members of aggregates: how many, which, and what they are called.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/reflect.hpp>
#include <tenon/core/text/type_name.hpp>

namespace {
struct Base {};
struct None : Base {};
struct Weight {
  float value = 1;
};
struct Two : Base {
  int first = 1;
  Weight weight_2;
};
struct Arrays : Base {
  Weight layers[3];
  int tail = 7;
};
struct Inner : Base {
  int x = 3;
};
struct Nested : Base {
  Inner a, b;
  int own_name = 5;
};
template <int N>
struct Wide : Base {
  int m0 = 0, m1 = 1, m2 = 2, m3 = 3, m4 = 4, m5 = 5, m6 = 6, m7 = 7, m8 = 8, m9 = 9, m10 = 10, m11 = 11;
  int m12 = 12, m13 = 13, m14 = 14, m15 = 15, m16 = 16, m17 = 17, m18 = 18, m19 = 19, m20 = 20, m21 = 21, m22 = 22,
      m23 = 23;
};

struct Widest : Base {
  int m0 = 0, m1 = 1, m2 = 2, m3 = 3, m4 = 4, m5 = 5, m6 = 6, m7 = 7, m8 = 8, m9 = 9, m10 = 10, m11 = 11, m12 = 12,
      m13 = 13, m14 = 14, m15 = 15, m16 = 16, m17 = 17, m18 = 18, m19 = 19, m20 = 20, m21 = 21, m22 = 22, m23 = 23,
      m24 = 24, m25 = 25, m26 = 26, m27 = 27, m28 = 28, m29 = 29, m30 = 30, m31 = 31, m32 = 32, m33 = 33, m34 = 34,
      m35 = 35, m36 = 36, m37 = 37, m38 = 38, m39 = 39, m40 = 40, m41 = 41, m42 = 42, m43 = 43, m44 = 44, m45 = 45,
      m46 = 46, m47 = 47, m48 = 48, m49 = 49, m50 = 50, m51 = 51, m52 = 52, m53 = 53, m54 = 54, m55 = 55, m56 = 56,
      m57 = 57, m58 = 58, m59 = 59, m60 = 60, m61 = 61, m62 = 62, m63 = 63;
};
struct Layers : Base {
  Weight first[3];
  int m1 = 1, m2 = 2, m3 = 3, m4 = 4, m5 = 5, m6 = 6, m7 = 7, m8 = 8, m9 = 9, m10 = 10, m11 = 11, m12 = 12, m13 = 13,
      m14 = 14, m15 = 15, m16 = 16, m17 = 17, m18 = 18, m19 = 19, m20 = 20, m21 = 21, m22 = 22, m23 = 23, m24 = 24,
      m25 = 25, m26 = 26, m27 = 27, m28 = 28, m29 = 29, m30 = 30, m31 = 31, m32 = 32, m33 = 33, m34 = 34, m35 = 35,
      m36 = 36, m37 = 37, m38 = 38, m39 = 39, m40 = 40, m41 = 41, m42 = 42, m43 = 43, m44 = 44, m45 = 45, m46 = 46,
      m47 = 47, m48 = 48, m49 = 49, m50 = 50, m51 = 51, m52 = 52, m53 = 53, m54 = 54, m55 = 55, m56 = 56, m57 = 57,
      m58 = 58, m59 = 59;
  Weight last[2];
};

template <class T>
std::vector<std::string> names() {
  std::vector<std::string> result;
  tenon::for_each_member(tenon::prototype<T>, [&]<class M>(const M&, int) { result.emplace_back(); });
  return result;
}
}  // namespace

using namespace tenon;

TEST_CASE("the number of members, arrays as one") {
  static_assert(member_count<None> == 0 && member_count<Two> == 2 && member_count<Arrays> == 2 &&
                member_count<Nested> == 3 && member_count<Wide<0>> == 24);
  CHECK(names<Wide<0>>().size() == 24);
  CHECK(names<None>().empty());
}

TEST_CASE("members are visited in order and can be changed") {
  Wide<0> wide;
  int expected = 0;
  for_each_member(wide, [&](int& m, int position) {
    CHECK(m == expected);
    CHECK(position == expected++);
    m = -position;
  });
  CHECK(expected == 24);
  CHECK(wide.m23 == -23);
}

TEST_CASE("as many as 64 members, arrays as one") {
  static_assert(member_count<Widest> == 64 && member_count<Layers> == 61);
  Widest widest;
  int expected = 0;
  for_each_member(widest, [&](int& m, int position) {
    CHECK(m == expected);
    CHECK(position == expected++);
    m = -position;
  });
  CHECK(expected == 64);
  CHECK(widest.m63 == -63);
  static_assert(member_name<Widest, 63, int>() == "m63" && member_name<Layers, 60, Weight[2]>() == "last");
}

TEST_CASE("names come from the source") {
  static_assert(member_name<Two, 0, int>() == "first");
  static_assert(member_name<Two, 1, Weight>() == "weight_2");
  static_assert(member_name<Arrays, 0, Weight[3]>() == "layers");
  static_assert(member_name<Nested, 1, Inner>() == "b");
  static_assert(member_name<Nested, 2, int>() == "own_name");
  static_assert(member_name<Wide<0>, 23, int>() == "m23");
  CHECK(member_name<Two, 1, Weight>() == "weight_2");
}

namespace {
struct Opened {
  ~Opened() { ++closed; }
  static inline int closed = 0;
};
struct NotLiteral : Base {
  int first;
  Opened files[2];
  std::vector<int>* pointer;
};
}  // namespace

TEST_CASE("types and names of members, also of a class without constexpr objects") {
  using Types = decltype(for_each_member(std::declval<NotLiteral&>(), MemberTypesOf{}));
  static_assert(std::is_same_v<Types, MemberTypes<int, Opened[2], std::vector<int>*>>);
  static_assert(external_member_name<NotLiteral, 0>() == "first");
  static_assert(external_member_name<NotLiteral, 1>() == "files");
  CHECK(external_member_name<NotLiteral, 2>() == "pointer");
}

namespace other {
struct Two {};
}  // namespace other

/// Compared in a template, a number that nothing else has asked for stopped g++ 13 and 14 with -Wall.
struct OnlyHere {};
template <class>
constexpr bool is_only_here(std::uint64_t number) {
  return number == type_number<OnlyHere>;
}

TEST_CASE("types have qualified names, short names, and numbers") {
  static_assert(type_name<int>() == "int" && type_name<other::Two>() == "other::Two");
  static_assert(type_name<Two>().ends_with("::Two") && type_name<tenon::detail::Here>().ends_with("::detail::Here"));
  static_assert(class_name<Two>() == "Two" && class_name<Wide<3>>() == "Wide" &&
                class_name<std::vector<int>>() == "vector");
  CHECK(type_number<Two> != type_number<Arrays>);
  CHECK(type_number<Two> != type_number<other::Two>);
  CHECK(type_number<Wide<1>> != type_number<Wide<2>>);
  CHECK(type_number<Wide<1>> == type_number<Wide<1>>);
  static_assert(is_only_here<int>(type_number<OnlyHere>) && !is_only_here<int>(type_number<Two>));
}
