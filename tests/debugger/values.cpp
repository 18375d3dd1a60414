// What gdb and lldb are asked to show: run.sh stops this program at `shown` and in construct, and prints values.
// headers: yes
#include <cmath>

#include <tenon/tenon.hpp>

using namespace tenon;

namespace {
struct Net : nn::Cell<Net> {
  nn::Dense<3, 4> fc1;
  nn::Dense<4, 2> fc2;

  constexpr auto construct(auto x) const {
    auto hidden = fc1(x);
    auto y = relu(hidden);
    return fc2(y);  // all locals
  }
};

/// Every way in which a parameter can be below a cell.
struct Zoo : nn::Cell<Zoo> {
  Parameter<float, Shape<2>, nn::One{}> direct;
  nn::Setting<2> factor;
  nn::Dense<2, 2> pair[2];
  nn::CellList<nn::LayerNorm<Shape<2>>, 2> list;
  nn::SequentialCell<nn::Dense<2, 3>, nn::ReLU> chain;
  nn::Frozen<nn::Embedding<2, 3>> frozen;
  nn::LSTM<2, 2, nn::LSTMConfig{.bidirectional = true}> lstm;
  int number = 3;
};

template <class T>
Tensor<T, Shape<2>> two(T first, T second) {
  return Tensor<T, Shape<2>>::from({first, second});
}

// The last argument keeps what is looked at alive, and known to the debugger.
[[gnu::noinline]] void shown(const void*) { asm volatile("" ::: "memory"); }

void tensors() {
  Tensor moved{1.0f, 2.0f};
  Tensor plain{{1.0f, 2.0f, 3.0f}, {4.0f, 5.5f, 1e-5f}};
  const auto batched = Tensor<float, Shape<dyn, 3>>::from({1, 2, 3, 4, 5, 6});
  auto twice = Tensor<int, Shape<times<2>, 2>>::arange(3);
  auto empty = Tensor<float, Shape<dyn, 3>>::empty(0);
  auto many = Tensor<float, Shape<dyn>>::arange(1000);
  auto number = Tensor<float, Shape<>>::from({3.0f});
  auto special = Tensor<float, Shape<4>>::from({NAN, -INFINITY, -0.0f, 0.1f});
  Tensor<float, Shape<2, 2>> never;
  auto to = std::move(moved);
  auto row = twice[-1];
  AnyTensor view = batched.view();

  auto boolean = two<bool>(false, true);
  auto int8 = two<std::int8_t>(-128, 127);
  auto int16 = two<std::int16_t>(-32768, 32767);
  auto int32 = two<std::int32_t>(-2147483647, 2147483647);
  auto int64 = two<std::int64_t>(-9223372036854775807, 9223372036854775807);
  auto uint8 = two<std::uint8_t>(0, 255);
  auto uint16 = two<std::uint16_t>(0, 65535);
  auto uint32 = two<std::uint32_t>(0, 4294967295u);
  auto uint64 = two<std::uint64_t>(0, 18446744073709551615u);
  auto half = two<float16>(-0.1f, 65504.0f);
  auto brain = two<bfloat16>(-0.1f, 3.0f);
  auto real = two<double>(0.1, 1e300);
  float16 one_half = 1.5f;

  // As operators make images of 16 samples and more: element f of sample s is 100 s + f. data() has the rows of one.
  const auto in_nchw16n = [] {
    constexpr long n = 20, features = 2 * 2 * 3;
    Storage storage(whole_blocks(n) * features * sizeof(float));
    for (long s = 0; s < n; ++s)
      for (long f = 0; f < features; ++f)
        reinterpret_cast<float*>(storage.data())[nchw16n_place(s, f, features)] = float(100 * s + f);
    storage.set_nchw16n();
    return Tensor<float, Shape<dyn, 2, 2, 3>>(std::move(storage), n);
  };
  auto image = in_nchw16n(), looked_at = in_nchw16n();
  looked_at.data()[0] = -7;
  Tensor<float, Shape<dyn, 1, 2, 3>> thin(image.storage(), 20);

  // Memory that never was a tensor.
  using Batch = Tensor<float, Shape<dyn, 3>>;
  struct Bytes {
    alignas(Batch) unsigned char byte[sizeof(Batch)];
  } wrong[3];
  std::memset(&wrong[0], 0, sizeof(Bytes));
  std::memset(&wrong[1], 0x01, sizeof(Bytes));  // a large batch, addresses where nothing is
  std::memset(&wrong[2], 0xff, sizeof(Bytes));
  Batch* zeros = reinterpret_cast<Batch*>(&wrong[0]);
  Batch* garbage = reinterpret_cast<Batch*>(&wrong[1]);
  Batch* ones = reinterpret_cast<Batch*>(&wrong[2]);

  const void* all[]{&moved, &plain,   &batched,  &twice, &empty, &many,      &number, &special, &never,  &to,     &row,
                    &view,  &boolean, &int8,     &int16, &int32, &int64,     &uint8,  &uint16,  &uint32, &uint64, &half,
                    &brain, &real,    &one_half, &image, &thin,  &looked_at, zeros,   garbage,  ones};
  shown(all);
}

void parameters() {
  Net net;
  Zoo zoo;
  shown(&net), shown(&zoo);  // 1: not bound
  net.init_parameters();
  zoo.init_parameters();
  zoo.factor.set(5);
  zoo.direct.requires_grad(false);
  auto other = std::move(net);
  shown(&other), shown(&zoo);  // 2: bound, and moved from
}

void training() {
  Net net;
  Model model{pinned<Mode::pynative>, net, nn::MSELoss{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}};
  const std::vector<float> x(12, 0.5f), y(8, 1.0f);
  const auto data =
      dataset::from_arrays(dataset::column<Shape<3>>(x), dataset::column<Shape<2>>(y)) | dataset::batch(2);
  model.train(3, data);
  shown(&model);
}
}  // namespace

int main() {
  set_context({.mode = Mode::pynative, .num_threads = 1});
  tensors();
  parameters();
  training();
}
