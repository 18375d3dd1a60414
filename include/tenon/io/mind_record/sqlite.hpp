// SQLite databases in files: closed by themselves, opened so that a stranger's file can do no more than be refused.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <sqlite3.h>

#include <tenon/core/error.hpp>
#include <tenon/io/file.hpp>
#include <tenon/io/text/escaped_text.hpp>

namespace tenon::inline TENON_ABI::io {

/// A statement that is prepared once; columns count from 0, places of values from 1.
class SqliteStatement {
 public:
  explicit SqliteStatement(sqlite3_stmt* statement) : statement_(statement) {}
  sqlite3_stmt* get() const { return statement_.get(); }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class SqliteDatabase {
 public:
  /// A database that does not change: no lock, no journal, no code in its schema, no more work than its size explains.
  /// Throws RuntimeError if it is none.
  [[gnu::cold]] static SqliteDatabase open_to_read(const std::string& path) {
    std::uint64_t size = 0;
    {
      const FileHandle file = io::open_to_read(path);
      size = size_of_file(file, path);
    }
    SqliteDatabase database(path, uri_of(path),
                            SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE,
                            nullptr);
    sqlite3* const opened = database.get();
    sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(opened, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
#if defined(SQLITE_DBCONFIG_ENABLE_VIEW)
    sqlite3_db_config(opened, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
#endif
#if defined(SQLITE_DBCONFIG_TRUSTED_SCHEMA)
    sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
#endif
    sqlite3_limit(opened, SQLITE_LIMIT_ATTACHED, 0);
    constexpr std::uint64_t least = 1 << 20, most = 1000000000;
    sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, int(size < least ? least : size > most ? most : size));
    // a row of the index takes some 20 steps and as many bytes
    database.budget_ = std::make_unique<std::int64_t>(std::int64_t(size / 256 + 1000));
    sqlite3_progress_handler(opened, 1000, &work_is_done, database.budget_.get());
    database.run("PRAGMA temp_store=MEMORY");
    database.run("PRAGMA cell_size_check=ON");
    return database;
  }
  /// An empty file that only this process knows: nothing protects it, what is written is synced by the caller.
  [[gnu::cold]] static SqliteDatabase open_to_fill(const std::string& path) {
    SqliteDatabase database(path, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE,
                            "unix-none");
    database.run("PRAGMA journal_mode=OFF");
    database.run("PRAGMA synchronous=OFF");
    return database;
  }

  sqlite3* get() const { return database_.get(); }
  [[gnu::cold]] void run(const std::string& sql) const {
    if (sqlite3_exec(get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail();
  }
  [[gnu::cold]] SqliteStatement prepare(const std::string& sql) const {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(get(), sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) fail();
    return SqliteStatement(statement);
  }
  /// The next row: false after the last one.
  bool step(const SqliteStatement& statement) const {
    const int result = sqlite3_step(statement.get());
    if (result != SQLITE_ROW && result != SQLITE_DONE) fail();
    return result == SQLITE_ROW;
  }
  [[noreturn, gnu::cold]] void fail() const {
    throw_error<RuntimeError>("SQLite cannot work with '", path_, "': ", printable_sentence(sqlite3_errmsg(get())),
                              ".");
  }

 private:
  struct Close {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
  };
  SqliteDatabase(const std::string& path, const std::string& name, int flags, const char* system) : path_(path) {
    sqlite3* opened = nullptr;
    const int result = sqlite3_open_v2(name.c_str(), &opened, flags, system);
    database_.reset(opened);
    if (result != SQLITE_OK) fail();
  }
  static int work_is_done(void* budget) { return --*static_cast<std::int64_t*>(budget) < 0; }
  /// Nothing in the name is taken for a setting.
  static std::string uri_of(const std::string& path) {
    constexpr std::string_view digit = "0123456789ABCDEF";
    std::string uri = path.front() == '/' ? "file://" : "file:";
    for (const char c : path) {
      const auto code = static_cast<unsigned char>(c);
      const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                         std::string_view("/._-~").find(c) != std::string_view::npos;
      if (plain) uri += c;
      else uri.append({'%', digit[code >> 4], digit[code & 15]});
    }
    return uri + "?immutable=1";
  }

  std::string path_;
  std::unique_ptr<std::int64_t> budget_;
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace tenon::io
