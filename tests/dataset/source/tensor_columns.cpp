// Columns from the files of NumPy and safetensors, and from xtensor: values, and what does not fit.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <algorithm>

#include "../support.hpp"

#include <tenon/dataset/batch/batch.hpp>
#include <tenon/dataset/cache/pipeline_description.hpp>
#include <tenon/dataset/operation/shuffle.hpp>
#include <tenon/dataset/source/npz_columns.hpp>
#include <tenon/dataset/source/safetensors_columns.hpp>

// as in tests/core/xtensor.cpp
#if __has_include(<xtensor/xadapt.hpp>) && \
    (!defined(__clang__) || __clang_major__ < 19 || !defined(__cpp_template_template_args))
#define TENON_TEST_XTENSOR 1
#elif __has_include(<xtensor/containers/xadapt.hpp>)
#define TENON_TEST_XTENSOR 1
#endif
#ifdef TENON_TEST_XTENSOR
#include <tenon/dataset/source/xtensor_column.hpp>
#endif

using namespace support;
using dataset::as, dataset::Column;

namespace {
const Tensor x{{0.0f, 0.5f}, {1.0f, 1.5f}, {2.0f, 2.5f}};
const auto y = Tensor<std::int32_t, Shape<dyn>>::from({0, 1, 2});
const auto wide = Tensor<double, Shape<dyn>>::from({1, 2});
const io::NamedTensor tensors[]{{"x", x.view()}, {"y", y.view()}, {"wide", wide.view()}};

using X = Column<float, Shape<2>, "x">;
using Y = Column<std::int32_t, Shape<>, "y">;

/// A .npy file as numpy.save writes it, of two int16 in each of two rows, columns first: [[1, 2], [3, 4]].
const std::string by_columns = std::string("\x93NUMPY\x01\x00\x76\x00", 10) +
                               "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 2), }" + std::string(59, ' ') +
                               "\n" + std::string("\x01\x00\x03\x00\x02\x00\x04\x00", 8);
/// The pipeline as caches know it; 0 if they do not.
std::uint64_t known_as(const auto& data) {
  dataset::PipelineDescription description;
  description.add_data(data);
  return description.unknown().empty() ? description.number() : 0;
}
}  // namespace

TEST_CASE("arrays of a .npz file and tensors of a safetensors file") {
  const Folder folder;
  io::save_npz(folder / "a.npz", tensors);
  io::save_safetensors(folder / "a.safetensors", tensors);
  const auto npz = dataset::npz_columns(folder / "a.npz", as<X, Y>);
  const auto safe = dataset::safetensors_columns(folder / "a.safetensors", as<X, Y>);
  CHECK(labels_of(npz) == counted(0, 3));  // looks at both columns
  CHECK(labels_of(safe | dataset::batch(2)) == counted(0, 3));
  CHECK(known_as(npz) != 0);
  CHECK(known_as(npz) == known_as(safe));
  std::vector<int> shuffled = labels_of(npz | dataset::shuffle(3, 4) | dataset::batch(2));
  std::ranges::sort(shuffled);
  CHECK(shuffled == counted(0, 3));
}

TEST_CASE("an array of a .npy file, in the other order") {
  const Folder folder;
  io::write_file(folder / "a.npy", by_columns);
  std::vector<int> values;
  for (const auto& row : dataset::npy_column(folder / "a.npy", as<Column<std::int16_t, Shape<2>, "pair">>))
    for (const int value : row.values<"pair">()) values.push_back(value);
  CHECK(values == std::vector<int>{1, 2, 3, 4});
}

TEST_CASE("what does not fit is named") {
  const Folder folder;
  io::save_npz(folder / "a.npz", tensors);
  const auto open = [&](auto wanted) { dataset::npz_columns(folder / "a.npz", wanted); };
  CHECK(has(message<KeyError>([&] { open(as<Column<float, Shape<>, "z">>); }), "has no tensor 'z'"));
  CHECK(
      has(message<TypeError>([&] { open(as<Column<float, Shape<>, "wide">>); }), "is float64, the column is float32"));
  CHECK(has(message<ValueError>([&] { open(as<Column<float, Shape<3>, "x">>); }), "has the shape [3, 2]; a column of"));
  CHECK(has(message<ValueError>([&] { open(as<Column<float, Shape<>, "x">>); }),
            "needs one axis before these, for its samples"));
  CHECK(has(message<ValueError>([&] { open(as<Y, Column<double, Shape<>, "wide">>); }),
            "has 2 samples, those before it 3"));
}

#ifdef TENON_TEST_XTENSOR
TEST_CASE("xtensor") {
  xt::xarray<float, xt::layout_type::column_major> points = {{0, 0.5f}, {1, 1.5f}, {2, 2.5f}};
  const xt::xtensor<std::int32_t, 1> numbers = {-1, 0, 1};
  const auto data = dataset::from_arrays(dataset::column_of<Shape<2>>(points),
                                         dataset::column_of<Shape<>>(xt::xtensor<std::int32_t, 1>(numbers + 1)));
  CHECK(labels_of(data) == counted(0, 3));
  CHECK(has(message<ValueError>([&] { dataset::column_of<Shape<3>>(points); }), "An xtensor of the shape [3, 2]"));
}
#endif
