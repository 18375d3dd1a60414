// What the rows of a MindRecord file hold: names, types, and shapes of their fields.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/dtype.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/tensor/any_tensor.hpp>
#include <tenon/io/json.hpp>
#include <tenon/io/text/escaped_text.hpp>

namespace tenon::inline TENON_ABI::io {

/// What a field holds. Numbers may have a shape.
enum class MindRecordType : unsigned char { int32, int64, float32, float64, string, bytes };

/// A type as a schema names it: "int32" ... "bytes".
constexpr std::string_view field_type_name(MindRecordType type) {
  constexpr std::string_view names[]{"int32", "int64", "float32", "float64", "string", "bytes"};
  return names[int(type)];
}
constexpr bool is_number(MindRecordType type) { return type <= MindRecordType::float64; }
/// The element type of a field of numbers.
constexpr Dtype dtype_of_field(MindRecordType type) {
  constexpr Dtype dtypes[]{Dtype::int32, Dtype::int64, Dtype::float32, Dtype::float64};
  return dtypes[int(type)];
}

/// A field of each row: `{"label", MindRecordType::int32}`, `{"labels", MindRecordType::int32, {-1}}`.
struct MindRecordField {
  std::string name{};
  MindRecordType type = MindRecordType::int32;
  std::vector<std::int64_t> shape{};  // of an array of numbers; one extent may be -1: another one in each row

  bool is_array() const { return !shape.empty(); }
  /// Stored on its own, not among the row's numbers and texts.
  bool is_blob() const { return is_array() || type == MindRecordType::bytes; }
  /// Stored with as few bytes for each element as it needs.
  bool is_compressed() const { return is_array() && (type == MindRecordType::int32 || type == MindRecordType::int64); }
  friend bool operator==(const MindRecordField&, const MindRecordField&) = default;
};

/// "int32[-1]", "bytes": the type and shape as messages and tools show them.
[[gnu::cold]] inline std::string type_text(const MindRecordField& field) {
  return text(field_type_name(field.type), field.is_array() ? shape_text(field.shape) : "");
}

namespace detail {

/// Why a field cannot be one, or nothing.
[[gnu::cold]] inline std::string fault_of_field(const MindRecordField& field) {
  constexpr std::string_view letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  constexpr std::int64_t largest = std::int64_t{1} << 32;
  if (field.name.empty() || field.name.find_first_not_of(letters) != std::string::npos)
    return text("the field ", printable(field.name), " should be composed of '0-9' or 'a-z' or 'A-Z' or '_'");
  if (!field.is_array()) return "";
  if (!is_number(field.type))
    return text("the field '", field.name, "' is ", field_type_name(field.type),
                ", which has no shape; only numbers have one");
  if (field.shape.size() > std::size_t(AnyTensor::max_axes))
    return text("the field '", field.name, "' has ", field.shape.size(), " axes, the most are ",
                int(AnyTensor::max_axes));
  if (std::ranges::count(field.shape, std::int64_t{-1}) > 1)
    return text("the field '", field.name, "' has the shape ", shape_text(field.shape),
                ", in which only one may be -1");
  for (const std::int64_t extent : field.shape)
    if (extent != -1 && (extent < 1 || extent > largest))
      return text("the field '", field.name, "' has the shape ", shape_text(field.shape),
                  ", in which all must be 1 or more, or one -1");
  std::int64_t elements = 1;
  for (const std::int64_t extent : field.shape) {
    if (extent == -1) continue;
    if (extent > largest / elements)
      return text("the field '", field.name, "' has the shape ", shape_text(field.shape),
                  ", more elements than the most, ", largest);
    elements *= extent;
  }
  return "";
}

}  // namespace detail

/// The fields of a file, in the order of their names, as MindSpore stores them.
class MindRecordSchema {
 public:
  static constexpr std::size_t most_fields = 100;

  MindRecordSchema() = default;
  /// Throws ValueError for a name that is not of letters, digits, and _, for a shape of what are no numbers, with a 0,
  /// with two -1, or of more than 2^32 elements, for a name that two fields have, and for more than 100 fields or none.
  explicit MindRecordSchema(std::vector<MindRecordField> fields, std::string description = "")
      : fields_(std::move(fields)), description_(std::move(description)) {
    std::ranges::sort(fields_, {}, &MindRecordField::name);
    std::string fault;
    if (fields_.empty()) fault = "it has no fields";
    if (fields_.size() > most_fields) fault = text("it has ", fields_.size(), " fields, the most are ", most_fields);
    for (std::size_t i = 0; i < fields_.size() && fault.empty(); ++i) {
      fault = detail::fault_of_field(fields_[i]);
      if (fault.empty() && i && fields_[i - 1].name == fields_[i].name)
        fault = text("two fields are called '", fields_[i].name, "'");
    }
    if (fault.empty() && find_bad_utf8(description_) != description_.npos) fault = "its description is not in UTF-8";
    if (!fault.empty()) throw_error<ValueError>("The schema of a MindRecord file is wrong: ", fault, ".");
  }

  const std::vector<MindRecordField>& fields() const { return fields_; }
  const std::string& description() const { return description_; }
  std::size_t size() const { return fields_.size(); }
  const MindRecordField& operator[](std::size_t i) const { return fields_[i]; }

  static constexpr std::size_t none = std::size_t(-1);
  /// The place of a field, or none.
  std::size_t find(std::string_view name) const {
    const auto found = std::ranges::lower_bound(fields_, name, {}, &MindRecordField::name);
    return found == fields_.end() || found->name != name ? none : std::size_t(found - fields_.begin());
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const MindRecordField& field : fields_) all.push_back(field.name);
    return all;
  }
  std::size_t blobs() const { return std::size_t(std::ranges::count_if(fields_, &MindRecordField::is_blob)); }
  bool has_raw() const { return blobs() < fields_.size(); }
  friend bool operator==(const MindRecordSchema& a, const MindRecordSchema& b) { return a.fields_ == b.fields_; }

 private:
  std::vector<MindRecordField> fields_;
  std::string description_;
};

namespace detail {

/// The types and shapes after "schema" in a header: what FileWriter.add_schema takes.
[[gnu::cold]] inline MindRecordSchema schema_from_json(const Json& json, std::string description) {
  if (!json.is(Json::Kind::object)) throw_error<ValueError>("A schema is a JSON object of names and their types.");
  std::vector<MindRecordField> fields;
  for (std::size_t i = 0; i < json.names.size(); ++i) {
    const Json& said = json.items[i];
    const Json* const type = said.find("type");
    const Json* const shape = said.find("shape");
    MindRecordField field{.name = json.names[i]};
    int known = 0;
    while (type && known <= int(MindRecordType::bytes) && field_type_name(MindRecordType(known)) != type->string)
      ++known;
    if (!type || !type->is(Json::Kind::string) || known > int(MindRecordType::bytes))
      throw_error<ValueError>("The field ", printable(field.name), " contains the illegal type ",
                              type ? printable(type->string) : "(none)",
                              "; types are int32, int64, float32, float64, string, bytes.");
    field.type = MindRecordType(known);
    if (shape && (!shape->is(Json::Kind::array) || shape->items.empty()))
      throw_error<ValueError>("The shape of the field ", printable(field.name), " is no list of whole numbers.");
    for (std::size_t axis = 0; shape && axis < shape->items.size(); ++axis) {
      if (!shape->items[axis].is(Json::Kind::whole))
        throw_error<ValueError>("The shape of the field ", printable(field.name), " is no list of whole numbers.");
      field.shape.push_back(shape->items[axis].integer);
    }
    fields.push_back(std::move(field));
  }
  return MindRecordSchema(std::move(fields), std::move(description));
}

/// As MindSpore writes it into a header.
[[gnu::cold]] inline std::string json_of_schema(const MindRecordSchema& schema) {
  std::string json = "{";
  for (const MindRecordField& field : schema.fields()) {
    json += text(json.size() > 1 ? "," : "", "\"", field.name, "\":{");
    if (field.is_array()) {
      json += "\"shape\":[";
      for (std::size_t axis = 0; axis < field.shape.size(); ++axis) json += text(axis ? "," : "", field.shape[axis]);
      json += "],";
    }
    json += text("\"type\":\"", field_type_name(field.type), "\"}");
  }
  return json + "}";
}

}  // namespace detail

/// A schema in MindSpore's words: `{"label": {"type": "int32", "shape": [-1]}, "data": {"type": "bytes"}}`. Throws
/// RuntimeError for what is no JSON, ValueError for what is no schema.
[[gnu::cold]] inline MindRecordSchema parse_mind_record_schema(std::string_view json, std::string description = "") {
  return detail::schema_from_json(parse_json(json, "Cannot read a schema"), std::move(description));
}

}  // namespace tenon::io
