// A server over gRPC: the bits of HTTP, statuses, deadlines, limits, and bytes that are no gRPC.
// label: long
// link: grpc
#include <doctest/doctest.h>
#if __has_include(<boost/beast/http.hpp>) && __has_include(<nlohmann/json.hpp>) && __has_include(<grpcpp/grpcpp.h>) && \
    __has_include(<protozero/pbf_reader.hpp>)

#include <grpcpp/generic/generic_stub.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include <tenon/serve/grpc.hpp>

#include "../support/error_of.hpp"
#include "../support/few_threads.hpp"
#include "../train/small.hpp"
#include "client.hpp"
#include "echo.hpp"
#include "infer_message.hpp"

using namespace tenon;
using namespace serving_test;
using grpc::StatusCode;
using std::chrono::milliseconds;

// gRPC is not built for the thread sanitizer: what it reads and writes itself, and how its threads wait for each other,
// is not looked at. So it seems to make a call, which RunHandler does, beside all that happens to it.
// Nothing calls these two in a build without it.
extern "C" const char* __tsan_default_options() { return "ignore_noninstrumented_modules=1"; }
extern "C" const char* __tsan_default_suppressions() { return "race:CallbackBidiHandler*RunHandler"; }

namespace {

using SmallInputs = dataset::Columns<dataset::Column<float, Shape<3>, "x">>;

/// Returns its input when `may_end` lets it, and counts the samples that it computes.
auto slow_echo(std::counting_semaphore<>& may_end, std::atomic<long>& computed) {
  return std::make_unique<const serving_test::Echo>(3, [&](long n) {
    computed += n;
    may_end.acquire();
  });
}

struct Result {
  grpc::Status status;
  std::string bytes;
};
using GenericClient = grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer>;

std::shared_ptr<grpc::Channel> channel_to(int port) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
  return grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials(), arguments);
}
Result call(const std::shared_ptr<grpc::Channel>& channel, const std::string& method, const std::string& message,
            milliseconds time = milliseconds(10'000)) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + time);
  grpc::CompletionQueue queue;
  const grpc::Slice slice(message);
  const grpc::ByteBuffer request(&slice, 1);
  GenericClient client(channel);
  const auto rpc = client.PrepareUnaryCall(&context, "/inference.GRPCInferenceService/" + method, request, &queue);
  rpc->StartCall();
  grpc::ByteBuffer reply;
  Result result;
  rpc->Finish(&reply, &result.status, nullptr);
  void* tag;
  bool ok;
  queue.Next(&tag, &ok);
  grpc::Slice whole;
  if (result.status.ok() && reply.DumpToSingleSlice(&whole).ok())
    result.bytes.assign(reinterpret_cast<const char*>(whole.begin()), whole.size());
  return result;
}
/// The bytes of a field of a message.
std::string field_of(const std::string& message, unsigned number) {
  io::MessageField field;
  for (io::Message fields(message); fields.next(field);)
    if (field.number == number) return std::string(field.bytes("the field"));
  return "";
}

const std::string x_contents = floats({1, -2, 3});
const InputOfMessage x{"x", "FP32", {1, 3}, x_contents};

struct Fixture {
  small::Net net;
  Model<small::Net, NoLoss, NoOptimizer, ModelOptions{}> model{net};
  std::atomic<long> computed = 0;
  std::counting_semaphore<> may_end{0};
  Server server;
  GrpcServer over_grpc;
  std::shared_ptr<grpc::Channel> channel = channel_to(over_grpc.port());

  explicit Fixture(const ServeOptions& options = {.port = 0}, int max_calls = 1024, const ServedOptions& served = {})
      : server(options), over_grpc(server, {.port = 0, .max_calls = max_calls}) {
    server.add<SmallInputs>("net", 2, model);
    server.add("slow", 1, slow_echo(may_end, computed), served);
    server.start();
  }
  Result ask(const std::string& method, const std::string& message = "") const {
    return call(channel, method, message);
  }
  Result slow(milliseconds time = milliseconds(10'000)) const {
    return call(channel_to(over_grpc.port()), "ModelInfer", infer_message("slow", "", {x}), time);
  }
};

}  // namespace

TEST_CASE("health, metadata, and the bits of HTTP") {
  const Fixture f;
  CHECK(f.ask("ServerLive").bytes == "\x08\x01");
  CHECK(f.ask("ServerReady").bytes == "\x08\x01");
  CHECK(f.ask("ModelReady", infer_message("net", "2", {})).bytes == "\x08\x01");
  CHECK(f.ask("ModelReady", infer_message("net", "3", {})).bytes == std::string("\x08\x00", 2));
  CHECK(field_of(f.ask("ServerMetadata").bytes, 2) == TENON_VERSION);
  const std::string metadata = f.ask("ModelMetadata", infer_message("net", "", {})).bytes;
  CHECK(field_of(metadata, 1) == "net");
  CHECK(field_of(metadata, 2) == "2");
  CHECK(field_of(field_of(metadata, 4), 2) == "FP32");
  const Result typed = f.ask("ModelInfer", infer_message("net", "", {x}, {}, {}, "id 7"));
  REQUIRE(typed.status.ok());
  CHECK(field_of(typed.bytes, 1) == "net");
  CHECK(field_of(typed.bytes, 2) == "2");
  CHECK(field_of(typed.bytes, 3) == "id 7");
  InputOfMessage bare = x;
  bare.contents.clear();
  const Result raw = f.ask("ModelInfer", infer_message("net", "2", {bare}, {raw_bytes<float>({1, -2, 3})}));
  const std::string bits = field_of(typed.bytes, 6);
  CHECK(field_of(raw.bytes, 6) == bits);
  const Reply reply = ::serving_test::ask(
      f.server.port(), post("/v2/models/net/infer", R"({"inputs":[{"name":"x","shape":[1,3],"datatype":"FP32",)"
                                                    R"("data":[1,-2,3]}],"parameters":{"binary_data_output":true}})"));
  CHECK(reply.status == 200);
  REQUIRE(!bits.empty());
  CHECK(reply.body.ends_with(bits));
}

TEST_CASE("without a thread for its calls a GrpcServer says so") {
  const Server server({.port = 0});
  const support::FewThreads scope(0);
  CHECK(support::error_of([&] { GrpcServer(server, {.port = 0}); }).starts_with("GrpcServer needs a thread"));
}

TEST_CASE("what a client does wrong is a status with a sentence") {
  const Fixture f({.port = 0, .max_body_bytes = 4096, .max_bodies_bytes = 4096});
  const auto code = [&](const std::string& method, const std::string& message) {
    return f.ask(method, message).status.error_code();
  };
  CHECK(code("ModelInfer", infer_message("none", "", {x})) == StatusCode::NOT_FOUND);
  CHECK(code("ModelInfer", infer_message("net", "9", {x})) == StatusCode::NOT_FOUND);
  CHECK(code("ModelMetadata", infer_message("none", "", {})) == StatusCode::NOT_FOUND);
  CHECK(code("ModelInfer", infer_message("net", "", {})) == StatusCode::INVALID_ARGUMENT);
  CHECK(code("ModelInfer", "\xff\xff") == StatusCode::INVALID_ARGUMENT);
  CHECK(code("RepositoryIndex", "") == StatusCode(12));
  CHECK(code("ModelInfer", std::string(5000, 'a')) == StatusCode::RESOURCE_EXHAUSTED);
  const grpc::Status wrong = f.ask("ModelInfer", infer_message("net", "", {{"x", "FP64", {1, 3}}})).status;
  CHECK(wrong.error_message() == "input x has the datatype 'FP64', the model takes FP32");
  CHECK(f.ask("ModelInfer", infer_message("net", "", {x})).status.ok());
  CHECK_THROWS_AS(GrpcServer(f.server, {.port = f.over_grpc.port()}), RuntimeError);
  CHECK_THROWS_AS(GrpcServer(f.server, {.address = "localhost", .port = 0}), ValueError);
  CHECK_THROWS_AS(GrpcServer(f.server, {.port = 0, .max_calls = 0}), ValueError);
}

TEST_CASE("requests whose clients have given up are not computed") {
  Fixture f({.port = 0}, 1024, {.max_batch_size = 1});
  std::vector<std::thread> clients;
  std::atomic<int> late = 0, done = 0;
  std::thread first([&] { done += f.slow().status.ok(); });
  CHECK(comes_true([&] { return f.computed == 1; }));
  for (int k = 0; k < 5; ++k)
    clients.emplace_back(
        [&] { late += f.slow(milliseconds(100)).status.error_code() == StatusCode::DEADLINE_EXCEEDED; });
  for (std::thread& client : clients) client.join();
  std::this_thread::sleep_for(milliseconds(100));  // until the server has heard it
  f.may_end.release(100);
  first.join();
  CHECK(f.slow().status.ok());  // after those that wait
  CHECK(done == 1);
  CHECK(late == 5);
  CHECK(f.computed == 2);
}

TEST_CASE("a full queue and too many calls are RESOURCE_EXHAUSTED, and a stop computes what waits") {
  for (const int max_calls : {2, 1024}) {
    Fixture f({.port = 0}, max_calls, {.max_batch_size = 1, .max_queue_size = 1});
    std::vector<std::thread> clients;
    std::atomic<int> done = 0, refused = 0;
    for (int k = 0; k < 6; ++k) {
      clients.emplace_back([&] {
        const auto code = f.slow().status.error_code();
        done += code == StatusCode::OK;
        refused += code == StatusCode::RESOURCE_EXHAUSTED;
      });
      CHECK(comes_true([&] { return f.computed == 1; }));
    }
    CHECK(comes_true([&] { return refused == 4; }));
    std::thread end([&] {
      std::this_thread::sleep_for(milliseconds(50));  // stop() has begun by now
      f.may_end.release(100);
    });
    f.server.stop();
    end.join();
    for (std::thread& client : clients) client.join();
    CHECK(done == 2);
    CHECK(refused == 4);
    CHECK_FALSE(f.slow(milliseconds(500)).status.ok());
  }
}

TEST_CASE("a call whose message does not come ends, and so does one whose version is replaced") {
  Fixture f({.port = 0, .read_time = milliseconds(300)});
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  GenericClient client(f.channel);
  const auto rpc = client.PrepareCall(&context, "/inference.GRPCInferenceService/ModelInfer", &queue);
  const auto next = [&] {
    void* tag;
    bool ok;
    queue.Next(&tag, &ok);
    return ok;
  };
  rpc->StartCall(nullptr);
  REQUIRE(next());
  const auto start = std::chrono::steady_clock::now();
  grpc::Status status;
  rpc->Finish(&status, nullptr);
  REQUIRE(next());
  CHECK_FALSE(status.ok());
  CHECK(std::chrono::steady_clock::now() - start < milliseconds(3000));
  std::atomic<int> done = 0;
  std::vector<std::thread> clients;
  for (int k = 0; k < 8; ++k)
    clients.emplace_back([&] {
      for (int i = 0; i < 50; ++i) done += f.ask("ModelInfer", infer_message("net", "", {x})).status.ok();
    });
  for (int k = 0; k < 30; ++k) {
    struct Both {
      small::Net net;
      Model<small::Net, NoLoss, NoOptimizer, ModelOptions{}> model{net};
    };
    const auto both = std::make_shared<Both>();
    f.server.add<SmallInputs>("net", 2, std::shared_ptr<const decltype(both->model)>(both, &both->model));
    std::this_thread::sleep_for(milliseconds(2));
  }
  for (std::thread& client : clients) client.join();
  CHECK(done == 400);
}

TEST_CASE("bytes that are no gRPC, and messages that are changed at random") {
  const Fixture f;
  std::mt19937 random(11);
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + std::string("\0\0\0\4\0\0\0\0\0", 9);
  for (int k = 0; k < 200; ++k) {
    std::string bytes = k % 2 ? preface : "";
    for (int i = 0; i < 300; ++i) bytes += char(random());
    Connection c(f.over_grpc.port());
    c.send(bytes);
  }
  const std::string good = infer_message("net", "2", {x}, {}, {"output"}, "id");
  int ok = 0, invalid = 0, other = 0;
  for (int k = 0; k < 1000; ++k) {
    std::string bytes = good;
    for (unsigned changes = 1 + random() % 3; changes; --changes) bytes[random() % bytes.size()] = char(random());
    const auto code = f.ask("ModelInfer", bytes).status.error_code();
    if (code == StatusCode::OK) ++ok;
    else if (code == StatusCode::INVALID_ARGUMENT || code == StatusCode::NOT_FOUND) ++invalid;
    else ++other;
  }
  CHECK(ok > 50);
  CHECK(invalid > 300);
  CHECK(other == 0);
  CHECK(f.ask("ModelInfer", good).status.ok());
}

#else
#include "../support/skip.hpp"
TEST_CASE("gRPC") { support::say_skipped("gRPC, protozero, Boost.Beast, or nlohmann_json is not installed"); }
#endif
