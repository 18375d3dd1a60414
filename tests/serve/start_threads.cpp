// A server whose threads the system does not make.
// link: serve
#include <doctest/doctest.h>
#if __has_include(<boost/beast/http.hpp>) && __has_include(<nlohmann/json.hpp>)

#include <memory>
#include <string>

#include <tenon/serve.hpp>

#include "../support/error_of.hpp"
#include "../support/few_threads.hpp"
#include "client.hpp"
#include "echo.hpp"

using namespace tenon;
using namespace serving_test;

TEST_CASE("fewer threads than asked for: a sentence, and the server goes on as before") {
  const std::string request =
      post("/v2/models/x/infer", R"({"inputs":[{"name":"x","shape":[1],"datatype":"FP32","data":[1.5]}]})");
  Server server({.port = 0, .threads = 3});
  CHECK(support::error_of([&] {
          const support::FewThreads scope(2);
          server.start();
        }) == "Server.start got threads = 3, and the system made 2 of these threads: use fewer, or raise its limits "
              "(ulimit -u, pids.max).");
  server.add("x", 1, std::make_unique<const Echo>(0));
  server.start();
  CHECK(ask(server.port(), request).status == 200);
  CHECK(support::error_of([&] {
          const support::FewThreads scope(5);
          server.add("x", 1, std::make_unique<const Echo>(0), {.instances = 9});
        }) == "Server.add got instances = 9, and the system made 5 of these threads: use fewer, or raise its limits "
              "(ulimit -u, pids.max).");
  CHECK(ask(server.port(), request).status == 200);
}

#else
#include "../support/skip.hpp"
TEST_CASE("start_threads") { support::say_skipped("Boost.Beast or nlohmann_json is not installed"); }
#endif
