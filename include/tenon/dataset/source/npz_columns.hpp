// A data set from the arrays of NumPy's files.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include <tenon/dataset/source/tensor_columns.hpp>
#include <tenon/io/npz.hpp>
#include <tenon/io/path/refuse_file.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// The arrays of a .npz file as columns: `npz_columns("iris.npz", as<Column<float, Shape<4>, "x">, Column<std::int32_t,
/// Shape<>, "y">>)`. The whole file is in memory.
///
/// throws      RuntimeError if the file cannot be read, is damaged, larger than io::default_file_limit, compressed
///             where Tenon is built without zlib, or holds elements that Tenon does not have; KeyError for a name that
///             is not in it, TypeError for another dtype, ValueError for another shape, no sample, or other numbers of
///             samples
template <class... C>
TensorColumns<C...> npz_columns(const std::string& path, As<C...>) {
  const auto file = std::make_shared<const io::Npz>(path);
  return TensorColumns<C...>(file, path, [&](std::string_view name) { return file->find(name); });
}

/// The array of a .npy file as a column with any name.
///
/// throws      RuntimeError if the file cannot be read, is damaged, larger than io::default_file_limit, or holds
///             elements that Tenon does not have; TypeError for another dtype, ValueError for another shape or no
///             sample
template <class C>
TensorColumns<C> npy_column(const std::string& path, As<C>) {
  struct Array {
    AlignedBytes memory;
    AnyTensor tensor;
  };
  const std::string content = io::read_file(path);
  const io::NpyHeader header = io::parse_npy_header(content, path);
  auto array = std::make_shared<Array>();
  array->tensor = AnyTensor(header.dtype, header.shape(), nullptr);
  array->memory = AlignedBytes(array->tensor.bytes(), io::content_of(path).c_str());
  array->tensor.data = array->memory.data();
  io::copy_npy_elements(header, content, array->tensor, path);
  return TensorColumns<C>(array, path, [&](std::string_view) { return &array->tensor; });
}

}  // namespace tenon::dataset
