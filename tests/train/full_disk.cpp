// A disk that is full, broken, or read-only while checkpoints are written: an error that says so, the file before it
// stays, nothing is half-written, and the training can go on.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <atomic>
#include <cstdarg>
#include <filesystem>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <tenon/train/callback/lambda_callback.hpp>
#include <tenon/train/callback/model_checkpoint.hpp>

#include "small.hpp"

using namespace small;
namespace fs = std::filesystem;

namespace {
enum class Failing { nothing, create, write, write_half_way, fsync, rename };
std::atomic<Failing> failing{Failing::nothing};

int fail(int reason) {
  errno = reason;
  return -1;
}
}  // namespace

// The program's own functions stand before those of the C library.
extern "C" {
int open(const char* path, int flags, ...) {
  if ((flags & O_CREAT) && failing == Failing::create) return fail(EROFS);
  std::va_list more;
  va_start(more, flags);
  const unsigned mode = flags & O_CREAT ? va_arg(more, unsigned) : 0;
  va_end(more);
  return int(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
ssize_t write(int file, const void* data, size_t count) {
  if (failing == Failing::write) return fail(ENOSPC);
  if (failing == Failing::write_half_way && count > 100) {
    failing = Failing::write;
    return ::syscall(SYS_write, file, data, count / 2);
  }
  return ::syscall(SYS_write, file, data, count);
}
int fsync(int file) { return failing == Failing::fsync ? fail(EIO) : int(::syscall(SYS_fsync, file)); }
int rename(const char* from, const char* to) noexcept {
  return failing == Failing::rename ? fail(EACCES) : int(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
}

namespace {
struct Folder {
  fs::path path = fs::temp_directory_path() / ("tenon_full_disk_" + std::to_string(::getpid()));
  Folder() { fs::remove_all(path), fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  /// But for the lock of the ModelCheckpoint that is alive.
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path))
      if (const std::string name = entry.path().filename().string(); name != ".m.lock") names.push_back(name);
    return names;
  }
};
/// From the second step of four on the disk fails.
void check(Failing how, const char* reason, bool background) {
  CAPTURE(reason);
  const Folder folder;
  set_context({.mode = Mode::graph, .seed = 4});
  Net net;
  Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f});
  ModelCheckpoint checkpoint("m", folder.path.string(), {.keep_checkpoint_max = 1, .async_save = background});
  LambdaCallback breaks{.on_train_step_begin = [&](const RunInfo& run) {
    if (run.cur_step_num != 3) return;
    while (!fs::exists(folder.path / "m-1_2.safetensors")) ::usleep(100);  // another thread writes it
    failing = how;
  }};
  const auto data = samples(16) | dataset::batch(4);
  std::string message;
  try {
    model.train(1, data, checkpoint, breaks);
  } catch (const RuntimeError& error) {
    message = error.what();
  }
  failing = Failing::nothing;
  CHECK_MESSAGE(message.find(reason) != std::string::npos, message);
  CHECK(message.find("m-1_3.safetensors") != std::string::npos);
  CHECK(folder.files() == std::vector<std::string>{"m-1_2.safetensors"});

  // the Model is as the last step left it, and the file before as the step before left it
  const long steps = model.global_step();
  CHECK(steps == (background ? 4 : 3));
  Net other;
  Model resumed(other, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f});
  load_training((folder.path / "m-1_2.safetensors").string(), resumed);
  CHECK(resumed.global_step() == 2);
  resumed.train(1, data);
  CHECK(resumed.global_step() == 4);
  if (background) CHECK(bits(other) == bits(net));
  model.train(1, data, ModelCheckpoint("again", folder.path.string()));
  CHECK(model.global_step() == steps + 4);
}
}  // namespace

TEST_CASE("what fails while a checkpoint is written") {
  for (const bool background : {false, true}) {
    CAPTURE(background);
    check(Failing::write, "No space left on device", background);
    check(Failing::write_half_way, "No space left on device", background);
    check(Failing::fsync, "Input/output error", background);
    check(Failing::rename, "Permission denied", background);
    check(Failing::create, "Read-only file system", background);
  }
}
