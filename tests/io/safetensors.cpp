// Reading and writing safetensors files: the reference implementation's bytes, hostile files, failing writes.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <sys/resource.h>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <tenon/io/safetensors.hpp>

using namespace tenon;
namespace fs = std::filesystem;

namespace {

/// A directory of its own for each test, removed at the end.
struct Folder {
  std::string path = (fs::temp_directory_path() / "tenon-safetensors-XXXXXX").string();
  Folder() { REQUIRE(::mkdtemp(path.data()) != nullptr); }
  ~Folder() { fs::remove_all(path); }
  std::string operator/(std::string_view name) const { return io::join_path(path, name); }
  std::size_t files() const { return static_cast<std::size_t>(std::distance(fs::directory_iterator(path), {})); }
};

/// A tensor that owns its bytes; copies share them.
struct Owned {
  std::shared_ptr<std::max_align_t[]> storage;
  io::NamedTensor named;
  Owned(std::string name, Dtype dtype, std::vector<std::int64_t> shape, unsigned first = 0, unsigned step = 37) {
    named = {std::move(name), AnyTensor(dtype, shape, nullptr)};
    storage = std::make_shared<std::max_align_t[]>(named.tensor.bytes() / sizeof(std::max_align_t) + 1);
    named.tensor.data = storage.get();
    const unsigned mask = dtype == Dtype::bool_ ? 1 : 255;
    auto* bytes = static_cast<unsigned char*>(named.tensor.data);
    for (std::size_t i = 0; i < named.tensor.bytes(); ++i)
      bytes[i] = static_cast<unsigned char>((first + i * step) & mask);
  }
};

std::vector<io::NamedTensor> views(const std::vector<Owned>& tensors) {
  std::vector<io::NamedTensor> result;
  for (const Owned& tensor : tensors) result.push_back(tensor.named);
  return result;
}
std::string bytes_of(const AnyTensor& tensor) { return {static_cast<const char*>(tensor.data), tensor.bytes()}; }

std::string with_length(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + data;
}

template <class Kind = Error, class Act>
std::string message(Act act) {
  try {
    act();
  } catch (const Kind& error) {
    return error.what();
  }
  return "no error of this kind";
}

/// What the reader says about a file of these bytes.
std::string refusal(const std::string& content) {
  const Folder folder;
  io::write_file(folder / "f", content);
  return message<RuntimeError>([&] { io::Safetensors(folder / "f"); });
}

bool has(const std::string& s, std::string_view part) { return s.find(part) != std::string::npos; }

std::uint32_t crc32(std::string_view s) {
  std::uint32_t crc = ~0u;
  for (char c : s) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

/// One tensor of each dtype, names in the opposite order, a scalar with a hard name, and an empty one.
std::vector<Owned> every_dtype() {
  std::vector<Owned> tensors;
  for (unsigned k = 0; k < 13; ++k) {
    const std::string letter(1, static_cast<char>('m' - k));
    tensors.emplace_back(text(letter, ".", name(static_cast<Dtype>(k))), static_cast<Dtype>(k),
                         std::vector<std::int64_t>{2, 3}, k);
  }
  tensors.emplace_back("layer \"0\"\\w\n\x01\u00e9\U0001f600", Dtype::float32, std::vector<std::int64_t>{}, 100);
  tensors.emplace_back("Z", Dtype::float32, std::vector<std::int64_t>{0, 4});
  return tensors;
}

const std::vector<std::pair<std::string, std::string>> note{{"note", "a \"quoted\"\t\u00e4/b"}};

const std::string one = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";  // the smallest honest file
const std::string eight(8, '\1');

/// The member `"a":{...}` with something replaced.
std::string altered(std::string_view from, std::string_view to) {
  std::string result = one;
  const std::size_t at = result.find(from);
  REQUIRE(at != result.npos);
  return result.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("written files equal those of the reference implementation, byte for byte") {
  // Written by the Python package safetensors 0.8.0 from the same tensors: the header's order and escapes, CRC-32 of
  // the file.
  const Folder folder;
  const std::vector<Owned> tensors = every_dtype();
  io::save_safetensors(folder / "f", views(tensors), note);
  const std::string content = io::read_file(folder / "f");
  CHECK(content.size() == 1334);
  CHECK(content.substr(0, 8) == std::string("\x10\x04\0\0\0\0\0\0", 8));
  CHECK(has(content, R"({"__metadata__":{"note":"a \"quoted\"\t)"
                     "\u00e4/b\"},\"e.uint64\":{\"dtype\":\"U64\",\"shape\":[2,3],\"data_offsets\":[0,48]},"));
  CHECK(has(content, R"(,"layer \"0\"\\w\n\u0001)"
                     "\u00e9\U0001f600\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[168,172]}"));
  CHECK(crc32(content) == 2338400876u);
}

TEST_CASE("a round trip keeps names, dtypes, shapes, bits and metadata, also after a move") {
  const Folder folder;
  std::vector<Owned> tensors = every_dtype();
  tensors.emplace_back("eight axes", Dtype::int16, std::vector<std::int64_t>{1, 2, 1, 2, 1, 2, 1, 3}, 9);
  io::save_safetensors(folder / "f", views(tensors), note);
  io::Safetensors first(folder / "f");
  const io::Safetensors file = std::move(first);
  REQUIRE(file.tensors().size() == tensors.size());
  for (const Owned& tensor : tensors) {
    const AnyTensor* found = file.find(tensor.named.name);
    REQUIRE(found);
    CHECK(found->dtype == tensor.named.tensor.dtype);
    CHECK(shape_text(found->shape()) == shape_text(tensor.named.tensor.shape()));
    CHECK(bytes_of(*found) == bytes_of(tensor.named.tensor));
    CHECK(reinterpret_cast<std::uintptr_t>(found->data) % size_of(found->dtype) == 0);
  }
  CHECK(std::vector(file.metadata().begin(), file.metadata().end()) == note);
  CHECK(file.find("e.uint65") == nullptr);
  CHECK(file.find("") == nullptr);

  io::save_safetensors(folder / "none", {});
  CHECK(io::read_file(folder / "none") == with_length("{}      ", ""));
  CHECK(io::Safetensors(folder / "none").tensors().empty());
}

TEST_CASE("legal forms that the writer does not use are read") {
  const Folder folder;
  auto read = [&](const std::string& header, const std::string& data) {
    io::write_file(folder / "f", with_length(header, data));
    return io::Safetensors(folder / "f");
  };
  CHECK(read(one, eight).find("a")->count() == 2);  // a header that is not padded
  CHECK(read(one + "   ", eight).find("a")->as<float>().size() == 2);
  CHECK(read("{ \n\t\"a\" : {\r\"shape\":[ 2 ] , \"data_offsets\" :[0 , 8],\"dtype\": \"F32\"} }", eight)
            .find("a")
            ->count() == 2);
  const io::Safetensors escaped = read(altered("a", R"(\u0071\"\/\\\b\f\n\r\t\u00E9\u20ac\ud83d\ude00)"), eight);
  CHECK(escaped.tensors()[0].name == "q\"/\\\b\f\n\r\t\u00e9\u20ac\U0001f600");
  CHECK(read(R"({"__metadata__":{}})", "").metadata().empty());
  CHECK(read(R"({"":{"dtype":"I8","shape":[0,9223372036854775807],"data_offsets":[0,0]}})", "").find("")->count() == 0);

  const std::string odd =
      R"({"b":{"dtype":"F32","shape":[2],"data_offsets":[3,11]},"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})";
  const io::Safetensors unaligned = read(odd, std::string("abc\0\0\0\0\0\0\x80\x3f", 11));
  CHECK(unaligned.tensors()[0].name == "a");  // in the order of the data
  const std::span<float> values = unaligned.find("b")->as<float>();
  CHECK(reinterpret_cast<std::uintptr_t>(values.data()) % alignof(float) == 0);
  CHECK(values[0] == 0.0f);
  CHECK(values[1] == 1.0f);
}

TEST_CASE("what is not a safetensors file is refused with reason and place") {
  struct Case {
    std::string header, data;
    std::string_view reason;
  };
  const std::string open_end = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)";
  const std::vector<Case> cases{
      {"", "", "start with '{', at byte 8"},
      {" " + one, eight, "start with '{', at byte 8"},
      {"[1]", eight, "start with '{', at byte 8"},
      {std::string(40000, '['), "", "start with '{'"},
      {"{\"a\":" + std::string(40000, '{'), "", "expected '\"', found '{', at byte 14"},
      {"{\"a\":" + std::string(40000, '['), "", "expected '{', found '[', at byte 13"},
      {"{'a': 1}", eight, "expected '\"', found ''', at byte 9"},
      {"{\"\xff\":{}}", "", "not UTF-8, at byte 10"},
      {"{\"\xc0\xaf\":{}}", "", "not UTF-8, at byte 10"},
      {"{\"\xed\xa0\x80\":{}}", "", "not UTF-8, at byte 10"},
      {"{\"\xf4\x90\x80\x80\":{}}", "", "not UTF-8, at byte 10"},
      {"{\"\xe2\x82", "", "not UTF-8, at byte 10"},
      {"{\"a\nb\":{}}", "", "control character that is not escaped, at byte 11"},
      {R"({"\x":{}})", "", "unknown escape in a text, at byte 10"},
      {R"({"\u12g4":{}})", "", "four hexadecimal digits, at byte 10"},
      {R"({"\ud83d":{}})", "", "half of a surrogate pair"},
      {R"({"\ud83d\u0041":{}})", "", "half of a surrogate pair"},
      {R"({"\ude00":{}})", "", "half of a surrogate pair"},
      {R"({"a)", "", "a text does not end"},
      {R"({"a\)", "", "unknown escape"},
      {R"({"\u)", "", "four hexadecimal digits"},
      {R"({"\ud83d\u)", "", "four hexadecimal digits"},
      {"{", "", "found the header's end, at byte 9"},
      {one.substr(0, one.size() - 1), eight, "expected '}', found the header's end"},
      {one + "}", eight, "only spaces may follow"},
      {one + "\n", eight, "only spaces may follow"},
      {one + std::string(1, '\0'), eight, "only spaces may follow"},
      {open_end + "}", eight, "expected '\"', found '}'"},
      {open_end + one.substr(1), eight, "has the tensor 'a' twice"},
      {open_end + R"("\u0061":{"dtype":"U8","shape":[0],"data_offsets":[8,8]}})", eight, "has the tensor 'a' twice"},
      {R"({"__metadata__":{"k":"1","k":"2"}})", "", "has the key 'k' twice"},
      {R"({"__metadata__":{},"__metadata__":{}})", "", "'__metadata__' is there twice"},
      {R"({"__metadata__":{"a": 5}})", "", "expected '\"', found '5'"},
      {R"({"__metadata__":null})", "", "expected '{', found 'n'"},
      {altered("\"dtype\":\"F32\",", ""), eight, "tensor 'a' has no 'dtype', at byte 9"},
      {altered("\"shape\":[2],", ""), eight, "tensor 'a' has no 'shape'"},
      {altered(",\"data_offsets\":[0,8]", ""), eight, "tensor 'a' has no 'data_offsets'"},
      {altered("\"shape\":[2]", "\"shape\":[2],\"shape\":[2]"), eight, "tensor 'a' has 'shape' twice"},
      {altered("\"dtype\":\"F32\"", "\"dtype\":\"F32\",\"dtype\":\"F32\""), eight, "tensor 'a' has 'dtype' twice"},
      {altered("\"shape\":[2]", "\"shape\":[2],\"x\":1"), eight, "unknown member 'x'"},
      {altered("F32", "F33"), eight, "dtype 'F33', which the format does not know, at byte 22"},
      {altered("[2]", "[-2]"), eight, "a whole number that is not negative"},
      {altered("[2]", "[2.0]"), eight, "expected a whole number"},
      {altered("[2]", "[2e0]"), eight, "expected a whole number"},
      {altered("[2]", "[02]"), eight, "a number starts with 0"},
      {altered("[2]", "[]"), eight, "has 8 bytes of data, its shape [] of F32 needs 4"},
      {altered("[2]", "[2,]"), eight, "a whole number that is not negative"},
      {altered("[2]", "[3]"), eight, "has 8 bytes of data, its shape [3] of F32 needs 12"},
      {altered("[2]", "[9223372036854775808]"), eight, "larger than 2^63 - 1"},
      {altered("[2]", "[99999999999999999999999999]"), eight, "larger than 2^63 - 1"},
      {altered("[2]", "[4611686018427387904, 8]"), eight, "impossible shape [4611686018427387904, 8]"},
      {altered("[2]", "[4611686018427387904, 4, 0]"), eight, "impossible shape"},
      {altered("[2]", "[2305843009213693952]"), eight, "impossible shape"},
      {altered("[2]", "[1,1,1,1,1,1,1,1,2]"), eight, "more than the 8 axes"},
      {altered("[0,8]", "[8,0]"), eight, "end before they begin"},
      {altered("[0,8]", "[0,8,8]"), eight, "expected ']', found ','"},
      {altered("[0,8]", "[0]"), eight, "expected ',', found ']'"},
      {altered("[0,8]", "[0,8.5]"), eight, "expected a whole number"},
      {altered("[0,8]", "[0,1099511627776]"), eight, "[0, 1099511627776), the file has only 8 bytes"},
      {altered("[0,8]", "[4,12]"), eight + eight.substr(4), "leave a hole: expected 0"},
      {open_end + R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", eight + eight.substr(4),
       "'b' (byte 62) has the data offsets [4, 12)"},
      {open_end + R"("b":{"dtype":"F32","shape":[2],"data_offsets":[12,20]}})", eight + eight + eight.substr(4),
       "leave a hole: expected 8"},
      {one, eight + "xx", "has 10 bytes of data, its tensors cover 8"},
      {one, eight.substr(1), "the file has only 7 bytes of data"},
      {R"({"f":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}})", "x", "impossible shape [3]"},
      {R"({"b":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}})", std::string("\0\1\2", 3),
       "element 2 of the bool tensor 'b' is 2"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.header.substr(0, 100));
    const std::string said = refusal(with_length(c.header, c.data));
    CHECK_MESSAGE(has(said, c.reason), said);
    CHECK(has(said, "/f' as safetensors"));
  }
}

TEST_CASE("lengths that the file does not have are refused before memory is taken") {
  CHECK(has(refusal(""), "it is empty, or a pipe"));
  CHECK(has(refusal("x"), "it has 1 byte, the length of the header alone takes 8. The file is damaged"));
  CHECK(has(refusal(std::string("\1\0\0\0\0\0\0", 7)), "it has 7 bytes, the"));
  CHECK(has(refusal(std::string("\0\0\0\0\0\1\0\0{}", 10)), "a header of 1099511627776 bytes, at most 100000000"));
  CHECK(has(refusal(std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10)), "a header of 18446744073709551615 bytes"));
  CHECK(has(refusal(std::string("\1\xe1\xf5\5\0\0\0\0", 8)), "a header of 100000001 bytes, at most"));
  CHECK(has(refusal(std::string("\0\xe1\xf5\5\0\0\0\0{}", 10)), "the file has only 2 more"));
  const Folder folder;
  CHECK(has(message<RuntimeError>([&] { io::Safetensors(folder / "absent"); }), "absent"));
  CHECK(has(message<RuntimeError>([&] { io::Safetensors f(folder.path); }), "directory"));

  io::write_file(folder / "sparse", with_length("{}", ""));  // a terabyte of holes behind a header that claims nothing
  std::error_code unsupported;
  fs::resize_file(folder / "sparse", std::uintmax_t{1} << 40, unsupported);
  if (!unsupported)
    CHECK(has(message<RuntimeError>([&] { io::Safetensors(folder / "sparse"); }), "its tensors cover 0"));
}

TEST_CASE("tensors of a dtype that Tenon lacks do not hide the others") {
  const Folder folder;
  const std::string header = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                             R"("q\n":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[4,7]},)"
                             R"("r":{"dtype":"F4","shape":[2,1],"data_offsets":[7,8]}})";
  io::write_file(folder / "f", with_length(header, "\1\1\1\1wxyz"));
  const io::Safetensors file(folder / "f");
  CHECK(file.tensors().size() == 1);
  REQUIRE(file.foreign().size() == 2);
  CHECK(file.foreign()[0].dtype == "F8_E4M3");
  CHECK(std::memcmp(file.foreign()[0].bytes.data(), "wxy", file.foreign()[0].bytes.size()) == 0);
  CHECK(file.foreign()[1].shape == std::vector<std::int64_t>{2, 1});
  CHECK(has(message<TypeError>([&] { (void)file.find("q\n"); }),
            "Tensor 'q\\n' of '" + (folder / "f") + "' has the dtype F8_E4M3"));
  const std::vector<Owned> wanted{{"a", Dtype::float32, {1}}, {"r", Dtype::uint8, {2, 1}}};
  CHECK(io::load_safetensors(folder / "f", views(wanted), false).mismatched == std::vector<std::string>{"r"});
  CHECK(bytes_of(wanted[0].named.tensor) == "\1\1\1\1");
  CHECK(has(message<KeyError>([&] { io::load_safetensors(folder / "f", std::array{wanted[0].named}); }),
            "Tensor 'q\\n' is not among the parameters"));
}

TEST_CASE("what the format cannot hold is not written") {
  const Folder folder;
  io::write_file(folder / "f", "old");
  float value = 1;
  const AnyTensor good(Dtype::float32, {}, &value);
  auto refused = [&](std::vector<io::NamedTensor> tensors,
                     const std::vector<std::pair<std::string, std::string>>& metadata = {}) {
    return message<ValueError>([&] { io::save_safetensors(folder / "f", tensors, metadata); });
  };
  CHECK(has(refused({{"", good}}), "empty name"));
  CHECK(has(refused({{"__metadata__", good}}), "belongs to the format"));
  CHECK(has(refused({{"a", good}, {"b", good}, {"a", good}}), "the name 'a' is there twice"));
  CHECK(has(refused({{"a\xff", good}}), "'a...' (2 bytes) is not UTF-8 at byte 1"));
  CHECK(has(refused({{"a", good}}, {{"k", "1"}, {"k", "2"}}), "the name 'k' is there twice"));
  CHECK(has(refused({{"a", good}}, {{"k", "\x80"}}), "metadata value"));
  const std::array<std::int64_t, 2> negative{2, -1}, huge{std::int64_t{1} << 62, 4};
  CHECK(has(refused({{"a", AnyTensor(Dtype::float32, negative, &value)}}), "impossible shape [2, -1]"));
  CHECK(has(refused({{"a", AnyTensor(Dtype::float32, huge, &value)}}), "impossible shape"));
  CHECK(has(refused({{"a", AnyTensor(Dtype::float32, {}, nullptr)}}), "has no data"));
  CHECK(has(refused({{"a", AnyTensor(Dtype::float32, {}, &value, Device{DeviceKind::gpu, 0})}}), "is on the GPU"));
  CHECK(io::read_file(folder / "f") == "old");
  CHECK(folder.files() == 1);
}

TEST_CASE("a write that fails leaves the old file and nothing else") {
  const Folder folder;
  const std::vector<Owned> small{{"a", Dtype::float32, {2}}}, large{{"a", Dtype::float32, {1 << 16}}};
  io::save_safetensors(folder / "f", views(small));
  const std::string before = io::read_file(folder / "f");

  CHECK(has(message<RuntimeError>([&] { io::save_safetensors(folder / "no/such/f", views(small)); }), "no/such/f"));
  CHECK(has(message<RuntimeError>([&] { io::save_safetensors(folder / "f/g", views(small)); }), "f/g"));
  CHECK(has(message<RuntimeError>([&] { io::save_safetensors(folder.path, views(small)); }), "directory"));

  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
  const rlimit tight{8192, limit.rlim_max};
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &tight) == 0);
  const std::string said = message<RuntimeError>([&] { io::save_safetensors(folder / "f", views(large)); });
  const std::string said_new = message<RuntimeError>([&] { io::save_safetensors(folder / "new", views(large)); });
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  std::signal(SIGXFSZ, old_handler);
  CHECK_MESSAGE(has(said, "File too large"), said);
  CHECK_MESSAGE(has(said_new, "File too large"), said_new);
  CHECK(io::read_file(folder / "f") == before);
  CHECK(folder.files() == 1);
  io::save_safetensors(folder / "f", views(large));  // and it works again
  CHECK(io::Safetensors(folder / "f").find("a")->count() == 1 << 16);
}

TEST_CASE("load copies everything or nothing") {
  const Folder folder;
  const std::vector<Owned> saved{{"conv1.weight", Dtype::float32, {2, 3}, 5},
                                 {"conv1.bias", Dtype::float32, {2}, 6},
                                 {"step", Dtype::int64, {}, 7}};
  io::save_safetensors(folder / "f", views(saved));
  std::vector<Owned> into;
  for (const Owned& tensor : saved) {
    const std::span<const std::int64_t> shape = tensor.named.tensor.shape();
    into.emplace_back(tensor.named.name, tensor.named.tensor.dtype,
                      std::vector<std::int64_t>(shape.begin(), shape.end()), 0, 0);
  }
  auto untouched = [&] {
    for (const Owned& tensor : into)
      if (bytes_of(tensor.named.tensor) != std::string(tensor.named.tensor.bytes(), '\0')) return false;
    return true;
  };
  std::vector<io::NamedTensor> list = views(into);
  auto said = [&]<class Kind>(std::type_identity<Kind>) {
    return message<Kind>([&] { io::load_safetensors(folder / "f", list); });
  };
  const std::type_identity<KeyError> key;
  const std::type_identity<TypeError> type;
  const std::type_identity<ValueError> value;

  list[0].name = "conv1.weigth";
  CHECK(has(said(key), "Parameter 'conv1.weigth' is not in the file. Did you mean 'conv1.weight'?"));
  CHECK(has(said(key), "Tensor 'conv1.weight' is not among the parameters. Did you mean 'conv1.weigth'?"));
  CHECK(untouched());
  list = views(into);
  list.pop_back();
  CHECK(has(said(key), "Tensor 'step' is not among the parameters. Pass strict = false"));
  CHECK(untouched());
  list = views(into);
  list[2].tensor.dtype = Dtype::uint64;
  CHECK(has(said(type), "tensor 'step' is int64 in the file, the parameter needs uint64"));
  list = views(into);
  std::swap(list[0].tensor.extent[0], list[0].tensor.extent[1]);
  std::swap(list[0], list[2]);
  CHECK(has(said(value), "tensor 'conv1.weight' has the shape [2, 3] in the file, the parameter needs [3, 2]"));
  list = views(into);
  list[1].tensor.rank = 2;
  list[1].tensor.extent[1] = 1;
  CHECK(has(said(value), "tensor 'conv1.bias' has the shape [2] in the file, the parameter needs [2, 1]"));
  list = views(into);
  list[1].tensor.device.kind = DeviceKind::gpu;
  CHECK(has(said(value), "is on the GPU"));
  list = views(into);
  list[1] = list[2];
  CHECK(has(said(value), "the name 'step' is there twice"));
  CHECK(untouched());

  list = views(into);
  list[1].name = "other";
  const io::LoadReport report = io::load_safetensors(folder / "f", list, false);
  CHECK(report.missing == std::vector<std::string>{"other"});
  CHECK(report.unexpected == std::vector<std::string>{"conv1.bias"});
  CHECK(bytes_of(into[0].named.tensor) == bytes_of(saved[0].named.tensor));
  CHECK(bytes_of(into[1].named.tensor) == std::string(8, '\0'));
  const io::LoadReport clean = io::load_safetensors(folder / "f", views(into));
  CHECK((clean.missing.empty() && clean.unexpected.empty()));
  for (std::size_t i = 0; i < saved.size(); ++i)
    CHECK(bytes_of(into[i].named.tensor) == bytes_of(saved[i].named.tensor));
}
