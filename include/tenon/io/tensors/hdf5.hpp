// HDF5 files, as far as Keras uses them: groups with symbol tables, and arrays of numbers. Reads the bytes itself, in
// bounds: the HDF library follows links, loads plugins, and opens other files, and damaged files have crashed it.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/tensor/any_tensor.hpp>
#include <tenon/io/text/escaped_text.hpp>

namespace tenon::inline TENON_ABI::io {

[[noreturn]] inline void throw_bad_hdf5(const std::string& path, const std::string& reason) {
  throw_error<RuntimeError>("Cannot read '", path, "' as HDF5 weights of Keras: ", reason, ".");
}

/// A part of an array, at `first` in it.
struct Hdf5Chunk {
  std::vector<std::int64_t> first;
  std::string_view packed;
  bool shuffled = false, deflated = false;  // gzip leaves out what it would make larger
};
/// An array of numbers in a file, its sizes not yet compared.
struct Hdf5Array {
  std::string name;  // with the groups: "layers/dense/vars/0"
  Dtype dtype = Dtype::float32;
  bool is_swapped = false;
  std::vector<std::int64_t> extents{};
  std::string_view content{};  // if it lies in one piece
  bool is_chunked = false, shuffled = false, deflated = false;
  std::vector<std::int64_t> chunk_extents{};
  std::vector<Hdf5Chunk> chunks{};
};
/// The attribute `name` of a group, which Keras 3 gives its layers.
struct Hdf5Label {
  std::string group, name;
};

/// Reads the structure of a file: superblock 0 or 1, object headers 1, symbol tables, layouts 3. Throws RuntimeError
/// for everything else, such as soft and external links, external and virtual storage, and other filters.
class Hdf5Reader {
 public:
  Hdf5Reader(std::string_view file, const std::string& path) : file_(file), path_(path) { read_superblock(); }

  std::vector<Hdf5Array> arrays{};
  std::vector<Hdf5Label> labels{};

 private:
  static constexpr std::uint64_t nowhere = ~std::uint64_t{0};
  static constexpr std::size_t longest_name = 1000, deepest = 32;
  struct Message {
    std::uint64_t type = 0;
    std::string_view bytes;
  };

  [[noreturn]] void fail(const std::string& reason) const { throw_bad_hdf5(path_, reason); }
  [[noreturn]] void fail_at(std::string_view name, const std::string& reason) const {
    fail(text(printable(name.empty() ? "/" : name), " ", reason));
  }
  std::string_view part(std::string_view of, std::uint64_t at, std::uint64_t count) const {
    if (at > of.size() || count > of.size() - at) fail("it is cut off or damaged");
    return of.substr(std::size_t(at), std::size_t(count));
  }
  std::string_view bytes(std::uint64_t at, std::uint64_t count) const { return part(file_, at, count); }
  std::uint64_t number(std::string_view of, std::uint64_t at, unsigned size) const {
    const std::string_view digits = part(of, at, size);
    std::uint64_t value = 0;
    for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(digits[i]);
    return value;
  }
  std::uint64_t number(std::uint64_t at, unsigned size) const { return number(file_, at, size); }
  /// Counts a part of the structure that has 8 bytes or more of its own.
  void step() {
    if (++steps_ > file_.size() / 8) fail("its parts overlap");
  }
  void expect(std::uint64_t at, std::string_view signature) const {
    if (bytes(at, 4) != signature) fail(text("there is no ", signature, " at byte ", at, ", where its parts say so"));
  }

  void read_superblock() {
    if (!file_.starts_with("\x89HDF\r\n\x1a\n")) fail("it does not begin as an HDF5 file does");
    const std::uint64_t version = number(8, 1);
    if (version > 1)
      fail(text("it has the newer form ", version, " of HDF5, which Keras does not write. In Python, save the weights ",
                "again, by h5py.File(path, 'w', libver='earliest') or by model.save_weights"));
    if (number(13, 1) != 8 || number(14, 1) != 8) fail("its addresses have other than 8 bytes");
    const std::uint64_t base = version == 0 ? 24 : 28;
    if (number(base, 8) != 0) fail("its first byte is not at address 0");
    read_object(number(base + 40, 8), "", 0);
  }

  // ---- objects: a header with messages is a group or an array
  void read_object(std::uint64_t at, const std::string& name, std::size_t depth) {
    if (!seen_.insert(at).second) fail_at(name, "is there under two names, or in itself");
    if (depth > deepest || name.size() > longest_name) fail_at(name, "is too deep or has too long a name");
    const std::vector<Message> messages = read_header(at, name);
    for (const Message& message : messages)
      if (message.type == 0x11) return read_group(message.bytes, messages, name, depth);
    read_array(messages, name);
  }
  std::vector<Message> read_header(std::uint64_t at, const std::string& name) {
    if (number(at, 1) != 1) fail_at(name, "has a header of a newer form of HDF5");
    const std::uint64_t count = number(at + 2, 2);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> blocks{{at + 16, number(at + 8, 4)}};
    std::vector<Message> messages;
    for (std::size_t block = 0; block < blocks.size(); ++block) {
      std::string_view rest = bytes(blocks[block].first, blocks[block].second);
      while (rest.size() >= 8 && messages.size() < count) {
        step();
        const std::uint64_t size = number(rest, 2, 2);
        const Message message{number(rest, 0, 2), part(rest, 8, size)};
        const bool is_needed = message.type == 1 || message.type == 3 || message.type == 8 || message.type == 0xb;
        if (is_needed && (number(rest, 4, 1) & 2)) fail_at(name, "shares its form with another one");
        if (message.type == 0x10) blocks.push_back({number(message.bytes, 0, 8), number(message.bytes, 8, 8)});
        messages.push_back(message);
        rest.remove_prefix(std::size_t(8 + size));
      }
    }
    return messages;
  }

  // ---- groups
  void read_group(std::string_view table, const std::vector<Message>& messages, const std::string& name,
                  std::size_t depth) {
    for (const Message& message : messages)
      if (message.type == 0xc) read_label(message.bytes, name);
    const std::uint64_t heap = number(table, 8, 8);
    expect(heap, "HEAP");
    read_links(number(table, 0, 8), bytes(number(heap + 24, 8), number(heap + 8, 8)), name, depth, 0);
  }
  void read_links(std::uint64_t at, std::string_view names, const std::string& group, std::size_t depth, int level) {
    const std::uint64_t count = open_tree(at, 0, level);
    for (std::uint64_t i = 0; i < count; ++i) {
      step();
      const std::uint64_t child = number(at + 32 + 16 * i, 8);
      if (number(at + 5, 1) != 0) {
        read_links(child, names, group, depth, level + 1);
        continue;
      }
      expect(child, "SNOD");
      if (!seen_.insert(child).second) fail("its parts overlap");
      for (std::uint64_t k = 0; k < number(child + 6, 2); ++k) {
        step();
        const std::uint64_t entry = child + 8 + 40 * k, begin = number(entry, 8);
        const std::string_view tail = part(names, begin, names.size() - std::min<std::uint64_t>(begin, names.size()));
        const std::size_t length = tail.substr(0, longest_name).find('\0');
        if (length == tail.npos || length == 0) fail("a name has no letters or no end");
        const std::string name = group + (group.empty() ? "" : "/") + std::string(tail.substr(0, length));
        if (number(entry + 16, 4) > 1) fail_at(name, "is a link to another place, which is not followed");
        read_object(number(entry + 8, 8), name, depth + 1);
      }
    }
  }
  /// The number of children of a node of a B-tree.
  std::uint64_t open_tree(std::uint64_t at, std::uint64_t type, int level) {
    expect(at, "TREE");
    if (number(at + 4, 1) != type || level > 16) fail("a tree in it is damaged");
    if (!seen_.insert(at).second) fail("its parts overlap");
    return number(at + 6, 2);
  }
  /// Keeps the text of the attribute "name". What has another form is left out.
  void read_label(std::string_view message, const std::string& group) {
    const std::uint64_t version = number(message, 0, 1);
    if (version < 1 || version > 3) return;
    const auto padded = [&](std::uint64_t size) { return version == 1 ? (size + 7) / 8 * 8 : size; };
    const std::uint64_t named = number(message, 2, 2), type = number(message, 4, 2), space = number(message, 6, 2);
    const std::uint64_t begin = version == 3 ? 9 : 8;
    if (part(message, begin, named) != std::string_view("name", 5)) return;
    const std::uint64_t at = begin + padded(named), data = at + padded(type) + padded(space);
    if ((number(message, at, 1) & 15) != 9 || (number(message, at + 1, 1) & 15) != 1) return;  // a text of any length
    const std::uint64_t length = number(message, data, 4), index = number(message, data + 12, 4);
    std::uint64_t heap = number(message, data + 4, 8);
    if (length > longest_name) return;
    expect(heap, "GCOL");
    const std::string_view objects = bytes(heap, number(heap + 8, 8));
    for (std::uint64_t object = 16; object + 16 <= objects.size();) {
      step();
      const std::uint64_t id = number(objects, object, 2), size = number(objects, object + 8, 8);
      if (id == index && id != 0 && size >= length)
        return labels.push_back({group, std::string(part(objects, object + 16, length))});
      if (id == 0 || size > objects.size()) return;
      object += 16 + (size + 7) / 8 * 8;
    }
  }

  // ---- arrays
  void read_array(const std::vector<Message>& messages, const std::string& name) {
    Hdf5Array array{name};
    bool has_shape = false, has_type = false;
    std::string_view layout;
    for (const auto& [type, message] : messages) {
      if (type == 1) has_shape = true, read_shape(message, array);
      if (type == 3) has_type = true, read_type(message, array);
      if (type == 7) fail_at(name, "lies in another file, which is not opened");
      if (type == 8) layout = message;
      if (type == 0xb) read_filters(message, array);
      if (type == 2 || type == 6) fail_at(name, "is a group of a newer form of HDF5, or one of links");
    }
    if (!has_shape || !has_type || layout.empty()) fail_at(name, "is neither a group nor an array");
    read_layout(layout, array);
    arrays.push_back(std::move(array));
  }
  void read_shape(std::string_view message, Hdf5Array& array) const {
    const std::uint64_t version = number(message, 0, 1), rank = number(message, 1, 1);
    if (version < 1 || version > 2 || rank > AnyTensor::max_axes || (version == 2 && number(message, 3, 1) > 1))
      fail_at(array.name, text("has too many axes or another form of shape; at most ", AnyTensor::max_axes, " axes"));
    array.extents.clear();
    for (std::uint64_t i = 0; i < rank; ++i) {
      const std::uint64_t extent = number(message, (version == 1 ? 8 : 4) + 8 * i, 8);
      if (extent >> 62) fail_at(array.name, "has an impossible shape");
      array.extents.push_back(std::int64_t(extent));
    }
  }
  /// Numbers of the machine, of either order of bytes.
  void read_type(std::string_view message, Hdf5Array& array) const {
    const std::uint64_t kind = number(message, 0, 1) & 15, flags = number(message, 1, 3), size = number(message, 4, 4);
    const Dtype floats[]{Dtype::float16, Dtype::float32, Dtype::float64},
        integers[]{Dtype::int8, Dtype::int16, Dtype::int32, Dtype::int64},
        naturals[]{Dtype::uint8, Dtype::uint16, Dtype::uint32, Dtype::uint64};
    const int log = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : -1;
    array.is_swapped = flags & 1;
    const bool is_whole = log >= 0 && kind <= 1 && number(message, 8, 2) == 0 && number(message, 10, 2) == 8 * size;
    if (is_whole && kind == 0) {
      array.dtype = (flags & 8 ? integers : naturals)[log];
      return;
    }
    constexpr std::uint64_t exponents[]{0, 5, 8, 11}, mantissas[]{0, 10, 23, 52};
    if (!is_whole || log == 0 || (flags & 0x40) || number(message, 13, 1) != exponents[log] ||
        number(message, 15, 1) != mantissas[log] || number(message, 12, 1) != mantissas[log])
      fail_at(array.name,
              "holds no float16, float32, float64, or integers, such as texts or bfloat16. In Python, save it as "
              "float32");
    array.dtype = floats[log - 1];
  }
  void read_filters(std::string_view message, Hdf5Array& array) const {
    const std::uint64_t version = number(message, 0, 1), count = number(message, 1, 1);
    std::uint64_t at = version == 1 ? 8 : 2;
    for (std::uint64_t i = 0; i < count && (version == 1 || version == 2); ++i) {
      const std::uint64_t id = number(message, at, 2);
      const bool is_named = version == 1 || id >= 256;
      const std::uint64_t named = is_named ? number(message, at + 2, 2) : 0;
      const std::uint64_t values = number(message, at + (is_named ? 6 : 4), 2);
      at += (is_named ? 8 : 6) + (named + 7) / 8 * 8 + 4 * values + (version == 1 && values % 2 ? 4 : 0);
      if (id == 2 && i == 0) array.shuffled = true;
      else if (id == 1 && i == count - 1) array.deflated = true;
      else fail_at(array.name, text("is packed by filter ", id, "; read are gzip (1), and shuffle (2) before it"));
    }
    if (version < 1 || version > 2) fail_at(array.name, "is packed in a newer form of HDF5");
  }
  void read_layout(std::string_view message, Hdf5Array& array) {
    const std::uint64_t version = number(message, 0, 1), kind = number(message, 1, 1);
    if (version != 3 || kind > 2) fail_at(array.name, "is stored in a form that is not read, such as a virtual array");
    if (kind != 2 && (array.shuffled || array.deflated)) fail_at(array.name, "is packed and in one piece");
    if (kind == 0) array.content = part(message, 4, number(message, 2, 2));  // a single float32 has 8 bytes with all
    if (kind == 1 && number(message, 2, 8) != nowhere)
      array.content = bytes(number(message, 2, 8), number(message, 10, 8));
    if (kind != 2) return;
    array.is_chunked = true;
    const std::uint64_t axes = number(message, 2, 1), tree = number(message, 3, 8);
    if (axes != array.extents.size() + 1) fail_at(array.name, "has chunks of another number of axes");
    for (std::size_t i = 0; i + 1 < axes; ++i) {
      const std::int64_t extent = std::int64_t(number(message, 11 + 4 * i, 4));
      if (extent == 0 || extent > array.extents[i]) fail_at(array.name, "has empty chunks, or larger ones than it is");
      array.chunk_extents.push_back(extent);
    }
    if (tree != nowhere) read_chunks(tree, array, 0);
  }
  void read_chunks(std::uint64_t at, Hdf5Array& array, int level) {
    const std::uint64_t count = open_tree(at, 1, level), axes = array.extents.size(), key = 8 + 8 * (axes + 1);
    for (std::uint64_t i = 0; i < count; ++i) {
      step();
      const std::uint64_t entry = at + 24 + (key + 8) * i, child = number(entry + key, 8);
      if (number(at + 5, 1) != 0) {
        read_chunks(child, array, level + 1);
        continue;
      }
      const std::uint64_t mask = number(entry + 4, 4);
      const bool shuffled = array.shuffled && !(mask & 1),
                 deflated = array.deflated && !(mask & (array.shuffled ? 2 : 1));
      Hdf5Chunk chunk{{}, bytes(child, number(entry, 4)), shuffled, deflated};
      for (std::size_t axis = 0; axis < axes; ++axis) {
        const std::uint64_t first = number(entry + 8 + 8 * axis, 8);
        if (first >= std::uint64_t(array.extents[axis]) || first % std::uint64_t(array.chunk_extents[axis]) != 0)
          fail_at(array.name, "has a chunk outside of its shape");
        chunk.first.push_back(std::int64_t(first));
      }
      array.chunks.push_back(std::move(chunk));
    }
  }

  std::string_view file_;
  const std::string& path_;
  std::set<std::uint64_t> seen_{};
  std::uint64_t steps_ = 0;
};

}  // namespace tenon::io
