// What the messages of both formats of event files have in common: how their parts are checked.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/tensor/any_tensor.hpp>
#include <tenon/io/bytes/protobuf.hpp>
#include <tenon/io/event/event.hpp>
#include <tenon/io/text/escaped_text.hpp>

namespace tenon::inline TENON_ABI::io::detail {

inline std::string event_text(const MessageField& field, std::string_view what) {
  const std::string_view bytes = field.bytes(what);
  if (find_bad_utf8(bytes) != bytes.npos) throw BadMessage{text(what, " is not UTF-8"), field.at};
  return std::string(bytes);
}
/// A number that a picture can have of pixels in one direction.
inline int event_extent(const MessageField& field, std::string_view what) {
  const std::int64_t number = field.integer(what);
  if (number < 0 || number > std::numeric_limits<std::int32_t>::max())
    throw BadMessage{text(what, " of an image is ", number), field.at};
  return static_cast<int>(number);
}
/// The same four fields in both formats.
inline EventImage parse_image(std::string_view message) {
  EventImage image;
  MessageField field;
  for (Message fields(message); fields.next(field);) {
    if (field.number == 1) image.height = event_extent(field, "the height");
    else if (field.number == 2) image.width = event_extent(field, "the width");
    else if (field.number == 3) image.channels = event_extent(field, "the number of channels");
    else if (field.number == 4) image.png = field.bytes("an image");
  }
  return image;
}
inline void add_image(protozero::pbf_writer& value, unsigned number, const EventImage& image) {
  protozero::pbf_writer message(value, number);
  message.add_int32(1, image.height);
  message.add_int32(2, image.width);
  message.add_int32(3, image.channels);
  message.add_bytes(4, image.png);
}
inline void add_extent(std::vector<std::int64_t>& shape, std::int64_t extent, const MessageField& field) {
  if (shape.size() == AnyTensor::max_axes)
    throw BadMessage{text("a tensor has more than the ", AnyTensor::max_axes, " axes that Tenon reads"), field.at};
  if (extent < 0) throw BadMessage{text("a tensor has an axis of length ", extent), field.at};
  shape.push_back(extent);
}
/// Throws BadMessage unless the tensor has as many elements as its shape says.
inline void check_tensor_shape(const EventTensor& tensor, const char* at) {
  std::uint64_t count = 1;
  bool fits = true;
  for (const std::int64_t extent : tensor.shape)
    if (__builtin_mul_overflow(count, static_cast<std::uint64_t>(extent), &count)) fits = false;
  if (!fits || count != tensor.elements.size())
    throw BadMessage{text("a tensor of shape ", shape_text(tensor.shape), " has ", tensor.elements.size(), " elements"),
                     at};
}

}  // namespace tenon::io::detail
