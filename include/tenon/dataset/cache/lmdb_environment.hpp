// One session's LMDB file, opened once per process: how it is opened, checked, and thrown away.
//
// Rows are written without fsync (MDB_NOSYNC). A process that is killed at any instant damages nothing: LMDB never
// writes over a page that is in use, its last write of a transaction is that of the page which makes it valid, and what
// a process has written is in the system's page cache, which a dead process cannot take back. Only a machine that stops
// can lose some of these writes and keep others. So the file of another boot is deleted without a look into it.
//
// A disk or another program can damage a file, and LMDB ends the program that reads a damaged page. So its structure is
// looked through before it is used (lmdb_check.hpp), and rows have checksums. A damaged file is deleted, and the
// session begins anew in another one; programs that have the old one open continue with it.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/vfs.h>
#endif

#include <tenon/core/error.hpp>
#include <tenon/core/log/log.hpp>
#include <tenon/dataset/cache/cache_folder.hpp>
#include <tenon/dataset/cache/lmdb_check.hpp>
#include <tenon/dataset/cache/lmdb_reason.hpp>
#include <tenon/io/file.hpp>

namespace tenon::inline TENON_ABI::dataset::detail {

/// What differs after each start of the machine; "" where the system does not say.
inline std::string boot_id() {
  constexpr const char* source = "/proc/sys/kernel/random/boot_id";
  return io::file_exists(source) ? io::read_file(source) : "";
}

/// Locks of files through which LMDB's processes know each other do not reach other machines.
inline void check_local([[maybe_unused]] const std::string& folder) {
#if defined(__linux__)
  struct statfs status;
  if (::statfs(folder.c_str(), &status) != 0) return;
  const auto kind = static_cast<unsigned long>(status.f_type) & 0xffffffffu;
  constexpr unsigned long nfs = 0x6969, smb = 0x517b, cifs = 0xff534d42, smb2 = 0xfe534d42;
  if (kind == nfs || kind == smb || kind == cifs || kind == smb2)
    throw_error<RuntimeError>("The cache folder '", folder,
                              "' is on a disk of the network, where LMDB cannot lock. Pass "
                              "a folder on a disk of this machine, or keep the rows on a Redis server.");
#endif
}

/// Held by one process at a time while it opens a session; a process that dies lets go of it. A lock of fcntl's: a
/// child that another thread forks meanwhile does not inherit it.
class OpeningLock {
 public:
  explicit OpeningLock(const std::string& session)
      : file_(::open(io::join_path(session, "opening").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (!file_.valid()) io::throw_system_error("open the session", session);
    struct flock whole{};
    whole.l_type = F_WRLCK;
    while (::fcntl(file_.get(), F_SETLKW, &whole) != 0)
      if (errno != EINTR) io::throw_system_error("lock the session", session);
  }

 private:
  io::FileHandle file_;
};

/// An open file of rows. A process opens it once: LMDB's locks are those of a process. After fork() a child opens the
/// file again and does not use the parent's handle.
class LmdbEnvironment {
 public:
  static constexpr std::string_view format = "tenon rows 2\n";

  /// Throws RuntimeError if it cannot be opened; a damaged file is thrown away, after a warning, and is empty.
  ///
  /// damaged     the file with a row that is not as it was written: it is thrown away, unless another process has done
  ///             so already
  explicit LmdbEnvironment(const std::string& session, const LmdbEnvironment* damaged = nullptr) : session_(session) {
    check_owner(session);
    const OpeningLock lock(session);
    const std::string mine = boot_id(), about = io::join_path(session, "boot"), expected = text(format, mine);
    check_local(session);
    if (!io::file_exists(about) || io::read_file(about, 4096) != expected) {
      remove_rows();
      io::write_file(about, expected);
    }
    const unsigned flags = mine.empty() ? 0 : MDB_NOSYNC;
    std::string fault = damaged && damaged->has_open(session) ? "a row is not as it was written" : "";
    if (!fault.empty() || !open(flags, fault)) {
      if (fault != lmdb_unfinished)
        logging::warning("The cache in '", session, "' is damaged (", fault,
                         ") and begins anew: its rows are computed ", "again. Look at the disk if that comes again.");
      remove_rows();
      if (!open(flags, fault))
        throw_error<RuntimeError>("Cannot open the new cache file in '", session, "': ", fault, ".");
    }
    int dead = 0;
    ::mdb_reader_check(env_, &dead);
  }
  LmdbEnvironment(const LmdbEnvironment&) = delete;
  ~LmdbEnvironment() {
    for (MDB_txn* reader : readers_) ::mdb_txn_abort(reader);
    ::mdb_env_close(env_);
  }

  /// Whether the rows of the session at this path, however it is spelled, are in the file that is open here.
  bool has_open(const std::string& session) const {
    struct stat mine, there;
    ::mdb_filehandle_t handle = -1;
    return ::mdb_env_get_fd(env_, &handle) == 0 && ::fstat(handle, &mine) == 0 &&
           ::stat(io::join_path(session, "data.mdb").c_str(), &there) == 0 && mine.st_dev == there.st_dev &&
           mine.st_ino == there.st_ino;
  }
  MDB_env* env() const { return env_; }
  MDB_dbi rows() const { return rows_; }

  /// A view of the rows as they are now, for this thread; empty if there are too many at once.
  class Reader {
   public:
    explicit Reader(LmdbEnvironment& environment) : environment_(environment), txn_(environment.take_reader()) {}
    Reader(const Reader&) = delete;
    ~Reader() {
      if (txn_) environment_.give_back(txn_);
    }
    explicit operator bool() const { return txn_ != nullptr; }
    /// False: there is no such key.
    bool get(std::string_view key, std::string_view& value) const {
      MDB_val k{key.size(), const_cast<char*>(key.data())}, v{};
      if (::mdb_get(txn_, environment_.rows_, &k, &v) != 0) return false;
      value = {static_cast<const char*>(v.mv_data), v.mv_size};
      return true;
    }
    MDB_txn* txn() const { return txn_; }

   private:
    LmdbEnvironment& environment_;
    MDB_txn* txn_;
  };

  /// Bytes of the disk that others are left: a twentieth, at most 1 GiB.
  bool disk_is_nearly_full() const { return is_nearly_full(session_); }

 private:
  /// As large as the disk, so that it never has to grow: it takes addresses, no memory. Less if that is limited.
  std::size_t map_size() const {
    struct statvfs disk;
    std::uint64_t size = std::uint64_t{1} << 40;
    if (::statvfs(session_.c_str(), &disk) == 0) size = std::min<std::uint64_t>(size, disk.f_blocks * disk.f_frsize);
    size = std::max<std::uint64_t>(size, 16 << 20);
    if (sizeof(std::size_t) < 8) size = std::min<std::uint64_t>(size, 256 << 20);
    return static_cast<std::size_t>(size / 4096 * 4096);
  }
  /// False, with what is wrong: the file is not of LMDB, not of this format, cut short, or damaged. Throws for other
  /// reasons.
  bool open(unsigned flags, std::string& fault) {
    if (const io::FileHandle file(::open(io::join_path(session_, "data.mdb").c_str(), O_RDONLY | O_CLOEXEC));
        file.valid() && !(fault = fault_of_lmdb_metas(file.get())).empty())
      return false;
    int result = ENOMEM;
    for (std::size_t size = map_size(); result == ENOMEM && size >= 1 << 20; size /= 2) {
      if ((result = ::mdb_env_create(&env_)) != 0) break;
      ::mdb_env_set_mapsize(env_, size);
      ::mdb_env_set_maxreaders(env_, 1000);
      result = ::mdb_env_open(env_, session_.c_str(), flags | MDB_NOTLS, 0600);
      if (result != 0) ::mdb_env_close(env_);
    }
    const bool unknown = result == MDB_INVALID || result == MDB_VERSION_MISMATCH || result == MDB_CORRUPTED;
    if (result != 0 && !unknown)
      throw_error<RuntimeError>("Cannot open the cache in '", session_, "': ", lmdb_reason(result, session_), ".");
    if (unknown) return fault = ::mdb_strerror(result), false;
    if (!is_whole()) fault = "it is shorter than it says";
    else if (fault = fault_of_pages(); fault.empty() && !has_format()) fault = "it has another format";
    if (!fault.empty()) ::mdb_env_close(env_);
    return fault.empty();
  }
  /// What is wrong with the file as it is now, "" if nothing is.
  std::string fault_of_pages() const {
    ::mdb_filehandle_t file = -1;
    if (::mdb_env_get_fd(env_, &file) != 0) return "";
    for (std::size_t before = ~std::size_t{0};;) {
      MDB_txn* txn = nullptr;
      const int result = ::mdb_txn_begin(env_, nullptr, MDB_RDONLY, &txn);
      if (result == MDB_READERS_FULL) return "";
      if (result != 0) return ::mdb_strerror(result);
      const std::size_t id = ::mdb_txn_id(txn);
      LmdbCheck check(file, id);
      const bool is_snapshot = check.is_snapshot();
      const std::string fault = is_snapshot ? check.fault() : "";
      ::mdb_txn_abort(txn);
      if (is_snapshot) return fault;
      // who comes after others have committed gets a later snapshot: no page says what this one is
      if (id == before) return text("page ", id & 1, " is damaged");
      before = id;
    }
  }
  /// All pages that the file's header speaks of are there: a page that is missing ends the program that reads it.
  bool is_whole() const {
    MDB_envinfo info;
    MDB_stat stat;
    struct stat file;
    ::mdb_filehandle_t handle = -1;
    return ::mdb_env_info(env_, &info) == 0 && ::mdb_env_stat(env_, &stat) == 0 &&
           ::mdb_env_get_fd(env_, &handle) == 0 && ::fstat(handle, &file) == 0 &&
           static_cast<std::uint64_t>(file.st_size) >= (std::uint64_t{info.me_last_pgno} + 1) * stat.ms_psize;
  }
  /// Opens the rows, and writes what they are into an empty file. Only then it has to wait for writers.
  bool has_format() {
    bool is_empty = false;
    if (says_format(is_empty)) return true;
    MDB_txn* txn = nullptr;
    if (!is_empty || ::mdb_txn_begin(env_, nullptr, 0, &txn) != 0) return false;
    MDB_val key{1, const_cast<char*>("h")}, value{format.size(), const_cast<char*>(format.data())};
    if (::mdb_put(txn, rows_, &key, &value, 0) == 0) return ::mdb_txn_commit(txn) == 0;
    ::mdb_txn_abort(txn);
    return false;
  }
  bool says_format(bool& is_empty) {
    MDB_txn* txn = nullptr;
    if (::mdb_txn_begin(env_, nullptr, MDB_RDONLY, &txn) != 0) return false;
    MDB_val key{1, const_cast<char*>("h")}, found{};
    MDB_stat stat{};
    bool right = ::mdb_dbi_open(txn, nullptr, 0, &rows_) == 0;
    is_empty = right && ::mdb_stat(txn, rows_, &stat) == 0 && stat.ms_entries == 0;
    right = right && ::mdb_get(txn, rows_, &key, &found) == 0 &&
            std::string_view(static_cast<char*>(found.mv_data), found.mv_size) == format;
    if (right || is_empty) ::mdb_txn_commit(txn);  // which keeps rows_ open
    else ::mdb_txn_abort(txn);
    return right;
  }
  void remove_rows() const {
    for (const char* name : {"data.mdb", "lock.mdb"}) ::unlink(io::join_path(session_, name).c_str());
  }

  MDB_txn* take_reader() {
    MDB_txn* reader = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (!readers_.empty()) {
        reader = readers_.back();
        readers_.pop_back();
      }
    }
    if (reader) {
      if (::mdb_txn_renew(reader) == 0) return reader;
      ::mdb_txn_abort(reader);
      return nullptr;
    }
    int result = ::mdb_txn_begin(env_, nullptr, MDB_RDONLY, &reader);
    if (int dead = 0; result == MDB_READERS_FULL && ::mdb_reader_check(env_, &dead) == 0 && dead > 0)
      result = ::mdb_txn_begin(env_, nullptr, MDB_RDONLY, &reader);
    return result == 0 ? reader : nullptr;
  }
  void give_back(MDB_txn* reader) {
    ::mdb_txn_reset(reader);
    const std::lock_guard lock(mutex_);
    readers_.push_back(reader);
  }

  std::string session_;
  MDB_env* env_ = nullptr;
  MDB_dbi rows_ = 0;
  std::mutex mutex_;
  std::vector<MDB_txn*> readers_;
};

/// The files that this process has open, and by how many each is used.
class LmdbEnvironments {
  struct Entry {
    Entry(const std::string& session, const LmdbEnvironment* damaged) : environment(session, damaged) {}
    LmdbEnvironment environment;
    long uses = 0;
  };

 public:
  /// One use of a file. The last one closes it before it can be opened again.
  class Lease {
   public:
    /// damaged     the file that is not to be used any more
    explicit Lease(const std::string& session, const LmdbEnvironment* damaged = nullptr) : all_(of_this_process()) {
      const std::lock_guard lock(all_.mutex_);
      for (const auto& entry : all_.entries_)
        if (&entry->environment != damaged && entry->environment.has_open(session)) entry_ = entry.get();
      if (!entry_) entry_ = all_.entries_.emplace_back(std::make_unique<Entry>(session, damaged)).get();
      ++entry_->uses;
    }
    Lease(const Lease&) = delete;
    ~Lease() {
      const std::lock_guard lock(all_.mutex_);
      if (--entry_->uses == 0)
        std::erase_if(all_.entries_, [this](const auto& entry) { return entry.get() == entry_; });
    }
    LmdbEnvironment& operator*() const { return entry_->environment; }

   private:
    LmdbEnvironments& all_;
    Entry* entry_ = nullptr;
  };

 private:
  explicit LmdbEnvironments(pid_t process) : process_(process) {}

  /// A child's own ones: a thread of the parent that the child lacks may have held the mutex of the parent's.
  static LmdbEnvironments& of_this_process() {
    static std::atomic<LmdbEnvironments*> current{nullptr};
    LmdbEnvironments* found = current.load();
    while (!found || found->process_ != ::getpid()) {
      auto* const fresh = new LmdbEnvironments(::getpid());  // as long as the process
      if (current.compare_exchange_strong(found, fresh)) return *fresh;
      delete fresh;
    }
    return *found;
  }

  const pid_t process_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace tenon::dataset::detail
