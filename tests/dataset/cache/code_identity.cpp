// On a system that does not say which build a program is, nobody's types and functions are taken for those of another.
#include <doctest/doctest.h>

#define TENON_KNOWS_ITS_CODE 0
#include <tenon/dataset/cache/pipeline_description.hpp>

#include "../support.hpp"

using namespace tenon;
using namespace tenon::dataset;

namespace {
struct Scaled {  // a transform of a user's that says nothing of itself
  float scale;
};
struct Told {
  float scale;
  void describe(auto& d) const { d.add(scale); }
};
template <class F>
std::string unknown_by(F describe) {
  PipelineDescription d;
  describe(d);
  return d.unknown();
}
}  // namespace

TEST_CASE("code identity: without it a function and a type of the user's are unknown") {
  CHECK(dataset::detail::code_identity<Scaled>() == 0);
  CHECK(support::has(unknown_by([](auto& d) { d.add_function([](float x) { return x; }); }), "a function: name it"));
  CHECK(support::has(unknown_by([](auto& d) { d.add_value(Scaled{2}); }), "Scaled"));
  CHECK(support::has(unknown_by([](auto& d) { d.add_value(Told{2}); }), "Told"));  // its build is not known, either
}

TEST_CASE("code identity: what has a name needs none") {
  CHECK(unknown_by([](auto& d) { d.add_function(keyed("same", [](float x) { return x; })); }) == "");
  CHECK(unknown_by([](auto& d) { d.add(1, "text", 2.5); }) == "");
}
