// The memory of training steps as the compiler planned it, for benchmarks/harness/figures.py. `check NETWORK/BATCH -`
// answers five numbers of bytes: the arena on one thread, its part that holds values, the least possible for this graph
// (what is alive at the worst moment), the least possible without passes (nothing fused, nothing in place, updates at
// the end), and all values of that.
#include "../models/lenet.hpp"
#include "../models/resnet18.hpp"
#include "classifier.hpp"

using namespace tenon;

namespace {
template <class Net, int... E>
std::vector<double> bytes(long n) {
  using Labels = TypeKey<Dtype::int32, dyn>;
  using Source = tenon::detail::TrainStep<Net, nn::SoftmaxCrossEntropyWithLogits<>, nn::Momentum,
                                          TypeKey<Dtype::float32, dyn, E...>, Labels>;
  using Step = Compiled<Source>;
  using Plain = Compiled<Source, no_passes>;
  long all = 0;
  for (int id = 0; id < Plain::graph.count; ++id)
    if (!Plain::graph[id].op->leaf && Plain::lives.root[id] == id)
      all += tenon::detail::buffer_bytes(Plain::graph[id].type) * (Plain::graph[id].type.batched() ? n : 1);
  return {double(Step::program.bytes(n, 1)), double(Step::plan.bytes(n)),
          double(joint_bound(Step::graph, Step::lives, n)), double(joint_bound(Plain::graph, Plain::lives, n)),
          double(all)};
}
}  // namespace

int main() {
  benchmark::serve([](const std::string& name, const std::string&) {
    return benchmark::Work{[=] {
                             const long n = benchmark::last_number(name);
                             if (name.starts_with("lenet/")) return bytes<models::LeNet, 1, 28, 28>(n);
                             if (name.starts_with("resnet18/")) return bytes<models::ResNet18, 3, 32, 32>(n);
                             throw ValueError("no network " + name);
                           },
                           [](long) { return 0.0; }};
  });
}
