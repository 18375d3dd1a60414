// A data set from a file of comma-separated values.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <tenon/dataset/source/file/csv_file.hpp>
#include <tenon/dataset/source/file/csv_value.hpp>
#include <tenon/dataset/stage/as.hpp>
#include <tenon/dataset/stage/stage.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// The rows of a CSV file (RFC 4180): `Csv("iris.csv", as<Column<float, Shape<4>, "sepal_length">,
/// Column<std::int32_t, Shape<>, "kind">>)`.
///
/// columns     numbers, Shape<>: the field of that name; Shape<4>: this field and the three after it; text:
///             Column<std::uint8_t, Ragged<any>, "text">, the bytes of the field. A column without a name follows the
///             previous column; without a header in the file this holds for all columns
/// numbers     decimal, as std::from_chars reads them, blanks around them and a + allowed; bool: 0, 1, false, true
/// rows        end with LF or CRLF; empty lines are left out. Fields in quotes hold delimiters, ends of lines, and ""
///             for a quote
/// memory      8 bytes for a row; fields are read together with their sample
/// throws      when opened, RuntimeError if the file is missing or no CSV, KeyError for a column that it does not have;
///             when a row is read, RuntimeError with file, line, column, and the content
/// source      MindSpore's CSVDataset, which guesses types from defaults
template <class... C>
class Csv : public Source<Csv<C...>> {
 public:
  using columns = Columns<C...>;

  Csv(const std::string& path, As<C...>, const CsvConfig& config = {})
      : file_(std::make_shared<const CsvFile>(path, config)) {
    std::size_t next = 0;
    for (int c = 0; c < columns::count; ++c) {
      place_[c] = place_of(names[c], next);
      next = place_[c] + widths[c];
      if (next > file_->width())
        throw_error<KeyError>("Column ", c, " of as<...> takes the fields ", place_[c] + 1, " .. ", next,
                              " of a row, '", path, "' has ", file_->width(), ".");
    }
  }

  long size() const { return file_->size(); }
  void describe(auto& d) const {
    d.add_file(file_->version());
    d.add(file_->config().delimiter, file_->config().header, place_);
  }
  void sample(long index, void* const* out, Scratch& scratch) const {
    const auto fields = file_->fields(index, scratch);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (fill<C>(index, fields, place_[I], out[I]), ...);
    }(std::index_sequence_for<C...>{});
  }

 private:
  template <class Col>
  static constexpr bool is_text = Col::ragged && std::is_same_v<typename Col::type, std::uint8_t>;
  static_assert(((!C::ragged || is_text<C>) && ...),
                "Csv: a column is numbers of a fixed shape, or text: Column<std::uint8_t, Ragged<any>, \"name\">");
  static constexpr std::string_view names[]{C::name.view()...};
  static constexpr std::size_t widths[]{C::ragged ? 1 : std::size_t(C::tensor_type.count(1))...};

  std::size_t place_of(std::string_view name, std::size_t next) const {
    const auto found = file_->names();
    if (name.empty() || found.empty()) return next;
    const auto at = std::ranges::find(found, name);
    if (at != found.end() && std::find(at + 1, found.end(), name) == found.end())
      return static_cast<std::size_t>(at - found.begin());
    std::string all;
    for (std::size_t i = 0; i < found.size() && i < 20; ++i) all += text(i ? ", " : "", io::printable(found[i]));
    throw_error<KeyError>("The header of '", file_->path(), "' has ",
                          at == found.end() ? "no column '" : "two columns '", name, "'; it has ", all,
                          found.size() > 20 ? ", and others." : ".");
  }
  template <class Col>
  void fill(long row, std::span<const std::string_view> fields, std::size_t place, void* out) const {
    using T = typename Col::type;
    if constexpr (Col::ragged) {
      std::ranges::copy(fields[place], SampleSlot<Col>(out).resize(fields[place].size()));
    } else {
      for (T& value : SampleSlot<Col>(out).values()) {
        if (!detail::value_from(fields[place], value))
          file_->refuse_field(row, place, text(io::printable(fields[place]), " is no ", name(dtype_of<T>)));
        ++place;
      }
    }
  }

  std::shared_ptr<const CsvFile> file_;
  std::size_t place_[std::size_t(columns::count)]{};
};

}  // namespace tenon::dataset
