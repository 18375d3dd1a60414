// Cifar10 and Cifar100: small files of our own, byte by byte, and every mistake in a folder. MnistBytes beside Mnist.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <algorithm>

#include "../support.hpp"

#include <tenon/dataset/batch/batch.hpp>
#include <tenon/dataset/cache/pipeline_description.hpp>
#include <tenon/dataset/operation/shuffle.hpp>
#include <tenon/dataset/source/cifar10.hpp>
#include <tenon/dataset/source/cifar100.hpp>
#include <tenon/dataset/source/file/mnist_bytes.hpp>

using namespace support;
using dataset::Cifar10, dataset::Cifar100, dataset::Usage;

namespace {
/// Byte i of a plane of colour c is (seed + 50 c + i) mod 256.
std::string image(int seed) {
  std::string planes;
  for (int colour = 0; colour < 3; ++colour)
    for (int i = 0; i < 1024; ++i) planes += static_cast<char>((seed + 50 * colour + i) % 256);
  return planes;
}
void check_image(std::span<const std::uint8_t> pixels, int seed) {
  REQUIRE(pixels.size() == 3072);
  bool same = true;
  for (std::size_t i = 0; i < 1024; ++i)
    for (std::size_t colour = 0; colour < 3; ++colour)
      same = same && pixels[3 * i + colour] == (std::size_t(seed) + 50 * colour + i) % 256;
  CHECK(same);
}
template <class Data>
std::string refusal(const Folder& folder, Usage usage = Usage::test) {
  return message<RuntimeError>([&] { Data(folder.path, usage); });
}
/// The pipeline as caches know it; 0 if they do not.
std::uint64_t known_as(const auto& data) {
  dataset::PipelineDescription description;
  description.add_data(data);
  return description.unknown().empty() ? description.number() : 0;
}
}  // namespace

TEST_CASE("CIFAR-10: five files behind one another, pixels with their colours together") {
  const Folder folder;
  for (int i = 1; i <= 5; ++i)
    io::write_file(folder / ("data_batch_" + std::to_string(i) + ".bin"),
                   static_cast<char>(i) + image(i) + static_cast<char>(i + 4) + image(i + 100));
  const Cifar10 data(folder.path, Usage::train);
  REQUIRE(data.size() == 10);
  std::vector<int> labels;
  for (const auto& row : data) {
    labels.push_back(row.values<"label">()[0]);
    check_image(row.values<"image">(), labels.size() % 2 ? labels.back() : labels.back() + 96);
  }
  CHECK(labels == std::vector<int>{1, 5, 2, 6, 3, 7, 4, 8, 5, 9});
  long rows = 0;
  for (const auto& row : data | dataset::shuffle(10, 3) | dataset::batch(4)) {
    static_assert(std::is_same_v<decltype(row.get<0>()), Tensor<std::uint8_t, Shape<dyn, 32, 32, 3>>>);
    for (long i = 0; i < row.n; ++i, ++rows)
      CHECK(row.values<0>()[std::size_t(i) * 3072] % 100 + (row.values<0>()[std::size_t(i) * 3072] > 99 ? 4 : 0) ==
            row.values<1>()[std::size_t(i)]);
  }
  CHECK(rows == 10);
  const std::uint64_t before = known_as(data);
  io::write_file(folder / "data_batch_5.bin", '\0' + image(1));
  CHECK(before != 0);
  CHECK(before != known_as(Cifar10(folder.path, Usage::train)));
}

TEST_CASE("CIFAR-100: the label of the class, then that of its kind") {
  const Folder folder;
  io::write_file(folder / "test.bin", std::string("\x13\x63") + image(7));
  const Cifar100 data(folder.path, Usage::test);
  REQUIRE(data.size() == 1);
  for (const auto& row : data) {
    check_image(row.values<"image">(), 7);
    CHECK(row.values<1>()[0] == 99);
    CHECK(row.values<"coarse_label">()[0] == 19);
  }
}

TEST_CASE("what is wrong with a folder or a file is said") {
  const Folder folder;
  CHECK(has(message<RuntimeError>([] { Cifar10("no/such/folder", Usage::test); }), "no directory 'no/such/folder'"));
  CHECK(has(refusal<Cifar10>(folder), "has no 'test_batch.bin'. Unpack cifar-10-binary.tar.gz"));
  CHECK(has(refusal<Cifar100>(folder, Usage::train), "has no 'train.bin'"));
  io::write_file(folder / "test_batch.bin", image(0));
  CHECK(has(refusal<Cifar10>(folder), "it has 3072 bytes, which is no multiple of the 3073 of an image"));
  io::write_file(folder / "test_batch.bin", "");
  CHECK(has(refusal<Cifar10>(folder), "it has 0 bytes"));
  io::write_file(folder / "test_batch.bin", '\0' + image(0) + '\x0a' + image(0));
  CHECK(has(refusal<Cifar10>(folder), "The label of image 1 in"));
  CHECK(has(refusal<Cifar10>(folder), "is 10; legal are 0 .. 9"));
  io::write_file(folder / "test.bin", std::string("\x14\x01") + image(0));
  CHECK(has(refusal<Cifar100>(folder), "The coarse label of image 0 in"));
}

TEST_CASE("MnistBytes: the bytes of the file") {
  const Folder folder;
  std::string pictures(2 * 784, '\0');
  for (std::size_t i = 0; i < pictures.size(); ++i) pictures[i] = static_cast<char>(i % 251);
  io::write_file(folder / "t10k-images-idx3-ubyte", idx_file({2, 28, 28}, pictures));
  io::write_file(folder / "t10k-labels-idx1-ubyte", idx_file({2}, "\x07\x03"));
  const dataset::MnistBytes data(folder.path, Usage::test);
  for (const auto& row : data | dataset::batch<2>()) {
    static_assert(std::is_same_v<decltype(row.get<0>()), Tensor<std::uint8_t, Shape<2, 28, 28, 1>>>);
    CHECK(std::ranges::equal(row.values<"image">(), pictures, {}, {}, [](char c) { return std::uint8_t(c); }));
    CHECK(row.values<"label">()[0] == 7);
    CHECK(row.values<"label">()[1] == 3);
  }
  CHECK(known_as(data) != 0);
  CHECK(known_as(data) != known_as(dataset::Mnist(folder.path, Usage::test)));
}
