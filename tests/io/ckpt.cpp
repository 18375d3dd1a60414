// Checkpoints of MindSpore: its bytes, legal forms that are rare, hostile files, and what the format cannot hold.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../dataset/support.hpp"

#if __has_include(<protozero/pbf_reader.hpp>)
#include <bit>
#include <memory>

#include <tenon/core/random/philox.hpp>
#include <tenon/io/ckpt.hpp>

#include "../support/peak_memory.hpp"

using namespace support;

namespace {

/// A tensor that owns its bytes; copies share them.
struct Owned {
  std::shared_ptr<std::max_align_t[]> storage;
  io::NamedTensor named;
  Owned(std::string name, Dtype dtype, std::vector<std::int64_t> shape, unsigned first = 0) {
    named = {std::move(name), AnyTensor(dtype, shape, nullptr)};
    storage = std::make_shared<std::max_align_t[]>(named.tensor.bytes() / sizeof(std::max_align_t) + 1);
    named.tensor.data = storage.get();
    const unsigned mask = dtype == Dtype::bool_ ? 1 : 255;
    for (std::size_t i = 0; i < named.tensor.bytes(); ++i)
      static_cast<unsigned char*>(named.tensor.data)[i] = static_cast<unsigned char>((first + i * 37) & mask);
  }
};
std::vector<io::NamedTensor> views(const std::vector<Owned>& tensors) {
  std::vector<io::NamedTensor> result;
  for (const Owned& tensor : tensors) result.push_back(tensor.named);
  return result;
}
std::string bytes_of(const AnyTensor& tensor) { return {static_cast<const char*>(tensor.data), tensor.bytes()}; }

std::vector<Owned> every_dtype() {
  std::vector<Owned> tensors;
  for (unsigned k = 0; k < 13; ++k)
    tensors.emplace_back(text("block.", name(static_cast<Dtype>(k))), static_cast<Dtype>(k),
                         std::vector<std::int64_t>{2, 3}, k);
  tensors.emplace_back("scalar \u00e9\U0001f600", Dtype::bfloat16, std::vector<std::int64_t>{}, 100);
  tensors.emplace_back("one", Dtype::float32, std::vector<std::int64_t>{1});
  tensors.emplace_back("none", Dtype::float32, std::vector<std::int64_t>{0, 4});
  tensors.emplace_back("eight axes", Dtype::int16, std::vector<std::int64_t>{1, 2, 1, 2, 1, 2, 1, 3});
  return tensors;
}
const std::vector<io::NamedValue> notes{
    {"epoch_num", 3}, {"lr", 0.125}, {"flag", true}, {"note", "text \u00e9\u20ac\U0001f600"}, {"empty note", ""}};

// Messages by hand.
std::string field(int number, const std::string& content) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(content.size())} + content;
}
std::string tensor(const std::string& extents, const std::string& type, const std::string& content) {
  std::string result;
  for (const char extent : extents) result += std::string{'\x08', extent};
  return result + field(2, type) + field(3, content);
}
std::string entry(const std::string& name, const std::string& tensor) {
  return field(1, field(1, name) + field(2, tensor));
}
const std::string two(8, '\1');  // two floats
const std::string good = entry("a", tensor("\2", "Float32", two));

std::string refusal(const std::string& content) {
  return message<RuntimeError>([&] { io::Ckpt(std::string_view(content), "dir/f.ckpt"); });
}

}  // namespace

TEST_CASE("written bytes are those of MindSpore 2.10: numbers without axes, texts of 4 bytes per character") {
  const Folder folder;
  const float values[]{1, 1};
  const std::int64_t two_extents[]{2};
  const std::vector<io::NamedTensor> tensors{{"f", AnyTensor(Dtype::float32, two_extents, const_cast<float*>(values))}};
  io::save_ckpt(folder / "f.ckpt", tensors, {{"epoch_num", 3}, {"lr", 0.125}, {"flag", true}, {"note", "text"}});
  CHECK(io::read_file(folder / "f.ckpt") == std::string("\x0a\x1a\x0a\x01"
                                                        "f\x12\x15\x08\x02\x12\x07"
                                                        "Float32\x1a\x08\0\0\x80\x3f\0\0\x80\x3f",
                                                        28) +
                                                std::string("\x0a\x1e\x0a\x09"
                                                            "epoch_num\x12\x11\x12\x05"
                                                            "Int64\x1a\x08\x03\0\0\0\0\0\0\0",
                                                            32) +
                                                std::string("\x0a\x15\x0a\x02"
                                                            "lr\x12\x0f\x12\x07"
                                                            "Float32\x1a\x04\0\0\0\x3e",
                                                            23) +
                                                std::string("\x0a\x11\x0a\x04"
                                                            "flag\x12\x09\x12\x04"
                                                            "Bool\x1a\x01\x01",
                                                            19) +
                                                std::string("\x0a\x21\x0a\x04"
                                                            "note\x12\x19\x08\0\x12\x03"
                                                            "str\x1a\x10t\0\0\0e\0\0\0x\0\0\0t\0\0\0",
                                                            35));
}

TEST_CASE("a round trip keeps names, order, dtypes, shapes, bits, numbers, and texts, also after a move") {
  const Folder folder;
  const std::vector<Owned> tensors = every_dtype();
  io::save_ckpt(folder / "f.ckpt", views(tensors), notes);
  io::Ckpt first(folder / "f.ckpt");
  const io::Ckpt file = std::move(first);
  REQUIRE(file.tensors().size() == tensors.size() + 3);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const io::NamedTensor &found = file.tensors()[i], &saved = tensors[i].named;
    CHECK(found.name == saved.name);
    CHECK(found.tensor.dtype == saved.tensor.dtype);
    CHECK(shape_text(found.tensor.shape()) == shape_text(saved.tensor.shape()));
    CHECK(bytes_of(found.tensor) == bytes_of(saved.tensor));
    CHECK(reinterpret_cast<std::uintptr_t>(found.tensor.data) % size_of(found.tensor.dtype) == 0);
    CHECK(file.find(saved.name) == &found.tensor);
  }
  CHECK(file.find("epoch_num")->as<std::int64_t>()[0] == 3);
  CHECK(file.find("lr")->as<float>()[0] == 0.125f);
  CHECK(file.find("flag")->as<bool>()[0]);
  CHECK(file.find("note") == nullptr);
  REQUIRE(file.texts().size() == 2);
  CHECK(file.texts()[0] == std::pair<std::string, std::string>("note", "text \u00e9\u20ac\U0001f600"));
  CHECK(file.texts()[1].second.empty());
}

TEST_CASE("legal forms that the writer does not use are read") {
  const auto read = [](const std::string& content) { return io::Ckpt(std::string_view(content), "f"); };
  CHECK(read(entry("a", tensor(std::string(1, '\0'), "Float32", "1234"))).find("a")->rank == 0);  // of MindSpore 1
  CHECK(read(entry("a", tensor(std::string(1, '\0'), "Float32", ""))).find("a")->count() == 0);
  CHECK(read(entry("a", tensor("\2", "Uint16", "1234"))).find("a")->dtype == Dtype::uint16);
  CHECK(read(entry("a", field(1, "\1\2") + field(2, "Int8") + field(3, "ab"))).find("a")->rank == 2);  // packed
  const std::string half = entry("a", tensor("\4", "Int8", "ab")), rest = entry("a", tensor("\4", "Int8", "cd"));
  CHECK(bytes_of(*read(half + rest).find("a")) == "abcd");
  CHECK(read(field(9, "new") + good + field(15, "newer")).tensors().size() == 1);
  CHECK(read(field(1, field(2, field(3, two) + field(2, "Float32") + "\x08\2") + field(7, "x") + field(1, "a")))
            .find("a")
            ->count() == 2);  // in another order
  std::string checked = good + "crc_num" + std::string(6, '\0');
  const std::uint32_t crc = io::crc32(good);
  for (int shift = 24; shift >= 0; shift -= 8) checked += static_cast<char>(crc >> shift);
  CHECK(read(checked).tensors().size() == 1);
  checked.back() = static_cast<char>(checked.back() ^ 1);
  CHECK(has(refusal(checked), "its content is not that of its checksum"));
}

TEST_CASE("what is no checkpoint is refused with the entry and its place") {
  struct Case {
    std::string content;
    std::string_view reason;
  };
  const auto shaped = [](const std::string& extents, const std::string& content) {
    return good + entry("b", tensor(extents, "Float32", content));
  };
  const std::string huge = field(1, "\xff\xff\xff\xff\xff\xff\xff\xff\x7f") + field(2, "Int8") + field(3, "x");
  const std::string negative = field(1, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\1") + field(2, "Int8") + field(3, "x");
  const std::string overflow = field(1, "\x80\x80\x80\x80\x10\x80\x80\x80\x80\x10") + field(2, "Int8") + field(3, "");
  const std::vector<Case> cases{
      {"", "it is empty"},
      {field(9, "x"), "it holds no tensor"},
      {"text, not numbers", "at byte 0"},
      {good.substr(0, good.size() - 1), "a field announces 26 bytes, 25 are left, at byte 0"},
      {good + "\x0a", "a field ends past the end of what holds it"},
      {good + "\x0b", "there is no field of a protobuf message"},
      {good + std::string("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12), "varint too long"},
      {good + std::string("\x0a\x82\x80\x80\x80\x10xy", 8), "announces 4294967298 bytes, 2 are left"},
      {good + "\x08\1", "an entry is no field with bytes"},
      {field(1, field(1, "a") + "\x10\1"), "the tensor of an entry is no field with bytes"},
      {field(1, field(2, tensor("\2", "Float32", two))), "an entry has no name, at byte 0"},
      {field(1, field(1, "") + field(2, tensor("\2", "Float32", two))), "an entry has no name"},
      {field(1, field(1, "a") + field(1, "b") + field(2, tensor("\2", "Float32", two))), "name of an entry is there"},
      {field(1, field(1, "a")), "entry 'a' has no tensor"},
      {field(1, field(1, "a") + field(3, "")), "a MapParameter"},
      {field(1, field(1, "a") + field(2, field(3, two))), "entry 'a' has no type"},
      {entry("a\xff", tensor("\2", "Float32", two)), "is not UTF-8"},
      {entry(std::string("a\0b", 3), tensor("\2", "Float32", two)), "without zero bytes"},
      {entry("a", tensor("\2", "Float33", two)), "entry 'a' (byte 0) has the type 'Float33', which Tenon does not"},
      {entry("a", tensor("\1", "Complex64", two)), "has the type 'Complex64'"},
      {entry("a", tensor("\1", "str", "abc")), "a text of 3 bytes, which is no whole number"},
      {entry("a", tensor("\1", "str", std::string("\0\xd8\0\0", 4))), "character 0 of it is none"},
      {entry("a", tensor("\1", "str", std::string("a\0\0\0\0\0\x11\0", 8))), "character 1 of it is none"},
      {entry("a", tensor("\1", "str", "abcd")) + good, "goes on with another type or shape"},
      {good + good, "has 16 bytes of data, its shape [2] of Float32 needs 8"},
      {good + entry("b", tensor("\2", "Float32", two)) + good, "it has the entry 'a' twice"},
      {good + entry("a", tensor("\2", "Int32", two)), "'a' (byte 28) goes on with another type or shape"},
      {good + entry("a", tensor("\1\2", "Float32", two)), "goes on with another type or shape"},
      {shaped("\2", "1234567"), "entry 'b' (byte 28) has 7 bytes of data, its shape [2] of Float32 needs 8"},
      {shaped("\2", two + "x"), "has 9 bytes of data"},
      {shaped("", two), "has 8 bytes of data, its shape [] of Float32 needs 4"},
      {shaped(std::string(1, '\0'), two), "has 8 bytes of data, its shape [0]"},
      {shaped("\1\1\1\1\1\1\1\1\2", two), "entry 'b' has more than the 8 axes"},
      {entry("a", huge), "impossible shape [9223372036854775807]"},
      {entry("a", negative), "impossible shape [-1]"},
      {entry("a", overflow), "impossible shape"},
      {entry("a", field(1, "\xff") + field(2, "Int8") + field(3, "x")), "the shape of entry 'a' is none"},
      {entry("a", tensor("\3", "Bool", std::string("\0\1\2", 3))), "element 2 of the bool tensor 'a' is 2"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.reason);
    std::string said;
    CHECK(peak_of([&] { said = refusal(c.content); }) < 64 << 10);
    CHECK_MESSAGE(said.find(c.reason) != said.npos, said);
    CHECK(said.find("Cannot read 'dir/f.ckpt' as a MindSpore checkpoint") == 0);
  }
  CHECK(has(refusal("\xd8\x5e\x3a\x7f..."), "it is encrypted with AES-GCM"));
  CHECK(has(refusal("\xda\x5e\x3a\x7f..."), "it is encrypted with SM4-CBC"));
  CHECK(has(message<RuntimeError>([] { io::Ckpt("there is no.ckpt"); }), "No such file"));
}

TEST_CASE("what the format cannot hold is not written") {
  const Folder folder;
  io::write_file(folder / "f.ckpt", "old");
  float value = 1;
  const AnyTensor fine(Dtype::float32, {}, &value);
  const auto refused = [&](std::vector<io::NamedTensor> tensors, const std::vector<io::NamedValue>& values = {}) {
    return message<ValueError>([&] { io::save_ckpt(folder / "f.ckpt", tensors, values); });
  };
  CHECK(has(refused({}), "there is nothing to save"));
  CHECK(has(refused({{"", fine}}), "empty name"));
  CHECK(has(refused({{std::string("a\0b", 3), fine}}), "zero byte"));
  CHECK(has(refused({{"a\xff", fine}}), "is not UTF-8"));
  CHECK(has(refused({{"a", fine}, {"a", fine}}), "the name 'a' is there twice"));
  CHECK(has(refused({{"a", fine}}, {{"a", 1}}), "the name 'a' is there twice"));
  CHECK(has(refused({{"a", fine}}, {{"b", "\xff"}}), "the text '...' (1 bytes) is not UTF-8"));
  CHECK(has(refused({{"a", AnyTensor(Dtype::float32, {}, nullptr)}}), "has no data"));
  CHECK(io::read_file(folder / "f.ckpt") == "old");
  CHECK(
      has(message<RuntimeError>([&] { io::save_ckpt(folder / "no/f.ckpt", std::vector{io::NamedTensor{"a", fine}}); }),
          "no/f.ckpt"));
  CHECK(folder.files() == 1);
}

TEST_CASE("loading is that of all formats: all or nothing, or what fits") {
  const Folder folder;
  const std::vector<Owned> saved{{"conv1.weight", Dtype::float32, {2, 3}, 5}, {"step", Dtype::int64, {}, 7}};
  io::save_ckpt(folder / "f.ckpt", views(saved), {{"note", "x"}});
  std::vector<Owned> into{{"conv1.weigth", Dtype::float32, {2, 3}}, {"step", Dtype::int64, {}}};
  CHECK(has(message<KeyError>([&] { io::load_ckpt(folder / "f.ckpt", views(into)); }),
            "Parameter 'conv1.weigth' is not in the file. Did you mean 'conv1.weight'?"));
  CHECK(bytes_of(into[1].named.tensor) != bytes_of(saved[1].named.tensor));
  const io::LoadReport left = io::load_ckpt(folder / "f.ckpt", views(into), false);
  CHECK(left.missing == std::vector<std::string>{"conv1.weigth"});
  CHECK(left.unexpected == std::vector<std::string>{"conv1.weight"});
  CHECK(bytes_of(into[1].named.tensor) == bytes_of(saved[1].named.tensor));
  into[0].named.name = "conv1.weight";
  io::load_ckpt(folder / "f.ckpt", views(into));
  CHECK(bytes_of(into[0].named.tensor) == bytes_of(saved[0].named.tensor));
}

TEST_CASE("thousands of damaged files are read or refused, with no more memory than their bytes ask for") {
  const Folder folder;
  io::save_ckpt(folder / "f.ckpt", views(every_dtype()), notes);
  const std::string whole = io::read_file(folder / "f.ckpt");
  Random random(1);
  int refused = 0;
  for (int round = 0; round < 30000; ++round) {
    std::string damaged = whole;
    for (std::uint32_t changes = 1 + random.below(4); changes > 0; --changes) {
      const std::size_t at = random.below(damaged.size());
      if (random.below(8) == 0) damaged.erase(at, 1 + random.below(16));
      else if (random.below(8) == 0) damaged.insert(at, damaged.substr(random.below(damaged.size()), 16));
      else damaged[at] = static_cast<char>(random.word());
    }
    if (random.below(4) == 0) damaged.resize(random.below(damaged.size() + 1));
    const long peak = peak_of([&] {
      try {
        const io::Ckpt file(std::string_view(damaged), "f");
        for (const io::NamedTensor& named : file.tensors()) CHECK(named.tensor.bytes() <= damaged.size());
      } catch (const RuntimeError&) {
        ++refused;
      }
    });
    CHECK(peak < 64 << 10);
  }
  CHECK(refused > 10000);
  CHECK(refused < 30000);
}

TEST_CASE("a large file takes its tensors' memory, and while it is read its own") {
  const Folder folder;
  const Owned large("large", Dtype::float32, {1 << 20});
  io::save_ckpt(folder / "f.ckpt", std::vector{large.named});
  const long size = long(io::read_file(folder / "f.ckpt").size());
  CHECK(peak_of([&] { io::Ckpt(folder / "f.ckpt"); }) < 2 * size + (64 << 10));
}
#else
TEST_CASE("protozero") { support::say_skipped("protozero is not installed, checkpoints of MindSpore were not tested"); }
#endif
