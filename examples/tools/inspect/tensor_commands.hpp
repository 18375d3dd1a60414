// list, show, diff, and convert of files of tensors.
#pragma once
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <tenon/core/float/real_text.hpp>
#include <tenon/core/tensor/print.hpp>
#include <tenon/debug/dump/compare_dumps.hpp>
#include <tenon/debug/dump/tensor_statistics.hpp>
#include <tenon/train/ckpt.hpp>
#include <tenon/train/npz.hpp>

#include "described_file.hpp"

namespace inspect {

/// Columns as wide as their longest entry; numbers, which begin with a digit, stand to the right.
inline void print_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> width;
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c == width.size()) width.push_back(0);
      width[c] = std::max(width[c], row[c].size());
    }
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string blanks(width[c] - row[c].size(), ' ');
      const bool right = c > 0 && row[c].find_first_not_of("0123456789.e+-") == std::string::npos;
      line += (c ? "  " : "") + (right ? blanks + row[c] : row[c] + (c + 1 < row.size() ? blanks : ""));
    }
    std::printf("%s\n", line.c_str());
  }
}

inline void list_tensors(const std::string& path, const std::string& key) {
  const OpenedFile file = describe_tensors(path, key);
  std::vector<std::vector<std::string>> rows{{"name", "dtype", "shape", "elements", "bytes"}};
  double elements = 0, bytes = 0;
  for (const auto& [name, tensor] : file.tensors) {
    rows.push_back({io::json_escaped(name), std::string(tenon::name(tensor.dtype)), shape_text(tensor.shape()),
                    std::to_string(tensor.count()), std::to_string(tensor.bytes())});
    elements += double(tensor.count()), bytes += double(tensor.bytes());
  }
  for (const io::ForeignTensor& foreign : file.foreign)
    rows.push_back({io::json_escaped(foreign.name), std::string(foreign.dtype), shape_text(foreign.shape), "",
                    std::to_string(foreign.bytes.size())});
  std::printf("%s, %zu tensors, %.0f elements, %s\n", file.format.c_str(), file.tensors.size() + file.foreign.size(),
              elements, detail::memory_text(bytes).c_str());
  if (rows.size() > 1) print_table(rows);
  for (const auto& [name, value] : file.texts)
    std::printf("%s = %s\n", io::json_escaped(name).c_str(), io::json_escaped(value).c_str());
}

/// One tensor with its values, or, without a name, a line of statistics for each.
inline void show_tensors(const std::string& path, const std::string& name, const std::string& key) {
  const OpenedFile file = open_tensors(path, key);
  if (!name.empty()) {
    const AnyTensor* const found = file.find(name);
    if (!found) throw_error<KeyError>("'", path, "' has no tensor '", name, "'.", did_you_mean(name, file.names()));
    return static_cast<void>(std::printf("%s\n", to_string(*found, TensorForm::repr).c_str()));
  }
  const auto number = [](double x) { return tenon::detail::in_digits(x, 4); };
  std::vector<std::vector<std::string>> rows{{"name", "shape", "min", "max", "mean", "zeros", "NaN", "infinite"}};
  for (const auto& [own, tensor] : file.tensors) {
    const debug::TensorStatistics s(tensor);
    const bool any = s.finite() > 0;
    rows.push_back({io::json_escaped(own), shape_text(tensor.shape()), any ? number(s.min) : "",
                    any ? number(s.max) : "", any ? number(s.mean) : "", std::to_string(s.zero), std::to_string(s.nan),
                    std::to_string(s.negative_infinity + s.positive_infinity)});
  }
  print_table(rows);
}

/// True if they are equal: the same names with the same shapes, dtypes, and bits.
inline bool diff_tensors(const std::string& first, const std::string& second, const std::string& key) {
  const OpenedFile a = open_tensors(first, key), b = open_tensors(second, key);
  debug::DumpComparison result;
  for (const auto& [name, tensor] : a.tensors) {
    const AnyTensor* const other = b.find(name);
    if (!other) {
      result.only_in_first.push_back(name);
      continue;
    }
    ++result.compared;
    debug::TensorDifference d = debug::difference_between(name, tensor, *other);
    if (d.different > 0 || !d.reason.empty()) result.different.push_back(std::move(d));
  }
  for (const auto& [name, tensor] : b.tensors)
    if (!a.find(name)) result.only_in_second.push_back(name);
  std::printf("%s", result.text().c_str());
  return result.same();
}

inline bool diff(const std::string& first, const std::string& second, const std::string& key) {
  const bool dumps = kind_of(first) == FileKind::dump;
  if (dumps != (kind_of(second) == FileKind::dump))
    throw_error<ValueError>("diff compares two files, or two folders of dumps, not one of each.");
  if (!dumps) return diff_tensors(first, second, key);
  const debug::DumpComparison result = debug::compare_dumps(first, second);
  std::printf("%s", result.text().c_str());
  return result.same();
}

/// Writes the tensors of any file that list and show read to another one; its suffix says the format.
inline void convert_tensors(const std::string& from, const std::string& to, const std::string& key) {
  bool known = false;
  for (const char* suffix : {".safetensors", ".ckpt", ".npz"}) known |= to.ends_with(suffix);
  if (!known)
    throw_error<ValueError>("Cannot write '", to,
                            "': the name of what convert writes ends with .safetensors, .ckpt "
                            "(MindSpore), or .npz (NumPy), and for the scalars of an event file with .csv.");
  const OpenedFile file = open_tensors(from, key);
  if (!file.foreign.empty()) io::detail::throw_foreign(from, file.foreign[0]);
  save_checkpoint(file.tensors, to);
}

}  // namespace inspect
