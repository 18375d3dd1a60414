// One file of a MindRecord set while it is written: rows into pages, page after page, then header and index.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/io/bytes/little_endian.hpp>
#include <tenon/io/file.hpp>
#include <tenon/io/mind_record/header.hpp>
#include <tenon/io/mind_record/index.hpp>
#include <tenon/io/mind_record/raw_row.hpp>
#include <tenon/io/path/place.hpp>

namespace tenon::inline TENON_ABI::io::detail {

/// Rows go to the pages as in MindSpore's files: blobs into one page after the other, each is a group of rows; the
/// numbers and texts of a group into one page of their own kind, which follows when it is full or nothing more comes.
///
/// memory      two pages of numbers and texts at most, and 4 bytes for each row
class MindRecordShardWriter {
 public:
  /// path: the file that is to be, which does not change before the commit.
  MindRecordShardWriter(const std::string& path, MindRecordHeader header)
      : path_(path), header_(std::move(header)), file_(path) {}

  const std::string& path() const { return path_; }
  std::uint64_t rows() const { return blob_bytes_.size(); }
  const MindRecordHeader& header() const { return header_; }

  /// Adds a row. Returns why it cannot, or nothing.
  std::string add(std::string_view raw, std::string_view blob, std::int64_t saved) {
    const std::uint64_t page = header_.page_size;
    if (raw.size() + 8 > page || blob.size() + 8 > page)
      return text("it has ", raw.size() + 8, " bytes of numbers and texts and ", blob.size() + 8,
                  " of bytes and arrays, a page has ", page, "; set .page_size, which may be up to ",
                  mind_record_page_most);
    const bool fits =
        blob_page_ && page_of_blobs().used + blob.size() + 8 <= page && group_.size() + raw.size() + 8 <= page;
    if (!fits) begin_group();
    append_little_endian(group_, std::uint64_t{raw.size()});
    group_ += raw;
    append_little_endian(buffer_, std::uint64_t{blob.size()});
    buffer_ += blob;
    page_of_blobs().used += std::uint32_t(blob.size() + 8);
    page_of_blobs().end_row = rows() + 1;
    blob_bytes_.push_back(std::uint32_t(blob.size() + 8));
    header_.compression_size += saved;
    if (buffer_.size() > std::size_t(1) << 20) flush_blobs();
    return "";
  }

  /// Takes over what an older file of the set has. source: open for reading; index: its rows.
  [[gnu::cold]] void take_over(const FileHandle& source, const std::string& path, const MindRecordHeader& old,
                               std::span<const MindRecordRowPlace> index) {
    check_groups(old, path);
    header_.compression_size = old.compression_size;
    header_.pages = old.pages;
    std::string bytes;
    std::size_t last_raw = none;
    for (std::size_t i = 0; i < old.pages.size(); ++i) {
      const MindRecordPage& page = old.pages[i];
      bytes.resize(page.used);
      if (!read_at(source, bytes.data(), bytes.size(), old.place_of(page.id), path))
        throw_bad_mind_record(path, text("it ends inside of page ", page.id));
      write_at(file_.handle(), bytes, old.place_of(page.id), path_);
      raw_pages_ += !page.blob;
      blob_pages_ += page.blob;
      next_page_ = std::max(next_page_, std::uint32_t(page.id + 1));
      if (page.blob) blob_page_ = i + 1;
      if (!page.blob) last_raw = i;
    }
    for (const MindRecordRowPlace& row : index) blob_bytes_.push_back(row.blob_end - row.blob_begin);
    take_last_raw_page(last_raw);
  }

  /// Writes what is left, the header, and the index; `save(file, path)` gives each finished file its name.
  template <class Save>
  void finish(Save save) {
    flush_blobs();
    end_group();
    flush_raw_page();
    std::ranges::sort(header_.pages, {}, &MindRecordPage::id);
    blob_page_ = 0;  // nothing follows that would need its place
    const std::string json = mind_record_header_json(header_);
    if (json.size() + 8 > header_.header_size)
      throw_error<RuntimeError>("Cannot write '", path_, "': its header has ", json.size() + 8,
                                " bytes, the header's size is ", header_.header_size,
                                "; set .header_size, or a larger .page_size, which makes fewer pages.");
    std::string head;
    append_little_endian(head, std::uint64_t{json.size()});
    head += json;
    if (next_page_ == 0) head.resize(header_.header_size);
    write_at(file_.handle(), head, 0, path_);
    TemporaryFile index(path_ + ".db");
    write_index(index.path());
    save(file_, path_);
    save(index, path_ + ".db");
  }

 private:
  static constexpr std::size_t none = std::size_t(-1);
  static constexpr std::uint32_t no_page = std::uint32_t(-1);

  MindRecordPage& page_of_blobs() { return header_.pages[blob_page_ - 1]; }
  /// Pages of blobs count from 0 on, and so do their rows; the groups of others name them.
  [[gnu::cold]] static void check_groups(const MindRecordHeader& old, const std::string& path) {
    std::uint64_t rows = 0;
    std::uint32_t blobs = 0;
    for (const MindRecordPage& page : old.pages)
      if (page.blob && (page.type_id != blobs++ || page.start_row != std::exchange(rows, page.end_row)))
        throw_bad_mind_record(path, text("page ", page.id, " does not go on where the one before it ends"));
    for (const MindRecordPage& page : old.pages)
      for (const MindRecordPage::Group& group : page.groups)
        if (!page.blob && (group.id >= blobs || group.offset > page.used))
          throw_bad_mind_record(path, text("page ", page.id, " has rows of a page that is not there"));
  }
  void begin_group() {
    flush_blobs();
    end_group();
    MindRecordPage page{
        .id = next_page_++, .blob = true, .type_id = blob_pages_++, .start_row = rows(), .end_row = rows()};
    page.groups.push_back({0, 0});
    header_.pages.push_back(std::move(page));
    blob_page_ = header_.pages.size();
  }
  void flush_blobs() {
    if (buffer_.empty()) return;
    const MindRecordPage& page = page_of_blobs();
    write_at(file_.handle(), buffer_, header_.place_of(page.id) + page.used - buffer_.size(), path_);
    buffer_.clear();
  }
  /// The numbers and texts of the rows in the page of blobs go into one page.
  void end_group() {
    if (!blob_page_ || group_.empty()) return;
    if (raw_page_.size() + group_.size() > header_.page_size) flush_raw_page();
    groups_.push_back({page_of_blobs().type_id, std::uint32_t(raw_page_.size())});
    raw_page_ += group_;
    group_.clear();
  }
  void flush_raw_page() {
    if (raw_page_.empty()) return;
    MindRecordPage page{.type_id = raw_pages_++, .used = std::uint32_t(raw_page_.size())};
    page.id = reopened_page_ == no_page ? next_page_++ : std::exchange(reopened_page_, no_page);
    page.groups = std::move(groups_);
    write_at(file_.handle(), raw_page_, header_.place_of(page.id), path_);
    header_.pages.push_back(std::move(page));
    raw_page_.clear(), groups_.clear();
  }
  /// The last page of numbers and texts is open again, and in it the last group of rows.
  [[gnu::cold]] void take_last_raw_page(std::size_t last_raw) {
    if (last_raw == none) return;
    MindRecordPage page = header_.pages[last_raw];
    raw_page_.resize(page.used);
    if (!read_at(file_.handle(), raw_page_.data(), raw_page_.size(), header_.place_of(page.id), path_))
      throw_bad_mind_record(path_, "its last page could not be read back");
    groups_ = page.groups;
    if (blob_page_ && !groups_.empty() && groups_.back().id == page_of_blobs().type_id) {
      group_ = raw_page_.substr(std::min<std::size_t>(groups_.back().offset, raw_page_.size()));
      raw_page_.resize(raw_page_.size() - group_.size());
      groups_.pop_back();
    }
    // its place is free again; if others follow it has to stay there: MindSpore knows a page by its place in the list
    if (page.id + 1 == next_page_) --next_page_;
    else reopened_page_ = page.id;
    --raw_pages_;
    header_.pages.erase(header_.pages.begin() + std::ptrdiff_t(last_raw));
    if (blob_page_ > last_raw) --blob_page_;
  }

  /// The rows in the order of their groups.
  [[gnu::cold]] void write_index(const std::string& file) const {
    const std::size_t slash = path_.find_last_of('/');
    MindRecordIndexWriter index(file, path_.substr(slash + 1), header_);
    std::vector<MindRecordScalar> scalars(header_.schema.size());
    std::vector<std::pair<const MindRecordPage*, const MindRecordPage*>> groups(blob_pages_);  // of blobs, of the rest
    std::vector<std::uint32_t> begins(blob_pages_);
    for (const MindRecordPage& page : header_.pages) {
      if (page.blob) groups.at(page.type_id).first = &page;
      else
        for (const MindRecordPage::Group& group : page.groups) {
          groups.at(group.id).second = &page;
          begins[group.id] = group.offset;
        }
    }
    const MindRecordPage* loaded = nullptr;
    std::string bytes;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const auto [blobs, raw] = groups[i];
      if (!blobs || !raw) throw_bad_mind_record(path_, text("its group ", i, " of rows lacks a page"));
      if (loaded != raw) {
        bytes.resize(raw->used);
        if (!read_at(file_.handle(), bytes.data(), bytes.size(), header_.place_of(raw->id), path_))
          throw_bad_mind_record(path_, text("page ", raw->id, " could not be read back"));
        loaded = raw;
      }
      index_group(index, *blobs, *raw, begins[i], bytes, scalars);
    }
    index.finish();
  }
  void index_group(MindRecordIndexWriter& index, const MindRecordPage& blobs, const MindRecordPage& raw,
                   std::uint32_t begin, std::string_view bytes, std::vector<MindRecordScalar>& scalars) const {
    MindRecordRowPlace place{.raw_page = raw.id, .raw_end = begin, .group = blobs.type_id, .blob_page = blobs.id};
    for (std::uint64_t row = blobs.start_row; row < blobs.end_row; ++row) {
      place.raw_begin = place.raw_end;
      const std::size_t left = bytes.size() - place.raw_begin;
      const std::uint64_t length = left < 8 ? 0 : little_endian<std::uint64_t>(bytes.substr(place.raw_begin));
      if (left < 8 || length > left - 8 || row >= rows())
        throw_bad_mind_record(path_, text("its row ", row, " does not end inside of page ", raw.id));
      place.raw_end = std::uint32_t(place.raw_begin + 8 + length);
      place.blob_begin = place.blob_end;
      place.blob_end = place.blob_begin + blob_bytes_[row];
      if (!header_.index_fields.empty())
        if (const std::string fault =
                unpack_raw_row(bytes.substr(place.raw_begin + 8, length), header_.schema, scalars);
            !fault.empty())
          throw_bad_mind_record(path_, text("row ", row, ": ", fault));
      index.add(place, scalars);
    }
  }

  std::string path_;
  MindRecordHeader header_;
  TemporaryFile file_;
  std::string buffer_;                         // blobs that are not written yet
  std::string group_, raw_page_;               // numbers and texts of the open group, and of those before it
  std::vector<MindRecordPage::Group> groups_;  // in raw_page_
  std::vector<std::uint32_t> blob_bytes_;      // of each row
  std::size_t blob_page_ = 0;                  // the open one's place among the pages, from 1 on
  std::uint32_t next_page_ = 0, blob_pages_ = 0, raw_pages_ = 0;
  std::uint32_t reopened_page_ = no_page;  // where the page of numbers and texts lay, if others follow it
};

}  // namespace tenon::io::detail
