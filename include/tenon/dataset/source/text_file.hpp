// The lines of a text file.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/dataset/stage/stage.hpp>
#include <tenon/io/path/random_access_file.hpp>
#include <tenon/io/path/refuse_file.hpp>

namespace tenon::inline TENON_ABI::dataset {

struct TextFileConfig {
  /// The largest number of bytes of a line, up to 16 MB.
  std::uint64_t line_limit = 1 << 20;
};

/// The lines of a text file, as bytes.
///
/// columns     text: uint8 [any], the line without its end, LF or CRLF
/// rows        empty lines are left out
/// memory      8 bytes for a line; a line is read together with its sample
/// throws      RuntimeError if the file is missing, has no line, has more than a terabyte, or a line above the limit
/// source      MindSpore's TextFileDataset
class TextFile : public Source<TextFile> {
 public:
  using columns = Columns<Column<std::uint8_t, Ragged<any>, "text">>;

  explicit TextFile(std::string path, const TextFileConfig& config = {}) {
    auto lines = std::make_shared<Lines>(Lines{io::RandomAccessFile(std::move(path)), {}});
    if (lines->file.size() > io::FilePiece::longest_file)
      throw_error<RuntimeError>("Cannot read '", lines->file.path(), "': it has more than a terabyte.");
    find_lines(*lines, std::min(config.line_limit, io::FilePiece::longest));
    if (lines->piece.empty())
      throw_error<RuntimeError>("The text file '", lines->file.path(), "' has no line; it is empty, or a pipe.");
    lines_ = std::move(lines);
  }

  long size() const { return static_cast<long>(lines_->piece.size()); }
  void describe(auto& d) const { d.add_file(lines_->file.version()); }
  void sample(long index, void* const* out) const {
    const io::FilePiece line = lines_->piece[static_cast<std::size_t>(index)];
    std::uint8_t* const to = SampleSlot<ColumnAt<columns, 0>>(out[0]).resize(static_cast<std::int64_t>(line.bytes));
    lines_->file.read(line.begin, {reinterpret_cast<char*>(to), static_cast<std::size_t>(line.bytes)});
  }

 private:
  struct Lines {
    io::RandomAccessFile file;
    std::vector<io::FilePiece> piece;
  };

  static void find_lines(Lines& lines, std::uint64_t longest) try {
    std::uint64_t begin = 0;
    bool carriage_return = false;  // the last byte of the block before
    const auto end_line = [&](std::uint64_t end, bool returned) {
      const std::uint64_t bytes = end - begin - (returned && end > begin ? 1 : 0);
      if (bytes > longest)
        throw_error<RuntimeError>("Line ", lines.file.line_of(begin), " of '", lines.file.path(),
                                  "' has more than the ", longest, " bytes that are allowed; is it a text?");
      if (bytes > 0) lines.piece.emplace_back(begin, bytes);
      begin = end + 1;
    };
    lines.file.each_block([&](std::string_view bytes, std::uint64_t at) {
      for (std::size_t from = 0, end; (end = bytes.find('\n', from)) != bytes.npos; from = end + 1)
        end_line(at + end, end > 0 ? bytes[end - 1] == '\r' : carriage_return);
      carriage_return = bytes.back() == '\r';
      if (at + bytes.size() > begin + longest + 1) end_line(at + bytes.size(), carriage_return);
    });
    if (begin < lines.file.size()) end_line(lines.file.size(), carriage_return);
  } catch (const std::bad_alloc&) {
    io::refuse_file(lines.file.size(), lines.file.path());
  }

  std::shared_ptr<const Lines> lines_;
};

}  // namespace tenon::dataset
