// Images in folders: a folder for each class, a file for each image.
#pragma once
#include <dirent.h>
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/dataset/stage/stage.hpp>
#include <tenon/io/file.hpp>

namespace tenon::inline TENON_ABI::dataset {

struct ImageFolderConfig {
  /// Files with other endings are left out; case does not matter. Empty: all files are images.
  std::vector<std::string> extensions{".jpg", ".jpeg", ".png"};
  /// The classes and their labels, 0 or more: other folders are left out. Empty: all folders, numbered in the order of
  /// their names from 0 on.
  std::map<std::string, int> class_indexing{};
  /// The largest size of a file in bytes; reading a larger file is an error.
  std::uint64_t file_limit = std::uint64_t{256} << 20;
};

namespace detail {

/// Names in a directory, sorted by their bytes, without those that begin with a dot. Throws RuntimeError if it cannot
/// be read to its end.
inline std::vector<std::string> sorted_entries(const std::string& directory) {
  const auto close = [](DIR* listing) { ::closedir(listing); };
  const std::unique_ptr<DIR, decltype(close)> listing(::opendir(directory.c_str()));
  if (!listing) io::throw_system_error("list the files of", directory);
  std::vector<std::string> names;
  // null is the end, or an error: only errno tells them apart
  for (errno = 0; const dirent* entry = ::readdir(listing.get()); errno = 0)
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  if (errno != 0) io::throw_system_error("list the files of", directory);
  std::ranges::sort(names);
  return names;
}
/// Whether the name ends with one of these, without regard to the case of a .. z.
inline bool has_extension(std::string_view name, std::span<const std::string> extensions) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  const auto ends = [&](const std::string& extension) {
    return name.size() >= extension.size() &&
           std::ranges::equal(name.substr(name.size() - extension.size()), extension, {}, lower, lower);
  };
  return extensions.empty() || std::ranges::any_of(extensions, ends);
}

}  // namespace detail

/// The image files below a folder that has a sub-folder for each class; vision::Decode decodes them.
///
/// columns     image: uint8 [any], the bytes of the file;  label: int32 []
/// order       class by class, and in each class by the names of the files (compared byte by byte), so the order is the
///             same everywhere
/// classes     sub-folders by name, from 0 on, or according to class_indexing. Names that begin with a dot are left
///             out, and so are folders in a class's folder
/// memory      only the names; a file is read together with its sample
/// throws      RuntimeError if a folder is missing, cannot be read, has no class, or a class no image; KeyError if
///             class_indexing names a folder that is not there; ValueError for a label below 0; when a sample is read,
///             RuntimeError if its file is gone, empty, or above the limit
/// source      MindSpore's ImageFolderDataset. There a class without images is skipped, labels are uint32, and all
///             files are images unless extensions are given
class ImageFolder : public Source<ImageFolder> {
 public:
  using columns = Columns<Column<std::uint8_t, Ragged<any>, "image">, Column<std::int32_t, Shape<>, "label">>;

  explicit ImageFolder(const std::string& directory, ImageFolderConfig config = {}) {
    auto found = std::make_shared<Found>();
    found->directory = directory;
    found->file_limit = config.file_limit;
    find_classes(*found, config);
    for (std::size_t i = 0; i < found->classes.size(); ++i) find_images(*found, i, config);
    found_ = std::move(found);
  }

  long size() const { return static_cast<long>(found_->images.size()); }
  void describe(auto& d) const {
    for (long i = 0; i < size(); ++i) {
      d.add_file(path(i));
      d.add(found_->classes[found_->images[static_cast<std::size_t>(i)].place].second);
    }
  }
  void sample(long index, void* const* out) const {
    const Image& image = found_->images[static_cast<std::size_t>(index)];
    const std::string content = io::read_file(path(index), found_->file_limit);
    if (content.empty())
      throw_error<RuntimeError>("The image '", path(index), "' is empty: 0 bytes; copy it again or remove it.");
    std::ranges::copy(content, SampleSlot<ColumnAt<columns, 0>>(out[0]).resize(content.size()));
    *static_cast<std::int32_t*>(out[1]) = found_->classes[image.place].second;
  }
  /// The file of a sample.
  std::string path(long index) const {
    const Image& image = found_->images[static_cast<std::size_t>(index)];
    return io::join_path(io::join_path(found_->directory, found_->classes[image.place].first), image.name);
  }
  /// The classes and their labels, in the order of the samples.
  std::span<const std::pair<std::string, std::int32_t>> classes() const { return found_->classes; }

 private:
  struct Image {
    std::string name;
    std::uint32_t place;  // of its class
  };
  struct Found {
    std::string directory;
    std::uint64_t file_limit;
    std::vector<std::pair<std::string, std::int32_t>> classes;
    std::vector<Image> images;
  };

  static void find_classes(Found& found, const ImageFolderConfig& config) {
    if (!io::directory_exists(found.directory))
      throw_error<RuntimeError>("Cannot open the image folder '", found.directory,
                                "': there is no such directory. Pass the one with a sub-folder for each class.");
    for (const auto& [name, label] : config.class_indexing) {
      if (!io::directory_exists(io::join_path(found.directory, name)))
        throw_error<KeyError>("class_indexing names the class '", name, "', but the image folder '", found.directory,
                              "' has no such sub-folder.");
      if (label < 0)
        throw_error<ValueError>("class_indexing gives the class '", name, "' the label ", label,
                                "; labels are 0 or more.");
      found.classes.emplace_back(name, label);
    }
    if (!found.classes.empty()) return;
    for (const std::string& name : detail::sorted_entries(found.directory))
      if (io::directory_exists(io::join_path(found.directory, name)))
        found.classes.emplace_back(name, static_cast<std::int32_t>(found.classes.size()));
    if (found.classes.empty())
      throw_error<RuntimeError>("The image folder '", found.directory,
                                "' has no sub-folder: its images must lie in one for each class.");
  }
  static void find_images(Found& found, std::size_t place, const ImageFolderConfig& config) {
    const std::string directory = io::join_path(found.directory, found.classes[place].first);
    const std::size_t before = found.images.size();
    for (const std::string& name : detail::sorted_entries(directory))
      if (detail::has_extension(name, config.extensions) && io::file_exists(io::join_path(directory, name)))
        found.images.push_back({name, static_cast<std::uint32_t>(place)});
    if (found.images.size() > before) return;
    std::string endings;
    for (const std::string& extension : config.extensions) endings += text(endings.empty() ? "" : ", ", extension);
    throw_error<RuntimeError>("The folder '", directory, "' holds no image", endings.empty() ? "" : " that ends with ",
                              endings,
                              ". Remove it, name the classes in class_indexing, or the endings in extensions.");
  }

  std::shared_ptr<const Found> found_;
};

}  // namespace tenon::dataset
