// vision::OneHot, TypeCast: labels as vectors, elements of another type.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include <tenon/core/random/philox.hpp>
#include <tenon/dataset/vision/image_column.hpp>

namespace tenon::inline TENON_ABI::vision {

/// A label as a one-hot vector.
///
/// column      an integer [], 0 to Classes - 1
/// result      float32 [Classes]
/// throws      ValueError for another label
/// source      MindSpore's OneHot, which keeps the integer type; losses require float32
template <int Classes>
struct OneHot {
  static_assert(Classes >= 1, "OneHot: there is 1 class or more");
  using transforms_samples = void;
  static constexpr const char* name = "OneHot";
  static constexpr bool random = false;
  template <class In>
  static constexpr Sentence wrong() {
    Sentence s;
    if (detail::ExtentsOf<typename In::shape>::rank == 0 && !In::ragged && !is_floating(In::tensor_type.dtype))
      return s;
    s << "vision::OneHot takes labels, integers of shape [], ";
    detail::describe_column<In>(s);
    return s;
  }
  template <class In>
  using result = dataset::Column<float, Shape<Classes>>;
  template <class In>
  void apply(dataset::SampleView<In> in, dataset::SampleSlot<result<In>> out, Random&) const {
    const auto label = static_cast<long long>(in.data()[0]);
    if (label < 0 || label >= Classes)
      throw_error<ValueError>("OneHot<", Classes, ">: the label ", label, " is not one of 0 .. ", Classes - 1, ".");
    float* const to = out.resize(Classes);
    std::fill_n(to, Classes, 0.0f);
    to[label] = 1;
  }
};

/// Elements as another type. Floats become integers by cutting off their fraction, at most the integer type's limits;
/// NaN becomes 0.
///
/// column      any
/// result      T of the same shape
/// source      MindSpore's TypeCast
template <class To>
struct TypeCast {
  using transforms_samples = void;
  static constexpr const char* name = "TypeCast";
  static constexpr bool random = false;
  template <class In>
  using result = dataset::Column<To, typename In::shape>;
  template <class In>
  void apply(dataset::SampleView<In> in, dataset::SampleSlot<result<In>> out, Random&) const {
    To* const to = out.resize(in.extents());
    const auto* const from = in.data();
    for (std::int64_t i = 0, count = in.count(); i < count; ++i) to[i] = cast(from[i]);
  }

 private:
  template <class T>
  static To cast(T x) {
    if constexpr (is_floating(dtype_of<T>) && std::is_integral_v<To> && !std::is_same_v<To, bool>) {
      using Limits = std::numeric_limits<To>;
      const double value = static_cast<double>(x);
      if (!(value == value)) return To(0);
      if (value <= static_cast<double>(Limits::min())) return Limits::min();
      return value >= static_cast<double>(Limits::max()) ? Limits::max() : static_cast<To>(value);
    } else {
      return static_cast<To>(x);
    }
  }
};

}  // namespace tenon::vision
