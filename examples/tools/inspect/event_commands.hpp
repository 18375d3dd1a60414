// list, show, and convert of event files.
#pragma once
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <tenon/io/event_file.hpp>
#include <tenon/io/text/csv_field.hpp>

#include "tensor_commands.hpp"

namespace inspect {

inline std::string kind_of_value(const io::EventValue& value) {
  static constexpr const char* kinds[]{"scalar", "image", "tensor", "histogram", "histogram", "text"};
  return kinds[value.value.index()];
}
inline std::string text_of_value(const io::EventValue& value) {
  if (const auto* scalar = std::get_if<float>(&value.value)) return text(*scalar);
  if (const auto* image = std::get_if<io::EventImage>(&value.value))
    return text(image->height, " x ", image->width, " x ", image->channels, ", ", image->png.size(), " bytes of PNG");
  if (const auto* tensor = std::get_if<io::EventTensor>(&value.value))
    return text(name(tensor->dtype), " ", shape_text(tensor->shape));
  if (const auto* histogram = std::get_if<io::Histogram>(&value.value))
    return text(histogram->count, " elements from ", histogram->min, " to ", histogram->max);
  if (const auto* histogram = std::get_if<io::LimitHistogram>(&value.value))
    return text(histogram->num, " elements from ", histogram->min, " to ", histogram->max);
  return io::json_escaped(std::get<std::string>(value.value));
}

/// A row for each tag: what it is, how often it came, in which steps.
inline void list_events(const std::string& path) {
  struct Tag {
    std::string kind, last;
    std::size_t count = 0;
    std::int64_t first_step = 0, last_step = 0;
  };
  const io::EventFile file(path);
  std::map<std::string, Tag> tags;
  std::vector<std::vector<std::string>> rows{{"tag", "kind", "values", "first step", "last step", "last value"}};
  for (const io::Event& event : file.events())
    for (const io::EventValue& value : event.values) {
      Tag& tag = tags[value.tag];
      if (tag.count++ == 0) tag.first_step = event.step;
      tag.kind = kind_of_value(value), tag.last = text_of_value(value), tag.last_step = event.step;
    }
  for (const auto& [name, tag] : tags)
    rows.push_back({io::json_escaped(name), tag.kind, std::to_string(tag.count), std::to_string(tag.first_step),
                    std::to_string(tag.last_step), tag.last});
  std::printf("event file of %s, %zu records\n",
              file.format() == io::EventFormat::mindspore ? "MindSpore" : "TensorBoard", file.events().size());
  if (rows.size() > 1) print_table(rows);
  if (file.unfinished()) std::printf("%zu bytes of an unfinished record at the end\n", file.unfinished());
}

/// All values, or those of one tag, in the order of the file.
inline void show_events(const std::string& path, const std::string& only) {
  const io::EventFile file(path);
  std::vector<std::string> known;
  std::vector<std::vector<std::string>> rows{{"step", "tag", "kind", "value"}};
  for (const io::Event& event : file.events())
    for (const io::EventValue& value : event.values) {
      known.push_back(value.tag);
      if (only.empty() || value.tag == only)
        rows.push_back(
            {std::to_string(event.step), io::json_escaped(value.tag), kind_of_value(value), text_of_value(value)});
    }
  if (!only.empty() && rows.size() == 1)
    throw_error<KeyError>("'", path, "' has no tag '", only, "'.", did_you_mean(only, known));
  print_table(rows);
}

/// The scalars as a table of comma-separated values: step, wall_time, tag, value.
inline void write_scalars(const std::string& from, const std::string& to) {
  const io::EventFile file(from);
  std::string lines("step,wall_time,tag,value\n");
  for (const io::Event& event : file.events())
    for (const io::EventValue& value : event.values)
      if (const auto* scalar = std::get_if<float>(&value.value))
        lines += text(event.step, ",", event.wall_time, ",", io::csv_field(value.tag), ",", *scalar, "\n");
  io::write_file(to, lines);
}

}  // namespace inspect
