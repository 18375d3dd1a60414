// Tables on a parameter server: messages have their rows, and no bit is another one than in one process.
// link: zmq
// label: long
#include <doctest/doctest.h>
#if __has_include(<zmq.h>) && !defined(__SANITIZE_THREAD__)  // libzmq itself is not compiled for that

#include <string>

#include <tenon/nn/layer/embedding_lookup.hpp>
#include <tenon/nn/optim/ftrl.hpp>
#include <tenon/nn/optim/lazy_adam.hpp>
#include <tenon/ops/reduce_mean.hpp>
#include <tenon/train/data_parallel.hpp>

#include "../support/outcome.hpp"
#include "../train/small.hpp"
#include "server.hpp"

using namespace servers;

namespace {

struct Words : nn::Cell<Words> {
  nn::EmbeddingLookup<50, 6> table;
  nn::Dense<6, 3> fc;
  constexpr auto construct(auto ids) const { return fc(reduce_mean<1>(table(ids))); }
};

auto sentences() {
  Random random(5);
  std::vector<std::int32_t> ids, label;
  for (int i = 0; i < 40; ++i) {
    label.push_back(i % 3);
    for (int k = 0; k < 4; ++k)
      ids.push_back(std::int32_t(random.word() % 12 + 12u * unsigned(i % 3)));  // 36 to 49: never
  }
  return dataset::from_arrays(dataset::column<Shape<4>>(std::move(ids)), dataset::column<Shape<>>(std::move(label))) |
         dataset::batch(8);
}
template <class Optimizer, class Part>
std::string trained(const Optimizer& optimizer, const Part& part, Killer killer = {}) {
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1, .seed = 5});
  Words net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer, part};
  std::vector<double> losses;
  model.train(3, sentences(), support::Losses{losses}, killer);
  std::string bits = small::bits(net);
  for (const io::NamedTensor& moment : model.optimizer_state())
    bits.append(static_cast<const char*>(moment.tensor.data), moment.tensor.bytes());
  return bits.append(reinterpret_cast<const char*>(losses.data()), losses.size() * sizeof(double));
}
template <class Optimizer>
void check(const Optimizer& optimizer, Victim victim = Victim::nobody) {
  const std::string alone = trained(optimizer, dist::DataParallel{.shards = 6});
  Job job(2, 3);
  const auto body = [&] {
    return trained(optimizer, dist::ParameterServer{.shards = 6, .folder = job.folder()},
                   Killer{&job.board(), victim, 7, false});
  };
  job.start_all(body);
  job.wait(body);
  CHECK(job.board().kills == (victim != Victim::nobody));
  // a worker that was killed has not all losses
  const std::string left =
      alone.substr(0, victim == Victim::other_worker ? alone.size() - 15 * sizeof(double) : alone.npos);
  for (int w = 0; w < 3; ++w) CHECK(job.said(text("worker ", w)).starts_with(left));
}

}  // namespace

TEST_CASE("a table that LazyAdam, FTRL, or Adam changes has the bits of one process") {
  check(nn::LazyAdam{.learning_rate = 0.05f});
  check(nn::FTRL{.learning_rate = 0.1f});
  check(nn::Adam{.learning_rate = 0.05f, .weight_decay = 0.01f});
}
TEST_CASE("also if the server of the table, or a worker, is killed and started again") {
  check(nn::LazyAdam{.learning_rate = 0.05f}, Victim::server);
  check(nn::LazyAdam{.learning_rate = 0.05f}, Victim::other_worker);
}
TEST_CASE("rows in a message are read only if they are rows of the table") {
  using detail::ServerRows;
  const ServerRows rows{40, 24};
  std::vector<std::byte> table(40 * 24, std::byte{1}), message;
  rows.append(message, table.data(), [](long row, const std::byte*) { return row % 3 == 0; });
  CHECK(rows.read(message) == long(message.size()));
  CHECK(ServerRows::count_of(message.data()) == 14);
  CHECK(rows.find(message.data(), 39) != nullptr);
  CHECK(rows.find(message.data(), 38) == nullptr);
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    // memory of its own size: a sanitizer sees what is read behind it
    std::vector<std::byte> wrong(message.begin(), message.begin() + long(random.word() % (message.size() + 1)));
    for (int k = 0; k < i % 4 && !wrong.empty(); ++k)
      wrong[random.word() % std::min(wrong.size(), std::size_t(80))] ^= std::byte(1 << random.word() % 8);
    const long size = rows.read(wrong);
    if (size < 0) continue;
    CHECK(size <= long(wrong.size()));
    long before = -1;
    rows.each(wrong.data(), [&](long number, const std::byte* row) {
      CHECK((number > before && number < 40));
      CHECK(std::int32_t(row[0]) + std::int32_t(row[23]) >= 0);
      before = number;
    });
  }
}

#else
#include "../support/skip.hpp"
TEST_CASE("parameter server") { support::say_skipped("ZeroMQ is not installed, or not for this sanitizer"); }
#endif
