// MNIST as the bytes of its files, for pipelines that scale and normalise.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>

#include <tenon/dataset/source/mnist.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// The files that Mnist reads, with the bytes of the pixels unchanged.
///
/// columns     image: uint8 [28, 28, 1], 0 is background;  label: int32 [], 0 .. 9
/// files, throws  as Mnist
/// source      MindSpore's MnistDataset, whose labels are uint32; no loss accepts these
class MnistBytes : public Source<MnistBytes> {
 public:
  using columns = Columns<Column<std::uint8_t, Shape<28, 28, 1>, "image">, Column<std::int32_t, Shape<>, "label">>;

  MnistBytes(const std::string& directory, Usage usage) : files_(detail::open_mnist(directory, usage)) {}

  long size() const { return files_->size(); }
  void describe(auto& d) const { files_->describe(d); }
  void sample(long index, void* const* out) const {
    std::memcpy(out[0], files_->image(index), static_cast<std::size_t>(detail::MnistFiles::pixels));
    *static_cast<std::int32_t*>(out[1]) = files_->label(index);
  }
  void expect(Place place) const { files_->expect(place.position); }

 private:
  tenon::detail::Shared<const detail::MnistFiles> files_;
};

}  // namespace tenon::dataset
