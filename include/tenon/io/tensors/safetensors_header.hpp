// The JSON header of a safetensors file: a strict reader, the checks of its numbers, and the writer.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/dtype.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/tensor/any_tensor.hpp>
#include <tenon/io/tensors/held_tensors.hpp>
#include <tenon/io/tensors/sorted_names.hpp>
#include <tenon/io/text/escaped_text.hpp>

namespace tenon::inline TENON_ABI::io {

/// The most bytes that a header may have, as in the reference implementation.
inline constexpr std::uint64_t safetensors_header_limit = 100'000'000;

/// An element type of the format. Tenon has no type for some of them.
struct SafetensorsDtype {
  std::string_view name;
  unsigned bits;
  bool known = false;
  Dtype dtype = Dtype::bool_;
};

/// All types of the format. Writers sort tensors by this table, last row first, which aligns every element.
inline constexpr SafetensorsDtype safetensors_dtypes[]{
    {"BOOL", 8, true, Dtype::bool_},
    {"F4", 4},
    {"F6_E2M3", 6},
    {"F6_E3M2", 6},
    {"U8", 8, true, Dtype::uint8},
    {"I8", 8, true, Dtype::int8},
    {"F8_E5M2", 8},
    {"F8_E4M3", 8},
    {"F8_E8M0", 8},
    {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8},
    {"I16", 16, true, Dtype::int16},
    {"U16", 16, true, Dtype::uint16},
    {"F16", 16, true, Dtype::float16},
    {"BF16", 16, true, Dtype::bfloat16},
    {"I32", 32, true, Dtype::int32},
    {"U32", 32, true, Dtype::uint32},
    {"F32", 32, true, Dtype::float32},
    {"C64", 64},
    {"F64", 64, true, Dtype::float64},
    {"I64", 64, true, Dtype::int64},
    {"U64", 64, true, Dtype::uint64},
};

/// The format's row for a dtype of Tenon; every one has a row.
constexpr const SafetensorsDtype& safetensors_dtype(Dtype dtype) {
  const SafetensorsDtype* row = safetensors_dtypes;
  while (!row->known || row->dtype != dtype) ++row;
  return *row;
}

/// One tensor as the header describes it: its bytes are [begin, end) after the header.
struct SafetensorsEntry {
  std::string name;
  const SafetensorsDtype* dtype = nullptr;
  std::array<std::int64_t, AnyTensor::max_axes> extent{};
  std::size_t rank = 0;
  std::uint64_t begin = 0, end = 0;
  std::size_t place = 0;  // of the name, in bytes from the start of the file, for messages

  std::span<const std::int64_t> shape() const { return {extent.data(), rank}; }
};

struct SafetensorsHeader {
  tenon::detail::Growing<SafetensorsEntry> entries;
  std::vector<std::pair<std::string, std::string>> metadata;
};

[[noreturn, gnu::cold]] inline void throw_bad_safetensors(const std::string& path, const std::string& reason) {
  throw_error<RuntimeError>("Cannot read '", path, "' as safetensors: ", reason,
                            ". The file is damaged or of another format: save or download it again.");
}

namespace detail {

/// Reads the one form of JSON that a header can have, in one pass without recursion: an object of objects with the
/// members dtype, shape and data_offsets, and one object of texts. Whatever else JSON allows is refused with its place
/// in the file.
class SafetensorsParser {
 public:
  SafetensorsParser(std::string_view json, const std::string& path) : json_(json), path_(path) {}

  [[gnu::cold]] SafetensorsHeader parse() {
    if (const std::size_t bad = find_bad_utf8(json_); bad != json_.npos) fail(bad, "the header is not UTF-8");
    if (json_.empty() || json_[0] != '{') fail(0, "the header does not start with '{'");
    SafetensorsHeader header;
    bool has_metadata = false;
    for (Member member; next(member);) {
      if (member.key != "__metadata__") header.entries.push_back(entry(member));
      else if (std::exchange(has_metadata, true)) fail(member.place, "the name '__metadata__' is there twice");
      else
        for (Member text; next(text);) header.metadata.emplace_back(std::move(text.key), string());
    }
    if (const std::size_t rest = json_.find_first_not_of(' ', position_); rest != json_.npos)
      fail(rest, "only spaces may follow the header's last '}'");
    check_unique(header);
    return header;
  }

 private:
  // A member of an object, as far as its colon: the value comes next.
  struct Member {
    std::string key;
    std::size_t place = 0;
    bool is_first = true;
  };

  [[noreturn, gnu::cold, gnu::noinline]] void fail(std::size_t at, std::string_view reason) const {
    throw_bad_safetensors(path_, text(reason, ", at byte ", at + 8));
  }

  [[gnu::cold, gnu::noinline]] std::size_t next() {
    while (position_ < json_.size() && std::string_view(" \t\n\r").find(json_[position_]) != std::string_view::npos)
      ++position_;
    return position_;
  }
  [[gnu::cold, gnu::noinline]] bool accept(char c) {
    if (next() == json_.size() || json_[position_] != c) return false;
    ++position_;
    return true;
  }
  [[gnu::cold, gnu::noinline]] void expect(char c) {
    if (accept(c)) return;
    fail(position_, text("expected '", std::string_view(&c, 1), "', found ",
                         position_ == json_.size() ? "the header's end" : printable(json_.substr(position_, 1))));
  }

  /// Steps to the next member of an object, at first to its '{'. False after its '}'.
  [[gnu::cold]] bool next(Member& member) {
    if (std::exchange(member.is_first, false)) {
      expect('{');
      if (accept('}')) return false;
    } else if (!accept(',')) {
      expect('}');
      return false;
    }
    member.place = next();
    member.key = string();
    expect(':');
    return true;
  }

  [[gnu::cold]] std::string string() {
    expect('"');
    std::string result;
    for (;;) {
      const std::size_t stop = std::min(json_.find_first_of("\"\\", position_), json_.size());
      const std::string_view run = json_.substr(position_, stop - position_);
      for (std::size_t i = 0; i < run.size(); ++i)
        if (static_cast<unsigned char>(run[i]) < 0x20)
          fail(position_ + i, "a text holds a control character that is not escaped");
      result += run;
      position_ = stop;
      if (stop == json_.size()) fail(stop, "a text does not end");
      if (json_[position_++] == '"') return result;
      escape(result);
    }
  }

  [[gnu::cold]] void escape(std::string& result) {
    constexpr std::string_view letters = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
    const std::size_t start = position_ - 1;
    const char letter = position_ < json_.size() ? json_[position_++] : '\0';
    if (const std::size_t found = letters.find(letter); found != letters.npos) {
      result += meanings[found];
      return;
    }
    if (letter != 'u') fail(start, "unknown escape in a text");
    unsigned code = hex4(start);
    if (code >= 0xd800 && code < 0xdc00) {
      if (json_.substr(position_, 2) != "\\u") fail(start, "half of a surrogate pair in a text");
      position_ += 2;
      const unsigned second = hex4(start);
      if (second < 0xdc00 || second > 0xdfff) fail(start, "half of a surrogate pair in a text");
      code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000) {
      fail(start, "half of a surrogate pair in a text");
    }
    append_utf8(result, code);
  }

  [[gnu::cold]] unsigned hex4(std::size_t start) {
    unsigned value = 0;
    for (int i = 0; i < 4; ++i, ++position_) {
      const char c = position_ < json_.size() ? json_[position_] : '\0';
      const char lower = static_cast<char>(c | 0x20);
      if (c >= '0' && c <= '9') value = value << 4 | static_cast<unsigned>(c - '0');
      else if (lower >= 'a' && lower <= 'f') value = value << 4 | static_cast<unsigned>(lower - 'a' + 10);
      else fail(start, "\\u needs four hexadecimal digits");
    }
    return value;
  }

  /// A whole number from 0 to 2^63 - 1, which is what an extent and a place in a file can be.
  [[gnu::cold, gnu::noinline]] std::uint64_t number() {
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    const std::size_t start = next();
    std::uint64_t value = 0;
    for (; position_ < json_.size() && json_[position_] >= '0' && json_[position_] <= '9'; ++position_) {
      const auto digit = static_cast<std::uint64_t>(json_[position_] - '0');
      if (value > (most - digit) / 10) fail(start, "a number is larger than 2^63 - 1");
      value = value * 10 + digit;
    }
    if (position_ == start) fail(start, "expected a whole number that is not negative");
    if (json_[start] == '0' && position_ > start + 1) fail(start, "a number starts with 0");
    if (position_ < json_.size() && std::string_view(".eE").find(json_[position_]) != std::string_view::npos)
      fail(start, "expected a whole number");
    return value;
  }

  [[gnu::cold]] SafetensorsEntry entry(Member& tensor) {
    SafetensorsEntry result;
    result.name = std::move(tensor.key);
    result.place = tensor.place + 8;
    constexpr std::string_view known[]{"dtype", "shape", "data_offsets"};
    unsigned seen = 0;
    for (Member member; next(member);) {
      std::size_t which = 0;
      while (which < std::size(known) && member.key != known[which]) ++which;
      if (which == std::size(known))
        fail(member.place, text("tensor ", printable(result.name), " has the unknown member ", printable(member.key)));
      if (seen >> which & 1)
        fail(member.place, text("tensor ", printable(result.name), " has '", known[which], "' twice"));
      seen |= 1u << which;
      if (which == 0) result.dtype = dtype(result.name);
      else if (which == 1) shape(result);
      else offsets(result);
    }
    for (std::size_t which = 0; which < std::size(known); ++which)
      if (!(seen >> which & 1))
        fail(tensor.place, text("tensor ", printable(result.name), " has no '", known[which], "'"));
    return result;
  }

  [[gnu::cold]] const SafetensorsDtype* dtype(const std::string& tensor) {
    const std::size_t start = next();
    const std::string asked = string();
    for (const SafetensorsDtype& row : safetensors_dtypes)
      if (row.name == asked) return &row;
    fail(start,
         text("tensor ", printable(tensor), " has the dtype ", printable(asked), ", which the format does not know"));
  }

  [[gnu::cold]] void shape(SafetensorsEntry& entry) {
    expect('[');
    if (accept(']')) return;
    do {
      if (entry.rank == entry.extent.size())
        fail(next(),
             text("tensor ", printable(entry.name), " has more than the ", entry.rank, " axes that Tenon reads"));
      entry.extent[entry.rank++] = static_cast<std::int64_t>(number());
    } while (accept(','));
    expect(']');
  }

  [[gnu::cold]] void offsets(SafetensorsEntry& entry) {
    expect('[');
    entry.begin = number();
    expect(',');
    entry.end = number();
    expect(']');
  }

  [[gnu::cold]] void check_unique(const SafetensorsHeader& header) const {
    if (const SortedNames names(header.entries); names.twice())
      throw_bad_safetensors(path_, text("the header has the tensor ", printable(*names.twice()), " twice"));
    std::vector<std::string_view> keys(header.metadata.size());
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = header.metadata[i].first;
    if (const SortedNames names(keys); names.twice())
      throw_bad_safetensors(path_, text("__metadata__ has the key ", printable(*names.twice()), " twice"));
  }

  std::string_view json_;
  const std::string& path_;
  std::size_t position_ = 0;
};

}  // namespace detail

namespace detail {
// What is wrong with the place of a tensor's bytes, where those before it end at `covered`; "" if nothing is.
[[gnu::cold]] inline std::string problem_of_place(const SafetensorsEntry& entry, std::uint64_t covered,
                                                  std::uint64_t data_bytes) {
  const auto misplaced = [&](std::string_view how, std::uint64_t number, std::string_view unit) {
    return text("has the data offsets [", entry.begin, ", ", entry.end, "), ", how, number, unit);
  };
  if (entry.end < entry.begin) return misplaced("which end before they begin at ", entry.begin, "");
  if (entry.end > data_bytes) return misplaced("the file has only ", data_bytes, " bytes of data");
  if (entry.begin < covered) return misplaced("which overlap another tensor's: expected ", covered, "");
  if (entry.begin > covered) return misplaced("which leave a hole: expected ", covered, "");
  std::uint64_t bytes = 0;
  if (!bytes_of_shape(entry.shape(), entry.dtype->bits, bytes))
    return text("has the impossible shape ", shape_text(entry.shape()));
  if (bytes == entry.end - entry.begin) return {};
  return text("has ", entry.end - entry.begin, " bytes of data, its shape ", shape_text(entry.shape()), " of ",
              entry.dtype->name, " needs ", bytes);
}
}  // namespace detail

/// Sorts the entries by place and checks that they cover the data without hole or overlap, each as long as its shape
/// says. A file with room for bytes that no tensor owns could be read as two formats at once, so it is refused.
[[gnu::cold]] inline void check_safetensors_layout(SafetensorsHeader& header, std::uint64_t data_bytes,
                                                   const std::string& path) {
  tenon::detail::Growing<SortKey> order;  // empty tensors stay as they are in the header
  for (std::size_t i = 0; i < header.entries.size(); ++i)
    order.push_back({header.entries[i].begin, header.entries[i].end, {}, i});
  sort_keys(order);
  tenon::detail::Growing<SafetensorsEntry> sorted;
  for (const SortKey& key : order) sorted.push_back(std::move(header.entries[key.index]));
  header.entries = std::move(sorted);
  std::uint64_t covered = 0;
  for (const SafetensorsEntry& entry : header.entries) {
    if (const std::string problem = detail::problem_of_place(entry, covered, data_bytes); !problem.empty())
      throw_bad_safetensors(path, text("tensor ", printable(entry.name), " (byte ", entry.place, ") ", problem));
    covered = entry.end;
  }
  if (covered != data_bytes)
    throw_bad_safetensors(path, text("the file has ", data_bytes, " bytes of data, its tensors cover ", covered));
}

/// Reads and checks the header's JSON.
///
/// data_bytes  what the file holds after the header
/// result      entries sorted by place: contiguous, disjoint, within the file
/// throws      RuntimeError with the reason and its place in the file
[[gnu::cold]] inline SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes,
                                                                const std::string& path) {
  SafetensorsHeader header = detail::SafetensorsParser(json, path).parse();
  check_safetensors_layout(header, data_bytes, path);
  return header;
}

/// The header as JSON, padded with spaces to a multiple of 8 bytes, which keeps the data aligned.
[[gnu::cold]] inline std::string write_safetensors_header(const SafetensorsHeader& header) {
  std::string metadata, members;  // with a comma before each
  for (const auto& [name, value] : header.metadata)
    metadata += text(",\"", json_escaped(name), "\":\"", json_escaped(value), "\"");
  if (!metadata.empty()) members = text(",\"__metadata__\":{", metadata.c_str() + 1, "}");
  for (const SafetensorsEntry& entry : header.entries) {
    std::string extents;
    for (const std::int64_t extent : entry.shape()) extents += text(extents.empty() ? "" : ",", extent);
    members += text(",\"", json_escaped(entry.name), "\":{\"dtype\":\"", entry.dtype->name, "\",\"shape\":[", extents,
                    "],\"data_offsets\":[", entry.begin, ",", entry.end, "]}");
  }
  const std::size_t length = members.empty() ? 2 : members.size() + 1;
  return text("{", members.c_str() + !members.empty(), "}", std::string((8 - length % 8) % 8, ' '));
}

}  // namespace tenon::io
