// dump_files: the tensors that lie in a dump, in the order of execution.
#pragma once
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <dirent.h>
#include <sys/stat.h>

#include <tenon/io/file.hpp>
#include <tenon/io/text/escaped_text.hpp>

namespace tenon::inline TENON_ABI::debug {

/// A file of a dump, MindSpore's or ours.
struct DumpFile {
  std::string tensor;  // its folder below the dump's, its name without task, stream, time, and format
  std::string path;
  std::string folder;
  std::int64_t time = 0;
};

/// The .npy files with names of a dump in a folder and those below it, by folder (numbers by their size) and time. Of
/// two runs that were dumped into one folder the later one counts. Names in a mapping.csv are taken from there.
///
/// throws      RuntimeError if the folder cannot be read, has no such files, or more than ten million
[[gnu::cold]] std::vector<DumpFile> dump_files(const std::string& folder);

namespace detail {

inline constexpr int deepest_dump = 8;
inline constexpr std::size_t most_dump_files = 10'000'000;

/// Splits "Type.name.0.0.time.input.0.DefaultFormat.Float32.npy"; false for another form.
[[gnu::cold]] inline bool take_apart(std::string_view name, std::string& tensor, std::int64_t& time) {
  std::vector<std::string_view> part;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    part.push_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  std::size_t io = part.size();
  while (io-- > 5)
    if (part[io] == "input" || part[io] == "output") break;
  if (part.back() != "npy" || io < 5 || io + 2 >= part.size()) return false;
  const std::string_view digits = part[io - 1];
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), time);
  if (error != std::errc() || end != digits.data() + digits.size()) return false;
  tensor = part[0];
  for (std::size_t i = 1; i + 3 < io; ++i) tensor += text(".", part[i]);
  tensor += text(".", part[io], ".", part[io + 1]);
  return true;
}

/// Original names by the short ones.
[[gnu::cold]] inline std::map<std::string, std::string> read_mapping(const std::string& folder) {
  std::map<std::string, std::string> names;
  const std::string path = io::join_path(folder, "mapping.csv");
  if (!io::file_exists(path)) return names;
  const std::string lines = io::read_file(path, std::uint64_t{1} << 30);
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', begin), lines.size());
    const std::string line = lines.substr(begin, end - begin);
    if (const std::size_t comma = line.find(','); comma != line.npos)
      names[line.substr(0, comma)] = line.substr(comma + 1);
    begin = end + 1;
  }
  return names;
}

/// The names in a folder, of those files and folders that are no links.
[[gnu::cold]] inline std::vector<std::pair<std::string, bool>> names_in(const std::string& folder) {
  DIR* const listing = ::opendir(folder.c_str());
  if (!listing) io::throw_system_error("read the folder", folder);
  std::vector<std::pair<std::string, bool>> names;
  while (const dirent* entry = ::readdir(listing)) {
    const std::string name = entry->d_name;
    struct stat status;
    if (name == "." || name == ".." || ::lstat(io::join_path(folder, name).c_str(), &status) != 0) continue;
    if (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) names.emplace_back(name, S_ISDIR(status.st_mode));
  }
  ::closedir(listing);
  return names;
}

[[gnu::cold]] inline void collect_dump_files(const std::string& folder, const std::string& below, int depth,
                                             std::vector<DumpFile>& found) {
  const std::map<std::string, std::string> mapping = read_mapping(folder);
  for (const auto& [name, is_folder] : names_in(folder)) {
    const std::string path = io::join_path(folder, name);
    if (is_folder) {
      if (depth < deepest_dump) collect_dump_files(path, text(below, name, "/"), depth + 1, found);
      continue;
    }
    const auto original = mapping.find(name);
    DumpFile file;
    if (!take_apart(original == mapping.end() ? name : original->second, file.tensor, file.time)) continue;
    if (found.size() == most_dump_files)
      throw_error<RuntimeError>("There are more than ", most_dump_files, " files in this dump; compare one iteration.");
    file.tensor.insert(0, below);
    file.path = path;
    file.folder = below;
    found.push_back(std::move(file));
  }
}

/// Whether folder a stands before b: "0/9/" before "0/10/".
[[gnu::cold]] inline bool before(std::string_view a, std::string_view b) {
  while (true) {
    const std::size_t a_end = a.find('/'), b_end = b.find('/');
    if (a_end == a.npos || b_end == b.npos) return a_end == a.npos && b_end != b.npos;
    const std::string_view x = a.substr(0, a_end), y = b.substr(0, b_end);
    const auto is_number = [](std::string_view s) { return s.find_first_not_of("0123456789") == s.npos; };
    if (x != y) return is_number(x) && is_number(y) && x.size() != y.size() ? x.size() < y.size() : x < y;
    a.remove_prefix(a_end + 1);
    b.remove_prefix(b_end + 1);
  }
}

}  // namespace detail

inline std::vector<DumpFile> dump_files(const std::string& folder) {
  std::vector<DumpFile> found;
  detail::collect_dump_files(folder, "", 0, found);
  if (found.empty())
    throw_error<RuntimeError>("There are no tensors of a dump (.npy) in ", io::printable(folder),
                              " or below it; a dump with saved_data \"statistic\" has none.");
  // of each tensor the latest
  std::ranges::sort(found, [](const DumpFile& a, const DumpFile& b) {
    return a.tensor != b.tensor ? a.tensor < b.tensor : a.time > b.time;
  });
  const auto rest = std::ranges::unique(found, {}, &DumpFile::tensor);
  found.erase(rest.begin(), rest.end());
  std::ranges::sort(found, [](const DumpFile& a, const DumpFile& b) {
    return a.folder != b.folder ? detail::before(a.folder, b.folder) : a.time < b.time;
  });
  return found;
}

}  // namespace tenon::debug
