// The index of a MindRecord file, `<file>.db`: where each row lies, and the values of the index fields.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/io/file.hpp>
#include <tenon/io/mind_record/header.hpp>
#include <tenon/io/mind_record/sqlite.hpp>
#include <tenon/io/mind_record/value.hpp>
#include <tenon/io/text/escaped_text.hpp>

namespace tenon::inline TENON_ABI::io {

/// Where a row lies, as the index says it: pages by their numbers, bytes inside of them, with the 8 of the length.
struct MindRecordRowPlace {
  std::uint32_t raw_page = 0, raw_begin = 0, raw_end = 0;
  std::uint32_t group = 0;
  std::uint32_t blob_page = 0, blob_begin = 0, blob_end = 0;
};

/// The index of a file as it is read.
struct MindRecordIndex {
  std::string name;  // of the file when it was written
  std::vector<MindRecordRowPlace> rows;
};

/// Reads an index. Throws RuntimeError if it is none, or has not each row once.
[[gnu::cold]] inline MindRecordIndex read_mind_record_index(const std::string& path) {
  const auto fail = [&](const std::string& reason) {
    throw_error<RuntimeError>("Cannot read '", path, "' as the index of a MindRecord file: ", reason, ".");
  };
  const SqliteDatabase database = SqliteDatabase::open_to_read(path);
  MindRecordIndex index;
  const SqliteStatement names = database.prepare("SELECT NAME FROM SHARD_NAME");
  if (!database.step(names) || sqlite3_column_type(names.get(), 0) != SQLITE_TEXT) fail("it names no file");
  index.name.assign(reinterpret_cast<const char*>(sqlite3_column_text(names.get(), 0)),
                    std::size_t(sqlite3_column_bytes(names.get(), 0)));
  const SqliteStatement rows = database.prepare(
      "SELECT ROW_ID, PAGE_ID_RAW, PAGE_OFFSET_RAW, PAGE_OFFSET_RAW_END, ROW_GROUP_ID, PAGE_ID_BLOB, PAGE_OFFSET_BLOB, "
      "PAGE_OFFSET_BLOB_END FROM INDEXES ORDER BY ROW_ID");
  while (database.step(rows)) {
    std::uint32_t values[7];
    for (int column = 0; column < 8; ++column) {
      const std::int64_t number =
          sqlite3_column_type(rows.get(), column) == SQLITE_INTEGER ? sqlite3_column_int64(rows.get(), column) : -1;
      if (number < 0 || number > 0xffffffff) fail(text("the place of row ", index.rows.size(), " is none"));
      if (column > 0) values[column - 1] = std::uint32_t(number);
      else if (std::size_t(number) != index.rows.size())
        fail(text("row ", index.rows.size(), " is not in it, or more than once"));
    }
    index.rows.push_back({values[0], values[1], values[2], values[3], values[4], values[5], values[6]});
  }
  return index;
}

/// Why the index cannot have columns for these fields, or nothing. SQL does not tell capitals from small letters.
[[gnu::cold]] inline std::string fault_of_index(const std::vector<std::string>& fields) {
  const auto same = [](const std::string& a, const std::string& b) {
    return std::ranges::equal(
        a, b, [](char x, char y) { return x == y || ((x ^ y) == 32 && ((x | 32) >= 'a' && (x | 32) <= 'z')); });
  };
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string& name = fields[i];
    if (name[0] >= '0' && name[0] <= '9')  // MindSpore refuses it, too
      return text("the index field '", name, "' can't start with a number");
    if (same(name, "INC")) return text("the index field '", name, "' has the name of a column that each index has");
    for (std::size_t k = 0; k < i; ++k)
      if (same(name, fields[k]))
        return text("the index fields '", fields[k], "' and '", name, "' differ only by capitals");
  }
  return "";
}

/// Writes an index into an empty file, as MindSpore does: the same tables and columns.
class MindRecordIndexWriter {
 public:
  /// file: the path of the index; name: of the file that it is for.
  [[gnu::cold]] MindRecordIndexWriter(const std::string& file, const std::string& name, const MindRecordHeader& header)
      : database_(SqliteDatabase::open_to_fill(file)) {
    database_.run("CREATE TABLE SHARD_NAME(NAME TEXT NOT NULL)");
    const SqliteStatement insert_name = database_.prepare("INSERT INTO SHARD_NAME VALUES(?1)");
    sqlite3_bind_text(insert_name.get(), 1, name.data(), int(name.size()), SQLITE_STATIC);
    database_.step(insert_name);
    std::string columns, key, values;
    for (std::size_t i = 0; i < header.index_fields.size(); ++i) {
      const std::size_t field = header.schema.find(header.index_fields[i]);
      fields_.push_back(field);
      const MindRecordType type = header.schema[field].type;
      const char* const stored = type == MindRecordType::string  ? "TEXT"
                                 : type <= MindRecordType::int64 ? "INTEGER"
                                                                 : "REAL";
      columns += text("INC_", i, " INT, ", header.index_fields[i], "_0 ", stored, ",");
      key += text(",INC_", i);
      values += ",?,?";
    }
    database_.run(text("CREATE TABLE INDEXES(  ROW_ID               INT  NOT NULL, PAGE_ID_RAW          INT  NOT NULL, "
                       "PAGE_OFFSET_RAW      INT  NOT NULL, PAGE_OFFSET_RAW_END  INT  NOT NULL, "
                       "ROW_GROUP_ID         INT  NOT NULL, PAGE_ID_BLOB         INT  NOT NULL, "
                       "PAGE_OFFSET_BLOB     INT  NOT NULL, PAGE_OFFSET_BLOB_END INT  NOT NULL,",
                       columns, " PRIMARY KEY(ROW_ID", key, "))"));
    insert_ = database_.prepare(text("INSERT INTO INDEXES VALUES(?,?,?,?,?,?,?,?", values, ")"));
    database_.run("BEGIN");
  }

  /// scalars: one for each field of the schema.
  void add(const MindRecordRowPlace& place, std::span<const MindRecordScalar> scalars) {
    const std::uint32_t places[]{place.raw_page,  place.raw_begin,  place.raw_end, place.group,
                                 place.blob_page, place.blob_begin, place.blob_end};
    int column = 0;
    sqlite3_bind_int64(insert_.get(), ++column, rows_++);
    for (const std::uint32_t number : places) sqlite3_bind_int64(insert_.get(), ++column, number);
    for (const std::size_t field : fields_) {
      const MindRecordScalar& scalar = scalars[field];
      sqlite3_bind_int64(insert_.get(), ++column, 0);
      ++column;
      if (scalar.kind == MindRecordScalar::Kind::text)
        sqlite3_bind_text64(insert_.get(), column, scalar.text.data(), scalar.text.size(), SQLITE_STATIC, SQLITE_UTF8);
      else if (scalar.kind == MindRecordScalar::Kind::real) sqlite3_bind_double(insert_.get(), column, scalar.real);
      else sqlite3_bind_int64(insert_.get(), column, scalar.whole);
    }
    database_.step(insert_);
    sqlite3_reset(insert_.get());
  }
  /// To be called after the last row.
  [[gnu::cold]] void finish() { database_.run("COMMIT"); }

 private:
  SqliteDatabase database_;
  SqliteStatement insert_{nullptr};
  std::vector<std::size_t> fields_;
  std::int64_t rows_ = 0;
};

}  // namespace tenon::io
