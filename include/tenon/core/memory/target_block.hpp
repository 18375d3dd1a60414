// A block of memory that the host and a second target share: which of them has which of its bytes.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

#include <tenon/core/memory/block_of.hpp>
#include <tenon/core/target.hpp>

namespace tenon::inline TENON_ABI::detail {

/// A block is divided into pieces. Each piece is on the host, or on the target, or on both: then neither of them has
/// written it since it was copied.
class TargetBlock {
 public:
  enum class Place : char { host, both, target };
  struct Piece {
    std::size_t begin, end;
    Place place;
  };
  const std::size_t bytes;
  const bool whole;            // one value, which is not divided
  TargetId target{};           // the last one that used it
  std::byte* there = nullptr;  // in its memory, from the first use on
  bool both_write = false;     // the same values, each on its side: the pages stay open

  TargetBlock(std::size_t size, BlockOf what)
      : bytes(size),
        whole(what == BlockOf::value),
        borders_{{0, what == BlockOf::scratch ? Place::target : Place::host}} {}

  /// The pieces, from the first one that ends after `begin` up to `end`.
  template <class F>
  void each(std::size_t begin, std::size_t end, F f) const {
    for (std::size_t i = after(begin) - 1; i < borders_.size() && borders_[i].begin < end; ++i) f(piece(i));
  }
  /// True if one of the pieces between `begin` and `end` is at `place`.
  bool has(Place place, std::size_t begin, std::size_t end) const {
    bool any = false;
    each(begin, end, [&](const Piece& p) { any |= p.place == place; });
    return any;
  }
  /// True if all pieces between `begin` and `end` are at `place`.
  bool is_at(Place place, std::size_t begin, std::size_t end) const {
    bool all = true;
    each(begin, end, [&](const Piece& p) { all &= p.place == place; });
    return all;
  }
  void move(std::size_t begin, std::size_t end, Place place) {
    if (begin == end) return;
    both_write = false;
    const std::size_t first = cut(begin), last = cut(end);
    borders_.erase(borders_.begin() + long(first) + 1, borders_.begin() + long(last));
    borders_[first].place = place;
    if (first + 1 < borders_.size() && borders_[first + 1].place == place)
      borders_.erase(borders_.begin() + long(first) + 1);
    if (first > 0 && borders_[first - 1].place == place) borders_.erase(borders_.begin() + long(first));
  }

 private:
  struct Border {
    std::size_t begin;
    Place place;  // up to the next border
  };
  Piece piece(std::size_t i) const {
    return {borders_[i].begin, i + 1 < borders_.size() ? borders_[i + 1].begin : bytes, borders_[i].place};
  }
  // The number of the first piece that begins after `at`.
  std::size_t after(std::size_t at) const {
    const auto found = std::upper_bound(borders_.begin(), borders_.end(), at,
                                        [](std::size_t wanted, const Border& b) { return wanted < b.begin; });
    return std::size_t(found - borders_.begin());
  }
  // The number of the piece that begins at `at`, which divides the one around it.
  std::size_t cut(std::size_t at) {
    const std::size_t next = after(at);
    if (at == bytes) return borders_.size();
    if (borders_[next - 1].begin == at) return next - 1;
    borders_.insert(borders_.begin() + long(next), Border{at, borders_[next - 1].place});
    return next;
  }

  std::vector<Border> borders_;
};

}  // namespace tenon::detail
