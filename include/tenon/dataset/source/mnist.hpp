// MNIST: 60,000 and 10,000 handwritten digits of 28 x 28 pixels (LeCun, Cortes, Burges, 1998).
#pragma once
#include <cstdint>
#include <string>

#include <tenon/core/memory/owned.hpp>
#include <tenon/dataset/source/file/idx.hpp>
#include <tenon/dataset/source/usage.hpp>
#include <tenon/dataset/stage/stage.hpp>
#if TENON_DEFINES
#include <string_view>

#include <tenon/io/file.hpp>
#endif

namespace tenon::inline TENON_ABI::dataset {

namespace detail {
/// Bytes 0 .. 255 become floats in [0, 1]. Divided, not multiplied by 1/255: the result is the nearest float, as in
/// numpy.
void scale_pixels(const std::uint8_t* in, float* out, long count);
/// The bytes of images and labels.
struct MnistFiles {
  static constexpr long pixels = 28L * 28;
  Idx images, labels;

  long size() const { return static_cast<long>(labels.values().size()); }
  const std::uint8_t* image(long index) const { return images.values().data() + index * pixels; }
  std::int32_t label(long index) const { return labels.values()[static_cast<std::size_t>(index)]; }
  void describe(auto& d) const {
    for (const Idx* file : {&images, &labels}) d.add_content(file->values().data(), file->values().size());
  }
  void expect(long index) const {
    if (index >= 0 && index < size()) fetch_ahead(image(index), pixels);
  }
};
/// Throws what Mnist says.
[[gnu::cold]] tenon::detail::Shared<const MnistFiles> open_mnist(const std::string& directory, Usage usage);
template <class Directory>
struct UsageLeftOut {
  static constexpr Sentence sentence =
      Sentence{} << "Mnist takes the folder and which images: dataset::Mnist{\"mnist\", dataset::Usage::train}";
};
}  // namespace detail

/// The files of MNIST, or of Fashion-MNIST and others with the same names and sizes.
///
/// columns     image: float [1, 28, 28] in [0, 1], 0 is background;  label: int32 [], 0 .. 9
///             (MindSpore's MnistDataset yields uint8 [28, 28, 1] and uint32, and users map both to these)
/// files       {train,t10k}-images-idx3-ubyte and {train,t10k}-labels-idx1-ubyte, plain or .gz (needs zlib)
/// memory      the bytes as in the file (47 MB for train), shared by all copies
/// throws      RuntimeError if the directory or a file is missing, damaged, or something else; the message names the
///             file
class Mnist : public Source<Mnist>, public detail::SamplesMayBeThere {
 public:
  using columns = Columns<Column<float, Shape<1, 28, 28>, "image">, Column<std::int32_t, Shape<>, "label">>;
  static constexpr long pixels = detail::MnistFiles::pixels;

  Mnist(const std::string& directory, Usage usage) : files_(detail::open_mnist(directory, usage)) {}

  template <std::convertible_to<std::string> Directory>
  Mnist(const Directory&) {
    using Wrong = Mistake<detail::UsageLeftOut<Directory>>;
    static_cast<void>(Wrong::corrected);
  }

  long size() const { return files_->size(); }
  void describe(auto& d) const { files_->describe(d); }
  void sample(long index, void* const* out) const {
    detail::scale_pixels(files_->image(index), static_cast<float*>(out[0]), pixels);
    *static_cast<std::int32_t*>(out[1]) = files_->label(index);
  }
  void expect(Place place) const { files_->expect(place.position); }
#if defined(TENON_TARGET)
  detail::ColumnInMemory in_memory(int column) const {
    const auto bytes = (column == 0 ? files_->images : files_->labels).values();
    if (column == 0) return {bytes.data(), bytes.size(), pixels, GatherAs::unit_float, false};
    return {bytes.data(), bytes.size(), 1, GatherAs::label, true};
  }
  void sample_on_host(long index, void* const* out) const {
    *static_cast<std::int32_t*>(out[1]) = files_->label(index);
  }
#endif

 private:
  tenon::detail::Shared<const detail::MnistFiles> files_;
};

#if TENON_DEFINES
namespace detail {
inline constexpr std::string_view images_suffix = "-images-idx3-ubyte", labels_suffix = "-labels-idx1-ubyte";
inline constexpr std::uint64_t mnist_file_limit = std::uint64_t{512} << 20;  // ten times the largest

inline std::string_view mnist_prefix(Usage usage) { return usage == Usage::train ? "train" : "t10k"; }
[[gnu::cold]] inline std::string mnist_file_names(Usage usage) {
  return text("'", mnist_prefix(usage), images_suffix, "' or '", mnist_prefix(usage), images_suffix, ".gz', and '",
              mnist_prefix(usage), labels_suffix, "' or '", mnist_prefix(usage), labels_suffix, ".gz'");
}
/// The path of a file, plain if both are there.
[[gnu::cold]] inline std::string find_mnist(const std::string& directory, Usage usage, std::string_view suffix) {
  std::string plain = io::join_path(directory, text(mnist_prefix(usage), suffix));
  if (io::file_exists(plain)) return plain;
  if (std::string packed = text(plain, ".gz"); io::file_exists(packed)) return packed;
  throw_error<RuntimeError>("Cannot open MNIST: the directory '", directory, "' has no '", mnist_prefix(usage), suffix,
                            "', plain or .gz. It must hold ", mnist_file_names(usage), ".");
}

[[gnu::noinline]] TENON_INLINE void scale_pixels(const std::uint8_t* __restrict in, float* __restrict out, long count) {
  constexpr long block = 16;  // a length that the compiler knows: it divides vectors
  const long whole = count - count % block;
  for (long i = 0; i < whole; i += block)
    for (long k = 0; k < block; ++k) out[i + k] = static_cast<float>(in[i + k]) / 255.0f;
  for (long i = whole; i < count; ++i) out[i] = static_cast<float>(in[i]) / 255.0f;
}
[[gnu::cold]] inline void check_mnist(const MnistFiles& files, const std::string& images, const std::string& labels) {
  const auto shape = files.images.shape();
  const auto values = files.labels.values();
  if (shape[1] != 28 || shape[2] != 28)
    throw_error<RuntimeError>("The images in '", images, "' are ", shape[1], " x ", shape[2],
                              " pixels; those of MNIST are 28 x 28.");
  if (shape[0] == 0)
    throw_error<RuntimeError>("The file '", images, "' holds no image; a data set needs at least one.");
  if (shape[0] != files.labels.shape()[0])
    throw_error<RuntimeError>("'", images, "' holds ", shape[0], " images, '", labels, "' holds ", values.size(),
                              " labels; both must be from the same set.");
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] > 9)
      throw_error<RuntimeError>("Label ", i, " in '", labels, "' is ", +values[i], "; legal are 0 .. 9.");
}
TENON_INLINE tenon::detail::Shared<const MnistFiles> open_mnist(const std::string& directory, Usage usage) {
  if (!io::directory_exists(directory))
    throw_error<RuntimeError>("Cannot open MNIST: there is no directory '", directory, "'. Pass the one that holds ",
                              mnist_file_names(usage), ".");
  const std::string images = find_mnist(directory, usage, images_suffix),
                    labels = find_mnist(directory, usage, labels_suffix);
  auto files = tenon::detail::Shared<const MnistFiles>::make(
      MnistFiles{Idx(images, 3, mnist_file_limit), Idx(labels, 1, mnist_file_limit)});
  check_mnist(*files, images, labels);
  return files;
}
}  // namespace detail
#endif  // TENON_DEFINES

}  // namespace tenon::dataset
