// Mixed precision with a loss scale that overflows, and gradients over several batches, on a parameter server.
// link: zmq
// label: long
#include <doctest/doctest.h>
#if __has_include(<zmq.h>) && !defined(__SANITIZE_THREAD__)  // libzmq itself is not compiled for that

#include <string>

#include <tenon/nn/optim/accumulate_gradients.hpp>
#include <tenon/nn/optim/adam.hpp>
#include <tenon/train/data_parallel.hpp>

#include "../support/outcome.hpp"
#include "../train/small.hpp"
#include "server.hpp"

using namespace servers;

namespace {

template <class Optimizer, class... Parts>
std::string trained(const Optimizer& optimizer, Killer killer, const Parts&... parts) {
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1, .seed = 5});
  small::Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer, parts...};
  model.train(3, small::samples(50) | dataset::batch(11), killer);
  std::string bits = small::bits(net);
  for (const io::NamedTensor& moment : model.optimizer_state())
    bits.append(static_cast<const char*>(moment.tensor.data), moment.tensor.bytes());
  return bits;
}
template <class Optimizer, class... Parts>
void check(const Optimizer& optimizer, const Parts&... parts) {
  const std::string alone = trained(optimizer, Killer{}, dist::DataParallel{.shards = 4}, parts...);
  for (const Victim victim : {Victim::nobody, Victim::other_worker, Victim::server}) {
    CAPTURE(int(victim));
    Job job(2, 3);
    const auto body = [&] {
      return trained(optimizer, Killer{&job.board(), victim, 8, false},
                     dist::ParameterServer{.shards = 4, .folder = job.folder()}, parts...);
    };
    job.start_all(body);
    job.wait(body);
    for (int w = 0; w < 3; ++w) CHECK(job.said(text("worker ", w)) == alone);
  }
}
const nn::Adam adam{.learning_rate = 0.01f};

}  // namespace

TEST_CASE("a loss scale that overflows") {
  check(adam, amp<AmpLevel::O2, float16>, DynamicLossScaleManager{.init_loss_scale = 0x1p30f, .scale_window = 3});
}
TEST_CASE("gradients of two batches are one update") { check(nn::AccumulateGradients{adam, 2}); }

#else
#include "../support/skip.hpp"
TEST_CASE("parameter server") { support::say_skipped("ZeroMQ is not installed, or not for this sanitizer"); }
#endif
