// A server answers by the Open Inference Protocol, the same bits alone and in any batch, and refuses all else.
// link: serve
#include <doctest/doctest.h>
#if __has_include(<boost/beast/http.hpp>) && __has_include(<nlohmann/json.hpp>)

#include <atomic>
#include <csignal>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <semaphore>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <tenon/nn/layer/embedding.hpp>
#include <tenon/ops/add.hpp>
#include <tenon/ops/reduce_sum.hpp>
#include <tenon/serve.hpp>

#include "../train/small.hpp"
#include "client.hpp"
#include "echo.hpp"

using namespace tenon;
using namespace serving_test;
using dataset::Column, dataset::Columns;

namespace {

/// A row of a table for each word, and a sum of numbers.
struct Net : nn::Cell<Net> {
  nn::Embedding<10, 4> table;
  nn::Dense<3, 4> fc;
  constexpr auto construct(auto word, auto x) const { return table(word) + relu(fc(x)); }  // [n], [n, 3] -> [n, 4]
};
using NetInputs = Columns<Column<std::int32_t, Shape<>, "word">, Column<float, Shape<3>, "x">>;
using SmallInputs = Columns<Column<float, Shape<3>, "x">>;

const ServeOptions free_port{.port = 0};

/// Returns its input after `pause`, and remembers the threads that computed.
auto slow(std::set<std::thread::id>& who, std::function<void()> pause = {}) {
  return std::make_unique<const serving_test::Echo>(0, [pause, &who](long) {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    if (pause) pause();
    who.insert(std::this_thread::get_id());
  });
}
const std::string slow_request =
    post("/v2/models/slow/infer", R"({"inputs":[{"name":"x","shape":[1],"datatype":"FP32","data":[1.5]}]})");

std::string request_text(int word, const std::string& x, const std::string& more = "") {
  return R"({"id":"r\n1","inputs":[{"name":"x","shape":[1,3],"datatype":"FP32","data":)" + x +
         R"(},{"name":"word","shape":[1],"datatype":"INT32","data":[)" + std::to_string(word) + "]}]" + more + "}";
}
/// The bytes of an output that was asked for as bytes.
std::string bytes_of(const Reply& reply) {
  const std::string_view name = "Inference-Header-Content-Length: ";
  const std::size_t at = reply.head.find(name);
  REQUIRE(at != reply.head.npos);
  const std::size_t json = std::strtoul(reply.head.c_str() + at + name.size(), nullptr, 10);
  REQUIRE(json < reply.body.size());
  return reply.body.substr(json);
}
constexpr const char* as_bytes = R"(,"parameters":{"binary_data_output":true})";

/// A server with both models.
struct Fixture {
  Net net;
  Model<Net, NoLoss, NoOptimizer, ModelOptions{}> model{net};
  Server server;
  explicit Fixture(const ServeOptions& options = free_port, const ServedOptions& served = {}) : server(options) {
    server.add<NetInputs>("net", 3, model, served);
    server.start();
  }
  int port() const { return server.port(); }
  Reply infer(std::string_view body, std::string_view headers = "") const {
    return ask(port(), post("/v2/models/net/infer", body, headers));
  }
};

}  // namespace

TEST_CASE("health, metadata, metrics, and inference by the protocol, on one connection") {
  const Fixture f;
  Connection c(f.port());
  c.send(get("/v2/health/live") + get("/v2/health/ready") + get("/v2") + get("/v2/models/net/versions/3") +
         get("/v2/models/net/ready"));
  CHECK(c.receive().body == R"({"live":true})");
  CHECK(c.receive().body == R"({"live":true,"ready":true})");
  CHECK(c.receive().body == R"({"name":"tenon","version":")" TENON_VERSION R"(","extensions":["binary_tensor_data"]})");
  CHECK(c.receive().body == R"({"name":"net","versions":["3"],"platform":"tenon","inputs":[)"
                            R"({"name":"word","datatype":"INT32","shape":[-1]},)"
                            R"({"name":"x","datatype":"FP32","shape":[-1,3]}],"outputs":[)"
                            R"({"name":"output","datatype":"FP32","shape":[-1,4]}]})");
  CHECK(c.receive().body == R"({"name":"net","ready":true})");
  c.send(post("/v2/models/net/infer", request_text(7, "[[0.5,-1e0,2]]", R"(,"outputs":[{"name":"output"}])")));
  const Reply reply = c.receive();
  CHECK(reply.status == 200);
  CHECK(reply.body.starts_with(R"({"model_name":"net","model_version":"3","id":"r\n1","outputs":[{"name":"output",)"
                               R"("datatype":"FP32","shape":[1,4],"data":[)"));
  // the digits are those of the same bits
  auto word = Tensor<std::int32_t, Shape<dyn>>::full(7, 1);
  auto x = Tensor<float, Shape<dyn, 3>>::empty(1);
  x.data()[0] = 0.5f, x.data()[1] = -1, x.data()[2] = 2;
  const auto y = f.model.predict(word, x);
  const char* at = reply.body.c_str() + reply.body.find("\"data\":[") + 8;
  for (int k = 0; k < 4; ++k) {
    char* end;
    CHECK(std::strtof(at, &end) == y.data()[k]);
    at = end + 1;
  }
  const std::string tail = bytes_of(f.infer(request_text(7, "[0.5,-1,2]", as_bytes)));
  REQUIRE(tail.size() == 16);
  CHECK(std::memcmp(tail.data(), y.data(), 16) == 0);
  const std::string metrics = ask(f.port(), get("/metrics")).body;
  CHECK(metrics.find("tenon_inference_request_success{model=\"net\",version=\"3\"} 2\n") != metrics.npos);
  CHECK(metrics.find("_seconds_bucket{model=\"net\",version=\"3\",le=\"+Inf\"} 2\n") != metrics.npos);
}

TEST_CASE("bytes of inputs follow the JSON, in its order") {
  const Fixture f;
  const std::string json =
      R"({"inputs":[{"name":"word","shape":[1],"datatype":"INT32","parameters":{"binary_data_size":4}},)"
      R"({"name":"x","shape":[1,3],"datatype":"FP32","parameters":{"binary_data_size":12}}],)"
      R"("outputs":[{"name":"output","parameters":{"binary_data":true}}]})";
  const std::int32_t word = 2;
  const float x[]{1, 0.1f, -3};
  std::string body = json;
  body.append(reinterpret_cast<const char*>(&word), 4).append(reinterpret_cast<const char*>(x), 12);
  const std::string header = "Inference-Header-Content-Length: ", size = std::to_string(json.size()) + "\r\n";
  CHECK(bytes_of(f.infer(body, header + size)) == bytes_of(f.infer(request_text(2, "[1,0.1,-3]", as_bytes))));
  CHECK(f.infer(body + "1", header + size).status == 400);
  CHECK(f.infer(body.substr(0, body.size() - 1), header + size).status == 400);
  CHECK(f.infer(body, header + "9999\r\n").status == 400);
  CHECK(f.infer(body, header + "-1\r\n").status == 400);
  CHECK(f.infer(body, header + size + header + size).status == 400);
  const float none = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(body.data() + body.size() - 4, &none, 4);
  CHECK(f.infer(body, header + size).status == 200);
  std::string in_json = body;  // which has no NaN
  in_json.replace(in_json.find("\"binary_data\":true"), 18, "\"binary_data\":null");
  CHECK(f.infer(in_json, header + size).status == 400);
  in_json.replace(in_json.find("\"binary_data\":null"), 18, "\"other_member\":12");
  CHECK(f.infer(in_json, header + size).status == 400);
}

TEST_CASE("the answer does not depend on the neighbours in the batch, nor on those that the model refuses") {
  const Fixture alone;
  const Fixture f(free_port, {.max_batch_size = 16, .max_queue_delay = std::chrono::milliseconds(100)});
  std::vector<std::thread> clients;
  std::atomic<int> equal = 0, refused = 0;
  for (int k = 0; k < 12; ++k)
    clients.emplace_back([&, k] {
      const std::string body = request_text(k, "[" + std::to_string(k * 0.37) + ",-2.5,1e-3]", as_bytes);
      const Reply reply = f.infer(body);
      if (k >= 10) refused += reply.status == 400 && reply.body.find("index out of range") != reply.body.npos;
      else equal += bytes_of(reply) == bytes_of(alone.infer(body));
    });
  for (std::thread& client : clients) client.join();
  CHECK(equal == 10);
  CHECK(refused == 2);
  const std::string metrics = ask(f.port(), get("/metrics")).body;
  CHECK(metrics.find("tenon_inference_exec_count{model=\"net\",version=\"3\"} 12\n") == metrics.npos);
}

TEST_CASE("a version is exchanged while requests arrive, and none is lost") {
  Server server(free_port);
  small::Net net;
  Model model{net};
  server.add<SmallInputs>("m", 1, model);
  server.start();
  const std::string body = R"({"inputs":[{"name":"x","shape":[1,3],"datatype":"FP32","data":[1,2,3]}]})";
  std::atomic<bool> end = false;
  std::atomic<long> answered = 0, other = 0;
  std::vector<std::thread> clients;
  for (int k = 0; k < 3; ++k)
    clients.emplace_back([&] {
      Connection c(server.port());
      while (!end) {
        c.send(post("/v2/models/m/infer", body));
        (c.receive().status == 200 ? answered : other) += 1;
      }
    });
  for (int k = 0; k < 30 || (answered <= 30 && k < 3000); ++k) {
    struct Both {
      small::Net net;
      Model<small::Net, NoLoss, NoOptimizer, ModelOptions{}> model{net};
    };
    const auto both = std::make_shared<Both>();
    server.add<SmallInputs>("m", 1, std::shared_ptr<const decltype(both->model)>(both, &both->model));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  end = true;
  for (std::thread& client : clients) client.join();
  CHECK(other == 0);
  CHECK(answered > 30);
  server.add<SmallInputs>("m", 2, model);
  CHECK(ask(server.port(), post("/v2/models/m/infer", body)).body.find("\"model_version\":\"2\"") != std::string::npos);
  CHECK(server.remove("m", 2));
  CHECK_FALSE(server.remove("m", 2));
  CHECK(ask(server.port(), post("/v2/models/m/versions/2/infer", body)).status == 404);
}

TEST_CASE("short batches are computed by the thread that reads, long ones are not") {
  for (const long most : {0, 1'000'000}) {
    std::set<std::thread::id> who;
    Server server(free_port);
    server.add("slow", 1, slow(who), {.max_direct_time = std::chrono::microseconds(most)});
    server.start();
    Connection c(server.port());
    for (int k = 0; k < 5; ++k) {
      c.send(slow_request);
      CHECK(c.receive().body.ends_with("[1.5]}]}"));
    }
    c.send(slow_request + slow_request + slow_request);  // in turn
    for (int k = 0; k < 3; ++k) CHECK(c.receive().status == 200);
    server.stop();
    CHECK(who.size() == (most ? 2 : 1));  // the first batch was not known to be short
  }
  std::set<std::thread::id> who;
  std::counting_semaphore<2> others_are_answered(0);
  Server server(free_port);
  server.add("slow", 1, slow(who, [&] {
               others_are_answered.acquire();
               std::this_thread::sleep_for(std::chrono::milliseconds(50));
             }));
  server.start();
  Connection c(server.port());
  for (int k = 0; k < 2; ++k) {
    c.send(slow_request);
    CHECK(ask(server.port(), get("/v2/health/live")).status == 200);
    others_are_answered.release();
    CHECK(c.receive().status == 200);
  }
  CHECK(who.size() == 1);
}

TEST_CASE("a full queue is status 503, and stop() computes what waits") {
  Fixture f(free_port, {.max_batch_size = 2, .max_queue_delay = std::chrono::minutes(5), .max_queue_size = 1});
  Connection first(f.port());
  first.send(post("/v2/models/net/infer", request_text(1, "[1,2,3]")));
  REQUIRE(one_waits(f.port()));
  CHECK(f.infer(request_text(1, "[1,2,3]")).status == 503);
  f.server.stop();
  CHECK(first.receive().status == 200);
  CHECK(first.is_closed());
  CHECK_FALSE(Connection(f.port()).is_open());
}

TEST_CASE("requests that do not fit get status 400 with a sentence, and the server goes on") {
  const Fixture f;
  const std::string x = R"({"name":"x","shape":[1,3],"datatype":"FP32","data":[1,2,3]})";
  const std::string word = R"({"name":"word","shape":[1],"datatype":"INT32","data":[1]})";
  const auto inputs = [](const std::string& list) { return R"({"inputs":[)" + list + "]}"; };
  const auto words = [&](const std::string& what) { return inputs(x + R"(,{"name":"word",)" + what + "}"); };
  CHECK(f.infer(inputs(x + "," + word)).status == 200);
  for (const std::string& wrong : std::vector<std::string>{
           std::string(),
           std::string("[]"),
           std::string("7"),
           std::string("{"),
           inputs(x),
           inputs(x + "," + x),
           inputs(x + "," + word + "," + word),
           inputs(word + "," + x) + "1",
           std::string(100'000, '['),
           R"({"a":)" + std::string(100'000, '[') + std::string(100'000, ']') + "}",
           inputs(x + ",null"),
           words(R"("shape":[1],"datatype":"INT64","data":[1])"),
           words(R"("shape":[2],"datatype":"INT32","data":[1])"),
           words(R"("shape":[0],"datatype":"INT32","data":[])"),
           words(R"("shape":[-1],"datatype":"INT32","data":[1])"),
           words(R"("shape":[1,1],"datatype":"INT32","data":[1])"),
           words(R"("shape":[1152921504606846977],"datatype":"INT32","data":[1])"),
           words(R"("shape":[65],"datatype":"INT32","data":[1])"),
           words(R"("shape":[1],"datatype":"INT32","data":[1.5])"),
           words(R"("shape":[1],"datatype":"INT32","data":[2147483648])"),
           words(R"("shape":[1],"datatype":"INT32","data":[true])"),
           words(R"("shape":[1],"datatype":"INT32","data":["1"])"),
           words(R"("shape":[1],"datatype":"INT32","data":1)"),
           words(R"("shape":[1],"datatype":"INT32")"),
           words(R"("datatype":"INT32","data":[1])"),
           words(R"("shape":[1],"datatype":7,"data":[1])"),
           words(R"("shape":[1],"datatype":"INT32","data":[1],"data":[1])"),
           words(R"("shape":[1],"datatype":"INT32","data":[10])"),  // an index outside of the table
           words(R"("shape":[1],"datatype":"INT32","parameters":{"binary_data_size":4})"),
           words(R"("shape":[1],"datatype":"INT32","data":[[1],[]])"),
           words(R"("shape":[1],"datatype":"INT32","data":[[1]])"),
           request_text(1, "[NaN,1,2]"),
           request_text(1, "[Infinity,1,2]"),
           request_text(1, "[1e999,1,2]"),
           request_text(1, "[1e39,1,2]"),
           request_text(1, "[[1,2],[3]]"),
           request_text(1, "[1,[2,3]]"),
           request_text(1, "[[1,2,3]", "]"),
           request_text(1, "[1,2,3]", R"(,"outputs":[{"name":"no"}])"),
           request_text(1, "[1,2,3]", R"(,"outputs":[{"name":"output"},{"name":"output"}])"),
           R"({"id":"\ud800","inputs":[]})",
           "{\"id\":\"\xff\",\"inputs\":[]}",
           R"({"id":7,"inputs":[]})",
       }) {
    CAPTURE(wrong.substr(0, 200));
    const Reply reply = f.infer(wrong);
    CHECK(reply.status == 400);
    CHECK(reply.body.starts_with("{\"error\":\""));
    CHECK(reply.body.size() < 400);
    CHECK(reply.body.find(".hpp") == reply.body.npos);
  }
  CHECK(
      f.infer(R"({"id":null,"outputs":null,"x":[{"y":[1,{"z":"data"}]}],"inputs":[)" + x + "," + word + "]}").status ==
      200);
  CHECK(f.infer(request_text(1, "[3.4028235e38,1,2]", as_bytes)).status == 200);  // the largest float32
}

TEST_CASE("HEAD gets the head alone of what GET gets, and a wrong method hears which ones there are") {
  const Fixture f({.port = 0});
  const auto all = [&](const std::string& first) {  // a second request shows where the first response ends
    Connection connection(f.port());
    connection.send(first + " HTTP/1.1\r\nHost: a\r\n\r\nGET /v2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    return connection.receive_all();
  };
  const std::string body = "{\"live\":true}", live = all("GET /v2/health/live");
  const std::size_t at = live.find(body);
  REQUIRE(at != live.npos);
  std::string without = live;
  CHECK(all("HEAD /v2/health/live") == without.erase(at, body.size()));
  const std::string refused = all("HEAD /v2/models/net/infer");
  CHECK(refused.starts_with("HTTP/1.1 405 "));
  CHECK(refused.find("\r\nAllow: POST\r\n") != refused.npos);
  CHECK(refused.find("\r\n\r\nHTTP/1.1 200 ") != refused.npos);
  CHECK(all("DELETE /v2").find("\r\nAllow: GET, HEAD\r\n") != refused.npos);
}

TEST_CASE("hostile HTTP is refused within limits") {
  const Fixture f({.port = 0,
                   .max_connections = 4,
                   .max_headers = 8,
                   .max_body_bytes = 4096,
                   .max_bodies_bytes = 8192,
                   .idle_time = std::chrono::milliseconds(600),
                   .read_time = std::chrono::milliseconds(300)});
  const std::string path = "/v2/models/net/infer", body = request_text(1, "[1,2,3]");
  const auto status = [&](const std::string& request) { return ask(f.port(), request).status; };
  CHECK(status(post(path, body)) == 200);
  CHECK(status(get(path)) == 405);
  CHECK(status(post("/v2/health/live", "")) == 405);
  CHECK(status(get("/")) == 404);
  CHECK(status(post("/v2/models/../net/infer", body)) == 404);
  CHECK(status(post("/v2/models/other/infer", body)) == 404);
  CHECK(status(post("/v2/models/net/versions/4/infer", body)) == 404);
  CHECK(status(post("/v2/models/net/versions/99999999999999999999/infer", body)) == 404);
  CHECK(status(post("/v2/models/net%0aerror/infer", body)) == 404);
  CHECK(status(post(path, body, "Transfer-Encoding: chunked\r\n")) >= 400);  // and a Content-Length
  CHECK(status(post(path, body, "Content-Length: 5\r\n")) == 400);
  CHECK(status("POST " + path + " HTTP/1.1\r\nContent-Length: 0\r\n\r\n") == 400);  // no Host
  CHECK(status(post(path, std::string(4097, ' '))) == 413);
  CHECK(status("POST " + path + " HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551615\r\n\r\n") == 413);
  CHECK(status("POST " + path + " HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n") == 400);
  CHECK(status(get("/" + std::string(10'000, 'a'))) == 431);
  std::string many;
  for (int k = 0; k < 9; ++k) many += "A" + std::to_string(k) + ": b\r\n";
  CHECK(status(post(path, body, many)) == 431);
  CHECK(status("\x16\x03\x01 not HTTP\r\n\r\n") == 400);
  Connection eager(f.port());
  eager.send(post(path, "", "Expect: 100-continue\r\n"));  // no body, so nothing to wait for
  CHECK(eager.receive().status == 400);
  Connection slow(f.port()), half(f.port()), idle(f.port());
  slow.send("GET /v2 HTTP/1.1\r\nHost:");
  half.send("POST " + path + " HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n{");
  CHECK(slow.is_closed());
  CHECK(half.is_closed());
  CHECK(idle.is_closed());
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  std::vector<std::unique_ptr<Connection>> all;
  for (int k = 0; k < 6; ++k) all.push_back(std::make_unique<Connection>(f.port()));
  all.back()->send(get("/v2"));
  CHECK(all.back()->receive().status == 0);
  all.clear();
}

TEST_CASE("settings that are out of range are refused with a sentence") {
  CHECK_THROWS_AS(Server({.port = 65536}), ValueError);
  CHECK_THROWS_AS(Server({.address = "localhost", .port = 0}), ValueError);
  Fixture f;
  CHECK_THROWS_AS(Server({.port = f.port()}), RuntimeError);
  CHECK_THROWS_AS(f.server.add<NetInputs>("../net", 1, f.model), ValueError);
  CHECK_THROWS_AS(f.server.add<NetInputs>("net", -1, f.model), ValueError);
  CHECK_THROWS_AS(f.server.add<NetInputs>("net", 1, f.model, {.outputs = {"a", "b"}}), ValueError);
  CHECK_THROWS_AS(f.server.add<NetInputs>("net", 1, f.model, {.max_batch_size = 0}), ValueError);
  CHECK_THROWS_AS(f.server.add<NetInputs>("net", 1, f.model, {.max_batch_size = std::numeric_limits<long>::max()}),
                  ValueError);
}

TEST_CASE("wait() returns when another thread stops the server, or has stopped it") {
  Server server(free_port);
  server.start();
  std::atomic<int> waiting = 2;
  std::vector<std::thread> threads;
  for (int k = 0; k < 2; ++k) threads.emplace_back([&] { server.wait(), --waiting; });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(waiting == 2);
  server.stop();
  for (std::thread& thread : threads) thread.join();
  server.wait();
  CHECK_FALSE(Connection(server.port()).is_open());
  Server other(free_port);  // a signal still ends it
  other.start();
  std::thread signal([] {
    struct sigaction now{};
    while (::sigaction(SIGTERM, nullptr, &now), now.sa_handler == SIG_DFL) std::this_thread::yield();
    ::kill(::getpid(), SIGTERM);
  });
  other.wait();
  signal.join();
}

#else
#include "../support/skip.hpp"
TEST_CASE("server") { support::say_skipped("Boost.Beast or nlohmann_json is not installed"); }
#endif
