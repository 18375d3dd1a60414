// The elements of a batch, of any dtype, as metrics read them.
#pragma once
#include <string_view>

#include <tenon/core/tensor/any_tensor.hpp>

namespace tenon::inline TENON_ABI::nn::detail {

/// Element i in row-major order as a double; 64-bit integers beyond 2^53 are rounded.
double element(const AnyTensor& t, std::int64_t i);

/// The type of a view, so that the compiler and a direct call of update() use the same check. Throws ValueError for
/// more axes than a TensorType has.
TensorType type_of_view(std::string_view metric, const AnyTensor& t);

/// Throws ValueError unless both have the same shape.
void check_same_shape(std::string_view metric, const AnyTensor& prediction, const AnyTensor& target);

/// part / whole. Throws RuntimeError if the whole is 0: no sample was counted.
double share(std::string_view metric, double part, double whole);

#if TENON_DEFINES
TENON_INLINE double element(const AnyTensor& t, std::int64_t i) {
  const auto read = [&]<class T>(T) { return static_cast<double>(static_cast<const T*>(t.data)[i]); };
  switch (t.dtype) {
    case Dtype::bool_: return read(bool{});
    case Dtype::int8: return read(std::int8_t{});
    case Dtype::int16: return read(std::int16_t{});
    case Dtype::int32: return read(std::int32_t{});
    case Dtype::int64: return read(std::int64_t{});
    case Dtype::uint8: return read(std::uint8_t{});
    case Dtype::uint16: return read(std::uint16_t{});
    case Dtype::uint32: return read(std::uint32_t{});
    case Dtype::uint64: return read(std::uint64_t{});
    case Dtype::float16: return read(float16{});
    case Dtype::bfloat16: return read(bfloat16{});
    case Dtype::float32: return read(float{});
    case Dtype::float64: return read(double{});
  }
  return 0;
}
TENON_INLINE TensorType type_of_view(std::string_view metric, const AnyTensor& t) {
  if (t.rank > max_rank)
    throw_error<ValueError>(metric, " judges tensors of up to ", max_rank, " axes, got ", shape_text(t.shape()),
                            ": reshape it.");
  TensorType type{{}, t.rank, t.dtype};
  for (int axis = 0; axis < t.rank; ++axis) type.extent[axis] = static_cast<int>(t.extent[axis]);
  return type;
}
TENON_INLINE void check_same_shape(std::string_view metric, const AnyTensor& prediction, const AnyTensor& target) {
  bool same = prediction.rank == target.rank;
  for (int axis = 0; same && axis < target.rank; ++axis) same = prediction.extent[axis] == target.extent[axis];
  if (!same)
    throw_error<ValueError>(metric, " needs a prediction and a target of one shape, got ",
                            shape_text(prediction.shape()), " and ", shape_text(target.shape()), ".");
}
TENON_INLINE double share(std::string_view metric, double part, double whole) {
  if (whole == 0) throw_error<RuntimeError>(metric, " cannot be computed: update() was not called, or with 0 samples.");
  return part / whole;
}
#endif  // TENON_DEFINES

}  // namespace tenon::nn::detail
