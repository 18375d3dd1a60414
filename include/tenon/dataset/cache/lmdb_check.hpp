// Verifies the structure of an LMDB file before LMDB uses it. LMDB checks nothing: a damaged page would crash the
// program. Rows have separate checksums.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tenon/core/error.hpp>

namespace tenon::inline TENON_ABI::dataset::detail {

// The file of LMDB 0.9 on a 64-bit machine (mdb.c, MDB_page, MDB_meta, MDB_db, MDB_node). Page 0 and 1 are metas; the
// newer one has the roots of two B-trees, of free pages and of rows.

struct LmdbTree {
  std::uint32_t pad;  // in the tree of free pages: the size of a page
  std::uint16_t flags, depth;
  std::uint64_t branch_pages, leaf_pages, overflow_pages, entries, root;
};
struct LmdbMeta {
  std::uint32_t magic, version;
  std::uint64_t address, map_size;
  LmdbTree free, rows;
  std::uint64_t last_page, transaction;
};
struct LmdbPageHead {
  std::uint64_t number;
  std::uint16_t pad, flags, lower, upper;
};
struct LmdbNode {
  std::uint16_t low, high, flags, key_bytes;
};
static_assert(sizeof(LmdbTree) == 48 && sizeof(LmdbMeta) == 136 && sizeof(LmdbPageHead) == 16 && sizeof(LmdbNode) == 8);

inline constexpr std::uint32_t lmdb_magic = 0xbeefc0de, lmdb_version = 1;
inline constexpr std::uint64_t lmdb_no_page = ~std::uint64_t{0};

/// A file whose process was killed before it had a row.
inline constexpr std::string_view lmdb_unfinished = "it ends in its first pages";

/// What is wrong with the two metas of a file, "" if LMDB may open it: all that it does not check itself. The file may
/// be in use by others.
[[gnu::cold]] inline std::string fault_of_lmdb_metas(int file) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::uint64_t needed = 0;
  for (const std::uint64_t place : {std::uint64_t{0}, page}) {
    struct {
      LmdbPageHead head;
      LmdbMeta meta;
    } found;
    const ssize_t count = ::pread(file, &found, sizeof found, static_cast<off_t>(place));
    if (count == 0 && place == 0) return "";  // an empty file, which LMDB fills
    if (count != ssize_t(sizeof found)) return std::string(lmdb_unfinished);
    const LmdbMeta& meta = found.meta;
    constexpr std::uint16_t is_meta = 8, integer_keys = 8;
    if (found.head.number != place / page || !(found.head.flags & is_meta) || meta.magic != lmdb_magic ||
        meta.version != lmdb_version || meta.free.pad != page || meta.free.flags != integer_keys ||
        meta.rows.flags != 0 || meta.last_page < 1 || meta.last_page > lmdb_no_page / page - 2)
      return text("page ", place / page, " is damaged");
    needed = std::max(needed, (meta.last_page + 1) * page);
  }
  struct stat status;
  if (::fstat(file, &status) != 0 || static_cast<std::uint64_t>(status.st_size) < needed)
    return text("it should have ", needed, " bytes, and is shorter");
  return "";
}

/// Whether it is the head of this many pages of one row.
inline bool is_overflow_head(const LmdbPageHead& head, std::uint64_t pages) {
  constexpr std::uint16_t overflow = 4;
  return head.flags == overflow && (head.lower | std::uint64_t{head.upper} << 16) == pages;
}
/// Whether LMDB may free the pages of a row that mdb_get() has found.
inline bool has_right_head(std::string_view row) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  LmdbPageHead head;
  const char* const before = row.data() - sizeof head;
  if (reinterpret_cast<std::uintptr_t>(before) % page != 0) return true;  // among others on a page
  std::memcpy(&head, before, sizeof head);
  return is_overflow_head(head, (sizeof head - 1 + row.size()) / page + 1);
}

/// The pages of one snapshot of a file. The caller has a transaction that keeps them from being used again.
class LmdbCheck {
 public:
  LmdbCheck(int file, std::uint64_t transaction) {
    struct stat status;
    if (::fstat(file, &status) != 0) return;
    bytes_ = static_cast<std::size_t>(status.st_size) / page_ * page_;
    if (bytes_ < 2 * page_) return;
    void* const map = ::mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, file, 0);
    is_snapshot_ = map == MAP_FAILED;  // of which nothing is looked at
    if (map == MAP_FAILED) return;
    map_ = static_cast<const char*>(map);
    const char* const meta = at(transaction & 1) + sizeof(LmdbPageHead);
    std::memcpy(&meta_, meta, sizeof meta_);
    is_snapshot_ = meta_.transaction == transaction && std::memcmp(&meta_, meta, sizeof meta_) == 0;
  }
  LmdbCheck(const LmdbCheck&) = delete;
  ~LmdbCheck() {
    if (map_) ::munmap(const_cast<char*>(map_), bytes_);
  }

  /// False if others have committed meanwhile, so that the snapshot's roots are gone: begin another transaction.
  bool is_snapshot() const { return is_snapshot_; }
  /// What is wrong, "" if nothing is. Without memory for the file's addresses nothing is looked at.
  std::string fault() {
    if (!map_) return "";
    if (meta_.last_page >= bytes_ / page_) return "it is shorter than it says";
    seen_.assign(static_cast<std::size_t>(meta_.last_page) + 1, false);
    seen_[0] = seen_[1] = true;
    for (const bool free : {true, false}) {
      const LmdbTree& tree = free ? meta_.free : meta_.rows;
      is_free_ = free;
      count_ = {};
      has_last_ = false;
      if (tree.root != lmdb_no_page && !walk(tree.root, tree.depth, {})) return text("page ", bad_, " is damaged");
      if (tree.root == lmdb_no_page && (tree.depth || tree.entries)) return "a root is missing";
      if (count_.entries != tree.entries || count_.branch_pages != tree.branch_pages ||
          count_.leaf_pages != tree.leaf_pages || count_.overflow_pages != tree.overflow_pages)
        return text("it has ", count_.entries, " entries and says ", tree.entries);
    }
    return "";
  }

 private:
  static constexpr std::uint16_t branch = 1, leaf = 2, bigger = 1;  // the last one of a node
  static constexpr unsigned most_levels = 32;

  const char* at(std::uint64_t page) const { return map_ + page * page_; }
  /// Marks pages as used by one owner. False for those that cannot be, or have one.
  bool take(std::uint64_t first, std::uint64_t count) {
    if (first < 2 || first > meta_.last_page || count > meta_.last_page + 1 - first) return false;
    for (std::uint64_t i = first; i < first + count; ++i) {
      if (seen_[static_cast<std::size_t>(i)]) return false;
      seen_[static_cast<std::size_t>(i)] = true;
    }
    return true;
  }
  /// In the order of LMDB: numbers of transactions, or bytes.
  bool is_before(std::string_view a, std::string_view b) const {
    if (!is_free_) return a < b;
    std::uint64_t x, y;
    std::memcpy(&x, a.data(), 8), std::memcpy(&y, b.data(), 8);
    return x < y;
  }
  bool is_key(std::string_view key) const { return is_free_ ? key.size() == 8 : !key.empty() && key.size() <= 511; }

  struct Entry {
    LmdbNode node{};
    std::string_view key{}, data{};  // data: up to the end of the page
  };
  /// Entry i of a page. False if it is not inside of the page.
  bool entry(const char* page, const LmdbPageHead& head, std::size_t i, Entry& found) const {
    std::uint16_t place;
    std::memcpy(&place, page + sizeof head + 2 * i, 2);
    if (place < head.upper || place % 2 || place > page_ - sizeof(LmdbNode)) return false;
    std::memcpy(&found.node, page + place, sizeof found.node);
    const std::size_t begin = place + sizeof(LmdbNode);
    if (found.node.key_bytes > page_ - begin) return false;
    found.key = {page + begin, found.node.key_bytes};
    found.data = {page + begin + found.node.key_bytes, page_ - begin - found.node.key_bytes};
    return true;
  }
  /// A page and all below it; keys are not before `least`.
  bool walk(std::uint64_t number, unsigned levels, std::string_view least) {
    bad_ = number;
    if (levels < 1 || levels > most_levels || !take(number, 1)) return false;
    const char* const page = at(number);
    LmdbPageHead head;
    std::memcpy(&head, page, sizeof head);
    const bool is_leaf = levels == 1;
    if (head.number != number || head.flags != (is_leaf ? leaf : branch) || head.lower < sizeof head ||
        head.lower > head.upper || head.upper > page_ || head.lower % 2)
      return false;
    const std::size_t entries = (head.lower - sizeof head) / 2;
    if (entries == 0) return false;
    ++(is_leaf ? count_.leaf_pages : count_.branch_pages);
    for (std::size_t i = 0; i < entries; ++i) {
      Entry found;
      if (!entry(page, head, i, found)) return false;
      if (is_leaf ? !check_leaf(found, i == 0 ? least : std::string_view())
                  : !check_branch(found, i == 0, levels, least)) {
        if (is_leaf) bad_ = number;
        return false;
      }
    }
    return true;
  }
  bool check_branch(const Entry& found, bool is_first, unsigned levels, std::string_view least) {
    const std::uint64_t child =
        found.node.low | std::uint64_t{found.node.high} << 16 | std::uint64_t{found.node.flags} << 32;
    if (is_first) return walk(child, levels - 1, least);  // its key is not looked at
    if (!is_key(found.key) || (has_last_ && !is_before(last(), found.key))) return false;
    return walk(child, levels - 1, found.key);
  }
  bool check_leaf(const Entry& found, std::string_view least) {
    if (!is_key(found.key) || (has_last_ && !is_before(last(), found.key))) return false;
    if (!least.empty() && is_before(found.key, least)) return false;
    last_ = found.key, has_last_ = true;
    ++count_.entries;
    const std::uint64_t bytes = found.node.low | std::uint64_t{found.node.high} << 16;
    if (found.node.flags == 0)
      return bytes <= found.data.size() && (!is_free_ || check_free({found.data.data(), std::size_t(bytes)}));
    if (found.node.flags != bigger || found.data.size() < 8) return false;
    std::uint64_t first;
    std::memcpy(&first, found.data.data(), 8);
    const std::uint64_t pages = (sizeof(LmdbPageHead) - 1 + bytes) / page_ + 1;
    if (!take(first, pages)) return false;
    count_.overflow_pages += pages;
    // a row is not looked at: it has a checksum, and has_right_head() before another one takes its place
    return !is_free_ ||
           (check_overflow(first, pages) && check_free({at(first) + sizeof(LmdbPageHead), std::size_t(bytes)}));
  }
  /// The head of a list that has pages of its own.
  bool check_overflow(std::uint64_t first, std::uint64_t pages) const {
    LmdbPageHead head;
    std::memcpy(&head, at(first), sizeof head);
    return head.number == first && is_overflow_head(head, pages);
  }
  /// A list of free pages: how many there are, then these, the last one first.
  bool check_free(std::string_view list) {
    std::uint64_t count, page, before = lmdb_no_page;
    if (list.size() < 8) return false;
    std::memcpy(&count, list.data(), 8);
    if (count > list.size() / 8 - 1) return false;
    for (std::uint64_t i = 0; i < count; ++i, before = page) {
      std::memcpy(&page, list.data() + 8 * (i + 1), 8);
      if (page >= before || !take(page, 1)) return false;
    }
    return true;
  }
  std::string_view last() const { return last_; }

  const std::size_t page_ = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const char* map_ = nullptr;
  std::size_t bytes_ = 0;
  LmdbMeta meta_{};
  bool is_snapshot_ = false, is_free_ = false, has_last_ = false;
  std::vector<bool> seen_;
  LmdbTree count_{};
  std::string_view last_;
  std::uint64_t bad_ = 0;
};

}  // namespace tenon::dataset::detail
