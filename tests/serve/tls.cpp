// A server with TLS answers as one without, and takes no bytes that are not TLS.
// label: long
// link: tls
#include <doctest/doctest.h>
#if __has_include(<boost/beast/http.hpp>) && __has_include(<nlohmann/json.hpp>) && __has_include(<openssl/ssl.h>)

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <tenon/serve/tls.hpp>

#include "certificate.hpp"
#include "echo.hpp"

using namespace tenon;
using namespace serving_test;
using std::chrono::milliseconds;

namespace {

constexpr int width = 4096;
/// A folder that is removed at the end.
struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("tenon_tls_" + std::to_string(::getpid()));
  Folder() { std::filesystem::create_directory(path); }
  Folder(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path); }
};
std::string path_of(const std::string& name) {
  static const Folder folder;
  return (folder.path / name).string();
}
/// Files of certificates, once.
const std::string& good() {
  static const std::string prefix = [] {
    write_certificate(path_of("good"), 100'000, 1);
    write_certificate(path_of("other"), 100'000, 2);
    write_certificate(path_of("old"), -1000, 3);
    write_certificate(path_of("secret"), 100'000, 4, "pass");
    return path_of("good");
  }();
  return prefix;
}
TlsOptions files(const std::string& prefix) { return {.certificate = prefix + ".crt", .key = prefix + ".key"}; }

struct Fixture {
  TlsServer server;
  explicit Fixture(ServeOptions options = {.port = 0}, const TlsOptions& tls = files(good())) : server(tls, options) {
    server.add("echo", 1, std::make_unique<const serving_test::Echo>(width));
    server.start();
  }
  int port() const { return server.port(); }
  Reply ask(const std::string& request, TlsWishes wishes = {.authority = good()}) const {
    TlsClient client(port(), wishes);
    client.send(request);
    return client.receive();
  }
  bool lives() const { return ask(get("/v2/health/live")).body == R"({"live":true})"; }
};

/// A request of n samples as bytes.
std::string echo_request(long n, std::string& bytes) {
  bytes.assign(std::size_t(n) * width * 4, '\0');
  for (std::size_t k = 0; k < bytes.size(); ++k) bytes[k] = char(k * 7 + k / 251);
  const std::string json = R"({"inputs":[{"name":"x","shape":[)" + std::to_string(n) + "," + std::to_string(width) +
                           R"(],"datatype":"FP32","parameters":{"binary_data_size":)" + std::to_string(bytes.size()) +
                           R"(}}],"parameters":{"binary_data_output":true}})";
  return post("/v2/models/echo/infer", json + bytes,
              "Inference-Header-Content-Length: " + std::to_string(json.size()) + "\r\n");
}

}  // namespace

TEST_CASE("requests and large bodies over TLS 1.2 and 1.3, several on a connection") {
  const Fixture f;
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsClient client(f.port(), {.authority = good(), .version = version});
    REQUIRE(client.is_open());
    CHECK(client.version() == version);
    client.send(get("/v2/health/live") + get("/v2/models/echo/ready"));
    CHECK(client.receive().body == R"({"live":true})");
    CHECK(client.receive().body == R"({"name":"echo","ready":true})");
    for (const long n : {1L, 3L, 64L}) {
      std::string bytes;
      client.send(echo_request(n, bytes));
      const Reply reply = client.receive();
      CHECK(reply.status == 200);
      CHECK(reply.body.ends_with(bytes));
    }
    client.send("GET /v2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    CHECK(client.receive().status == 200);
    CHECK(client.is_ended());
  }
  CHECK(TlsClient(f.port(), {.authority = good(), .protocols = "\x02h2\x08http/1.1"}).is_open());
  CHECK_FALSE(TlsClient(f.port(), {.authority = good(), .protocols = "\x02h2"}).is_open());
  CHECK_FALSE(TlsClient(f.port(), {.authority = good(), .version = TLS1_1_VERSION}).is_open());
  CHECK_FALSE(TlsClient(f.port(), {.authority = path_of("other")}).is_open());
}

TEST_CASE("200 connections at a time") {
  const Fixture f;
  std::vector<std::unique_ptr<TlsClient>> all;
  for (int k = 0; k < 200; ++k) all.push_back(std::make_unique<TlsClient>(f.port(), TlsWishes{.authority = good()}));
  CHECK(f.server.connections() == 200);
  std::string bytes;
  const std::string request = echo_request(1, bytes);
  int equal = 0;
  for (int round = 0; round < 2; ++round) {
    for (const auto& client : all) client->send(request);
    for (const auto& client : all) equal += client->receive().body.ends_with(bytes);
  }
  CHECK(equal == 400);
}

TEST_CASE("what is not TLS is closed, and the server goes on") {
  const Fixture f({.port = 0, .read_time = milliseconds(500)});
  Connection plain(f.port());
  plain.send(get("/v2"));
  CHECK(plain.receive().status == 0);
  std::mt19937 random(5);
  const std::string hello = client_hello();
  REQUIRE(hello.size() > 100);
  for (int k = 0; k < 1000; ++k) {
    std::string bytes = hello;
    if (k % 10 == 0) bytes.resize(random() % bytes.size());
    for (unsigned changes = k % 7 == 0 ? 100 : 1 + random() % 4; changes && !bytes.empty(); --changes)
      bytes[random() % bytes.size()] = char(random());
    if (k % 50 == 1) bytes.assign(bytes.size() * 20, char(random()));
    Connection c(f.port());
    c.send(bytes);
    ::shutdown(c.socket(), SHUT_WR);
  }
  CHECK(f.lives());
  // some are a whole hello, and their handshake begins
  CHECK(comes_true([&] { return f.server.connections() == 0; }));
}

TEST_CASE("a handshake counts as a connection, has a time, and does not hinder a stop") {
  {
    Fixture f({.port = 0, .max_connections = 3, .read_time = milliseconds(1000)});
    std::vector<std::unique_ptr<Connection>> slow;
    for (int k = 0; k < 3; ++k) slow.push_back(std::make_unique<Connection>(f.port()));
    slow[0]->send(client_hello().substr(0, 50));
    REQUIRE(comes_true([&] { return f.server.connections() == 3; }));
    CHECK_FALSE(TlsClient(f.port(), {.authority = good()}).is_open());  // the fourth
    for (const auto& client : slow) CHECK(client->is_closed());
    CHECK(comes_true([&] { return f.server.connections() == 0; }));
    CHECK(f.lives());
  }
  Fixture f;
  const Connection none(f.port());
  TlsClient idle(f.port(), {.authority = good()});
  REQUIRE(idle.is_open());
  const auto start = std::chrono::steady_clock::now();
  f.server.stop();
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(3));
}

TEST_CASE("clients need a certificate where authorities are given") {
  TlsOptions tls = files(good());
  tls.client_authorities = path_of("other") + ".crt";
  const Fixture f({.port = 0}, tls);
  CHECK(f.ask(get("/v2")).status == 0);
  CHECK(f.ask(get("/v2"), {.authority = good(), .certificate = good()}).status == 0);  // of another authority
  CHECK(f.ask(get("/v2"), {.authority = good(), .certificate = path_of("other")}).status == 200);
}

TEST_CASE("a certificate is exchanged while the server runs") {
  const std::string changing = path_of("changing");
  good();
  write_certificate(changing, 100'000, 10);
  Fixture f({.port = 0}, files(changing));
  TlsClient before(f.port(), {.authority = changing});
  CHECK(before.serial() == 10);
  write_certificate(changing, 100'000, 11);
  f.server.reload_certificate();
  CHECK(TlsClient(f.port(), {.authority = changing}).serial() == 11);
  before.send(get("/v2"));
  CHECK(before.receive().status == 200);
  std::filesystem::copy_file(good() + ".key", changing + ".key", std::filesystem::copy_options::overwrite_existing);
  CHECK_THROWS_AS(f.server.reload_certificate(), RuntimeError);
  CHECK(TlsClient(f.port(), {.authority = changing}).serial() == 11);
}

TEST_CASE("a wrong file is an error that names it") {
  good();
  const auto sentence = [](const TlsOptions& tls) -> std::string {
    try {
      const TlsServer server(tls, {.port = 0});
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  };
  const auto says = [&](const TlsOptions& tls, const std::string& file, const std::string& words) {
    const std::string found = sentence(tls);
    CAPTURE(found);
    CHECK(found.find(file) != found.npos);
    CHECK(found.find(words) != found.npos);
  };
  TlsOptions tls = files(good());
  CHECK(sentence(tls).empty());
  tls.certificate = path_of("none");
  says(tls, "/none", "No such file");
  tls.certificate = good() + ".key";
  says(tls, "/good.key", "no certificate");
  tls = files(good()), tls.key = path_of("other") + ".key";
  says(tls, "/other.key", "does not belong to the certificate");
  tls.key = good() + ".crt";
  says(tls, "/good.crt", "no private key");
  tls.key = "";
  says(tls, "key", "names no file");
  tls = files(path_of("secret"));
  says(tls, "/secret.key", "without a password");
  tls.password = "wrong";
  says(tls, "/secret.key", "another password");
  tls.password = "pass";
  CHECK(sentence(tls).empty());
  tls = files(good()), tls.client_authorities = good() + ".key";
  says(tls, "/good.key", "no certificates");
  CHECK(sentence(files(path_of("old"))).empty());  // a warning: clients decide
  Fixture f({.port = 0}, files(path_of("old")));
  CHECK_FALSE(TlsClient(f.port(), {.authority = path_of("old")}).is_open());
}

#else
#include "../support/skip.hpp"
TEST_CASE("TLS") { support::say_skipped("Boost.Beast, nlohmann_json, or OpenSSL is not installed"); }
#endif
