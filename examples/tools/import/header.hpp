// The header: modules that are equal become one struct, those that differ by numbers one template.
#pragma once
#include "numbers.hpp"

namespace importer {

inline std::string camel(const std::string& word) {
  std::string result;
  bool up = true;
  for (const char c : word) {
    if (!std::isalnum(static_cast<unsigned char>(c))) up = true;
    else {
      result += up ? char(std::toupper(static_cast<unsigned char>(c))) : c;
      up = false;
    }
  }
  if (result.empty() || std::isdigit(static_cast<unsigned char>(result[0]))) result = "Net" + result;
  return result;
}

class Header {
 public:
  Header(Functions& functions, const std::map<std::string, std::string>& class_of, std::string root)
      : fs_(functions), class_of_(class_of) {
    names_ = {"Shape",   "Parameter",     "Part",  "Pair",          "PadMode",
              "Padding", "Pool2dOptions", "Scale", "Interpolation", root};
    std::vector<std::vector<int>> levels;
    for (std::size_t k = 0; k < fs_.all.size(); ++k) {
      if (fs_.all[k].is_dissolved) continue;
      const auto level = std::size_t(level_of(int(k)));
      if (levels.size() <= level) levels.resize(level + 1);
      levels[level].push_back(int(k));
    }
    for (auto& level : levels) write_level(level, root);
  }
  /// Name and tensor of each weight.
  std::vector<Weight> weights() const {
    std::vector<Weight> all;
    add_weights(all, 0, "");
    return all;
  }
  std::vector<std::string> structs;  // marked no longer, in the order of the header

 private:
  int level_of(int id) const {
    int level = 0;
    for (const auto& item : fs_.all[std::size_t(id)].items)
      if (item.child >= 0) level = std::max(level, 1 + level_of(item.child));
    return level;
  }

  void write_level(const std::vector<int>& ids, const std::string& root) {
    std::map<std::string, std::vector<int>> groups;
    std::vector<std::string> order;
    std::map<int, Body> bodies;
    for (const int id : ids) {
      Function& f = fs_.all[std::size_t(id)];
      if (id != 0 && (one_item(f) || as_chain(f))) continue;
      BodyWriter writer(fs_, id);
      bodies[id] = writer.write();
      members_[id] = writer.member_of,
      inner_members_.insert(writer.inner_member_of.begin(), writer.inner_member_of.end());
      std::string key = (id == 0 ? "root" : "") + Numbers(bodies[id].text()).skeleton;
      if (!groups.count(key)) order.push_back(key);
      groups[key].push_back(id);
    }
    write_aliases(ids);
    for (const std::string& key : order) write_group(groups[key], bodies, root);
  }

  /// Rows of cells that stand in other rows several times have a name.
  void write_aliases(const std::vector<int>& ids) {
    std::map<std::string, std::vector<int>> groups;
    std::vector<std::string> order;
    for (const int id : ids) {
      const Function& f = fs_.all[std::size_t(id)];
      if (f.kind != Function::sequence || f.items.size() < 2 || !is_digits(f.name)) continue;
      const std::string key = Numbers(f.type).skeleton;
      if (!groups.count(key)) order.push_back(key);
      groups[key].push_back(id);
    }
    for (const std::string& key : order) {
      const std::vector<int>& group = groups[key];
      std::vector<Numbers> instances;
      for (const int id : group) instances.emplace_back(fs_.all[std::size_t(id)].type);
      const Parameters p = parameters_of(instances);
      const Function& first = fs_.all[std::size_t(group[0])];
      std::string name = class_of_.count(first.path) && class_of_.at(first.path) != "Sequential" ? base_name(first)
                                                                                                 : kinds_of(first.type);
      const std::string base = name;
      for (int k = 2; !names_.insert(name).second; ++k) name = base + "_" + std::to_string(k);
      std::size_t place = 0;
      const std::string type = with_numbers(first.type, p.text, place);
      const std::string line = "using " + name + " = " + type + ";\n";
      structs.push_back(head_of(p) + (line.size() > 110 ? "using " + name + " =\n    " + type + ";\n" : line));
      give_types(group, name, p);
    }
  }
  /// "nn::SequentialCell<nn::Conv2d<...>, nn::ReLU6>": ConvReLU6
  static std::string kinds_of(const std::string& type) {
    std::string name;
    int depth = 0;
    for (std::size_t k = 0; k < type.size(); ++k) {
      depth += type[k] == '<' || type[k] == '{' ? 1 : type[k] == '>' || type[k] == '}' ? -1 : 0;
      if (depth != 1 || type.compare(k, 4, "nn::") != 0) continue;
      std::string word;
      for (std::size_t i = k + 4; i < type.size() && std::isalnum(static_cast<unsigned char>(type[i])); ++i)
        word += type[i];
      const std::string settings = type.substr(k, std::min(type.find(">, nn::", k), type.size()) - k);
      if (word == "Conv2d") {
        if (settings.find(".stride") != settings.npos) name += "Strided";
        name += settings.find(".groups") != settings.npos        ? "Depthwise"
                : settings.find("\1Kernel:1\2") != settings.npos ? "Pointwise"
                                                                 : "";
      }
      name += word == "Conv2d" ? "Conv" : word == "BatchNorm2d" ? "Norm" : word == "SequentialCell" ? "" : word;
    }
    return name.empty() ? "Row" : name;
  }
  void give_types(const std::vector<int>& ids, const std::string& name, const Parameters& p) {
    for (std::size_t k = 0; k < ids.size(); ++k) {
      std::string type = name;
      for (std::size_t i = 0; i < p.names.size(); ++i) type += (i ? ", " : "<") + number(p.names[i], p.values[i][k]);
      fs_.all[std::size_t(ids[k])].type = type + (p.names.empty() ? "" : ">");
    }
  }

  /// A module with one cell is that cell.
  bool one_item(Function& f) {
    if (f.items.size() != 1 || f.inputs.size() != 1 || f.outputs.size() != 1) return false;
    const auto& item = f.items[0];
    if (item.child >= 0 || !fs_.call(item).member || fs_.call(item).code != "@($0)" || f.parent < 0) return false;
    f.type = fs_.call(item).member->type;
    f.kind = Function::structure;
    single_.insert(&f - fs_.all.data());
    return true;
  }
  /// Numbered modules, one after the other.
  bool as_chain(Function& f) {
    if (f.outputs.size() != 1 || f.items.empty()) return false;
    std::vector<std::string> types;
    int flows = -1;
    std::vector<int> shared;
    for (std::size_t k = 0; k < f.items.size(); ++k) {
      const auto& item = f.items[k];
      const std::vector<int>& in = fs_.inputs(item);
      if (fs_.outputs(item).size() != 1 || in.empty() || (k > 0 && in[0] != flows) || !is_numbered(f, item))
        return false;
      const std::vector<int> others(in.begin() + 1, in.end());
      if (k == 0) shared = others;
      else if (others != shared) return false;
      flows = fs_.outputs(item)[0];
      types.push_back(type_of(item));
      if (types.back().empty()) return false;
    }
    if (flows != f.outputs[0]) return false;
    for (std::size_t k = 0; k + 1 < f.items.size(); ++k)  // nothing in between is read elsewhere
      if (reads(f, fs_.outputs(f.items[k])[0]) != 1) return false;
    const bool equal = std::set<std::string>(types.begin(), types.end()).size() == 1;
    if (equal && f.items[0].child >= 0) {
      f.kind = Function::list;
      f.type = "nn::CellList<" + types[0] + ", " + number("Layers", long(types.size())) + ">";
      // the value that flows comes first
      const auto flow = std::find(f.inputs.begin(), f.inputs.end(), fs_.inputs(f.items[0])[0]);
      std::rotate(f.inputs.begin(), flow, flow + 1);
      return true;
    }
    if (!shared.empty()) return false;
    f.kind = Function::sequence;
    f.type = "nn::SequentialCell<";
    for (std::size_t k = 0; k < types.size(); ++k) f.type += (k ? ", " : "") + types[k];
    f.type += ">";
    return true;
  }
  int reads(const Function& f, int value) const {
    int count = 0;
    for (const auto& item : f.items) count += int(std::count(fs_.inputs(item).begin(), fs_.inputs(item).end(), value));
    return count;
  }
  std::string type_of(const Function::Item& item) const {
    if (item.child >= 0) return fs_.all[std::size_t(item.child)].type;
    const Call& call = fs_.call(item);
    return call.member ? call.code == "@($0)" ? call.member->type : "" : call.cell;
  }
  bool is_numbered(const Function& f, const Function::Item& item) const {
    std::string path = item.child >= 0 ? fs_.all[std::size_t(item.child)].path : fs_.call(item).scope;
    if (!f.path.empty()) {
      if (!path.starts_with(f.path + ".")) return false;
      path = path.substr(f.path.size() + 1);
    }
    return !path.empty() && is_digits(parts_of(path)[0]);
  }

  std::string base_name(const Function& f) const {
    if (const auto found = class_of_.find(f.path);
        found != class_of_.end() && found->second != "Sequential" && found->second != "ModuleList")
      return camel(found->second);
    std::vector<std::string> parts = parts_of(f.path);
    bool is_number = false;
    while (parts.size() > 1 && is_digits(parts.back())) parts.pop_back(), is_number = true;
    std::string word = parts.back();
    while (word.size() > 1 && std::isdigit(static_cast<unsigned char>(word.back()))) word.pop_back();
    if (word.size() > 1 && word.back() == '_') word.pop_back();
    if (is_number && word.size() > 2 && word.ends_with('s')) word.pop_back();
    static const std::map<std::string, std::string> longer{{"attn", "Attention"}, {"self_attn", "SelfAttention"},
                                                           {"mlp", "Mlp"},        {"h", "Block"},
                                                           {"net", "Block"},      {"conv", "ConvBlock"}};
    const auto found = longer.find(word);
    return found != longer.end() ? found->second : camel(word);
  }
  std::string group_name(const std::vector<int>& ids, const Body& body, const std::string& root) {
    if (ids[0] == 0) return root;
    std::set<std::string> bases;
    for (const int id : ids) bases.insert(base_name(fs_.all[std::size_t(id)]));
    const std::string base = bases.size() == 1 ? *bases.begin() : "Block";
    std::set<std::string> own;
    for (const auto& [type, name] : body.members) own.insert(name);
    std::string name = base;
    if (names_.count(name) && body.lines.back().code.starts_with("return x + ") && base.find("Residual") == base.npos &&
        !names_.count("Residual" + base))
      name = "Residual" + base;
    if (names_.count(name))
      for (const std::string& member : own)
        if (!members_of_[base].count(member) && !names_.count(base + "With" + camel(member))) {
          name = base + "With" + camel(member);
          break;
        }
    for (int k = 2; names_.count(name); ++k) name = base + std::to_string(k);
    names_.insert(name);
    members_of_[name] = own;
    return name;
  }

  void write_group(const std::vector<int>& ids, const std::map<int, Body>& bodies, const std::string& root) {
    std::vector<Numbers> instances;
    for (const int id : ids) instances.emplace_back(bodies.at(id).text());
    const Parameters p = parameters_of(instances);
    const Body& first = bodies.at(ids[0]);
    const std::string name = group_name(ids, first, root);
    std::size_t place = 0;
    std::string arguments;
    for (const std::string& each : p.names) arguments += (arguments.empty() ? "" : ", ") + each;
    const std::string self = name + (p.names.empty() ? "" : "<" + arguments + ">");
    std::string code = head_of(p) + "struct " + name + " : nn::Cell<" + self + "> {\n";
    for (std::size_t k = 0; k < first.members.size(); ++k) {
      code += "  " + with_numbers(first.members[k].first, p.text, place) + " " + first.members[k].second;
      for (; k + 1 < first.members.size() && same_type(p, first, k, place); ++k) {
        std::size_t skipped = place;
        with_numbers(first.members[k + 1].first, p.text, skipped);
        place = skipped;
        code += ", " + first.members[k + 1].second;
      }
      code += ";\n";
    }
    code += construct(ids, bodies, p, place) + "};\n";
    structs.push_back(code);
    give_types(ids, name, p);
  }
  static bool same_type(const Parameters& p, const Body& body, std::size_t k, std::size_t after) {
    std::size_t before = after, next = after;
    const auto count = Numbers(body.members[k].first).all.size();
    before -= count;
    return with_numbers(body.members[k].first, p.text, before) == with_numbers(body.members[k + 1].first, p.text, next);
  }
  std::string construct(const std::vector<int>& ids, const std::map<int, Body>& bodies, const Parameters& p,
                        std::size_t place) const {
    const Body& first = bodies.at(ids[0]);
    const Function& f = fs_.all[std::size_t(ids[0])];
    std::string code = first.members.empty() ? "" : "\n";
    if (ids[0] == 0) code += root_comment(f, first);
    code += "  constexpr auto construct(";
    for (std::size_t k = 0; k < first.arguments.size(); ++k) code += (k ? ", auto " : "auto ") + first.arguments[k];
    code += ") const {";
    std::vector<std::string> lines, comments;
    for (std::size_t k = 0; k < first.lines.size(); ++k) {
      lines.push_back(with_numbers(first.lines[k].code, p.text, place));
      comments.push_back(first.lines[k].comment);
      for (const int id : ids)
        if (bodies.at(id).lines[k].comment != comments.back()) comments.back().clear();
    }
    if (lines.size() == 1 && (code + lines[0]).size() - (code.rfind('\n') + 1) <= 117)
      return code + " " + lines[0] + " }\n";
    if (lines.back().find('(') == std::string::npos || ids[0] == 0) comments.back().clear();
    std::size_t width = 0;
    for (std::size_t k = 0; k < lines.size(); ++k)
      if (!comments[k].empty()) width = std::max(width, lines[k].size());
    const bool fits =
        std::all_of(comments.begin(), comments.end(), [&](const auto& c) { return width + c.size() + 9 <= 120; });
    code += "\n";
    for (std::size_t k = 0; k < lines.size(); ++k) {
      code += "    " + lines[k];
      if (!comments[k].empty() && fits) code += std::string(width - lines[k].size(), ' ') + "  // " + comments[k];
      code += "\n";
    }
    return code + "  }\n";
  }
  std::string root_comment(const Function& f, const Body& body) const {
    const auto shape = [&](int value) {
      std::string result;
      for (const Extent& e : fs_.g[value].shape) {
        std::string extent = plain(fs_.g.extent(e));
        if (const auto at = extent.find("dyn"); at != extent.npos) extent.replace(at, 3, "n");
        result += (result.empty() ? "" : ", ") + extent;
      }
      return "[" + result + "]";
    };
    std::string text;
    for (std::size_t k = 0; k < f.inputs.size(); ++k)
      text += (k ? ", " : "") + body.arguments[k] + ": " + shape(f.inputs[k]);
    text += " -> ";
    for (std::size_t k = 0; k < f.outputs.size(); ++k) text += (k ? ", " : "") + shape(f.outputs[k]);
    return "  // " + text + "\n";
  }

  void add_weights(std::vector<Weight>& all, int id, const std::string& before) const {
    const Function& f = fs_.all[std::size_t(id)];
    const bool is_single = single_.count(id) > 0;
    for (std::size_t k = 0; k < f.items.size(); ++k) {
      const auto& item = f.items[k];
      std::string name = f.kind == Function::structure && !is_single && members_.count(id) && members_.at(id).count(k)
                             ? members_.at(id).at(k)
                             : std::to_string(k);
      name = is_single ? before : before + (before.empty() ? "" : ".") + name;
      if (item.child >= 0) add_weights(all, item.child, name);
      else add_weights_of(all, fs_.call(item), name, before + (before.empty() ? "" : "."));
    }
  }
  /// Those of a call, and of the calls in its lambdas.
  void add_weights_of(std::vector<Weight>& all, const Call& call, const std::string& name,
                      const std::string& before) const {
    if (call.member)
      for (const Weight& w : call.member->weights) {
        all.push_back(w);
        all.back().name = w.name.empty() ? name : name + "." + w.name;
      }
    for (const Lambda& l : call.lambdas)
      for (const int k : l.calls) {
        const Call& inner = fs_.g.calls[std::size_t(k)];
        if (inner.is_dropped) continue;
        add_weights_of(all, inner, inner.member ? before + inner_members_.at(k) : "", before);
      }
  }

  Functions& fs_;
  const std::map<std::string, std::string>& class_of_;
  std::set<std::string> names_;
  std::set<long> single_;
  std::map<std::string, std::set<std::string>> members_of_;
  std::map<int, std::map<std::size_t, std::string>> members_;
  std::map<int, std::string> inner_members_;
};

}  // namespace importer
