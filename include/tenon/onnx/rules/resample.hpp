// Resampling along an axis in ONNX: elements that move are looked up, weighted sums are products with a matrix. Both
// are exact for all settings; Resize of version 17 has neither antialias nor areas, and computes places in float32.
#pragma once
#include <tenon/more.hpp>
#include <tenon/onnx/node_export.hpp>

namespace tenon::inline TENON_ABI::onnx {

namespace rules {
/// The weights of all elements of x in each of the result: [out, in], or [in, out].
inline std::string resampling_matrix(NodeExport& call, const ops::ResampleConfig& c, long in, long out, bool in_first) {
  const Dtype dtype = call.type(0).dtype;
  std::vector<double> weight(std::size_t(in * out));
  for (long j = 0; j < out; ++j) {
    const ops::Taps own = c.taps(in, out, j);
    for (long k = 0; k < own.count; ++k) {
      const long from = ops::ResampleConfig::inside(own.first + k, in);
      weight[std::size_t(in_first ? from * out + j : j * in + from)] += c.weight<double>(in, out, j, own, k);
    }
  }
  std::string bytes;
  for (const double each : weight) {
    const std::uint64_t element = constant_bytes(dtype, each);
    bytes.append(reinterpret_cast<const char*>(&element), size_of(dtype));
  }
  return call.constant(dtype, {in_first ? in : out, in_first ? out : in}, bytes);
}
inline void resample(NodeExport& call) {
  const auto c = call.config<ops::Resample>();
  const TensorType& x = call.type(0);
  const int axis = normalized_axis(c.axis, x.rank);
  const long in = x[axis], out = call.result()[axis];
  if (in < 0 || out < 0) call.refuse("moves elements along the batch, whose extent the file does not know");
  if (!c.weighted()) {
    std::vector<std::int64_t> from;
    for (long j = 0; j < out; ++j) from.push_back(c.taps(in, out, j).first);
    return call.give("Gather", {call.input(0), call.whole_numbers(from)}, {{"axis", axis}});
  }
  if (axis == x.rank - 1) call.give("MatMul", {call.input(0), resampling_matrix(call, c, in, out, true)});
  else if (axis == x.rank - 2) call.give("MatMul", {resampling_matrix(call, c, in, out, false), call.input(0)});
  else call.refuse("adds elements along an axis before the last two");
}
}  // namespace rules

inline constexpr Rule resample_rules[]{
    {operator_id<ops::Resample>, rules::resample},
};

}  // namespace tenon::onnx
