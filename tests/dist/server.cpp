// A parameter server gives the bits of one process, and says what is wrong with a start.
// link: zmq
#include <doctest/doctest.h>
#if __has_include(<zmq.h>)

#include <string>

#include <tenon/nn/optim/adam.hpp>
#include <tenon/train/data_parallel.hpp>

#include "../support/outcome.hpp"
#include "../train/small.hpp"
#include "server.hpp"

using namespace servers;

namespace {

/// Weights, moments, and losses of a training in four shards.
template <class Part>
std::string trained(const Part& part, Mode mode) {
  const ContextScope scope({.mode = mode, .num_threads = 1, .seed = 5});
  small::Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 0.01f}, part};
  std::vector<double> losses;
  model.train(3, small::samples(50) | dataset::shuffle(50, 3) | dataset::batch(11), support::Losses{losses});
  std::string bits = small::bits(net);
  for (const io::NamedTensor& moment : model.optimizer_state())
    bits.append(static_cast<const char*>(moment.tensor.data), moment.tensor.bytes());
  return bits.append(reinterpret_cast<const char*>(losses.data()), losses.size() * sizeof(double));
}

}  // namespace

TEST_CASE("a parameter server has the bits of one process, on any number of servers and workers, in both modes") {
  const std::string alone = trained(dist::DataParallel{.shards = 4}, Mode::graph);
  CHECK(trained(dist::ParameterServer{.shards = 4}, Mode::graph) == alone);
  for (const auto& [servers, workers, mode] :
       {std::tuple(1, 1, Mode::graph), {2, 3, Mode::graph}, {2, 3, Mode::pynative}, {1, 6, Mode::graph}}) {
    CAPTURE(servers);
    CAPTURE(workers);
    Job job(servers, workers);
    const auto body = [&, mode = mode] {
      return trained(dist::ParameterServer{.shards = 4, .folder = job.folder()}, mode);
    };
    job.start_all(body);
    job.wait(body);
    for (int w = 0; w < workers; ++w) CHECK(job.said(text("worker ", w)) == alone);
    const std::string weights = alone.substr(0, std::size_t(Structure<small::Net>::table.bytes));
    for (int s = 0; s < servers; ++s) CHECK(job.said(text("server ", s)).starts_with(weights));
  }
}

#else
#include "../support/skip.hpp"
TEST_CASE("parameter server") { support::say_skipped("ZeroMQ is not installed"); }
#endif
