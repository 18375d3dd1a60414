// PyTorch's files: two that torch.save of PyTorch 2.9 has written, and pickles by hand with every way in which they can
// be damaged.
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <fstream>
#include <map>

#include "../dataset/support.hpp"

#include <tenon/core/random/philox.hpp>
#include <tenon/core/tensor/elements_as_doubles.hpp>
#include <tenon/io/pt.hpp>
#include <tenon/nn/cell.hpp>
#include <tenon/nn/layer/dense.hpp>
#include <tenon/train/pt.hpp>

using namespace support;

namespace {
const std::string here = std::string(__FILE__).substr(0, std::string(__FILE__).rfind('/')) + "/pt_files/";

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
std::string zip_of(const std::map<std::string, std::string>& members) {
  io::ZipWriter zip;
  std::string file;
  for (const auto& [name, bytes] : members) file += zip.head("net/" + name, bytes.size(), io::crc32(bytes)) + bytes;
  return file + zip.tail();
}
/// A file whose one storage, data/0, has the floats 0, 1, 2, 3.
std::string file_of(const std::string& pickle) {
  const float numbers[]{0, 1, 2, 3};
  return zip_of(
      {{"data.pkl", pickle}, {"data/0", std::string(reinterpret_cast<const char*>(numbers), sizeof numbers)}});
}
std::string refusal(const std::string& file, std::uint64_t limit = io::default_file_limit) {
  return message<RuntimeError>([&] { io::Pt(std::string_view(file), "net.pt", "", limit); });
}
std::string text_of(std::string letters) { return "X" + std::string{char(letters.size()), 0, 0, 0} + letters; }
const std::string begin = "\x80\x02", end = ".", tensor = "ctorch._utils\n_rebuild_tensor_v2\n";
const std::string rest = "\x89"
                         "ccollections\nOrderedDict\n)RtR";
std::string storage(const std::string& count, const std::string& key = "0", const std::string& type = "FloatStorage") {
  return "(" + text_of("storage") + "ctorch\n" + type + "\n" + text_of(key) + text_of("cpu") + "K" + count + "tQ";
}
/// {"w": a tensor with this offset, these extents, and these strides}
std::string dictionary(const std::string& offset, const std::string& extents, const std::string& strides,
                       const std::string& of = storage("\4")) {
  return begin + "}" + text_of("w") + tensor + "(" + of + offset + extents + strides + rest + "s" + end;
}
std::vector<double> values(const AnyTensor& tensor) {
  std::vector<double> result(std::size_t(tensor.count()));
  elements_as_doubles(tensor, 0, result.size(), result.data());
  return result;
}
}  // namespace

TEST_CASE("dtypes, strides, offsets, shared storages, parameters") {
  const io::Pt file(here + "forms.pt");
  const std::map<std::string, std::vector<double>> wanted{{"transposed", {0, 3, 1, 4, 2, 5}},
                                                          {"part", {4, 5}},
                                                          {"half", {0, 1, 2}},
                                                          {"bfloat", {0, 1, 2}},
                                                          {"whole", {0, 1, 2}},
                                                          {"truth", {1, 0}},
                                                          {"byte", {1, 2}},
                                                          {"none", {}},
                                                          {"scalar", {2.5}},
                                                          {"expanded", {1, 1, 1, 1}},
                                                          {"tied", {0, 1, 2, 3, 4, 5}},
                                                          {"parameter", {0, 1, 2}},
                                                          {"double", {0, 1, 2}}};
  CHECK(file.tensors().size() == wanted.size());
  for (const auto& [name, tensor] : file.tensors()) {
    CAPTURE(name);
    CHECK(values(tensor) == wanted.at(name));
  }
  CHECK(shape_text(file.find("transposed")->shape()) == "[3, 2]");
  CHECK(shape_text(file.find("none")->shape()) == "[0, 3]");
  CHECK(file.find("scalar")->rank == 0);
  CHECK(file.find("byte")->dtype == Dtype::uint8);
  CHECK(file.find("bfloat")->dtype == Dtype::bfloat16);
  CHECK(file.find("other") == nullptr);
}

namespace {
struct Net : nn::Cell<Net> {
  nn::Dense<2, 3> fc;
  constexpr auto construct(auto x) const { return fc(x); }
};
}  // namespace

TEST_CASE("the state dictionary among what a training saves; load_checkpoint") {
  const io::Pt file(here + "training.pt");
  CHECK(file.tensors().size() == 2);
  Net net;
  load_checkpoint(here + "training.pt", net);
  CHECK(values(net.parameters_dict()["fc.bias"].view()) == values(*file.find("fc.bias")));
  CHECK(values(*file.find("fc.bias"))[1] == doctest::Approx(0.5596575140953064).epsilon(1e-7));
  CHECK(message<ValueError>([&] { io::Pt(here + "training.pt", "other"); }).find("'model'") != std::string::npos);
  CHECK(io::Pt(here + "training.pt", "model").tensors().size() == 2);
}

TEST_CASE("pickles by hand") {
  using namespace std::string_literals;
  const std::string row = "K\4\x85", ones = "K\1\x85", none = "K\0"s;
  const std::string good = file_of(dictionary(none, row, ones));
  CHECK(values(*io::Pt(std::string_view(good), "f", "").find("w")) == std::vector<double>{0, 1, 2, 3});
  // along an axis of extent 1 a stride of 2^62 leads nowhere
  const std::string far = "\x8a\x08\0\0\0\0\0\0\0\x40"s,
                    column = file_of(dictionary(none, "K\1K\4\x86", far + "K\1\x86")),
                    line = file_of(dictionary(none, "K\4K\1\x86", "K\1" + far + "\x86"));
  for (const std::string& file : {column, line})
    CHECK(values(*io::Pt(std::string_view(file), "f", "").find("w")) == std::vector<double>{0, 1, 2, 3});
  const std::pair<std::string, std::string> bad[]{
      {dictionary("K\1", row, ones), "reaches beyond its storage"},
      {dictionary(none, row, "K\2\x85"), "reaches beyond its storage"},
      {dictionary("J\xff\xff\xff\xff", row, ones), "reaches beyond its storage"},
      {dictionary(none, "J\xff\xff\xff\xff\x85", ones), "negative extent or stride"},
      {dictionary(none, "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x85", "K\0\x85"s), "impossible shape"},
      {dictionary(none, "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x85", "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x85"),
       "reaches beyond its storage"},
      {dictionary(none, row, "K\1K\1\x86"), "a tensor of another form"},
      {dictionary(none, row, ones, storage("\5")), "shorter than it says"},
      {dictionary(none, row, ones, storage("\4", "1")), "its archive lacks 'net/data/1'"},
      {dictionary(none, row, ones, storage("\4", "0", "ComplexFloatStorage")), "it needs 'torch.ComplexFloatStorage'"},
      {begin + "cos\nsystem\n" + text_of("true") + "\x85R.", "it needs 'os.system', and only tensors are read here"},
      {begin + "cbuiltins\neval\n", "it needs 'builtins.eval'"},
      {"\x80\x04"
       "N.",
       "protocol 4"},
      {begin + "}", "ends in the middle of a value"},
      {begin + "X\xff\xff\xff\xff"
               "a",
       "ends in the middle of a value"},
      {begin + "ctorch", "ends in the middle of a name"},
      {begin + ".", "takes a value that is not there"},
      {begin + "t.", "no mark"},
      {begin + "}K\1s.", "changes a value of another kind"},
      {begin + "}(K\1u.", "a key without a value"},
      {begin + "h\1.", "recalls a value"},
      {begin + "q\1.", "remembers a value"},
      {begin + "K\1.", "holds no dictionary of tensors"},
      {begin + "K\1)R.", "calls what is no function"},
      {begin + "K\1Q.", "storage of another form"},
      {begin + "\x8a\x09", "more than 64 bits"},
      {begin + "P", "has the instruction 'P'"}};
  for (const auto& [pickle, reason] : bad) {
    CAPTURE(reason);
    const std::string said = refusal(file_of(pickle));
    CAPTURE(said);
    CHECK(said.find(reason) != std::string::npos);
  }
  CHECK(refusal(zip_of({{"data/0", "abcd"}})).find("without 'data.pkl'") != std::string::npos);
  CHECK(refusal("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.").find("before 1.6") != std::string::npos);
  // 4 bytes that claim to be many: an expanded tensor
  const std::string wide = dictionary(none, "J\xff\xff\xff\x7f\x85", "K\0\x85"s);
  CHECK(refusal(file_of(wide)).find("more than 16 times as many bytes as the file") != std::string::npos);
  CHECK(refusal(file_of(wide), 1000).find("1000") != std::string::npos);
}

TEST_CASE("a value that a pickle repeats is copied and searched once") {
  using namespace std::string_literals;
  const auto repeated = [](const std::string& what, int times) {
    std::string all;
    for (int k = 0; k < times; ++k) all += what;
    return all;
  };
  const auto peak_megabytes = [] {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss / 1024;
  };
  const long before = peak_megabytes();
  const std::string of = begin + storage("\4") + "q\0"s + "K\1q\1";
  // tensors that share a tuple of 5000 extents
  const std::string wide = tensor + "(h\0"s + "K\0"s + "h\2h\2" + rest;
  CHECK(has(refusal(file_of(of + "(" + repeated("h\1", 5000) + "tq\2" + repeated(wide, 4000) + "}" + text_of("w") +
                            wide + "s" + end)),
            "axes"));
  // tensors that share a name of 65536 letters
  const std::string one = tensor + "(h\0"s + "K\0"s + "h\1\x85h\1\x85" + rest;
  const std::string name = "X\0\0\1\0"s + std::string(65536, 'n');
  CHECK(has(refusal(file_of(of + one + "q\3" + name + "q\4}(" + repeated("h\4h\3", 4000) + "u" + end)),
            "is there twice"));
  CHECK(peak_megabytes() - before < 100);
  // a dictionary without tensors, which another one has many times
  const std::string inner = "}(" + repeated("h\1h\1", 1000) + "uq\5" + text_of("k") + "q\6";
  const std::string file =
      file_of(of + inner + "}(" + repeated("h\6h\5", 1000) + text_of("m") + "}" + text_of("w") + one + "su" + end);
  CHECK(values(*io::Pt(std::string_view(file), "f", "").find("w")) == std::vector<double>{0});
}
TEST_CASE("a thousand damaged pickles end with an error or tensors") {
  const std::string file = content(here + "training.pt");
  std::map<std::string, std::string> members;
  for (const io::ZipMember& member : io::zip_members(file, "f"))
    members[std::string(member.name.substr(member.name.find('/') + 1))] = std::string(member.packed);
  Random random(7);
  int read = 0;
  for (int turn = 0; turn < 1000; ++turn) {
    auto damaged = members;
    std::string& pickle = damaged["data.pkl"];
    for (int k = 0; k <= turn % 3; ++k) pickle[std::size_t(random.below(pickle.size()))] = char(random.below(256));
    try {
      read += io::Pt(std::string_view(zip_of(damaged)), "f", "", 1 << 20).tensors().size() > 0;
    } catch (const RuntimeError&) {
    } catch (const ValueError&) {
    }
  }
  CHECK(read > 0);
}
