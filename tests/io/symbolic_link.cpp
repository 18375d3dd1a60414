// A path that is a symbolic link becomes a file, for every writer; what the link pointed to stays as it was.
// link: protozero sqlite json openssl png
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../dataset/support.hpp"

#if __has_include(<protozero/pbf_reader.hpp>) && __has_include(<sqlite3.h>) && __has_include(<nlohmann/json.hpp>) && \
    __has_include(<openssl/evp.h>)
#include <fstream>
#include <functional>

#include <tenon/dataset/text/vocabulary.hpp>
#include <tenon/debug/graphs/graph_svg.hpp>
#include <tenon/io/ckpt.hpp>
#include <tenon/io/ckpt_encryption.hpp>
#include <tenon/io/event/event_writer.hpp>
#include <tenon/io/mind_record.hpp>
#include <tenon/io/npz.hpp>
#include <tenon/io/path/lock_file.hpp>
#include <tenon/io/safetensors.hpp>
#include <tenon/train/callback/model_checkpoint.hpp>
#include <tenon/train/callback/save_best.hpp>
#include <tenon/train/ckpt.hpp>

#include "../train/small.hpp"

using namespace support;
namespace fs = std::filesystem;

namespace {
std::vector<float> numbers(8, 0.5f);
std::vector<io::NamedTensor> tensors() {
  return {{"a", AnyTensor(Dtype::float32, std::vector<std::int64_t>{8}, numbers.data())}};
}
struct Writer {
  const char* name;  // of what it writes
  std::function<void(const std::string& path)> write;
};
void train(auto&&... callbacks) {
  small::Net net;
  Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f});
  model.train(1, small::ten(), callbacks...);
}
const std::vector<Writer> writers{
    {"w.txt", [](const std::string& path) { io::write_file(path, "new"); }},
    {"w.safetensors", [](const std::string& path) { io::save_safetensors(path, tensors()); }},
    {"w.npz", [](const std::string& path) { io::save_npz(path, tensors()); }},
    {"w.ckpt", [](const std::string& path) { io::save_ckpt(path, tensors()); }},
    {"e.ckpt",
     [](const std::string& path) {
       io::save_encrypted_ckpt(path, tensors(), "0123456789abcdef", io::CkptCipher::aes_gcm, {});
     }},
    {"set",
     [](const std::string& path) {
       io::MindRecordWriter writer(path, {.overwrite = true});
       writer.add_schema({{"a", io::MindRecordType::int32}});
       writer.write({{"a", 1}});
       writer.commit();
     }},
    {"best.safetensors", [](const std::string& path) { train(SaveBest{.path = path, .monitor = "loss"}); }},
    {"x.svg",
     [](const std::string& path) {
       const std::string folder = io::directory_of(path), before = std::getenv("PATH");
       std::ofstream(folder + "/dot") << "#!/bin/sh\necho drawn > \"$3\"\n";
       fs::permissions(folder + "/dot", fs::perms::owner_all);
       ::setenv("PATH", text(folder, ":", before).c_str(), 1);
       debug::draw_svg(folder + "/x.dot", path);
       ::setenv("PATH", before.c_str(), 1);
     }},
};
}  // namespace

TEST_CASE("each writer takes the place of a link, and leaves its target alone") {
  for (const Writer& writer : writers)
    for (const bool dangling : {false, true}) {
      CAPTURE(writer.name);
      const Folder folder;
      const std::string path = folder / writer.name, target = folder / "target";
      if (!dangling) std::ofstream(target) << "old";
      fs::create_symlink("target", path);
      // names beside it that a writer might use for what is not finished
      for (const char* suffix : {".tmp", ".unfinished", "~"}) fs::create_symlink("target", path + suffix);
      if (std::string_view(writer.name) == "set") fs::remove(path + ".unfinished");  // a foreign file there is refused
      writer.write(path);
      CHECK(fs::symlink_status(path).type() == fs::file_type::regular);
      CHECK(fs::file_size(path) > 0);
      if (dangling) CHECK_FALSE(fs::exists(target));
      else CHECK(io::read_file(target) == "old");
    }
}
TEST_CASE("checkpoints: a link of the next file's name, and of the lock's") {
  const Folder folder;
  std::ofstream(folder / "target") << "old";
  for (const char* name : {"m-1_1.safetensors", "m_1-1_1.safetensors", ".m_2.lock"})
    fs::create_symlink("target", folder / name);
  train(ModelCheckpoint("m", folder.path, {.save_checkpoint_steps = 1}));
  CHECK(io::read_file(folder / "target") == "old");
  CHECK(fs::is_symlink(folder / "m-1_1.safetensors"));
  CHECK(fs::symlink_status(folder / "m_3-1_1.safetensors").type() == fs::file_type::regular);
}
TEST_CASE("a link is no new file: event files take another name") {
  const Folder folder;
  std::ofstream(folder / "target") << "old";
  io::EventFileName name{folder / "e.", ".x"};
  fs::create_symlink("target", name.path());
  io::EventWriter writer(name);
  CHECK(writer.write("record"));
  CHECK(writer.path() != name.path());
  CHECK(io::read_file(folder / "target") == "old");
}
TEST_CASE("a link in the folder's path is followed, as everywhere") {
  const Folder folder;
  fs::create_directories(folder / "real");
  fs::create_directory_symlink("real", folder / "link");
  io::save_npz(folder / "link/w.npz", tensors());
  CHECK(fs::exists(folder / "real/w.npz"));
  CHECK(fs::is_symlink(folder / "link"));
}
#endif
