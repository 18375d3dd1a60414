// Columns that lie in memory as the tensors of a file, a sample for each index of their first axis.
#pragma once
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/tensor/any_tensor.hpp>
#include <tenon/dataset/stage/as.hpp>
#include <tenon/dataset/stage/stage.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// What npz_columns, npy_column, and safetensors_columns return.
///
/// columns     named as the tensors: Column<float, Shape<4>, "x"> is a tensor [n, 4] of float32; all have the same n
/// throws      when opened, KeyError for a name that is not in the file, TypeError for another dtype, ValueError for
///             another shape, no sample, or other numbers of samples
template <class... C>
class TensorColumns : public Source<TensorColumns<C...>>, public detail::SamplesMayBeThere {
 public:
  using columns = Columns<C...>;
  static_assert((!C::ragged && ...), "the tensors of a file have samples of one shape: give them as Shape<...>");

  /// `owner` keeps the tensors of the file at `path`; `find(name)` returns one, or null.
  template <class Find>
  TensorColumns(std::shared_ptr<const void> owner, const std::string& path, Find find) : owner_(std::move(owner)) {
    constexpr std::string_view names[]{C::name.view()...};
    for (int c = 0; c < columns::count; ++c) {
      const AnyTensor* const tensor = find(names[c]);
      if (!tensor) throw_error<KeyError>("'", path, "' has no tensor '", names[c], "', which as<...> asks for.");
      check(*tensor, c, path, names[c]);
      data_[c] = static_cast<const char*>(tensor->data);
    }
  }

  long size() const { return size_; }
  void describe(auto& d) const {
    d.add(size_);
    for (int c = 0; c < columns::count; ++c) d.add_content(data_[c], static_cast<std::size_t>(size_) * sample_bytes(c));
  }
  void sample(long index, void* const* out) const {
    for (int c = 0; c < columns::count; ++c) copy(index, c, out);
  }
#if defined(TENON_TARGET)
  detail::ColumnInMemory in_memory(int column) const {
    constexpr detail::ColumnInMemory (*of[])(const void*, long){&detail::column_in_memory<C>...};
    return of[column](data_[column], size_);
  }
  void sample_on_host(long index, void* const* out) const {
    int c = 0;
    ((detail::needed_on_host<C> ? copy(index, c, out) : void(), ++c), ...);
  }
#endif
  void expect(Place place) const {
    if (place.position < 0 || place.position >= size_) return;
    for (int c = 0; c < columns::count; ++c) {
      const std::size_t bytes = sample_bytes(c);
      detail::fetch_ahead(data_[c] + static_cast<std::size_t>(place.position) * bytes, static_cast<long>(bytes));
    }
  }

 private:
  void copy(long index, int c, void* const* out) const {
    const std::size_t bytes = sample_bytes(c);
    std::memcpy(out[c], data_[c] + static_cast<std::size_t>(index) * bytes, bytes);
  }
  static constexpr std::size_t sample_bytes(int c) { return static_cast<std::size_t>(columns::types[c].bytes(1)); }

  void check(const AnyTensor& tensor, int c, const std::string& path, std::string_view tensor_name) {
    const TensorType& type = columns::types[c];
    if (tensor.dtype != type.dtype)
      throw_error<TypeError>("The tensor '", tensor_name, "' of '", path, "' is ", name(tensor.dtype),
                             ", the column is ", name(type.dtype), "; name the file's dtype and convert with map.");
    const auto shape = tensor.shape();
    bool fits = shape.size() == static_cast<std::size_t>(type.rank) + 1;
    for (int axis = 0; fits && axis < type.rank; ++axis) fits = shape[static_cast<std::size_t>(axis) + 1] == type[axis];
    if (!fits)
      throw_error<ValueError>("The tensor '", tensor_name, "' of '", path, "' has the shape ", shape_text(shape),
                              "; a column of ", tenon::detail::type_text(type),
                              " needs one axis before these, for its samples.");
    if (shape[0] == 0) throw_error<ValueError>("The tensor '", tensor_name, "' of '", path, "' has no sample.");
    if (c > 0 && shape[0] != size_)
      throw_error<ValueError>("The tensor '", tensor_name, "' of '", path, "' has ", shape[0],
                              " samples, those before it ", size_, "; all columns need the same number.");
    size_ = shape[0];
  }

  std::shared_ptr<const void> owner_;
  const char* data_[std::size_t(columns::count)]{};
  long size_ = 0;
};

}  // namespace tenon::dataset
