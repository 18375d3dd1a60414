// Where a model comes from, as the messages of MindSpore's second event file say it. Needs protozero.
#pragma once
#include <cstdint>
#include <string>
#include <variant>

#include <tenon/io/bytes/protobuf.hpp>
#include <tenon/io/event/event.hpp>

namespace tenon::inline TENON_ABI::io {

// TrainLineage { hyper_parameters = 1 { optimizer = 1; float learning_rate = 2; loss_function = 3; epoch = 4;
//                parallel_mode = 5; device_num = 6; batch_size = 8; } train_dataset = 2 { path = 1; size = 2; }
//                algorithm = 3 { network = 1; float loss = 2; } model = 4 { path = 3; int64 size = 4; } }
// EvaluationLineage { metric = 2; valid_dataset = 3 { path = 1; size = 2; } }
// DatasetGraph { repeated DatasetGraph children = 1; OperationParameter parameter = 2; }
// OperationParameter { map mapStr = 1; map mapBool = 3; map mapInt = 4; map mapDouble = 5; }
// UserDefinedInfo { repeated UserDefinedInfo user_info = 1; map map_int32 = 3; map map_str = 4; map map_double = 5; }

namespace detail {
inline void add_text(protozero::pbf_writer& message, unsigned number, const std::string& s) {
  if (!s.empty()) message.add_string(number, s);
}
inline void add_dataset(protozero::pbf_writer& message, unsigned number, const std::string& path, std::int32_t size) {
  protozero::pbf_writer dataset(message, number);
  add_text(dataset, 1, path);
  dataset.add_int32(2, size);
}
inline void add_dataset_graph(protozero::pbf_writer& message, const DatasetGraph& graph) {
  for (const DatasetGraph& child : graph.children) {
    protozero::pbf_writer inner(message, 1);
    add_dataset_graph(inner, child);
  }
  if (graph.settings.empty()) return;
  protozero::pbf_writer parameter(message, 2);
  const auto add = [&]<class T>(unsigned number) {  // the entries of a map stand together
    for (const DatasetGraph::Setting& setting : graph.settings)
      if (const T* const value = std::get_if<T>(&setting.value)) {
        protozero::pbf_writer entry(parameter, number);
        entry.add_string(1, setting.name);
        if constexpr (std::is_same_v<T, std::string>) entry.add_string(2, *value);
        else if constexpr (std::is_same_v<T, bool>) entry.add_bool(2, *value);
        else if constexpr (std::is_same_v<T, double>) entry.add_double(2, *value);
        else entry.add_int32(2, static_cast<std::int32_t>(*value));
      }
  };
  add.template operator()<std::string>(1);
  add.template operator()<bool>(3);
  add.template operator()<std::int64_t>(4);
  add.template operator()<double>(5);
}
}  // namespace detail

inline std::string lineage_message(const TrainLineage& lineage) {
  std::string message;
  protozero::pbf_writer writer(message);
  {
    protozero::pbf_writer numbers(writer, 1);
    detail::add_text(numbers, 1, lineage.optimizer);
    if (lineage.learning_rate) numbers.add_float(2, *lineage.learning_rate);
    detail::add_text(numbers, 3, lineage.loss_function);
    numbers.add_int32(4, lineage.epoch);
    detail::add_text(numbers, 5, lineage.parallel_mode);
    numbers.add_int32(6, lineage.device_num);
    numbers.add_int32(8, lineage.batch_size);
  }
  detail::add_dataset(writer, 2, lineage.dataset_path, lineage.dataset_size);
  {
    protozero::pbf_writer algorithm(writer, 3);
    detail::add_text(algorithm, 1, lineage.network);
    if (lineage.loss) algorithm.add_float(2, *lineage.loss);
  }
  protozero::pbf_writer model(writer, 4);
  model.add_string(3, lineage.model_path);
  model.add_int64(4, lineage.model_size);
  return message;
}
inline std::string lineage_message(const EvalLineage& lineage) {
  std::string message;
  protozero::pbf_writer writer(message);
  detail::add_text(writer, 2, lineage.metrics);
  detail::add_dataset(writer, 3, lineage.dataset_path, lineage.dataset_size);
  return message;
}
inline std::string lineage_message(const DatasetGraph& graph) {
  std::string message;
  protozero::pbf_writer writer(message);
  detail::add_dataset_graph(writer, graph);
  return message;
}
/// Each entry is a message of its own. Integers beyond 32 bits become reals: MindSpore has no wider ones there.
inline std::string lineage_message(const CustomLineage& lineage) {
  std::string message;
  protozero::pbf_writer writer(message);
  for (const CustomLineage::Entry& entry : lineage.entries) {
    const auto* const whole = std::get_if<std::int64_t>(&entry.value);
    const auto* const string = std::get_if<std::string>(&entry.value);
    const bool narrow = whole && *whole == static_cast<std::int32_t>(*whole);
    protozero::pbf_writer info(writer, 1);
    protozero::pbf_writer map(info, narrow ? 3 : string ? 4 : 5);
    map.add_string(1, entry.name);
    if (narrow) map.add_int32(2, static_cast<std::int32_t>(*whole));
    else if (string) map.add_string(2, *string);
    else map.add_double(2, whole ? static_cast<double>(*whole) : std::get<double>(entry.value));
  }
  return message;
}

}  // namespace tenon::io
