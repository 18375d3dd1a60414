// tf.train.Example: what TensorFlow keeps in the records of a data set, a map from names to lists of values. Needs
// protozero.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/io/bytes/protobuf.hpp>
#include <tenon/io/text/escaped_text.hpp>

namespace tenon::inline TENON_ABI::io {

/// The values of one feature: a view into the message.
class TfFeature {
 public:
  enum class Kind { none, bytes, floats, integers };

  /// The feature's message. Throws BadMessage.
  explicit TfFeature(std::string_view message) {
    Message fields(message);
    for (MessageField field; fields.next(field);)
      if (field.number >= 1 && field.number <= 3) {
        kind_ = static_cast<Kind>(field.number);
        list_ = field.bytes("a list of values");
      }
  }

  Kind kind() const { return kind_; }
  std::string_view kind_name() const {
    constexpr std::string_view names[]{"nothing", "a bytes_list", "a float_list", "an int64_list"};
    return names[static_cast<int>(kind_)];
  }
  /// Calls f(value) for each: std::string_view, float, or std::int64_t, as kind() is. Throws BadMessage.
  template <class F>
  void each_bytes(F f) const {
    each_value([&](const MessageField& field) { f(field.bytes("a value of a bytes_list")); });
  }
  template <class F>
  void each_float(F f) const {
    each_value([&](const MessageField& field) { each_number<float>(field, "a float_list", f); });
  }
  template <class F>
  void each_int64(F f) const {
    each_value([&](const MessageField& field) { each_integer(field, "an int64_list", f); });
  }

 private:
  template <class F>
  void each_value(F f) const {
    Message fields(list_);
    for (MessageField field; fields.next(field);)
      if (field.number == 1) f(field);
  }

  Kind kind_ = Kind::none;
  std::string_view list_;
};

/// Calls f(name, feature) for each feature of an Example, as a message of its own, in the order of the file. Throws
/// BadMessage where the bytes are none.
template <class F>
void each_tf_feature(std::string_view example, F f) {
  Message fields(example);
  for (MessageField field; fields.next(field);) {
    if (field.number != 1) continue;
    Message entries(field.bytes("the features"));
    for (MessageField entry; entries.next(entry);) {
      if (entry.number != 1) continue;
      std::string_view name, feature;
      Message pair(entry.bytes("a feature"));
      for (MessageField part; pair.next(part);)
        if (part.number == 1) name = part.bytes("the name of a feature");
        else if (part.number == 2) feature = part.bytes("the values of a feature");
      f(name, feature);
    }
  }
}

}  // namespace tenon::io
