// A training that goes on with another number of ranks: rank 0 saves, the bits are those of a training left alone.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include <tenon/dist/threads.hpp>
#include <tenon/nn/layer/dropout.hpp>
#include <tenon/nn/optim/adam.hpp>
#include <tenon/train/callbacks.hpp>
#include <tenon/train/data_parallel.hpp>

#include "../train/small.hpp"

using namespace tenon;

namespace {

struct Dropping : nn::Cell<Dropping> {
  nn::Dense<3, 8> fc1;
  nn::Dropout<> drop;
  nn::Dense<8, 2> fc2;
  constexpr auto construct(auto x) const { return fc2(drop(relu(fc1(x)))); }
};

struct StopAt {
  long step;
  void step_end(RunInfo& run) {
    if (run.cur_step_num == step) run.request_stop();
  }
};

enum class Moments { of_all, divided, in_parts };

/// Trains on some ranks until `stop`, from the file of the run before if there is one. Returns the bytes of all ranks.
std::vector<std::string> trained(int ranks, long stop, const std::string& folder, Mode mode = Mode::graph,
                                 Moments moments = Moments::of_all) {
  const ContextScope scope({.mode = mode, .num_threads = 1, .seed = 5});
  const auto before = latest_checkpoint("m0", folder);
  std::vector<std::string> bits(static_cast<std::size_t>(ranks));
  dist::run_ranks(ranks, [&](const dist::Communicator& group) {
    Dropping net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 0.01f},
                dist::DataParallel{.shards = 4, .group = group, .parallel_optimizer = moments != Moments::of_all}};
    if (before) load_training(*before, model);
    const auto data = small::samples(50) | dataset::shuffle(50, 3) | dataset::batch(11);
    model.train(3, data,
                ModelCheckpoint(text("m", group.rank()), folder,
                                {.save_checkpoint_steps = 2, .in_parts = moments == Moments::in_parts}),
                StopAt{stop});
    bits[std::size_t(group.rank())] = small::bits(net);
    for (const io::NamedTensor& moment : model.optimizer_state())
      bits[std::size_t(group.rank())].append(static_cast<const char*>(moment.tensor.data), moment.tensor.bytes());
  });
  return bits;
}

std::string fresh_folder(const char* name) {
  const auto path = std::filesystem::temp_directory_path() / name;
  std::filesystem::remove_all(path);
  return path.string();
}

void check_changes_of_ranks(Moments moments) {
  const std::string folder = fresh_folder("tenon_shards_resumed"), alone = fresh_folder("tenon_shards_alone");
  const std::vector<std::string> undisturbed = trained(1, 0, alone);
  trained(3, 4, folder, Mode::graph, moments);
  REQUIRE(latest_checkpoint("m0", folder));  // else each run would begin anew, with the same bits
  trained(1, 7, folder, Mode::pynative, moments);
  trained(5, 11, folder, Mode::graph, moments);
  const std::vector<std::string> last = trained(2, 0, folder, Mode::graph, moments);
  for (const std::string& bits : last) CHECK(bits == undisturbed[0]);
  for (const auto& file : std::filesystem::directory_iterator(folder))
    CHECK(file.path().filename().string().find("m0") != std::string::npos);
  std::filesystem::remove_all(folder);
  std::filesystem::remove_all(alone);
}

}  // namespace

TEST_CASE("ranks change while training, within epochs") { check_changes_of_ranks(Moments::of_all); }
TEST_CASE("so they do where each has the moments of some parameters alone") {
  check_changes_of_ranks(Moments::divided);
}
TEST_CASE("so they do if each writes its moments to a file") { check_changes_of_ranks(Moments::in_parts); }
