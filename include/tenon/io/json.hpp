// JSON texts, of strangers too: read with limits, by nlohmann_json, which no other header includes. Of the sources of a
// program all must find it, or none: nothing else distinguishes their functions.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/io/text/escaped_text.hpp>
#if __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>
#endif

namespace tenon::inline TENON_ABI::io {

/// A value of a JSON text.
struct Json {
  enum class Kind : unsigned char { null, boolean, whole, real, string, array, object };
  Kind kind = Kind::null;
  bool flag = false;
  std::int64_t integer = 0;  // of a whole number within 64 bits; others are real
  double number = 0;         // of any number
  std::string string{};
  std::vector<Json> items{};         // of an array, or the values of an object
  std::vector<std::string> names{};  // of an object, in the order of the text

  bool is(Kind asked) const { return kind == asked; }
  /// The value of a name of an object, null if there is none.
  const Json* find(std::string_view name) const {
    const auto found = std::find(names.begin(), names.end(), name);
    return found == names.end() ? nullptr : &items[std::size_t(found - names.begin())];
  }
};

/// What a text may have at most.
struct JsonLimits {
  std::size_t bytes = std::size_t{1} << 20;
  std::size_t values = std::size_t{1} << 14;
  int depth = 32;
  std::size_t names = std::size_t{1} << 14;  // of an object; each is compared with those before it
};

namespace detail {
#if __has_include(<nlohmann/json.hpp>)
/// Builds the value from what nlohmann_json's reader meets, within limits.
class JsonBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit JsonBuilder(const JsonLimits& limits) : limits_(limits) {}

  bool null() override { return add({}); }
  bool boolean(bool value) override { return add({.kind = Json::Kind::boolean, .flag = value}); }
  bool number_integer(std::int64_t value) override {
    return add({.kind = Json::Kind::whole, .integer = value, .number = double(value)});
  }
  bool number_unsigned(std::uint64_t value) override {
    if (value >> 63) return add({.kind = Json::Kind::real, .number = double(value)});
    return number_integer(std::int64_t(value));
  }
  bool number_float(double value, const std::string&) override {
    return add({.kind = Json::Kind::real, .number = value});
  }
  bool string(std::string& value) override { return add({.kind = Json::Kind::string, .string = std::move(value)}); }
  bool binary(nlohmann::json::binary_t&) override { return fail("it has a binary value"); }
  bool start_object(std::size_t) override { return open(Json::Kind::object); }
  bool start_array(std::size_t) override { return open(Json::Kind::array); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    Json& object = *open_.back();
    if (object.names.size() == limits_.names) return fail(text("an object has more than ", limits_.names, " names"));
    if (object.find(name)) return fail(text("it has the name ", printable(name), " twice in an object"));
    object.names.push_back(std::move(name));
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) override {
    return fail(printable_sentence(error.what()));  // it quotes the text
  }

  Json result;
  std::string reason;  // why there is none

 private:
  bool fail(std::string why) {
    reason = std::move(why);
    return false;
  }
  // The addresses in open_ stay: a list of values grows only while none of its items is open.
  Json* place(Json&& item) {
    if (++count_ > limits_.values) return fail(text("it has more than ", limits_.values, " values")), nullptr;
    if (open_.empty()) return &(result = std::move(item));
    return &open_.back()->items.emplace_back(std::move(item));
  }
  bool add(Json&& item) { return place(std::move(item)) != nullptr; }
  bool open(Json::Kind kind) {
    if (int(open_.size()) == limits_.depth) return fail(text("it is nested deeper than ", limits_.depth, " levels"));
    Json* const opened = place({.kind = kind});
    if (opened) open_.push_back(opened);
    return opened != nullptr;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  JsonLimits limits_;
  std::size_t count_ = 0;
  std::vector<Json*> open_;
};
#endif
}  // namespace detail

/// Reads a JSON text. Throws RuntimeError `<what>, error:<reason>` for one that is none, that has a name twice in an
/// object, or that is beyond the limits, and, in a program that was compiled without nlohmann_json, for any.
[[gnu::cold]] inline Json parse_json(std::string_view json, const std::string& what, const JsonLimits& limits = {}) {
  if (json.size() > limits.bytes)
    throw_error<RuntimeError>(what, ", error:it has ", json.size(), " bytes, at most ", limits.bytes,
                              " are allowed here; is it the right file?");
#if __has_include(<nlohmann/json.hpp>)
  detail::JsonBuilder builder(limits);
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &builder))
    throw_error<RuntimeError>(what, ", error:", builder.reason);
  return std::move(builder.result);
#else
  throw_error<RuntimeError>(what, ", error:this program was compiled without nlohmann_json. Install it (on Debian: "
                                  "apt-get install nlohmann-json3-dev), and compile again.");
#endif
}

}  // namespace tenon::io
