// One file of a MindRecord set, open for reading, and where its rows are.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/io/bytes/little_endian.hpp>
#include <tenon/io/file.hpp>
#include <tenon/io/mind_record/commit.hpp>
#include <tenon/io/mind_record/header.hpp>
#include <tenon/io/mind_record/index.hpp>
#include <tenon/io/mind_record/row.hpp>
#include <tenon/io/path/file_version.hpp>
#include <tenon/io/path/place.hpp>
#include <tenon/io/path/refuse_file.hpp>
#include <tenon/io/text/escaped_text.hpp>

namespace tenon::inline TENON_ABI::io::detail {

/// Opens and checks a file: header, pages, index, and that all rows lie inside of their pages.
class MindRecordShardFile {
 public:
  explicit MindRecordShardFile(const std::string& path)
      : path_(path), file_(open_to_read(path)), version_(version_of(file_, path)) {
    const std::uint64_t size = size_of_file(file_, path);
    read_header(size);
    const std::string name = file_name_of(path);
    const std::string& expected = header_.addresses[std::size_t(header_.shard)];
    if (name != expected)
      throw_bad_mind_record(path, text("it was written as ", printable(expected),
                                       " and cannot be renamed; give it that name, and its index that and '.db'"));
    if (!file_exists(path + ".db"))
      throw_bad_mind_record(path, text("its index '", path,
                                       ".db' does not exist. Both are needed: copy it, too; if the "
                                       "program that wrote them was killed, let it write them again"));
    if (file_exists(path + ".db-journal"))
      throw_bad_mind_record(path, text("there is '", path,
                                       ".db-journal': the program that wrote its index was killed; "
                                       "let it write both again"));
    read_index(name);
  }

  std::int64_t first_row = 0;  // among the rows of the set

  const std::string& path() const { return path_; }
  const MindRecordHeader& header() const { return header_; }
  std::int64_t rows() const { return std::int64_t(rows_.size()); }
  const FileHandle& file() const { return file_; }
  /// Of the file that is read, whatever is at its path since.
  const FileVersion& version() const { return version_; }

  /// Reads a row of this file: the fields whose place in `wanted` is true, or all. Throws RuntimeError if it is
  /// damaged.
  void read(std::int64_t row, const MindRecordSchema& schema, const std::vector<bool>& wanted,
            MindRecordRow& into) const try {
    bool needs_raw = false, needs_blob = false;
    for (std::size_t i = 0; i < schema.size(); ++i)
      if (wanted.empty() || wanted[i]) (schema[i].is_blob() ? needs_blob : needs_raw) = true;
    const Span& span = rows_[std::size_t(row)];
    std::string_view raw, blob;
    if (needs_raw) {
      std::string& memory = into.raw_memory();
      if (memory.size() < span.raw_bytes) memory.resize(span.raw_bytes);
      raw = load(span.raw, span.raw_bytes, memory.data(), row);
      if (raw.empty()) fail_row(row, "its map of numbers and texts is empty");
    }
    if (needs_blob) blob = load(span.blob, span.blob_bytes, into.blob_memory(span.blob_bytes), row);
    if (const std::string fault = into.make(schema, raw, blob, wanted); !fault.empty()) fail_row(row, fault);
  } catch (const std::bad_alloc&) {
    refuse_file(rows_[std::size_t(row)].raw_bytes + std::uint64_t{rows_[std::size_t(row)].blob_bytes}, path_);
  }
  /// The places of the rows as the index says them, which are kept in another form.
  std::vector<MindRecordRowPlace> places() const { return read_mind_record_index(path_ + ".db").rows; }

 private:
  /// Where a row's two parts lie in the file, with the 8 bytes of their lengths.
  struct Span {
    std::uint64_t raw, blob;
    std::uint32_t raw_bytes, blob_bytes;
  };

  [[noreturn, gnu::cold]] void fail_row(std::int64_t row, const std::string& reason) const {
    throw_error<RuntimeError>("Cannot read row ", row, " of '", path_, "': ", reason, ".");
  }
  std::string_view load(std::uint64_t place, std::uint32_t bytes, char* to, std::int64_t row) const {
    if (!read_at(file_, to, bytes, place, path_)) fail_row(row, "the file ends before it");
    const auto length = little_endian<std::uint64_t>({to, 8});
    if (length != bytes - 8) fail_row(row, text("it says that it has ", length, " bytes, the index says ", bytes - 8));
    return {to + 8, std::size_t(length)};
  }

  [[gnu::cold]] void read_header(std::uint64_t size) {
    if (size < 8) throw_bad_mind_record(path_, text("it has ", size, " bytes, the least are 8"));
    char bytes[8];
    if (!read_at(file_, bytes, sizeof bytes, 0, path_)) throw_bad_mind_record(path_, "it ends inside of its header");
    const auto length = little_endian<std::uint64_t>({bytes, sizeof bytes});
    if (length > mind_record_header_most)
      throw_bad_mind_record(
          path_, text("it announces a header of ", length, " bytes, the most are ", mind_record_header_most));
    if (length > size - 8)
      throw_bad_mind_record(path_, text("it announces a header of ", length, " bytes, ", size - 8, " are left"));
    std::string json(std::size_t(length), '\0');
    if (!read_at(file_, json.data(), json.size(), 8, path_))
      throw_bad_mind_record(path_, "it ends inside of its header");
    header_ = parse_mind_record_header(json, path_);
    if (length + 8 > header_.header_size)
      throw_bad_mind_record(path_,
                            text("its header has ", length + 8, " bytes and says that it has ", header_.header_size));
    for (const MindRecordPage& page : header_.pages) {
      const std::uint64_t begin = header_.place_of(page.id);
      if (begin > size || page.used > size - begin)
        throw_bad_mind_record(
            path_, text("it has ", size, " bytes, page ", page.id, " needs ", begin + page.used, ": it is cut off"));
    }
  }
  const MindRecordPage& page(std::uint32_t id, bool blob, std::size_t row) const {
    const auto found = std::ranges::lower_bound(header_.pages, id, {}, &MindRecordPage::id);
    if (found == header_.pages.end() || found->id != id || found->blob != blob)
      throw_bad_mind_record(
          path_, text("its index puts row ", row, " into page ", id, ", which is not there or of another kind"));
    return *found;
  }
  std::uint64_t place_in(const MindRecordPage& page, std::uint32_t begin, std::uint32_t end, std::size_t row) const {
    if (begin > end || end - begin < 8 || end > page.used)
      throw_bad_mind_record(path_, text("its index puts row ", row, " at bytes ", begin, " .. ", end, " of page ",
                                        page.id, ", which has ", page.used));
    return header_.place_of(page.id) + begin;
  }
  [[gnu::cold]] void read_index(const std::string& name) {
    const MindRecordIndex index = read_mind_record_index(path_ + ".db");
    if (file_name_of(index.name) != name)
      throw_bad_mind_record(path_, text("its index is the one of ", printable(index.name)));
    if (index.rows.size() != header_.rows())
      throw_bad_mind_record(path_, text("it has ", header_.rows(), " rows, its index has ", index.rows.size()));
    rows_.reserve(index.rows.size());
    for (const MindRecordRowPlace& row : index.rows) {
      const std::size_t number = rows_.size();
      const std::uint64_t raw = place_in(page(row.raw_page, false, number), row.raw_begin, row.raw_end, number),
                          blob = place_in(page(row.blob_page, true, number), row.blob_begin, row.blob_end, number);
      rows_.push_back({raw, blob, row.raw_end - row.raw_begin, row.blob_end - row.blob_begin});
    }
  }

  std::string path_;
  FileHandle file_;
  FileVersion version_;
  MindRecordHeader header_;
  std::vector<Span> rows_;
};

}  // namespace tenon::io::detail
