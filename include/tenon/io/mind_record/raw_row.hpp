// The numbers and texts of a row as a MessagePack map, by nlohmann_json.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <tenon/core/error.hpp>
#include <tenon/io/mind_record/schema.hpp>
#include <tenon/io/mind_record/value.hpp>
#include <tenon/io/text/escaped_text.hpp>

namespace tenon::inline TENON_ABI::io {

/// The map of all fields that are no blobs; of none MindSpore writes a field `id` that is 0. scalars: one for each
/// field of the schema.
inline std::string pack_raw_row(const MindRecordSchema& schema, std::span<const MindRecordScalar> scalars) {
  nlohmann::json map = nlohmann::json::object();
  for (std::size_t i = 0; i < schema.size(); ++i) {
    if (schema[i].is_blob()) continue;
    const MindRecordScalar& scalar = scalars[i];
    if (scalar.kind == MindRecordScalar::Kind::text) map[schema[i].name] = scalar.text;
    else if (scalar.kind == MindRecordScalar::Kind::real) map[schema[i].name] = scalar.real;
    else map[schema[i].name] = scalar.whole;
  }
  if (map.empty()) map["id"] = 0;
  std::string packed;
  nlohmann::json::to_msgpack(map, nlohmann::detail::output_adapter<char, std::string>(packed));
  return packed;
}

namespace detail {

/// Stores what nlohmann_json's reader meets in a map of numbers and texts; everything else ends it.
class RawRowBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  RawRowBuilder(const MindRecordSchema& schema, std::span<MindRecordScalar> scalars)
      : schema_(schema), scalars_(scalars) {}

  bool null() override { return fail("has null"); }
  bool boolean(bool) override { return fail("has a bool"); }
  bool number_integer(std::int64_t value) override {
    return put([&](MindRecordScalar& to) { to.kind = MindRecordScalar::Kind::whole, to.whole = value; });
  }
  bool number_unsigned(std::uint64_t value) override {
    if (value >> 63) return fail("has a number above 2^63 - 1");
    return number_integer(std::int64_t(value));
  }
  bool number_float(double value, const std::string&) override {
    return put([&](MindRecordScalar& to) { to.kind = MindRecordScalar::Kind::real, to.real = value; });
  }
  bool string(std::string& value) override {
    return put([&](MindRecordScalar& to) { to.kind = MindRecordScalar::Kind::text, to.text.swap(value); });
  }
  bool binary(nlohmann::json::binary_t&) override { return fail("has bytes"); }
  bool start_object(std::size_t) override { return ++depth_ == 1 || fail("has a map in its map"); }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return fail("has a list"); }
  bool end_array() override { return true; }
  bool key(std::string& name) override {
    if (++keys_ > 2 * MindRecordSchema::most_fields) return fail("has more names than a row can have");
    field_ = schema_.find(name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
    return fail("is damaged");
  }
  std::string reason;

 private:
  bool fail(const char* what) {
    if (reason.empty()) reason = text("its map of numbers and texts ", what);
    return false;
  }
  template <class Store>
  bool put(Store store) {
    if (depth_ == 0) return fail("is none");
    if (field_ == MindRecordSchema::none || schema_[field_].is_blob()) return true;  // MindSpore's `id`
    if (scalars_[field_].kind != MindRecordScalar::Kind::none) return fail("has a name twice");
    store(scalars_[field_]);
    return true;
  }

  const MindRecordSchema& schema_;
  std::span<MindRecordScalar> scalars_;
  std::size_t field_ = MindRecordSchema::none, keys_ = 0;
  int depth_ = 0;
};

/// Why a scalar of a file is not of the field's type, or nothing; a whole number is also a real one.
[[gnu::cold]] inline std::string fault_of_scalar(const MindRecordField& field, const MindRecordScalar& scalar) {
  using Kind = MindRecordScalar::Kind;
  const char* const found = scalar.kind == Kind::none   ? "nothing"
                            : scalar.kind == Kind::text ? "a text"
                            : scalar.kind == Kind::real ? "a real number"
                                                        : "a number that it does not have";
  return text("its field '", field.name, "' is ", field_type_name(field.type), ", the row has ", found);
}
inline bool is_of_type(const MindRecordField& field, const MindRecordScalar& scalar) {
  using Kind = MindRecordScalar::Kind;
  switch (field.type) {
    case MindRecordType::int32: return scalar.kind == Kind::whole && scalar.whole == std::int32_t(scalar.whole);
    case MindRecordType::int64: return scalar.kind == Kind::whole;
    case MindRecordType::string: return scalar.kind == Kind::text;
    default: return scalar.kind == Kind::whole || scalar.kind == Kind::real;
  }
}

}  // namespace detail

/// Reads the map into the scalars of the fields. Returns why it cannot, or nothing.
inline std::string unpack_raw_row(std::string_view packed, const MindRecordSchema& schema,
                                  std::span<MindRecordScalar> scalars) {
  for (MindRecordScalar& scalar : scalars) scalar.kind = MindRecordScalar::Kind::none;
  detail::RawRowBuilder builder(schema, scalars);
  if (!nlohmann::json::sax_parse(packed.begin(), packed.end(), &builder, nlohmann::json::input_format_t::msgpack))
    return builder.reason.empty() ? "its map of numbers and texts is damaged" : builder.reason;
  for (std::size_t i = 0; i < schema.size(); ++i)
    if (!schema[i].is_blob() && !detail::is_of_type(schema[i], scalars[i]))
      return detail::fault_of_scalar(schema[i], scalars[i]);
  return "";
}

}  // namespace tenon::io
