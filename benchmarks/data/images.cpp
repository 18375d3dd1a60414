// JPEG files from memory to batches of 64 normalized images of 224 x 224, for benchmarks/data/images.py:
// `images FOLDER`. A line `WORK WORKERS` on stdin is answered by the seconds of one epoch, those of
// the processor, and the mean of its numbers.
// link: jpeg png
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <tenon/dataset/batch/batch.hpp>
#include <tenon/dataset/map/map.hpp>
#include <tenon/dataset/operation/prefetch.hpp>
#include <tenon/dataset/vision/decode.hpp>
#include <tenon/dataset/vision/flip.hpp>
#include <tenon/dataset/vision/normalize.hpp>
#include <tenon/dataset/vision/random_resized_crop.hpp>
#include <tenon/dataset/vision/resize.hpp>
#include <tenon/io/file.hpp>

using namespace tenon;

namespace {

using File = dataset::Column<std::uint8_t, dataset::Ragged<dataset::any>, "image">;
const vision::NormalizeToCHW normalize{{123.675f, 116.28f, 103.53f}, {58.395f, 57.12f, 57.375f}};

/// The files of a folder, read once.
struct Files : dataset::Source<Files> {
  using columns = dataset::Columns<File>;
  const std::vector<std::string>* files;

  explicit Files(const std::vector<std::string>& f) : files(&f) {}
  long size() const { return long(files->size()); }
  void sample(long index, void* const* out) const {
    const std::string& file = (*files)[std::size_t(index)];
    std::copy(file.begin(), file.end(), dataset::SampleSlot<File>(out[0]).resize(long(file.size())));
  }
};

template <class D>
void run(const D& data) {
  double sum = 0;
  long count = 0;
  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t busy = std::clock();
  const auto take = [&](const auto& rows) {
    for (const auto& row : rows) {
      const auto values = row.template values<0>();
      for (std::size_t i = 0; i < values.size(); i += 997) sum += double(values[i]), ++count;
    }
  };
  take(data);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::printf("%.6f %.6f %.4f\n", seconds.count(), double(std::clock() - busy) / CLOCKS_PER_SEC, sum / double(count));
  std::fflush(stdout);
}
template <class... Transform>
void batches(const std::vector<std::string>& files, int workers, Transform... transform) {
  const auto data = Files(files) | dataset::map<"image">(transform..., normalize) | dataset::batch(64);
  if (workers == 0) run(data);
  else run(data | dataset::prefetch(2, {.num_parallel_workers = workers}));
}

}  // namespace

int main(int count, char** argument) {
  if (count != 2) return std::fputs("usage: images FOLDER\n", stderr), 2;
  std::vector<std::string> names, files;
  for (const auto& entry : std::filesystem::directory_iterator(argument[1])) names.push_back(entry.path());
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) files.push_back(io::read_file(name));
  std::string work;
  for (int workers; std::cin >> work >> workers;) {
    const vision::Resize<224, 224> linear{}, antialiased{.antialias = true};
    if (work == "linear") batches(files, workers, vision::Decode{}, linear);
    else if (work == "antialias") batches(files, workers, vision::Decode{}, antialiased);
    else if (work == "scaled") batches(files, workers, vision::Decode{.eighths = 5}, linear);
    else if (work == "random")
      batches(files, workers, vision::Decode{}, vision::RandomResizedCrop<224>{.antialias = true},
              vision::RandomHorizontalFlip{});
    else if (work == "random_decode")
      batches(files, workers, vision::RandomCropDecodeResize<224>{.antialias = true}, vision::RandomHorizontalFlip{});
    else if (work == "random_scaled")
      batches(files, workers, vision::RandomCropDecodeResize<224>{.antialias = true, .scaled = true},
              vision::RandomHorizontalFlip{});
    else return std::fputs("no such work\n", stderr), 2;
  }
}
