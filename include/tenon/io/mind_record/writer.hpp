// Writes MindRecord files, which appear complete or not at all.
#pragma once
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <tenon/core/error.hpp>
#include <tenon/core/log/log.hpp>
#include <tenon/io/file.hpp>
#include <tenon/io/mind_record/commit.hpp>
#include <tenon/io/mind_record/header.hpp>
#include <tenon/io/mind_record/index.hpp>
#include <tenon/io/mind_record/raw_row.hpp>
#include <tenon/io/mind_record/reader.hpp>
#include <tenon/io/mind_record/schema.hpp>
#include <tenon/io/mind_record/shard_writer.hpp>
#include <tenon/io/mind_record/value.hpp>
#include <tenon/io/path/refuse_file.hpp>

namespace tenon::inline TENON_ABI::io {

struct MindRecordOptions {
  int shards = 1;                        // files, 1 .. 1000
  std::uint64_t header_size = 16 << 20;  // bytes: 16 KiB .. 128 MiB, divisible by 4
  std::uint64_t page_size = 32 << 20;    // bytes: 32 KiB .. 256 MiB, divisible by 4; no row can be larger
  bool overwrite = false;                // a set of the same name goes when the new one is complete
  bool skip_bad_rows = false;            // a row that does not fit is left out with a warning, as MindSpore does
};

/// Writes a set of MindRecord files that MindSpore reads, too:
///
///     io::MindRecordWriter writer("train.mindrecord", {.shards = 4});
///     writer.add_schema({{"label", io::MindRecordType::int32}, {"data", io::MindRecordType::bytes}});
///     writer.add_index({"label"});
///     writer.write({{"label", 3}, {"data", jpeg}});
///     writer.commit();
///
/// One file has the set's name; of several each has a number after it, as long as the longest. Before commit() nothing
/// can be seen, and nothing is left of a writer that goes away without one. What a killed one has left the next one
/// removes; it, or the next reader of the set, ends a commit that was interrupted.
///
/// values      a number becomes one of the field's type if that has it (reals may be rounded to float32), an array
///             likewise, element by element. MindSpore 1.x stored an array of int8 as it was and read it as float64,
///             an eighth as long
/// memory      two pages of numbers and texts for each file, and 4 bytes for each row
/// throws      ValueError for options, schemas, and rows that do not fit, RuntimeError for what the system refuses
/// source      MindSpore's FileWriter. There a row that does not fit is dropped with a warning
class MindRecordWriter {
 public:
  /// Throws RuntimeError if a file of the set exists and is not to be overwritten.
  [[gnu::cold]] explicit MindRecordWriter(std::string file, MindRecordOptions options = {})
      : set_(std::move(file)), options_(options) {
    check_name();
    check_options();
    name_files();
    begin();
    check_free();
  }
  MindRecordWriter(MindRecordWriter&&) = default;

  /// A writer of the rows that a set has, to which more are added; file: one of its files, or its name. Until commit()
  /// the set stays as it is, and its files are copied to begin with.
  [[gnu::cold]] static MindRecordWriter append(const std::string& file, bool skip_bad_rows = false) {
    const MindRecordReader old(file);
    const detail::MindRecordShardFile& first = old.shards().front();
    MindRecordWriter writer;
    writer.set_ = first.path();
    writer.options_ = {.shards = int(first.header().addresses.size()),
                       .header_size = first.header().header_size,
                       .page_size = first.header().page_size,
                       .overwrite = true,
                       .skip_bad_rows = skip_bad_rows};
    if (writer.options_.shards > 1)
      writer.set_.resize(writer.set_.size() - std::to_string(writer.options_.shards - 1).size());
    writer.name_files();
    for (std::size_t i = 0; i < writer.paths_.size(); ++i)  // their folder may be written in another way
      if (detail::file_name_of(writer.paths_[i]) != detail::file_name_of(old.shards()[i].path()))
        throw_bad_mind_record(old.shards()[i].path(), "its name is not a set's name and a number");
    writer.begin();
    writer.appended_to_ = FileHandle(::fcntl(first.file().get(), F_DUPFD_CLOEXEC, 0));
    if (!writer.appended_to_.valid()) throw_system_error("open", first.path());
    writer.schema_ = old.schema();
    writer.index_fields_ = old.index_fields();
    writer.create_files();
    for (std::size_t i = 0; i < writer.files_.size(); ++i) {
      const detail::MindRecordShardFile& shard = old.shards()[i];
      writer.files_[i]->take_over(shard.file(), shard.path(), shard.header(), shard.places());
    }
    return writer;
  }

  /// Says what the rows have. To be called once, before the first row.
  [[gnu::cold]] void add_schema(std::vector<MindRecordField> fields, std::string description = "") {
    set_schema(MindRecordSchema(std::move(fields), std::move(description)));
  }
  /// The same with a schema such as parse_mind_record_schema() makes.
  [[gnu::cold]] void set_schema(MindRecordSchema schema) {
    if (schema_.size() || !files_.empty())
      throw_error<ValueError>("'", set_, "' has a schema already; a MindRecord file has one, and no row before it.");
    schema_ = std::move(schema);
    for (const MindRecordField& field : schema_.fields())
      if (!field.is_blob()) index_fields_.push_back(field.name);
  }
  /// The numbers and texts whose values are in the index; by default all.
  [[gnu::cold]] void add_index(const std::vector<std::string>& fields) {
    if (!files_.empty())
      throw_error<ValueError>("'", set_, "' has rows already; its index fields are to be named before.");
    std::vector<std::string> checked;
    for (const std::string& name : fields) {
      const std::size_t field = schema_.find(name);
      if (field == MindRecordSchema::none)
        throw_error<ValueError>("The index field ", printable(name), " is not in the schema, which has ",
                                quoted_list(schema_.names()), ".");
      if (schema_[field].is_blob())
        throw_error<ValueError>("The index field '", name, "' is ", type_text(schema_[field]),
                                "; only a number or a text can be one.");
      if (std::ranges::find(checked, name) == checked.end()) checked.push_back(name);
    }
    index_fields_ = std::move(checked);
  }

  /// Adds a row, in any order of its fields, to the file that has the fewest. Throws ValueError that names row and
  /// field if it does not fit; nothing of it is written then, and more rows can follow.
  void write(std::span<const MindRecordCell> row) { write_row(emptiest(), row); }
  void write(std::initializer_list<MindRecordCell> row) { write(std::span(row.begin(), row.size())); }
  /// The same to one of the files, 0 .. shards - 1. They are read one after the other, so rows keep their order if each
  /// file gets its share before the next one. Throws ValueError if there is no such file.
  void write_to(int shard, std::span<const MindRecordCell> row) {
    create_files();
    if (shard < 0 || std::size_t(shard) >= files_.size())
      throw_error<ValueError>("'", set_, "' has no file ", shard, " to write to; it has 0 .. ", files_.size() - 1, ".");
    write_row(*files_[std::size_t(shard)], row);
  }
  /// Adds rows of which each file gets as many as the others, the first ones first: read again, they have this order.
  void write_block(std::span<const std::vector<MindRecordCell>> rows) {
    create_files();
    const std::size_t shards = files_.size();
    std::vector<std::size_t> order(shards), count(shards, rows.size() / shards);
    for (std::size_t i = 0; i < shards; ++i) order[i] = i;
    std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(files_[i]->rows(), i); });
    for (std::size_t i = 0; i < rows.size() % shards; ++i) ++count[order[i]];
    for (std::size_t shard = 0, next = 0; shard < shards; ++shard)
      for (; count[shard]; --count[shard]) write_row(*files_[shard], rows[next++]);
  }

  /// Rows that were offered, and those of them that were left out.
  std::int64_t rows() const { return rows_; }
  std::int64_t skipped() const { return skipped_; }
  const MindRecordSchema& schema() const { return schema_; }

  /// Makes the files appear, all of them at once for readers with Tenon; for others a file is incomplete as long
  /// as its index is missing. Nothing can be written after that. Of several writers of a set one commits after the
  /// other, and the set is the last one's; an error says so if it may not take the place of what is there by now, and
  /// the writer continues as before.
  [[gnu::cold]] void commit() try {
    create_files();
    std::uint64_t all = 0;
    for (const auto& file : files_) all += file->rows();
    if (all == 0) throw_error<ValueError>("'", set_, "' has no rows; write() adds one.");
    if (skipped_ > most_warnings)
      logging::warning("'", set_, "': ", skipped_, " of ", rows_, " rows did not fit and were left out.");
    detail::MindRecordCommit set(set_, names());
    check_free();
    check_appended_to();
    try {
      for (const auto& file : files_)
        file->finish([&](detail::TemporaryFile& finished, const std::string& path) { set.add(finished, path); });
      set.publish(options_.overwrite ? left_over() : std::vector<std::string>());
    } catch (...) {
      files_.clear();
      closed_ = "could not be committed; a new writer has to write it again";
      throw;
    }
    files_.clear();
    closed_ = "is committed; MindRecordWriter::append adds rows to it";
  } catch (const std::bad_alloc&) {
    refuse_file(0, set_);
  }

 private:
  static constexpr std::int64_t most_warnings = 10;

  MindRecordWriter() = default;

  void check_name() const {
    check_path(set_);
    const std::string name = detail::file_name_of(set_);
    if (name.empty() || name.ends_with(".db") || name.find('\n') != name.npos ||
        find_bad_utf8(name) != std::string::npos)
      throw_error<ValueError>("A MindRecord file cannot be called ", printable(set_),
                              ": the name is a text in UTF-8 of one line that does not end with .db.");
  }
  void check_options() const {
    const auto check_size = [](const char* what, std::uint64_t size, std::uint64_t least, std::uint64_t most) {
      if (size < least || size > most || size % 4)
        throw_error<ValueError>("MindRecordWriter: .", what, " is ", size, ", it must be in ", least, " .. ", most,
                                " and divisible by 4.");
    };
    if (options_.shards < 1 || options_.shards > mind_record_most_shards)
      throw_error<ValueError>("MindRecordWriter: .shards is ", options_.shards, ", it must be in 1 .. ",
                              mind_record_most_shards, ".");
    check_size("header_size", options_.header_size, mind_record_header_least, mind_record_header_most);
    check_size("page_size", options_.page_size, mind_record_page_least, mind_record_page_most);
  }
  void name_files() { paths_ = detail::names_of_set(set_, std::size_t(options_.shards)); }
  /// Ends or removes what a writer of this set that was killed has left; one that lives keeps what it has.
  void begin() const {
    for (const std::string& path : paths_)
      if (::access((path + ".db" + std::string(detail::unfinished_suffix)).c_str(), F_OK) != 0 && errno == ENAMETOOLONG)
        throw_system_error("write beside", path);
    detail::settle_commit(set_, detail::CommitUse::begin);
    detail::remove_abandoned_files(directory_of(set_));
  }
  void check_free() const {
    for (const std::string& path : paths_)
      if (!options_.overwrite && (file_exists(path) || file_exists(path + ".db")))
        throw_error<RuntimeError>("Invalid file, mindrecord files already exist. Please check file path: '", path,
                                  "'; .overwrite replaces them, MindRecordWriter::append adds rows.");
  }
  /// The rows that were there would come back, and those be lost that others have added since.
  void check_appended_to() const {
    if (appended_to_.valid() && !detail::leads_to(appended_to_, paths_.front()))
      throw_error<RuntimeError>("The rows cannot be added to '", set_,
                                "': the set has been written anew since append() ",
                                "read it. Nothing has changed; add them with a new MindRecordWriter::append.");
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const std::string& path : paths_) {
      names.push_back(detail::file_name_of(path));
      names.push_back(names.back() + ".db");
    }
    return names;
  }
  void create_files() {
    if (closed_) throw_error<ValueError>("'", set_, "' ", closed_, ".");
    if (!files_.empty()) return;
    if (!schema_.size())
      throw_error<ValueError>("'", set_, "' has no schema; add_schema() comes before the first row.");
    if (const std::string fault = fault_of_index(index_fields_); !fault.empty())
      throw_error<ValueError>("'", set_, "' cannot have its index: ", fault,
                              "; add_index() names those that are to be in it, and a row has the others, too.");
    MindRecordHeader header{.header_size = options_.header_size, .page_size = options_.page_size};
    header.schema = schema_;
    header.index_fields = index_fields_;
    for (const std::string& path : paths_) header.addresses.push_back(detail::file_name_of(path));
    std::vector<std::unique_ptr<detail::MindRecordShardWriter>> files;
    for (const std::string& path : paths_) {
      files.push_back(std::make_unique<detail::MindRecordShardWriter>(path, header));
      ++header.shard;
    }
    files_ = std::move(files);
    scalars_.resize(schema_.size());
    cells_.resize(schema_.size());
  }
  detail::MindRecordShardWriter& emptiest() {
    create_files();
    return **std::ranges::min_element(files_, {}, [](const auto& file) { return file->rows(); });
  }

  void write_row(detail::MindRecordShardWriter& file, std::span<const MindRecordCell> row) try {
    const std::int64_t number = rows_++;
    std::int64_t saved = 0;
    std::string fault = make_row(row, saved);
    if (fault.empty()) fault = file.add(pack_raw_row(schema_, scalars_), blob_, saved);
    if (fault.empty()) return;
    if (!options_.skip_bad_rows)
      throw_error<ValueError>("Row ", number, " does not fit into '", set_, "': ", fault, ".");
    if (++skipped_ <= most_warnings)
      logging::warning("Row ", number, " does not fit into '", set_, "' and is left out: ", fault, ".");
  } catch (const std::bad_alloc&) {
    refuse_file(blob_.size(), set_);
  }
  /// The row as it stands in the file. Returns why it cannot, or nothing.
  std::string make_row(std::span<const MindRecordCell> row, std::int64_t& saved) {
    std::ranges::fill(cells_, nullptr);
    for (const MindRecordCell& cell : row) {
      const std::size_t field = schema_.find(cell.first);
      if (field == MindRecordSchema::none)
        return text("it has a field ", printable(cell.first), ", the schema has ", quoted_list(schema_.names()));
      if (cells_[field]) return text("it has the field '", cell.first, "' twice");
      cells_[field] = &cell.second;
    }
    blob_.clear();
    const std::size_t blobs = schema_.blobs();
    for (std::size_t i = 0; i < schema_.size(); ++i) {
      const MindRecordField& field = schema_[i];
      if (!cells_[i]) return text("its field '", field.name, "' (", type_text(field), ") is missing");
      const std::size_t begin = blob_.size();
      if (field.is_blob() && blobs > 1) blob_.append(8, '\0');
      const std::string fault = field.is_blob() ? detail::append_blob(field, *cells_[i], blob_, saved)
                                                : detail::make_scalar(field, *cells_[i], scalars_[i]);
      if (fault.empty() && field.is_array() && cells_[i]->array().count() == 0) warn_of_empty(field);
      if (!fault.empty()) return text("its field '", field.name, "' is ", type_text(field), ", but ", fault);
      if (!field.is_blob() || blobs == 1) continue;
      const std::uint64_t length = blob_.size() - begin - 8;
      for (std::size_t k = 0; k < 8; ++k) blob_[begin + k] = char(length >> (56 - 8 * k) & 255);
    }
    if (blobs == 0) blob_.assign(4, '\0');  // as MindSpore does
    return "";
  }

  [[gnu::cold]] void warn_of_empty(const MindRecordField& field) {
    if (std::exchange(warned_of_empty_, true)) return;
    logging::warning("'", set_, "': row ", rows_ - 1, " has an empty array in '", field.name,
                     "', which MindSpore reads as an arbitrary number. Tenon reads it as it is.");
  }

  /// The names of files of the older set, which the new one does not have.
  std::vector<std::string> left_over() const {
    std::vector<std::string> left;
    const std::vector<std::string> kept = names();
    try {
      const MindRecordReader old(set_);
      for (const auto& shard : old.shards()) {
        const std::string name = detail::file_name_of(shard.path());
        if (std::ranges::find(kept, name) == kept.end() && detail::is_name_of_set(name, set_))
          left.insert(left.end(), {name + ".db", name});
      }
    } catch (const Error&) {
      // it is missing, or cannot be read
    }
    return left;
  }

  std::string set_;
  MindRecordOptions options_;
  std::vector<std::string> paths_;
  MindRecordSchema schema_;
  std::vector<std::string> index_fields_;
  std::vector<std::unique_ptr<detail::MindRecordShardWriter>> files_;
  std::vector<MindRecordScalar> scalars_;
  std::vector<const MindRecordValue*> cells_;
  std::string blob_;
  std::int64_t rows_ = 0, skipped_ = 0;
  bool warned_of_empty_ = false;
  FileHandle appended_to_{-1};    // the first file of the set as append() read it
  const char* closed_ = nullptr;  // why nothing can be written any more
};

}  // namespace tenon::io
