// compare_dumps: which tensors of two dumps differ, by how much, and which of them is the first.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/debug/dump/doubles.hpp>
#include <tenon/debug/dump/dump_files.hpp>
#include <tenon/io/npy.hpp>

namespace tenon::inline TENON_ABI::debug {

/// How far the elements of two tensors are apart. Elements of which one is not finite are among those that differ, and
/// in none of the errors.
struct TensorDifference {
  std::string tensor;  // "LeNet/0/3/Conv2D.Default_network-LeNet_conv1-Conv2d_Conv2D-op0.output.0"
  std::string reason;  // why elements were not compared: another shape, dtype, or a broken file; else empty
  std::size_t count = 0, different = 0;  // elements with other bits; NaNs are all alike
  double max_abs = 0, mean_abs = 0;      // |a - b|
  double max_rel = 0;                    // |a - b| / max(|a|, |b|)
  double cosine = 1;                     // of the angle between the two as vectors; 1 if both are zero
};

/// What compare_dumps has found.
struct DumpComparison {
  std::size_t compared = 0;
  std::vector<TensorDifference> different;  // in the order of execution
  std::vector<std::string> only_in_first, only_in_second;

  bool same() const { return different.empty() && only_in_first.empty() && only_in_second.empty(); }
  /// The first tensor that differs in a line of its own, and a table of at most `rows` that do.
  [[gnu::cold]] std::string text(std::size_t rows = 20) const;
};

/// Compares the tensors of two dumps that have the same names, in the order in which the first one has them. Both are
/// folders of the same kind: roots of dumps, or one iteration each. What is no tensor of a dump is not looked at.
///
/// throws      RuntimeError for a folder that cannot be read or has no tensors of a dump, such as one of statistics
[[gnu::cold]] DumpComparison compare_dumps(const std::string& first, const std::string& second);

namespace detail {
/// A tensor's file, read.
struct ReadTensor {
  io::NpyHeader header;
  std::vector<double> memory;  // aligned for every dtype
  AnyTensor view;

  [[gnu::cold]] explicit ReadTensor(const std::string& path) {
    const std::string file = io::read_file(path);
    header = io::parse_npy_header(file, path);
    view = AnyTensor(header.dtype, header.shape(), nullptr);
    memory.resize(view.bytes() / sizeof(double) + 1);
    view.data = memory.data();
    io::copy_npy_elements(header, file, view, path);
  }
};
/// Sums over elements, from which the errors come.
struct ErrorSums {
  double abs = 0, first = 0, second = 0, both = 0;
  std::size_t finite = 0;
};
inline void add_error(double a, double b, bool same_bits, ErrorSums& sums, TensorDifference& d) {
  if (!same_bits && !(std::isnan(a) && std::isnan(b))) ++d.different;
  if (!std::isfinite(a) || !std::isfinite(b)) return;
  const double error = std::fabs(a - b), largest = std::max(std::fabs(a), std::fabs(b));
  d.max_abs = std::max(d.max_abs, error);
  if (largest > 0) d.max_rel = std::max(d.max_rel, error / largest);
  sums.abs += error;
  sums.first += a * a;
  sums.second += b * b;
  sums.both += a * b;
  ++sums.finite;
}
[[gnu::cold]] inline void compare_elements(const AnyTensor& a, const AnyTensor& b, TensorDifference& d) {
  constexpr std::size_t piece = 512;
  const std::size_t size = size_of(a.dtype);
  const auto *const a_bytes = static_cast<const std::byte*>(a.data), *const b_bytes = static_cast<std::byte*>(b.data);
  double a_values[piece], b_values[piece];
  ErrorSums sums;
  for (std::size_t begin = 0; begin < d.count; begin += piece) {
    const std::size_t here = std::min(piece, d.count - begin);
    to_doubles(a, begin, here, a_values);
    to_doubles(b, begin, here, b_values);
    for (std::size_t i = 0; i < here; ++i) {
      const std::size_t place = (begin + i) * size;
      add_error(a_values[i], b_values[i], std::memcmp(a_bytes + place, b_bytes + place, size) == 0, sums, d);
    }
  }
  if (sums.finite > 0) d.mean_abs = sums.abs / double(sums.finite);
  if (sums.first > 0 || sums.second > 0)
    d.cosine = sums.both == 0 ? 0 : sums.both / (std::sqrt(sums.first) * std::sqrt(sums.second));
}
[[gnu::cold]] inline TensorDifference difference_of(const std::string& tensor, const std::string& first,
                                                    const std::string& second) {
  TensorDifference d;
  d.tensor = tensor;
  try {
    const ReadTensor a(first), b(second);
    d.count = std::size_t(a.view.count());
    if (a.view.dtype != b.view.dtype || !std::ranges::equal(a.view.shape(), b.view.shape()))
      d.reason = tenon::text(name(a.view.dtype), " ", shape_text(a.view.shape()), " and ", name(b.view.dtype), " ",
                             shape_text(b.view.shape()));
    else if (d.count > 0) compare_elements(a.view, b.view, d);
  } catch (const Error& e) {
    d.reason = e.what();
  }
  return d;
}
[[gnu::cold]] inline std::string table_line(const TensorDifference& d) {
  if (!d.reason.empty()) return tenon::text("  ", d.tensor, ": ", d.reason, "\n");
  char numbers[160];
  std::snprintf(numbers, sizeof numbers, "%11.3e %11.3e %11.3e %10.7f %12zu/%zu  ", d.max_abs, d.max_rel, d.mean_abs,
                d.cosine, d.different, d.count);
  return numbers + d.tensor + "\n";
}
}  // namespace detail

inline DumpComparison compare_dumps(const std::string& first, const std::string& second) {
  const std::vector<DumpFile> ours = dump_files(first), theirs = dump_files(second);
  std::map<std::string_view, const DumpFile*> by_name;
  for (const DumpFile& file : theirs) by_name[file.tensor] = &file;
  DumpComparison result;
  for (const DumpFile& file : ours) {
    const auto other = by_name.find(file.tensor);
    if (other == by_name.end()) {
      result.only_in_first.push_back(file.tensor);
      continue;
    }
    ++result.compared;
    TensorDifference d = detail::difference_of(file.tensor, file.path, other->second->path);
    if (d.different > 0 || !d.reason.empty()) result.different.push_back(std::move(d));
    by_name.erase(other);
  }
  for (const DumpFile& file : theirs)
    if (by_name.contains(file.tensor)) result.only_in_second.push_back(file.tensor);
  return result;
}

inline std::string DumpComparison::text(std::size_t rows) const {
  std::string report = tenon::text(compared, " tensors compared, ", different.size(), " differ.\n");
  for (const auto& [names, which] : {std::pair(&only_in_first, "first"), std::pair(&only_in_second, "second")})
    if (!names->empty())
      report +=
          tenon::text(names->size(), " tensors are in the ", which, " dump only, such as ", names->front(), ".\n");
  if (different.empty()) return report;
  report += tenon::text("The first tensor that differs: ", different.front().tensor, "\n\n");
  report += "    max abs     max rel    mean abs     cosine    different/all  tensor\n";
  for (std::size_t i = 0; i < std::min(rows, different.size()); ++i) report += detail::table_line(different[i]);
  if (different.size() > rows) report += tenon::text("... and ", different.size() - rows, " more.\n");
  return report;
}

}  // namespace tenon::debug
