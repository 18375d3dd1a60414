// The values of a tensor as NumPy prints an array: aligned, shortest digits, "..." in the middle of more than 1000
// elements.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/float/decimal.hpp>
#include <tenon/core/math/libm.hpp>
#include <tenon/core/tensor/any_tensor.hpp>

namespace tenon::inline TENON_ABI::detail {

/// Element i of a view with a floating-point dtype.
inline double floating_element(const AnyTensor& x, std::int64_t i) {
  switch (x.dtype) {
    case Dtype::float16: return static_cast<const float16*>(x.data)[i];
    case Dtype::bfloat16: return static_cast<const bfloat16*>(x.data)[i];
    case Dtype::float32: return static_cast<const float*>(x.data)[i];
    default: return static_cast<const double*>(x.data)[i];
  }
}
inline std::string integer_text(const AnyTensor& x, std::int64_t i) {
  switch (x.dtype) {
    case Dtype::bool_: return static_cast<const unsigned char*>(x.data)[i] ? "True" : "False";
    case Dtype::int8: return std::to_string(static_cast<const std::int8_t*>(x.data)[i]);
    case Dtype::int16: return std::to_string(static_cast<const std::int16_t*>(x.data)[i]);
    case Dtype::int32: return std::to_string(static_cast<const std::int32_t*>(x.data)[i]);
    case Dtype::uint8: return std::to_string(static_cast<const std::uint8_t*>(x.data)[i]);
    case Dtype::uint16: return std::to_string(static_cast<const std::uint16_t*>(x.data)[i]);
    case Dtype::uint32: return std::to_string(static_cast<const std::uint32_t*>(x.data)[i]);
    case Dtype::uint64: return std::to_string(static_cast<const std::uint64_t*>(x.data)[i]);
    default: return std::to_string(static_cast<const std::int64_t*>(x.data)[i]);
  }
}
/// Element i of any view; integers beyond 2^53 are rounded.
inline double element_as_double(const AnyTensor& x, std::int64_t i) {
  switch (x.dtype) {
    case Dtype::bool_: return static_cast<const unsigned char*>(x.data)[i] != 0;
    case Dtype::int8: return static_cast<const std::int8_t*>(x.data)[i];
    case Dtype::int16: return static_cast<const std::int16_t*>(x.data)[i];
    case Dtype::int32: return static_cast<const std::int32_t*>(x.data)[i];
    case Dtype::int64: return double(static_cast<const std::int64_t*>(x.data)[i]);
    case Dtype::uint8: return static_cast<const std::uint8_t*>(x.data)[i];
    case Dtype::uint16: return static_cast<const std::uint16_t*>(x.data)[i];
    case Dtype::uint32: return static_cast<const std::uint32_t*>(x.data)[i];
    case Dtype::uint64: return double(static_cast<const std::uint64_t*>(x.data)[i]);
    default: return floating_element(x, i);
  }
}
inline std::string non_finite_text(double x) { return detail::libm::nan(x) ? "nan" : x < 0 ? "-inf" : "inf"; }
inline void pad_left(std::string& word, std::size_t width) {
  if (word.size() < width) word.insert(0, width - word.size(), ' ');
}

/// A number without axes: as a NumPy scalar prints itself.
inline std::string scalar_text(const AnyTensor& x) {
  if (!is_floating(x.dtype)) return integer_text(x, 0);
  const double value = floating_element(x, 0), size = detail::libm::abs(value);
  if (!detail::libm::finite(value)) return non_finite_text(value);
  const Decimal d = shortest_decimal(value, x.dtype);
  if (size != 0 && (size < 1e-4 || size >= 1e16)) {
    std::string s = scientific_text(d, 0);
    if (const auto point = s.find(".e"); point != s.npos) s.erase(point, 1);
    return s;
  }
  const std::string s = positional_text(d);
  return s.ends_with('.') ? s + "0" : s;
}

/// The columns in which floating-point elements stand below each other: digits before and after the point.
class FloatColumns {
 public:
  FloatColumns(const AnyTensor& x, const std::vector<std::int64_t>& shown) : dtype_(x.dtype) {
    double smallest = 0, largest = 0;
    bool any_infinite = false, negative_infinite = false;
    std::vector<double> finite;
    for (std::int64_t i : shown) {
      const double value = floating_element(x, i), size = detail::libm::abs(value);
      if (!detail::libm::finite(value)) any_infinite = true, negative_infinite |= value < 0;
      else finite.push_back(value);
      if (!detail::libm::finite(value) || size == 0) continue;
      if (smallest == 0 || size < smallest) smallest = size;
      if (size > largest) largest = size;
    }
    scientific_ =
        largest >= 1e8 || (largest != 0 && (smallest < in_dtype(1e-4) || in_dtype(largest / smallest) > 1000));
    for (double value : finite) measure(value);
    if (any_infinite) {  // "nan" and "-inf" may begin before the other numbers
      const std::size_t behind = right_ + 1, width = negative_infinite ? 4 : 3;
      if (left_ + behind < width) left_ = width - behind;
    }
  }
  std::string operator()(double value) const {
    if (!detail::libm::finite(value)) {
      std::string word = non_finite_text(value);
      pad_left(word, left_ + right_ + 1);
      return word;
    }
    if (scientific_) {
      std::string word = scientific_text(full_scientific_decimal(value, dtype_, int(fraction_)), fraction_, exponent_);
      pad_left(word, left_ + right_ + 1);
      return word;
    }
    std::string word = positional_text(positional_decimal(value, dtype_, precision));
    const std::size_t point = word.find('.'), behind = word.size() - point - 1;
    word.append(right_ - behind, ' ');
    pad_left(word, left_ + right_ + 1);
    return word;
  }

 private:
  static constexpr int precision = 8;

  double in_dtype(double value) const {
    if (dtype_ == Dtype::float64) return value;
    return dtype_ == Dtype::float16    ? double(float16(float(value)))
           : dtype_ == Dtype::bfloat16 ? double(bfloat16(float(value)))
                                       : double(float(value));
  }
  void measure(double value) {
    const auto grow = [](std::size_t& width, std::size_t to) { width = to > width ? to : width; };
    if (scientific_) {
      const Decimal d = scientific_decimal(value, dtype_, precision);
      const std::string word = scientific_text(d, 0);
      grow(left_, d.negative ? 2 : 1);
      grow(fraction_, d.digits.size() - 1);
      grow(exponent_, word.size() - word.find('e') - 2);
      right_ = fraction_ + 2 + exponent_;
    } else {
      const std::string word = positional_text(positional_decimal(value, dtype_, precision));
      grow(left_, word.find('.'));
      grow(right_, word.size() - word.find('.') - 1);
    }
  }

  Dtype dtype_;
  bool scientific_ = false;
  std::size_t left_ = 0, right_ = 0, fraction_ = 0, exponent_ = 2;
};

/// How an array is laid out: what stands between its words and rows, and which of them are left out.
struct ArrayLayout {
  bool comma = false;               // ", " between words and "," after rows
  bool blank_lines = true;          // between the parts of three axes and more
  std::size_t wrap_at = 75;         // longest line of words; 0: lines are not wrapped
  std::int64_t feed = 0;            // a single axis begins a new line after this many words; 0: never
  bool elide_by_axis = false;       // each long axis is shortened, or all of them if the array is large
  std::int64_t elide_above = 1000;  // extents or elements that are shown in full
};

/// Writes brackets, words, and what stands between them.
class ArrayWriter {
 public:
  ArrayWriter(const AnyTensor& x, const ArrayLayout& layout)
      : x_(x), layout_(layout), large_(x.count() > layout.elide_above) {
    for (int axis = x.rank; axis-- > 0;) stride_[axis] = axis + 1 < x.rank ? stride_[axis + 1] * x.extent[axis + 1] : 1;
    collect(0, 0);
  }
  /// The elements that are shown, in order.
  const std::vector<std::int64_t>& shown() const { return shown_; }
  /// The text, given one word per shown element.
  std::string text(std::vector<std::string> words) {
    words_ = std::move(words);
    next_ = 0;
    return part(0, " ", layout_.wrap_at);
  }

 private:
  static constexpr std::int64_t edge = 3;

  bool elided(int axis) const {
    return (layout_.elide_by_axis ? x_.extent[axis] > layout_.elide_above : large_) && x_.extent[axis] > 2 * edge;
  }
  void collect(int axis, std::int64_t at) {
    if (axis == x_.rank) {
      shown_.push_back(at);
      return;
    }
    for (std::int64_t i = 0; i < x_.extent[axis]; ++i) {
      if (elided(axis) && i == edge) i = x_.extent[axis] - edge;
      collect(axis + 1, at + i * stride_[axis]);
    }
  }
  std::string part(int axis, const std::string& indent, std::size_t width) {
    return axis + 1 == x_.rank ? row(axis, indent, width) : rows(axis, indent, width);
  }
  // `indent` is what a further line of this part begins with.
  std::string rows(int axis, const std::string& indent, std::size_t width) {
    const std::string line(layout_.blank_lines ? std::size_t(x_.rank - axis - 1) : 1, '\n');
    std::string s = "[";
    for (std::int64_t i = 0; i < x_.extent[axis]; ++i) {
      if (i) s.append(layout_.comma ? "," : "").append(line).append(indent);
      if (elided(axis) && i == edge) {
        i = x_.extent[axis] - edge;
        s.append("...").append(line).append(indent);
      }
      s += part(axis + 1, indent + " ", width - 1);
    }
    return s + "]";
  }
  std::string row(int axis, const std::string& indent, std::size_t width) {
    const bool feeds = layout_.feed && x_.rank == 1 && !elided(axis);
    std::string done, line = indent;
    for (std::int64_t i = 0; i < x_.extent[axis]; ++i) {
      if (elided(axis) && i == edge) {
        i = x_.extent[axis] - edge;
        line += " ";
        add(done, line, "...", indent, width);
        line += " ";
      } else if (i) {
        line += layout_.comma ? ", " : " ";
      }
      if (feeds && i && i % layout_.feed == 0) line += "\n" + indent;
      add(done, line, words_[next_++], indent, width);
    }
    return std::string("[").append(done + line, indent.size()).append("]");
  }
  void add(std::string& done, std::string& line, const std::string& word, const std::string& indent,
           std::size_t width) const {
    if (layout_.wrap_at && line.size() + word.size() > width - 1 && line.size() > indent.size()) {
      while (line.ends_with(' ')) line.pop_back();
      done += line + "\n";
      line = indent;
    }
    line += word;
  }

  AnyTensor x_;
  ArrayLayout layout_;
  bool large_;
  std::int64_t stride_[AnyTensor::max_axes]{};
  std::vector<std::int64_t> shown_;
  std::vector<std::string> words_;
  std::size_t next_ = 0;
};

/// Makes all words as wide as the widest.
inline void align_right(std::vector<std::string>& words, std::size_t width = 0) {
  for (const std::string& word : words) width = word.size() > width ? word.size() : width;
  for (std::string& word : words) pad_left(word, width);
}

/// The values as numpy.array_str writes them with its default options.
inline std::string array_text(const AnyTensor& x) {
  if (x.rank == 0) return scalar_text(x);
  if (x.count() == 0) return "[]";
  ArrayWriter writer(x, {});
  std::vector<std::string> words;
  words.reserve(writer.shown().size());
  if (is_floating(x.dtype)) {
    const FloatColumns columns(x, writer.shown());
    for (std::int64_t i : writer.shown()) words.push_back(columns(floating_element(x, i)));
  } else {
    for (std::int64_t i : writer.shown()) words.push_back(integer_text(x, i));
    align_right(words, x.dtype == Dtype::bool_ ? 5 : 0);
  }
  return writer.text(std::move(words));
}

}  // namespace tenon::detail
