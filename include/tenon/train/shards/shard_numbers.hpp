// What shards give beside gradients: losses, and moving statistics, added in double.
#pragma once
#include <tenon/core/function_ref.hpp>
#include <tenon/core/memory/aligned_bytes.hpp>
#include <tenon/core/memory/growing.hpp>
#include <tenon/core/tensor/any_tensor.hpp>
#include <tenon/dist/shard_sum.hpp>
#include <tenon/nn/parameters.hpp>
#if TENON_DEFINES
#include <cstring>
#endif

namespace tenon::inline TENON_ABI::detail {

/// to = gradient, or to + gradient, in the type of its sum.
void add_gradient(std::byte* to, const AnyTensor& gradient, bool begins);
void round_into(const AnyTensor& to, const double* from);

/// The numbers of one batch: all moving statistics, each the mean over the samples, and the graph's outputs. An
/// output per sample has the samples of each shard at their place, and zeros elsewhere.
class ShardNumbers {
 public:
  /// Before the shards of a batch of n. `moving`: a flag per entry; `means`: an output without samples is a mean.
  void start(const ParameterList& parameters, const bool* moving, std::span<const TensorType> outputs, bool means,
             long n);
  long bytes() const;
  /// The statistics as they were before the batch.
  void restore() const;
  /// Takes what the graph has made of the samples of a shard; `output(k, view)` says where.
  void take(double* sum, dist::ShardRange samples, bool begins, FunctionRef<int, AnyTensor&> output) const;
  /// Gives the network the statistics, and makes the outputs of the batch.
  void finish(const double* sum);
  /// f(view) for each output, valid until the next batch.
  void each_output(FunctionRef<const AnyTensor&> f) const;

 private:
  struct Output {
    TensorType type;
    long offset;
  };
  static std::byte* home(const AnyTensor& one) { return detail::home(static_cast<std::byte*>(one.data), one.bytes()); }

  long n_ = 0;
  bool means_ = true;
  Growing<AnyTensor> moving_;
  Growing<std::byte> before_;
  Growing<Output> outputs_;
  TargetBytes whole_;  // the outputs of the batch
};

#if TENON_DEFINES
/// Element i of floating-point numbers. One function for all dtypes: those other than float32 are few.
[[gnu::cold, gnu::noinline]] inline double float_at(const AnyTensor& numbers, long i) {
  switch (numbers.dtype) {
    case Dtype::float16: return static_cast<float>(static_cast<const float16*>(numbers.data)[i]);
    case Dtype::bfloat16: return static_cast<float>(static_cast<const bfloat16*>(numbers.data)[i]);
    case Dtype::float64: return static_cast<const double*>(numbers.data)[i];
    default: return static_cast<const float*>(numbers.data)[i];
  }
}

TENON_EXACT_BEGIN
/// sum = weight values, or sum + weight values.
[[gnu::cold, gnu::noinline]] TENON_INLINE void add_weighted(double* sum, const AnyTensor& values, double weight,
                                                            bool begins) {
  for (long i = 0; i < values.count(); ++i) {
    const double one = weight * float_at(values, i);
    sum[i] = begins ? one : sum[i] + one;
  }
}
[[gnu::noinline]] TENON_INLINE void add_gradient(std::byte* to, const AnyTensor& gradient, bool begins) {
  const auto add = [&]<class S>(S* sum, auto element) {
    for (long i = 0; i < gradient.count(); ++i) sum[i] = begins ? element(i) : sum[i] + element(i);
  };
  float* const sum = reinterpret_cast<float*>(to);
  if (gradient.dtype == Dtype::float32) {
    add(sum, [from = static_cast<const float*>(gradient.data)](long i) { return from[i]; });
  } else if (gradient.dtype == Dtype::float64) {
    add(reinterpret_cast<double*>(to), [&](long i) { return float_at(gradient, i); });
  } else {
    add(sum, [&](long i) { return static_cast<float>(float_at(gradient, i)); });
  }
}
TENON_EXACT_END
[[gnu::cold, gnu::noinline]] TENON_INLINE void round_into(const AnyTensor& to, const double* from) {
  for (long i = 0; i < to.count(); ++i) switch (to.dtype) {
      case Dtype::float16: static_cast<float16*>(to.data)[i] = float16(static_cast<float>(from[i])); break;
      case Dtype::bfloat16: static_cast<bfloat16*>(to.data)[i] = bfloat16(static_cast<float>(from[i])); break;
      case Dtype::float64: static_cast<double*>(to.data)[i] = from[i]; break;
      default: static_cast<float*>(to.data)[i] = static_cast<float>(from[i]);
    }
}

[[gnu::cold, gnu::noinline]] TENON_INLINE void ShardNumbers::start(const ParameterList& parameters, const bool* moving,
                                                                   std::span<const TensorType> outputs, bool means,
                                                                   long n) {
  moving_.clear(), outputs_.clear(), before_.clear();
  n_ = n, means_ = means;
  for (int e = 0; e < parameters.entries(); ++e)
    if (moving[e]) {
      const TensorType& type = parameters.table()[e].dims;
      const AnyTensor& one = moving_.push_back({type, 1, parameters.handle(e).values_at(type.bytes(1))});
      const std::size_t at = before_.size();
      before_.fill(at + one.bytes());
      std::memcpy(before_.begin() + at, one.data, one.bytes());
    }
  long bytes = 0;
  for (const TensorType& type : outputs) {
    outputs_.push_back({type, bytes});
    bytes += aligned(type.bytes(n));
  }
  if (long(whole_.bytes()) < bytes) whole_ = TargetBytes(std::size_t(bytes), "the outputs of a batch");
}
[[gnu::cold, gnu::noinline]] TENON_INLINE long ShardNumbers::bytes() const {
  long count = 0;
  for (const AnyTensor& one : moving_) count += one.count();
  for (const Output& one : outputs_) count += one.type.count(n_);
  return count * long(sizeof(double));
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void ShardNumbers::restore() const {
  const std::byte* from = before_.begin();
  for (const AnyTensor& one : moving_) {
    std::memcpy(home(one), from, one.bytes());
    from += one.bytes();
  }
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void ShardNumbers::take(double* sum, dist::ShardRange samples, bool begins,
                                                                  FunctionRef<int, AnyTensor&> output) const {
  const double part = double(samples.size()) / double(n_);
  for (const AnyTensor& one : moving_) {
    home(one);
    add_weighted(sum, one, part, begins);
    sum += one.count();
  }
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    const TensorType& type = outputs_[k].type;
    AnyTensor values;
    output(int(k), values);
    if (!type.batched()) add_weighted(sum, values, means_ ? part : 1, begins);
    else {
      if (begins) std::memset(sum, 0, std::size_t(type.count(n_)) * sizeof *sum);
      add_weighted(sum + type.count(samples.begin), values, 1, true);
    }
    sum += type.count(n_);
  }
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void ShardNumbers::finish(const double* sum) {
  for (const AnyTensor& one : moving_) {
    home(one);
    round_into(one, sum);
    sum += one.count();
  }
  each_output([&](const AnyTensor& output) {
    home(output);
    round_into(output, sum);
    sum += output.count();
  });
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void ShardNumbers::each_output(FunctionRef<const AnyTensor&> f) const {
  for (const Output& one : outputs_) f(AnyTensor(one.type, n_, whole_.address() + one.offset));
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
