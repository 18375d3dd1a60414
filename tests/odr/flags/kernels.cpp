// A small unit for flags.sh: kernels, containers, virtual functions, and texts, which most flags change.
#include <tenon/backend/cpu/attention/softmax.hpp>
#include <tenon/backend/cpu/recurrent/time_loop.hpp>
#include <tenon/core/random/philox.hpp>
#include <tenon/io/bytes/gzip.hpp>

using namespace tenon;

void run_kernels(const kernel::Recurrent<kernel::LstmCell, float>& layer, const float* x, float* y, long n,
                 void* scratch) {
  kernel::recurrent(layer, x, {.all = y}, 0, n, scratch);
  if (n < 0) throw_error<ValueError>("Asked for ", n, " rows of ", x[0]);
}
std::vector<float> random_numbers(std::size_t count) {
  Random random(1);
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(random.uniform(-1, 1));
  return values;
}
