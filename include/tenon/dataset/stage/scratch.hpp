// The state of a thread that reads rows: memory for intermediate values, and the current row.
#pragma once
#include <cstddef>
#include <cstdint>

#include <tenon/core/math/min_max.hpp>
#include <tenon/core/memory/aligned_bytes.hpp>
#include <tenon/core/memory/growing.hpp>
#include <tenon/core/memory/owned.hpp>
#include <tenon/core/random/philox.hpp>
#include <tenon/dataset/batch/ragged.hpp>
#if TENON_DEFINES
#include <exception>
#include <new>
#include <string>
#endif

namespace tenon::inline TENON_ABI::dataset {

/// Which sample was read last, set by its source. Random operations draw by it, so that a sample is treated alike
/// wherever it stands in the order and whichever thread reads it.
struct SampleOrigin {
  static constexpr std::uint64_t no_sample = ~std::uint64_t{0};  // none of the row was read yet
  std::uint64_t sample = 0, epoch = 0;                           // number and epoch in the source
  std::uint64_t again = 0;   // what tells it from the same number elsewhere in the epoch; 0: there is none
  std::uint64_t passes = 1;  // how many epochs of the source one of the whole has

  void begins(std::uint64_t number, std::uint64_t in_epoch) { *this = {number, in_epoch, 0, 1}; }
  void told_apart_by(std::uint64_t number) { again = hash_number(number, again); }
};

/// Memory between stages. What a stage takes goes back at the end of its Frame and is taken again at the next row, so
/// that walking allocates nothing once the largest row has been seen.
class Scratch : public SampleOrigin {
 public:
  Scratch();
  Scratch(Scratch&&) noexcept;
  Scratch& operator=(Scratch&&) noexcept;
  ~Scratch();

  /// `bytes`, aligned to 64; they hold anything.
  std::byte* bytes(std::size_t bytes);
  /// A sample whose size is known later.
  RaggedValue& ragged();

  /// Gives back at its end what was taken since its beginning.
  class Frame {
   public:
    explicit Frame(Scratch& scratch) : scratch_(scratch), mark_(scratch.mark_) {}
    Frame(const Frame&) = delete;
    ~Frame() { scratch_.mark_ = mark_; }

   private:
    friend class Scratch;
    Scratch& scratch_;
    struct Mark {
      std::size_t block = 0, used = 0, ragged = 0;
    };
    const Mark mark_;
  };

  /// What works on it, for the message of an error; null in a source.
  const char* operation = nullptr;
  /// Of a row of bucket_batch_by_length the bucket.
  int bucket = 0;
  /// The walk that the row is read for, and whether it is its first row: what can only be read in order (stream.hpp)
  /// goes there, and the other threads of the walk wait until it is their turn.
  struct Walk {
    std::uint64_t number = 0;
    bool first_row = true;
  } walk;
#if defined(TENON_TARGET)
  /// If given, the numbers of the samples of the row go there, and a source copies only what the host needs of them.
  tenon::detail::Growing<std::int32_t>* picked = nullptr;
#endif

 private:
  static constexpr std::size_t first_block = 64 << 10;
  static constexpr int most_blocks = 32;  // each is twice as large as the one before: more than there is memory

  AlignedBytes block_[most_blocks];
  std::size_t size_[most_blocks];
  tenon::detail::Growing<tenon::detail::Owned<RaggedValue>> ragged_;
  Frame::Mark mark_;
};

/// What identifies a row: the epoch, which decides the order, and the position in it, 0 .. size() - 1.
struct Place {
  std::uint64_t epoch = 0;
  long position = 0;
};

namespace detail {
/// The key of the random numbers for the sample that was read last.
inline std::uint64_t random_key(std::uint64_t seed, const Scratch& scratch) {
  const std::uint64_t key = hash_number(scratch.sample, hash_number(scratch.epoch, seed));
  return scratch.again ? hash_number(scratch.again, key) : key;
}
/// Inside of a catch block: throws an error of the same kind whose message also says at which row, sample, and
/// operation it was. Exceptions that are no errors of Tenon's become a RuntimeError.
[[noreturn, gnu::cold]] void rethrow_with_place(const Place& place, const Scratch& scratch);
}  // namespace detail

#if TENON_DEFINES
namespace detail {
[[gnu::noinline, gnu::cold]] TENON_INLINE void rethrow_with_place(const Place& place, const Scratch& scratch) {
  const auto with_place = [&](const char* what) {
    const std::string sample = scratch.sample == Scratch::no_sample ? "" : text(", sample ", scratch.sample);
    return text(what, " (data set: row ", place.position, " of epoch ", place.epoch, sample,
                scratch.operation ? ", in " : "", scratch.operation ? scratch.operation : "", ")");
  };
  try {
    throw;
  } catch (const OutOfMemory&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw_error<OutOfMemory>(with_place("Out of memory"), ". Free memory first, or read fewer rows ahead.");
  } catch (const ValueError& error) {
    throw_error<ValueError>(with_place(error.what()));
  } catch (const TypeError& error) {
    throw_error<TypeError>(with_place(error.what()));
  } catch (const KeyError& error) {
    throw_error<KeyError>(with_place(error.what()));
  } catch (const std::exception& error) {
    throw_error<RuntimeError>(with_place(error.what()));
  }
}
}  // namespace detail

[[gnu::noinline, gnu::cold]] TENON_INLINE_CONSTRUCTOR Scratch::Scratch() : size_{first_block} {
  block_[0] = AlignedBytes(first_block, "rows of a data set");
}
TENON_INLINE_CONSTRUCTOR Scratch::Scratch(Scratch&&) noexcept = default;
TENON_INLINE Scratch& Scratch::operator=(Scratch&&) noexcept = default;
[[gnu::noinline]] TENON_INLINE_CONSTRUCTOR Scratch::~Scratch() {}

[[gnu::noinline]] TENON_INLINE std::byte* Scratch::bytes(std::size_t asked) {
  const std::size_t taken = (asked + 63) / 64 * 64;
  for (; mark_.used + taken > size_[mark_.block]; mark_.used = 0) {
    const std::size_t before = size_[mark_.block++];
    if (size_[mark_.block]) continue;
    block_[mark_.block] = AlignedBytes(math::max(taken, 2 * before), "rows of a data set");
    size_[mark_.block] = math::max(taken, 2 * before);
  }
  std::byte* const begin = block_[mark_.block].data() + mark_.used;
  mark_.used += taken;
  return begin;
}
[[gnu::noinline]] TENON_INLINE RaggedValue& Scratch::ragged() {
  if (mark_.ragged == ragged_.size()) ragged_.push_back(tenon::detail::Owned<RaggedValue>(new RaggedValue));
  return *ragged_[mark_.ragged++];
}
#endif  // TENON_DEFINES

}  // namespace tenon::dataset
