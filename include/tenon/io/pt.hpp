// Reads the tensors of PyTorch's files, .pt and .pth: what torch.save writes of a state dictionary.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <tenon/core/memory/aligned_bytes.hpp>
#include <tenon/io/file.hpp>
#include <tenon/io/npy.hpp>
#include <tenon/io/path/refuse_file.hpp>
#include <tenon/io/tensors/held_tensors.hpp>
#include <tenon/io/tensors/pickle.hpp>
#include <tenon/io/tensors/sorted_names.hpp>
#include <tenon/io/tensors/zip.hpp>

namespace tenon::inline TENON_ABI::io {

/// Its values take a hundred times as much in memory; that of a network of a thousand tensors has 200 KB.
inline constexpr std::size_t most_pickle_bytes = 64 << 20;

/// Tensors can share a storage, and repeat it. Together they have at most this many times the bytes of the file: a few
/// bytes cannot claim all memory. Tied weights need 2.
inline constexpr std::uint64_t most_repeats = 16;

/// A file of torch.save in memory: the state dictionary in it, or one of several. Reads and checks the whole file on
/// construction, and owns its tensors, which are row-major whatever their strides were. The pickle in the file is read,
/// not executed: it may only describe tensors, numbers, texts, lists, and dictionaries.
///
/// key         of the dictionary to take if the file has several at its top ("model", "ema"); "": the one with tensors
/// limit       most bytes accepted, of the file and of its tensors
/// throws      RuntimeError if the file cannot be read, is damaged, larger than limit, of PyTorch before 1.6, or needs
///             anything else than tensors; ValueError if there is no such dictionary, or several without a key
/// source      torch.save and torch.load(weights_only=True) of PyTorch 1.6 to 2.9
class Pt {
 public:
  explicit Pt(const std::string& path, std::string_view key = "", std::uint64_t limit = default_file_limit)
      : Pt(std::string_view(read_file(path, limit)), path, key, limit) {}
  /// Of the bytes of a file; path is for messages.
  Pt(std::string_view file, const std::string& path, std::string_view key, std::uint64_t limit = default_file_limit);

  /// The tensors in the order of the dictionary, by their names. Values that are no tensors are left out. The views are
  /// valid as long as this object or the one it is moved to lives.
  std::span<const NamedTensor> tensors() const { return {tensors_.data(), tensors_.size()}; }
  /// The tensor of that name, or a null pointer.
  const AnyTensor* find(std::string_view name) const {
    const std::size_t found = index_.find(name);
    return found == SortedNames::none ? nullptr : &tensors_[found].tensor;
  }

 private:
  std::vector<AlignedBytes> data_;
  std::vector<NamedTensor> tensors_;
  SortedNames index_;  // of tensors_
};

namespace detail {
inline bool has_tensors(const Pickle& pickle, const PickledValue& dictionary) {
  for (std::size_t i = 1; dictionary.kind == PickledValue::dictionary && i < dictionary.items.size(); i += 2)
    if (pickle[dictionary.items[i]].kind == PickledValue::tensor) return true;
  return false;
}
/// The state dictionary of a file: the whole of it, or a member.
inline const PickledValue& state_of(const Pickle& pickle, std::string_view key, const std::string& path) {
  const PickledValue& root = pickle.root();
  if (root.kind != PickledValue::dictionary) throw_bad_pickle(path, "it holds no dictionary of tensors");
  if (key.empty() && has_tensors(pickle, root)) return root;
  const PickledValue* found = nullptr;
  std::string names;
  std::unordered_map<int, bool> known;  // a dictionary can be there many times, and is searched once
  int count = 0;
  for (std::size_t i = 0; i + 1 < root.items.size(); i += 2) {
    const PickledValue &name = pickle[root.items[i]], &value = pickle[root.items[i + 1]];
    if (name.kind != PickledValue::text) continue;
    const auto [searched, is_new] = known.try_emplace(root.items[i + 1]);
    if (is_new) searched->second = has_tensors(pickle, value);
    if (!searched->second) continue;
    if (key.empty() || name.letters == key) found = &value;
    if (++count <= 20) names += (count > 1 ? ", " : "") + printable(name.letters);
  }
  if (!found || (key.empty() && count > 1))
    throw_error<ValueError>("'", path, "' has ",
                            count == 0 ? "no dictionary of tensors" : "these dictionaries of tensors: ", names,
                            count == 0 ? "." : ". Name one: io::Pt(path, key).");
  return *found;
}
/// Copies a tensor out of its storage, element by element where it is not row-major.
inline void copy_strided(const PickledTensor& tensor, std::string_view storage, const AnyTensor& to) {
  const std::size_t size = size_of(to.dtype);
  std::array<std::int64_t, AnyTensor::max_axes> index{};
  std::uint64_t from = std::uint64_t(tensor.offset);  // of an axis of extent 1 a stride can be any number: it wraps
  char* out = static_cast<char*>(to.data);
  for (std::uint64_t left = to.bytes() / size; left > 0; --left, out += size) {
    std::memcpy(out, storage.data() + from * size, size);
    for (int axis = to.rank; axis-- > 0;) {
      const std::size_t k = std::size_t(axis);
      from += std::uint64_t(tensor.strides[k]);
      if (++index[k] < tensor.extents[k]) break;
      from -= std::uint64_t(tensor.strides[k]) * std::uint64_t(tensor.extents[k]);
      index[k] = 0;
    }
  }
}
/// Throws RuntimeError unless all elements are in the storage. Returns their bytes when they are row-major.
inline std::uint64_t checked_bytes(const PickledTensor& tensor, std::string_view storage, const std::string& name,
                                   const std::string& path) {
  const auto fail = [&](const char* reason) {
    throw_bad_pickle(path, text("the tensor ", printable(name), " ", reason));
  };
  const std::uint64_t size = size_of(tensor.dtype), there = storage.size() / size;
  if (tensor.extents.size() > AnyTensor::max_axes) fail("has too many axes");
  std::uint64_t bytes = 0, last = 0;
  bool is_empty = false;
  for (const std::int64_t extent : tensor.extents) is_empty |= extent == 0;
  for (std::size_t axis = 0; axis < tensor.extents.size(); ++axis) {
    const std::int64_t extent = tensor.extents[axis], stride = tensor.strides[axis];
    if (extent < 0 || stride < 0) fail("has a negative extent or stride");
    std::uint64_t reach = 0;
    if (!is_empty && (__builtin_mul_overflow(std::uint64_t(extent - 1), std::uint64_t(stride), &reach) ||
                      __builtin_add_overflow(last, reach, &last)))
      fail("reaches beyond its storage");
  }
  if (!bytes_of_shape(tensor.extents, 8 * unsigned(size), bytes)) fail("has an impossible shape");
  if (tensor.elements < 0 || std::uint64_t(tensor.elements) > there) fail("has a storage that is shorter than it says");
  if (tensor.offset < 0 ||
      (!is_empty && (std::uint64_t(tensor.offset) >= there || last >= there - std::uint64_t(tensor.offset))))
    fail("reaches beyond its storage");
  return bytes;
}
/// Throws RuntimeError if a value of the pickle is the name of two tensors: each would have a copy of it.
inline void check_names_are_others(const Pickle& pickle, const PickledValue& state, const std::string& path) {
  std::vector<int> names;
  for (std::size_t i = 0; i + 1 < state.items.size(); i += 2)
    if (pickle[state.items[i + 1]].kind == PickledValue::tensor) names.push_back(state.items[i]);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end() && pickle[*twice].kind == PickledValue::text)
    throw_bad_pickle(path, text("the name ", printable(pickle[*twice].letters), " is there twice"));
}
}  // namespace detail

inline Pt::Pt(std::string_view file, const std::string& path, std::string_view key, std::uint64_t limit) try {
  if (file.starts_with(std::string_view("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 14)))
    throw_bad_pickle(path, "PyTorch wrote files of this form before 1.6. In Python: torch.save(torch.load('old.pt', "
                           "weights_only=True), 'new.pt')");
  const std::vector<ZipMember> members = zip_members(file, path);
  std::string folder;
  for (const ZipMember& member : members)
    if (member.name.ends_with("/data.pkl")) folder = member.name.substr(0, member.name.size() - 8);
  if (folder.empty())
    throw_bad_pickle(path, "it is a zip archive without 'data.pkl', so torch.save has not written it");
  const SortedNames names(members);
  std::vector<bool> is_checked(members.size());
  const auto content = [&](std::string_view name) -> std::string_view {
    const std::size_t i = names.find(folder + std::string(name));
    if (i == SortedNames::none)
      throw_bad_pickle(path, text("its archive lacks ", printable(folder + std::string(name))));
    if (members[i].deflated) throw_bad_pickle(path, "its archive is compressed, which torch.save does not do");
    if (!is_checked[i]) check_content(members[i], members[i].packed, path);
    is_checked[i] = true;
    return members[i].packed;
  };
  bool is_swapped = false;
  for (const ZipMember& member : members)
    if (member.name == folder + "byteorder") is_swapped = content("byteorder") == "big";
  const std::string_view bytes = content("data.pkl");
  if (bytes.size() > most_pickle_bytes)
    throw_bad_pickle(path, text("its pickle has ", bytes.size(), " bytes, at most ", most_pickle_bytes, " are read"));
  const Pickle pickle(bytes, path);
  const PickledValue& state = detail::state_of(pickle, key, path);
  detail::check_names_are_others(pickle, state, path);
  const std::uint64_t most = file.size() > limit / most_repeats ? limit : file.size() * most_repeats;
  std::uint64_t left = most;
  for (std::size_t i = 0; i + 1 < state.items.size(); i += 2) {
    const PickledValue &named = pickle[state.items[i]], &value = pickle[state.items[i + 1]];
    if (value.kind != PickledValue::tensor || named.kind != PickledValue::text) continue;
    const std::string name(named.letters);
    const PickledTensor& tensor = pickle.tensor_of(value);
    const std::string_view storage = content(text("data/", tensor.key));
    const std::uint64_t taken = detail::checked_bytes(tensor, storage, name, path);
    if (taken > left && most == limit) throw_file_too_large(path, text("tensors of more than ", limit), limit);
    if (taken > left)
      throw_bad_pickle(path, text("its tensors have more than ", most_repeats, " times as many bytes as the file"));
    left -= taken;
    AnyTensor view(tensor.dtype, tensor.extents, nullptr);
    view.data = data_.emplace_back(view.bytes(), content_of(path).c_str()).data();
    if (taken) detail::copy_strided(tensor, storage, view);
    const std::span<std::byte> own(static_cast<std::byte*>(view.data), taken);
    if (is_swapped) detail::swap_bytes(own, size_of(tensor.dtype));
    if (view.dtype == Dtype::bool_ && std::ranges::any_of(own, [](std::byte b) { return b > std::byte{1}; }))
      throw_bad_pickle(path, text("an element of the bool tensor ", printable(name), " is neither 0 nor 1"));
    tensors_.push_back({name, view});
  }
  check_tensors("load", path, tensors_);
  index_ = SortedNames(tensors_);
} catch (const std::bad_alloc&) {
  refuse_file(file.size(), path);
}

}  // namespace tenon::io
