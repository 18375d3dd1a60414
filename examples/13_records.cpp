// Lesson 13: training from a MindRecord file with three images of different sizes per row.
// link: json sqlite png jpeg
#include <algorithm>
#include <cstdio>

#include <tenon/dataset/mind_record.hpp>
#include <tenon/dataset/vision/vision.hpp>
#include <tenon/io/mind_record.hpp>
#include <tenon/io/png.hpp>
#include <tenon/tenon.hpp>

using namespace tenon;
using dataset::any, dataset::Column, dataset::Columns, dataset::Ragged;

// A stripe that is inclined to one side, as a PNG file of 16 to 47 pixels each way.
std::string picture(int label, Random& random) {
  const int height = 16 + int(random.below(32)), width = 16 + int(random.below(32));
  std::vector<std::uint8_t> gray;
  for (int y = 0; y < height; ++y)
    for (int x = 0, middle = (label ? y : height - y) * width / height; x < width; ++x)
      gray.push_back(std::uint8_t(random.below(std::abs(x - middle) < 4 ? 256 : 32)));
  return io::encode_png({height, width, 1, gray});
}
void write_rows(const char* file, int rows) {
  using enum io::MindRecordType;
  io::MindRecordWriter writer(file, {.shards = 2, .overwrite = true});
  writer.add_schema({{"left", bytes}, {"middle", bytes}, {"right", bytes}, {"label", int32}});
  Random random(1);
  for (int row = 0; row < rows; ++row) {
    const auto one = [&] { return picture(row % 2, random); };
    writer.write({{"left", one()}, {"middle", one()}, {"right", one()}, {"label", row % 2}});
  }
  writer.commit();
}
template <FixedString name>
using File = Column<std::uint8_t, Ragged<any>, name>;
using Label = Column<std::int32_t, Shape<>, "label">;
using View = std::span<const float>;  // [1, 16, 16]

int main() {
  write_rows("views.mindrecord", 512);
  const vision::Compose prepare{vision::DecodeTo<1>{}, vision::Resize<16, 16>{}, vision::NormalizeToCHW{{64}, {64}}};
  const auto data =
      dataset::MindRecord{"views.mindrecord", dataset::as<File<"left">, File<"middle">, File<"right">, Label>} |
      dataset::shuffle(512) | dataset::map<"left">(prepare) | dataset::map<"middle">(prepare) |
      dataset::map<"right">(prepare) |
      dataset::map<dataset::Inputs<"left", "middle", "right">, Columns<Column<float, Shape<3, 16, 16>, "views">>>(
          [](View left, View middle, View right, std::span<float> views) {
            auto to = views.begin();
            for (const View view : {left, middle, right}) to = std::copy(view.begin(), view.end(), to);
          }) |
      dataset::batch(32) | dataset::prefetch(2);
  nn::SequentialCell<nn::Conv2d<3, 8, 3>, nn::ReLU, nn::MaxPool2d<4, {.stride = 4}>, nn::Flatten, nn::Dense<128, 2>>
      net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{}, nn::Accuracy{}};
  model.train(3, data);
  const double accuracy = model.eval(data)["accuracy"];
  std::printf("512 rows of three pictures: %.1f %% are told from their mirror images.\n", 100 * accuracy);
  return accuracy > 0.9 ? 0 : 1;
}
