// DumpedTensor: what a tensor of a dump is called, and the bytes of its file.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/tensor/any_tensor.hpp>
#include <tenon/io/npy.hpp>

namespace tenon::inline TENON_ABI::debug {

/// Letters, digits, - and _ stay, everything else becomes _: names of files have dots between their parts.
[[gnu::cold]] inline std::string file_word(std::string_view name) {
  std::string word(name);
  for (char& c : word) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter && !(c >= '0' && c <= '9') && c != '-') c = '_';
  }
  return word;
}

/// Where a tensor of a dump comes from.
struct DumpedTensor {
  std::string_view type;  // of the operator, or "Parameter"
  std::string_view name;  // the full scope name, or that of the parameter
  bool output = true;
  int slot = 0;
  std::int64_t time = 0;  // us since 1970; unique in a dump and ascending, so that it has the order of execution

  /// "Conv2D.Default_network-Net_conv1-Conv2d_Conv2D-op0.0.0.1795220550739038.input.0.DefaultFormat.Float32.npy": task
  /// and stream are 0. It may be longer than the name of a file. Source: MindSpore 2.10's names on the CPU.
  [[gnu::cold]] std::string file_name(Dtype dtype) const {
    return text(file_word(type), ".", file_word(name), ".0.0.", time, output ? ".output." : ".input.", slot,
                ".DefaultFormat.", title(dtype), ".npy");
  }
};

/// The header of a dumped file, format 1.0 in MindSpore 2.10's form: (2,3,) without blanks. Elements of bfloat16, which
/// NumPy has no type for, are to be written as float32.
[[gnu::cold]] inline std::string dump_npy_header(Dtype dtype, std::span<const std::int64_t> shape) {
  if (dtype == Dtype::bfloat16) dtype = Dtype::float32;
  const auto* const row = std::ranges::find(io::detail::npy_types, dtype, &io::detail::NpyType::dtype);
  std::string python =
      text("{'descr': '", size_of(dtype) == 1 ? "|" : "<", row->code, "', 'fortran_order': False, ", "'shape': (");
  for (const std::int64_t extent : shape) python += text(extent, ",");
  python += "), }";
  constexpr std::size_t before = 10, alignment = 64;
  python.append((alignment - (before + python.size() + 1) % alignment) % alignment, ' ');
  python += '\n';
  const char length[]{static_cast<char>(python.size() & 255), static_cast<char>(python.size() >> 8)};
  return std::string("\x93NUMPY\x01\0", 8) + std::string(length, 2) + python;
}

/// The elements as they stand in the file: those of bfloat16 in `widened`.
[[gnu::cold]] inline std::span<const std::byte> dump_npy_elements(const AnyTensor& tensor,
                                                                  std::vector<float>& widened) {
  if (tensor.dtype != Dtype::bfloat16) return {static_cast<const std::byte*>(tensor.data), tensor.bytes()};
  for (const bfloat16 value : tensor.as<bfloat16>()) widened.push_back(float(value));
  return std::as_bytes(std::span<const float>(widened));
}

}  // namespace tenon::debug
