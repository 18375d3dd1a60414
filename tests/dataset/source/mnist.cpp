// MNIST: the real files against figures from numpy, small files of our own, and every mistake in a folder.
// headers: yes
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <memory>

#include "../support.hpp"

#include <tenon/core/random/philox.hpp>
#include <tenon/dataset/batch/batch.hpp>
#include <tenon/dataset/source/mnist.hpp>

using namespace support;
using dataset::Mnist, dataset::Usage;

namespace {

std::string pictures(unsigned count) {
  std::string bytes(count * 784, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i % 251);
  return bytes;
}
/// A folder with a small test set.
struct Small : Folder {
  Small() { write(idx_file({3, 28, 28}, pictures(3)), idx_file({3}, std::string("\x07\x00\x09", 3))); }
  void write(const std::string& images, const std::string& labels) const {
    io::write_file(*this / "t10k-images-idx3-ubyte", images);
    io::write_file(*this / "t10k-labels-idx1-ubyte", labels);
  }
  std::string refusal(Usage usage = Usage::test) const {
    return message<RuntimeError>([&] { Mnist(path, usage); });
  }
};

void check_real(const std::string& directory, Usage usage, long size, long long pixel_sum, std::vector<int> histogram,
                std::vector<int> first_labels) {
  const Mnist data(directory, usage);
  REQUIRE(data.size() == size);
  long long sum = 0;
  bool legal = true;
  std::vector<int> counts(10), labels;
  for (const auto& row : data | dataset::batch(1000)) {
    for (float pixel : row.values<0>()) {
      const int byte = static_cast<int>(pixel * 255.0f + 0.5f);
      legal = legal && pixel == static_cast<float>(byte) / 255.0f && byte >= 0 && byte <= 255;
      sum += byte;
    }
    for (int label : row.values<1>()) ++counts.at(static_cast<std::size_t>(label)), labels.push_back(label);
  }
  CHECK(legal);
  CHECK(sum == pixel_sum);
  CHECK(counts == histogram);
  labels.resize(first_labels.size());
  CHECK(labels == first_labels);
}

}  // namespace

TEST_CASE("pixels are bytes / 255, labels are as in the file") {
  const Small folder;
  const Mnist data(folder.path, Usage::test);
  CHECK(data.size() == 3);
  std::vector<int> labels;
  bool equal = true;
  long index = 0;
  for (const auto& row : data) {
    for (float pixel : row.values<0>()) equal = equal && pixel == static_cast<float>(index++ % 251) / 255.0f;
    labels.push_back(row.values<1>()[0]);
    CHECK(shape_text(row[0].shape()) == "[1, 28, 28]");
    CHECK(shape_text(row[1].shape()) == "[]");
  }
  CHECK(equal);
  CHECK(index == 3 * 784);
  CHECK(labels == std::vector<int>{7, 0, 9});
}

TEST_CASE("columns after batch") {
  using Data = decltype(Mnist("", Usage::test) | dataset::batch(32));
  static_assert(std::is_same_v<Data::columns, dataset::Columns<dataset::Column<float, Shape<dyn, 1, 28, 28>, "image">,
                                                               dataset::Column<std::int32_t, Shape<dyn>, "label">>>);
  static_assert(Data::batched && !Mnist::batched);
  static_assert(dataset::Indexed<Mnist> && dataset::Indexed<Data>);
}

TEST_CASE("no such directory, and a file in its place") {
  const Small folder;
  std::string said = message<RuntimeError>([&] { Mnist(folder / "none", Usage::test); });
  CHECK(has(said, text("no directory '", folder / "none", "'")));
  CHECK(has(said, "t10k-images-idx3-ubyte.gz"));
  said = message<RuntimeError>([&] { Mnist(folder / "t10k-images-idx3-ubyte", Usage::test); });
  CHECK(has(said, "there is no directory"));
}

TEST_CASE("an empty directory: the message has the four names") {
  const Folder folder;
  const std::string said = message<RuntimeError>([&] { Mnist(folder.path, Usage::train); });
  CHECK(has(said, folder.path));
  for (const char* name : {"'train-images-idx3-ubyte'", "'train-images-idx3-ubyte.gz'", "'train-labels-idx1-ubyte'",
                           "'train-labels-idx1-ubyte.gz'"})
    CHECK(has(said, name));
}

TEST_CASE("one file of the two is missing, or the other usage is there") {
  const Small folder;
  CHECK(has(folder.refusal(Usage::train), "has no 'train-images-idx3-ubyte'"));
  std::filesystem::remove(folder / "t10k-labels-idx1-ubyte");
  CHECK(has(folder.refusal(), "has no 't10k-labels-idx1-ubyte'"));
}

TEST_CASE("wrong content") {
  const Small folder;
  folder.write(idx_file({3, 28, 28}, pictures(3)), idx_file({2}, "\x01\x02"));
  CHECK(has(folder.refusal(), "holds 3 images, '"));
  CHECK(has(folder.refusal(), "holds 2 labels"));
  folder.write(idx_file({3, 28, 28}, pictures(3)), idx_file({3}, "\x01\x0a\x02"));
  CHECK(has(folder.refusal(), text("Label 1 in '", folder / "t10k-labels-idx1-ubyte", "' is 10; legal are 0 .. 9")));
  folder.write(idx_file({3, 14, 56}, pictures(3)), idx_file({3}, "\x01\x01\x02"));
  CHECK(has(folder.refusal(), "are 14 x 56 pixels; those of MNIST are 28 x 28"));
  folder.write(idx_file({0, 28, 28}, ""), idx_file({0}, ""));
  CHECK(has(folder.refusal(), "holds no image"));
  folder.write(idx_file({3}, "\x01\x01\x02"), idx_file({3, 28, 28}, pictures(3)));
  CHECK(has(folder.refusal(), "Are the files of images and of labels mixed up?"));
  folder.write(idx_file({3, 28, 28}, pictures(3)).substr(0, 2000), idx_file({3}, "\x01\x01\x02"));
  CHECK(has(folder.refusal(), "[3, 28, 28] = 2352 bytes, it holds 1984"));
  folder.write("<!DOCTYPE html><html>not found</html>", idx_file({3}, "\x01\x01\x02"));
  CHECK(has(folder.refusal(), "'" + folder / "t10k-images-idx3-ubyte" + "' as an IDX file"));
}

TEST_CASE("copies share the bytes and outlive the first") {
  const Small folder;
  auto data = std::make_unique<Mnist>(folder.path, Usage::test);
  const Mnist copy = *data;
  auto rows = data->open();
  data.reset();
  std::filesystem::remove_all(folder.path);
  CHECK(copy.size() == 3);
  rows.start(0);
  REQUIRE(rows.next() != nullptr);
  CHECK(rows.next()->values<0>()[0] == static_cast<float>(784 % 251) / 255.0f);
}

TEST_CASE("a thousand damaged folders are read or refused") {
  const Small folder;
  Random random(3);
  const std::string images = idx_file({3, 28, 28}, pictures(3)), labels = idx_file({3}, "\x01\x01\x02");
  int refused = 0;
  for (int round = 0; round < 1000; ++round) {
    std::string a = images, b = labels;
    if (random.below(2)) a[random.below(20)] = static_cast<char>(random.word());
    if (random.below(2)) b[random.below(b.size())] = static_cast<char>(random.word());
    if (random.below(4) == 0) a.resize(random.below(a.size() + 9));
    io::write_file(folder / "t10k-images-idx3-ubyte", a);
    io::write_file(folder / "t10k-labels-idx1-ubyte", b);
    try {
      const Mnist data(folder.path, Usage::test);
      for (const auto& row : data) REQUIRE(row.values<1>()[0] <= 9);
    } catch (const RuntimeError&) {
      ++refused;
    }
  }
  CHECK(refused > 500);
  CHECK(refused < 990);
}

#if defined(TENON_WITH_ZLIB)

TEST_CASE("the real files have the sums that numpy finds in them") {
  const std::string directory = real_mnist();
  if (directory.empty()) return;
  check_real(directory, Usage::train, 60000, 1567298545, {5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949},
             {5, 0, 4, 1, 9, 2, 1, 3});
  check_real(directory, Usage::test, 10000, 264923200, {980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009},
             {7, 2, 1, 0, 4, 1, 4, 9});
}

TEST_CASE("damaged real files: cut off, changed, none of it loads in silence") {
  const std::string directory = real_mnist();
  if (directory.empty()) return;
  const Folder folder;
  const std::string images = io::read_file(directory + "/t10k-images-idx3-ubyte.gz"),
                    labels = io::read_file(directory + "/t10k-labels-idx1-ubyte.gz");
  const auto said = [&](const std::string& a, const std::string& b) {
    io::write_file(folder / "t10k-images-idx3-ubyte.gz", a);
    io::write_file(folder / "t10k-labels-idx1-ubyte.gz", b);
    return message<RuntimeError>([&] { Mnist(folder.path, Usage::test); });
  };
  CHECK(said(images, labels) == "");
  CHECK(has(said(images.substr(0, images.size() / 2), labels), "ends too early"));
  CHECK(has(said(images, labels.substr(0, 4000)), "t10k-labels-idx1-ubyte.gz' ends too early"));
  Random random(4);
  // the labels are small enough for many rounds; beyond the header every change shows
  for (int round = 0; round < 1000; ++round) {
    std::string changed = labels;
    const std::size_t at = 40 + random.below(labels.size() - 48);
    changed[at] = static_cast<char>(changed[at] ^ (1 + random.below(255)));
    REQUIRE_FALSE(
        message<RuntimeError>([&] { dataset::Idx(folder.path, io::gunzip(changed, "labels", 20000), 1); }).empty());
  }
}

#endif
