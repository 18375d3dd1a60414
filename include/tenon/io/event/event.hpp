// What the records of event files say: scalars, images, tensors, histograms, texts, graphs, lineage.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <tenon/core/dtype.hpp>
#include <tenon/core/error.hpp>
#include <tenon/io/event/histogram.hpp>

namespace tenon::inline TENON_ABI::io {

/// Who reads the file: MindSpore's MindInsight, or TensorBoard. The frames are the same, the messages are not.
enum class EventFormat { mindspore, tensorboard };

struct EventImage {
  int height = 0, width = 0, channels = 0;  // MindSpore calls the last one colorspace
  std::string png;
};

/// A tensor with its elements as float32, in row-major order, whatever its dtype: MindSpore stores them so.
struct EventTensor {
  Dtype dtype = Dtype::float32;  // of the tensor that was recorded
  std::vector<std::int64_t> shape;
  std::vector<float> elements;
};

/// What one tag has in one step. TensorBoard alone has texts, and LimitHistograms; MindSpore has Histograms.
struct EventValue {
  using Value = std::variant<float, EventImage, EventTensor, Histogram, LimitHistogram, std::string>;
  std::string tag;
  Value value;
};

/// What else an event can hold: its message, as it lies in the file.
enum class EventContent { values, version, graph, train_lineage, eval_lineage, dataset_graph, custom_lineage, other };

struct Event {
  double wall_time = 0;  // seconds since 1970
  std::int64_t step = 0;
  EventContent content = EventContent::values;
  std::vector<EventValue> values;  // of EventContent::values
  std::string message;             // of the others; the version as text
};

inline constexpr std::string_view mindspore_event_version = "MindSpore.Event:1";
inline constexpr std::string_view tensorboard_event_version = "brain.Event:2";

/// A computation to be shown. Names are what inputs refer to.
struct EventGraph {
  struct Value {
    std::string name;
    Dtype dtype = Dtype::float32;
    std::vector<std::int64_t> shape;  // -1: any size
  };
  struct Node {
    std::string name, type;
    std::string scope;      // "Default/network-LeNet/conv1-Conv2d"
    std::string full_name;  // with the operator: ".../Conv2D-op0"
    std::vector<std::string> inputs;
    Value output{};
  };
  std::string name;
  std::vector<Value> parameters;  // also the network's inputs
  std::vector<Value> constants;
  std::vector<Node> nodes;
  std::vector<Value> outputs;
};

/// Where a trained model comes from. Empty texts are left out.
struct TrainLineage {
  std::string optimizer, loss_function, parallel_mode = "stand_alone", network, dataset_path;
  std::optional<float> learning_rate, loss;
  std::int32_t epoch = 0, device_num = 1, batch_size = 0, dataset_size = 0;
  std::string model_path = R"({"ckpt": null})";  // JSON
  std::int64_t model_size = 0;                   // bytes
};

struct EvalLineage {
  std::string metrics;  // JSON
  std::string dataset_path;
  std::int32_t dataset_size = 0;
};

/// A stage of a data set, after those that it reads.
struct DatasetGraph {
  struct Setting {
    std::string name;
    std::variant<bool, std::int64_t, double, std::string> value;
  };
  std::vector<DatasetGraph> children;
  std::vector<Setting> settings;  // the first one is "op_type"
};

/// Numbers and texts of the user's own.
struct CustomLineage {
  struct Entry {
    std::string name;
    std::variant<std::int64_t, double, std::string> value;
  };
  std::vector<Entry> entries;
};

}  // namespace tenon::io
