// CIFAR-100: 50,000 and 10,000 colour images of 32 x 32 pixels in a hundred classes of twenty kinds (Krizhevsky, 2009).
#pragma once
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include <tenon/dataset/source/file/cifar_file.hpp>
#include <tenon/dataset/source/usage.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// The binary version of CIFAR-100.
///
/// columns     image: uint8 [32, 32, 3], red, green, blue;  label: int32 [], 0 .. 99;  coarse_label: int32 [], 0 .. 19
/// files       train.bin, test.bin
/// memory      the images as bytes (154 MB for train), shared by all copies
/// throws      RuntimeError if the directory or a file is missing, damaged, or something else; the message names the
///             file
/// source      MindSpore's Cifar100Dataset, which has coarse_label before fine_label, both uint32. Here what is trained
///             on follows the image
class Cifar100 : public Source<Cifar100> {
 public:
  using columns = Columns<Column<std::uint8_t, Shape<32, 32, 3>, "image">, Column<std::int32_t, Shape<>, "label">,
                          Column<std::int32_t, Shape<>, "coarse_label">>;

  Cifar100(const std::string& directory, Usage usage)
      : images_(detail::open_cifar(directory, {"CIFAR-100",
                                               "cifar-100-binary.tar.gz",
                                               {usage == Usage::train ? "train.bin" : "test.bin"},
                                               {20, 100},
                                               {"coarse label", "label"}})) {}

  long size() const { return images_->size(); }
  void describe(auto& d) const { images_->describe(d); }
  void sample(long index, void* const* out) const {
    std::memcpy(out[0], images_->image(index), static_cast<std::size_t>(detail::CifarImages::bytes));
    *static_cast<std::int32_t*>(out[1]) = images_->label(index, 1);
    *static_cast<std::int32_t*>(out[2]) = images_->label(index, 0);
  }
  void expect(Place place) const { images_->expect(place.position); }

 private:
  std::shared_ptr<const detail::CifarImages> images_;
};

}  // namespace tenon::dataset
