// contact_sheet: images and captions in their places, all kinds of columns, what cannot be shown.
// link: png
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "support.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <tenon/dataset/batch/batch.hpp>
#include <tenon/dataset/contact_sheet.hpp>
#include <tenon/dataset/map/map.hpp>
#include <tenon/dataset/operation/filter.hpp>
#include <tenon/dataset/operation/prefetch.hpp>
#include <tenon/dataset/source/generator.hpp>
#include <tenon/dataset/source/stream.hpp>
#include <tenon/vision/png.hpp>

using namespace support;
using namespace tenon::dataset;

namespace {
using Bytes = std::vector<std::uint8_t>;
using Colours = Column<std::uint8_t, Shape<4, 8, 3>, "image">;
using Label = Column<std::int32_t, Shape<>, "label">;

/// Image i has the colour (10 i, 0, 200), 4 high and 8 wide; its label is i modulo 10.
auto colours(long count) {
  return generator<Columns<Colours, Label>>(
      count, [](long index, std::span<std::uint8_t> image, std::span<std::int32_t> label) {
        for (std::size_t i = 0; i < image.size(); i += 3)
          image[i] = std::uint8_t(10 * index), image[i + 1] = 0, image[i + 2] = 200;
        label[0] = std::int32_t(index % 10);
      });
}
/// One image per sample, filled by the function.
template <class C>
auto images(long count, auto fill) {
  return generator<Columns<C>>(count, fill);
}
constexpr std::uint8_t paper = 236, ink = 32;
const Bytes background{paper, paper, paper};
}  // namespace

#if defined(TENON_WITH_PNG)
namespace {
struct Sheet {
  io::Pixels pixels;
  Bytes at(int y, int x) const {
    const std::uint8_t* const pixel = vision::view(pixels).at(y, x);
    return {pixel, pixel + 3};
  }
  /// Ink in these rows, the glyphs of captions.
  std::string text_rows(int top, int left, int rows, int columns) const {
    std::string s;
    for (int y = top; y < top + rows; ++y, s += '\n')
      for (int x = left; x < left + columns; ++x) s += at(y, x)[0] == ink ? '#' : '.';
    return s;
  }
};
Sheet read_sheet(const std::string& path) {
  const std::string file = io::read_file(path);
  vision::PngDecoder png(file);
  Sheet sheet{{png.info().height, png.info().width, 3, {}}};
  sheet.pixels.bytes.resize(vision::view(sheet.pixels).size());
  png.decode(vision::view(sheet.pixels));
  return sheet;
}
template <class D>
Sheet sheet_of(const D& data, const ContactSheetOptions& options = {}) {
  const Folder folder;
  contact_sheet(data, folder / "sheet.png", options);
  CHECK(folder.files() == 1);
  return read_sheet(folder / "sheet.png");
}
constexpr int cell = 16, gap = 2;
const ContactSheetOptions small{.cell = cell};
}  // namespace

TEST_CASE("each image is in its cell, its label below") {
  const Sheet sheet = sheet_of(colours(5), {.columns = 2, .cell = cell});
  const int band = gap / 2 + 8, step = cell + band + gap;
  CHECK(sheet.pixels.width == gap + 2 * (cell + gap));
  CHECK(sheet.pixels.height == gap + 3 * step);
  for (int i = 0; i < 5; ++i) {
    const int top = gap + i / 2 * step, left = gap + i % 2 * (cell + gap);
    const Bytes colour{std::uint8_t(10 * i), 0, 200};
    CHECK(sheet.at(top + 3, left) == background);  // 4 x 8 became 8 x 16, in the middle
    CHECK(sheet.at(top + 4, left) == colour);
    CHECK(sheet.at(top + 11, left + 15) == colour);
    CHECK(sheet.at(top + 12, left + 15) == background);
    CHECK(sheet.at(top + 4, left + 16) == background);
  }
  CHECK(sheet.text_rows(gap + cell + 1, gap + cell + gap + 5, 7, 5) ==
        "..#..\n.##..\n..#..\n..#..\n..#..\n..#..\n.###.\n");
  CHECK(sheet.at(gap + 2 * step + 8, gap + cell + gap + 8) == background);  // there are 5, not 6
}

TEST_CASE("names, letters as large as fit, cut where none do; numbers without a name") {
  const Sheet sheet = sheet_of(colours(3), {.cell = 96, .classes = {"IT", "automobile and more"}});
  const int top = 6 + 96 + 3, second = 6 + 102, third = second + 102;
  CHECK(sheet.pixels.width == 6 + 3 * 102);
  CHECK(sheet.pixels.height == 6 + 96 + 3 + 8 + 6);
  CHECK(sheet.text_rows(top, 6 + 42, 7, 11) == ".###..#####\n..#.....#..\n..#.....#..\n..#.....#..\n"
                                               "..#.....#..\n..#.....#..\n.###....#..\n");
  CHECK(sheet.text_rows(top + 6, second + 84, 1, 9) == "..#.....#\n");  // automobile and..
  CHECK(sheet.text_rows(top + 6, third, 1, 96).find("#####") == 45);    // 2
  const Sheet large = sheet_of(colours(3), {.cell = 96});
  CHECK(large.pixels.height == 6 + 96 + 3 + 16 + 6);
}

TEST_CASE("batches show their images, threads read them, and only so many as are shown") {
  const Folder folder;
  contact_sheet(colours(200), folder / "rows.png", {.images = 7});
  contact_sheet(colours(200) | batch(3), folder / "batches.png", {.images = 7});
  contact_sheet(colours(200) | batch(5) | prefetch(2, {.num_parallel_workers = 2}), folder / "threads.png",
                {.images = 7});
  CHECK(io::read_file(folder / "rows.png") == io::read_file(folder / "batches.png"));
  CHECK(io::read_file(folder / "rows.png") == io::read_file(folder / "threads.png"));
  CHECK(read_sheet(folder / "rows.png").pixels.width == 6 + 5 * 102);

  long read = 0;
  const auto counted = generator<Columns<Colours>>(200, [&read](long, auto) { ++read; });
  sheet_of(counted, {.images = 7, .cell = cell});
  CHECK(read == 7);
  struct Same {
    bool next(std::span<std::uint8_t> out) { return out[0] = 1, true; }
  };
  const auto endless = stream<Columns<Column<std::uint8_t, Shape<2, 2>>>>([] { return Same(); });
  CHECK(sheet_of(endless, {.images = 6, .columns = 3, .cell = cell}).pixels.height == gap + 2 * (cell + gap));
}

TEST_CASE("floats: 0 to 1 as they are, others from the smallest to the largest; what is not finite") {
  using Image = Column<float, Shape<3, 1, 2>>;
  const auto shown = [](std::vector<float> values) {
    const auto one = images<Image>(1, [=](long, std::span<float> out) { std::ranges::copy(values, out.begin()); });
    const Sheet sheet = sheet_of(one, small);
    Bytes all = sheet.at(gap + 8, gap), right = sheet.at(gap + 8, gap + 15);
    all.insert(all.end(), right.begin(), right.end());
    return all;
  };
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity(),
              huge = std::numeric_limits<float>::max();
  CHECK(shown({0, 1, 0.2f, 0, 0.4f, 0}) == Bytes{0, 51, 102, 255, 0, 0});
  CHECK(shown({-1, 1, 0, 0, 0.5f, -0.5f}) == Bytes{0, 128, 191, 255, 128, 64});
  CHECK(shown({-huge, huge, 0, 0, 0, 0}) == Bytes{0, 128, 128, 255, 128, 128});
  CHECK(shown({5, 5, 5, 5, 5, 5}) == Bytes(6, 128));
  CHECK(shown({0.2f, 0.4f, nan, 0.4f, 0.2f, 0.4f}) == Bytes{255, 0, 255, 102, 102, 102});
  CHECK(shown({inf, 3, 2, 2, 1, -inf}) == Bytes(Bytes{255, 0, 255, 255, 0, 255}));
  CHECK(shown(std::vector<float>(6, nan)) == Bytes{255, 0, 255, 255, 0, 255});
}

TEST_CASE("[H, W], channels first and last, alpha, integers that are named") {
  const auto all_of = [](auto value) { return [value](long, auto out) { std::ranges::fill(out, value); }; };
  const auto middle = [](const Sheet& sheet) { return sheet.at(gap + 8, gap + 8); };
  CHECK(middle(sheet_of(images<Column<std::uint8_t, Shape<5, 5>>>(1, all_of(std::uint8_t{90})), small)) ==
        Bytes(3, 90));
  CHECK(middle(sheet_of(images<Column<double, Shape<1, 5, 5>>>(1, all_of(0.2)), small)) == Bytes(3, 51));
  CHECK(middle(sheet_of(images<Column<float16, Shape<5, 5, 1>>>(1, all_of(float16(1))), small)) == Bytes(3, 255));
  const auto four = [](long, std::span<std::uint8_t> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::uint8_t(i % 4);
  };
  CHECK(middle(sheet_of(images<Column<std::uint8_t, Shape<5, 6, 4>>>(1, four), small)) == Bytes{0, 1, 2});
  const auto mask = [](long, std::span<std::int32_t> out) { out[0] = 7, out[1] = 17; };
  const ContactSheetOptions named{.cell = cell, .image = "mask"};
  const Sheet masks = sheet_of(images<Column<std::int32_t, Shape<1, 2>, "mask">>(1, mask), named);
  CHECK(masks.at(gap + 8, gap) == Bytes(3, 0));
  CHECK(masks.at(gap + 8, gap + 15) == Bytes(3, 255));
}

TEST_CASE("samples of unequal size, also thin ones, large ones, and one without pixels") {
  const std::vector<std::pair<long, long>> sizes{{4, 4}, {2, 4}, {1, 900}, {400, 200}, {0, 3}};
  const auto data = images<Column<std::uint8_t, Ragged<any, any, 3>>>(5, [&](long index, auto image) {
    const auto [height, width] = sizes[std::size_t(index)];
    std::fill_n(image.resize(height, width, 3), height * width * 3, std::uint8_t{90});
  });
  const Sheet sheet = sheet_of(data, small);
  const auto count = [&](int place) {  // extents of the image in a cell
    int rows = 0, columns = 0;
    for (int i = 0; i < cell; ++i) {
      rows += sheet.at(gap + i, gap + place * (cell + gap) + 8) == Bytes(3, 90);
      columns += sheet.at(gap + 7, gap + place * (cell + gap) + i) == Bytes(3, 90);
    }
    return std::pair(rows, columns);
  };
  CHECK(count(0) == std::pair(16, 16));
  CHECK(count(1) == std::pair(8, 16));
  CHECK(count(2) == std::pair(1, 16));
  CHECK(count(3) == std::pair(16, 8));
  CHECK(count(4) == std::pair(0, 0));

  const auto unknown = images<Column<std::uint8_t, Ragged<any, any, any>, "image">>(
      2, [](long index, auto image) { image.resize(3 + index, 5, 5); });
  CHECK(sheet_of(unknown, small).pixels.height == 2 * gap + cell);  // 3 and 4 channels of 5 x 5
  CHECK(has(message<ValueError>([&] {
              sheet_of(images<Column<std::uint8_t, Ragged<any, any, any>, "image">>(
                  1, [](long, auto image) { image.resize(5, 5, 5); }));
            }),
            "sample 0 of the column 0 'image' uint8 [any, any, any] is [5, 5, 5], images are [H, W, C]"));
}

TEST_CASE("labels: one-hot, mixed, vectors, texts") {
  const auto caption = [](auto label, bool ragged = false, std::vector<std::string> classes = {"cat", "dog", "fox"}) {
    using T = typename decltype(label)::value_type;
    const std::int64_t extent = std::int64_t(label.size());
    return dataset::detail::caption_of(AnyTensor(dtype_of<T>, {&extent, 1}, label.data()), ragged, classes);
  };
  CHECK(caption(std::vector<float>{0, 1, 0}) == "dog");
  CHECK(caption(std::vector<float>{0.3f, 0, 0.7f}) == "fox 70%");
  CHECK(caption(std::vector<float>{0, 1, 0}, false, {}) == "1");
  CHECK(caption(std::vector<float>{1.5f, 0.1f, -2}) == "1.5 0.1 -2");
  CHECK(caption(std::vector<std::int64_t>{1, 2, 7}, true) == "dog fox 7");
  CHECK(caption(std::vector<std::int64_t>{2}) == "fox");
  CHECK(caption(std::vector<std::int8_t>{-1, 1}) == "-1 dog");
  CHECK(caption(std::vector<double>{std::nan(""), 1}) == "nan 1");
  CHECK(caption(std::vector<std::uint64_t>{std::numeric_limits<std::uint64_t>::max()}, true, {}) ==
        "18446744073709551615");
  CHECK(caption(std::vector<std::int64_t>{(1LL << 53) + 1, std::numeric_limits<std::int64_t>::min()}) ==
        "9007199254740993 -9223372036854775808");
  CHECK(caption(std::vector<std::uint8_t>{'a', 'b'}, true) == "ab");
  CHECK(caption(std::vector<float>{}, true).empty());
  CHECK(caption(std::vector<float>(1000, 1)).size() == 31);

  // found: the vector of classes, not the features before it
  using Vectors = Columns<Column<std::uint8_t, Shape<2, 2>>, Column<float, Shape<2>>, Column<float, Shape<2>>>;
  const auto vectors = generator<Vectors>(1, [](long, auto, std::span<float> features, std::span<float> classes) {
    features[0] = features[1] = 1, classes[1] = 1, classes[0] = 0;
  });
  const Sheet sheet = sheet_of(vectors | batch(1), small);
  CHECK(sheet.text_rows(gap + cell + 1 + 6, gap + 5, 1, 5) == ".###.\n");
  CHECK(sheet_of(images<Colours>(1, [](long, auto) {}), small).pixels.height == 2 * gap + cell);
}

TEST_CASE("captions that are no UTF-8 are boxes") {
  using Text = Columns<Column<std::uint8_t, Shape<4, 4>, "image">, Column<std::uint8_t, Ragged<any>, "text">>;
  const auto data = generator<Text>(1, [](long, auto, auto text) {
    std::uint8_t* const bytes = text.resize(2);
    bytes[0] = 0x80, bytes[1] = 0xbf;
  });
  const Sheet sheet = sheet_of(data, {.cell = cell, .label = "text"});
  CHECK(sheet.text_rows(gap + cell + 1, gap + 2, 1, 11) == "#####.#####\n");
  const Sheet named = sheet_of(colours(1), {.cell = cell, .classes = {"\xbf"}});
  CHECK(named.text_rows(gap + cell + 1, gap + 5, 1, 5) == "#####\n");
}

TEST_CASE("what is random is that of the epoch, and the same again") {
  const auto random = colours(4) | map<"image", Colours>([](auto, std::span<std::uint8_t> out, Random& r) {
                        for (std::uint8_t& value : out) value = std::uint8_t(r.below(256));
                      });
  const Bytes first = sheet_of(random, small).pixels.bytes;
  CHECK(first == sheet_of(random, small).pixels.bytes);
  CHECK(first != sheet_of(random, {.cell = cell, .epoch = 1}).pixels.bytes);
}

TEST_CASE("a column that is not there, is no image, or no label") {
  const Folder folder;
  const auto error = [&]<class E>(E*, const auto& data, const ContactSheetOptions& options) {
    const std::string text = message<E>([&] { contact_sheet(data, folder / "sheet.png", options); });
    CHECK(folder.files() == 0);
    return text;
  };
  KeyError* const key = nullptr;
  ValueError* const value = nullptr;
  CHECK(error(key, colours(2), {.image = "imgae"}) ==
        "contact_sheet: the data set has no column 'imgae', which .image asks for. Did you mean 'image'? The columns: "
        "0 'image' uint8 [4, 8, 3]; 1 'label' int32 [].");
  CHECK(has(error(key, colours(2), {.label = "lable"}), "which .label asks for. Did you mean 'label'?"));
  CHECK(has(error(value, colours(2) | batch(2), {.image = "label"}), "the column 1 'label' int32 [n] has no images"));
  CHECK(has(error(value, colours(2), {.label = "image"}), "the column 0 'image' uint8 [4, 8, 3] has no labels"));
  CHECK(has(error(value, Numbers(3), {}), "The columns: 0 '' float32 [2]; 1 '' int32 []. .image names another one."));
  const auto files = images<Column<std::uint8_t, Ragged<any>>>(1, [](long, auto out) { out.resize(1); });
  CHECK(has(error(value, files, {}), "0 '' uint8 [any]. vision::Decode makes images of files."));
  CHECK(has(error(value, colours(2) | filter<1>([](std::span<const std::int32_t> l) { return l[0] > 9; }), {}),
            "the data set has no rows"));
}

TEST_CASE("sizes that nobody means, and a file that cannot be written") {
  const Folder folder;
  const int huge = std::numeric_limits<int>::max();
  for (const ContactSheetOptions& options :
       std::initializer_list<ContactSheetOptions>{{.images = 0},
                                                  {.columns = 0},
                                                  {.cell = 0},
                                                  {.cell = 15},
                                                  {.images = -1},
                                                  {.columns = -huge},
                                                  {.images = huge},
                                                  {.cell = huge},
                                                  {.images = huge, .columns = huge, .cell = huge},
                                                  {.images = huge, .columns = 1, .cell = huge},
                                                  {.images = 10000, .columns = 100}})
    CHECK(
        has(message<ValueError>([&] { contact_sheet(colours(2), folder / "sheet.png", options); }), "contact_sheet: "));
  CHECK(folder.files() == 0);
  CHECK(sheet_of(colours(2), {.images = 25, .columns = huge, .cell = cell}).pixels.width == gap + 2 * (cell + gap));
  CHECK(has(message<RuntimeError>([&] { contact_sheet(colours(2), folder / "none/sheet.png"); }), "none/sheet.png"));
  CHECK(has(message<ValueError>([&] { contact_sheet(colours(2), ""); }), "The path of a file is empty"));
}
#else
TEST_CASE("without libpng the error says what to install, and there is no file") {
  const Folder folder;
  CHECK(has(message<RuntimeError>([&] { contact_sheet(colours(2), folder / "sheet.png"); }), "libpng-dev"));
  CHECK(folder.files() == 0);
}
#endif
