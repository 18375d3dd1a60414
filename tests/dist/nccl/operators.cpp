// What tests/dist/nccl.sh runs on ranks with emulated GPUs, which send by an emulated NCCL: a training with operators
// among two ranks, or with layers in slices, which prints a line per mode, or collectives of all dtypes, which are
// compared with those of MPI.
//
//     operators train CPU|GPU
//     operators slices CPU|GPU
//     operators collectives
#include <cstring>
#include <string_view>

#include <tenon/nn/parallel/vocab_parallel_cross_entropy.hpp>

#include "train.hpp"

namespace {

/// All operators among ranks, each of which has another part in the gradient.
struct Together : nn::Cell<Together> {
  nn::Dense<20, 12> first;
  nn::Dense<12, 4> last;
  constexpr auto construct(auto x) const {
    using dist::ReduceOp;
    const auto y = first(x);
    const auto most = all_reduce<ReduceOp::max>(y) + all_reduce<ReduceOp::min>(y * 0.5f);
    const auto sums = all_reduce(y * 0.25f) + all_reduce<ReduceOp::prod>(y * 0.75f);
    const auto moved = neighbor_exchange<1>(y * 1.5f) + send_receive<1, 0>(y * 0.3f) + broadcast<1>(y * 0.7f);
    const auto parts = all_to_all<2, 1, 1>(y) + reduce_scatter<2>(all_gather<2>(y * 0.6f)) + reduce_to<1>(y * 0.4f);
    return last(relu(y + most + sums + moved + parts));
  }
};

/// Layers in slices, a gathered and a cut tensor, a table of rows, and classes in slices: one network on two ranks.
struct InSlices : nn::Cell<InSlices> {
  nn::Dense<20, 12> first;
  nn::ColumnParallelDense<12, 16, 2> up;
  nn::RowParallelDense<16, 12, 2> down;
  nn::ColumnParallelDense<12, 8, 2, "world", nn::ColumnParallelConfig{.gather_output = true}> wide;
  nn::RowParallelDense<8, 12, 2, "world", nn::RowParallelConfig{.input_is_slice = false}> narrow;
  nn::VocabParallelEmbedding<6, 12, 2> table;
  nn::ColumnParallelDense<12, 4, 2> last;
  constexpr auto construct(auto x) const {
    const auto y = first(x);
    const auto z = y + down(relu(up(y))) + table(argmax<1>(slice<Part{}, Part{0, 6}>(x)));
    return last(narrow(relu(wide(z))));
  }
};

/// Numbers of a rank in the memory of its GPU.
template <class T>
struct There {
  std::vector<T> value;
  TargetBytes block{(value.size() + 1) * sizeof(T)};

  static TargetId target() { return detail::TargetScope::current(); }
  T* address(detail::TargetMemory::Use use) const {
    return reinterpret_cast<T*>(detail::TargetMemory::instance().there(target(), block.address(), use, block.bytes()));
  }
  const T* read() const {
    std::memcpy(detail::home(block.address()), value.data(), value.size() * sizeof(T));
    return address(detail::TargetMemory::Use::read);
  }
  T* written() const { return address(detail::TargetMemory::Use::overwrite); }
  bool is(const std::vector<T>& expected) const {
    return std::memcmp(detail::home(block.address()), expected.data(), expected.size() * sizeof(T)) == 0;
  }
};
template <class T>
std::vector<T> numbers(long count) {
  Random random(std::uint64_t(dist::get_rank()) + 5);
  std::vector<T> made;
  for (long i = 0; i < count; ++i) made.push_back(static_cast<T>(random.uniform(-3, 3)));
  return made;
}

/// The same bits as through the host, of each reduction, for sizes that are no multiples of the ranks.
template <class T>
void compare(const char* group = dist::world_group) {
  using namespace kernel::cuda;
  const dist::Communicator ranks = dist::communicator(group);
  const auto require = [](bool holds, const char* what) {
    if (!holds) throw_error<RuntimeError>(what, " of ", name(dtype_of<T>), " differs from that of MPI");
  };
  const auto call = [&](auto f) {
    NcclCall one(ranks, "a test", {});
    f(one);
    one.wait();
  };
  for (const long count : {1L, 7L, 1000L}) {
    const There<T> x{numbers<T>(count * ranks.size())};
    for (const dist::ReduceOp op :
         {dist::ReduceOp::sum, dist::ReduceOp::max, dist::ReduceOp::min, dist::ReduceOp::prod})
      dist::detail::with_op(op, [&]<class Op>(Op) {
        std::vector<T> all = x.value, part(static_cast<std::size_t>(count));
        const There<T> y{all}, z{part};
        call([&](NcclCall& one) { all_reduce_there<Op>(one, x.read(), y.written(), long(all.size())); });
        call([&](NcclCall& one) { reduce_scatter_there<Op>(one, x.read(), z.written(), count); });
        dist::reduce_scatter<T>(ranks, op, x.value, part);
        dist::all_reduce<T>(ranks, op, all);
        require(y.is(all), "all_reduce");
        require(z.is(part), "reduce_scatter");
      });
    std::vector<T> root = x.value;
    const There<T> y{root};
    call(
        [&](NcclCall& one) { broadcast_there(one, x.read(), y.written(), root.size() * sizeof(T), ranks.size() - 1); });
    dist::broadcast(ranks, std::as_writable_bytes(std::span(root)), ranks.size() - 1);
    require(y.is(root), "broadcast");
  }
}
void compare_all() {
  dist::init("nccl");
  compare<std::int8_t>(), compare<std::int16_t>(), compare<std::int32_t>(), compare<std::int64_t>();
  compare<std::uint8_t>(), compare<std::uint16_t>(), compare<std::uint32_t>(), compare<std::uint64_t>();
  compare<float16>(), compare<bfloat16>(), compare<float>(), compare<double>();
  if (dist::get_group_size() < 3) return;
  dist::create_group("three", {2, 0, 1});  // another order than that of the world
  if (dist::get_rank() < 3) compare<float>("three");
  compare<float>();
}

}  // namespace

int main(int count, char** words) try {
  const std::string_view what = count > 1 ? words[1] : "", target = count > 2 ? words[2] : "GPU";
  emulator::devices = 4;
  emulator::most_pitch = 47;  // some copies of rows are possible at once, others are not
  set_context({.device_target = std::string(target), .num_threads = 1});
  if (what == "collectives") return compare_all(), 0;
  dist::init(target == "GPU" ? "nccl" : "mpi");
  if (what == "slices") {
    const nn::ClipByGlobalNorm clipped{nn::Momentum{.learning_rate = 0.05f, .momentum = 0.9f}, 0.5f};
    train<InSlices, nn::VocabParallelCrossEntropy<2>>(11, clipped, FixedLossScaleManager<true>{.loss_scale = 4});
    return 0;
  }
  train<Together>(11 + dist::get_rank(), momentum);
} catch (const std::exception& error) {
  std::printf("%s\n", error.what());
  return 1;
}
