// Reads JSON for tests: the index files of reference data, which are trusted to be small and in UTF-8.
#pragma once
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/io/file.hpp>
#include <tenon/io/text/escaped_text.hpp>

namespace support {

/// A value. What is asked of one that is something else throws TypeError.
struct Json {
  enum class Kind { null, boolean, number, string, array, object };
  Kind kind = Kind::null;
  double value = 0;  // of a number, 0 or 1 of a bool
  std::string chars;
  std::vector<Json> items;         // of an array, or the values of an object
  std::vector<std::string> names;  // of an object, in the order of the file

  bool is_null() const { return kind == Kind::null; }
  double number() const { return need(Kind::number, "a number"), value; }
  bool boolean() const { return need(Kind::boolean, "true or false"), value != 0; }
  const std::string& string() const { return need(Kind::string, "a text"), chars; }
  const std::vector<Json>& array() const { return need(Kind::array, "a list"), items; }
  /// The value of a name, or null.
  const Json* find(std::string_view name) const {
    need(Kind::object, "an object");
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i] == name) return &items[i];
    return nullptr;
  }
  /// Throws KeyError that lists what is there.
  const Json& operator[](std::string_view name) const {
    if (const Json* found = find(name)) return *found;
    throw tenon::KeyError(tenon::text("there is no '", name, "', there are ", tenon::quoted_list(names)));
  }
  /// All numbers of lists in lists, one after the other.
  std::vector<double> numbers() const {
    if (kind != Kind::array) return {number()};
    std::vector<double> all;
    for (const Json& item : items)
      for (const double one : item.numbers()) all.push_back(one);
    return all;
  }

 private:
  void need(Kind wanted, const char* what) const {
    if (kind != wanted) throw tenon::TypeError(tenon::text("this JSON value is not ", what));
  }
};

namespace detail {

class JsonReader {
 public:
  explicit JsonReader(std::string_view file) : file_(file) {}
  Json all() {
    Json json = any();
    blanks();
    if (at_ != file_.size()) fail("something behind its end");
    return json;
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw tenon::ValueError(tenon::text("JSON has ", what, " at byte ", at_));
  }
  void blanks() {
    while (at_ < file_.size() && std::string_view(" \t\r\n").find(file_[at_]) != std::string_view::npos) ++at_;
  }
  bool take(std::string_view s) {
    blanks();
    if (file_.substr(at_, s.size()) != s) return false;
    at_ += s.size();
    return true;
  }
  Json any() {
    Json json;
    if (take("{")) return list(Json::Kind::object, "}");
    if (take("[")) return list(Json::Kind::array, "]");
    if (take("\"")) {
      json.kind = Json::Kind::string;
      json.chars = rest_of_string();
    } else if (take("null")) return json;
    else if (take("true")) json.kind = Json::Kind::boolean, json.value = 1;
    else if (take("false")) json.kind = Json::Kind::boolean;
    else {
      const std::string digits(file_.substr(at_, file_.find_first_of(",]} \t\r\n", at_) - at_));
      char* end = nullptr;
      json.kind = Json::Kind::number;
      json.value = std::strtod(digits.c_str(), &end);
      if (digits.empty() || *end) fail("no value");
      at_ += digits.size();
    }
    return json;
  }
  Json list(Json::Kind kind, std::string_view close) {
    Json json;
    json.kind = kind;
    if (take(close)) return json;
    do {
      if (kind == Json::Kind::object) {
        if (!take("\"")) fail("no name");
        json.names.push_back(rest_of_string());
        if (!take(":")) fail("no colon");
      }
      json.items.push_back(any());
    } while (take(","));
    if (!take(close)) fail("a list without end");
    return json;
  }
  // Escapes of other characters than these are not needed so far.
  std::string rest_of_string() {
    std::string result;
    for (; at_ < file_.size(); ++at_) {
      if (file_[at_] == '"') return ++at_, result;
      if (file_.substr(at_, 2) == "\\u") {  // no pairs so far
        tenon::io::append_utf8(result, unsigned(std::stoul(std::string(file_.substr(at_ + 2, 4)), nullptr, 16)));
        at_ += 5;
      } else if (file_[at_] == '\\') {
        constexpr std::string_view from = "\"\\/nt", to = "\"\\/\n\t";
        const auto which = from.find(file_.substr(++at_, 1));
        if (at_ == file_.size() || which == from.npos) fail("an unknown escape");
        result += to[which];
      } else result += file_[at_];
    }
    fail("a text without end");
  }

  std::string_view file_;
  std::size_t at_ = 0;
};

}  // namespace detail

/// Throws RuntimeError if the file cannot be read, ValueError if it is not JSON.
inline Json load_json(const std::string& path) {
  const std::string file = tenon::io::read_file(path);
  return detail::JsonReader(file).all();
}

}  // namespace support
