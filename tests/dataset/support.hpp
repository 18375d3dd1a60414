// What the tests of data sets share: a counted source, folders and files, error messages, the real data.
#pragma once
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/dataset/stage/stage.hpp>
#include <tenon/io/file.hpp>

#include "../support/shared.hpp"

namespace support {

using namespace tenon;

/// Samples 0 .. count-1: column 0 holds {i, i + 0.5}, column 1 holds i. Also an example of a user's own source.
struct Numbers : dataset::Source<Numbers> {
  using columns = dataset::Columns<dataset::Column<float, Shape<2>>, dataset::Column<std::int32_t, Shape<>>>;
  long count;
  explicit Numbers(long count) : count(count) {}
  long size() const { return count; }
  void sample(long index, void* const* out) const {
    static_cast<float*>(out[0])[0] = static_cast<float>(index);
    static_cast<float*>(out[0])[1] = static_cast<float>(index) + 0.5f;
    *static_cast<std::int32_t*>(out[1]) = static_cast<std::int32_t>(index);
  }
};

/// Column 1 of all rows from here to the end; column 0 of Numbers is checked beside it.
template <class Iterator>
std::vector<int> rest_of(Iterator& rows) {
  std::vector<int> labels;
  while (const auto* row = rows.next()) {
    const auto values = row->template values<1>();
    const auto points = row->template values<0>();
    REQUIRE(values.size() == static_cast<std::size_t>(row->n));
    REQUIRE(points.size() == 2 * values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      labels.push_back(values[i]);
      REQUIRE(points[2 * i] == static_cast<float>(values[i]));
      REQUIRE(points[2 * i + 1] == static_cast<float>(values[i]) + 0.5f);
    }
  }
  return labels;
}
template <class D>
std::vector<int> labels_of(const D& data, std::uint64_t epoch = 0) {
  auto rows = data.open();
  rows.start(epoch);
  return rest_of(rows);
}
/// The number of samples in each row.
template <class D>
std::vector<long> lengths_of(const D& data) {
  std::vector<long> lengths;
  for (const auto& row : data) lengths.push_back(row.n);
  return lengths;
}
inline std::vector<int> counted(int first, int last) {
  std::vector<int> numbers;
  for (int i = first; i < last; ++i) numbers.push_back(i);
  return numbers;
}

/// A folder that is removed at the end of a test.
struct Folder {
  std::string path = (std::filesystem::temp_directory_path() / "tenon-test-XXXXXX").string();
  Folder() { REQUIRE(::mkdtemp(path.data()) != nullptr); }
  Folder(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path); }
  std::string operator/(std::string_view name) const { return io::join_path(path, name); }
  long files() const { return std::distance(std::filesystem::directory_iterator(path), {}); }
};

/// What an act says when it throws the given kind of error; "" if it does not throw.
template <class Kind, class Act>
std::string message(Act act) {
  try {
    act();
  } catch (const Kind& error) {
    return error.what();
  }
  return "";
}
inline bool has(std::string_view text, std::string_view part) {
  if (text.find(part) != std::string_view::npos) return true;
  MESSAGE("\"", std::string(part), "\" is not in: ", std::string(text));
  return false;
}

/// An IDX file of bytes.
inline std::string idx_file(std::initializer_list<unsigned> extents, const std::string& values) {
  std::string file{'\0', '\0', '\x08', static_cast<char>(extents.size())};
  for (unsigned extent : extents)
    for (int shift = 24; shift >= 0; shift -= 8) file += static_cast<char>(extent >> shift & 255u);
  return file + values;
}

}  // namespace support
