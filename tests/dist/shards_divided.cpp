// Moments that ranks divide: what the memory of a rank has, who may ask for all of them, and what is wrong.
// headers: yes
// label: long
#include <doctest/doctest.h>

#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <tenon/core/context/parallel.hpp>
#include <tenon/nn/optim/adam.hpp>
#include <tenon/train/callbacks.hpp>

#include "../support/error_of.hpp"
#include "../support/models.hpp"
#include "shards.hpp"

using namespace support;
using namespace shards;

namespace {

const nn::Adam adam{.learning_rate = 0.01f};

/// All moments of a Model.
std::string moments_of(auto& model) {
  std::string bytes;
  for (const io::NamedTensor& moment : model.optimizer_state())
    bytes.append(static_cast<const char*>(moment.tensor.data), moment.tensor.bytes());
  return bytes;
}

/// Looks at all moments in each hook, on one rank.
struct Look {
  bool looks;
  std::vector<std::string>& seen;
  void take(auto& run) const {
    if (looks) seen.push_back(moments_of(run.model));
  }
  void begin(auto& run) { take(run); }
  void epoch_begin(auto& run) { take(run); }
  void step_begin(auto& run) { take(run); }
  void step_end(auto& run) {
    take(run);
    take(run);
  }
  void epoch_end(auto& run) { take(run); }
  void end(auto& run) { take(run); }
};
std::vector<std::string> seen_on(int ranks, int who, bool divided, long stop_at = 0) {
  std::vector<std::string> seen;
  dist::run_ranks(ranks, [&](const dist::Communicator& group) {
    Mlp net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, adam,
                dist::DataParallel{.shards = 4, .group = group, .parallel_optimizer = divided}};
    struct Stop {
      long at;
      void step_end(RunInfo& run) const {
        if (run.cur_step_num == at) run.request_stop();
      }
    } stop{stop_at};
    model.train(2, bands<Shape<20>>(40) | dataset::batch(16), Look{group.rank() == who, seen}, stop);
  });
  return seen;
}

struct Wide : nn::Cell<Wide> {
  nn::Dense<20, 1000> first;
  nn::Dense<1000, 1000> a, b, c, d;
  nn::Dense<1000, 4> last;
  constexpr auto construct(auto x) const { return last(relu(d(relu(c(relu(b(relu(a(relu(first(x))))))))))); }
};

/// Bytes of the pages of some memory that are there.
long resident(const AnyTensor& tensor) {
  const std::uintptr_t page = std::uintptr_t(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(tensor.data) / page * page;
  const std::size_t bytes = reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.bytes() - begin;
  std::vector<unsigned char> is_there((bytes + page - 1) / page);
  REQUIRE(::mincore(reinterpret_cast<void*>(begin), bytes, is_there.data()) == 0);
  return long(page) * std::count_if(is_there.begin(), is_there.end(), [](unsigned char one) { return one & 1; });
}
/// Of the moments of each rank, after a run.
std::vector<long> resident_on(int ranks, bool divided) {
  std::vector<long> bytes(std::size_t(ranks), 0);
  dist::run_ranks(ranks, [&](const dist::Communicator& group) {
    Wide net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, adam,
                dist::DataParallel{.shards = 4, .group = group, .parallel_optimizer = divided}};
    model.train(1, bands<Shape<20>>(8) | dataset::batch(8));
    const auto all = model.optimizer_state();  // those of others, too, which the next run forgets
    model.train(1, bands<Shape<20>>(8) | dataset::batch(8));
    for (const io::NamedTensor& moment : all) bytes[std::size_t(group.rank())] += resident(moment.tensor);
  });
  return bytes;
}

}  // namespace

TEST_CASE("a rank may look at all moments in any hook") {
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1, .seed = 11});
  for (const long stop_at : {0, 2, 3, 5}) {
    CAPTURE(stop_at);
    const std::vector<std::string> alone = seen_on(1, 0, false, stop_at);
    CHECK(alone.back() != alone.front());
    for (const int who : {0, 2}) CHECK(seen_on(3, who, true, stop_at) == alone);
  }
}
TEST_CASE("a rank has memory for its own moments") {
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1});
  const double all = 2 * sizeof(float) * 4029004.0;
  for (const long bytes : resident_on(2, false)) CHECK(double(bytes) == doctest::Approx(all).epsilon(0.01));
  for (const long bytes : resident_on(4, true)) CHECK(double(bytes) == doctest::Approx(all / 4).epsilon(0.03));
}
TEST_CASE("all ranks save between runs, and rank 0 writes, also where the context says so") {
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1, .seed = 11});
  const std::string path = (std::filesystem::temp_directory_path() / "tenon_divided.safetensors").string();
  const auto saved_by = [&](int ranks, bool divided) {
    dist::run_ranks(ranks, [&](const dist::Communicator& group) {
      Mlp net;
      Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, adam,
                  dist::DataParallel{.shards = 4, .group = group, .parallel_optimizer = divided}};
      model.train(1, bands<Shape<20>>(40) | dataset::batch(16));
      const std::string own = text(path, group.rank(), ".safetensors");
      save_training(model, own);
      CHECK(std::filesystem::exists(own) == (group.rank() == 0));
    });
    std::string bytes;
    std::FILE* const file = std::fopen((path + "0.safetensors").c_str(), "rb");
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) bytes += char(c);
    std::fclose(file);
    std::filesystem::remove(path + "0.safetensors");
    return bytes;
  };
  const std::string alone = saved_by(1, false);
  CHECK(saved_by(3, true) == alone);
  set_auto_parallel_context("enable_parallel_optimizer", "True");
  CHECK(saved_by(2, false) == alone);
  reset_auto_parallel_context();
}
TEST_CASE("mistakes are sentences") {
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1});
  CHECK(error_of([] {
          dist::run_ranks(2, [](const dist::Communicator& group) {
            Mlp net;
            Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, adam,
                        dist::DataParallel{.shards = 4, .group = group, .parallel_optimizer = group.rank() == 1}};
            model.train(1, bands<Shape<20>>(40) | dataset::batch(16));
          });
        }) ==
        "Model.train: the ranks have different models: rank 0 has the optimizer Adam and 4 shards, rank 1 has the "
        "optimizer Adam and 4 shards, with parallel_optimizer. Give all ranks the same network, optimizer, and "
        "DataParallel.");
  CHECK(error_of([] {
          dist::run_ranks(2, [](const dist::Communicator& group) {
            Mlp net;
            Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, adam,
                        dist::DataParallel{.group = group, .parallel_optimizer = true}};
            if (group.rank() == 1) model.optimizer_state();
          });
        }) == "Rank 0 has ended without the message that rank 1 waits for.");

  tenon::detail::context_code = nullptr;  // as in a program that sets the key elsewhere
  set_auto_parallel_context(std::string_view("enable_parallel_optimizer"), "True");
  CHECK(error_of([] {
          dist::run_ranks(2, [](const dist::Communicator& group) {
            Mlp net;
            Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, adam, dist::DataParallel{.group = group}};
          });
        }) == "DataParallel: set_auto_parallel_context was called in a source file without <tenon/dist.hpp>, so that "
              "this program has no code for what it says: include it there.");
  reset_auto_parallel_context();
}

namespace {
/// What one of two ranks, or of `ranks`, hears that loads a training.
std::string error_of_load(const std::string& path, int ranks = 2) {
  std::string said;
  dist::run_ranks(ranks, [&](const dist::Communicator& group) {
    Mlp net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, adam,
                dist::DataParallel{.shards = 4, .group = group, .parallel_optimizer = true}};
    const std::string before = moments_of(model);
    const std::string error = error_of([&] { load_training(path, model); });
    if (error != "nothing") CHECK(moments_of(model) == before);
    if (group.rank() == 0) said = error;
  });
  return said;
}
void save_parts(const std::string& path, int ranks, long epochs = 1) {
  dist::run_ranks(ranks, [&](const dist::Communicator& group) {
    Mlp net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, adam,
                dist::DataParallel{.shards = 4, .group = group, .parallel_optimizer = true}};
    model.train(epochs, bands<Shape<20>>(40) | dataset::batch(16));
    save_training_in_parts(model, path);
  });
}
}  // namespace

TEST_CASE("parts of a training that do not belong together are sentences that name them") {
  namespace fs = std::filesystem;
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1, .seed = 11});
  const fs::path folder = fs::temp_directory_path() / "tenon_parts";
  fs::remove_all(folder);
  fs::create_directory(folder);
  const std::string path = (folder / "run.safetensors").string(), stem = (folder / "run").string();
  const auto part = [&](int rank, int ranks) { return text(stem, "-rank-", rank, "-of-", ranks, ".safetensors"); };
  save_parts(path, 1);
  CHECK(fs::exists(path));  // one rank: one file
  save_parts(path, 3);
  CHECK(!fs::exists(path));
  Mlp net;
  CHECK(error_of([&] { load_checkpoint(part(0, 3), net); }) == "nothing");  // the weights are in the first part
  for (const int ranks : {1, 2, 3, 5}) CHECK(error_of_load(path, ranks) == "nothing");
  fs::copy(part(2, 3), folder / "kept");
  fs::remove(part(2, 3));
  CHECK(error_of_load(path) == text("Cannot load '", path, "': its part '", part(2, 3), "' is missing."));
  save_parts(path, 3, 2);
  fs::rename(folder / "kept", part(2, 3));
  CHECK(error_of_load(path) ==
        text("Cannot load '", part(2, 3), "': it is not of the same save as '", part(0, 3), "'."));
  fs::copy(part(1, 3), part(2, 3), fs::copy_options::overwrite_existing);
  CHECK(error_of_load(path) ==
        text("Cannot load '", part(2, 3), "': by what is in it, it is the part of rank 1 of 3."));
  fs::resize_file(part(2, 3), fs::file_size(part(2, 3)) - 1);
  CHECK(error_of_load(path).find(part(2, 3)) != std::string::npos);
  save_parts(path, 2);  // removes those of three ranks
  CHECK(!fs::exists(part(0, 3)));
  CHECK(error_of_load(path, 4) == "nothing");
  fs::copy(part(1, 2), part(1, 4));
  CHECK(error_of_load(path) == text("Cannot load '", path, "': '", part(0, 2), "' and '", part(1, 4),
                                    "' are parts of different numbers of ranks: remove those that are older."));
  fs::rename(part(1, 4), path);
  CHECK(error_of_load(path) ==
        text("Cannot load '", path, "': it exists, and so do parts of it, '", part(0, 2), "': remove what is older."));
  fs::remove_all(folder);
  CHECK(error_of([&] { save_parts(path, 3); }).starts_with(text("Rank 1 could not save its part of '", path, "': ")));
  CHECK(error_of([&] { save_parts("run.ckpt", 2); }) ==
        "Cannot save 'run.ckpt' in parts: its name must end with '.safetensors'.");
  CHECK(error_of([] { ModelCheckpoint("m", ".", {.async_save = true, .in_parts = true}); }) ==
        "CheckpointConfig: files in_parts are safetensors, and no thread writes them: leave async_save out.");
}
TEST_CASE("a save between runs that fails is an error of the rank that writes, and all train on") {
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1, .seed = 11});
  const std::string none = (std::filesystem::temp_directory_path() / "tenon_no_such_folder/run.safetensors").string();
  const auto heard = [](auto save) {
    std::vector<std::string> all(3);
    dist::run_ranks(3, [&](const dist::Communicator& group) {
      Mlp net;
      Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, adam,
                  dist::DataParallel{.shards = 4, .group = group, .parallel_optimizer = true}};
      model.train(1, bands<Shape<20>>(40) | dataset::batch(16));
      all[std::size_t(group.rank())] = error_of([&] { save(model); });
      model.train(1, bands<Shape<20>>(40) | dataset::batch(16));
      CHECK(model.global_step() == 6);
    });
    return all;
  };
  for (const bool parts : {false, true}) {
    const auto said = heard([&](auto& model) {
      if (parts) save_training_in_parts(model, none);
      else save_training(model, none);
    });
    CHECK(said[0].find("tenon_no_such_folder") != std::string::npos);
    for (const int rank : {1, 2}) CHECK(said[std::size_t(rank)] == "nothing");
  }
  for (const std::string& one : heard([](auto& model) { save_training_in_parts(model, "run.npz"); }))
    CHECK(one == "Cannot save 'run.npz' in parts: its name must end with '.safetensors'.");
  const auto other = heard([](auto& model) { save_training(model, "run.npz"); });
  CHECK(other[0].find("run.npz") != std::string::npos);
  for (const std::string& one : other) CHECK(one == other[0]);
}
TEST_CASE("a damaged part is an error, or other numbers") {
  namespace fs = std::filesystem;
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1, .seed = 11});
  const fs::path folder = fs::temp_directory_path() / "tenon_damaged_parts";
  fs::remove_all(folder);
  fs::create_directory(folder);
  const std::string path = (folder / "run.safetensors").string();
  save_parts(path, 2);
  const auto content = [](const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  Mlp net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, adam, dist::DataParallel{.shards = 4}};
  Random random(7);
  int errors = 0;
  for (int rank = 0; rank < 2; ++rank) {
    const fs::path part = folder / text("run-rank-", rank, "-of-2.safetensors");
    const std::string whole = content(part);
    const std::size_t header = 8 + std::size_t(std::uint8_t(whole[0])) + 256 * std::size_t(std::uint8_t(whole[1]));
    for (int turn = 0; turn < 400; ++turn) {
      std::string damaged = whole;
      const auto any = [&](std::size_t below) { return std::size_t(random.uniform(0.0f, 1.0f) * float(below - 1)); };
      for (std::size_t bytes = 1 + any(3); bytes-- > 0;) damaged[any(header + 64)] = char(any(256));
      if (turn % 10 == 0) damaged.resize(any(damaged.size()));
      std::ofstream(part, std::ios::binary) << damaged;
      try {
        load_training(path, model);
      } catch (const Error& error) {
        ++errors;
        CHECK(std::string(error.what()).find("run") != std::string::npos);
      }
    }
    std::ofstream(part, std::ios::binary) << whole;
  }
  CHECK(errors > 600);
  load_training(path, model);
  fs::remove_all(folder);
}
TEST_CASE("ModelCheckpoint keeps as many trainings in parts as it was told, and averages do not get into files") {
  namespace fs = std::filesystem;
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1, .seed = 11});
  const fs::path folder = fs::temp_directory_path() / "tenon_kept_parts";
  const auto left_by = [&](int ranks, bool divided) {
    fs::remove_all(folder);
    std::string bytes;
    dist::run_ranks(ranks, [&](const dist::Communicator& group) {
      Mlp net;
      Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, adam,
                  dist::DataParallel{.shards = 4, .group = group, .parallel_optimizer = divided}};
      model.train(2, bands<Shape<20>>(64) | dataset::batch(16), ExponentialMovingAverage{.decay = 0.9f},
                  ModelCheckpoint(text("m", group.rank()), folder.string(),
                                  {.save_checkpoint_steps = 2, .keep_checkpoint_max = 2, .in_parts = true}));
    });
    const auto last = latest_checkpoint("m0", folder.string());
    REQUIRE(last);
    CHECK(last->ends_with("m0-2_4.safetensors"));
    long files = 0;
    for (const auto& file : fs::directory_iterator(folder)) files += file.path().string().ends_with(".safetensors");
    CHECK(files == 2 * ranks);
    Mlp net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, adam, dist::DataParallel{.shards = 4}};
    load_training(*last, model);
    Outcome outcome;
    outcome.take_parameters(net);
    return outcome.parameters + moments_of(model);
  };
  CHECK(left_by(3, true) == left_by(1, false));
  fs::remove_all(folder);
}
