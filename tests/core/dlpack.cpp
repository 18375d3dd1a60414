// DLPack and back: the same elements, whose owner hears when they are no longer used; strides, dtypes, what is no
// tensor.
#include <doctest/doctest.h>

#if __has_include(<dlpack/dlpack.h>)
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/dlpack.hpp>
#include <tenon/core/random/random.hpp>
#include <tenon/core/tensor/compare.hpp>

#include "../support/error_of.hpp"

using namespace tenon;
using support::error_of;

namespace {

/// What another library has: elements, and a count of how often its deleter was called.
template <class T>
struct Foreign {
  std::vector<T> elements;
  std::vector<std::int64_t> shape, strides{};
  int deleted = 0;
  DLManagedTensor managed{};

  Foreign(std::vector<T> values, std::vector<std::int64_t> extents, std::vector<std::int64_t> steps = {})
      : elements(std::move(values)), shape(std::move(extents)), strides(std::move(steps)) {
    const detail::DLPackCode code = detail::dlpack_code(dtype_of<T>);
    managed.dl_tensor.data = elements.data();
    managed.dl_tensor.device.device_type = kDLCPU;
    managed.dl_tensor.ndim = int(shape.size());
    managed.dl_tensor.dtype = {code.code, code.bits, 1};
    managed.dl_tensor.shape = shape.data();
    managed.dl_tensor.strides = strides.empty() ? nullptr : strides.data();
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensor* self) { ++static_cast<Foreign*>(self->manager_ctx)->deleted; };
  }
};

template <class T, class S>
std::string refused(DLManagedTensor* given) {
  return error_of([&] { from_dlpack<T, S>(given); });
}

}  // namespace

// The first test: a block that another one gave back would do for the tensor.
TEST_CASE("without memory for a tensor, what is given stays with its owner") {
  Foreign<float> given({1, 2, 3}, {3});
  const ContextScope scope({.max_device_memory = "0.000000001GB"});
  CHECK_THROWS_AS((from_dlpack<float, Shape<3>>(&given.managed)), OutOfMemory);
  CHECK(given.deleted == 0);
}

TEST_CASE("to DLPack and back is the same block, which lives as long as one of them") {
  Tensor x({{1.0f, 2.0f, 3.0f}, {4.0f, 5.0f, 6.0f}});
  const float* const elements = x.data();
  DLManagedTensor* const given = to_dlpack(x);
  CHECK(given->dl_tensor.data == elements);
  CHECK(given->dl_tensor.ndim == 2);
  CHECK(given->dl_tensor.shape[1] == 3);
  CHECK(given->dl_tensor.strides[0] == 3);
  CHECK(given->dl_tensor.byte_offset == 0);
  x = Tensor<float, Shape<2, 3>>();  // what is given keeps the elements
  auto back = from_dlpack<float, Shape<dyn, 3>>(given);
  CHECK(back.data() == elements);
  CHECK(back.n() == 2);
  CHECK(back(1, 2) == 6);
  Tensor scalar(7.5);
  CHECK(from_dlpack<double, Shape<>>(to_dlpack(scalar)).item() == 7.5);
  const auto none = Tensor<int, Shape<dyn, 4>>::zeros(0);
  CHECK(from_dlpack<int, Shape<dyn, 4>>(to_dlpack(none)).n() == 0);
}
TEST_CASE("a tensor that was moved from is an error, an empty one is none") {
  auto x = Tensor<float, Shape<2, 3>>::full(1);
  const auto taken = std::move(x);
  CHECK(error_of([&] { to_dlpack(x); }) == "to_dlpack: this tensor has no elements: assign to it first.");
  DLManagedTensor* const none = to_dlpack(Tensor<float, Shape<dyn, 3>>::empty(0));
  CHECK(none->dl_tensor.shape[0] == 0);
  none->deleter(none);
}

TEST_CASE("a foreign tensor is used without a copy, and its deleter is called once, by the last owner") {
  Foreign<std::int32_t> foreign({1, 2, 3, 4, 5, 6}, {3, 2});
  {
    auto x = from_dlpack<std::int32_t, Shape<dyn, 2>>(&foreign.managed);
    CHECK(x.data() == foreign.elements.data());
    x(0, 0) = 10;
    CHECK(foreign.elements[0] == 10);
    const auto same = x;
    x = Tensor<std::int32_t, Shape<dyn, 2>>::zeros(1);
    CHECK(foreign.deleted == 0);
    CHECK(same(2, 1) == 6);
  }
  CHECK(foreign.deleted == 1);
}
TEST_CASE("strides: the wide, the turned, the repeated, and the backward are copied at once") {
  const std::vector<float> values{0, 1, 2, 3, 4, 5, 6, 7};
  const auto copied = [&](std::vector<std::int64_t> shape, std::vector<std::int64_t> strides, std::uint64_t offset,
                          const std::vector<float>& expected) {
    Foreign<float> foreign(values, std::move(shape), std::move(strides));
    foreign.managed.dl_tensor.byte_offset = offset * sizeof(float);
    const auto x = from_dlpack<float, Shape<dyn, 2>>(&foreign.managed);
    CHECK(foreign.deleted == 1);
    CHECK(std::vector<float>(x.values().begin(), x.values().end()) == expected);
  };
  copied({2, 2}, {4, 1}, 0, {0, 1, 4, 5});
  copied({4, 2}, {1, 4}, 0, {0, 4, 1, 5, 2, 6, 3, 7});
  copied({3, 2}, {0, 1}, 2, {2, 3, 2, 3, 2, 3});
  copied({2, 2}, {-2, -1}, 7, {7, 6, 5, 4});
  // strides of axes with one element mean nothing
  Foreign<float> row(values, {1, 2}, {77, 1});
  CHECK(from_dlpack<float, Shape<dyn, 2>>(&row.managed).data() == row.elements.data());
  // an address between two floats is no float's
  Foreign<float> shifted(values, {2, 2});
  shifted.managed.dl_tensor.byte_offset = 2;
  const auto x = from_dlpack<float, Shape<2, 2>>(&shifted.managed);
  CHECK(std::memcmp(x.data(), reinterpret_cast<const char*>(values.data()) + 2, 16) == 0);
  CHECK(shifted.deleted == 1);
}
TEST_CASE("all dtypes have DLPack's codes") {
  const auto check = []<class T>(T value) {
    const Tensor<T, Shape<1>> x = Tensor<T, Shape<1>>::full(value);
    DLManagedTensor* const given = to_dlpack(x);
    CHECK(given->dl_tensor.dtype.bits == sizeof(T) * 8);
    CHECK(bit_equal(from_dlpack<T, Shape<1>>(given), x));
  };
  check(std::int8_t(-1)), check(std::int16_t(-2)), check(std::int32_t(-3)), check(std::int64_t(-4));
  check(std::uint8_t(1)), check(std::uint16_t(2)), check(std::uint32_t(3)), check(std::uint64_t(4));
  check(float16(0.5f)), check(bfloat16(0.5f)), check(0.5f), check(0.5), check(true);
}
TEST_CASE("what is no such tensor is a sentence, and stays with its owner") {
  const auto given = [](auto change) {
    auto foreign = std::make_unique<Foreign<float>>(std::vector<float>(6), std::vector<std::int64_t>{3, 2});
    change(foreign->managed.dl_tensor);
    const std::string said = refused<float, Shape<dyn, 2>>(&foreign->managed);
    CHECK(foreign->deleted == 0);
    return said;
  };
  CHECK(refused<float, Shape<2>>(nullptr) == "from_dlpack: a tensor float32 [2] cannot be made: the pointer is null.");
  CHECK(given([](DLTensor& x) { x.device.device_type = kDLCUDA; }) ==
        "from_dlpack: the tensor is on device type 2 of DLPack, not on the CPU (1): copy it there first, such as by "
        "x.cpu().");
  CHECK(given([](DLTensor& x) { x.dtype.bits = 64; }) ==
        "from_dlpack: a tensor float32 [n,2] needs DLPack's dtype (2, 32 bits, 1 lane), got (2, 64 bits, 1 lanes).");
  CHECK(given([](DLTensor& x) { x.dtype.lanes = 4; }).find("4 lanes") != std::string::npos);
  CHECK(given([](DLTensor& x) { x.ndim = -1; }).find("it has -1 axes.") != std::string::npos);
  CHECK(given([](DLTensor& x) { x.ndim = 1 << 30; }).find("axes.") != std::string::npos);
  CHECK(given([](DLTensor& x) { x.shape = nullptr; }).find("its shape is a null pointer.") != std::string::npos);
  CHECK(given([](DLTensor& x) { x.data = nullptr; }).find("its data are a null pointer.") != std::string::npos);
  CHECK(given([](DLTensor& x) { x.shape[0] = -3; }).find("extent 0 is -3.") != std::string::npos);
  CHECK(given([](DLTensor& x) { x.shape[0] = std::int64_t(1) << 62; }).find("2^48 bytes") != std::string::npos);
  CHECK(given([](DLTensor& x) { x.shape[1] = 3; }).find("[n,2]") != std::string::npos);
  CHECK(given([](DLTensor& x) { x.ndim = 1; }).find("[n,2]") != std::string::npos);
}
TEST_CASE("1,000 mutations of what is given: a tensor or a sentence") {
  Random random(5);
  int tensors = 0, sentences = 0;
  for (int i = 0; i < 1000; ++i) {
    Foreign<float> foreign(std::vector<float>(6), {3, 2});
    DLTensor& x = foreign.managed.dl_tensor;
    // not what no reader can judge: where the elements are, and how far apart
    const std::span<unsigned char> parts[]{{reinterpret_cast<unsigned char*>(&x.device), sizeof x.device},
                                           {reinterpret_cast<unsigned char*>(&x.ndim), sizeof x.ndim},
                                           {reinterpret_cast<unsigned char*>(&x.dtype), sizeof x.dtype},
                                           {reinterpret_cast<unsigned char*>(x.shape), 2 * sizeof *x.shape}};
    for (int changes = 1 + int(random.uniform(0, 3)); changes-- > 0;) {
      const auto part = parts[int(random.uniform(0, 4)) % 4];
      part[std::size_t(random.uniform(0, float(part.size()))) % part.size()] ^= 1u << int(random.uniform(0, 8)) % 8;
    }
    if (x.ndim > 2 && x.ndim <= AnyTensor::max_axes) continue;  // its shape would need more numbers than there are
    bool is_refused = false;
    try {
      from_dlpack<float, Shape<dyn, 2>>(&foreign.managed);
    } catch (const Error&) {
      is_refused = true;
    }
    ++(is_refused ? sentences : tensors);
    CHECK(foreign.deleted == (is_refused ? 0 : 1));
  }
  CHECK(tensors > 50);
  CHECK(sentences > 500);
}
#else
#include "../support/skip.hpp"
TEST_CASE("DLPack's header is not here") { support::say_skipped("DLPack: install libdlpack-dev"); }
#endif
