// A connection reads what RFC 9112 says of HTTP, and lives as long as the settings say.
// link: serve
#include <doctest/doctest.h>
#if __has_include(<boost/beast/http.hpp>) && __has_include(<nlohmann/json.hpp>)

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include <tenon/serve.hpp>

#include "client.hpp"
#include "echo.hpp"

using namespace tenon;
using namespace serving_test;

namespace {

/// A server with the model "x", which returns its input.
struct Fixture {
  Server server;
  explicit Fixture(const ServeOptions& options = {.port = 0}, const ServedOptions& served = {}) : server(options) {
    server.add("x", 1, std::make_unique<const Echo>(0), served);
    server.start();
  }
  int port() const { return server.port(); }
};
const std::string path = "/v2/models/x/infer";
const std::string body = R"({"inputs":[{"name":"x","shape":[1],"datatype":"FP32","data":[1.5]}]})";

}  // namespace

TEST_CASE("what RFC 9112 asks of a server: Expect of HTTP/1.0, targets with a host, an empty line before a request") {
  const Fixture f;
  const auto with_expect = [&](const std::string& version) {
    return "POST " + path + " HTTP/" + version +
           "\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  };
  CHECK(ask(f.port(), with_expect("1.0")).status == 200);
  CHECK(ask(f.port(), with_expect("1.1")).status == 100);
  for (const char* target :
       {"http://a/v2/health/ready", "HTTP://[::1]:8080/v2/health/ready?x=http://b/", "https://a/v2"})
    CHECK(ask(f.port(), get(target)).status == 200);
  CHECK(ask(f.port(), post("http://a" + path, body)).status == 200);
  for (const char* target :
       {"http://", "http://a", "http:///v2", "http:/v2", "ftp://a/v2", "//a/v2", "a/v2", "http://a?/v2"})
    CHECK(ask(f.port(), get(target)).status >= 400);
  Connection c(f.port());
  for (const char* before : {"\r\n", "", "\r\n"}) {
    c.send(before + get("/v2"));
    CHECK(c.receive().status == 200);
  }
  for (const char* part : {"\r", "\n", "GET /v2 HTTP/1.1\r\n", "Host: a\r\n\r\n"}) {  // as it may arrive
    c.send(part);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  CHECK(c.receive().status == 200);
  CHECK(ask(f.port(), "\r\n\r\n" + get("/v2")).status == 400);  // one is enough
}

TEST_CASE("times that no clock reaches last for ever") {
  const auto most = std::chrono::milliseconds::max();
  Fixture f({.port = 0, .idle_time = most, .read_time = most, .write_time = most, .stop_time = most},
            {.max_queue_delay = std::chrono::microseconds::max()});
  Connection c(f.port());
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // the watch looks once a second
  c.send(get("/v2"));
  CHECK(c.receive().status == 200);
  c.send(post(path, body));
  REQUIRE(one_waits(f.port()));
  f.server.stop();  // computes what waits
  CHECK(c.receive().status == 200);
}

#else
#include "../support/skip.hpp"
TEST_CASE("session") { support::say_skipped("Boost.Beast or nlohmann_json is not installed"); }
#endif
