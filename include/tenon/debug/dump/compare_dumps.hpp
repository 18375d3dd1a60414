// compare_dumps: the tensors of two dumps that differ, the differences, and the first such tensor.
#pragma once
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/float/real_text.hpp>
#include <tenon/debug/dump/dump_files.hpp>
#include <tenon/debug/dump/tensor_difference.hpp>
#include <tenon/io/npy.hpp>

namespace tenon::inline TENON_ABI::debug {

/// What compare_dumps has found.
struct DumpComparison {
  std::size_t compared = 0;
  std::vector<TensorDifference> different;  // in the order of execution
  std::vector<std::string> only_in_first, only_in_second;

  bool same() const { return different.empty() && only_in_first.empty() && only_in_second.empty(); }
  /// A line with the first tensor that differs, and a table of at most `rows` tensors that differ.
  [[gnu::cold]] std::string text(std::size_t rows = 20) const;
};

/// Compares the tensors of two dumps that have the same names, in the order of the first dump. Both are folders of the
/// same kind: roots of dumps, or one iteration each. Files that are no tensors of a dump are ignored.
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
[[gnu::cold]] inline TensorDifference difference_of(const std::string& tensor, const std::string& first,
                                                    const std::string& second) {
  TensorDifference d;
  d.tensor = tensor;
  try {
    const ReadTensor a(first), b(second);
    return difference_between(tensor, a.view, b.view);
  } catch (const Error& e) {
    d.reason = e.what();
  }
  return d;
}
[[gnu::cold]] inline std::string table_line(const TensorDifference& d) {
  if (!d.reason.empty()) return tenon::text("  ", d.tensor, ": ", d.reason, "\n");
  const auto column = [](std::string number, std::size_t width) {
    return number.size() < width ? std::string(width - number.size(), ' ') + number : number;
  };
  std::string line;
  for (const double error : {d.max_abs, d.max_rel, d.mean_abs})
    line += column(tenon::detail::in_scientific(error, 3), 11) + " ";
  line += column(tenon::detail::in_fixed_digits(d.cosine, 7), 10) + " " + column(std::to_string(d.different), 12);
  return tenon::text(line, "/", d.count, "  ", d.tensor, "\n");
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
