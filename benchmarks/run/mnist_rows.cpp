// How many rows of MNIST a second a pipeline hands out in batches, from memory, without a model:
// `mnist_rows FOLDER [seconds]`. Prints a line per pipeline: its name, rows/s of the best and of the median epoch.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <tenon/dataset/dataset.hpp>

using namespace tenon;

namespace {
/// Walks through whole epochs for so long.
template <class D>
void measure(const char* name, const D& data, double seconds) {
  using Clock = std::chrono::steady_clock;
  auto rows = data.open();
  std::vector<double> rates;
  double spent = 0;
  long seen = 0;
  for (std::uint64_t epoch = 0; spent < seconds || rates.size() < 3; ++epoch) {
    const auto begin = Clock::now();
    long count = 0;
    rows.start(epoch);
    while (const auto* row = rows.next()) {
      count += row->n;
      seen += row->template values<1>()[0] >= 0;
    }
    const double took = std::chrono::duration<double>(Clock::now() - begin).count();
    spent += took;
    rates.push_back(double(count) / took);
  }
  std::ranges::sort(rates);
  std::printf("%-28s best %10.0f rows/s, median %10.0f (%zu epochs, %ld batches)\n", name, rates.back(),
              rates[rates.size() / 2], rates.size(), seen);
}
}  // namespace

int main(int count, char** argument) {
  if (count < 2) {
    std::fprintf(stderr, "usage: mnist_rows FOLDER [seconds]: the folder with the files of MNIST\n");
    return 2;
  }
  const double seconds = count > 2 ? std::atof(argument[2]) : 2;
  const dataset::Mnist mnist(argument[1], dataset::Usage::train);
  measure("batch(32)", mnist | dataset::batch(32), seconds);
  measure("shuffle | batch(32)", mnist | dataset::shuffle(60000) | dataset::batch(32), seconds);
  measure("shuffle | batch(32) | prefetch", mnist | dataset::shuffle(60000) | dataset::batch(32) | dataset::prefetch(),
          seconds);
}
