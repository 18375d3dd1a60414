// ModelCheckpoint: which files it writes and keeps, as MindSpore's does (golden/console), and what it refuses.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tenon/io/path/lock_file.hpp>
#include <tenon/train/callback/lambda_callback.hpp>
#include <tenon/train/callback/model_checkpoint.hpp>

#include "../../support/printed.hpp"
#include "../../support/sanitized.hpp"
#include "../../support/skip.hpp"
#include "../small.hpp"

using namespace small;
namespace fs = std::filesystem;

namespace {
struct Folder {
  fs::path path = fs::temp_directory_path() / ("tenon_checkpoints_" + std::to_string(::getpid()));
  Folder() { fs::remove_all(path); }
  ~Folder() { fs::remove_all(path); }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path)) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  void put(const char* name) const { std::ofstream(path / name) << "x"; }
};
using Names = std::vector<std::string>;
auto four_steps() { return samples(12) | dataset::batch(3); }
/// Trains two epochs of four steps.
std::string train(ModelCheckpoint checkpoint, long epochs = 2) {
  Net net;
  Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f});
  model.train(epochs, four_steps(), checkpoint);
  return checkpoint.latest_ckpt_file_name();
}
}  // namespace

TEST_CASE("every step, of which the last three stay") {
  const Folder folder;
  const std::string latest = train(ModelCheckpoint("CKP", folder.path.string(), {.keep_checkpoint_max = 3}));
  CHECK(folder.files() == Names{"CKP-2_2.safetensors", "CKP-2_3.safetensors", "CKP-2_4.safetensors"});
  CHECK(fs::path(latest).filename() == "CKP-2_4.safetensors");
  CHECK(latest_checkpoint("CKP", folder.path.string()) == latest);
}
TEST_CASE("every third step, and at the end") {
  const Folder folder;
  train(ModelCheckpoint("m", folder.path.string(), {.save_checkpoint_steps = 3, .keep_checkpoint_max = 10}));
  CHECK(folder.files() == Names{"m-1_3.safetensors", "m-2_2.safetensors", "m-2_4.safetensors"});
}
TEST_CASE("three runs in one folder: none touches another's files") {
  const Folder folder;
  for (int i = 0; i < 3; ++i)
    train(ModelCheckpoint("m", folder.path.string(), {.save_checkpoint_steps = 4, .keep_checkpoint_max = 1}), 1);
  CHECK(folder.files() == Names{"m-1_4.safetensors", "m_1-1_4.safetensors", "m_2-1_4.safetensors"});
  folder.put("m_2x-1_4.safetensors"), folder.put("m_7-1.safetensors"), folder.put("mm_9-1_4.safetensors");
  CHECK(fs::path(*latest_checkpoint("m", folder.path.string())).filename() == "m_2-1_4.safetensors");
  train(ModelCheckpoint("m", folder.path.string(), {.save_checkpoint_steps = 4}), 1);
  CHECK(fs::exists(folder.path / "m_3-1_4.safetensors"));
  CHECK_FALSE(latest_checkpoint("none", folder.path.string()).has_value());
  CHECK_FALSE(latest_checkpoint("m", (folder.path / "absent").string()).has_value());
}
TEST_CASE("copies of one ModelCheckpoint in two runs: neither writes over the other's files") {
  const Folder folder;
  const ModelCheckpoint fold("m", folder.path.string(), {.save_checkpoint_steps = 4});
  CHECK(fs::path(train(fold, 1)).filename() == "m-1_4.safetensors");
  CHECK(fs::path(train(fold, 1)).filename() == "m_1-1_4.safetensors");
  CHECK(fs::exists(folder.path / "m-1_4.safetensors"));
}
TEST_CASE("a file with a number that no run has is none of a run") {
  const Folder folder;
  fs::create_directories(folder.path);
  folder.put("m_9223372036854775807-1_1.safetensors"), folder.put("m_2-9223372036854775807_1.safetensors");
  train(ModelCheckpoint("m", folder.path.string(), {.save_checkpoint_steps = 4}), 1);
  CHECK(fs::exists(folder.path / "m-1_4.safetensors"));
}
TEST_CASE("neither steps nor seconds: nothing is saved") {
  const Folder folder;
  CHECK(train(ModelCheckpoint("m", folder.path.string(), {.save_checkpoint_steps = 0})).empty());
  CHECK(folder.files().empty());
}
TEST_CASE("by time: the first file of each so many minutes stays, and the last one") {
  const Folder folder;
  train(ModelCheckpoint("m", folder.path.string(), {.keep_checkpoint_max = 0, .keep_checkpoint_per_n_minutes = 60}));
  CHECK(folder.files() == Names{"m-1_1.safetensors", "m-2_4.safetensors"});
  train(ModelCheckpoint("m", folder.path.string(),
                        {.save_checkpoint_steps = 0, .save_checkpoint_seconds = 3600, .keep_checkpoint_max = 1}));
  CHECK(fs::exists(folder.path / "m_1-2_4.safetensors"));  // at the end
}
TEST_CASE("what it refuses") {
  const Folder folder;
  const std::string here = folder.path.string();
  CHECK_THROWS_AS(ModelCheckpoint("a/b", here), ValueError);
  CHECK_THROWS_AS(ModelCheckpoint("", here), ValueError);
  CHECK_THROWS_AS(ModelCheckpoint("m", here, {.save_checkpoint_steps = -1}), ValueError);
  CHECK_THROWS_AS(ModelCheckpoint("m", here, {.save_checkpoint_steps = 0, .keep_checkpoint_max = 0}), ValueError);
  fs::create_directories(folder.path);
  folder.put("file");
  CHECK_THROWS_AS(ModelCheckpoint("m", here + "/file/below"), RuntimeError);
  CHECK_THROWS_AS(ModelCheckpoint("m", here + "/file"), RuntimeError);
}
TEST_CASE("a save that fails leaves the file before it") {
  const Folder folder;
  Net net;
  Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f});
  ModelCheckpoint checkpoint("m", folder.path.string(), {.keep_checkpoint_max = 1});
  LambdaCallback in_the_way{.on_train_step_begin = [&](const RunInfo& run) {
    if (run.cur_step_num == 2) fs::create_directories(folder.path / "m-1_2.safetensors" / "full");
  }};
  CHECK_THROWS_WITH_AS(model.train(1, four_steps(), checkpoint, in_the_way), doctest::Contains("m-1_2.safetensors"),
                       RuntimeError);
  CHECK(fs::is_regular_file(folder.path / "m-1_1.safetensors"));
}
TEST_CASE("a folder that is gone while it trains is an error, and the parameters stay") {
  const Folder folder;
  Net net;
  Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f});
  ModelCheckpoint checkpoint("m", folder.path.string());
  struct Remove {
    fs::path path;
    void on_train_step_begin(RunInfo& run) {
      if (run.cur_step_num == 3) fs::remove_all(path);
    }
  };
  CHECK_THROWS_WITH_AS(model.train(2, four_steps(), Remove{folder.path}, checkpoint), doctest::Contains("m-1_3"),
                       RuntimeError);
  CHECK(model.global_step() == 3);
}
TEST_CASE("in the background: the same files with the same bytes, and the last one counts when it is there") {
  std::string bytes[2];
  for (const bool background : {false, true}) {
    const Folder folder;
    const std::string latest = train(ModelCheckpoint(
        "m", folder.path.string(), {.save_checkpoint_steps = 2, .keep_checkpoint_max = 3, .async_save = background}));
    CHECK(folder.files() == Names{"m-1_4.safetensors", "m-2_2.safetensors", "m-2_4.safetensors"});
    CHECK(fs::path(latest).filename() == "m-2_4.safetensors");
    std::ifstream file(latest, std::ios::binary);
    bytes[background].assign(std::istreambuf_iterator<char>(file), {});
  }
  CHECK(bytes[0].size() > 1000);
  CHECK(bytes[0] == bytes[1]);
}
TEST_CASE("what fails in the background is thrown by the next save, or at the end") {
  for (const long steps : {1L, 4L}) {
    const Folder folder;
    Net net;
    Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f});
    ModelCheckpoint checkpoint("m", folder.path.string(), {.save_checkpoint_steps = steps, .async_save = true});
    LambdaCallback gone{.on_train_step_begin = [&](const RunInfo& run) {
      if (run.cur_step_num == 1) fs::remove_all(folder.path);
    }};
    CHECK_THROWS_WITH_AS(model.train(1, four_steps(), checkpoint, gone), doctest::Contains("Cannot create a file"),
                         RuntimeError);
    CHECK(checkpoint.latest_ckpt_file_name().empty());
    CHECK(model.global_step() == (steps == 1 ? 2 : 4));
  }
}
TEST_CASE("in the background: a file on its way when a hook throws is of that run, not of the next one") {
  const Folder folder;
  Net net;
  Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f});
  ModelCheckpoint checkpoint("m", folder.path.string(),
                             {.save_checkpoint_steps = 2, .keep_checkpoint_max = 1, .async_save = true});
  LambdaCallback crash{.on_train_step_begin = [](const RunInfo& run) {
    if (run.cur_step_num == 3) throw std::runtime_error("crash");
  }};
  CHECK_THROWS_WITH(model.train(1, four_steps(), checkpoint, crash), "crash");
  std::string at_begin = "none";
  LambdaCallback look{.on_train_step_begin = [&](const RunInfo& run) {
    if (run.cur_step_num == 1) at_begin = checkpoint.latest_ckpt_file_name();
  }};
  model.train(1, four_steps(), checkpoint, look);
  CHECK(at_begin.empty());
  CHECK(fs::exists(folder.path / "m-1_2.safetensors"));
  CHECK_FALSE(fs::exists(folder.path / "m_1-1_2.safetensors"));
  CHECK(fs::exists(folder.path / "m_1-1_4.safetensors"));
}
TEST_CASE("in the background: what the run before could not write is a warning, and the next one writes") {
  const Folder folder;
  Net net;
  Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f});
  ModelCheckpoint checkpoint("m", folder.path.string(), {.save_checkpoint_steps = 2, .async_save = true});
  LambdaCallback crash{.on_train_step_begin = [&](const RunInfo& run) {
    if (run.cur_step_num == 1) fs::create_directories(folder.path / "m-1_2.safetensors" / "full");
    if (run.cur_step_num == 3) throw std::runtime_error("crash");
  }};
  CHECK_THROWS_WITH(model.train(1, four_steps(), checkpoint, crash), "crash");
  const std::string said = support::printed_to(stderr, [&] { model.train(1, four_steps(), checkpoint); });
  CHECK(said.find("m-1_2.safetensors' of the run before, which an error has ended, is not written") != said.npos);
  CHECK(fs::path(checkpoint.latest_ckpt_file_name()).filename() == "m_1-1_4.safetensors");
}

namespace {
/// A process that does f, and ends there.
template <class F>
pid_t start(F f) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  int code = 0;
  try {
    f();
  } catch (...) {
    code = 1;
  }
  ::_exit(code);
}
bool ended_well(pid_t child) {
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
/// A process that has begun a run that saved a file, and was killed in it.
void kill_a_run(const std::string& folder, const CheckpointConfig& config) {
  const pid_t child = start([&] {
    struct Die {
      void on_train_step_begin(RunInfo& run) const {
        if (run.cur_step_num == 4) ::raise(SIGKILL);
      }
    };
    Net net;
    Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f});
    model.train(1, four_steps(), ModelCheckpoint("m", folder, config), Die{});
  });
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
}
}  // namespace

TEST_CASE("a run that lives has its prefix for itself before it has files, and gives it back") {
  const Folder folder;
  const std::string here = folder.path.string();
  {
    const ModelCheckpoint alive("m", here);
    train(ModelCheckpoint("m", here, {.save_checkpoint_steps = 4}), 1);
    CHECK(folder.files() == Names{".m.lock", "m_1-1_4.safetensors"});
    // `m_1` is a name of its own, and that of the second run of `m`
    train(ModelCheckpoint("m_1", here, {.save_checkpoint_steps = 4}), 1);
    CHECK(folder.files() == Names{".m.lock", "m_1-1_4.safetensors", "m_1_1-1_4.safetensors"});
  }
  CHECK(folder.files() == Names{"m_1-1_4.safetensors", "m_1_1-1_4.safetensors"});
}
TEST_CASE("a run that was killed keeps no name from others, and its lock goes with the next run") {
  if (support::sanitized) return support::say_skipped("a child of a process with a sanitizer's threads may hang");
  const Folder folder;
  const std::string here = folder.path.string();
  kill_a_run(here, {.save_checkpoint_steps = 100});  // before it has saved anything
  CHECK(folder.files() == Names{".m.lock"});
  CHECK_FALSE(latest_checkpoint("m", here).has_value());
  train(ModelCheckpoint("m", here, {.save_checkpoint_steps = 4}), 1);
  CHECK(folder.files() == Names{"m-1_4.safetensors"});
  kill_a_run(here, {.save_checkpoint_steps = 2});
  CHECK(folder.files() == Names{".m_1.lock", "m-1_4.safetensors", "m_1-1_2.safetensors"});
  CHECK(fs::path(*latest_checkpoint("m", here)).filename() == "m_1-1_2.safetensors");
  train(ModelCheckpoint("m", here, {.save_checkpoint_steps = 4}), 1);
  CHECK(folder.files() == Names{"m-1_4.safetensors", "m_1-1_2.safetensors", "m_2-1_4.safetensors"});
}
TEST_CASE("a child that goes on with its parent's callback has a prefix of its own") {
  if (support::sanitized) return support::say_skipped("a child of a process with a sanitizer's threads may hang");
  const Folder folder;
  {
    const ModelCheckpoint callback("m", folder.path.string(), {.save_checkpoint_steps = 4});
    const pid_t child = start([&] { train(callback, 1); });
    train(callback, 1);
    CHECK(ended_well(child));
  }
  CHECK(folder.files() == Names{"m-1_4.safetensors", "m_1-1_4.safetensors"});
}
TEST_CASE("something else that has the name of a lock costs a number, not the run") {
  const Folder folder;
  fs::create_directories(folder.path / ".m.lock");
  fs::create_symlink("elsewhere", folder.path / ".m_1.lock");
  train(ModelCheckpoint("m", folder.path.string(), {.save_checkpoint_steps = 4}), 1);
  CHECK(folder.files() == Names{".m.lock", ".m_1.lock", "m_2-1_4.safetensors"});
}
TEST_CASE("save_total_limit: 24 runs that were killed and resumed leave as many files as it says") {
  if (support::sanitized) return support::say_skipped("a child of a process with a sanitizer's threads may hang");
  const Folder folder;
  const std::string here = folder.path.string();
  const CheckpointConfig config{.save_checkpoint_steps = 1, .keep_checkpoint_max = 3, .save_total_limit = 4};
  for (int i = 0; i < 24; ++i) kill_a_run(here, config);
  Names left = folder.files();
  std::erase(left, ".m_23.lock");
  CHECK(left == Names{"m_22-1_3.safetensors", "m_23-1_1.safetensors", "m_23-1_2.safetensors", "m_23-1_3.safetensors"});
  train(ModelCheckpoint("m", here, {.keep_checkpoint_max = 9, .save_total_limit = 2}));
  CHECK(folder.files() == Names{"m_24-2_3.safetensors", "m_24-2_4.safetensors"});
  CHECK_THROWS_AS(ModelCheckpoint("m", here, {.save_total_limit = -1}), ValueError);
}
TEST_CASE("save_total_limit: files of a run that is alive, and of other prefixes, stay and do not count") {
  const Folder folder;
  const std::string here = folder.path.string();
  const CheckpointConfig one_more{.save_checkpoint_steps = 4, .save_total_limit = 2};
  ModelCheckpoint alive("m", here, {.save_checkpoint_steps = 2});
  Net net;
  Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f});
  model.train(2, four_steps(), alive);
  for (int i = 0; i < 3; ++i) train(ModelCheckpoint("m", here, one_more), 1);
  folder.put("mm-1_1.safetensors"), folder.put("m_1x-1_4.ckpt"), folder.put("m_1-1_4.txt");
  train(ModelCheckpoint("m", here, {.save_checkpoint_steps = 4, .save_total_limit = 1}), 1);
  CHECK(folder.files() == Names{".m.lock", "m-1_2.safetensors", "m-1_4.safetensors", "m-2_2.safetensors",
                                "m-2_4.safetensors", "m_1-1_4.txt", "m_1x-1_4.ckpt", "m_4-1_4.safetensors",
                                "mm-1_1.safetensors"});
}
