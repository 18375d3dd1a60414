// What benchmarks/serving.py measures with: a server, the same networks as ONNX files, and clients.
//
//     serving serve PORT [DELAY_US]                      serves `lenet` and `gpt`
//     serving export FOLDER                              writes lenet.onnx and gpt.onnx
//     serving load PORT MODEL json|binary CLIENTS SECONDS   prints requests per second, p50, and p99 in ms
//
// link: serve
// link: protozero
#include <tenon/tenon.hpp>
#if __has_include(<boost/beast/http.hpp>) && __has_include(<nlohmann/json.hpp>) && \
    __has_include(<protozero/pbf_writer.hpp>)
#include <sys/epoll.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <tenon/onnx.hpp>
#include <tenon/serve.hpp>

#include "../../tests/serve/client.hpp"

using namespace tenon;
using dataset::Column, dataset::Columns;

namespace {

struct LeNet : nn::Cell<LeNet> {
  nn::Conv2d<1, 6, 5, nn::Conv2dConfig{.pad_mode = PadMode::same}> conv1;
  nn::Conv2d<6, 16, 5, nn::Conv2dConfig{.pad_mode = PadMode::valid}> conv2;
  nn::Dense<400, 120> fc1;
  nn::Dense<120, 84> fc2;
  nn::Dense<84, 10> fc3;
  constexpr auto construct(auto x) const {
    auto a = max_pool2d<2>(relu(conv1(x)));
    auto b = max_pool2d<2>(relu(conv2(a)));
    return fc3(relu(fc2(relu(fc1(flatten(b))))));
  }
};

constexpr int length = 32, width = 128, heads = 4, letters = 64;
struct Block : nn::Cell<Block> {
  nn::LayerNorm<Shape<width>> norm1, norm2;
  nn::MultiHeadAttention<width, heads, nn::MultiHeadAttentionConfig{.causal = true}> attention;
  nn::Dense<width, 4 * width> up;
  nn::Dense<4 * width, width> down;
  constexpr auto construct(auto x) const {
    auto y = x + attention(norm1(x));
    return y + down(gelu(up(norm2(y))));
  }
};
struct Gpt : nn::Cell<Gpt> {
  nn::Embedding<letters, width> token;
  nn::PositionalEmbedding<length, width> position;
  nn::CellList<Block, 4> blocks;
  nn::LayerNorm<Shape<width>> norm;
  nn::Dense<width, letters> head;
  constexpr auto construct(auto text) const { return head(norm(blocks(position(token(text))))); }
};

using Images = Columns<Column<float, Shape<1, 28, 28>, "input_0">>;
using Texts = Columns<Column<std::int32_t, Shape<length>, "input_0">>;

void serve_both(int port, long delay) {
  LeNet lenet;
  Gpt gpt;
  const Model images{lenet};
  const Model texts{gpt};
  // a thread for each processor reads, computes, and writes
  Server server({.port = port, .threads = ThreadPool::instance().threads()});
  const ServedOptions options{.max_batch_size = 64,
                              .max_queue_delay = std::chrono::microseconds(delay),
                              .max_direct_time = std::chrono::milliseconds(20)};
  server.add<Images>("lenet", 1, images, options);
  server.add<Texts>("gpt", 1, texts, options);
  server.start();
  server.wait();
}

void write_files(const std::string& folder) {
  LeNet lenet;
  Gpt gpt;
  export_onnx(lenet, folder + "/lenet.onnx", Tensor<float, Shape<dyn, 1, 28, 28>>::full(0.0f, 1));
  export_onnx(gpt, folder + "/gpt.onnx", Tensor<std::int32_t, Shape<dyn, length>>::full(0, 1));
}

template <class T>
std::string request_of(const std::string& model, const std::string& type, const std::string& shape,
                       const std::vector<T>& values, bool binary) {
  std::string json = R"({"inputs":[{"name":"input_0","datatype":")" + type + R"(","shape":)" + shape;
  const std::string path = "/v2/models/" + model + "/infer";
  if (binary) {
    const std::string size = std::to_string(values.size() * sizeof(T));
    json += R"(,"parameters":{"binary_data_size":)" + size + R"(}}],"parameters":{"binary_data_output":true}})";
    const std::string header = "Inference-Header-Content-Length: " + std::to_string(json.size()) + "\r\n";
    return serving_test::post(
        path, json.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)), header);
  }
  json += ",\"data\":[";
  for (std::size_t k = 0; k < values.size(); ++k) json += (k ? "," : "") + std::to_string(values[k]);
  return serving_test::post(path, json + "]}]}");
}
std::string request_for(const std::string& model, bool binary) {
  Random random(1);
  if (model == "lenet") {
    std::vector<float> image(784);
    for (float& pixel : image) pixel = float(random.word() % 256) / 255;
    return request_of(model, "FP32", "[1,1,28,28]", image, binary);
  }
  std::vector<std::int32_t> text(length);
  for (std::int32_t& letter : text) letter = std::int32_t(random.word() % letters);
  return request_of(model, "INT32", "[1,32]", text, binary);
}

// One thread for all connections, so that clients leave the processors to the server.
void load(int port, const std::string& request, int clients, double seconds) {
  using Clock = std::chrono::steady_clock;
  struct Client {
    explicit Client(int port) : connection(port) {}
    serving_test::Connection connection;
    Clock::time_point sent{};
  };
  std::vector<std::unique_ptr<Client>> all;
  const int ready = ::epoll_create1(0);
  const auto send = [&](Client& client) {
    client.sent = Clock::now();
    client.connection.send(request);
  };
  for (int k = 0; k < clients; ++k) {
    all.push_back(std::make_unique<Client>(port));
    epoll_event event{EPOLLIN, {.ptr = all.back().get()}};
    ::epoll_ctl(ready, EPOLL_CTL_ADD, all.back()->connection.socket(), &event);
  }
  std::vector<double> times;
  long failed = 0;
  const auto start = Clock::now();
  const auto took = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  for (const auto& client : all) send(*client);
  for (int waiting = clients; waiting > 0;) {
    epoll_event events[64];
    const int count = ::epoll_wait(ready, events, 64, 5000);
    if (count <= 0) failed += waiting, waiting = 0;
    for (int k = 0; k < count; ++k) {
      Client& client = *static_cast<Client*>(events[k].data.ptr);
      failed += client.connection.receive().status != 200;
      times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - client.sent).count());
      if (took() < seconds) send(client);
      else --waiting;
    }
  }
  const double rate = double(times.size()) / took();
  std::sort(times.begin(), times.end());
  std::printf("%.1f %.3f %.3f %ld\n", rate, times[times.size() / 2], times[times.size() * 99 / 100], failed);
}

}  // namespace

int main(int count, char** words) {
  const std::string what = count > 2 ? words[1] : "";
  if (what == "serve") serve_both(std::atoi(words[2]), count > 3 ? std::atol(words[3]) : 0);
  else if (what == "export") write_files(words[2]);
  else if (what == "load" && count == 7)
    load(std::atoi(words[2]), request_for(words[3], std::string(words[4]) == "binary"), std::atoi(words[5]),
         std::atof(words[6]));
  else return std::fputs("serving serve|export|load ...\n", stderr), 2;
}
#else
int main() {}  // an optional library is not installed
#endif
