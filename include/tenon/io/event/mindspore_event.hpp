// The messages of MindSpore's event files: bytes to Event and back. Needs protozero.
#pragma once
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include <tenon/io/bytes/protobuf.hpp>
#include <tenon/io/event/event.hpp>
#include <tenon/io/event/event_parts.hpp>

namespace tenon::inline TENON_ABI::io {

// Event { wall_time = 1; step = 2; oneof { version = 3; GraphProto graph_def = 4; Summary summary = 5; } }
// Summary { repeated Value value = 1; }
// Value { tag = 1;
//         oneof { float scalar_value = 3; Image image = 4; TensorProto tensor = 8; Histogram histogram = 9; } }
// Histogram { repeated Bucket { left = 1; width = 2; count = 3; } buckets = 1; nan_count = 2; pos_inf_count = 3;
//             neg_inf_count = 4; max = 5; min = 6; sum = 7; count = 8; }
// TensorProto { repeated int64 dims = 1; DataType data_type = 2; repeated float float_data = 3; }
// LineageEvent, in a file of its own { wall_time = 1; step = 2; oneof { train_lineage = 6; evaluation_lineage = 7;
//                                      dataset_graph = 9; user_defined_info = 10; } }

namespace detail {

// bfloat16 has no number there; it is recorded as float32.
inline constexpr std::pair<Dtype, int> mindspore_dtypes[]{
    {Dtype::bool_, 1},  {Dtype::int8, 2},     {Dtype::int16, 3},    {Dtype::int32, 4},
    {Dtype::int64, 5},  {Dtype::uint8, 6},    {Dtype::uint16, 7},   {Dtype::uint32, 8},
    {Dtype::uint64, 9}, {Dtype::float16, 10}, {Dtype::float32, 11}, {Dtype::float64, 12},
};
constexpr int mindspore_dtype(Dtype dtype) {
  for (const auto& [known, number] : mindspore_dtypes)
    if (known == dtype) return number;
  return mindspore_dtype(Dtype::float32);
}

class MindSporeEventParser {
 public:
  static Event parse(std::string_view message, bool lineage) {
    Event event;
    bool timed = false, filled = false;
    MessageField field;
    for (Message fields(message); fields.next(field);) {
      if (field.number == 1) event.wall_time = field.real("the time of an event"), timed = true;
      else if (field.number == 2) event.step = field.integer("the step of an event");
      else if (take(event, field, lineage)) filled = true;
    }
    if (!timed) throw BadMessage{"an event has no time", message.data()};
    if (!filled) event.content = EventContent::other;
    return event;
  }

 private:
  static bool take(Event& event, const MessageField& field, bool lineage) {
    const auto keep = [&](EventContent content) {
      event.content = content;
      event.message = field.bytes("an event");
      return true;
    };
    if (field.number == 3) {
      event.content = EventContent::version;
      event.message = event_text(field, "the version of an event file");
      return true;
    }
    if (lineage) switch (field.number) {
        case 6: return keep(EventContent::train_lineage);
        case 7: return keep(EventContent::eval_lineage);
        case 9: return keep(EventContent::dataset_graph);
        case 10: return keep(EventContent::custom_lineage);
        default: return false;
      }
    if (field.number == 4) return keep(EventContent::graph);
    if (field.number != 5) return false;
    event.content = EventContent::values;
    MessageField value;
    for (Message summary(field.bytes("a summary")); summary.next(value);)
      if (value.number == 1) add_value(event, value);
    return true;
  }
  static void add_value(Event& event, const MessageField& outer) {
    EventValue result;
    bool filled = false;
    MessageField field;
    for (Message value(outer.bytes("a value")); value.next(field);) {
      if (field.number == 1) {
        result.tag = event_text(field, "a tag");
        continue;
      }
      filled = true;
      if (field.number == 3) result.value = field.single("a scalar");
      else if (field.number == 4) result.value = parse_image(field.bytes("an image"));
      else if (field.number == 8) result.value = tensor(field);
      else if (field.number == 9) result.value = histogram(field.bytes("a histogram"));
      else filled = false;
    }
    if (result.tag.empty()) throw BadMessage{"a value has no tag", outer.at};
    if (filled) event.values.push_back(std::move(result));
  }
  static EventTensor tensor(const MessageField& outer) {
    EventTensor result;
    std::int64_t dtype = 0;
    MessageField field;
    for (Message message(outer.bytes("a tensor")); message.next(field);) {
      if (field.number == 1)
        each_integer(field, "a shape", [&](std::int64_t extent) { add_extent(result.shape, extent, field); });
      else if (field.number == 2) dtype = field.integer("an element type");
      else if (field.number == 3)
        each_number<float>(field, "a tensor", [&](float element) { result.elements.push_back(element); });
    }
    bool known = false;
    for (const auto& [one, number] : mindspore_dtypes)
      if (number == dtype) result.dtype = one, known = true;
    if (!known)
      throw BadMessage{text("a tensor has the element type ", dtype, ", which Tenon does not have"), outer.at};
    check_tensor_shape(result, outer.at);
    return result;
  }
  static Histogram histogram(std::string_view message) {
    Histogram result;
    MessageField field;
    for (Message fields(message); fields.next(field);) switch (field.number) {
        case 1: result.buckets.push_back(bucket(field.bytes("a bucket"))); break;
        case 2: result.nan_count = field.integer("a count"); break;
        case 3: result.pos_inf_count = field.integer("a count"); break;
        case 4: result.neg_inf_count = field.integer("a count"); break;
        case 5: result.max = field.real("the largest element"); break;
        case 6: result.min = field.real("the smallest element"); break;
        case 7: result.sum = field.real("the sum of a histogram"); break;
        case 8: result.count = field.integer("a count"); break;
        default: break;
      }
    return result;
  }
  static HistogramBucket bucket(std::string_view message) {
    HistogramBucket result;
    int found = 0;
    MessageField field;
    for (Message fields(message); fields.next(field);) {
      if (field.number == 1) result.left = field.real("a border"), found |= 1;
      else if (field.number == 2) result.width = field.real("a width"), found |= 2;
      else if (field.number == 3) result.count = field.integer("a count"), found |= 4;
    }
    if (found != 7) throw BadMessage{"a bucket of a histogram has no border, width, or count", message.data()};
    return result;
  }
};

inline void add_mindspore_histogram(protozero::pbf_writer& value, const Histogram& h) {
  protozero::pbf_writer message(value, 9);
  for (const HistogramBucket& bucket : h.buckets) {
    protozero::pbf_writer one(message, 1);
    one.add_double(1, bucket.left);
    one.add_double(2, bucket.width);
    one.add_int64(3, bucket.count);
  }
  message.add_int64(2, h.nan_count);
  message.add_int64(3, h.pos_inf_count);
  message.add_int64(4, h.neg_inf_count);
  if (!h.buckets.empty()) {
    message.add_double(5, h.max);
    message.add_double(6, h.min);
    message.add_double(7, h.sum);
  }
  message.add_int64(8, h.count);
}
inline void add_mindspore_value(protozero::pbf_writer& summary, const EventValue& value) {
  protozero::pbf_writer message(summary, 1);
  message.add_string(1, value.tag);
  if (const auto* scalar = std::get_if<float>(&value.value)) message.add_float(3, *scalar);
  else if (const auto* image = std::get_if<EventImage>(&value.value)) add_image(message, 4, *image);
  else if (const auto* histogram = std::get_if<Histogram>(&value.value)) add_mindspore_histogram(message, *histogram);
  else if (const auto* tensor = std::get_if<EventTensor>(&value.value)) {
    protozero::pbf_writer inner(message, 8);
    for (const std::int64_t extent : tensor->shape) inner.add_int64(1, extent);
    inner.add_enum(2, mindspore_dtype(tensor->dtype));
    add_packed(inner, 3, tensor->elements);
  } else throw_error<ValueError>("MindSpore's event files hold no value such as that of '", value.tag, "'.");
}

}  // namespace detail

/// The message of a record. `lineage`: of a file of lineage, where the numbers of the fields are others. Throws
/// BadMessage.
inline Event parse_mindspore_event(std::string_view message, bool lineage = false) {
  return detail::MindSporeEventParser::parse(message, lineage);
}

/// The message of an event, to the byte as MindSpore writes it. Throws ValueError for a value that it does not have.
inline std::string mindspore_event_message(const Event& event) {
  std::string message;
  protozero::pbf_writer writer(message);
  writer.add_double(1, event.wall_time);
  switch (event.content) {
    case EventContent::values: {
      writer.add_int64(2, event.step);
      protozero::pbf_writer summary(writer, 5);
      for (const EventValue& value : event.values) detail::add_mindspore_value(summary, value);
      break;
    }
    case EventContent::version: writer.add_string(3, event.message); break;
    case EventContent::graph: writer.add_bytes(4, event.message); break;
    case EventContent::train_lineage: writer.add_bytes(6, event.message); break;
    case EventContent::eval_lineage: writer.add_bytes(7, event.message); break;
    case EventContent::dataset_graph: writer.add_bytes(9, event.message); break;
    case EventContent::custom_lineage: writer.add_bytes(10, event.message); break;
    case EventContent::other: break;
  }
  return message;
}

}  // namespace tenon::io
