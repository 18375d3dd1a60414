// The rows of a file of comma-separated values, as RFC 4180 has them: where each begins, and its fields. A row may also
// end with \n or \r alone, as in files of Unix and of older spreadsheets.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/dataset/stage/scratch.hpp>
#include <tenon/io/path/random_access_file.hpp>
#include <tenon/io/path/refuse_file.hpp>
#include <tenon/io/text/escaped_text.hpp>

namespace tenon::inline TENON_ABI::dataset {

struct CsvConfig {
  /// The separator of fields: ',', ';', '\t'.
  char delimiter = ',';
  /// The first row has the names of the columns. Without one they count from the left.
  bool header = true;
  /// The largest number of bytes of a field and of a row; a longer one, for example after an unclosed quote, is an
  /// error.
  std::size_t field_limit = 1 << 20, row_limit = 16 << 20;
};

/// An open file with the places of its rows. Only these are in memory, 8 bytes for a row.
class CsvFile {
 public:
  /// Finds the rows. Throws ValueError for an illegal delimiter, RuntimeError if the file cannot be read, has no row,
  /// ends inside of quotes, or has a row above the limit or with more than 65,536 fields in front.
  CsvFile(std::string path, const CsvConfig& config) : file_(std::move(path)), config_(config) {
    if (config.delimiter == '"' || config.delimiter == '\n' || config.delimiter == '\r' || config.delimiter == '\0')
      throw_error<ValueError>("The delimiter of a CSV file cannot be a quote, the end of a line, or a zero byte.");
    find_rows();
    if (rows_.empty())
      throw_error<RuntimeError>("Cannot read '", file_.path(), "' as CSV: it has no row; it is empty, or a pipe.");
    take_first_row();
    if (size() == 0)
      throw_error<RuntimeError>("Cannot read '", file_.path(),
                                "' as CSV: it has no row after its header; say {.header = false} if the first row is "
                                "data.");
  }

  const std::string& path() const { return file_.path(); }
  const io::FileVersion& version() const { return file_.version(); }
  const CsvConfig& config() const { return config_; }
  /// Rows of data.
  long size() const { return static_cast<long>(rows_.size()) - (config_.header ? 1 : 0); }
  /// Fields in each row.
  std::size_t width() const { return width_; }
  /// The fields of the header, empty without one.
  std::span<const std::string> names() const { return names_; }

  /// The fields of a row, without their quotes, in memory of `scratch`. Throws RuntimeError for another number of
  /// fields than in the first row, and for a field above the limit or with text after its quotes.
  std::span<const std::string_view> fields(long row, Scratch& scratch) const {
    const io::FilePiece extent = rows_[place_of(row)];
    const std::span<char> bytes(reinterpret_cast<char*>(scratch.bytes(extent.bytes)), extent.bytes);
    file_.read(extent.begin, bytes);
    auto* const found = reinterpret_cast<std::string_view*>(scratch.bytes(width_ * sizeof(std::string_view)));
    std::size_t count = 0;
    split(bytes, extent.begin, [&](std::string_view field) {
      if (count < width_) found[count] = field;
      ++count;
    });
    if (count != width_)
      refuse(extent.begin, text("it has ", count, count == 1 ? " field" : " fields", ", the first row has ", width_));
    return {found, width_};
  }
  /// Says what is wrong with a field.
  [[noreturn, gnu::cold]] void refuse_field(long row, std::size_t column, const std::string& reason) const {
    refuse(rows_[place_of(row)].begin,
           text("column ", column + 1, names_.empty() ? "" : " (", names_.empty() ? "" : io::printable(names_[column]),
                names_.empty() ? "" : ")", ": ", reason));
  }

 private:
  static constexpr std::size_t most_fields = 1 << 16;
  enum class State { between, field, plain, quoted, quote };

  std::size_t place_of(long row) const { return static_cast<std::size_t>(row) + (config_.header ? 1 : 0); }

  [[noreturn, gnu::cold]] void refuse(std::uint64_t place, const std::string& reason) const {
    throw_error<RuntimeError>("Cannot read '", file_.path(), "' as CSV: line ", file_.line_of(place, true), ": ",
                              reason, ".");
  }

  State after(State state, char c) const {
    if (state == State::quoted) return c == '"' ? State::quote : State::quoted;
    if (c == '\n' || c == '\r') return State::between;
    if (c == config_.delimiter) return State::field;
    if (c == '"' && state != State::plain) return State::quoted;  // in front, or the second of two
    return State::plain;
  }
  /// Lines without a byte are left out, and so is the mark that some programs put before UTF-8.
  void find_rows() try {
    if (file_.size() > io::FilePiece::longest_file)
      throw_error<RuntimeError>("Cannot read '", file_.path(), "': it has more than a terabyte.");
    const std::uint64_t longest = std::min<std::uint64_t>(config_.row_limit, io::FilePiece::longest);
    State state = State::between;
    std::uint64_t begin = 0;
    const auto end_row = [&](std::uint64_t end) {
      if (end - begin > longest)
        refuse(begin, text("the row has more than the ", longest, " bytes that are allowed; is a quote left open?"));
      rows_.emplace_back(begin, end - begin);
    };
    file_.each_block([&](std::string_view bytes, std::uint64_t at) {
      std::size_t i = at == 0 && bytes.starts_with("\xef\xbb\xbf") ? 3 : 0;
      for (; i < bytes.size(); ++i) {
        const State next = after(state, bytes[i]);
        if (state == State::between && next != State::between) begin = at + i;
        if (state != State::between && next == State::between) end_row(at + i);
        state = next;
      }
      if (state != State::between && at + i - begin > longest) end_row(at + i);
    });
    if (state == State::quoted)
      refuse(begin, "a quote that opens in this row is not closed before the end of the file");
    if (state != State::between) end_row(file_.size());
  } catch (const std::bad_alloc&) {
    io::refuse_file(file_.size(), file_.path());
  }
  void take_first_row() {
    std::string row(static_cast<std::size_t>(rows_[0].bytes), '\0');
    file_.read(rows_[0].begin, row);
    split(row, rows_[0].begin, [&](std::string_view field) {
      if (++width_ > most_fields) refuse(rows_[0].begin, text("it has more than ", most_fields, " fields"));
      if (config_.header) names_.emplace_back(field);
    });
  }
  /// Calls f for each field of a row; those in quotes are written anew where they lie.
  template <class F>
  void split(std::span<char> row, std::uint64_t place, F f) const {
    char* at = row.data();
    char* const end = at + row.size();
    for (;;) {
      f(take_field(at, end, place));
      if (at == end) return;
      ++at;  // the delimiter
    }
  }
  /// The field that begins at `at`, which moves to the delimiter after it or to the end.
  std::string_view take_field(char*& at, char* end, std::uint64_t place) const {
    char *begin = at, *to = at;
    if (at == end || *at != '"') {
      to = at = std::find(at, end, config_.delimiter);
    } else {
      to = ++begin;
      for (++at;; *to++ = *at++) {  // of two quotes, one
        char* const quote = std::find(at, end, '"');
        if (quote == end) refuse(place, "a quote that opens in this row is not closed");
        to = std::copy(at, quote, to);
        at = quote + 1;
        if (at == end || *at != '"') break;
      }
      if (at != end && *at != config_.delimiter)
        refuse(place, text("there is text after the quotes of the field ",
                           io::printable({begin, static_cast<std::size_t>(to - begin)})));
    }
    const std::size_t length = static_cast<std::size_t>(to - begin);
    if (length > config_.field_limit)
      refuse(place, text("a field has ", length, " bytes, at most ", config_.field_limit, " are allowed"));
    return {begin, length};
  }

  io::RandomAccessFile file_;
  CsvConfig config_;
  std::vector<io::FilePiece> rows_;
  std::vector<std::string> names_;
  std::size_t width_ = 0;
};

}  // namespace tenon::dataset
