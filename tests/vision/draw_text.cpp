// Text in images: letters, what is cut, what is outside.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include <tenon/vision/draw_text.hpp>

using namespace tenon;

namespace {
/// Gray pixels as text, a line for each row: # where something was drawn.
std::string drawn(std::string_view text, int height, int width, int top = 0, int left = 0, int scale = 1) {
  io::Pixels image{height, width, 1, std::vector<std::uint8_t>(std::size_t(height * width), 7)};
  const std::uint8_t white[]{255};
  vision::draw_text(vision::view(image), top, left, text, scale, white);
  std::string s;
  for (int y = 0; y < height; ++y, s += '\n')
    for (int x = 0; x < width; ++x) s += *vision::view(image).at(y, x) == 7 ? '.' : '#';
  return s;
}
}  // namespace

TEST_CASE("letters, their distance, boxes for what is no ASCII") {
  CHECK(drawn("T1", 7, 12) == "#####...#...\n"
                              "..#....##...\n"
                              "..#.....#...\n"
                              "..#.....#...\n"
                              "..#.....#...\n"
                              "..#.....#...\n"
                              "..#....###..\n");
  CHECK(drawn("\xc3\x84"
              "L",
              7, 11) == "#####.#....\n"
                        "#...#.#....\n"
                        "#...#.#....\n"
                        "#...#.#....\n"
                        "#...#.#....\n"
                        "#...#.#....\n"
                        "#####.#####\n");
  CHECK(drawn("i", 14, 10, 0, 0, 2).substr(0, 22) == "....##....\n....##....\n");
}

TEST_CASE("letters that reach below the line, at twice the size") {
  CHECK(drawn("p", 8, 5) == ".....\n.....\n####.\n#...#\n#...#\n####.\n#....\n#....\n");
  CHECK(drawn("p", 16, 10, 0, 0, 2).substr(4 * 11, 22) == "########..\n########..\n");
}

TEST_CASE("all printable characters differ, and only the blank has no ink") {
  std::set<std::string> all;
  for (char c = ' '; c <= '~'; ++c) all.insert(drawn(std::string(1, c), 8, 6));
  CHECK(all.size() == 95);
  CHECK(drawn(" ", 7, 6).find('#') == std::string::npos);
  CHECK(drawn("\x7f", 7, 6) == drawn("\n", 7, 6));
}

TEST_CASE("what is outside of the image is left out") {
  CHECK(drawn("T", 3, 3, -1, -1) == ".#.\n.#.\n.#.\n");
  CHECK(drawn(std::string(100000, 'W'), 2, 2, 5, 5) == "..\n..\n");
  CHECK(drawn("T", 2, 2, -2147483647 - 1, -2147483647 - 1, 1000) == "..\n..\n");
  CHECK(drawn("T", 2, 2, 2147483647, 2147483647, 1000) == "..\n..\n");
}

TEST_CASE("characters are counted and cut as UTF-8") {
  CHECK(vision::character_count("") == 0);
  CHECK(vision::character_count("a\xc3\xa4\xe2\x82\xac") == 3);
  CHECK(vision::cut_text("automobile", 10) == "automobile");
  CHECK(vision::cut_text("automobile", 9) == "automob..");
  CHECK(vision::cut_text("\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", 3) == "\xc3\xa4..");
  CHECK(vision::cut_text("abc", 2) == "ab");
  CHECK(vision::cut_text("abc", 0).empty());
  CHECK(vision::cut_text("abc", -1).empty());

  // bytes that belong to no character are characters of their own
  CHECK(vision::character_count("\x80\xbf") == 2);
  CHECK(vision::character_count("\xc3\xa4\xa4z") == 3);
  CHECK(vision::character_count("\xe2\x82") == 1);
  CHECK(vision::character_count("\xff\xc3") == 2);
  CHECK(vision::cut_text("\x80\x81\x82\x83", 3) == "\x80..");
  CHECK(vision::cut_text("a\xbf", 1) == "a");
  CHECK(drawn("\xbf", 7, 6) == drawn("\n", 7, 6));
  CHECK(drawn("\xbf\xc3\xa4", 7, 18) == drawn("\n\n", 7, 18));
}

TEST_CASE("wrong scales and colours") {
  io::Pixels image{2, 2, 3, std::vector<std::uint8_t>(12)};
  const std::uint8_t ink[]{1, 2, 3};
  CHECK_THROWS_AS(vision::draw_text(vision::view(image), 0, 0, "a", 0, ink), ValueError);
  CHECK_THROWS_AS(vision::draw_text(vision::view(image), 0, 0, "a", 1001, ink), ValueError);
  CHECK_THROWS_AS(vision::draw_text(vision::view(image), 0, 0, "a", 1, std::span(ink, 1)), ValueError);
  CHECK_THROWS_AS(vision::draw_text({}, 0, 0, "a", 1, ink), ValueError);
  vision::draw_text(vision::view(image), 0, 0, "T", 1, ink);
  CHECK(image.bytes == std::vector<std::uint8_t>{1, 2, 3, 1, 2, 3, 0, 0, 0, 0, 0, 0});
}
