// A part of a training, of one rank: what it says of itself, and how its file is called.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <tenon/io/tensors/named_tensor.hpp>
#if TENON_DEFINES
#include <time.h>
#include <unistd.h>
#endif

namespace tenon::inline TENON_ABI::detail {

/// What each part says of itself, in a tensor of this name.
struct PartFacts {
  static constexpr std::string_view name = "tenon.part";
  static constexpr std::int64_t known_version = 1;
  std::int64_t version = known_version, rank = 0, ranks = 1;
  std::int64_t save = 0;  // the same in all parts of one save, and in no other

  /// A view of it.
  io::NamedTensor tensor() {
    constexpr std::int64_t numbers = 4;
    return {std::string(name), AnyTensor(Dtype::int64, {&numbers, 1}, this)};
  }
};
/// A number for a save.
[[gnu::cold]] std::int64_t new_save();

/// "run-rank-2-of-4.safetensors" for "run.safetensors". Throws ValueError for another suffix.
[[gnu::cold]] std::string part_path(const std::string& path, long rank, long ranks);
/// Writes tensors to a file: in programs that include <tenon/train/training_file.hpp>.
using WriteTensors = void (*)(const std::string& path, const io::NamedTensor* first, std::size_t tensors);
inline constinit WriteTensors write_tensors = nullptr;

#if TENON_DEFINES
[[gnu::cold, gnu::noinline]] TENON_INLINE std::int64_t new_save() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return (std::int64_t(time.tv_sec) * 1000000000 + time.tv_nsec) ^ (std::int64_t(::getpid()) << 40);
}
/// A path without its suffix; empty if it has another one.
[[gnu::cold]] inline std::string part_stem(const std::string& path) {
  constexpr std::string_view suffix = ".safetensors";
  return path.size() > suffix.size() && path.ends_with(suffix) ? path.substr(0, path.size() - suffix.size()) : "";
}
[[gnu::cold, gnu::noinline]] TENON_INLINE std::string part_path(const std::string& path, long rank, long ranks) {
  const std::string stem = part_stem(path);
  if (stem.empty())
    throw_error<ValueError>("Cannot save '", path, "' in parts: its name must end with '.safetensors'.");
  return text(stem, "-rank-", rank, "-of-", ranks, ".safetensors");
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
