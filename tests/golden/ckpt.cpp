// Checkpoints that MindSpore 2.10 wrote: read bit by bit, written again byte by byte; damaged ones are refused.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../dataset/support.hpp"

#if __has_include(<protozero/pbf_reader.hpp>)
#include <algorithm>
#include <set>

#include <tenon/io/ckpt.hpp>

#include "../support/json.hpp"
#include "../support/npz.hpp"
#include "../support/peak_memory.hpp"

using namespace support;

namespace {
std::string golden() { return shared_folder() + "/golden/ckpt"; }
Json index() { return load_json(golden() + "/index.json"); }

/// The elements as NumPy has them: bfloat16 as float32.
std::string numpy_bytes(const AnyTensor& tensor) {
  if (tensor.dtype != Dtype::bfloat16) return {static_cast<const char*>(tensor.data), tensor.bytes()};
  std::string wide;
  for (const bfloat16 value : tensor.as<bfloat16>()) {
    const float single = value;
    wide.append(reinterpret_cast<const char*>(&single), sizeof single);
  }
  return wide;
}

void check_entry(const io::Ckpt& file, const std::string& name, const Json& said, const Npz& arrays) {
  CAPTURE(name);
  if (const Json* text = said.find("python_value")) {
    const auto found = std::ranges::find(file.texts(), name, &std::pair<std::string, std::string>::first);
    REQUIRE(found != file.texts().end());
    CHECK(found->second == text->string());
    return;
  }
  const AnyTensor* const found = file.find(name);
  REQUIRE(found);
  CHECK(title(found->dtype) == said["dtype"].string());
  const std::vector<double> shape = said["shape"].numbers();
  CHECK(std::ranges::equal(found->shape(), shape));
  REQUIRE(arrays.has(name));
  CHECK(numpy_bytes(*found) == arrays[name].bytes);
}
}  // namespace

TEST_CASE("golden/ckpt: files of MindSpore are read, and written again with the same bytes") {
  if (!have_shared("golden/ckpt")) return;
  const Folder folder;
  const Json all = index();
  int plain = 0;
  for (const std::string& name : all["good"].names) {
    const Json& said = all["good"][name];
    const std::string path = golden() + "/" + name + ".ckpt";
    if (said.find("enc_mode") || !std::filesystem::exists(path)) continue;
    CAPTURE(name);
    const io::Ckpt file(path);
    const Json& entries = said["entries_as_loaded_by_mindspore"];
    const Npz arrays = load_npz(golden() + "/" + name + ".npz");
    CHECK(file.tensors().size() + file.texts().size() == entries.names.size());
    for (const std::string& entry : entries.names) check_entry(file, entry, entries[entry], arrays);
    std::vector<io::NamedValue> texts;
    for (const auto& [key, text] : file.texts()) texts.push_back({key, text});
    io::save_ckpt(folder / "again.ckpt", file.tensors(), texts);
    CHECK(io::read_file(folder / "again.ckpt") == io::read_file(path));
    ++plain;
  }
  CHECK(plain == 7);
}

TEST_CASE("golden/ckpt/refuse: each damaged file is refused with a sentence, and little memory") {
  if (!have_shared("golden/ckpt")) return;
  const Json all = index();
  std::set<std::string> seen;
  for (const auto& file : std::filesystem::directory_iterator(golden() + "/refuse")) {
    const std::string path = file.path(), name = file.path().stem();
    CAPTURE(name);
    seen.insert(name);
    std::string said;
    const long peak = peak_of([&] { said = message<RuntimeError>([&] { io::Ckpt(std::string(path)); }); });
    CHECK(peak < 2 * long(file.file_size()) + (64 << 10));
    if (all["refuse"][name]["expected"].string() == "accept") CHECK(said.empty());
    else CHECK(has(said, "Cannot read '" + path + "' as a MindSpore checkpoint: "));
  }
  CHECK(seen.size() == all["refuse"].names.size());
}

TEST_CASE("golden/ckpt/accept: legal forms that MindSpore seldom writes") {
  if (!have_shared("golden/ckpt")) return;
  const auto read = [](const char* name) { return io::Ckpt(golden() + "/accept/" + name + ".ckpt"); };
  const io::Ckpt sliced = read("sliced_two_parts"), unknown = read("unknown_field_skipped"),
                 old = read("old_uint_name");
  const std::vector<float> four{0, 1, 2, 3};
  CHECK(std::ranges::equal(sliced.find("w")->as<float>(), four));
  CHECK(std::ranges::equal(unknown.find("a.weight")->as<float>(), four));
  CHECK(shape_text(unknown.find("a.weight")->shape()) == "[2, 2]");
  CHECK(std::ranges::equal(old.find("u")->as<std::uint8_t>(), std::vector<std::uint8_t>{1, 255}));
}
#else
TEST_CASE("protozero") { support::say_skipped("protozero is not installed, checkpoints of MindSpore were not tested"); }
#endif
