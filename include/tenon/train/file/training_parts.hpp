// A training that ranks have saved in parts, one file of each: their names, which of them there are, and their join.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <tenon/core/config.hpp>
#include <tenon/io/tensors/named_tensor.hpp>
#include <tenon/train/file/part_facts.hpp>
#if TENON_DEFINES
#include <dirent.h>
#include <unistd.h>
#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

#include <tenon/io/file.hpp>
#include <tenon/io/safetensors.hpp>
#endif

namespace tenon::inline TENON_ABI::detail {

/// Whether a name of a file goes on as that of a part of rank 0.
[[gnu::cold]] bool is_first_part(std::string_view rest);
/// The name of a training by that of its file, or of a part.
[[gnu::cold]] std::string whole_name(const std::string& name);
/// The parts of what was saved to a path, by rank; none if a whole file was, or nothing. Throws RuntimeError that names
/// a part which is missing, and for two kinds of files.
[[gnu::cold]] std::vector<std::string> parts_of(const std::string& path);
/// Removes the parts of a path, that of rank 0 first. Those that `but` ranks have saved stay.
[[gnu::cold]] void remove_parts(const std::string& path, long but = 0);

/// io::load_tensors of all parts together, one in memory after the other; with `strict` all are looked at before
/// anything changes. Throws RuntimeError that names a part which is damaged, of another save, or of another rank.
[[gnu::cold]] void read_parts(const std::string& path, const std::vector<std::string>& parts,
                              std::span<const io::NamedTensor> into, bool strict);

#if TENON_DEFINES
/// Which part a file is, by its name.
struct PartName {
  long rank = -1, ranks = 0;
};
/// "-rank-2-of-4.safetensors". Not more ranks than anybody has: others are foreign files.
[[gnu::cold]] inline PartName parse_part_name(std::string_view rest) {
  constexpr long most = 1 << 20;
  const auto take = [&](std::string_view text, long& number) {
    if (!rest.starts_with(text)) return false;
    rest.remove_prefix(text.size());
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error != std::errc() || number < 0 || number > most) return false;
    rest.remove_prefix(std::size_t(end - rest.data()));
    return true;
  };
  PartName found;
  if (!take("-rank-", found.rank) || !take("-of-", found.ranks) || rest != ".safetensors" || found.rank >= found.ranks)
    return {};
  return found;
}
[[gnu::cold, gnu::noinline]] TENON_INLINE bool is_first_part(std::string_view rest) {
  return parse_part_name(rest).rank == 0;
}
[[gnu::cold, gnu::noinline]] TENON_INLINE std::string whole_name(const std::string& name) {
  const std::size_t at = name.rfind("-rank-");
  if (at == name.npos || parse_part_name(std::string_view(name).substr(at)).rank < 0) return name;
  return name.substr(0, at) + ".safetensors";
}
/// Those that there are, in the order of ranks.
[[gnu::cold]] inline std::vector<PartName> find_parts(const std::string& path) {
  std::vector<PartName> found;
  const std::string stem = part_stem(path), directory = io::directory_of(path);
  const std::string_view name = std::string_view(stem).substr(stem.rfind('/') + 1);
  DIR* const open = name.empty() ? nullptr : ::opendir(directory.c_str());
  if (!open) return found;
  while (const dirent* const entry = ::readdir(open))
    if (const std::string_view file(entry->d_name); file.starts_with(name))
      if (const PartName part = parse_part_name(file.substr(name.size())); part.rank >= 0) found.push_back(part);
  ::closedir(open);
  std::sort(found.begin(), found.end(), [](const PartName& a, const PartName& b) { return a.rank < b.rank; });
  return found;
}
[[gnu::cold, gnu::noinline]] TENON_INLINE std::vector<std::string> parts_of(const std::string& path) {
  const std::vector<PartName> found = find_parts(path);
  if (found.empty()) return {};
  const long ranks = found[0].ranks;
  const auto refuse = [&](const auto&... words) { throw_error<RuntimeError>("Cannot load '", path, "': ", words...); };
  if (io::file_exists(path))
    refuse("it exists, and so do parts of it, '", part_path(path, found[0].rank, ranks), "': remove what is older.");
  for (const PartName& part : found)
    if (part.ranks != ranks)
      refuse("'", part_path(path, found[0].rank, ranks), "' and '", part_path(path, part.rank, part.ranks),
             "' are parts of different numbers of ranks: remove those that are older.");
  std::vector<std::string> parts;
  for (long rank = 0; rank < ranks; ++rank) {
    parts.push_back(part_path(path, rank, ranks));
    if (std::size_t(rank) >= found.size() || found[std::size_t(rank)].rank != rank)
      refuse("its part '", parts.back(), "' is missing.");
  }
  return parts;
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void remove_parts(const std::string& path, long but) {
  for (const PartName& part : find_parts(path))
    if (part.ranks != but) ::unlink(part_path(path, part.rank, part.ranks).c_str());
}

/// Throws RuntimeError unless a file is the part that its name says, and of the same save as the first part.
[[gnu::cold]] inline void check_part(const io::Safetensors& file, const std::vector<std::string>& parts,
                                     std::size_t rank, PartFacts& first) {
  const std::string& path = parts[rank];
  const AnyTensor* const tensor = file.find(PartFacts::name);
  PartFacts own;
  if (!tensor || tensor->dtype != Dtype::int64 || tensor->bytes() != sizeof own)
    throw_error<RuntimeError>("Cannot load '", path, "': it is no part of a training, there is no '", PartFacts::name,
                              "' of 4 numbers in it.");
  std::memcpy(&own, tensor->data, sizeof own);
  if (own.version != PartFacts::known_version)
    throw_error<RuntimeError>("Cannot load '", path, "': it is a part of version ", own.version,
                              ", this program reads version ", PartFacts::known_version, ".");
  if (own.rank != std::int64_t(rank) || own.ranks != std::int64_t(parts.size()))
    throw_error<RuntimeError>("Cannot load '", path, "': by what is in it, it is the part of rank ", own.rank, " of ",
                              own.ranks, ".");
  if (rank == 0) first = own;
  if (own.save != first.save)
    throw_error<RuntimeError>("Cannot load '", path, "': it is not of the same save as '", parts[0], "'.");
}
/// Looks at all parts, and finds what is wrong with their names, dtypes, and shapes.
[[gnu::cold]] inline void check_parts(const std::string& path, const std::vector<std::string>& parts,
                                      std::span<const io::NamedTensor> into) {
  const io::SortedNames asked(into);
  std::vector<io::NamedTensor> all;
  std::vector<std::size_t> part_of;
  PartFacts first;
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    const io::Safetensors file(parts[rank]);
    check_part(file, parts, rank, first);
    if (!file.foreign().empty()) io::detail::throw_foreign(parts[rank], file.foreign()[0]);
    for (const io::NamedTensor& named : file.tensors()) {
      if (named.name == PartFacts::name) continue;
      if (const std::size_t i = asked.find(named.name); i != io::SortedNames::none)
        io::detail::check_match(parts[rank], into[i], named.tensor);
      all.push_back({std::string(named.name), {}});
      part_of.push_back(rank);
    }
  }
  const io::SortedNames held(all);
  if (const std::string_view* const twice = held.twice()) {
    std::vector<std::size_t> in;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].name == *twice) in.push_back(part_of[i]);
    throw_error<RuntimeError>("Cannot load '", path, "': the tensor ", io::printable(*twice), " is in '", parts[in[0]],
                              "' and in '", parts[in[1]], "'.");
  }
  const io::LoadReport report = io::detail::compare_names({path, all}, into);
  if (!report.missing.empty() || !report.unexpected.empty())
    throw_error<KeyError>("'", path, "' holds a training of another network or optimizer.",
                          io::detail::unmatched_text(report));
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void read_parts(const std::string& path,
                                                          const std::vector<std::string>& parts,
                                                          std::span<const io::NamedTensor> into, bool strict) {
  if (strict) check_parts(path, parts, into);
  PartFacts first;
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    const io::Safetensors file(parts[rank]);
    check_part(file, parts, rank, first);  // again: the file may be another one now
    io::load_tensors({parts[rank], file.tensors(), file.foreign()}, into, false);
  }
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
