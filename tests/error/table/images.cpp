#include <tenon/dataset/vision/vision.hpp>
#include <tenon/tenon.hpp>

using namespace tenon;

struct Files : dataset::Source<Files> {
  using columns = dataset::Columns<dataset::Column<std::uint8_t, dataset::Ragged<dataset::any>, "image">,
                                   dataset::Column<std::int32_t, Shape<>, "label">>;
  long size() const { return 1; }
  void sample(long, void* const*) const {}
};

int main() {
  const auto images = Files{} | dataset::map<"image">(vision::Decode{}, vision::Resize<224, 224>{},
                                                      vision::Normalize{{1, 1, 1}, {1, 1, 1}}, vision::HWC2CHW{});
  const auto labels = images | dataset::map<"label">(vision::OneHot<10>{});
  const auto batches = labels | dataset::batch(32);
  const auto mixed = batches | vision::MixUpBatch<"image", "label">{};
}
