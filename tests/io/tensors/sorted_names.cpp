// The one sort of checkpoints, against std::sort.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <tenon/core/random/philox.hpp>
#include <tenon/io/tensors/sorted_names.hpp>

using namespace tenon;
using io::SortedNames;
using io::SortKey;

TEST_CASE("keys are sorted by numbers, name, and place") {
  Random random(3);
  const std::string_view names[]{"", "a", "ab", "b", "\xc3\xa4"};
  for (int count : {0, 1, 2, 7, 500}) {
    detail::Growing<SortKey> keys;
    for (int i = 0; i < count; ++i)
      keys.push_back({random.below(3), random.below(3), names[random.below(5)], keys.size()});
    std::vector<SortKey> expected(keys.begin(), keys.end());
    std::stable_sort(expected.begin(), expected.end(), [](const SortKey& a, const SortKey& b) {
      return std::tie(a.first, a.second, a.name) < std::tie(b.first, b.second, b.name);
    });
    io::sort_keys(keys);
    REQUIRE(keys.size() == expected.size());
    for (std::size_t i = 0; i < keys.size(); ++i) CHECK(keys[i].index == expected[i].index);
  }
}

TEST_CASE("a name is found at its place, or not at all") {
  const std::vector<std::string_view> names{"fc2.weight", "conv1.bias", "", "conv1.weight", "fc2"};
  const SortedNames sorted(names);
  for (std::size_t i = 0; i < names.size(); ++i) CHECK(sorted.find(names[i]) == i);
  for (const std::string_view other : {"conv1", "a", "z", "fc2.weight2"})
    CHECK(sorted.find(other) == SortedNames::none);
  CHECK(sorted.twice() == nullptr);
  CHECK(SortedNames().find("a") == SortedNames::none);
  CHECK(SortedNames().twice() == nullptr);
}

TEST_CASE("a name that is there twice is told") {
  struct Thing {
    std::string name;
  };
  const std::vector<Thing> things{{"b"}, {"a"}, {"c"}, {"a"}};
  const SortedNames sorted(things);
  REQUIRE(sorted.twice() != nullptr);
  CHECK(*sorted.twice() == "a");
}
