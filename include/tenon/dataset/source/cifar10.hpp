// CIFAR-10: 50,000 and 10,000 colour images of 32 x 32 pixels in ten classes (Krizhevsky, 2009).
#pragma once
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include <tenon/dataset/source/file/cifar_file.hpp>
#include <tenon/dataset/source/usage.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// The binary version of CIFAR-10.
///
/// columns     image: uint8 [32, 32, 3], red, green, blue;  label: int32 [], 0 .. 9
/// files       data_batch_1.bin .. data_batch_5.bin for train, test_batch.bin for test
/// memory      the images as bytes (154 MB for train), shared by all copies
/// throws      RuntimeError if the directory or a file is missing, damaged, or something else; the message names the
///             file
/// source      MindSpore's Cifar10Dataset, whose labels are uint32; no loss accepts these
class Cifar10 : public Source<Cifar10> {
 public:
  using columns = Columns<Column<std::uint8_t, Shape<32, 32, 3>, "image">, Column<std::int32_t, Shape<>, "label">>;

  Cifar10(const std::string& directory, Usage usage) : images_(detail::open_cifar(directory, form(usage))) {}

  long size() const { return images_->size(); }
  void describe(auto& d) const { images_->describe(d); }
  void sample(long index, void* const* out) const {
    std::memcpy(out[0], images_->image(index), static_cast<std::size_t>(detail::CifarImages::bytes));
    *static_cast<std::int32_t*>(out[1]) = images_->label(index, 0);
  }
  void expect(Place place) const { images_->expect(place.position); }

 private:
  static detail::CifarForm form(Usage usage) {
    detail::CifarForm form{"CIFAR-10", "cifar-10-binary.tar.gz", {"test_batch.bin"}, {10}, {"label"}};
    if (usage == Usage::train)
      form.files = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"};
    return form;
  }

  std::shared_ptr<const detail::CifarImages> images_;
};

}  // namespace tenon::dataset
