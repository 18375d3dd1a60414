// A server under load: 10,000 connections, slow clients, versions exchanged for seconds, and a stop amid requests.
// label: long
// link: serve
#include <doctest/doctest.h>
#if __has_include(<boost/beast/http.hpp>) && __has_include(<nlohmann/json.hpp>)

#include <sys/resource.h>
#include <sys/wait.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include <tenon/serve.hpp>

#include "../support/skip.hpp"
#include "../train/small.hpp"
#include "client.hpp"

using namespace tenon;
using namespace serving_test;

namespace {

using Inputs = dataset::Columns<dataset::Column<float, Shape<3>, "x">>;
const std::string request =
    post("/v2/models/m/infer", R"({"inputs":[{"name":"x","shape":[1,3],"datatype":"FP32","data":[1,-2,3]}]})");

struct Both {
  small::Net net;
  Model<small::Net, NoLoss, NoOptimizer, ModelOptions{}> model{net};
};
void add(Server& server, const ServedOptions& options = {}) {
  const auto both = std::make_shared<Both>();
  server.add<Inputs>("m", 1, std::shared_ptr<const decltype(both->model)>(both, &both->model), options);
}
/// Allows as many descriptors as the system does; returns how many.
long allow_descriptors() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return long(limit.rlim_cur);
}
long threads_here() {
  const std::filesystem::directory_iterator all("/proc/self/task");
  return std::distance(begin(all), end(all));
}

/// What the child does: holds `count` connections, asks on each of them twice, and says how many answers were equal.
int hold(int port, int count, int say, int hear) {
  std::vector<std::unique_ptr<Connection>> all;
  for (int k = 0; k < count; ++k) all.push_back(std::make_unique<Connection>(port));
  int equal = 0;
  std::string first;
  char go = 0;
  for (int round = 0; round < 2; ++round) {
    for (int k = 0; k < count; k += 500) {  // the server's queue takes as many
      for (int i = k; i < std::min(count, k + 500); ++i) all[std::size_t(i)]->send(request);
      for (int i = k; i < std::min(count, k + 500); ++i) {
        const Reply reply = all[std::size_t(i)]->receive();
        if (first.empty()) first = reply.body;
        equal += reply.status == 200 && reply.body == first;
      }
    }
    if (::write(say, &equal, sizeof equal) != sizeof equal) return 1;
    if (round == 0 && ::read(hear, &go, 1) != 1) return 1;
  }
  return 0;
}

}  // namespace

TEST_CASE("10,000 connections are served by a few threads") {
  constexpr int count = 10'000;
  if (allow_descriptors() < count + 200) return support::say_skipped("the system allows too few descriptors");
  int to_child[2], to_parent[2];
  REQUIRE(::pipe(to_child) == 0);
  REQUIRE(::pipe(to_parent) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    int port = 0;
    ::_exit(::read(to_child[0], &port, sizeof port) == sizeof port ? hold(port, count, to_parent[1], to_child[0]) : 1);
  }
  Server server({.port = 0});
  add(server);
  server.start();
  const long threads = threads_here();
  const int port = server.port();
  REQUIRE(::write(to_child[1], &port, sizeof port) == sizeof port);
  int equal = 0;
  REQUIRE(::read(to_parent[0], &equal, sizeof equal) == sizeof equal);
  CHECK(equal == count);
  CHECK(server.connections() == count);
  CHECK(threads_here() <= threads + 1);
  CHECK(ask(port, request).status == 200);
  REQUIRE(::write(to_child[1], "g", 1) == 1);
  REQUIRE(::read(to_parent[0], &equal, sizeof equal) == sizeof equal);
  CHECK(equal == 2 * count);
  int status = 1;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  for (const int end : {to_child[0], to_child[1], to_parent[0], to_parent[1]}) ::close(end);
}

TEST_CASE("slow clients do not hinder others, and are closed") {
  Server server({.port = 0, .read_time = std::chrono::milliseconds(1500)});
  add(server);
  server.start();
  std::vector<std::unique_ptr<Connection>> slow;
  for (int k = 0; k < 300; ++k) slow.push_back(std::make_unique<Connection>(server.port()));
  std::atomic<long> answered = 0;
  std::atomic<bool> end = false;
  std::thread other([&] {
    Connection c(server.port());
    while (!end) c.send(request), answered += c.receive().status == 200;
  });
  for (std::size_t at = 0; at < 30; ++at) {
    for (const auto& client : slow) client->send(request.substr(at, 1));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  end = true;
  other.join();
  CHECK(answered > 1000);
  CHECK(server.connections() <= 1);
}

TEST_CASE("versions are exchanged under load, and a stop loses nothing that was begun") {
  Server server({.port = 0, .threads = 2});
  const ServedOptions options{.max_batch_size = 8, .max_queue_delay = std::chrono::microseconds(200)};
  add(server, options);
  server.start();
  std::atomic<bool> stopping = false, end = false;
  std::atomic<long> answered = 0, other = 0, unanswered = 0;
  std::vector<std::thread> clients;
  for (int k = 0; k < 8; ++k)
    clients.emplace_back([&] {
      while (!end) {
        Connection c(server.port());
        for (int i = 0; i < 1000 && !end; ++i) {
          c.send(request);
          const int status = c.receive().status;
          if (status == 200) ++answered;
          else if (status == 503 || (status == 0 && stopping)) ++unanswered;
          else ++other;
          if (status != 200) break;
        }
      }
    });
  for (int k = 0; k < 400 || (answered <= 5000 && k < 4000); ++k) {
    add(server, options);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK(unanswered == 0);
  const std::string metrics = ask(server.port(), get("/metrics")).body;
  const std::string_view name = "tenon_inference_request_success{model=\"m\",version=\"1\"} ";
  CHECK(std::atol(metrics.c_str() + metrics.find(name) + name.size()) >= 4000);
  stopping = true;
  server.stop();
  end = true;
  for (std::thread& client : clients) client.join();
  CHECK(other == 0);
  CHECK(answered > 4000);
  MESSAGE("answered ", answered.load());
}

#else
#include "../support/skip.hpp"
TEST_CASE("server under load") { support::say_skipped("Boost.Beast or nlohmann_json is not installed"); }
#endif
