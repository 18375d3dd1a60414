// The lines of a function in the header.
#pragma once
#include <set>

#include "functions.hpp"

namespace importer {

/// A text with its numbers, without the marks around them.
inline std::string plain(const std::string& marked) {
  std::string result;
  for (std::size_t k = 0; k < marked.size(); ++k)
    if (marked[k] == '\1') k = std::min(marked.find(':', k), marked.size() - 1);
    else if (marked[k] != '\2') result += marked[k];
  return result;
}
struct Line {
  std::string code, comment;
};
struct Body {
  std::vector<std::pair<std::string, std::string>> members;  // type, name
  std::vector<std::string> arguments;
  std::vector<Line> lines;

  /// All of it but the comments.
  std::string text() const {
    std::string all;
    for (const auto& [type, name] : members) all += type + " " + name + ";\n";
    for (const std::string& each : arguments) all += each + ",";
    for (const Line& line : lines) all += "\n" + line.code;
    return all;
  }
};

/// What only has a name to be returned is returned at once.
inline void return_directly(std::vector<Line>& lines) {
  if (lines.size() < 2) return;
  const std::string& made = lines[lines.size() - 2].code;
  std::string& last = lines.back().code;
  const std::size_t equal = made.find(" = ");
  if (!made.starts_with("auto ") || equal == made.npos) return;
  std::string name = made.substr(5, equal - 5);
  if (name[0] == '[') name = "std::tuple(" + name.substr(1, name.size() - 2) + ")";
  const std::string value = made.substr(equal + 3);
  const bool has_lambda = value.find("[&]") != value.npos && value.find("(") < value.find("[&]");
  if (last != "return " + name + ";" || !has_lambda) return;
  last = "return " + value;
  lines.erase(lines.end() - 2);
}
/// Whether a name of the file is one that a person would write.
inline bool is_plain_word(const std::string& word) {
  return !word.empty() && word.size() <= 12 && std::islower(static_cast<unsigned char>(word[0])) &&
         std::all_of(word.begin(), word.end(),
                     [](char c) { return std::islower(static_cast<unsigned char>(c)) || c == '_'; });
}
/// "a", or "std::tuple(a, b)"
inline std::string tuple_of(const std::vector<std::string>& members) {
  std::string list;
  for (const std::string& each : members) list += (list.empty() ? "" : ", ") + each;
  return members.size() == 1 ? list : "std::tuple(" + list + ")";
}
/// A lambda of these lines.
inline std::string lambda_text(std::string head, const std::vector<Line>& lines) {
  if (lines.size() == 1 && lines[0].code.find('\n') == std::string::npos && plain(lines[0].code).size() < 80)
    return head + " { " + lines[0].code + " }";
  head += " {";
  for (const Line& line : lines) {
    head += "\n          ";
    for (const char c : line.code) head += c == '\n' ? std::string("\n      ") : std::string(1, c);
  }
  return head + "\n        }";
}

/// Adds the names of the functions that some code calls.
inline void add_functions(const std::string& code, std::set<std::string>& names) {
  const auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (std::size_t k = 0, begin = 0; k < code.size(); ++k) {
    if (is_letter(code[k])) continue;
    if (k > begin && (code[k] == '<' || code[k] == '(')) names.insert(code.substr(begin, k - begin));
    begin = k + 1;
  }
}

}  // namespace importer
