// The binary files of CIFAR-10 and CIFAR-100: per image its label bytes, then 32 x 32 bytes of red, of green, of blue.
#pragma once
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/memory/aligned_bytes.hpp>
#include <tenon/dataset/stage/stage.hpp>
#include <tenon/io/file.hpp>

namespace tenon::inline TENON_ABI::dataset::detail {

/// Images as [32, 32, 3], one after the other, and `label_bytes` labels for each.
struct CifarImages {
  static constexpr long pixels = 32L * 32, bytes = 3 * pixels;
  AlignedBytes image_memory;
  std::vector<std::uint8_t> labels;
  int label_bytes;

  long size() const { return static_cast<long>(labels.size()) / label_bytes; }
  const std::uint8_t* image(long index) const {
    return reinterpret_cast<const std::uint8_t*>(image_memory.data()) + index * bytes;
  }
  std::int32_t label(long index, int which) const {
    return labels[static_cast<std::size_t>(index * label_bytes + which)];
  }
  void describe(auto& d) const {
    d.add_content(labels.data(), labels.size());
    d.add_content(image(0), static_cast<std::size_t>(size() * bytes));
  }
  void expect(long index) const {
    if (index >= 0 && index < size()) fetch_ahead(image(index), bytes);
  }
};

/// What distinguishes the two sets.
struct CifarForm {
  std::string_view name, archive;     // "CIFAR-10", and what its files come in
  std::vector<std::string> files;     // one after the other
  std::vector<int> classes;           // of each label byte
  std::vector<const char*> label_of;  // what it is called
};

/// Turns the planes of one colour each into pixels of three bytes.
inline void interleave_planes(const char* planes, char* pixels) {
  for (long i = 0; i < CifarImages::pixels; ++i)
    for (long colour = 0; colour < 3; ++colour) pixels[3 * i + colour] = planes[colour * CifarImages::pixels + i];
}

/// Appends the labels of a file and fills `images`, one after the other. Throws RuntimeError for a label out of range.
inline void take_cifar_file(std::string_view content, const std::string& path, const CifarForm& form, char* images,
                            std::vector<std::uint8_t>& labels) {
  const std::size_t label_bytes = form.classes.size(), record = label_bytes + CifarImages::bytes;
  for (std::size_t i = 0; i * record < content.size(); ++i) {
    const std::string_view image = content.substr(i * record, record);
    for (std::size_t k = 0; k < label_bytes; ++k) {
      const int label = static_cast<unsigned char>(image[k]);
      if (label >= form.classes[k])
        throw_error<RuntimeError>("The ", form.label_of[k], " of image ", i, " in '", path, "' is ", label,
                                  "; legal are 0 .. ", form.classes[k] - 1, ". It is no file of ", form.name,
                                  ", or damaged.");
      labels.push_back(static_cast<std::uint8_t>(label));
    }
    interleave_planes(image.data() + label_bytes, images + i * CifarImages::bytes);
  }
}

/// The images of one file in memory; path is for messages. Throws RuntimeError if it holds no whole number of them.
inline long cifar_images_in(std::string_view content, const std::string& path, const CifarForm& form) {
  const std::size_t record = form.classes.size() + CifarImages::bytes;
  if (content.empty() || content.size() % record != 0)
    throw_error<RuntimeError>("Cannot use '", path, "' as a file of ", form.name, ": it has ", content.size(),
                              " bytes, which is no multiple of the ", record, " of an image. Take the binary version, ",
                              form.archive, ", and unpack it again.");
  return static_cast<long>(content.size() / record);
}

/// Reads all files of a form. Throws RuntimeError that names the file that is missing, damaged, or something else.
inline std::shared_ptr<const CifarImages> open_cifar(const std::string& directory, const CifarForm& form) {
  constexpr std::uint64_t file_limit = std::uint64_t{512} << 20;  // more than three times the largest
  if (!io::directory_exists(directory))
    throw_error<RuntimeError>("Cannot open ", form.name, ": there is no directory '", directory,
                              "'. Pass the one that holds '", form.files[0], "', from ", form.archive, ".");
  std::vector<std::string> paths, contents;
  long count = 0;
  for (const std::string& file : form.files) {
    paths.push_back(io::join_path(directory, file));
    if (!io::file_exists(paths.back()))
      throw_error<RuntimeError>("Cannot open ", form.name, ": the directory '", directory, "' has no '", file,
                                "'. Unpack ", form.archive, ", the binary version, and pass the folder in it.");
    contents.push_back(io::read_file(paths.back(), file_limit));
    count += cifar_images_in(contents.back(), paths.back(), form);
  }
  auto images = std::make_shared<CifarImages>();
  images->label_bytes = static_cast<int>(form.classes.size());
  images->image_memory = AlignedBytes(static_cast<std::size_t>(count * CifarImages::bytes), "the images of CIFAR");
  char* to = reinterpret_cast<char*>(images->image_memory.data());
  for (std::size_t i = 0; i < contents.size(); ++i) {
    take_cifar_file(contents[i], paths[i], form, to, images->labels);
    to += cifar_images_in(contents[i], paths[i], form) * CifarImages::bytes;
    contents[i] = {};
  }
  return images;
}

}  // namespace tenon::dataset::detail
