// Kinds of errors, composed messages, and the nearest legal name.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/float/half.hpp>

using namespace tenon;

TEST_CASE("every kind is an Error and a std::runtime_error, and none is another kind") {
  const auto thrown = [](auto error) {
    try {
      throw error;
    } catch (const ValueError&) {
      return 'v';
    } catch (const TypeError&) {
      return 't';
    } catch (const KeyError&) {
      return 'k';
    } catch (const OutOfMemory&) {
      return 'm';
    } catch (const RuntimeError&) {
      return 'r';
    } catch (const Error&) {
      return 'e';
    }
  };
  CHECK(thrown(ValueError("")) == 'v');
  CHECK(thrown(TypeError("")) == 't');
  CHECK(thrown(KeyError("")) == 'k');
  CHECK(thrown(RuntimeError("")) == 'r');
  CHECK(thrown(OutOfMemory("")) == 'm');
  CHECK_THROWS_AS(throw OutOfMemory("x"), RuntimeError);
  CHECK(thrown(Error("")) == 'e');
  CHECK_THROWS_AS(throw KeyError("x"), Error);
  CHECK_THROWS_AS(throw Error("x"), std::runtime_error);
}

TEST_CASE("text joins texts and numbers") {
  CHECK(text() == "");
  CHECK(text("a", std::string("b"), std::string_view("c"), 1, -2L, 3u, std::size_t{4}) == "abc1-234");
  CHECK(text(true) == "1");
  const std::string many = text(1, "a", 2, "b", 3, "c", 4, "d", 5, "e", 6, "f", 7, "g", 8, "h", 9, "i", 10, "j", 11,
                                "k", 12, "l", 13, std::string("m"));
  CHECK(many == "1a2b3c4d5e6f7g8h9i10j11k12l13m");
  CHECK_THROWS_WITH_AS(
      throw_error<ValueError>(1, "a", 2, "b", 3, "c", 4, "d", 5, "e", 6, "f", 7, "g", 8, "h", 9, "i", 10, "j", 11, "k"),
      "1a2b3c4d5e6f7g8h9i10j11k", ValueError);
}

TEST_CASE("reals have the fewest digits that read back, of their own type") {
  CHECK(text(0.1f, " ", 0.1, " ", 1.0f, " ", -0.5, " ", 0.30000000000000004) == "0.1 0.1 1 -0.5 0.30000000000000004");
  CHECK(text(0.0001f, " ", 100000.0f, " ", 1234567.0, " ", 0.0, " ", -0.0) == "0.0001 100000 1234567 0 -0");
  CHECK(text(-1e-9f, " ", 1e-5, " ", 1e20f, " ", 16777216.0f, " ", 3.4028235e38f) ==
        "-1e-09 1e-05 1e+20 16777216 3.4028235e+38");
  CHECK(text(-1.2345678901234568e-300, " ", 1.7976931348623157e308) ==
        "-1.2345678901234568e-300 1.7976931348623157e+308");
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(text(infinity, " ", -infinity, " ", nan, " ", -nan, " ", float(-nan)) == "inf -inf nan nan nan");
  CHECK(text(float16(0.5f), " ", bfloat16(-2.5f)) == "0.5 -2.5");
}

TEST_CASE("edit distance: known pairs, symmetry, limits") {
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("flaw", "lawn") == 2);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("same", "same") == 0);
  CHECK(edit_distance("ab", "ba") == 2);
  CHECK(edit_distance("sunday", "saturday") == edit_distance("saturday", "sunday"));
}

TEST_CASE("did you mean: only what is near, the nearest first") {
  const std::vector<std::string> known{"accuracy", "precision", "recall"};
  CHECK(did_you_mean("acuracy", known) == " Did you mean 'accuracy'?");
  CHECK(did_you_mean("recal", known) == " Did you mean 'recall'?");
  CHECK(did_you_mean("RECALL", known) == " Did you mean 'recall'?");
  CHECK(did_you_mean("momentum", known) == "");
  CHECK(did_you_mean("x", std::vector<std::string>{}) == "");
  const std::vector<std::string> near{"fc12", "fc1"};
  CHECK(did_you_mean("fc1x", near) == " Did you mean 'fc12'?");
}

TEST_CASE("lists of names") {
  CHECK(quoted_list(std::vector<std::string>{}) == "");
  CHECK(quoted_list(std::vector<std::string>{"a"}) == "'a'");
  CHECK(quoted_list(std::vector<std::string>{"a", "b"}) == "'a', 'b'");
}

TEST_CASE("a number of bytes for readers has three digits and a unit") {
  CHECK(detail::memory_text(0) == "0 bytes");
  CHECK(detail::memory_text(999) == "999 bytes");
  CHECK(detail::memory_text(1000) == "1 KB");
  CHECK(detail::memory_text(12345678901.0) == "12.3 GB");
  CHECK(detail::memory_text(9.996e6) == "10 MB");
  CHECK(detail::memory_text(999.7e9) == "1 TB");
  CHECK(detail::memory_text(1234e18) == "1234 EB");
}
