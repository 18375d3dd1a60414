// to_mind_record(data, file): writes any data set into MindRecord files. Needs SQLite and nlohmann_json.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/dataset/stage/sample.hpp>
#include <tenon/dataset/stage/stage.hpp>
#include <tenon/io/mind_record/writer.hpp>

namespace tenon::inline TENON_ABI::dataset {

namespace detail {

/// The axes of a column's samples, and how many of their extents differ from sample to sample.
template <class C>
constexpr int record_rank() {
  if constexpr (C::ragged) return C::shape::rank;
  else return C::tensor_type.rank;
}
template <class C>
constexpr int open_extents() {
  int open = 0;
  if constexpr (C::ragged)
    for (int axis = 0; axis < C::shape::rank; ++axis) open += C::shape::extent[axis] == any;
  return open;
}

/// The smallest type of a field that has all numbers of the column; bytes, where the shape is known without them.
template <class C>
constexpr io::MindRecordType record_type() {
  constexpr Dtype dtype = dtype_of<typename C::type>;
  constexpr int rank = record_rank<C>();
  if (dtype == Dtype::uint8 && rank > 0 && (rank == 1 || open_extents<C>() == 0)) return io::MindRecordType::bytes;
  switch (dtype) {
    case Dtype::uint32:
    case Dtype::int64:
    case Dtype::uint64: return io::MindRecordType::int64;
    case Dtype::float16:
    case Dtype::bfloat16:
    case Dtype::float32: return io::MindRecordType::float32;
    case Dtype::float64: return io::MindRecordType::float64;
    default: return io::MindRecordType::int32;
  }
}

/// Whether the index of a file has the column: it has all numbers.
template <class C>
constexpr bool is_indexed() {
  return record_rank<C>() == 0;
}
/// Whether two names are equal in SQL.
constexpr bool equal_but_for_capitals(std::string_view a, std::string_view b) {
  const auto small = [](char c) { return c >= 'A' && c <= 'Z' ? char(c + ('a' - 'A')) : c; };
  return std::ranges::equal(a, b, {}, small, small);
}

/// Why a column cannot be a field, or nothing.
template <class C>
constexpr Sentence fault_of_record() {
  constexpr auto legal = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  constexpr std::string_view name = C::name.view();
  Sentence s;
  if (!std::ranges::all_of(name, legal)) {
    s << "to_mind_record: a field has a name of letters, digits, and _, so give the column another one: data | "
         "dataset::rename<\""
      << name << "\", \"";
    for (const char& c : name) s << (legal(c) ? std::string_view(&c, 1) : "_");
    s << "\">()";
  } else if (is_indexed<C>() && !name.empty() && name[0] >= '0' && name[0] <= '9') {
    s << "to_mind_record: a number is in the index, where no name begins with a digit: data | dataset::rename<\""
      << name << "\", \"_" << name << "\">()";
  } else if (is_indexed<C>() && equal_but_for_capitals(name, "inc")) {
    s << "to_mind_record: a number is in the index, which has a column \"INC\" of its own: data | dataset::rename<\""
      << name << "\", \"" << name << "_2\">()";
  } else if (open_extents<C>() > 1) {
    s << "to_mind_record: the samples of column \"" << name << "\" differ in " << open_extents<C>()
      << " extents, a field of MindRecord may in one: bring them to one shape, as vision::Resize<224, 224> does, or "
         "write the bytes of the image files, before vision::Decode";
  }
  return s;
}
template <class List>
struct Unrecordable;
template <class... C>
struct Unrecordable<Columns<C...>> {
  static constexpr Sentence sentence = [] {
    Sentence s;
    ((s.empty() ? void(s = fault_of_record<C>()) : void()), ...);
    constexpr std::string_view names[]{is_indexed<C>() ? C::name.view() : "" ...};
    for (std::size_t i = 0; s.empty() && i < sizeof...(C); ++i)
      for (std::size_t k = 0; s.empty() && k < i; ++k)
        if (names[i] != names[k] && equal_but_for_capitals(names[i], names[k]))
          s << "to_mind_record: \"" << names[k] << "\" and \"" << names[i]
            << "\" are one name in the index, which has all numbers: data | dataset::rename<\"" << names[i] << "\", \""
            << names[i] << "_2\">()";
    return s;
  }();
};

/// The field of a column, which is called by its place if it has no name.
template <class C>
[[gnu::cold]] io::MindRecordField record_field(std::size_t place) {
  io::MindRecordField field{.name = std::string(C::name.view()), .type = record_type<C>()};
  if (field.name.empty()) field.name = text("column_", place);
  if (field.type == io::MindRecordType::bytes) return field;
  if constexpr (C::ragged)
    for (int axis = 0; axis < C::shape::rank; ++axis) field.shape.push_back(C::shape::extent[axis]);  // any is -1
  else
    for (int axis = 0; axis < C::tensor_type.rank; ++axis) field.shape.push_back(C::tensor_type[axis]);
  return field;
}

[[noreturn, gnu::cold]] inline void refuse_extents(const std::string& field, std::span<const std::int64_t> extents) {
  throw_error<ValueError>("to_mind_record: a sample of the column '", field, "' has the shape ", shape_text(extents),
                          ", which is not that of the column; the function that makes it has to resize to the "
                          "column's extents.");
}
/// A sample as a value of its field. memory: as Row has it.
template <class C>
io::MindRecordValue record_value(const std::string& field, const void* memory) {
  const SampleView<C> sample(memory);
  if constexpr (record_rank<C>() == 0) {
    return *sample.data();
  } else {
    if constexpr (C::ragged) {
      bool right = sample.extents().size() == std::size_t(C::shape::rank);
      for (int axis = 0; right && axis < C::shape::rank; ++axis)
        right = C::shape::extent[axis] == any || C::shape::extent[axis] == sample.extent(axis);
      if (!right) refuse_extents(field, sample.extents());
    }
    return AnyTensor(dtype_of<typename C::type>, sample.extents(), const_cast<typename C::type*>(sample.data()));
  }
}

/// Which file of a set gets a row, so that the files, read one after the other, have the rows in their order and each
/// as many as the others, or one more.
struct RowsOfFiles {
  long rows, files;
  int file_of(long row) const {
    const long share = rows / files, longer = rows % files, last = std::min(row, rows - 1);
    const long among_longer = last / (share + 1);
    return int(among_longer < longer ? among_longer : longer + (last - longer * (share + 1)) / share);
  }
};

[[noreturn, gnu::cold]] inline void refuse_endless(const std::string& file) {
  throw_error<ValueError>("to_mind_record: nothing says where the rows for '", file,
                          "' end; write stream<...>(make, size), or data | dataset::take(1000).");
}
[[noreturn, gnu::cold]] inline void refuse_no_rows(const std::string& file, std::int64_t skipped) {
  throw_error<ValueError>("to_mind_record: '", file, "' is not written, as the data set has no rows",
                          skipped ? " that fit" : "", "; a set of MindRecord files has one or more.");
}

template <class D, class... C>
long write_records(const D& data, const std::string& file, const io::MindRecordOptions& options, Columns<C...>) {
  // of others size() reads all rows
  if constexpr (is_counted<D> || in_order<D>())
    if (data.size() == detail::endless) refuse_endless(file);
  io::MindRecordWriter writer(file, options);
  std::size_t place = 0;
  const std::vector<io::MindRecordField> fields{record_field<C>(place++)...};
  writer.add_schema(fields);
  const bool known = !in_order<D>() && options.shards > 1;
  const RowsOfFiles split{known ? rows_in(data, 0) : 0, options.shards};
  auto rows = data.open();
  rows.start(0);
  while (const auto* const row = rows.next())
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      const io::MindRecordCell cells[]{{fields[I].name, record_value<C>(fields[I].name, row->column[I])}...};
      if (split.rows) writer.write_to(split.file_of(long(writer.rows())), cells);
      else writer.write(cells);
    }(std::index_sequence_for<C...>{});
  const std::int64_t written = writer.rows() - writer.skipped();
  if (written == 0) refuse_no_rows(file, writer.skipped());
  writer.commit();
  return long(written);
}

}  // namespace detail

/// Writes the rows of epoch 0 of any data set into MindRecord files, which MindSpore and dataset::MindRecord read, and
/// returns their number:
///
///     dataset::to_mind_record(data, "train.mindrecord", {.shards = 4});
///
/// fields      the columns by name, `column_0`, `column_1`, ... those without. A number, or an array of the column's
///             shape, [-1, 3] of Ragged<any, 3>, of the smallest type that has all its numbers: int32 of bool and of 8
///             and 16 bits, int64 of uint32 and uint64, float32 of float16 and bfloat16
/// bytes       arrays of uint8, because MindRecord has no type for them: files, texts, and images of one size.
///             as<Column<std::uint8_t, Shape<28, 28, 1>, "image">> restores such a column; MindSpore returns the bytes,
///             and the program there must state the shape. int32 would need up to twice the space and change the dtype.
///             Only Ragged<any, 3> and similar columns, whose shape does not follow from the number of bytes, are int32
/// order       as in the data set, also across several files, whose numbers of rows differ by at most one. Rows after
///             filter are therefore read twice, to count them. Rows of a stream cannot be counted; they go to the files
///             in turn
/// bad rows    with .skip_bad_rows a row that does not fit is omitted with a warning. Files are assigned before rows
///             are omitted, so a file may have fewer rows, or none
/// chance      as in the first epoch of a training; repeat(3) before it writes the rows of three epochs
/// threads     one thread writes; prefetch(8, {.num_parallel_workers = 4}) as the last stage reads ahead with more
///             threads
/// memory      two pages of numbers and texts for each file, and 4 bytes for each row
/// throws      ValueError for a number that does not fit, which names row and field, unless .skip_bad_rows; for a
///             sample of another shape than its column, for no rows, and for a stream without an end; RuntimeError for
///             files that exist, unless .overwrite replaces them, and for errors of the system; and the errors of
///             reading a row. After an error no file exists
/// does not compile  batches; a name of other characters than letters, digits, and _; more than one extent that differs
///             names of numbers, which are in the index: that begin with a digit, are `inc`, or differ by capitals only
/// options     those of io::MindRecordWriter
/// source      MindSpore's Dataset.save
template <class D>
auto to_mind_record(const D& data, const std::string& file, const io::MindRecordOptions& options = {}) {
  constexpr bool is_data = Dataset<D>;
  static_assert(is_data, "to_mind_record takes a data set and a file: to_mind_record(data, \"train.mindrecord\")");
  if constexpr (is_data) {
    constexpr bool single = !D::batched;
    static_assert(single, "to_mind_record writes one sample in a row: leave out batch, which comes after "
                          "dataset::MindRecord, where the files are read");
    if constexpr (single) {
      if constexpr (!detail::Unrecordable<typename D::columns>::sentence.empty()) {
        using Wrong = Mistake<detail::Unrecordable<typename D::columns>>;
        return Wrong::corrected;
      } else {
        return detail::write_records(data, file, options, typename D::columns{});
      }
    }
  }
}

}  // namespace tenon::dataset
