// The code of a function: members, arguments, and the statements of construct.
#pragma once
#include "body_text.hpp"

namespace importer {

class BodyWriter {
 public:
  BodyWriter(const Functions& functions, int id)
      : fs_(functions), g_(functions.g), f_(functions.all[std::size_t(id)]) {}

  Body write() {
    name_members();
    for (const auto& item : f_.items)
      if (item.call >= 0) count_uses(fs_.call(item));
      else
        for (const int value : fs_.inputs(item)) ++uses_[value];
    for (const int value : f_.outputs) ++uses_[value];
    name_arguments();
    for (const auto& item : f_.items) add(item);
    finish();
    return std::move(body_);
  }
  /// The names of the members, by the number of their item.
  std::map<std::size_t, std::string> member_of;
  std::map<int, std::string> inner_member_of;  // by the number of the call, of those in lambdas

 private:
  struct Expression {
    std::string text;
    int level = 0;
    bool is_name = false, is_parameter = false;
  };
  void name_members() {
    for (const auto& item : f_.items)  // a member with the name of a function that its module calls would hide it
      if (item.child < 0) add_functions(fs_.call(item).code, taken_);
    for (std::size_t k = 0; k < f_.items.size(); ++k) {
      const auto& item = f_.items[k];
      std::string name, type;
      if (item.child >= 0) name = fs_.all[std::size_t(item.child)].name, type = fs_.all[std::size_t(item.child)].type;
      else if (fs_.call(item).member) name = fs_.member_name.at(item.call), type = fs_.call(item).member->type;
      else {
        name_inner_members(fs_.call(item));
        continue;
      }
      name = identifier(name);
      if (item.child >= 0 && type.starts_with(name) && (type.size() == name.size() || type[name.size()] == '<'))
        name = snake(name);  // a member with the name of its type changes what that means
      name = unique(name);
      member_of[k] = name;
      body_.members.push_back({type, name});
    }
  }
  void name_inner_members(const Call& call) {
    for (const Lambda& l : call.lambdas)
      for (const int k : l.calls) {
        const Call& inner = g_.calls[std::size_t(k)];
        if (inner.is_dropped) continue;
        if (inner.member) {
          inner_member_of[k] = unique(identifier(fs_.member_name.at(k)));
          body_.members.push_back({inner.member->type, inner_member_of[k]});
        }
        name_inner_members(inner);
      }
  }
  void count_uses(const Call& call) {
    for (const int value : call.inputs) ++uses_[value];
    for (const Lambda& l : call.lambdas) {
      for (const int k : l.calls)
        if (!g_.calls[std::size_t(k)].is_dropped) count_uses(g_.calls[std::size_t(k)]);
      for (const int value : l.outputs) ++uses_[value];
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
      if (k == 0) anchor_ = name;
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
    add_call(fs_.call(item), member_of.count(k) ? member_of[k] : "");
  }
  void add_call(const Call& call, const std::string& member) {
    if (call.code == "@") known_[call.outputs[0]] = {member, 0, true, true};
    else if (!call.lambdas.empty()) add_control(call);
    else add_code(call.code, call.level, member, call.inputs, call.outputs);
  }

  /// A loop or a condition, with its lambdas.
  void add_control(const Call& call) {
    for (std::size_t k = call.explicit_inputs; k < call.inputs.size(); ++k)
      if (const int value = call.inputs[k]; !known_.at(value).is_name) declare(value, known_.at(value).text);
    std::vector<std::string> rows;  // of arguments; a lambda has lines of its own
    bool is_short = true;
    for (std::size_t k = 0; k < call.arguments.size(); ++k) {
      const std::string end = k + 1 < call.arguments.size() ? "," : ");";
      const std::string& given = call.arguments[k];
      const std::string text = (given[0] == '#' ? lambda(call.lambdas.at(std::size_t(given[1] - '0')))
                                                : filled_operands(given, call.inputs)) +
                               end;
      is_short = is_short && text.find('\n') == text.npos;
      const auto fits = [&] {
        return (plain(rows.back()) + text).find('\n') == text.npos && plain(rows.back() + text).size() < 102;
      };
      if (!rows.empty() && fits()) rows.back() += " " + text;
      else rows.push_back(text);
    }
    std::string one = call.code + "(";
    for (std::size_t k = 0; k < rows.size(); ++k) one += (k ? " " : "") + rows[k];
    if (!is_short || plain(one).size() > 90) {
      one = call.code + "(";
      for (const std::string& row : rows) one += "\n        " + row;
    }
    bind(call, one);
  }
  /// Names for the results, several of which may be a tuple.
  void bind(const Call& call, const std::string& text) {
    std::vector<std::string> members, later;
    std::size_t next = 0;
    const auto groups = call.returned.empty() ? std::vector<std::size_t>(call.outputs.size(), 1) : call.returned;
    for (std::size_t group = 0; group < groups.size(); ++group) {
      std::string list;
      for (std::size_t k = next; k < next + groups[group]; ++k) {
        const std::string hint = k < call.hints.size() ? call.hints[k] : "";
        const char* const usual = call.returned.empty() ? "y" : group == 0 ? "last" : "all";
        known_[call.outputs[k]] = {unique(hint.empty() ? usual : hint), 0, true};
        list += (list.empty() ? "" : ", ") + known_[call.outputs[k]].text;
      }
      next += groups[group];
      if (groups[group] == 1) members.push_back(list);
      else if (groups[group] > 1) {
        members.push_back(unique(group == 0 ? "carried" : "collected"));
        later.push_back("auto [" + list + "] = " + members.back() + ";");
      }
    }
    std::string left = members[0];
    for (std::size_t k = 1; k < members.size(); ++k) left += ", " + members[k];
    if (members.size() > 1) left = "[" + left + "]";
    else if (!later.empty()) left = later[0].substr(5, later[0].find(']') - 4), later.clear();
    body_.lines.push_back({"auto " + left + " = " + text, ""});
    for (const std::string& line : later) body_.lines.push_back({line, ""});
  }
  /// "[&](auto h, auto v) { ... }": on one line if it only returns something. Its names hold in it alone.
  std::string lambda(const Lambda& l) {
    std::vector<Line> lines;
    std::swap(lines, body_.lines);
    const std::string outer_anchor = anchor_;
    const std::set<std::string> outer_names = taken_;
    const std::string head = lambda_head(l);
    for (const int k : l.calls)
      if (const Call& call = g_.calls[std::size_t(k)]; !call.is_dropped)
        add_call(call, inner_member_of.count(k) ? inner_member_of[k] : "");
    std::vector<std::string> returned;
    std::size_t next = 0;
    for (const std::size_t count : l.returned.empty() ? std::vector<std::size_t>(l.outputs.size(), 1) : l.returned) {
      std::vector<std::string> members;
      for (std::size_t k = 0; k < count; ++k) members.push_back(operand(l.outputs[next++]));
      if (count) returned.push_back(tuple_of(members));
    }
    body_.lines.push_back({"return " + tuple_of(returned) + ";", ""});
    return_directly(body_.lines);
    std::swap(lines, body_.lines);
    anchor_ = outer_anchor, taken_ = outer_names;
    return lambda_text(head, lines);
  }
  /// "[&](auto h, auto v)", after which tuples among the arguments are taken apart.
  std::string lambda_head(const Lambda& l) {
    std::string head = "[&](";
    std::size_t next = 0;
    for (std::size_t group = 0; group < l.groups.size(); ++group) {
      const std::size_t count = l.groups[group];
      if (count == 0) continue;
      const bool is_carried = l.returned.empty() || group == 0;
      std::string list;
      for (std::size_t k = next; k < next + count; ++k) {
        const int value = l.inputs[k];
        const bool is_read = uses_[value] > 0 || count > 1;
        const bool has_hint = k < l.hints.size() && is_plain_word(l.hints[k]);
        const std::string hint = has_hint ? identifier(l.hints[k]) : is_carried ? "state" : "step";
        const std::string name = is_read ? unique(hint) : "";
        known_[value] = {name, 0, true};
        list += (list.empty() ? "" : ", ") + name;
        if (is_read) anchor_ = name;
      }
      next += count;
      const std::string argument = count == 1 ? list : unique(is_carried ? "states" : "steps");
      if (count > 1) body_.lines.push_back({"auto [" + list + "] = " + argument + ";", ""});
      head += (head.back() == '(' ? "auto" : ", auto") + std::string(argument.empty() ? "" : " ") + argument;
    }
    return head == "[&](" ? "[&]" : head + ")";
  }
  /// A value as an argument: a parameter needs the trace of another value.
  std::string operand(int value) const {
    const Expression& e = known_.at(value);
    return e.is_parameter ? "value_in(" + anchor_ + ", " + e.text + ")" : e.text;
  }
  std::string filled_operands(const std::string& code, const std::vector<int>& inputs) const {
    std::string text;
    for (std::size_t k = 0; k < code.size(); ++k) {
      if (code[k] != '$') {
        text += code[k];
        continue;
      }
      std::size_t which = 0;
      for (; k + 1 < code.size() && std::isdigit(static_cast<unsigned char>(code[k + 1])); ++k)
        which = which * 10 + std::size_t(code[k + 1] - '0');
      text += operand(inputs.at(which));
    }
    return text;
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
    for (std::size_t k = 1; k < list.inputs.size(); ++k) call += ", " + operand(list.inputs[k]);
    body_.lines.push_back({call + ");", ""});
  }
  const Expression& known(int value) const {
    const auto at = known_.find(value);
    if (at == known_.end())
      throw_error<ValueError>("'", fs_.g[value].name, "' is read by a module in two parts, with others between them, ",
                              "which is not in scope: change the network before the export.");
    return at->second;
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
        const Expression& operand = known(inputs.at(which));
        const bool is_left = k == digits;
        const bool in_brackets = level > 0 && (is_left ? operand.level > level : operand.level >= level);
        const bool is_copied = operand.is_parameter && code.starts_with("@(");  // by a cell
        if ((alone && !inputs.empty()) || is_copied) text += "value_in(" + anchor_ + ", " + operand.text + ")";
        else text += in_brackets ? "(" + operand.text + ")" : operand.text;
      } else text += code[k];
    }
    return text;
  }
  void finish() {
    std::string result = f_.outputs.size() == 1 ? known_.at(f_.outputs[0]).text : "";
    if (f_.outputs.size() > 1) {
      for (const int value : f_.outputs) result += (result.empty() ? "std::tuple(" : ", ") + operand(value);
      result += ")";
    }
    body_.lines.push_back({"return " + result + ";", f_.outputs.size() == 1 ? shape_comment(f_.outputs[0]) : ""});
    return_directly(body_.lines);
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
  std::string anchor_;  // a value whose trace a parameter joins
  int variables_ = 0;
  bool is_weighted_ = false;  // a softmax was there
};

}  // namespace importer
