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
}
