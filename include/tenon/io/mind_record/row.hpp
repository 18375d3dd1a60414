// A row of a MindRecord file in memory, whose memory the next row can use again.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/tensor/any_tensor.hpp>
#include <tenon/core/tensor/text_or_tensor.hpp>
#include <tenon/io/mind_record/integer_array.hpp>
#include <tenon/io/mind_record/raw_row.hpp>
#include <tenon/io/mind_record/schema.hpp>
#include <tenon/io/mind_record/value.hpp>

namespace tenon::inline TENON_ABI::io {

/// The values of a row, in the order of the schema: numbers as tensors without axes, arrays, texts, bytes. What it
/// gives is valid until the next row is read into it, and as long as the reader lives.
class MindRecordRow {
 public:
  MindRecordRow() = default;
  MindRecordRow(MindRecordRow&&) = default;
  MindRecordRow& operator=(MindRecordRow&&) = default;

  const MindRecordSchema& schema() const { return *schema_; }
  /// A text or bytes (`is_tensor` is false), or a tensor.
  const TextOrTensor& operator[](std::size_t field) const { return values_[field]; }
  /// Throws KeyError if there is no such field.
  const TextOrTensor& operator[](std::string_view name) const {
    const std::size_t field = schema_->find(name);
    if (field == MindRecordSchema::none)
      throw_error<KeyError>("There is no field ", printable(name), " in this MindRecord file, there are ",
                            quoted_list(schema_->names()), ".");
    return values_[field];
  }
  /// The number of a field; its type is the field's.
  template <class T>
  T number(std::string_view name) const {
    const AnyTensor& tensor = (*this)[name].tensor;
    return tensor.rank == 0 && tensor.data ? tensor.as<T>()[0] : throw_no_number<T>(name);
  }
  /// The elements of an array; their type is the field's.
  template <class T>
  std::span<const T> array(std::string_view name) const {
    return (*this)[name].tensor.template as<T>();
  }
  /// A text or bytes.
  std::string_view chars(std::string_view name) const { return (*this)[name].text; }

  /// Makes the values of a row of numbers and texts (without its length) and one of blobs; of fields whose place in
  /// `wanted` is false, none. Returns why it cannot, or nothing. For readers.
  std::string make(const MindRecordSchema& schema, std::string_view raw, std::string_view blob,
                   const std::vector<bool>& wanted) {
    schema_ = &schema;
    scalars_.resize(schema.size());
    values_.assign(schema.size(), {});
    if (!raw.empty())
      if (std::string fault = unpack_raw_row(raw, schema, scalars_); !fault.empty()) return fault;
    parts_.assign(schema.size(), {});
    if (blob.data())
      if (std::string fault = split(blob); !fault.empty()) return fault;
    std::size_t words = 0;
    for (std::size_t i = 0; i < schema.size(); ++i) {
      if (!wanted.empty() && !wanted[i]) continue;
      std::size_t bytes = 0;
      if (std::string fault = measure(i, bytes); !fault.empty())
        return text("its field '", schema[i].name, "' ", fault);
      words += (bytes + 7) / 8;
    }
    memory_.resize(words);
    std::uint64_t* next = memory_.data();
    for (std::size_t i = 0; i < schema.size(); ++i) {
      if (!values_[i].is_tensor) continue;
      values_[i].tensor.data = next;
      if (!fill(i)) return text("its field '", schema[i].name, "' is damaged");
      next += (values_[i].tensor.bytes() + 7) / 8;
    }
    return "";
  }
  /// Memory for the bytes of a row of blobs, which texts of make() may point to. For readers.
  char* blob_memory(std::size_t bytes) {
    if (blob_.size() < bytes) blob_.resize(bytes);
    return blob_.data();
  }
  std::string& raw_memory() { return raw_; }

 private:
  template <class T>
  [[noreturn, gnu::cold]] static T throw_no_number(std::string_view name) {
    throw_error<TypeError>("The field '", name, "' of this MindRecord file is no number.");
  }

  /// The parts of a row of blobs: the only one, or each after its length.
  std::string split(std::string_view blob) {
    const std::size_t count = schema_->blobs();
    for (std::size_t i = 0; i < schema_->size(); ++i) {
      if (!(*schema_)[i].is_blob()) continue;
      if (count == 1) {
        parts_[i] = blob;
        return "";
      }
      std::uint64_t length = 0;
      for (std::size_t k = 0; k < 8 && k < blob.size(); ++k) length = length << 8 | static_cast<unsigned char>(blob[k]);
      if (blob.size() < 8 || length > blob.size() - 8)
        return text("its field '", (*schema_)[i].name, "' has no bytes where they should be");
      parts_[i] = blob.substr(8, std::size_t(length));
      blob.remove_prefix(8 + std::size_t(length));
    }
    return count == 0 || blob.empty() ? "" : text("it has ", blob.size(), " bytes after its last field");
  }
  /// The text or the tensor without its memory, and how much that needs.
  std::string measure(std::size_t i, std::size_t& bytes) {
    const MindRecordField& field = (*schema_)[i];
    TextOrTensor& value = values_[i];
    if (!is_number(field.type)) {
      value.text = field.is_blob() ? parts_[i] : std::string_view(scalars_[i].text);
      return "";
    }
    value.is_tensor = true;
    const std::size_t size = size_of(dtype_of_field(field.type));
    value.tensor = AnyTensor(dtype_of_field(field.type), field.shape, nullptr);
    bytes = size;
    if (!field.is_array()) return "";
    const std::int64_t count = field.is_compressed()     ? compressed_count(parts_[i])
                               : parts_[i].size() % size ? -1
                                                         : std::int64_t(parts_[i].size() / size);
    if (count < 0) return text("has ", parts_[i].size(), " bytes, which are no array of ", field_type_name(field.type));
    std::int64_t known = 1, *open = nullptr;
    for (int axis = 0; axis < value.tensor.rank; ++axis) {
      std::int64_t& extent = value.tensor.extent[axis];
      if (extent == -1) open = &extent;
      else if (known > std::numeric_limits<std::int64_t>::max() / extent) return "has a shape that nothing can have";
      else known *= extent;
    }
    if (open ? count % known != 0 : count != known)
      return text("has ", count, " elements, its shape is ", shape_text(field.shape));
    if (open) *open = count / known;
    bytes = std::size_t(count) * size;
    return "";
  }
  bool fill(std::size_t i) {
    const MindRecordField& field = (*schema_)[i];
    const AnyTensor& tensor = values_[i].tensor;
    const std::string_view part = parts_[i];
    if (field.is_compressed())
      return field.type == MindRecordType::int32 ? expand_integers(part, static_cast<std::int32_t*>(tensor.data))
                                                 : expand_integers(part, static_cast<std::int64_t*>(tensor.data));
    if (field.is_array()) {
      if (!part.empty()) std::memcpy(tensor.data, part.data(), part.size());
      return true;
    }
    const MindRecordScalar& scalar = scalars_[i];
    const double real = scalar.kind == MindRecordScalar::Kind::real ? scalar.real : double(scalar.whole);
    switch (field.type) {
      case MindRecordType::int32: *static_cast<std::int32_t*>(tensor.data) = std::int32_t(scalar.whole); break;
      case MindRecordType::int64: *static_cast<std::int64_t*>(tensor.data) = scalar.whole; break;
      case MindRecordType::float32: *static_cast<float*>(tensor.data) = float(real); break;
      default: *static_cast<double*>(tensor.data) = real;
    }
    return true;
  }

  const MindRecordSchema* schema_ = nullptr;
  std::vector<MindRecordScalar> scalars_;
  std::vector<TextOrTensor> values_;
  std::vector<std::string_view> parts_;  // of the blobs
  std::vector<std::uint64_t> memory_;    // of the numbers
  std::vector<char> blob_;
  std::string raw_;
};

}  // namespace tenon::io
