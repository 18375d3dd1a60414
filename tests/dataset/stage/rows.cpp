// Walking through a data set: ranges, views, aligned memory, and no allocation on the way.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../support.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

#include <tenon/core/tensor.hpp>
#include <tenon/dataset/dataset.hpp>

using namespace support;

namespace {
std::atomic<long> allocations{0};
void* counted_allocation(std::size_t bytes, std::size_t alignment) {
  ++allocations;
  if (void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment)) return memory;
  throw std::bad_alloc();
}
}  // namespace

void* operator new(std::size_t bytes) { return counted_allocation(bytes ? bytes : 1, 16); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted_allocation(bytes ? bytes : 1, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace {

/// Walks two epochs, the first of them cut short; returns how often memory was taken after open().
template <class D>
long allocations_of_walk(const D& data) {
  auto rows = data.open();
  const long before = allocations;
  double sum = 0;
  rows.start(0);
  for (int i = 0; i < 2; ++i) sum += rows.next()->template values<0>()[0];
  rows.start(1);
  while (const auto* row = rows.next()) sum += row->template values<0>()[0];
  const long taken = allocations - before;
  CHECK(sum != 0);
  return taken;
}

}  // namespace

TEST_CASE("nothing is allocated while walking, on any thread") {
  const auto twice = dataset::map<0>([](float x) { return 2 * x; });
  const auto wider =
      dataset::map<0, dataset::Column<double, Shape<4>>>([](std::span<const float> in, std::span<double> out) {
        for (std::size_t i = 0; i < 4; ++i) out[i] = in[i % 2];
      });
  const auto all = Numbers(100) | dataset::shuffle(30) | twice | wider | dataset::repeat(2) | dataset::take(150);
  CHECK(allocations_of_walk(all) == 0);
  CHECK(allocations_of_walk(all | dataset::batch(7)) == 0);
  CHECK(allocations_of_walk(all | dataset::batch<7>() | dataset::prefetch(3)) == 0);
  CHECK(allocations_of_walk(dataset::Digits{.size = 40} | dataset::batch(8) | dataset::prefetch()) == 0);
  const long before = allocations;
  (void)all.open();
  CHECK(allocations > before);  // the counter counts
}

TEST_CASE("for: epoch 0, or the one asked for") {
  const auto data = Numbers(20) | dataset::shuffle(20, 1) | dataset::batch(6);
  std::vector<int> zero, three;
  for (const auto& row : data)
    for (int label : row.values<1>()) zero.push_back(label);
  for (const auto& row : dataset::rows(data, 3))
    for (int label : row.values<1>()) three.push_back(label);
  CHECK(zero == labels_of(data, 0));
  CHECK(three == labels_of(data, 3));
  CHECK(zero != three);
}

TEST_CASE("for: leaving early, with prefetch, on a temporary") {
  int seen = 0;
  for (const auto& row : Numbers(100) | dataset::batch(10) | dataset::prefetch()) {
    seen += static_cast<int>(row.n);
    if (seen == 30) break;
  }
  CHECK(seen == 30);
}

TEST_CASE("a row as run-time views") {
  for (const auto& row : Numbers(5) | dataset::batch(3)) {
    const AnyTensor points = row[0], labels = row[1];
    CHECK(points.dtype == Dtype::float32);
    CHECK(labels.dtype == Dtype::int32);
    CHECK(shape_text(points.shape()) == text("[", row.n, ", 2]"));
    CHECK(points.as<float>()[1] == static_cast<float>(labels.as<std::int32_t>()[0]) + 0.5f);
    CHECK(points.data == row.column[0]);
    CHECK(message<ValueError>([&] { (void)row[2]; }) == "Asked for column 2 of a row, legal are 0 .. 1.");
    CHECK_FALSE(message<ValueError>([&] { (void)row[-1]; }).empty());
    CHECK_FALSE(message<TypeError>([&] { (void)row[0].as<int>(); }).empty());
  }
}

TEST_CASE("columns begin on a cache line") {
  for (const auto& row : Numbers(7) | dataset::batch(3))
    for (const void* column : row.column) CHECK(reinterpret_cast<std::uintptr_t>(column) % 64 == 0);
}

TEST_CASE("iterators move; the row stays where it is") {
  auto rows = Numbers(5).open();
  rows.start(0);
  const auto* row = rows.next();
  auto moved = std::move(rows);
  CHECK(row->values<1>()[0] == 0);
  CHECK(moved.next()->values<1>()[0] == 1);
}

TEST_CASE("the words of the concept") {
  static_assert(dataset::Indexed<Numbers> && dataset::Indexed<dataset::Digits> && dataset::Indexed<dataset::Mnist>);
  static_assert(!dataset::Dataset<int> && !dataset::Dataset<std::vector<float>>);
}

TEST_CASE("who keeps a column as a tensor keeps its numbers: the next row has other memory") {
  const std::vector<float> x{1, 2, 3, 4, 5, 6};
  const auto data = dataset::from_arrays(dataset::column<Shape<>>(x)) | dataset::batch(2);
  const auto check = [](auto rows) {
    rows.start(0);
    const auto* row = rows.next();
    const Tensor<float, Shape<dyn>> kept(*row->owner[0], row->n);
    const void* const first = row->column[0];
    CHECK(kept.data() == first);
    row = rows.next();
    CHECK(row->column[0] != first);
    CHECK(kept[0] == 1);
    CHECK(kept[1] == 2);
    row = rows.next();
    CHECK(static_cast<const float*>(row->column[0])[1] == 6);
    rows.start(1);
    rows.next();
    CHECK(kept[1] == 2);
  };
  check(data.open());
  check((data | dataset::prefetch(2)).open());
}
