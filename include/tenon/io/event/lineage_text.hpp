// Where a model comes from, as tables for people: TensorBoard shows texts in Markdown.
#pragma once
#include <string>
#include <string_view>
#include <variant>

#include <tenon/io/event/event.hpp>

namespace tenon::inline TENON_ABI::io {

namespace detail {
/// A table of two columns. What Markdown would obey is escaped.
class LineageTable {
 public:
  template <class Value>
  void row(std::string_view name, const Value& value) {
    add(name, text(value));
  }
  void row(std::string_view name, const std::string& value) {
    if (!value.empty()) add(name, value);
  }
  const std::string& content() const { return content_; }

 private:
  void add(std::string_view name, const std::string& value) {
    content_ += "| ";
    escape(name);
    content_ += " | ";
    escape(value);
    content_ += " |\n";
  }
  void escape(std::string_view s) {
    for (const char c : s) {
      if (c == '|' || c == '*' || c == '_' || c == '`' || c == '<' || c == '\\') content_ += '\\';
      content_ += c == '\n' ? ' ' : c;
    }
  }
  std::string content_ = "| | |\n| --- | --- |\n";
};

inline void add_stages(LineageTable& table, const DatasetGraph& graph) {
  for (const DatasetGraph& child : graph.children) add_stages(table, child);
  std::string settings;
  for (const DatasetGraph::Setting& setting : graph.settings) {
    if (setting.name == "op_type") continue;
    const std::string value = std::visit([](const auto& v) { return text(v); }, setting.value);
    settings += text(settings.empty() ? "" : ", ", setting.name, " = ", value);
  }
  const auto* const type = graph.settings.empty() ? nullptr : std::get_if<std::string>(&graph.settings[0].value);
  table.row(type ? std::string_view(*type) : "", settings.empty() ? std::string("-") : settings);
}
}  // namespace detail

inline std::string lineage_text(const TrainLineage& lineage) {
  detail::LineageTable table;
  table.row("network", lineage.network);
  table.row("optimizer", lineage.optimizer);
  if (lineage.learning_rate) table.row("learning rate", *lineage.learning_rate);
  table.row("loss function", lineage.loss_function);
  if (lineage.loss) table.row("loss", *lineage.loss);
  table.row("epochs", lineage.epoch);
  table.row("batch size", lineage.batch_size);
  table.row("samples", lineage.dataset_size);
  table.row("data", lineage.dataset_path);
  table.row("model", lineage.model_path);
  return table.content();
}
inline std::string lineage_text(const EvalLineage& lineage) {
  detail::LineageTable table;
  table.row("metrics", lineage.metrics);
  table.row("samples", lineage.dataset_size);
  table.row("data", lineage.dataset_path);
  return table.content();
}
inline std::string lineage_text(const DatasetGraph& graph) {
  detail::LineageTable table;
  detail::add_stages(table, graph);
  return table.content();
}
inline std::string lineage_text(const CustomLineage& lineage) {
  detail::LineageTable table;
  for (const CustomLineage::Entry& entry : lineage.entries)
    table.row(entry.name, std::visit([](const auto& value) { return text(value); }, entry.value));
  return table.content();
}

}  // namespace tenon::io
