// record: what MindRecord files hold.
#pragma once
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

#include <tenon/core/error.hpp>
#if __has_include(<sqlite3.h>) && __has_include(<nlohmann/json.hpp>)
#include <tenon/io/file.hpp>
#include <tenon/io/mind_record.hpp>
#endif

namespace inspect {
using namespace tenon;

#if __has_include(<sqlite3.h>) && __has_include(<nlohmann/json.hpp>)

/// A value on one line: a number, the begin of an array or a text, the number of bytes.
inline std::string text_of_field(const io::MindRecordField& field, const TextOrTensor& value) {
  constexpr std::int64_t most = 8;
  if (field.type == io::MindRecordType::bytes) return text(value.text.size(), " bytes");
  if (!value.is_tensor) return io::printable(value.text);
  std::string shown;
  io::detail::with_elements(value.tensor.dtype, value.tensor.data, [&](const auto* elements) {
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(*elements)>>)
      for (std::int64_t i = 0; i < value.tensor.count() && i < most; ++i) shown += text(i ? " " : "", elements[i]);
  });
  if (!field.is_array()) return shown;
  return text(shape_text(value.tensor.shape()), " ", shown, value.tensor.count() > most ? " ..." : "");
}

/// Files, schema, and the first rows of a set; with `verify`, whether each row can be read. False if one cannot.
inline bool show_record(const std::string& path, long rows, bool verify) {
  const io::MindRecordReader reader(path);
  std::printf("MindRecord, %ld rows in %zu %s\n", long(reader.size()), reader.shards().size(),
              reader.shards().size() == 1 ? "file" : "files");
  for (const auto& shard : reader.shards()) {
    const io::MindRecordHeader& header = shard.header();
    std::printf("  %s  %ld rows, %zu pages of %llu bytes\n", shard.path().c_str(), long(shard.rows()),
                header.pages.size(), static_cast<unsigned long long>(header.page_size));
  }
  std::printf("fields%s\n", reader.schema().description().empty()
                                ? ""
                                : text(" (", io::printable(reader.schema().description()), ")").c_str());
  const auto& indexed = reader.index_fields();
  for (const io::MindRecordField& field : reader.schema().fields())
    std::printf("  %-24s %-16s%s\n", field.name.c_str(), io::type_text(field).c_str(),
                std::ranges::find(indexed, field.name) == indexed.end() ? "" : " in the index");
  io::MindRecordRow row;
  for (long i = 0; i < rows && i < reader.size(); ++i) {
    reader.read(i, row);
    std::printf("row %ld\n", i);
    for (std::size_t field = 0; field < reader.schema().size(); ++field)
      std::printf("  %-24s %s\n", reader.schema()[field].name.c_str(),
                  text_of_field(reader.schema()[field], row[field]).c_str());
  }
  long damaged = 0;
  for (long i = 0; verify && i < reader.size(); ++i) {
    try {
      reader.read(i, row);
    } catch (const Error& error) {
      std::printf("%s\n", error.what());
      ++damaged;
    }
  }
  if (verify) std::printf("%ld of %ld rows can be read\n", long(reader.size()) - damaged, long(reader.size()));
  return damaged == 0;
}
#else
inline bool show_record(const std::string& path, long, bool) {
  throw_error<RuntimeError>("'", path,
                            "': this tenon-inspect was compiled without SQLite or nlohmann_json, which "
                            "MindRecord files need.");
}
#endif

}  // namespace inspect
