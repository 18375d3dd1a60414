// Bodies of requests that arrive in chunks, or compressed: the answers are those of the same bytes as they are.
// label: long
// link: serve
#include <doctest/doctest.h>
#if __has_include(<boost/beast/http.hpp>) && __has_include(<nlohmann/json.hpp>)

#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <tenon/serve.hpp>

#include "client.hpp"
#include "echo.hpp"

using namespace tenon;
using namespace serving_test;

namespace {

struct Fixture {
  Server server{{.port = 0,
                 .max_header_bytes = 1024,
                 .max_body_bytes = 20'000,
                 .max_bodies_bytes = 50'000,
                 .read_time = std::chrono::milliseconds(1000)}};
  Fixture() {
    server.add("echo", 1, std::make_unique<const Echo>(3));
    server.start();
  }
  Reply send(const std::string& request) const { return ask(server.port(), request); }
};
const std::string path = "/v2/models/echo/infer";
const std::string json = R"({"inputs":[{"name":"x","shape":[2,3],"datatype":"FP32","data":[1,2,3,4,5,6.5]}]})";

/// The head of a request whose body is not counted.
std::string chunked(const std::string& more = "", const std::string& version = "1.1") {
  return "POST " + path + " HTTP/" + version + "\r\nHost: a\r\nTransfer-Encoding: chunked\r\n" + more + "\r\n";
}
std::string chunks_of(const std::string& body, std::size_t most, const std::string& extension = "") {
  std::string all;
  for (std::size_t at = 0; at < body.size(); at += most) {
    const std::string part = body.substr(at, most);
    char size[20];
    std::snprintf(size, sizeof size, "%zX", part.size());
    all += size + extension + "\r\n" + part + "\r\n";
  }
  return all + "0\r\n\r\n";
}

}  // namespace

TEST_CASE("a body in chunks") {
  const Fixture f;
  const Reply wanted = f.send(post(path, json));
  REQUIRE(wanted.status == 200);
  for (const std::size_t most : {1u, 7u, 1000u}) {
    CAPTURE(most);
    CHECK(f.send(chunked() + chunks_of(json, most)).body == wanted.body);
    CHECK(f.send(chunked() + chunks_of(json, most, ";a=\"b\"")).body == wanted.body);
  }
  // byte by byte, and several on a connection
  Connection connection(f.server.port());
  for (const char one : chunked() + chunks_of(json, 30)) connection.send(std::string(1, one));
  CHECK(connection.receive().body == wanted.body);
  connection.send(chunked() + chunks_of(json, 9) + post(path, json) + chunked() + chunks_of(json, 50) + get("/v2"));
  for (int k = 0; k < 3; ++k) CHECK(connection.receive().body == wanted.body);
  CHECK(connection.receive().status == 200);
  connection.send(chunked("Expect: 100-continue\r\n"));
  CHECK(connection.receive().status == 100);
  connection.send(chunks_of(json, 40));
  CHECK(connection.receive().body == wanted.body);
  // spaces make the body longer than one read
  CHECK(f.send(chunked() + chunks_of(json + std::string(19'000, ' '), 3000)).body == wanted.body);
}

TEST_CASE("chunks that are refused") {
  const Fixture f;
  const auto status = [&](const std::string& request) { return f.send(request).status; };
  const std::string chunks = chunks_of(json, 20), head = "POST " + path + " HTTP/1.1\r\nHost: a\r\n";
  for (const char* coding :
       {"gzip, chunked", "chunked, gzip", "identity", "x", "chunked;a=b", "chunked, chunked", ""}) {
    CAPTURE(coding);
    CHECK(status(head + "Transfer-Encoding: " + coding + "\r\n\r\n" + chunks) == 411);
  }
  CHECK(status(chunked("Transfer-Encoding: chunked\r\n") + chunks) == 400);
  CHECK(status(chunked("Content-Length: 5\r\n") + chunks) == 400);
  CHECK(status(head + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks) == 400);
  CHECK(status(chunked("", "1.0") + chunks) == 411);
  for (const char* wrong : {"g\r\n", "-1\r\n", "\r\n", "0x5\r\n", "5 5\r\n", "1\r\nabc\r\n", "5;\x01\r\n"}) {
    CAPTURE(wrong);
    CHECK(status(chunked() + wrong + chunks) == 400);
  }
  CHECK(status(chunked() + "FFFFFFFFFFFFFFFF\r\n") == 413);
  CHECK(status(chunked() + "10000000000000005\r\n" + chunks) == 400);
  CHECK(status(chunked() + chunks_of(std::string(20'001, ' '), 6)) == 413);
  CHECK(status(chunked() + "5;" + std::string(100'000, 'a')) == 431);
  CHECK(status(chunked() + "0\r\n" + std::string(100'000, 'a')) == 431);
  const std::string without_end = chunks.substr(0, chunks.size() - 2);
  CHECK(status(chunked() + without_end + "Inference-Header-Content-Length: 3\r\n\r\n") == 400);
  CHECK(status(chunked() + without_end + "Content-Length: 3\r\n\r\n") == 400);
  CHECK(status(chunked() + chunks.substr(0, 30)) == 0);  // nothing follows: closed after the time to read
  // bodies that are not complete take their share of the bytes of all
  std::vector<std::unique_ptr<Connection>> all;
  int refused = 0;
  for (int k = 0; k < 4; ++k) {
    all.push_back(std::make_unique<Connection>(f.server.port()));
    all.back()->send(chunked() + "4000\r\n" + std::string(16'000, ' '));
  }
  for (const auto& one : all) refused += one->receive().status == 503;
  CHECK(refused == 1);
  all.clear();
  CHECK(status(post(path, json)) == 200);
}

#if defined(TENON_WITH_ZLIB)
namespace {
/// As zlib compresses it: in its own form, or as gzip.
std::string packed(std::string bytes, bool gzip) {
  ::z_stream stream{};
  REQUIRE(::deflateInit2(&stream, 9, Z_DEFLATED, gzip ? 15 + 16 : 15, 9, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string to(bytes.size() + 200, '\0');
  stream.next_in = reinterpret_cast<::Bytef*>(bytes.data()), stream.avail_in = ::uInt(bytes.size());
  stream.next_out = reinterpret_cast<::Bytef*>(to.data()), stream.avail_out = ::uInt(to.size());
  REQUIRE(::deflate(&stream, Z_FINISH) == Z_STREAM_END);
  to.resize(stream.total_out);
  ::deflateEnd(&stream);
  return to;
}
const std::string gzipped = "Content-Encoding: gzip\r\n", deflated = "Content-Encoding: deflate\r\n";
}  // namespace

TEST_CASE("a compressed body") {
  const Fixture f;
  const std::string wanted = f.send(post(path, json)).body;
  CHECK(f.send(post(path, packed(json, true), gzipped)).body == wanted);
  CHECK(f.send(post(path, packed(json, true), "Content-Encoding: X-GZip\r\n")).body == wanted);
  CHECK(f.send(post(path, packed(json, false), deflated)).body == wanted);
  CHECK(f.send(post(path, json, "Content-Encoding: identity\r\n")).body == wanted);
  CHECK(f.send(chunked(gzipped) + chunks_of(packed(json, true), 5)).body == wanted);
  CHECK(f.send(post(path, packed(json + std::string(20'000 - json.size(), ' '), true), gzipped)).body == wanted);
  // bytes of tensors after the JSON, whose length is that before it was compressed
  const std::string text =
      R"({"inputs":[{"name":"x","shape":[1,3],"datatype":"FP32","parameters":{"binary_data_size":12}}]})";
  const std::string length = "Inference-Header-Content-Length: " + std::to_string(text.size()) + "\r\n";
  const std::string bytes("\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40", 12);
  const Reply binary = f.send(post(path, packed(text + bytes, false), deflated + length));
  CHECK(binary.status == 200);
  CHECK(binary.body == f.send(post(path, text + bytes, length)).body);
}

TEST_CASE("a compressed body that is refused") {
  const Fixture f;
  const auto status = [&](const std::string& body, const std::string& more) {
    return f.send(post(path, body, more)).status;
  };
  const std::string good = packed(json, true);
  for (const char* coding : {"br", "gzip, deflate", "gzip, gzip", "compress", "gzip;q=1"})
    CHECK(status(good, std::string("Content-Encoding: ") + coding + "\r\n") == 415);
  CHECK(status(good, gzipped + gzipped) == 415);
  CHECK(status(good, deflated) == 400);
  CHECK(status(packed(json, false), gzipped) == 400);
  CHECK(status(json, gzipped) == 400);
  CHECK(status("", gzipped) == 400);
  CHECK(status(good + good, gzipped) == 400);
  CHECK(status(good + '\0', gzipped) == 400);
  for (std::size_t size = 0; size < good.size(); ++size) CHECK(status(good.substr(0, size), gzipped) == 400);
  for (int round = 0; round < 10; ++round) {
    CHECK(status(packed(std::string(20'001, ' '), true), gzipped) == 413);
    CHECK(status(packed(std::string(10'000'000, ' '), true), gzipped) == 413);  // 10 KB
  }
  std::mt19937 random(5);
  int taken = 0;
  for (int round = 0; round < 1000; ++round) {
    std::string changed = good;
    for (unsigned k = random() % 3 + 1; k > 0; --k) changed[random() % changed.size()] = char(random());
    const int found = status(changed, gzipped);
    taken += found == 200;
    if (found != 200) CHECK(found == 400);
  }
  CHECK(taken < 200);  // some bytes of the head of gzip mean nothing
  CHECK(status(good, gzipped) == 200);
}
#else
TEST_CASE("without zlib a compressed body is refused by a sentence") {
  const Fixture f;
  const Reply reply = f.send(post(path, json, "Content-Encoding: gzip\r\n"));
  CHECK(reply.status == 415);
  CHECK(reply.body.find("without zlib") != reply.body.npos);
}
#endif

#else
#include "../support/skip.hpp"
TEST_CASE("bodies") { support::say_skipped("Boost.Beast or nlohmann_json is not installed"); }
#endif
