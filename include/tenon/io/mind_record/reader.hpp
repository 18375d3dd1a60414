// Reads MindRecord files: any row of a set, by any thread.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include <tenon/core/error.hpp>
#include <tenon/io/file.hpp>
#include <tenon/io/mind_record/commit.hpp>
#include <tenon/io/mind_record/header.hpp>
#include <tenon/io/mind_record/index.hpp>
#include <tenon/io/mind_record/row.hpp>
#include <tenon/io/mind_record/shard_file.hpp>
#include <tenon/io/path/refuse_file.hpp>

namespace tenon::inline TENON_ABI::io {

/// The rows of a set of MindRecord files, shard after shard, as MindSpore's MindDataset gives them without shuffling.
/// Reads headers and indexes on construction, rows when they are asked for, from any number of threads at once.
///
/// memory      24 bytes for each row; nothing is taken for what a file claims to have
/// throws      RuntimeError for a file that is damaged, was renamed, or lacks its index, and for a set that lacks a
///             file or has one of another set
/// source      MindSpore 1.1 to 2.10, versions 2.0 and 3.0 of the format
class MindRecordReader {
 public:
  /// The set that has this file: all files that its header names, in the same folder. The name that the set was written
  /// under will do, too; a file of another set that begins with it does not.
  explicit MindRecordReader(const std::string& file) try {
    check_path(file);
    read_stable({file}, [&] { read_set(first_shard_of(file)); });
  } catch (const std::bad_alloc&) {
    refuse_file(0, file);
  }
  /// Exactly these files, in this order, even of several sets that have the same schema.
  explicit MindRecordReader(const std::vector<std::string>& files) try {
    if (files.empty()) throw_error<ValueError>("The list of MindRecord files is empty.");
    for (const std::string& file : files) check_path(file);
    read_stable(files, [&] {
      for (const std::string& file : files) add(detail::MindRecordShardFile(file));
    });
  } catch (const std::bad_alloc&) {
    refuse_file(0, files.front());
  }

  const MindRecordSchema& schema() const { return shards_.front().header().schema; }
  const std::vector<std::string>& index_fields() const { return shards_.front().header().index_fields; }
  std::int64_t size() const { return shards_.back().first_row + shards_.back().rows(); }
  /// The files, in the order of their rows.
  std::span<const detail::MindRecordShardFile> shards() const { return shards_; }

  /// Reads a row; `wanted` says for each field of the schema whether it is; without it all are. Throws ValueError for
  /// a row that is not there, RuntimeError if it is damaged.
  void read(std::int64_t row, MindRecordRow& into, const std::vector<bool>& wanted = {}) const {
    if (row < 0 || row >= size())
      throw_error<ValueError>("There is no row ", row, " in '", shards_.front().path(), "': the rows are 0 .. ",
                              size() - 1, ".");
    const auto behind = std::ranges::upper_bound(shards_, row, {}, &detail::MindRecordShardFile::first_row);
    const detail::MindRecordShardFile& shard = *(behind - 1);
    shard.read(row - shard.first_row, schema(), wanted, into);
  }
  MindRecordRow read(std::int64_t row) const {
    MindRecordRow into;
    read(row, into);
    return into;
  }

 private:
  /// Reads the files again if another set took their names meanwhile, and ends what a writer that was killed has begun.
  template <class Read>
  [[gnu::cold]] void read_stable(const std::vector<std::string>& files, Read read) {
    const auto finish = [&] {
      bool found = false;
      for (const std::string& file : files)
        for (const std::string& path : first_files_of(file)) found = detail::finish_commit_of_file(file, path) || found;
      return found;
    };
    finish();
    for (int attempt = 0;; ++attempt) {
      shards_.clear();
      const std::string before = look_at(files);
      bool complete = true;
      try {
        read();
      } catch (const RuntimeError&) {
        if (!finish() && look_at(files) == before) throw;
        complete = false;
      }
      const bool stable = complete && std::ranges::all_of(shards_, [](const auto& shard) {
                            return detail::leads_to(shard.file(), shard.path());
                          });
      if (stable && (attempt == 3 || !finish())) return;
      if (attempt == 3)
        throw_error<RuntimeError>("Cannot read '", files.front(), "': another set takes its place again and again.");
    }
  }
  /// What stands at the names, and whether a commit continues. It changes whenever another set takes their place: a
  /// file that could not be read may be one of the old set and its index one of the new one.
  [[gnu::cold]] static std::string look_at(const std::vector<std::string>& files) {
    std::string seen;
    struct stat status;
    for (const std::string& file : files) {
      for (const std::string& first : first_files_of(file)) {
        for (const std::string& path : {first, first + ".db"})
          if (::stat(path.c_str(), &status) == 0)
            seen +=
                text(status.st_dev, ' ', status.st_ino, ' ', status.st_mtim.tv_sec, ' ', status.st_mtim.tv_nsec, ' ');
          else seen += "none ";
        for (const std::string& set : detail::sets_of_file(file, first))
          seen += ::lstat(detail::commit_path(set).c_str(), &status) == 0 ? '!' : '.';
      }
    }
    return seen;
  }
  /// The file, or those that the first one of a set of that name can be.
  [[gnu::cold]] static std::vector<std::string> first_files_of(const std::string& file) {
    std::vector<std::string> found;
    for (const char* const number : {"0", "00", "000"})
      if (!file_exists(file) && file_exists(file + number)) found.push_back(file + number);
    return found.empty() ? std::vector{file} : found;
  }
  /// The file, or the first one of the set that was written under that name. "part10" may be a set of its own, or of
  /// the set "part": what its header says decides, and nothing is done to it for the set "part1".
  [[gnu::cold]] static detail::MindRecordShardFile first_shard_of(const std::string& file) {
    for (const std::string& path : first_files_of(file)) {
      if (path == file) break;
      detail::MindRecordShardFile first(path);
      const std::vector<std::string>& names = first.header().addresses;
      if (names.size() > 1 && names == detail::names_of_set(detail::file_name_of(file), names.size())) return first;
    }
    return detail::MindRecordShardFile(file);
  }
  [[gnu::cold]] void read_set(detail::MindRecordShardFile first) {
    const std::string file = first.path();
    const std::vector<std::string> names = first.header().addresses;
    const auto mine = std::size_t(first.header().shard);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (i == mine) {
        add(std::move(first));
        continue;
      }
      const std::string path = join_path(file.find('/') == file.npos ? "" : directory_of(file), names[i]);
      if (!file_exists(path))
        throw_error<RuntimeError>("Cannot read '", file, "': it is one of ", names.size(),
                                  " MindRecord files, of which '", path,
                                  "' is missing; a list of files reads just those that it names.");
      detail::MindRecordShardFile shard(path);
      if (shard.header().addresses != names || shard.header().shard != int(i))
        throw_bad_mind_record(path, text("it is not of the set that '", file, "' is of"));
      add(std::move(shard));
    }
  }
  void add(detail::MindRecordShardFile shard) {
    if (!shards_.empty() && shard.header().schema != schema())
      throw_bad_mind_record(shard.path(), text("its schema is not the one of '", shards_.front().path(), "'"));
    shard.first_row = shards_.empty() ? 0 : size();
    shards_.push_back(std::move(shard));
  }

  std::vector<detail::MindRecordShardFile> shards_;
};

}  // namespace tenon::io
