// A parameter server gives the bits of one process, and says what is wrong with a start.
// link: zmq
#include <doctest/doctest.h>
#if __has_include(<zmq.h>) && !defined(__SANITIZE_THREAD__)  // libzmq itself is not compiled for that

#include <limits>
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

TEST_CASE(
    "the scheduler listens where its name leads, as to 127.0.1.1 on a Debian, also when it has nothing else to do") {
  Job job(1, 1, 10);
  job.host = "127.0.1.1";
  const auto body = [] { return dist::detail::server_node()->name(); };
  job.start("MS_SCHED", body);
  ::usleep(500000);  // its program has ended, and it waits for the others
  job.start("MS_PSERVER", body);
  job.start("MS_WORKER", body);
  job.wait(body);
  INFO(job.said("refused"));
  for (const std::string name : {"the scheduler", "server 0", "worker 0"}) CHECK(job.said(name) == name);
}

TEST_CASE("a scheduler to which nobody comes ends after the timeout") {
  Job job(1, 1, 1);
  const auto body = [] { return dist::detail::server_node()->name(); };
  const auto begin = std::chrono::steady_clock::now();
  job.start("MS_SCHED", body);
  job.wait(body);
  CHECK(job.said("the scheduler") == "the scheduler");
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::seconds(1));
}

TEST_CASE("workers that differ hear in what, all of them") {
  const auto heard = [](std::uint64_t seed, float decay, float scale, const std::string& words) {
    Job job(1, 2);
    const auto body = [&] {
      const bool odd = dist::detail::server_node()->is_worker() && dist::detail::server_node()->rank() == 1;
      small::Net net;
      const ContextScope weights({.num_threads = 1, .seed = 5});
      net.init_parameters();
      const ContextScope own({.seed = odd ? seed : 5});
      Model model{net, nn::SoftmaxCrossEntropyWithLogits{},
                  nn::Adam{.learning_rate = 0.01f, .weight_decay = odd ? decay : 0.5f},
                  FixedLossScaleManager<true>{.loss_scale = odd ? scale : 2},
                  dist::ParameterServer{.folder = job.folder()}};
      model.train(1, small::samples(50) | dataset::batch(11));
      return std::string("ended well");
    };
    job.start_all(body);
    job.wait(body);
    for (const char* const name : {"worker 0", "worker 1"}) {
      CAPTURE(job.said(name));
      CHECK(job.said(name).find(words) != std::string::npos);
    }
    for (const auto& file : std::filesystem::directory_iterator(job.folder()))
      CHECK(file.path().filename().string().find("parameter_server_") == std::string::npos);  // nothing is left
  };
  const std::string who = "server 0: in step 1 worker 1 has ", advice = " than worker 0: give all workers the same";
  heard(5, 0.5f, 2, "ended well");
  heard(6, 0.5f, 2, who + "another seed of random numbers" + advice);
  heard(5, 0.25f, 2, who + "other numbers of the optimizer" + advice);
  heard(5, 0.5f, 4, who + "another loss scale" + advice);
}

TEST_CASE("messages of strangers change nothing, and get a sentence or nothing") {
  using namespace dist::detail;
  const std::string alone = trained(dist::DataParallel{.shards = 4}, Mode::graph);
  Job job(1, 2);
  const auto body = [&] {
    const std::string folder = job.folder();
    if (server_node()->rank() == 0 && server_node()->is_worker()) {
      const std::string scheduler = text("tcp://", server_node()->environment.scheduler());
      ZmqSocket stranger(ZMQ_DEALER, 1 << 20);
      stranger.connect(scheduler);
      std::string server;
      while ((server = read_text(server_node()->members.server(0).address)).empty()) ::usleep(1000);
      stranger.connect(server);  // in turns with the scheduler
      ZmqMessage message;
      for (int i = 0; i < 64; ++i) {
        RequestHead request;
        request.model = std::uint64_t(i), request.worker = i - 3, request.run = i % 3,
        request.step = (i - 8L) << (i % 60);
        request.ask = Ask(i % 9), request.numbers = -i, request.batch = i % 2 ? -1 : 1L << i % 63;
        Beat beat;
        beat.role = dist::Role(i % 5), beat.rank = i - 20, beat.servers = i % 3, beat.workers = 2, beat.incarnation = 7;
        if (i % 4 == 0) stranger.send({}, request, std::vector<std::byte>(std::size_t(i) * 100));
        else if (i % 4 == 1) stranger.send({}, beat);
        else if (i % 4 == 2) stranger.send({}, std::uint64_t(i));
        else stranger.send({}, request);
        stranger.receive(message, 0);
      }
    }
    return trained(dist::ParameterServer{.shards = 4, .folder = folder}, Mode::graph);
  };
  job.start_all(body);
  job.wait(body);
  for (int w = 0; w < 2; ++w) CHECK(job.said(text("worker ", w)) == alone);
}

namespace {
/// What init_parameter_server says with these variables.
std::string refused(std::initializer_list<std::pair<const char*, const char*>> other, double timeout = 0.3) {
  const std::pair<const char*, std::string> usual[]{{"MS_ROLE", "MS_WORKER"},
                                                    {"MS_SERVER_NUM", "1"},
                                                    {"MS_WORKER_NUM", "1"},
                                                    {"MS_SCHED_HOST", "127.0.0.1"},
                                                    {"MS_SCHED_PORT", std::to_string(support::free_port())}};
  for (const auto& [name, value] : usual) ::setenv(name, value.c_str(), 1);
  for (const auto& [name, value] : other) value ? ::setenv(name, value, 1) : ::unsetenv(name);
  std::string said = "nothing";
  try {
    dist::init_parameter_server({.timeout_seconds = timeout});
    dist::release_parameter_server();
  } catch (const Error& error) {
    said = error.what();
  }
  for (const auto& [name, value] : usual) ::unsetenv(name);
  return said;
}
bool has(const std::string& said, const char* words) {
  CAPTURE(said);
  CHECK(said.find(words) != said.npos);
  return said.find(words) != said.npos;
}
}  // namespace

TEST_CASE("what is wrong with a start is said before it") {
  has(refused({}),
      "call set_ps_context(\"enable_ps\", \"True\") first: without it each process would train for itself");
  set_ps_context("enable_ps", "True");
  has(refused({{"MS_ROLE", nullptr}}), "MS_ROLE is not set: MS_SCHED for the one scheduler, MS_PSERVER for a server");
  has(refused({{"MS_ROLE", "MS_SERVER"}}), "MS_ROLE is 'MS_SERVER'; there are 'MS_SCHED', 'MS_PSERVER', 'MS_WORKER'. "
                                           "Did you mean 'MS_PSERVER'?");
  has(refused({{"MS_SERVER_NUM", nullptr}}), "MS_SERVER_NUM is not set");
  for (const char* const number : {"0", "-1", "two", "1e3", "99999999999999999999"})
    has(refused({{"MS_WORKER_NUM", number}}), "and must be 1 to 4096: the number of workers");
  has(refused({{"MS_SCHED_HOST", nullptr}}), "MS_SCHED_HOST is not set: the machine of the scheduler");
  has(refused({{"MS_SCHED_HOST", "no.such.machine.invalid"}}), "there is no machine 'no.such.machine.invalid'");
  has(refused({{"MS_SCHED_PORT", "65536"}}), "MS_SCHED_PORT is '65536', and must be 1 to 65535");
  has(refused({}), "no scheduler answers at 127.0.0.1:");
  for (const double seconds : {-1.0, std::numeric_limits<double>::quiet_NaN()})
    has(refused({}, seconds), "dist::init_parameter_server: timeout_seconds must be 0 or more, got ");
  ::setenv("MS_ROLE", "MS_WORKER", 1);
  small::Net net;
  const auto early = [&] {
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 0.01f}, dist::ParameterServer{}};
  };
  CHECK_THROWS_WITH_AS(early(),
                       "ParameterServer: MS_ROLE is set, and this process would train alone: call "
                       "dist::init_parameter_server before you make a Model.",
                       RuntimeError);
  ::unsetenv("MS_ROLE");
  reset_ps_context();
}
TEST_CASE("a socket that ZeroMQ does not open is a sentence") {
  set_ps_context("enable_ps", "True");
  dist::detail::ZmqContext& zmq = dist::detail::zmq_context();
  REQUIRE(zmq.context == nullptr);
  zmq.context = zmq_ctx_new();
  zmq_ctx_set(zmq.context, ZMQ_MAX_SOCKETS, 1);
  {
    const dist::detail::ZmqSocket only(ZMQ_DEALER, 1);
    for (const char* const role : {"MS_SCHED", "MS_WORKER"})
      has(refused({{"MS_ROLE", role}}), "ZeroMQ opens no socket: Too many open files.");
  }
  dist::detail::end_zmq();
  reset_ps_context();
}
TEST_CASE("so are processes that do not belong together") {
  Job job(1, 1, 3);
  const auto stay = [] { return ::sleep(1), std::string("is there"); };
  job.start("MS_SCHED", stay);
  job.workers = 2;
  ::usleep(200000);
  job.start("MS_WORKER", stay);
  job.start("MS_SCHED", stay);
  job.wait(stay);
  has(job.said("refused"), "the scheduler has MS_SERVER_NUM 1 and MS_WORKER_NUM 1, and this process 1 and 2");
  has(job.said("refused"), "the scheduler cannot listen at 127.0.0.1:");
}

#else
#include "../support/skip.hpp"
TEST_CASE("parameter server") { support::say_skipped("ZeroMQ is not installed, or not for this sanitizer"); }
#endif
