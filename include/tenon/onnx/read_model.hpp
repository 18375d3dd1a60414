// Reads ONNX files: nodes, tensors, inputs, and outputs, checked, with nothing computed. Needs protozero.
// Source: onnx/onnx.proto of ONNX 1.12 to 1.22.
#pragma once
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/dtype.hpp>
#include <tenon/core/error.hpp>
#include <tenon/io/bytes/protobuf.hpp>
#include <tenon/io/file.hpp>
#include <tenon/io/text/escaped_text.hpp>

namespace tenon::inline TENON_ABI::onnx {

/// A tensor of a file. Its elements are row-major and little-endian.
struct ReadTensor {
  std::string name;
  int type = 0;  // TensorProto.DataType
  std::vector<std::int64_t> extents;
  std::string bytes;

  std::int64_t count() const {
    std::int64_t all = 1;
    for (const std::int64_t extent : extents) all *= extent;
    return all;
  }
};

struct ReadGraph;

/// A setting of a node.
struct ReadAttribute {
  std::string name, text;
  float number = 0;
  std::vector<std::int64_t> whole;
  std::vector<float> numbers;
  bool has_number = false, has_tensor = false;
  ReadTensor tensor;
  std::shared_ptr<ReadGraph> graph;  // a branch, or the body of a loop
};

struct ReadNode {
  std::string name, operation, domain;
  std::vector<std::string> inputs, outputs;
  std::vector<ReadAttribute> attributes;
  std::string scopes, classes;  // what PyTorch's newer exporter says of the modules around it

  const ReadAttribute* find(std::string_view attribute) const {
    for (const ReadAttribute& a : attributes)
      if (a.name == attribute) return &a;
    return nullptr;
  }
};

/// An input or output. An extent of -1 has a name, or is unknown.
struct ReadValue {
  std::string name;
  int type = 0;
  std::vector<std::int64_t> extents;
  std::vector<std::string> names;  // of the extents that have one
};

struct ReadGraph {
  std::vector<ReadNode> nodes;
  std::vector<ReadTensor> initializers;
  std::vector<ReadValue> inputs, outputs;
};

struct ReadModel : ReadGraph {
  long opset = 0;  // of ONNX's own operators
};

/// The dtype of a number of TensorProto.DataType. False: Tenon has none.
constexpr bool dtype_of_onnx(int type, Dtype& dtype) {
  switch (type) {
    case 1: dtype = Dtype::float32; return true;
    case 2: dtype = Dtype::uint8; return true;
    case 3: dtype = Dtype::int8; return true;
    case 4: dtype = Dtype::uint16; return true;
    case 5: dtype = Dtype::int16; return true;
    case 6: dtype = Dtype::int32; return true;
    case 7: dtype = Dtype::int64; return true;
    case 9: dtype = Dtype::bool_; return true;
    case 10: dtype = Dtype::float16; return true;
    case 11: dtype = Dtype::float64; return true;
    case 12: dtype = Dtype::uint32; return true;
    case 13: dtype = Dtype::uint64; return true;
    case 16: dtype = Dtype::bfloat16; return true;
    default: return false;
  }
}

namespace detail {

[[noreturn, gnu::cold]] inline void refuse_onnx(const std::string& path, const std::string& reason) {
  throw_error<RuntimeError>("Cannot read '", path, "' as an ONNX file: ", reason,
                            ". The file is damaged or of another format: export it again.");
}

/// What a tensor says of bytes in another file.
struct OutsideBytes {
  std::string location;
  std::uint64_t offset = 0, length = 0;
  bool has_length = false, is_outside = false;
};

/// The bytes of a file in the folder of the model: a bare name, a regular file, no link.
[[gnu::cold]] inline std::string outside_bytes(const std::string& model, const OutsideBytes& from,
                                               std::uint64_t wanted) {
  const std::string& name = from.location;
  if (name.empty() || name == "." || name == ".." || name.size() > 255 || name.find('/') != name.npos ||
      name.find('\\') != name.npos || name.find('\0') != name.npos)
    refuse_onnx(model, text("external data must be a file next to it, ", io::printable(name), " is none"));
  const std::string path = model.substr(0, model.rfind('/') + 1) + name;
  const int file = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) refuse_onnx(model, text("its external data ", io::printable(name), " cannot be opened (a link?)"));
  struct Closed {
    int file;
    ~Closed() { ::close(file); }
  } const closed{file};
  struct stat status{};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink != 1)
    refuse_onnx(model, text("its external data ", io::printable(name), " is a link, or no regular file"));
  const auto size = std::uint64_t(status.st_size);
  if (from.offset > size || wanted > size - from.offset || (from.has_length && from.length != wanted))
    refuse_onnx(model, text("a tensor needs ", wanted, " bytes at ", from.offset, " of ", io::printable(name),
                            ", which has ", size));
  std::string bytes(wanted, '\0');
  for (std::uint64_t done = 0; done < wanted;) {
    const auto got = ::pread(file, bytes.data() + done, wanted - done, off_t(from.offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) refuse_onnx(model, text(io::printable(name), " cannot be read"));
    done += std::uint64_t(got);
  }
  return bytes;
}

class ModelReader {
  static constexpr int most_depth = 8;         // of graphs in each other
  static constexpr long most_nodes = 200'000;  // of all graphs together

 public:
  ModelReader(std::string_view file, const std::string& path) : file_(file), path_(path) {}

  ReadModel read() const {
    try {
      return model();
    } catch (const io::BadMessage& bad) {
      refuse_onnx(path_, text(bad.reason, ", at byte ", bad.at - file_.data()));
    }
  }

 private:
  using Field = io::MessageField;
  [[noreturn]] void fail(const Field& at, std::string_view reason) const {
    throw io::BadMessage{std::string(reason), at.at};
  }
  std::string word(const Field& field) const {
    const std::string_view bytes = field.bytes("a name");
    if (bytes.size() > 4096) fail(field, "a name has more than 4096 bytes");
    if (io::find_bad_utf8(bytes) != bytes.npos || bytes.find('\0') != bytes.npos)
      fail(field, "a name is not UTF-8 without zero bytes");
    return std::string(bytes);
  }
  /// f(number) for a repeated field of varints.
  template <class F>
  void each_number(const Field& field, F f) const {
    if (field.kind != Field::Kind::bytes) return f(field.integer("a number"));
    const char* at = field.content.data();
    for (const char* const end = at + field.content.size(); at != end;) {
      std::uint64_t number = 0;
      try {
        number = protozero::decode_varint(&at, end);
      } catch (const protozero::exception&) {
        fail(field, "a number in a list is damaged");
      }
      f(std::int64_t(number));
    }
  }
  /// The bytes of a repeated field of numbers of fixed size.
  void append_fixed(std::string& to, const Field& field, std::size_t size) const {
    if (field.kind == Field::Kind::bytes) {
      if (field.content.size() % size != 0) fail(field, "a list of numbers is cut off");
      to += field.content;
    } else {
      if (field.kind != (size == 4 ? Field::Kind::fixed32 : Field::Kind::fixed64))
        fail(field, "a number has another type");
      to.append(reinterpret_cast<const char*>(&field.whole), size);
    }
  }

  ReadTensor tensor(const Field& outer) const {
    ReadTensor t;
    OutsideBytes outside;
    std::vector<std::int64_t> numbers;
    std::string fixed;
    bool has_raw = false;
    Field field;
    for (io::Message message(outer.bytes("a tensor")); message.next(field);) switch (field.number) {
        case 1: each_number(field, [&](std::int64_t extent) { t.extents.push_back(extent); }); break;
        case 2: t.type = int(field.integer("a tensor's type")); break;
        case 4: append_fixed(fixed, field, 4); break;
        case 5:
        case 7:
        case 11: each_number(field, [&](std::int64_t number) { numbers.push_back(number); }); break;
        case 8: t.name = word(field); break;
        case 9: t.bytes = field.bytes("a tensor's content"), has_raw = true; break;
        case 10: append_fixed(fixed, field, 8); break;
        case 13: take_outside(outside, field); break;
        case 14: outside.is_outside = field.integer("where a tensor's content is") == 1; break;
        default: break;
      }
    finish(t, outer, outside, numbers, fixed, has_raw);
    return t;
  }
  void take_outside(OutsideBytes& outside, const Field& outer) const {
    std::string key, value;
    Field field;
    for (io::Message message(outer.bytes("external data")); message.next(field);)
      if (field.number == 1) key = word(field);
      else if (field.number == 2) value = word(field);
    const auto number = [&] {
      std::uint64_t result = 0;
      const auto end = value.data() + value.size();
      if (value.size() > 18 || std::from_chars(value.data(), end, result).ptr != end || value.empty())
        fail(outer, "a place of external data is no number");
      return result;
    };
    if (key == "location") outside.location = value;
    else if (key == "offset") outside.offset = number();
    else if (key == "length") outside.length = number(), outside.has_length = true;
  }
  void finish(ReadTensor& t, const Field& outer, const OutsideBytes& outside, const std::vector<std::int64_t>& numbers,
              const std::string& fixed, bool has_raw) const {
    Dtype dtype{};
    if (!dtype_of_onnx(t.type, dtype))
      fail(outer,
           text("tensor ", io::printable(t.name), " has elements of type ", t.type, ", which Tenon does not have"));
    if (t.extents.size() > 8) fail(outer, text("tensor ", io::printable(t.name), " has more than 8 axes"));
    const std::size_t size = size_of(dtype);
    std::uint64_t wanted = size;
    for (const std::int64_t extent : t.extents) {
      if (extent < 0 || extent > 1'000'000'000'000) fail(outer, "a tensor has a damaged shape");
      if (__builtin_mul_overflow(wanted, std::uint64_t(extent), &wanted) || wanted > std::uint64_t(1) << 48)
        fail(outer, "a tensor has a damaged shape");
    }
    if (outside.is_outside) t.bytes = outside_bytes(path_, outside, wanted);
    else if (!has_raw && !numbers.empty())
      for (const std::int64_t number : numbers) t.bytes.append(reinterpret_cast<const char*>(&number), size);
    else if (!has_raw) t.bytes = fixed;
    if (t.bytes.size() != wanted)
      fail(outer, text("tensor ", io::printable(t.name), " has ", t.bytes.size(), " bytes, its shape needs ", wanted));
  }

  ReadAttribute attribute(const Field& outer, int depth) const {
    ReadAttribute a;
    Field field;
    for (io::Message message(outer.bytes("an attribute")); message.next(field);) switch (field.number) {
        case 1: a.name = word(field); break;
        case 2: a.number = field.single("an attribute"), a.has_number = true; break;
        case 3: a.whole.push_back(field.integer("an attribute")); break;
        case 4: a.text = word(field); break;
        case 5: a.tensor = tensor(field), a.has_tensor = true; break;
        case 6: a.graph = inner_graph(field, depth + 1); break;
        case 11: fail(field, "a node has several graphs in one attribute, which Tenon does not read");
        case 7: {
          std::string bytes;
          append_fixed(bytes, field, 4);
          for (std::size_t i = 0; i < bytes.size(); i += 4) {
            float number = 0;
            std::memcpy(&number, bytes.data() + i, 4);
            a.numbers.push_back(number);
          }
          break;
        }
        case 8: each_number(field, [&](std::int64_t number) { a.whole.push_back(number); }); break;
        default: break;
      }
    return a;
  }
  void take_property(ReadNode& node, const Field& outer) const {
    std::string_view key, value;
    Field field;
    for (io::Message message(outer.bytes("a property")); message.next(field);)
      if (field.number == 1) key = field.bytes("a property");
      else if (field.number == 2) value = field.bytes("a property");
    if (value.size() > 4096) return;
    if (key == "pkg.torch.onnx.name_scopes") node.scopes = value;
    if (key == "pkg.torch.onnx.class_hierarchy") node.classes = value;
  }
  ReadNode node(const Field& outer, int depth) const {
    if (++nodes_ > most_nodes) fail(outer, text("it has more than ", most_nodes, " nodes"));
    ReadNode n;
    Field field;
    for (io::Message message(outer.bytes("a node")); message.next(field);) switch (field.number) {
        case 1: n.inputs.push_back(word(field)); break;
        case 2: n.outputs.push_back(word(field)); break;
        case 3: n.name = word(field); break;
        case 4: n.operation = word(field); break;
        case 5: n.attributes.push_back(attribute(field, depth)); break;
        case 7: n.domain = word(field); break;
        case 9: take_property(n, field); break;
        default: break;
      }
    return n;
  }
  void take_shape(ReadValue& value, const Field& outer) const {
    Field field, part;
    for (io::Message shape(outer.bytes("a shape")); shape.next(field);) {
      if (field.number != 1) continue;
      std::int64_t extent = -1;
      std::string name;
      for (io::Message dimension(field.bytes("an extent")); dimension.next(part);)
        if (part.number == 1) extent = part.integer("an extent");
        else if (part.number == 2) name = word(part);
      if (value.extents.size() == 8) fail(field, "a value has more than 8 axes");
      if (extent < -1 || extent > 2'000'000'000) fail(field, "a value has a damaged shape");
      value.extents.push_back(name.empty() ? extent : -1);
      value.names.push_back(name);
    }
  }
  ReadValue value(const Field& outer) const {
    ReadValue v;
    Field field, type, part;
    for (io::Message message(outer.bytes("a value")); message.next(field);) {
      if (field.number == 1) v.name = word(field);
      if (field.number != 2) continue;
      for (io::Message types(field.bytes("a type")); types.next(type);) {
        if (type.number != 1) continue;
        for (io::Message tensor(type.bytes("a type")); tensor.next(part);)
          if (part.number == 1) v.type = int(part.integer("a type"));
          else if (part.number == 2) take_shape(v, part);
      }
    }
    return v;
  }
  std::shared_ptr<ReadGraph> inner_graph(const Field& outer, int depth) const {
    if (depth > most_depth) fail(outer, text("it has more than ", most_depth, " graphs in each other"));
    const auto graph = std::make_shared<ReadGraph>();
    take_graph(*graph, outer, depth);
    return graph;
  }
  void take_graph(ReadGraph& m, const Field& outer, int depth) const {
    Field field;
    for (io::Message message(outer.bytes("the graph")); message.next(field);) switch (field.number) {
        case 1: m.nodes.push_back(node(field, depth)); break;
        case 5: m.initializers.push_back(tensor(field)); break;
        case 11: m.inputs.push_back(value(field)); break;
        case 12: m.outputs.push_back(value(field)); break;
        case 15: fail(field, "it has sparse tensors, which Tenon does not read");
        default: break;
      }
  }
  ReadModel model() const {
    ReadModel m;
    Field field, part;
    bool has_graph = false;
    for (io::Message message(file_); message.next(field);) {
      if (field.number == 7) {
        if (has_graph) fail(field, "it has two graphs");
        has_graph = true;
        take_graph(m, field, 0);
      } else if (field.number == 8) {
        std::string domain;
        std::int64_t version = 0;
        for (io::Message set(field.bytes("a set of operators")); set.next(part);)
          if (part.number == 1) domain = word(part);
          else if (part.number == 2) version = part.integer("a version");
        if (domain.empty() || domain == "ai.onnx") m.opset = long(version);
      }
    }
    if (!has_graph) refuse_onnx(path_, "it has no graph");
    return m;
  }

  std::string_view file_;
  const std::string& path_;
  mutable long nodes_ = 0;
};
}  // namespace detail

/// The model in the bytes of a file. `path` is for messages, and its folder has external data: a tensor may be a part
/// of a regular file next to the model, never of another folder, and never through a link.
///
/// throws      RuntimeError if the file is damaged, or has tensors of elements that Tenon does not have
inline ReadModel parse_model(std::string_view file, const std::string& path) {
  return detail::ModelReader(file, path).read();
}
/// The same of a file. Throws also if it cannot be read.
inline ReadModel read_model(const std::string& path) { return parse_model(io::read_file(path), path); }

}  // namespace tenon::onnx
