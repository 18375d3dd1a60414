// A data set from the tensors of a safetensors file.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include <tenon/dataset/source/tensor_columns.hpp>
#include <tenon/io/safetensors.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// The tensors of a safetensors file as columns: `safetensors_columns("iris.safetensors", as<Column<float, Shape<4>,
/// "x">, Column<std::int32_t, Shape<>, "y">>)`. The whole file is in memory.
///
/// throws      RuntimeError if the file cannot be read, is damaged, breaks a rule of the format, or holds a bool other
///             than 0 and 1; KeyError for a name that is not in it, TypeError for another dtype or an element type that
///             Tenon does not have, ValueError for another shape, no sample, or other numbers of samples
template <class... C>
TensorColumns<C...> safetensors_columns(const std::string& path, As<C...>) {
  const auto file = std::make_shared<const io::Safetensors>(path);
  return TensorColumns<C...>(file, path, [&](std::string_view name) { return file->find(name); });
}

}  // namespace tenon::dataset
