// The whole way from an ONNX file to a header and a checkpoint.
#pragma once
#include <tenon/io/safetensors.hpp>

#include "header.hpp"

namespace importer {

/// What is made of a model, or why not: a sentence for each node that is out of scope.
struct Imported {
  std::string network, header;
  std::vector<Weight> weights;
  std::vector<std::string> problems;
  std::vector<std::string> notes;  // what differs from the file
};

/// Settings of cells that stand in a header several times become constants with a name.
class NamedSettings {
 public:
  explicit NamedSettings(std::string& code) {
    std::map<std::string, int> count;
    std::vector<std::string> order;
    for (std::size_t at = code.find("Config{"); at != code.npos; at = code.find("Config{", at + 1)) {
      const std::size_t begin = code.rfind("nn::", at), end = code.find('}', at);
      if (begin == code.npos || code.find_first_of("<>{}(), \n", begin) < at) continue;  // settings of an operator
      const std::string text = code.substr(begin, end + 1 - begin);
      if (is_plain(text) && count[text]++ == 0) order.push_back(text);
    }
    for (const std::string& text : order) {
      if (count[text] < 2) continue;
      const std::string name = unique(name_of(text)), type = text.substr(0, text.find('{'));
      for (std::size_t at = code.find(text); at != code.npos; at = code.find(text, at))
        code.replace(at, text.size(), name);
      constants += "constexpr " + type + " " + name + text.substr(text.find('{')) + ";\n";
    }
  }
  std::string constants;

 private:
  /// Whether no template parameter is in it: they begin with a capital letter after " = ".
  static bool is_plain(const std::string& text) {
    for (std::size_t at = text.find("= "); at != text.npos; at = text.find("= ", at + 1))
      if (std::isupper(static_cast<unsigned char>(text[at + 2])) && text.compare(at + 2, 7, "PadMode") != 0)
        return false;
    return true;
  }
  static std::string name_of(const std::string& text) {
    const auto value = [&](const std::string& key) {
      const std::size_t at = text.find("." + key + " = ");
      if (at == text.npos) return std::string();
      const std::size_t begin = at + key.size() + 4;
      return text.substr(begin, text.find_first_of(",}", begin) - begin);
    };
    if (text.find("LayerNorm") != text.npos || text.find("RMSNorm") != text.npos) return "norm_config";
    if (text.find("DenseConfig") != text.npos) return "without_bias";
    std::string name;
    if (!value("stride").empty()) name = "stride_" + value("stride");
    if (!value("padding").empty() && value("stride").empty())
      name += (name.empty() ? "" : "_") + std::string("padding_") + value("padding");
    if (text.find("PadMode::valid") != text.npos) name += name.empty() ? "valid" : "_valid";
    if (!value("groups").empty()) name += (name.empty() ? "" : "_") + std::string("groups_") + value("groups");
    if (!value("has_bias").empty()) name += name.empty() ? "with_bias" : "_with_bias";
    std::string result;
    for (const char c : name)
      if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') result += c;
    return result.empty() ? "config" : result;
  }
  std::string unique(const std::string& name) {
    std::string result = name;
    for (int k = 2; !names_.insert(result).second; ++k) result = name + "_" + std::to_string(k);
    return result;
  }
  std::set<std::string> names_;
};

/// Long lines of types broken at their commas.
inline std::string wrapped(const std::string& code) {
  std::string result;
  for (std::size_t begin = 0; begin < code.size();) {
    const std::size_t end = std::min(code.find('\n', begin), code.size());
    std::string line = code.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t tuple = line.find("std::tuple(");
    const std::size_t type = line.find(line.starts_with("constexpr ") ? '{' : '<') + 1;
    const std::size_t indent = tuple != line.npos ? tuple + 11 : type;
    while (line.size() > 120 && indent != 0) {
      std::size_t at = 0;
      int depth = 0, least = 1 << 20;
      for (std::size_t k = indent; k < line.size() && k < 120; ++k) {
        const char c = line[k];
        depth += c == '<' || c == '{' || c == '(' ? 1 : c == '>' || c == '}' || c == ')' ? -1 : 0;
        if (c == ',' && depth <= least) least = depth, at = k;
      }
      if (at == 0) break;
      result += line.substr(0, at + 1) + "\n";
      line = std::string(indent, ' ') + line.substr(at + 2);
    }
    result += line + "\n";
  }
  return result;
}

inline std::string bucket_text(const Graph& g) {
  std::string text;
  for (const auto& [file_name, symbol] : g.symbol_of) {
    const std::string& name = g.symbols[std::size_t(symbol)];
    std::string list;
    for (const long extent : g.options.extents.at(file_name))
      list += (list.empty() ? "" : ", ") + std::to_string(extent);
    text += "\n/// The lengths of " + name + ": `choose_bucket<" + name + "_lengths>(length, [&]<int " + name +
            ">() { ... })`.\n"
            "inline constexpr auto " +
            name + "_lengths = one_of<" + list + ">;\n";
  }
  return text;
}

/// The header and the weights of a model. `stem`: the name of its files.
inline Imported import_model(ReadModel model, const std::string& stem, const std::string& name,
                             const Options& options) {
  if (model.opset < 13 || model.opset > 27)
    throw_error<ValueError>("the file has operators of version ", model.opset,
                            "; 13 to 27 are in scope: export it with opset_version=17.");
  join_nodes(model);
  join_norms(model);
  join_pools(model, options);
  drop_unread_nodes(model);
  Graph g{model, options};
  Scopes scopes;
  translate(g, scopes);
  Imported result;
  result.problems = g.problems, result.notes = g.notes;
  if (!g.problems.empty()) return result;
  Functions functions(g);
  const auto found = scopes.class_of.find("");
  result.network = camel(!name.empty() ? name : found != scopes.class_of.end() ? found->second : stem);
  static const std::set<std::string> taken{"Shape", "Parameter", "Part", "Pair", "Padding", "Scale", "Tensor"};
  if (taken.count(result.network)) result.network += "Net";
  const Header header(functions, scopes.class_of, result.network);
  std::string code;
  for (const std::string& each : header.structs) code += "\n" + each;
  const NamedSettings named(code);
  std::string space = identifier(stem);
  if (space == result.network) space += "_net";
  result.header = "// " + result.network + ", made by tenon-import of " + stem + ".onnx; " + stem +
                  ".safetensors has its weights.\n"
                  "#pragma once\n";
  if (code.find("numeric_limits") != code.npos) result.header += "#include <limits>\n\n";
  result.header += std::string("#include <tenon/") + (g.needs_more ? "more.hpp" : "tenon.hpp") + ">\n" +
                   (g.symbol_of.empty() ? "" : "\n#include <tenon/core/choose.hpp>\n") + "\nnamespace " + space +
                   " {\nusing namespace tenon;\n" + (named.constants.empty() ? "" : "\n" + wrapped(named.constants)) +
                   bucket_text(g) + wrapped(code) + "\n}  // namespace " + space + "\n";
  result.weights = header.weights();
  return result;
}

inline void write_weights(const std::vector<Weight>& weights, const std::string& path) {
  std::vector<tenon::io::NamedTensor> tensors;
  for (const Weight& w : weights) {
    tenon::Dtype dtype{};
    tenon::onnx::dtype_of_onnx(w.tensor.type, dtype);
    tensors.push_back({w.name, tenon::AnyTensor(dtype, w.tensor.extents, const_cast<char*>(w.tensor.bytes.data()))});
  }
  tenon::io::save_safetensors(path, tensors);
}

/// Writes both files. False: the file has nodes that are out of scope, which stand on stderr.
inline bool import_file(const std::string& file, std::string folder, const std::string& name, const Options& options) {
  if (!file.ends_with(".onnx")) throw_error<ValueError>("'", file, "' does not end with .onnx.");
  const std::size_t slash = file.rfind('/') + 1;
  const std::string stem = file.substr(slash, file.size() - slash - 5);
  if (folder.empty()) folder = file.substr(0, slash);
  else if (!folder.ends_with('/')) folder += '/';
  const Imported made = import_model(tenon::onnx::read_model(file), stem, name, options);
  for (const std::string& problem : made.problems) std::fprintf(stderr, "tenon-import: %s\n", problem.c_str());
  if (!made.problems.empty()) {
    std::fprintf(stderr, "tenon-import: %zu nodes of '%s' are out of scope; nothing is written\n", made.problems.size(),
                 file.c_str());
    return false;
  }
  write_weights(made.weights, folder + stem + ".safetensors");
  tenon::io::write_file(folder + stem + ".hpp", made.header);
  std::printf("%s%s.hpp has the network %s, %s%s.safetensors its weights\n", folder.c_str(), stem.c_str(),
              made.network.c_str(), folder.c_str(), stem.c_str());
  for (const std::string& note : made.notes) std::printf("%s\n", note.c_str());
  return true;
}

}  // namespace importer
