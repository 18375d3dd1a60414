// Too little memory for a body or a response: the request is refused, and the server goes on.
// link: serve
#include <doctest/doctest.h>
#if __has_include(<boost/beast/http.hpp>) && __has_include(<nlohmann/json.hpp>)

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>

#include <tenon/serve.hpp>

#include "client.hpp"
#include "echo.hpp"

namespace {
std::atomic<std::size_t> most_bytes = ~std::size_t{0};  // larger allocations of the server's threads fail
thread_local bool is_client = false;

void* allocated(std::size_t bytes, std::size_t alignment) {
  if (bytes > most_bytes && !is_client) throw std::bad_alloc();
  if (void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment)) return memory;
  throw std::bad_alloc();
}
}  // namespace

void* operator new(std::size_t bytes) { return allocated(bytes ? bytes : 1, 16); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocated(bytes ? bytes : 1, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

using namespace tenon;
using namespace serving_test;

TEST_CASE("memory that the system does not give") {
  is_client = true;
  constexpr int width = 100'000;
  Server server({.port = 0});
  server.add("echo", 1, std::make_unique<const Echo>(width));
  server.start();
  const std::string path = "/v2/models/echo/infer";
  const std::string json = R"({"inputs":[{"name":"x","shape":[1,)" + std::to_string(width) +
                           R"(],"datatype":"FP32","parameters":{"binary_data_size":)" + std::to_string(4 * width) +
                           "}}]}";
  std::string bytes(4 * width, '\0');
  for (std::size_t k = 2; k < bytes.size(); k += 4) bytes[k] = char(k % 91), bytes[k + 1] = 0x3f;
  const std::string at_once =
      post(path, json + bytes, "Inference-Header-Content-Length: " + std::to_string(json.size()) + "\r\n");
  std::string in_chunks = "POST " + path + " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int k = 0; k < 40; ++k) in_chunks += "8000\r\n" + std::string(0x8000, ' ') + "\r\n";
  in_chunks += "0\r\n\r\n";
  const auto with_at_most = [&](std::size_t most, const std::string& sent) {
    Connection connection(server.port());
    most_bytes = most;
    connection.send(sent);
    const Reply reply = connection.receive();
    most_bytes = ~std::size_t{0};
    return reply;
  };
  const std::string whole = ask(server.port(), at_once).body;
  REQUIRE(whole.size() > 600'000);
  const std::string refused = R"({"error":"out of memory, try again later"})";
  const std::size_t body = json.size() + bytes.size();
  const std::pair<std::size_t, const std::string*> cases[]{
      {body / 2, &at_once}, {body / 2, &in_chunks}, {body + 1000, &at_once}};  // the body, and the response as numbers
  for (const auto& [most, sent] : cases) {
    CAPTURE(most);
    const Reply reply = with_at_most(most, *sent);
    CHECK(reply.status == 503);
    CHECK(reply.body == refused);
    CHECK(ask(server.port(), at_once).body == whole);
  }
  CHECK(comes_true([&] { return server.connections() == 0; }));
}

#else
#include "../support/skip.hpp"
TEST_CASE("low memory") { support::say_skipped("Boost.Beast or nlohmann_json is not installed"); }
#endif
