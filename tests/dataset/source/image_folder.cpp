// ImageFolder: order, labels, endings, and every mistake in a folder.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../support.hpp"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include <tenon/dataset/cache/pipeline_description.hpp>
#include <tenon/dataset/source/image_folder.hpp>

using namespace support;
using dataset::ImageFolder;

namespace {
/// How many entries of directories can still be read before the disk fails; below 0: it does not.
long readable_entries = -1;
}  // namespace

extern "C" dirent* readdir(DIR* listing) {
  static auto* const next = reinterpret_cast<dirent* (*)(DIR*)>(::dlsym(RTLD_NEXT, "readdir"));
  if (readable_entries == 0) {
    errno = EIO;
    return nullptr;
  }
  if (readable_entries > 0) --readable_entries;
  return next(listing);
}

namespace {
/// cats/: b.JPG, a.png, notes.txt, .hidden.png, inner/; dogs/: c.jpeg; a file and a hidden folder beside them.
struct Pets : Folder {
  Pets() {
    for (const char* name : {"cats", "dogs", "cats/inner", ".cache"}) std::filesystem::create_directory(*this / name);
    for (const char* name : {"cats/b.JPG", "cats/a.png", "cats/notes.txt", "cats/.hidden.png", "cats/inner/d.png",
                             "dogs/c.jpeg", "readme.png", ".cache/e.png"})
      io::write_file(*this / name, text("bytes of ", name));
  }
};
std::vector<std::string> samples_of(const ImageFolder& data) {
  std::vector<std::string> samples;
  for (const auto& row : data) {
    const auto bytes = row.values<"image">();
    samples.push_back(text(std::string(bytes.begin(), bytes.end()), " ", row.values<"label">()[0]));
  }
  return samples;
}
/// The pipeline as caches know it; 0 if they do not.
std::uint64_t known_as(const auto& data) {
  dataset::PipelineDescription description;
  description.add_data(data);
  return description.unknown().empty() ? description.number() : 0;
}
}  // namespace

TEST_CASE("classes and files in the order of their names") {
  const Pets folder;
  const ImageFolder data(folder.path);
  CHECK(data.size() == 3);
  CHECK(samples_of(data) ==
        std::vector<std::string>{"bytes of cats/a.png 0", "bytes of cats/b.JPG 0", "bytes of dogs/c.jpeg 1"});
  CHECK(data.path(2) == folder / "dogs/c.jpeg");
  REQUIRE(data.classes().size() == 2);
  CHECK(data.classes()[1].first == "dogs");
  CHECK(known_as(data) != 0);
  CHECK(known_as(data) != known_as(ImageFolder(folder.path, {.class_indexing = {{"cats", 0}, {"dogs", 2}}})));
}

TEST_CASE("endings and classes by choice") {
  const Pets folder;
  CHECK(samples_of(ImageFolder(folder.path, {.extensions = {".txt", "g"}, .class_indexing = {{"cats", 7}}})) ==
        std::vector<std::string>{"bytes of cats/a.png 7", "bytes of cats/b.JPG 7", "bytes of cats/notes.txt 7"});
  CHECK(ImageFolder(folder.path, {.extensions = {}}).size() == 4);
  CHECK(samples_of(ImageFolder(folder.path, {.class_indexing = {{"dogs", 0}}})) ==
        std::vector<std::string>{"bytes of dogs/c.jpeg 0"});
}

TEST_CASE("what is wrong is said") {
  const Pets folder;
  CHECK(has(message<RuntimeError>([] { ImageFolder("no/such/folder"); }), "'no/such/folder': there is no such"));
  CHECK(has(message<RuntimeError>([&] { ImageFolder(folder / "dogs"); }), "has no sub-folder"));
  CHECK(has(message<KeyError>([&] { ImageFolder(folder.path, {.class_indexing = {{"birds", 0}}}); }),
            "names the class 'birds'"));
  CHECK(
      has(message<ValueError>([&] { ImageFolder(folder.path, {.class_indexing = {{"cats", -1}}}); }), "the label -1"));
  std::filesystem::create_directory(folder / "birds");
  CHECK(has(message<RuntimeError>([&] { ImageFolder{folder.path}; }),
            "birds' holds no image that ends with .jpg, .jpeg"));
  std::filesystem::remove(folder / "birds");
  const ImageFolder data(folder.path);
  io::write_file(folder / "cats/a.png", "");
  const std::string empty = message<RuntimeError>([&] { samples_of(data); });
  CHECK(has(empty, "cats/a.png' is empty: 0 bytes"));
  CHECK(has(empty, "sample 0"));
  std::filesystem::remove(folder / "cats/a.png");
  CHECK(has(message<RuntimeError>([&] { samples_of(data); }), "No such file"));
  CHECK(has(message<RuntimeError>([&] { samples_of(ImageFolder(folder.path, {.file_limit = 3})); }), "at most 3"));
}

TEST_CASE("a folder that cannot be read to its end is an error, not a smaller data set, and is closed") {
  const Pets folder;
  const auto next_descriptor = [] {
    const int file = ::open("/dev/null", O_RDONLY);
    ::close(file);
    return file;
  };
  const int before = next_descriptor();
  for (long entries = 0; entries < 16; ++entries) {
    readable_entries = entries;
    const std::string said = message<RuntimeError>([&] { ImageFolder{folder.path}; });
    readable_entries = -1;
    CAPTURE(entries);
    CHECK(has(said, "Cannot list the files of '"));
    CHECK(has(said, "Input/output error"));
    CHECK(next_descriptor() == before);
  }
  CHECK(ImageFolder(folder.path).size() == 3);
}
