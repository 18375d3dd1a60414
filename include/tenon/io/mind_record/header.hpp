// The header of a MindRecord file: its schema, its pages, and the names of all files of the set.
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
#include <tenon/io/json.hpp>
#include <tenon/io/mind_record/schema.hpp>
#include <tenon/io/text/escaped_text.hpp>

namespace tenon::inline TENON_ABI::io {

[[noreturn, gnu::cold]] inline void throw_bad_mind_record(const std::string& path, const std::string& reason) {
  throw_error<RuntimeError>("Cannot read '", path, "' as a MindRecord file: ", reason, ".");
}

/// A page of a file: a place of page_size bytes after the header, by its number.
struct MindRecordPage {
  std::uint32_t id = 0;
  bool blob = false;
  std::uint32_t type_id = 0;                 // counts the pages of its kind
  std::uint32_t used = 0;                    // bytes
  std::uint64_t start_row = 0, end_row = 0;  // of a page of blobs
  struct Group {
    std::uint32_t id = 0;      // the page of blobs, by its type_id
    std::uint32_t offset = 0;  // where its rows' numbers and texts begin
  };
  std::vector<Group> groups{};
};

/// Sizes of MindSpore: what a file may say, and what it says by default.
inline constexpr std::uint64_t mind_record_header_least = 16 << 10, mind_record_header_most = 128 << 20,
                               mind_record_page_least = 32 << 10, mind_record_page_most = 256 << 20;
inline constexpr int mind_record_most_shards = 1000;

struct MindRecordHeader {
  std::uint64_t header_size = 16 << 20, page_size = 32 << 20;
  std::int64_t compression_size = 0;  // bytes that the compression of integers has saved
  int shard = 0;
  std::vector<std::string> addresses{};  // the names of all files of the set, without folders
  std::vector<std::string> index_fields{};
  MindRecordSchema schema{};
  std::vector<MindRecordPage> pages{};

  std::uint64_t rows() const {
    std::uint64_t most = 0;
    for (const MindRecordPage& page : pages)
      if (page.blob) most = std::max(most, page.end_row);
    return most;
  }
  std::uint64_t place_of(std::uint64_t page) const { return header_size + page * page_size; }
};

namespace detail {
/// A path after its last slash.
inline std::string file_name_of(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

/// The files of a set: one has the set's name, several have a number after it, each as long as the longest.
[[gnu::cold]] inline std::vector<std::string> names_of_set(const std::string& set, std::size_t shards) {
  if (shards == 1) return {set};
  const std::size_t digits = std::to_string(shards - 1).size();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < shards; ++i) {
    const std::string number = std::to_string(i);
    names.push_back(set + std::string(digits - number.size(), '0') + number);
  }
  return names;
}
}  // namespace detail

/// The header as MindSpore writes it, with the same bytes.
[[gnu::cold]] inline std::string mind_record_header_json(const MindRecordHeader& header) {
  std::string json = text("{\"header_size\":", header.header_size, ",\"index_fields\":");
  for (const std::string& field : header.index_fields)
    json += text(&field == header.index_fields.data() ? "[" : ",", "{\"index_field\":\"", field, "\",\"schema_id\":0}");
  json += header.index_fields.empty() ? "null" : "]";
  json += ",\"page\":";
  for (const MindRecordPage& page : header.pages) {
    json += text(&page == header.pages.data() ? "[" : ",", "{\"end_row_id\":", page.end_row, ",\"page_id\":", page.id,
                 ",\"page_size\":", page.used, ",\"page_type\":\"", page.blob ? "BLOB_DATA" : "RAW_DATA",
                 "\",\"page_type_id\":", page.type_id, ",\"row_group_ids\":[");
    for (const MindRecordPage::Group& group : page.groups)
      json += text(&group == page.groups.data() ? "" : ",", "{\"id\":", group.id, ",\"offset\":", group.offset, "}");
    json += text("],\"shard_id\":", header.shard, ",\"start_row_id\":", page.start_row, "}");
  }
  json += text(header.pages.empty() ? "null" : "]", ",\"page_size\":", header.page_size,
               ",\"compression_size\":", std::max(header.compression_size, std::int64_t(0)),
               ",\"schema\":[{\"blob_fields\":[");
  bool first = true;
  for (const MindRecordField& field : header.schema.fields()) {
    if (!field.is_blob()) continue;
    json += text(first ? "" : ",", "\"", field.name, "\"");
    first = false;
  }
  json += text("],\"desc\":\"", json_escaped(header.schema.description()),
               "\",\"schema\":", detail::json_of_schema(header.schema), "}],\"shard_addresses\":[");
  for (const std::string& address : header.addresses)
    json += text(&address == header.addresses.data() ? "" : ",", "\"", json_escaped(address), "\"");
  return json + text("],\"shard_id\":", header.shard, ",\"statistics\":null,\"version\":\"3.0\"}");
}

namespace detail {

/// Reads a header's JSON: what is there is what a reader can rely on, apart from the size of the file.
class MindRecordHeaderParser {
 public:
  MindRecordHeaderParser(std::string_view json, const std::string& path) : path_(path), json_(parse(json, path)) {}

  [[gnu::cold]] MindRecordHeader header() {
    if (!json_.is(Json::Kind::object)) fail("its header is no JSON object");
    const std::string version = text_of(json_, "version");
    if (version != "3.0" && version != "2.0")
      fail(text("its version is ", printable(version), ", known are '2.0' and '3.0'"));
    MindRecordHeader header;
    header.header_size = whole(json_, "header_size", mind_record_header_least, mind_record_header_most);
    header.page_size = whole(json_, "page_size", mind_record_page_least, mind_record_page_most);
    if (const Json* const saved = json_.find("compression_size")) header.compression_size = saved->integer;
    read_addresses(header);
    read_schema(header);
    read_index_fields(header);
    const Json* const pages = json_.find("page");
    if (!pages || !pages->is(Json::Kind::null))  // of a file without rows
      for (const Json& page : list(json_, "page").items) header.pages.push_back(read_page(page, header));
    std::ranges::sort(header.pages, {}, &MindRecordPage::id);
    const auto twice = std::ranges::adjacent_find(header.pages, {}, &MindRecordPage::id);
    if (twice != header.pages.end()) fail(text("it has the page ", twice->id, " twice"));
    return header;
  }

 private:
  static constexpr std::uint64_t any = std::uint64_t(1) << 62;

  static Json parse(std::string_view json, const std::string& path) {
    // a page has 12 values in some 150 bytes, and a group of rows 3 in 20
    const JsonLimits limits{
        .bytes = mind_record_header_most, .values = 4096 + json.size() / 6, .depth = 8, .names = 256};
    return parse_json(json, text("Cannot read '", path, "' as a MindRecord file: its header is no JSON"), limits);
  }
  [[noreturn, gnu::cold]] void fail(const std::string& reason) const { throw_bad_mind_record(path_, reason); }

  const Json& value(const Json& object, std::string_view name, Json::Kind kind) const {
    const Json* const found = object.find(name);
    if (!found || !found->is(kind)) fail(text("its header lacks '", name, "', or it has another type"));
    return *found;
  }
  const Json& list(const Json& object, std::string_view name) const { return value(object, name, Json::Kind::array); }
  const std::string& text_of(const Json& object, std::string_view name) const {
    return value(object, name, Json::Kind::string).string;
  }
  std::uint64_t whole(const Json& object, std::string_view name, std::uint64_t least, std::uint64_t most) const {
    const std::int64_t number = value(object, name, Json::Kind::whole).integer;
    if (number < 0 || std::uint64_t(number) < least || std::uint64_t(number) > most)
      fail(text("'", name, "' in its header is ", number, ", which must be in ", least, " .. ", most));
    return std::uint64_t(number);
  }
  void read_addresses(MindRecordHeader& header) const {
    for (const Json& address : list(json_, "shard_addresses").items) {
      if (!address.is(Json::Kind::string)) fail("a name in 'shard_addresses' is no text");
      const std::string name = address.string.substr(address.string.find_last_of('/') + 1);
      if (name.empty() || name == "." || name == ".." || name.find('\0') != name.npos)
        fail(text("'shard_addresses' has the name ", printable(address.string)));
      header.addresses.push_back(name);
    }
    if (header.addresses.empty() || header.addresses.size() > std::size_t(mind_record_most_shards))
      fail(text("'shard_addresses' in its header has ", header.addresses.size(), " names, there are 1 .. ",
                mind_record_most_shards));
    header.shard = int(whole(json_, "shard_id", 0, header.addresses.size() - 1));
  }
  void read_schema(MindRecordHeader& header) const {
    const Json& schemas = list(json_, "schema");
    if (schemas.items.size() != 1) fail(text("it has ", schemas.items.size(), " schemas, there can be one"));
    const Json& entry = schemas.items.front();
    try {
      header.schema = schema_from_json(value(entry, "schema", Json::Kind::object), text_of(entry, "desc"));
    } catch (const ValueError& error) {
      fail(text("its schema is none: ", error.what()));
    }
    std::vector<std::string> blobs;
    for (const Json& name : list(entry, "blob_fields").items) blobs.push_back(name.string);
    std::ranges::sort(blobs);
    std::vector<std::string> expected;
    for (const MindRecordField& field : header.schema.fields())
      if (field.is_blob()) expected.push_back(field.name);
    if (blobs != expected) fail("'blob_fields' in its header are not the fields of bytes and arrays of its schema");
  }
  void read_index_fields(MindRecordHeader& header) const {
    const Json* const fields = json_.find("index_fields");
    if (!fields || fields->is(Json::Kind::null)) return;
    for (const Json& field : list(json_, "index_fields").items) {
      const std::string& name = text_of(field, "index_field");
      const std::size_t found = header.schema.find(name);
      if (found == MindRecordSchema::none || header.schema[found].is_blob())
        fail(text("its index has the field ", printable(name), ", which is no number or text of its schema"));
      header.index_fields.push_back(name);
    }
  }
  MindRecordPage read_page(const Json& json, const MindRecordHeader& header) const {
    constexpr std::uint64_t most = 0xffffffff;
    MindRecordPage page;
    page.id = std::uint32_t(whole(json, "page_id", 0, most));
    page.type_id = std::uint32_t(whole(json, "page_type_id", 0, most));
    page.used = std::uint32_t(whole(json, "page_size", 0, header.page_size));
    page.start_row = whole(json, "start_row_id", 0, any);
    page.end_row = whole(json, "end_row_id", 0, any);
    const std::string& type = text_of(json, "page_type");
    page.blob = type == "BLOB_DATA";
    if (!page.blob && type != "RAW_DATA") fail(text("a page has the type ", printable(type)));
    if (page.blob && page.start_row > page.end_row) fail(text("the rows of page ", page.id, " end before they begin"));
    for (const Json& group : list(json, "row_group_ids").items)
      page.groups.push_back(
          {std::uint32_t(whole(group, "id", 0, most)), std::uint32_t(whole(group, "offset", 0, header.page_size))});
    return page;
  }

  const std::string& path_;
  Json json_;
};

}  // namespace detail

/// Reads a header's JSON. Throws RuntimeError that says what is wrong; path is for messages.
[[gnu::cold]] inline MindRecordHeader parse_mind_record_header(std::string_view json, const std::string& path) {
  return detail::MindRecordHeaderParser(json, path).header();
}

}  // namespace tenon::io
