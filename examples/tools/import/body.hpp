// The code of a function: members, arguments, and the statements of construct.
#pragma once
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

class BodyWriter {
 public:
  BodyWriter(const Functions& functions, int id)
      : fs_(functions), g_(functions.g), f_(functions.all[std::size_t(id)]) {}

  Body write() {
    name_members();
    for (const auto& item : f_.items)
      for (const int value : fs_.inputs(item)) ++uses_[value];
    for (const int value : f_.outputs) ++uses_[value];
    name_arguments();
    for (const auto& item : f_.items) add(item);
    finish();
    return std::move(body_);
  }
  /// The names of the members, by the number of their item.
  std::map<std::size_t, std::string> member_of;

 private:
  struct Expression {
    std::string text;
    int level = 0;
    bool is_name = false, is_parameter = false;
  };
  void name_members() {
    for (std::size_t k = 0; k < f_.items.size(); ++k) {
      const auto& item = f_.items[k];
      std::string name, type;
      if (item.child >= 0) name = fs_.all[std::size_t(item.child)].name, type = fs_.all[std::size_t(item.child)].type;
      else if (fs_.call(item).member) name = fs_.member_name.at(item.call), type = fs_.call(item).member->type;
      else continue;
      name = unique(identifier(name));
      member_of[k] = name;
      body_.members.push_back({type, name});
    }
  }
  std::string unique(const std::string& name) {
    std::string result = name;
    for (int k = 2; !taken_.insert(result).second; ++k)
      result = name + (std::isdigit(static_cast<unsigned char>(name.back())) ? "_" : "") + std::to_string(k);
    return result;
  }
  void name_arguments() {
    for (std::size_t k = 0; k < f_.inputs.size(); ++k) {
      const Value& v = g_[f_.inputs[k]];
      std::string name = k == 0 ? "x" : k == 1 ? "y" : "z" + std::to_string(k);
      const bool is_root = f_.parent < 0;
      if (is_root || (k > 0 && v.origin >= 0)) {
        const std::string& given = g_[g_.inputs[std::size_t(is_root ? int(k) : v.origin)]].name;
        const bool is_generic = given.starts_with("onnx::") || given.starts_with("input.");
        if (!is_generic && given != "x") name = identifier(given);
      }
      name = unique(name);
      known_[f_.inputs[k]] = {name, 0, true};
      body_.arguments.push_back(name);
    }
  }
  std::string shape_comment(int value) const {
    std::string result = "[";
    for (std::size_t k = 0; k < g_[value].shape.size(); ++k) {
      std::string extent = plain(g_.extent(g_[value].shape[k]));
      const std::size_t at = extent.find("dyn");
      if (at != extent.npos) extent.replace(at, 3, "n");
      result += (k ? ", " : "") + extent;
    }
    return result + "]";
  }
  /// A variable for the value of an expression.
  void declare(int value, const std::string& text, std::string name = "") {
    if (name.empty() && !(is_weighted_ && text.starts_with("matmul("))) name = usual_name(text);
    is_weighted_ = is_weighted_ || text.find("softmax(") != text.npos;
    if (!name.empty() && !taken_.insert(name).second) name.clear();
    if (name.empty()) do
        name = "x" + std::to_string(++variables_);
      while (!taken_.insert(name).second);
    body_.lines.push_back({"auto " + name + " = " + text + ";", shape_comment(value)});
    known_[value] = {name, 0, true};
  }
  /// What everybody calls the values of an attention.
  static std::string usual_name(const std::string& text) {
    if (text.starts_with("matmul(")) return text.find("softmax(") == text.npos ? "scores" : "";
    for (const auto& [call, name] : {std::pair("query(", "queries"), {"key(", "keys"}, {"value(", "values"}})
      if (text.find(call) != text.npos) return name;
    return "";
  }
  /// After the only input that a value comes from.
  std::string variable_of(int value) const {
    const int origin = g_[value].origin;
    return origin < 0 ? "" : identifier(g_[g_.inputs[std::size_t(origin)]].name) + "_";
  }
  std::size_t item_number(const Function::Item& item) const {
    return std::size_t(std::find(f_.items.begin(), f_.items.end(), item) - f_.items.begin());
  }

  void add(const Function::Item& item) {
    const std::size_t k = item_number(item);
    if (item.child >= 0) {
      const Function& child = fs_.all[std::size_t(item.child)];
      if (child.kind == Function::list && child.inputs.size() > 1) return add_loop(child, member_of[k]);
      std::string code = "@(";
      for (std::size_t i = 0; i < child.inputs.size(); ++i) code += (i ? ", $" : "$") + std::to_string(i);
      return add_code(code + ")", 0, member_of[k], child.inputs, child.outputs);
    }
    const Call& call = fs_.call(item);
    if (call.code == "@") {
      known_[call.outputs[0]] = {member_of[k], 0, true, true};
      return;
    }
    add_code(call.code, call.level, member_of.count(k) ? member_of[k] : "", call.inputs, call.outputs);
  }
  void add_code(const std::string& code, int level, const std::string& member, const std::vector<int>& inputs,
                const std::vector<int>& outputs) {
    std::string text = filled(code, level, member, inputs);
    while (plain(text).size() > 84) {  // name the longest operand
      int longest = -1;
      for (const int value : inputs)
        if (!known_.at(value).is_name &&
            (longest < 0 || plain(known_.at(value).text).size() > plain(known_.at(longest).text).size()))
          longest = value;
      if (longest < 0) break;
      declare(longest, known_.at(longest).text);
      text = filled(code, level, member, inputs);
    }
    if (outputs.size() > 1) return declare_parts(outputs, text);
    const std::size_t most = f_.outputs.size() == 1 && f_.outputs[0] == outputs[0] ? 96 : 68;
    if (uses_[outputs[0]] > 1 || plain(text).size() > most) declare(outputs[0], text);
    else known_[outputs[0]] = {text, level, false};
  }
  void declare_parts(const std::vector<int>& outputs, const std::string& text) {
    std::string list;
    static const char* const three[]{"q", "k", "v"};
    static const char* const states[]{"y", "h", "c"};
    const std::string shown = plain(text);
    const bool is_cell = !shown.starts_with("split");
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const std::string wanted = is_cell && outputs.size() <= 3 ? states[k]
                                 : outputs.size() == 3          ? three[k]
                                                                : "part" + std::to_string(k + 1);
      const std::string name = unique(wanted);
      known_[outputs[k]] = {name, 0, true};
      list += (k ? ", " : "") + name;
    }
    body_.lines.push_back({"auto [" + list + "] = " + text + ";", shape_comment(outputs[0])});
  }
  void add_loop(const Function& list, const std::string& member) {
    const Expression start = known_.at(list.inputs[0]);
    for (std::size_t k = 1; k < list.inputs.size(); ++k)
      if (!known_.at(list.inputs[k]).is_name)
        declare(list.inputs[k], known_.at(list.inputs[k]).text, variable_of(list.inputs[k]));
    declare(list.outputs[0], start.text);
    const std::string name = known_.at(list.outputs[0]).text;
    std::string call = "for (const auto& each : " + member + ") " + name + " = each(" + name;
    for (std::size_t k = 1; k < list.inputs.size(); ++k) call += ", " + known_.at(list.inputs[k]).text;
    body_.lines.push_back({call + ");", ""});
  }
  std::string filled(const std::string& code, int level, const std::string& member,
                     const std::vector<int>& inputs) const {
    const bool alone = std::all_of(inputs.begin(), inputs.end(), [&](int v) { return known_.at(v).is_parameter; });
    std::string text;
    for (std::size_t k = 0; k < code.size(); ++k) {
      if (code[k] == '@') text += member;
      else if (code[k] == '$') {
        std::size_t which = 0, digits = 0;
        for (; k + 1 < code.size() && std::isdigit(static_cast<unsigned char>(code[k + 1])); ++k, ++digits)
          which = which * 10 + std::size_t(code[k + 1] - '0');
        const Expression& operand = known_.at(inputs.at(which));
        const bool is_left = k == digits;
        const bool in_brackets = level > 0 && (is_left ? operand.level > level : operand.level >= level);
        if (alone && !inputs.empty()) text += "value_in(" + body_.arguments.at(0) + ", " + operand.text + ")";
        else text += in_brackets ? "(" + operand.text + ")" : operand.text;
      } else text += code[k];
    }
    return text;
  }
  void finish() {
    std::string result = f_.outputs.size() == 1 ? known_.at(f_.outputs[0]).text : "";
    if (f_.outputs.size() > 1) {
      for (const int value : f_.outputs) result += (result.empty() ? "std::tuple(" : ", ") + known_.at(value).text;
      result += ")";
    }
    body_.lines.push_back({"return " + result + ";", f_.outputs.size() == 1 ? shape_comment(f_.outputs[0]) : ""});
    declare_symbols();
  }
  /// Dynamic extents are constants of the shape of an argument.
  void declare_symbols() {
    const std::string code = body_.text();
    for (std::size_t s = g_.symbols.size(); s-- > 1;) {
      if (!has_word(code, g_.symbols[s])) continue;
      bool is_found = false;
      for (std::size_t k = 0; k < f_.inputs.size() && !is_found; ++k) {
        const Shape& shape = g_[f_.inputs[k]].shape;
        for (std::size_t axis = 0; axis < shape.size() && !is_found; ++axis)
          if (shape[axis] == Extent::symbol(int(s))) {
            is_found = true;
            body_.lines.insert(body_.lines.begin(), {"constexpr int " + g_.symbols[s] + " = " + body_.arguments[k] +
                                                         ".shape()[" + std::to_string(axis) + "];",
                                                     ""});
          }
      }
      if (!is_found)
        throw_error<ValueError>("the module '", f_.path, "' needs the extent ", g_.symbols[s],
                                ", which none of its inputs has.");
    }
  }
  static bool has_word(const std::string& text, const std::string& word) {
    const auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1))
      if ((at == 0 || !in_word(text[at - 1])) && (at + word.size() == text.size() || !in_word(text[at + word.size()])))
        return true;
    return false;
  }

  const Functions& fs_;
  const Graph& g_;
  const Function& f_;
  Body body_;
  std::map<int, int> uses_;
  std::map<int, Expression> known_;
  std::set<std::string> taken_;
  int variables_ = 0;
  bool is_weighted_ = false;  // a softmax was there
};

}  // namespace importer
