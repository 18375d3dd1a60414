// SharedBlocks: a block of memory of each rank of a group, which all of them read and write, if on one machine.
#pragma once
#include <cstddef>
#include <utility>

#include <tenon/core/memory/growing.hpp>
#include <tenon/dist/collectives.hpp>
#if TENON_DEFINES && defined(__linux__)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include <tenon/core/memory/aligned_bytes.hpp>
#endif

namespace tenon::inline TENON_ABI::dist::detail {

/// The blocks are files that have no name but for their processes, so nothing is left when these have ended, however
/// they end.
class SharedBlocks {
 public:
  SharedBlocks() = default;
  /// Called by all ranks, with equal `bytes`: zeros, aligned to a page. There are none, on all ranks alike, if one of
  /// them does not want them (`wanted`), or cannot reach those of another: on another machine, in another container.
  SharedBlocks(const Communicator& ranks, std::size_t bytes, bool wanted);
  SharedBlocks(SharedBlocks&& other) noexcept
      : blocks_(std::exchange(other.blocks_, {})), bytes_(std::exchange(other.bytes_, 0)) {}
  SharedBlocks& operator=(SharedBlocks&& other) noexcept {
    SharedBlocks taken(std::move(other));
    std::swap(blocks_, taken.blocks_);
    std::swap(bytes_, taken.bytes_);
    return *this;
  }
  ~SharedBlocks() { clear(); }

  explicit operator bool() const { return !blocks_.empty(); }
  std::size_t bytes() const { return bytes_; }
  std::byte* of(int rank) const { return blocks_[std::size_t(rank)]; }

 private:
  void clear();

  tenon::detail::Growing<std::byte*> blocks_;
  std::size_t bytes_ = 0;
};

#if TENON_DEFINES
#if defined(__linux__)
/// What a rank tells the others: where its block is.
struct BlockAddress {
  static constexpr std::int32_t called = 4;  // of Called::training
  std::int64_t process = 0;
  std::int32_t file = -1, wanted = 0;
  char name[40]{};  // random, so that no other process' file is taken for it
  char host[256]{};
};
/// A file of this process alone, as long as it is open; -1 if there cannot be one.
[[gnu::cold, gnu::noinline]] inline int open_block(std::size_t bytes, char (&name)[40]) {
  std::uint64_t number[2]{};
  if (::getrandom(number, sizeof number, GRND_NONBLOCK) != sizeof number) return -1;
  std::snprintf(name, sizeof name, "tenon-%016llx%016llx", static_cast<unsigned long long>(number[0]),
                static_cast<unsigned long long>(number[1]));
  const int file = ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  // with its pages, as a page that cannot be had later would be a signal, and its length cannot change any more
  if (file >= 0 && ::posix_fallocate(file, 0, off_t(bytes)) == 0 &&
      ::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
    return file;
  if (file >= 0) ::close(file);
  return -1;
}
/// The block of a rank; null if this process does not reach it.
[[gnu::cold, gnu::noinline]] inline std::byte* map_block(const BlockAddress& address, const BlockAddress& own,
                                                         std::size_t bytes) {
  if (address.file < 0 || std::strcmp(address.host, own.host) != 0) return nullptr;
  char path[64], expected[64], found[64]{};
  std::snprintf(path, sizeof path, "/proc/%lld/fd/%d", static_cast<long long>(address.process), int(address.file));
  std::snprintf(expected, sizeof expected, "/memfd:%s (deleted)", address.name);
  // read before it is opened: in another container the number may be that of anything
  if (::readlink(path, found, sizeof found - 1) < 0 || std::strcmp(found, expected) != 0) return nullptr;
  const int file = ::open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return nullptr;
  struct stat facts{};
  void* data = MAP_FAILED;
  if (::fstat(file, &facts) == 0 && facts.st_size == off_t(bytes))
    data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  return data == MAP_FAILED ? nullptr : static_cast<std::byte*>(data);
}

[[gnu::cold]] TENON_INLINE_CONSTRUCTOR SharedBlocks::SharedBlocks(const Communicator& ranks, std::size_t bytes,
                                                                  bool wanted) {
  // what each rank has, until the next call
  const auto told = [&](const void* own, std::size_t size) -> const void* {
    const std::span<std::byte> all = scratch(size * std::size_t(ranks.size()));
    gather_for(ranks, {Called::training, BlockAddress::called, -1, 0, std::int64_t(size)},
               {static_cast<const std::byte*>(own), size}, all);
    return all.data();
  };
  BlockAddress own{::getpid()};
  own.file = wanted && ::gethostname(own.host, sizeof own.host - 1) == 0 ? open_block(bytes, own.name) : -1;
  const auto* const addresses = static_cast<const BlockAddress*>(told(&own, sizeof own));
  std::int32_t reached = 1;
  bytes_ = bytes;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    std::byte* const block = reached ? map_block(addresses[rank], own, bytes) : nullptr;
    if (block) blocks_.push_back(block);
    else reached = 0;
  }
  // a block stays open until all have reached it
  const auto* const all_reached = static_cast<const std::int32_t*>(told(&reached, sizeof reached));
  if (own.file >= 0) ::close(own.file);
  for (int rank = 0; rank < ranks.size(); ++rank) reached &= all_reached[rank];
  if (!reached) clear();
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void SharedBlocks::clear() {
  for (std::byte* const block : blocks_) ::munmap(block, bytes_);
  blocks_.clear();
  bytes_ = 0;
}
#else
TENON_INLINE_CONSTRUCTOR SharedBlocks::SharedBlocks(const Communicator&, std::size_t, bool) {}
TENON_INLINE void SharedBlocks::clear() {}
#endif
#endif  // TENON_DEFINES

}  // namespace tenon::dist::detail
