// What a server has after a step: in memory, with that of the step before, and in files that its successor finds.
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <tenon/dist/server/wire.hpp>
#include <tenon/io/file.hpp>
#include <tenon/io/path/place.hpp>

namespace tenon::inline TENON_ABI::dist::detail {

/// In front of a record. Behind it are moments, the head of the training state, weights, and numbers of all shards.
struct RecordHead {
  std::int64_t step = 0;  // of the Model, after which it is so
  Place place;            // before that step; a first record: before the next one
  double scale[5]{};
  std::int64_t batch = 0, numbers = 0;
  std::int32_t is_first = 0, padding = 0;
};
/// Where the parts of a record are, in bytes; `fixed` is where the numbers begin.
struct RecordLayout {
  long moments = sizeof(RecordHead), state = 0, weights = 0, fixed = 0;
};

/// The last two records. Each step writes the older one's file, and then a small file that says which is the last: a
/// process that is killed leaves the last whole one. The files are for the death of a process, not of a machine: they
/// are not synchronized.
class ServerRecords {
 public:
  struct Index {
    std::uint64_t magic = wire_magic, job = 0, model = 0;
    std::int64_t run = 0, vote_key = 0;
    std::int32_t last = -1, count = 0, vote = 0, padding = 0;
  };

  ServerRecords(const std::string& folder, int server, std::uint64_t job, std::uint64_t model)
      : name_(text(folder, "/parameter_server_", job, "_", server)) {
    index.job = job, index.model = model;
  }
  /// The run of which there are files, whatever Model trained in it; 0 if there are none.
  std::int64_t run_in_files() const {
    const Index found = read_index();
    return found.last >= 0 ? found.run : 0;
  }
  /// Takes what is there of this Model. False if there is nothing.
  bool load(const RecordLayout& layout) {
    const Index found = read_index();
    if (found.model != index.model || found.last < 0) return false;
    for (int i = 0; i < std::min(found.count, 2); ++i) {
      std::vector<std::byte>& one = record_[(found.last + 2 - i) % 2];
      one = read(i == 0 ? suffix(found.last) : suffix(1 - found.last), std::size_t(most));
      RecordHead head;
      if (long(one.size()) < layout.fixed) return false;
      std::memcpy(&head, one.data(), sizeof head);
      if (head.numbers < 0 || layout.fixed + head.numbers != long(one.size())) return false;
    }
    index = found;
    // the older one may have been in the middle of being written anew: its head first
    if (has_before() && head_of(before()).step >= head_of(last()).step) index.count = 1;
    return true;
  }

  bool empty() const { return index.last < 0; }
  std::vector<std::byte>& last() { return record_[index.last]; }
  /// That before the last; empty if there is none.
  std::vector<std::byte>& before() { return record_[1 - index.last]; }
  bool has_before() const { return index.count > 1; }
  /// The one to be written next.
  std::vector<std::byte>& next() { return record_[index.last < 0 ? 0 : 1 - index.last]; }
  static RecordHead head_of(const std::vector<std::byte>& record) {
    RecordHead head;
    std::memcpy(&head, record.data(), sizeof head);
    return head;
  }
  void begin_run(std::int64_t run) { index.run = run, index.last = -1, index.count = 0, index.vote_key = 0; }
  /// The next record has this many bytes. What it has of the step before the last one stays until put() changes it.
  void begin_next(long bytes) {
    std::vector<std::byte>& record = next();
    is_whole_ = long(record.size()) == bytes && index.count == 2;  // else its file is another one
    record.resize(std::size_t(bytes));
    changed_.assign(std::size_t((bytes + block - 1) / block), !is_whole_);
  }
  void put(long at, const void* from, long bytes) {
    std::byte* const record = next().data();
    const auto* data = static_cast<const std::byte*>(from);
    while (bytes > 0) {
      const long some = std::min(bytes, block - at % block);
      if (std::memcmp(record + at, data, std::size_t(some)) != 0) {
        std::memcpy(record + at, data, std::size_t(some));
        changed_[std::size_t(at / block)] = true;
      }
      at += some, data += some, bytes -= some;
    }
  }
  /// What next() has is the last one now. Of its file the blocks are written that have changed.
  void commit() {
    const int place = index.last < 0 ? 0 : 1 - index.last;
    write(suffix(place), record_[place], &changed_);
    index.last = place, index.count = std::min(index.count + 1, 2);
    write_index();
  }
  void write_index() const { write(".index", std::as_bytes(std::span(&index, 1)), nullptr); }
  void remove() {
    for (const char* const part : {".index", suffix(0), suffix(1)}) std::remove((name_ + part).c_str());
  }

  Index index;

 private:
  static constexpr long most = 1L << 40, block = 4096;
  static const char* suffix(int place) { return place == 0 ? ".0" : ".1"; }

  std::vector<std::byte> read(const char* part, std::size_t bytes) const {
    const io::FileHandle file(::open((name_ + part).c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid()) return {};
    const off_t size = ::lseek(file.get(), 0, SEEK_END);
    if (size < 0) return {};
    std::vector<std::byte> all(std::min(std::size_t(size), bytes));
    for (std::size_t done = 0; done < all.size();) {
      const ssize_t got = ::pread(file.get(), all.data() + done, all.size() - done, off_t(done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return {};
      done += std::size_t(got);
    }
    return all;
  }
  // That of this job, or an empty one.
  Index read_index() const {
    Index found;
    const std::vector<std::byte> words = read(".index", sizeof found);
    if (words.size() != sizeof found) return {};
    std::memcpy(&found, words.data(), sizeof found);
    const bool is_right = found.magic == wire_magic && found.job == index.job && found.last <= 1 && found.count >= 1;
    return is_right ? found : Index{};
  }
  // All bytes, or the blocks that are marked.
  void write(const char* part, std::span<const std::byte> bytes, const std::vector<bool>* blocks) const {
    const std::string path = name_ + part;
    const io::FileHandle file(::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.valid()) io::throw_system_error("write", path);
    const auto write_some = [&](std::size_t begin, std::size_t end) {
      io::detail::write_at(file, {reinterpret_cast<const char*>(bytes.data()) + begin, end - begin}, begin, path);
    };
    if (!blocks) return write_some(0, bytes.size());
    for (std::size_t first = 0; first < blocks->size(); ++first) {
      if (!(*blocks)[first]) continue;
      std::size_t end = first + 1;
      while (end < blocks->size() && (*blocks)[end]) ++end;
      write_some(first * block, std::min(end * block, bytes.size()));
      first = end;
    }
    if (is_whole_) return;
    while (::ftruncate(file.get(), off_t(bytes.size())) != 0)
      if (errno != EINTR) io::throw_system_error("write", path);
  }

  const std::string name_;
  std::vector<std::byte> record_[2];
  std::vector<bool> changed_;  // of the blocks of the next one
  bool is_whole_ = false;      // its file has what it was before
};

}  // namespace tenon::dist::detail
