// A data set from MindRecord files. Needs SQLite and nlohmann_json.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/dataset/stage/as.hpp>
#include <tenon/dataset/stage/sample.hpp>
#include <tenon/dataset/stage/stage.hpp>
#include <tenon/io/mind_record/reader.hpp>

namespace tenon::inline TENON_ABI::dataset {

namespace detail {

/// What a column asks of a field, as values: the dtype and the extents, any (-1) for those that differ.
struct WantedField {
  std::string_view name;
  Dtype dtype;
  std::span<const std::int64_t> extents;
  bool ragged;
};

/// "Column<std::int64_t, Ragged<any>, \"labels\">": the column that a field fits into.
[[gnu::cold]] inline std::string column_for(const io::MindRecordField& field) {
  constexpr const char* types[]{"std::int32_t", "std::int64_t", "float", "double", "std::uint8_t", "std::uint8_t"};
  std::string extents;
  bool open = !io::is_number(field.type);
  for (const std::int64_t extent : field.shape) {
    extents += text(extents.empty() ? "" : ", ", extent == -1 ? std::string("any") : text(extent));
    open = open || extent == -1;
  }
  if (!io::is_number(field.type)) extents = "any";
  return text("Column<", types[int(field.type)], ", ", open ? "Ragged<" : "Shape<", extents, ">, \"", field.name,
              "\">");
}

/// Whether samples of the field can be samples of the column; where an extent is open in the file, each row is checked.
/// Bytes of a known number fit into any shape of uint8.
inline bool fits(const WantedField& wanted, const io::MindRecordField& field) {
  if (!io::is_number(field.type))
    return wanted.dtype == Dtype::uint8 && (wanted.ragged ? wanted.extents.size() == 1 && wanted.extents[0] == any
                                                          : field.type == io::MindRecordType::bytes);
  if (wanted.dtype != io::dtype_of_field(field.type) || wanted.extents.size() != field.shape.size()) return false;
  for (std::size_t axis = 0; axis < wanted.extents.size(); ++axis)
    if (wanted.extents[axis] != any && field.shape[axis] != -1 && wanted.extents[axis] != field.shape[axis])
      return false;
  return true;
}

/// The place of the field in the schema. Throws KeyError if it is not there, TypeError if it is something else.
[[gnu::cold]] inline std::size_t place_of_field(const io::MindRecordReader& reader, const WantedField& wanted) {
  const io::MindRecordSchema& schema = reader.schema();
  const std::string& path = reader.shards().front().path();
  const std::size_t found = schema.find(wanted.name);
  if (found == io::MindRecordSchema::none)
    throw_error<KeyError>("'", path, "' has no column '", wanted.name, "', it has ", quoted_list(schema.names()), ".");
  if (!fits(wanted, schema[found])) {
    std::string extents;
    for (const std::int64_t extent : wanted.extents)
      extents += text(extents.empty() ? "" : ", ", extent == any ? std::string("any") : text(extent));
    throw_error<TypeError>("The column '", wanted.name, "' of '", path, "' is ", io::type_text(schema[found]),
                           ", expected was ", name(wanted.dtype), wanted.ragged ? " Ragged<" : " Shape<", extents,
                           ">; write ", column_for(schema[found]), ".");
  }
  return found;
}

template <class C>
struct WantedOf;
template <class T, int... Extents, FixedString Name>
struct WantedOf<Column<T, Shape<Extents...>, Name>> {
  static constexpr std::int64_t extents[]{Extents..., 0};  // the last is none: there may be no other
  static constexpr WantedField value{Name.view(), dtype_of<T>, {extents, sizeof...(Extents)}, false};
};
template <class T, int... Extents, FixedString Name>
struct WantedOf<Column<T, Ragged<Extents...>, Name>> {
  static constexpr std::int64_t extents[]{Extents...};
  static constexpr WantedField value{Name.view(), dtype_of<T>, {extents, sizeof...(Extents)}, true};
};

}  // namespace detail

/// The rows of MindRecord files, in the order of the files, with the columns that are named:
///
///     dataset::MindRecord{"train.mindrecord", as<Column<std::uint8_t, Ragged<any>, "data">,
///                                                Column<std::int32_t, Shape<>, "label">>}
///
/// columns     numbers: Column<T, Shape<>, "name">; arrays: Shape<2, 3>, or Ragged<any, 3> where the file has [-1, 3];
///             bytes and texts: Column<std::uint8_t, Ragged<any>, "name">, or, for bytes of a known number, a Shape. T
///             is the field's type: int32, int64, float32, float64
/// file        one file of a set, which selects the whole set, the name of the set, or a list of single files
/// memory      24 bytes for each row; any thread reads rows when they are needed
/// throws      when opened: KeyError for a column that the files do not have, TypeError for a column of another type in
///             the files, ValueError for an empty list; RuntimeError for a file that is missing, damaged, renamed, or
///             not of the set, or a row whose array has not the column's shape
/// source      MindSpore's MindDataset
template <class... C>
struct MindRecord : Source<MindRecord<C...>> {
  using columns = Columns<C...>;
  static_assert((!C::name.view().empty() && ...),
                "MindRecord: a column has the name of a field: Column<std::int32_t, Shape<>, \"label\">");

  MindRecord(const std::string& file, As<C...>) : MindRecord(io::MindRecordReader(file)) {}
  MindRecord(const std::vector<std::string>& files, As<C...>) : MindRecord(io::MindRecordReader(files)) {}

  long size() const { return long(reader_->size()); }
  void describe(auto& d) const {
    for (const auto& shard : reader_->shards()) d.add_file(shard.version());
  }
  void sample(long index, void* const* out) const {
    thread_local io::MindRecordRow row;  // its memory is used again by all rows of the thread
    reader_->read(index, row, wanted_);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (copy<C>(index, row[place_[I]], out[I]), ...);
    }(std::index_sequence_for<C...>{});
  }
  /// Further fields of the files, and how the files are split.
  const io::MindRecordReader& reader() const { return *reader_; }

 private:
  explicit MindRecord(io::MindRecordReader reader)
      : reader_(std::make_shared<const io::MindRecordReader>(std::move(reader))), wanted_(reader_->schema().size()) {
    std::size_t next = 0;
    for (const detail::WantedField& wanted : {detail::WantedOf<C>::value...}) {
      place_[next] = detail::place_of_field(*reader_, wanted);
      wanted_[place_[next++]] = true;
    }
  }

  template <class Col>
  void copy(long index, const TextOrTensor& value, void* out) const {
    const std::int64_t bytes[]{std::int64_t(value.text.size())};
    const std::span<const std::int64_t> extents = value.is_tensor ? value.tensor.shape() : bytes;
    const void* const from = value.is_tensor ? value.tensor.data : value.text.data();
    using T = typename Col::type;
    constexpr detail::WantedField wanted = detail::WantedOf<Col>::value;
    std::size_t count = 1;
    bool right = true;
    for (std::size_t axis = 0; axis < extents.size(); ++axis) {
      count *= std::size_t(extents[axis]);
      if constexpr (wanted.extents.size() > 0)
        if (value.is_tensor && wanted.extents[axis] != any) right = right && wanted.extents[axis] == extents[axis];
    }
    if constexpr (!Col::ragged) right = right && count == std::size_t(Col::tensor_type.count(1));
    if (!right) refuse_shape(index, wanted.name, extents);
    if constexpr (Col::ragged) out = static_cast<RaggedValue*>(out)->resize(extents, sizeof(T));
    if (count) std::memcpy(out, from, count * sizeof(T));
  }
  [[noreturn, gnu::cold]] void refuse_shape(long index, std::string_view name,
                                            std::span<const std::int64_t> extents) const {
    throw_error<RuntimeError>("Row ", index, " of '", reader_->shards().front().path(), "' has ", shape_text(extents),
                              " elements in '", name, "', which its column's shape has not.");
  }

  std::shared_ptr<const io::MindRecordReader> reader_;
  std::vector<bool> wanted_;  // for each field of the files
  std::size_t place_[sizeof...(C)]{};
};

}  // namespace tenon::dataset
