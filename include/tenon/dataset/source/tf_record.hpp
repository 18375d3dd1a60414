// A data set from TFRecord files of tf.train.Example. Needs protozero.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/dataset/source/file/tf_record_file.hpp>
#include <tenon/dataset/stage/as.hpp>
#include <tenon/dataset/stage/stage.hpp>
#include <tenon/io/tf_example.hpp>

namespace tenon::inline TENON_ABI::dataset {

struct TfRecordConfig {
  /// The largest number of bytes of a record.
  std::uint64_t record_limit = std::uint64_t{256} << 20;
};

namespace detail {

/// The feature of a record as column Col, whose type decides what it must hold. The reason why it does not fit is
/// thrown as io::BadMessage.
template <class Col>
class ExampleColumn {
 public:
  using T = typename Col::type;
  static_assert(!Col::ragged || Col::shape::rank == 1,
                "TfRecord: a column whose samples differ is Ragged<any>: an Example knows no shapes");

  explicit ExampleColumn(const io::TfFeature& feature) : feature_(feature), count_(counted()) {}

  void fill(void* out) const {
    const SampleSlot<Col> slot(out);
    T* to = Col::ragged ? slot.resize(count_) : slot.resize();
    if constexpr (!integral) {
      feature_.each_float([&](float value) { *to++ = T(value); });
    } else if (as_bytes()) {
      if constexpr (sizeof(T) == 1)
        feature_.each_bytes([&](std::string_view bytes) { std::memcpy(to, bytes.data(), bytes.size()); });
    } else {
      feature_.each_int64([&](std::int64_t value) {
        if (!fits(value)) fail(text("has the value ", value, ", which is no ", name(dtype_of<T>)));
        *to++ = static_cast<T>(value);
      });
    }
  }

 private:
  using Kind = io::TfFeature::Kind;
  static constexpr bool integral = std::is_integral_v<T>;

  bool as_bytes() const { return std::is_same_v<T, std::uint8_t> && feature_.kind() == Kind::bytes; }
  static bool fits(std::int64_t value) {
    if constexpr (std::is_same_v<T, bool>) return value == 0 || value == 1;
    else if constexpr (std::is_same_v<T, std::uint64_t>) return value >= 0;
    else
      return value >= std::int64_t(std::numeric_limits<T>::min()) &&
             value <= std::int64_t(std::numeric_limits<T>::max());
  }
  [[noreturn, gnu::cold]] static void fail(const std::string& reason) {
    throw io::BadMessage{text("the feature '", Col::name.view(), "' ", reason), nullptr};
  }
  std::int64_t counted() const {
    std::int64_t count = 0, values = 0;
    if (as_bytes()) feature_.each_bytes([&](std::string_view bytes) { count = std::int64_t(bytes.size()), ++values; });
    else if (!integral && feature_.kind() == Kind::floats) feature_.each_float([&](float) { ++count; });
    else if (integral && feature_.kind() == Kind::integers) feature_.each_int64([&](std::int64_t) { ++count; });
    else if (feature_.kind() != Kind::none || !Col::ragged)
      fail(text("is ", feature_.kind_name(), ", the column is ", name(dtype_of<T>)));
    if (as_bytes() && values != 1) fail(text("has ", values, " texts, the column takes one"));
    if constexpr (!Col::ragged)
      if (count != Col::tensor_type.count(1))
        fail(text("has ", count, as_bytes() ? " bytes" : " values", ", the column takes ", Col::tensor_type.count(1)));
    return count;
  }

  const io::TfFeature& feature_;
  std::int64_t count_;
};

}  // namespace detail

/// The records of TFRecord files, each a tf.train.Example: `TfRecord("train.tfrecord", as<Column<std::uint8_t,
/// Ragged<any>, "image/encoded">, Column<std::int32_t, Shape<>, "label">>)`. Several files are read one after the
/// other.
///
/// columns     named as the features. uint8: a bytes_list of one text, or an int64_list; other integers and bool: an
///             int64_list whose values must fit; floating-point: a float_list. Shape<...>: exactly this many values,
///             Ragged<any>: any number
/// memory      8 bytes for a record; a record is read together with its sample
/// throws      RuntimeError if a file is missing, damaged, or compressed as a whole; KeyError for a feature that a
///             record does not have, the first one when the set is opened; ValueError for no file
/// source      TensorFlow's TFRecordDataset and parse_example; MindSpore's TFRecordDataset. Its shards are separate
///             stages in Tenon
template <class... C>
class TfRecord : public Source<TfRecord<C...>> {
 public:
  using columns = Columns<C...>;
  static_assert(((C::name.view() != "") && ...), "TfRecord: a column has the name of a feature");

  TfRecord(const std::vector<std::string>& paths, As<C...>, const TfRecordConfig& config = {}) {
    auto files = std::make_shared<Files>();
    for (const std::string& path : paths) {
      files->file.emplace_back(path, config.record_limit);
      files->end.push_back(files->file.back().size() + (files->end.empty() ? 0 : files->end.back()));
    }
    if (paths.empty()) throw_error<ValueError>("TfRecord was given no file.");
    files_ = std::move(files);
    Scratch scratch;
    with_columns(0, scratch, [](auto&&...) {});
  }
  TfRecord(const std::string& path, As<C...> wanted, const TfRecordConfig& config = {})
      : TfRecord(std::vector<std::string>{path}, wanted, config) {}

  long size() const { return files_->end.back(); }
  void describe(auto& d) const {
    for (const TfRecordFile& file : files_->file) d.add_file(file.version());
  }
  void sample(long index, void* const* out, Scratch& scratch) const {
    with_columns(index, scratch, [&](const auto&... column) {
      int c = 0;
      (column.fill(out[c++]), ...);
    });
  }

 private:
  struct Files {
    std::vector<TfRecordFile> file;
    std::vector<long> end;  // the number of samples in the files up to each
  };
  static constexpr std::string_view names[]{C::name.view()...};

  /// Calls f with the columns of a sample.
  template <class F>
  void with_columns(long index, Scratch& scratch, F f) const {
    const auto which = static_cast<std::size_t>(std::ranges::upper_bound(files_->end, index) - files_->end.begin());
    const TfRecordFile& file = files_->file[which];
    const long record = which ? index - files_->end[which - 1] : index;
    try {
      const auto values = features(file, record, file.read(record, scratch));
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        f(detail::ExampleColumn<C>(values[I])...);
      }(std::index_sequence_for<C...>{});
    } catch (const io::BadMessage& bad) {
      file.refuse_record(record, bad.reason);
    }
  }
  std::array<io::TfFeature, sizeof...(C)> features(const TfRecordFile& file, long record, std::string_view data) const {
    std::array<std::string_view, sizeof...(C)> message;
    std::array<bool, sizeof...(C)> found{};
    io::each_tf_feature(data, [&](std::string_view name, std::string_view feature) {
      for (std::size_t c = 0; c < sizeof...(C); ++c)
        if (names[c] == name)
          message[c] = feature, found[c] = true;  // of two, the last one, as in all maps of protobuf
    });
    for (std::size_t c = 0; c < sizeof...(C); ++c)
      if (!found[c]) refuse_missing(file, record, data, names[c]);
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::array<io::TfFeature, sizeof...(C)>{io::TfFeature(message[I])...};
    }(std::index_sequence_for<C...>{});
  }
  [[noreturn, gnu::cold]] static void refuse_missing(const TfRecordFile& file, long record, std::string_view data,
                                                     std::string_view missing) {
    std::string all;
    io::each_tf_feature(data, [&](std::string_view name, std::string_view) {
      if (all.size() < 1000) all += text(all.empty() ? "" : ", ", io::printable(name));
    });
    throw_error<KeyError>("Record ", record, " of '", file.path(), "' has no feature '", missing, "'; it has ",
                          all.empty() ? "none: is it a tf.train.Example?" : all, ".");
  }

  std::shared_ptr<const Files> files_;
};

}  // namespace tenon::dataset
