// The messages of TensorBoard's event files: bytes to Event and back. Needs protozero.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <tenon/io/bytes/protobuf.hpp>
#include <tenon/io/event/event.hpp>
#include <tenon/io/event/event_parts.hpp>

namespace tenon::inline TENON_ABI::io {

// Event { wall_time = 1; step = 2; oneof { file_version = 3; bytes graph_def = 4; Summary summary = 5; } }
// Summary { repeated Value value = 1; }
// Value { tag = 1; oneof { float simple_value = 2; Image image = 4; HistogramProto histo = 5; TensorProto tensor = 8; }
//         metadata = 9 { plugin_data = 1 { plugin_name = 1; } } }
// HistogramProto { min = 1; max = 2; num = 3; sum = 4; sum_squares = 5; bucket_limit = 6; bucket = 7; }
// TensorProto { dtype = 1; tensor_shape = 2 { repeated dim = 2 { size = 1; } } tensor_content = 4; float_val = 5;
//               double_val = 6; string_val = 8; }

namespace detail {

class TensorBoardEventParser {
 public:
  static Event parse(std::string_view message) {
    Event event;
    event.content = EventContent::other;
    MessageField field;
    for (Message fields(message); fields.next(field);) switch (field.number) {
        case 1: event.wall_time = field.real("the time of an event"); break;
        case 2: event.step = field.integer("the step of an event"); break;
        case 3:
          event.content = EventContent::version;
          event.message = event_text(field, "the version of an event file");
          break;
        case 4:
          event.content = EventContent::graph;
          event.message = field.bytes("a graph");
          break;
        case 5: take_values(event, field.bytes("a summary")); break;
        default: break;
      }
    return event;
  }

 private:
  enum : std::int64_t { float_type = 1, double_type = 2, string_type = 7 };
  struct Tensor {
    std::int64_t dtype = 0;
    EventTensor values;
    std::string string;
    bool readable = true;
  };

  static void take_values(Event& event, std::string_view summary) {
    event.content = EventContent::values;
    MessageField field;
    for (Message fields(summary); fields.next(field);)
      if (field.number == 1) take_value(event, field);
  }
  static void take_value(Event& event, const MessageField& outer) {
    EventValue result;
    bool filled = false;
    std::string_view plugin, tensor;
    MessageField field;
    for (Message value(outer.bytes("a value")); value.next(field);) switch (field.number) {
        case 1: result.tag = event_text(field, "a tag"); break;
        case 2: result.value = field.single("a scalar"), filled = true; break;
        case 4: result.value = parse_image(field.bytes("an image")), filled = true; break;
        case 5: result.value = histogram(field), filled = true; break;
        case 8: tensor = field.bytes("a tensor"); break;
        case 9: plugin = plugin_of(field.bytes("what a value is for")); break;
        default: break;
      }
    if (result.tag.empty()) throw BadMessage{"a value has no tag", outer.at};
    if (tensor.data()) filled = take_tensor(result, tensor, plugin);
    if (filled) event.values.push_back(std::move(result));
  }
  static std::string_view plugin_of(std::string_view metadata) {
    std::string_view name;
    MessageField field, inner;
    for (Message fields(metadata); fields.next(field);)
      if (field.number == 1)
        for (Message data(field.bytes("a plugin")); data.next(inner);)
          if (inner.number == 1) name = inner.bytes("the name of a plugin");
    return name;
  }
  static LimitHistogram histogram(const MessageField& outer) {
    LimitHistogram h;
    MessageField field;
    for (Message fields(outer.bytes("a histogram")); fields.next(field);) switch (field.number) {
        case 1: h.min = field.real("the smallest element"); break;
        case 2: h.max = field.real("the largest element"); break;
        case 3: h.num = field.real("the number of elements"); break;
        case 4: h.sum = field.real("the sum of a histogram"); break;
        case 5: h.sum_squares = field.real("the sum of squares"); break;
        case 6: each_number<double>(field, "the limits", [&](double limit) { h.limits.push_back(limit); }); break;
        case 7: each_number<double>(field, "the buckets", [&](double count) { h.counts.push_back(count); }); break;
        default: break;
      }
    if (h.limits.size() != h.counts.size())
      throw BadMessage{text("a histogram has ", h.limits.size(), " limits and ", h.counts.size(), " buckets"),
                       outer.at};
    return h;
  }

  // Newer writers put scalars and texts into tensors.
  static bool take_tensor(EventValue& into, std::string_view message, std::string_view plugin) {
    Tensor tensor = parse_tensor(message);
    if (tensor.dtype == string_type) {
      into.value = std::move(tensor.string);
      return plugin == "text";
    }
    if (!tensor.readable || (tensor.dtype != float_type && tensor.dtype != double_type)) return false;
    check_tensor_shape(tensor.values, message.data());
    tensor.values.dtype = tensor.dtype == float_type ? Dtype::float32 : Dtype::float64;
    if (plugin == "scalars" && tensor.values.elements.size() == 1) into.value = tensor.values.elements[0];
    else into.value = std::move(tensor.values);
    return true;
  }
  static Tensor parse_tensor(std::string_view message) {
    Tensor tensor;
    MessageField field, content;
    const auto keep = [&](auto element) { tensor.values.elements.push_back(static_cast<float>(element)); };
    for (Message fields(message); fields.next(field);) switch (field.number) {
        case 1: tensor.dtype = field.integer("an element type"); break;
        case 2: take_shape(tensor.values, field.bytes("a shape")); break;
        case 4: content = field; break;
        case 5: each_number<float>(field, "a tensor", keep); break;
        case 6: each_number<double>(field, "a tensor", keep); break;
        case 8: {
          const std::string one = event_text(field, "a text");
          tensor.string += tensor.string.empty() ? one : "\n" + one;
          break;
        }
        case 3:
        case 13:
        case 15: break;  // versions, parts of quantized and variant tensors
        default: tensor.readable = false;
      }
    if (content.number && tensor.dtype == float_type) each_number<float>(content, "a tensor", keep);
    if (content.number && tensor.dtype == double_type) each_number<double>(content, "a tensor", keep);
    return tensor;
  }
  static void take_shape(EventTensor& tensor, std::string_view message) {
    MessageField field, inner;
    for (Message fields(message); fields.next(field);) {
      if (field.number != 2) continue;
      std::int64_t size = 0;
      for (Message extent(field.bytes("an axis")); extent.next(inner);)
        if (inner.number == 1) size = inner.integer("an axis");
      add_extent(tensor.shape, size, field);
    }
  }
};

inline void add_limit_histogram(protozero::pbf_writer& value, const LimitHistogram& h) {
  protozero::pbf_writer message(value, 5);
  const auto add = [&](unsigned number, double x) {
    if (x != 0) message.add_double(number, x);
  };
  add(1, h.min), add(2, h.max), add(3, h.num), add(4, h.sum), add(5, h.sum_squares);
  add_packed(message, 6, h.limits);
  add_packed(message, 7, h.counts);
}
inline void add_tensorboard_shape(protozero::pbf_writer& tensor, const std::vector<std::int64_t>& shape) {
  protozero::pbf_writer message(tensor, 2);
  for (const std::int64_t extent : shape) {
    protozero::pbf_writer axis(message, 2);
    axis.add_int64(1, extent);
  }
}
inline void add_plugin(protozero::pbf_writer& value, std::string_view name) {
  protozero::pbf_writer metadata(value, 9);
  protozero::pbf_writer data(metadata, 1);
  data.add_string(1, name.data(), name.size());
}
inline void add_tensorboard_value(protozero::pbf_writer& summary, const EventValue& value) {
  protozero::pbf_writer message(summary, 1);
  message.add_string(1, value.tag);
  if (const auto* scalar = std::get_if<float>(&value.value)) message.add_float(2, *scalar);
  else if (const auto* image = std::get_if<EventImage>(&value.value)) add_image(message, 4, *image);
  else if (const auto* histogram = std::get_if<LimitHistogram>(&value.value)) add_limit_histogram(message, *histogram);
  else if (const auto* tensor = std::get_if<EventTensor>(&value.value)) {
    protozero::pbf_writer inner(message, 8);
    inner.add_enum(1, 1);
    add_tensorboard_shape(inner, tensor->shape);
    add_packed(inner, 5, tensor->elements);
  } else if (const auto* string = std::get_if<std::string>(&value.value)) {
    {
      protozero::pbf_writer inner(message, 8);
      inner.add_enum(1, 7);
      add_tensorboard_shape(inner, {1});
      inner.add_string(8, *string);
    }
    add_plugin(message, "text");
  } else throw_error<ValueError>("TensorBoard's event files hold no value such as that of '", value.tag, "'.");
}

}  // namespace detail

/// The message of a record. Values that Tenon does not read, such as sound, are left out. Throws BadMessage.
inline Event parse_tensorboard_event(std::string_view message) {
  return detail::TensorBoardEventParser::parse(message);
}

/// The message of an event. Throws ValueError for a value that TensorBoard does not have.
inline std::string tensorboard_event_message(const Event& event) {
  std::string message;
  protozero::pbf_writer writer(message);
  writer.add_double(1, event.wall_time);
  if (event.step != 0) writer.add_int64(2, event.step);
  if (event.content == EventContent::version) writer.add_string(3, event.message);
  else if (event.content == EventContent::graph) writer.add_bytes(4, event.message);
  else {
    protozero::pbf_writer summary(writer, 5);
    for (const EventValue& value : event.values) detail::add_tensorboard_value(summary, value);
  }
  return message;
}

}  // namespace tenon::io
