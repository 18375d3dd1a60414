// Tensors with names that a file of any format holds, and their way from it into memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/io/tensors/named_tensor.hpp>
#include <tenon/io/tensors/sorted_names.hpp>
#if TENON_DEFINES
#include <algorithm>
#include <cstring>

#include <tenon/io/text/escaped_text.hpp>
#endif

namespace tenon::inline TENON_ABI::io {

/// What the elements of all tensors take.
[[gnu::cold]] std::uint64_t bytes_of(std::span<const NamedTensor> tensors);

/// A tensor of a file whose element type Tenon does not have, such as F8_E4M3: its bytes as they lie in the file.
struct ForeignTensor {
  std::string name;
  std::string_view dtype;  // as the format names it
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

/// Names that a load left out: parameters not in the file, tensors of the file that were not asked for, and those that
/// have another shape or dtype in the file. `notes`: a sentence for each thing that differed and was settled, such as
/// PyTorch's names or a prefix.
struct LoadReport {
  std::vector<std::string> missing, unexpected, mismatched, notes{};
};

/// What a file holds, of whatever format; the names are unique.
struct HeldTensors {
  const std::string& path;
  std::span<const NamedTensor> tensors;
  std::span<const ForeignTensor> foreign{};
  std::span<const std::pair<std::string, std::string>> metadata{};
};

/// What to do with a file that cannot be read here because it is PyTorch's own.
inline constexpr std::string_view torch_save_advice = "torch.save writes such files: include <tenon/train/pt.hpp>, "
                                                      "then load_checkpoint(\"model.pt\", net) reads them, and "
                                                      "io::Pt(path) without a network";

/// Copies the tensors of a file into the views of the same names, as load_safetensors says. One without data is only
/// compared.
LoadReport load_tensors(const HeldTensors& file, std::span<const NamedTensor> into, bool strict);

/// Throws ValueError for a view that cannot be copied, and for a name that two of the tensors have. `act`: "load".
[[gnu::cold]] void check_tensors(std::string_view act, const std::string& path, std::span<const NamedTensor> tensors);

/// Throws ValueError if two of the names are equal.
[[gnu::cold]] void check_names_differ(std::string_view act, const std::string& path, const SortedNames& names);

/// The bytes that the shape and the dtype ask for. False if they are not whole bytes or do not fit into 63 bits.
[[gnu::cold]] bool bytes_of_shape(std::span<const std::int64_t> shape, unsigned bits, std::uint64_t& bytes);

namespace detail {
/// One sentence for each of the first names that were left out, with the nearest name of the other side.
[[gnu::cold]] std::string unmatched_text(const LoadReport& report);
/// Throws TypeError or ValueError if what was found is not what is needed.
[[gnu::cold]] void check_match(const std::string& path, const NamedTensor& needed, const AnyTensor& found);
[[noreturn, gnu::cold]] void throw_foreign(const std::string& path, const ForeignTensor& tensor);
[[gnu::cold]] bool same_shape(const AnyTensor& a, const AnyTensor& b);
}  // namespace detail

#if TENON_DEFINES
TENON_INLINE std::uint64_t bytes_of(std::span<const NamedTensor> tensors) {
  std::uint64_t bytes = 0;
  for (const NamedTensor& named : tensors) bytes += named.tensor.bytes();
  return bytes;
}
TENON_INLINE bool bytes_of_shape(std::span<const std::int64_t> shape, unsigned bits, std::uint64_t& bytes) {
  std::int64_t count = 1;
  for (std::int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) return false;
  if (__builtin_mul_overflow(count, std::int64_t{bits}, &count) || count % 8 != 0) return false;
  bytes = static_cast<std::uint64_t>(count) / 8;
  return true;
}
TENON_INLINE void check_names_differ(std::string_view act, const std::string& path, const SortedNames& names) {
  if (const std::string_view* twice = names.twice())
    throw_error<ValueError>("Cannot ", act, " '", path, "': the name ", printable(*twice),
                            " is there twice; names must be unique.");
}
namespace detail {
/// Why a view cannot be copied from or to, "" if it can.
[[gnu::cold]] inline std::string problem_of_view(const AnyTensor& tensor) {
  if (tensor.rank < 0 || tensor.rank > AnyTensor::max_axes)
    return text("has ", tensor.rank, " axes, allowed are 0 to ", AnyTensor::max_axes);
  std::uint64_t bytes = 0;
  if (!bytes_of_shape(tensor.shape(), 8 * unsigned(size_of(tensor.dtype)), bytes))
    return text("has the impossible shape ", shape_text(tensor.shape()));
  if (tensor.device.kind != DeviceKind::cpu)
    return text("is on the ", name(tensor.device.kind), "; copy it to the CPU first");
  return !tensor.data && bytes != 0 ? "has no data" : "";
}
[[gnu::cold]] inline std::string list_unmatched(const std::vector<std::string>& names, std::string_view what,
                                                std::string_view where, const std::vector<std::string>& others) {
  constexpr std::size_t most = 8, most_others = 1000, longest = 100;  // bounds the search in a hostile file
  std::vector<std::string> candidates;
  for (const std::string& other : others)
    if (other.size() <= longest && candidates.size() < most_others && printable(other) == text("'", other, "'"))
      candidates.push_back(std::string(other));
  std::string result;
  for (std::size_t i = 0; i < names.size() && i < most; ++i) {
    const std::string& name = names[i];
    result += text(" ", what, " ", printable(name), " is not ", where, ".",
                   name.size() <= longest ? did_you_mean(name, candidates) : "");
  }
  if (names.size() > most) result += text(" So it is with ", names.size() - most, " more.");
  return result;
}

[[gnu::cold]] inline LoadReport compare_names(const HeldTensors& file, std::span<const NamedTensor> into) {
  std::vector<std::string_view> held(file.tensors.size() + file.foreign.size());
  std::size_t count = 0;
  for (const NamedTensor& named : file.tensors) held[count++] = named.name;
  for (const ForeignTensor& tensor : file.foreign) held[count++] = tensor.name;
  const SortedNames asked(into), present(held);
  LoadReport report;
  for (const NamedTensor& needed : into)
    if (present.find(needed.name) == SortedNames::none) report.missing.push_back(std::string(needed.name));
  for (const std::string_view name : held)
    if (asked.find(name) == SortedNames::none) report.unexpected.push_back(std::string(name));
  return report;
}

TENON_INLINE void throw_foreign(const std::string& path, const ForeignTensor& tensor) {
  throw_error<TypeError>("Tensor ", printable(tensor.name), " of '", path, "' has the dtype ", tensor.dtype,
                         ", which Tenon does not have; save it as float32 or read its bytes with foreign().");
}
TENON_INLINE std::string unmatched_text(const LoadReport& report) {
  return text(list_unmatched(report.missing, "Parameter", "in the file", report.unexpected),
              list_unmatched(report.unexpected, "Tensor", "among the parameters", report.missing),
              list_unmatched(report.mismatched, "Parameter", "of the shape and dtype that the file has", {}));
}
[[noreturn, gnu::cold]] inline void throw_unmatched(const std::string& path, const LoadReport& report) {
  throw_error<KeyError>("Cannot load '", path, "', its names are not those of the parameters.", unmatched_text(report),
                        " Pass strict = false to load what matches.");
}

TENON_INLINE bool same_shape(const AnyTensor& a, const AnyTensor& b) {
  return std::equal(a.shape().begin(), a.shape().end(), b.shape().begin(), b.shape().end());
}
TENON_INLINE void check_match(const std::string& path, const NamedTensor& needed, const AnyTensor& found) {
  if (found.dtype != needed.tensor.dtype)
    throw_error<TypeError>("Cannot load '", path, "': tensor ", printable(needed.name), " is ", name(found.dtype),
                           " in the file, the parameter needs ", name(needed.tensor.dtype), ".");
  if (!same_shape(found, needed.tensor))
    throw_error<ValueError>("Cannot load '", path, "': tensor ", printable(needed.name), " has the shape ",
                            shape_text(found.shape()), " in the file, the parameter needs ",
                            shape_text(needed.tensor.shape()), ".");
}
}  // namespace detail
TENON_INLINE void check_tensors(std::string_view act, const std::string& path, std::span<const NamedTensor> tensors) {
  for (const NamedTensor& named : tensors)
    if (const std::string problem = detail::problem_of_view(named.tensor); !problem.empty())
      throw_error<ValueError>("Cannot ", act, " '", path, "': tensor ", printable(named.name), " ", problem, ".");
  check_names_differ(act, path, SortedNames(tensors));
}
TENON_INLINE LoadReport load_tensors(const HeldTensors& file, std::span<const NamedTensor> into, bool strict) {
  LoadReport report = detail::compare_names(file, into);
  if (strict && !(report.missing.empty() && report.unexpected.empty())) detail::throw_unmatched(file.path, report);
  const SortedNames held(file.tensors), foreign(file.foreign);
  const auto foreign_of = [&](const NamedTensor& needed) { return foreign.find(needed.name); };
  for (const NamedTensor& needed : into) {
    if (!strict) break;
    if (const std::size_t f = foreign_of(needed); f != SortedNames::none)
      detail::throw_foreign(file.path, file.foreign[f]);
    detail::check_match(file.path, needed, file.tensors[held.find(needed.name)].tensor);
  }
  for (const NamedTensor& needed : into) {
    const std::size_t index = held.find(needed.name);
    const AnyTensor* const found = index == SortedNames::none ? nullptr : &file.tensors[index].tensor;
    if (!found && foreign_of(needed) == SortedNames::none) continue;  // missing
    if (!found || found->dtype != needed.tensor.dtype || !detail::same_shape(*found, needed.tensor))
      report.mismatched.push_back(std::string(needed.name));
    else if (found->bytes() != 0 && needed.tensor.data) std::memcpy(needed.tensor.data, found->data, found->bytes());
  }
  return report;
}
#endif  // TENON_DEFINES

}  // namespace tenon::io
