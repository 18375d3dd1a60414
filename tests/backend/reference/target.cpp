// The target Reference itself: its memory is closed to the host, tensors move there and back, threads and forked
// children compute on it, operators of users run there or are refused in one sentence.
#define TENON_TARGET reference
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <numeric>
#include <thread>
#include <vector>

#include <tenon/ops/add.hpp>
#include <tenon/ops/conv2d.hpp>
#include <tenon/ops/matmul.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/pool2d.hpp>
#include <tenon/ops/reduce_mean.hpp>
#include <tenon/ops/relu.hpp>
#include <tenon/ops/structural.hpp>

#include "../../support/both_modes.hpp"
#include "../../support/error_of.hpp"
#include "../../support/few_threads.hpp"

using namespace tenon;
using support::both_modes, support::random_tensor, support::same_bits;

namespace {

using Use = detail::TargetMemory::Use;

const ContextChange there{.device_target = "Reference"}, here{.device_target = "CPU"};

#if !defined(__SANITIZE_THREAD__)  // which does not follow a fork of a program with threads
/// How a child ended: its exit status, or the number of the signal that killed it, negative.
template <class F>
int in_child(F work) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);  // instead of doctest's report, or a sanitizer's
    ::alarm(60);                    // for one that waits for ever
    ::_exit(work());
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}
int read_byte(const void* at) { return *static_cast<const volatile unsigned char*>(at) ? 1 : 0; }
#endif

/// Keeps the queue busy, so that what is put into it next is not done at once.
void delay(int milliseconds) {
  OtherTarget::enqueue([=] { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); });
}

template <class T, class S>
std::vector<T> numbers_of(const Tensor<T, S>& x) {
  return {x.values().begin(), x.values().end()};
}

/// All threads start at once.
template <class F>
void together(int count, F work) {
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t)
    threads.emplace_back([&, t] {
      for (++ready; ready < count;) std::this_thread::yield();
      work(t);
    });
  for (std::thread& thread : threads) thread.join();
}

/// An operator of a user with a kernel of its own, and one that says what an element is.
struct Reversed : Operator<Reversed, "TestReversed"> {
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[0]; }
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.count(n);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    for (long i = begin; i < end; ++i) a.result<float>()[i] = a.operand<float>(0)[Call::result.count(a.n) - 1 - i];
  }
};
struct Bump : ops::Elementwise<Bump, "TestBump"> {
  template <class V>
  static V eval(V x, V y) {
    return x * x + y;
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, 2 * d.operand(0) * d.gradient());
    d.flows_to(1, d.gradient());
  }
};

}  // namespace

TEST_CASE("a kernel that the target lacks is one sentence, and the CPU has it") {
  const auto x = Tensor{1.0f, 2.0f, 3.0f};
  const auto reversed = [&] { return apply<Reversed>(std::source_location::current(), x); };
  {
    const ContextScope scope(there);
    CHECK_THROWS_WITH_AS(reversed(),
                         "TestReversed has no kernel on Reference: write Kernel<tenon::Reference, ...> for it "
                         "(target/kernel.hpp), or set device_target to CPU.",
                         RuntimeError);
    CHECK(numbers_of(x + x) == std::vector{2.0f, 4.0f, 6.0f});
  }
  CHECK(numbers_of(reversed()) == std::vector{3.0f, 2.0f, 1.0f});
}

TEST_CASE("tensors move between the targets") {
  auto x = Tensor{1.0f, 2.0f, 3.0f};
  auto shared = x;
  for (int round = 0; round < 3; ++round) {
    const auto before = numbers_of(x);
    const ContextScope outer(there);
    auto y = x + 1.0f;
    {
      const ContextScope inner(here);
      y = y * 2.0f;
    }
    y = y + x;  // 3x + 2
    y = relu(y);
    x[1] = y[1] + 1;  // written on the host, read on the target
    const auto z = shared + y;
    const ContextScope inner(here);
    const auto w = z + x;
    for (std::size_t i = 0; i < 3; ++i) {
      const float old = before[i], now = i == 1 ? 3 * old + 3 : old;
      CHECK(y.data()[i] == 3 * old + 2);
      CHECK(w.data()[i] == 2 * now + 3 * old + 2);
    }
  }
}

TEST_CASE("gradients, whose values wait on the tape") {
  auto x = random_tensor<float, Shape<dyn, 4>>(1, -2, 2, 3);
  auto w = random_tensor<float, Shape<4, 2>>(2);
  const auto gradients = [&](const ContextChange& forward, const ContextChange& backward) {
    eager::Tape tape;
    tape.watch(x), tape.watch(w);
    const auto y = [&] {
      const ContextScope scope(forward);
      return relu(matmul(x, w));
    }();
    const ContextScope scope(backward);
    tape.backward(y, y);
    return std::pair{numbers_of(tape.gradient(x)), numbers_of(tape.gradient(w))};
  };
  const auto expected = gradients(there, there);
  CHECK(gradients(here, there).second.size() == 8);
  for (const auto& [forward, backward] : {std::pair{here, there}, {there, here}, {here, here}}) {
    const auto found = gradients(forward, backward);
    for (std::size_t i = 0; i < found.first.size(); ++i)
      CHECK(found.first[i] == doctest::Approx(double(expected.first[i])).epsilon(1e-5));
    for (std::size_t i = 0; i < found.second.size(); ++i)
      CHECK(found.second[i] == doctest::Approx(double(expected.second[i])).epsilon(1e-5));
  }
}

TEST_CASE("threads compute on the target at the same time") {
  const ContextScope scope(there);
  const auto x = random_tensor<float, Shape<dyn, 6>>(1, -2, 2, 4);
  const auto w = random_tensor<float, Shape<6, 6>>(2);
  const auto expected = numbers_of(matmul(x, w) + x);
  std::atomic<int> wrong{0};
  together(4, [&](int t) {
    for (int round = 0; round < 50; ++round) {
      const auto own = x.copy();
      wrong += numbers_of(matmul(t % 2 ? own : x, w) + x) != expected;
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("threads read a tensor, and compute with it, at the same time") {
  const ContextScope scope(there);
  const auto x = random_tensor<float, Shape<dyn, 100>>(1, -2, 2, 40);
  const auto expected = numbers_of(x);
  std::atomic<int> wrong{0};
  together(3, [&](int t) {
    for (int round = 0; round < 200; ++round)
      if (t) wrong += (x + x).count() != 4000;
      else wrong += numbers_of(x) != expected;
  });
  CHECK(wrong == 0);
}

TEST_CASE("an operator of a user needs no more than its eval") {
  both_modes([](const auto& x, const auto& y) { return apply<Bump>(std::source_location::current(), x, y); },
             random_tensor<float, Shape<dyn, 3, 5>>(1, -2, 2, 3), random_tensor<float, Shape<5>>(2));
  both_modes([](const auto& x) { return apply<Bump>(std::source_location::current(), x, x); },
             random_tensor<bfloat16, Shape<7>>(3));
}

TEST_CASE("operands in a block that has been used before") {
  const ContextScope scope(there);
  const std::byte* block = nullptr;
  {
    const auto x = Tensor<float, Shape<50>>::full(3);
    const auto y = x + x;
    block = y.storage().address();
  }  // back to the cache, while the target has it
  auto again = Tensor<float, Shape<50>>::full(4);
  auto other = Tensor<float, Shape<50>>::full(5);
  CHECK((again.storage().address() == block || other.storage().address() == block));
  CHECK(numbers_of(again * other) == std::vector<float>(50, 20));
  // given back with a kernel in the queue that still reads it
  for (int round = 0; round < 5; ++round) {
    auto sum = Tensor<float, Shape<50>>::zeros();
    delay(20);
    for (int i = 0; i < 4; ++i) {
      const auto x = Tensor<float, Shape<50>>::full(float(i));
      sum = sum + x * x;
    }
    CHECK(numbers_of(sum) == std::vector<float>(50, 14));
  }
}

TEST_CASE("operands that are a part of a tensor") {
  const ContextScope scope(there);
  auto x = Tensor<float, Shape<4, 3>>::arange();
  CHECK(numbers_of(x[1] + x[2]) == std::vector{9.0f, 11.0f, 13.0f});
  const auto middle = x[Range{1, 3}];
  CHECK(numbers_of(middle + middle) == std::vector{6.0f, 8.0f, 10.0f, 12.0f, 14.0f, 16.0f});
  CHECK((x[Range{4, 4}] + x[Range{4, 4}]).count() == 0);
  x(1, 0) = 100;  // for all who share it
  CHECK(numbers_of(middle * 1.0f)[0] == 100);
  const auto y = x + x;
  CHECK(numbers_of(y[3] + x[0]) == std::vector{18.0f, 21.0f, 24.0f});
}

TEST_CASE("operands in memory of another library") {
  const ContextScope scope(there);
  using Three = Tensor<float, Shape<3>>;
  Three y;
  {
    Three x(Storage::adopt(std::vector{1.0f, 2.0f, 3.0f}, [](auto& owner) { return owner.data(); }), 1);
    CHECK(numbers_of(x + x) == std::vector{2.0f, 4.0f, 6.0f});
    x[1] = 7;
    y = x + x;
  }
  CHECK(numbers_of(y) == std::vector{2.0f, 14.0f, 6.0f});
  {
    // an owner that has its elements within, and is destroyed while the target has them
    struct Owner {
      std::array<float, 3> number;
      int* destroyed;
      Owner(std::array<float, 3> n, int* d) : number(n), destroyed(d) {}
      Owner(Owner&& other) noexcept : number(other.number), destroyed(std::exchange(other.destroyed, nullptr)) {}
      ~Owner() {
        if (destroyed) ++*destroyed;
      }
    };
    int destroyed = 0;
    {
      const Three x(Storage::adopt(Owner({1, 2, 3}, &destroyed), [](Owner& owner) { return owner.number.data(); }), 1);
      y = x + x;
    }
    CHECK(destroyed == 1);
    CHECK(numbers_of(y) == std::vector{2.0f, 4.0f, 6.0f});
  }
}

#if !defined(__SANITIZE_THREAD__)
TEST_CASE("without a thread the target says so, and works when there is one") {
  // in a child, whose queue has no thread yet
  CHECK(in_child([] {
          const auto work = [] { OtherTarget::enqueue([] {}); };
          const bool said = [&] {
            const support::FewThreads scope(0);
            return support::error_of(work).starts_with("The target Reference needs a thread");
          }();
          work();
          OtherTarget::wait();
          return said ? 7 : 8;
        }) == 7);
}

TEST_CASE("the host cannot touch what the target has") {
  const ContextScope scope(there);
  const auto x = random_tensor<float, Shape<dyn, 5>>(1, 1, 2, 3);
  const auto y = x + x, z = y + x;
  (void)z.data();  // from now on the queue is idle
  std::byte* const address = y.storage().address();
  const std::byte* const beside = detail::TargetMemory::instance().there(target_id<Reference>, address, Use::read);
  CHECK(beside != address);
  CHECK(in_child([&] { return read_byte(beside); }) == -SIGSEGV);
  CHECK(in_child([&] { return read_byte(address); }) == -SIGSEGV);
  CHECK(in_child([&] { return y(2, 4) == 2 * x(2, 4) ? 0 : 1; }) == 0);
  for (int i = 0; i < 15; ++i) CHECK(y.data()[i] == 2 * x.data()[i]);
  CHECK(in_child([&] { return read_byte(y.storage().address()) * 0; }) == 0);
}

TEST_CASE("who has taken data() may read it while the target computes with the tensor") {
  const ContextScope scope(there);
  const auto x = Tensor{1.0f, 2.0f, 3.0f};
  const float* const data = x.data();
  const auto y = x + x;
  CHECK(in_child([&] { return data[1] == 2.0f ? 0 : 1; }) == 0);
  CHECK(y(1) == 4.0f);
}

TEST_CASE("a forked child computes on the target") {
  const ContextScope scope(there);
  const auto x = Tensor{1.0f, 2.0f, 3.0f};
  const auto works = [&] { return numbers_of(x + x) == std::vector{2.0f, 4.0f, 6.0f} ? 0 : 1; };
  CHECK(works() == 0);
  CHECK(in_child(works) == 0);
  CHECK(in_child([&] { return in_child(works); }) == 0);
  CHECK(works() == 0);
}

TEST_CASE("a forked child has what its parent had begun to compute") {
  const ContextScope scope(there);
  const auto x = Tensor{10.0f, 20.0f, 30.0f};
  delay(100);
  const auto y = x + x;
  CHECK(in_child([&] { return numbers_of(y) == std::vector{20.0f, 40.0f, 60.0f} ? 0 : 1; }) == 0);
  CHECK(numbers_of(y) == std::vector{20.0f, 40.0f, 60.0f});
}

TEST_CASE("a forked child computes whatever other threads were doing on the target") {
  const ContextScope scope(there);
  const auto x = Tensor{1.0f, 2.0f, 3.0f};
  std::atomic<bool> done{false};
  std::thread other([&] {
    const auto own = random_tensor<float, Shape<16>>(1);
    while (!done) (void)(own + own).data();
  });
  int failed = 0;
  for (int round = 0; round < 30 && !failed; ++round)
    failed = in_child([&] {
      ::alarm(5);
      return numbers_of(x + x) == std::vector{2.0f, 4.0f, 6.0f} ? 0 : 1;
    });
  done = true;
  other.join();
  CHECK(failed == 0);
}
#endif

TEST_CASE("images that the CPU recorded in its own layout have their gradients on Reference, and the other way round") {
  const auto x = random_tensor<float, Shape<dyn, 2, 6, 6>>(1, -1, 1, 16);
  const auto w = random_tensor<float, Shape<3, 2, 3, 3>>(2);
  const auto gradients = [&](const ContextChange& forward, const ContextChange& backward) {
    const auto image = x.copy();
    const auto weight = w.copy();
    eager::Tape tape;
    tape.watch(image), tape.watch(weight);
    const auto y = [&] {
      const ContextScope scope(forward);
      return reduce_mean(max_pool2d<2>(relu(conv2d(image, weight))));
    }();
    const ContextScope scope(backward);
    tape.backward(y);
    std::vector<float> all = numbers_of(tape.gradient(image));
    for (const float g : numbers_of(tape.gradient(weight))) all.push_back(g);
    return all;
  };
  const std::vector<float> expected = gradients(here, here);
  for (const auto& found : {gradients(here, there), gradients(there, here), gradients(there, there)}) {
    REQUIRE(found.size() == expected.size());
    double worst = 0;
    for (std::size_t i = 0; i < found.size(); ++i)
      worst = std::fmax(worst, std::fabs(double(found[i]) - double(expected[i])));
    CHECK(worst < 1e-6);
  }
}

TEST_CASE("a batch of no sample") {
  both_modes([](auto x) { return reduce_mean<1>(x * x); }, random_tensor<float, Shape<dyn, 3>>(1, -1, 1, 0));
}

TEST_CASE("what a kernel throws comes out where the host looks") {
  OtherTarget::enqueue([] { throw_error<RuntimeError>("no room"); });
  const ContextScope scope(there);
  const auto y = relu(Tensor{1.0f, -1.0f});
  CHECK_THROWS_WITH_AS(y.data(), "no room", RuntimeError);
  CHECK(relu(Tensor{2.0f, -1.0f})[0] == 2);
}
