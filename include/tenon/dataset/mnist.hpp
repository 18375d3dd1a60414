// MNIST: 60,000 and 10,000 handwritten digits of 28 x 28 pixels (LeCun, Cortes, Burges, 1998).
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <tenon/dataset/idx.hpp>
#include <tenon/dataset/stage.hpp>
#include <tenon/dataset/usage.hpp>

namespace tenon::inline TENON_ABI::dataset {

namespace detail {
/// Bytes 0 .. 255 become floats in [0, 1]. Divided, not multiplied by 1/255: the result is the nearest float, as in
/// numpy.
inline void scale_pixels(const std::uint8_t* in, float* out, long count) {
  for (long i = 0; i < count; ++i) out[i] = static_cast<float>(in[i]) / 255.0f;
}
}  // namespace detail

/// The files of MNIST, or of Fashion-MNIST and others with the same names and sizes.
///
/// columns     image: float [1, 28, 28] in [0, 1], 0 is background;  label: int32 [], 0 .. 9
///             (MindSpore's MnistDataset yields uint8 [28, 28, 1] and uint32, and users map both to these)
/// files       {train,t10k}-images-idx3-ubyte and {train,t10k}-labels-idx1-ubyte, plain or .gz (needs zlib)
/// memory      the bytes as in the file (47 MB for train), shared by all copies
/// throws      RuntimeError if the directory or a file is missing, damaged, or something else; the message names the
///             file
class Mnist : public Source<Mnist> {
 public:
  using columns = Columns<Column<float, Shape<1, 28, 28>>, Column<std::int32_t, Shape<>>>;
  static constexpr long pixels = 28L * 28;

  [[gnu::noinline]] Mnist(const std::string& directory, Usage usage) {
    if (!io::directory_exists(directory))
      throw_error<RuntimeError>("Cannot open MNIST: there is no directory '", directory, "'. Pass the one that holds ",
                                file_names(usage), ".");
    const std::string images = find(directory, usage, images_suffix), labels = find(directory, usage, labels_suffix);
    files_ = std::make_shared<const Files>(Files{Idx(images, 3, file_limit), Idx(labels, 1, file_limit)});
    check(images, labels);
    size_ = static_cast<long>(files_->labels.values().size());
  }

  long size() const { return size_; }
  void sample(long index, void* const* out) const {
    detail::scale_pixels(files_->images.values().data() + index * pixels, static_cast<float*>(out[0]), pixels);
    *static_cast<std::int32_t*>(out[1]) = files_->labels.values()[static_cast<std::size_t>(index)];
  }

 private:
  struct Files {
    Idx images, labels;
  };
  static constexpr std::string_view images_suffix = "-images-idx3-ubyte", labels_suffix = "-labels-idx1-ubyte";
  static constexpr std::uint64_t file_limit = std::uint64_t{512} << 20;  // ten times the largest

  static std::string_view prefix(Usage usage) { return usage == Usage::train ? "train" : "t10k"; }
  [[gnu::cold]] static std::string file_names(Usage usage) {
    return text("'", prefix(usage), images_suffix, "' or '", prefix(usage), images_suffix, ".gz', and '", prefix(usage),
                labels_suffix, "' or '", prefix(usage), labels_suffix, ".gz'");
  }
  /// The path of a file, plain if both are there.
  [[gnu::cold]] static std::string find(const std::string& directory, Usage usage, std::string_view suffix) {
    std::string plain = io::join_path(directory, text(prefix(usage), suffix));
    if (io::file_exists(plain)) return plain;
    if (io::file_exists(plain + ".gz")) return plain + ".gz";
    throw_error<RuntimeError>("Cannot open MNIST: the directory '", directory, "' has no '", prefix(usage), suffix,
                              "', plain or .gz. It must hold ", file_names(usage), ".");
  }
  [[gnu::cold]] void check(const std::string& images, const std::string& labels) const {
    const auto shape = files_->images.shape();
    const auto values = files_->labels.values();
    if (shape[1] != 28 || shape[2] != 28)
      throw_error<RuntimeError>("The images in '", images, "' are ", shape[1], " x ", shape[2],
                                " pixels; those of MNIST are 28 x 28.");
    if (shape[0] == 0)
      throw_error<RuntimeError>("The file '", images, "' holds no image; a data set needs at least one.");
    if (shape[0] != files_->labels.shape()[0])
      throw_error<RuntimeError>("'", images, "' holds ", shape[0], " images, '", labels, "' holds ", values.size(),
                                " labels; both must be from the same set.");
    for (std::size_t i = 0; i < values.size(); ++i)
      if (values[i] > 9)
        throw_error<RuntimeError>("Label ", i, " in '", labels, "' is ", +values[i], "; legal are 0 .. 9.");
  }

  std::shared_ptr<const Files> files_;
  long size_ = 0;
};

}  // namespace tenon::dataset
