// Nothing is allocated in a step: training, evaluation, prediction, both modes, one and two threads, with prefetch, short batches.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "../train/small.hpp"

namespace {
std::atomic<long> allocations{0};
std::atomic<bool> counting{false};

void* counted(std::size_t bytes, std::size_t alignment) {
  if (counting.load(std::memory_order_relaxed)) ++allocations;
  void* p = alignment > alignof(std::max_align_t) ? std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment) : std::malloc(bytes ? bytes : 1);
  if (!p) throw std::bad_alloc();
  return p;
}
}  // namespace

// All threads of the program allocate through these.
void* operator new(std::size_t bytes) { return counted(bytes, 0); }
void* operator new[](std::size_t bytes) { return counted(bytes, 0); }
void* operator new(std::size_t bytes, std::align_val_t alignment) { return counted(bytes, std::size_t(alignment)); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) { return counted(bytes, std::size_t(alignment)); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

using namespace small;

namespace {
/// Wide enough that two threads share its products.
struct Wide : nn::Cell<Wide> {
  nn::Dense<3, 256> fc1;
  nn::Dense<256, 256> fc2;
  nn::Dense<256, 2> fc3;
  constexpr auto construct(auto x) const { return fc3(relu(fc2(relu(fc1(x))))); }
};

/// Counts from the end of step `from` to the end of step `to`.
struct Window {
  long from, to, found = -1;
  void step_end(RunInfo& run) {
    if (run.cur_step_num == to) {
      counting = false;
      found = allocations;
    }
    if (run.cur_step_num == from) {
      allocations = 0;
      counting = true;
    }
  }
};

template <class Data>
void check_model(Mode mode, int threads, const Data& data) {
  CAPTURE(tenon::name(mode));
  CAPTURE(threads);
  const ContextScope scope({.mode = mode, .num_threads = threads});
  Wide net;
  nn::Momentum momentum{.learning_rate = 0.01, .momentum = 0.9f, .weight_decay = 1e-4f, .groups = {{.params = {"fc1.*"}, .learning_rate = 0.02}}};
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, momentum, nn::Accuracy{}, nn::Loss{}};
  const long steps = data.size();
  // A graph knows all from its second step on, also for the short batch; PyNative needs to have seen each batch size.
  Window training{mode == Mode::graph ? 1 : steps, 4 * steps};
  model.train(4, data, training);
  CHECK(training.found == 0);
  Window evaluation{mode == Mode::graph ? 1 : 2, steps};
  if (mode == Mode::pynative) model.eval(data);
  model.eval(data, evaluation);
  CHECK(evaluation.found == 0);

  const auto x = Tensor<float, Shape<dyn, 3>>::full(0.5f, 64), few = Tensor<float, Shape<dyn, 3>>::full(0.5f, 7);
  auto y = model.predict(x), y_few = model.predict(few);
  y = model.predict(x);  // for a moment there are two results
  allocations = 0;
  counting = true;
  for (int i = 0; i < 3; ++i) {
    model.predict_into(y, x);
    model.predict_into(y_few, few);
    y = model.predict(x);
  }
  counting = false;
  CHECK(allocations.load() == 0);
}
}  // namespace

TEST_CASE("alloc: the hook counts") {
  allocations = 0;
  counting = true;
  std::vector<int>* v = new std::vector<int>(100);
  delete v;
  counting = false;
  CHECK(allocations.load() == 2);
}

TEST_CASE("alloc: a step of a Model allocates nothing") {
  const auto data = samples(300) | dataset::shuffle(300) | dataset::batch(64);  // batches of 64 and 44
  for (const Mode mode : {Mode::graph, Mode::pynative})
    for (const int threads : {1, 2}) {
      check_model(mode, threads, data);
      check_model(mode, threads, data | dataset::prefetch(2));
    }
}
