// Iterates over a data set: owns the memory of one row and refills it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>

#include <tenon/core/memory/aligned_bytes.hpp>
#include <tenon/core/memory/owned.hpp>
#include <tenon/core/memory/storage.hpp>
#include <tenon/dataset/stage/column.hpp>
#include <tenon/dataset/stage/rows_there.hpp>
#include <tenon/dataset/stage/scratch.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI::dataset {

template <class D, class Before>
struct Behind;
template <class D>
struct Prefetched;
namespace detail {
template <class D, class Before>
std::type_identity<Before> before_of(const Behind<D, Before>*);
template <class Before>
std::type_identity<Before> before_of(const Prefetched<Before>*);
/// What stands before a stage.
template <class D>
using BeforeOf = typename decltype(before_of(static_cast<const D*>(nullptr)))::type;
}  // namespace detail

/// Whether a data set is a stage, with the one before it as `data`.
template <class D>
concept HasBefore = requires { typename detail::BeforeOf<D>; };

namespace detail {

/// Of a source or stage whose rows come one after the other, whatever stands before.
template <class D>
inline constexpr bool streams_rows = false;
/// Whether a data set's rows can be read one after the other only.
template <class D>
constexpr bool in_order() {
  if constexpr (streams_rows<D>) return true;
  else if constexpr (HasBefore<D>) return in_order<BeforeOf<D>>();
  else return false;
}
/// Tells what is read in order that a row of this walk has failed: no thread waits for the rows after it any more.
template <class D>
void abandon(const D& data, std::uint64_t walk, const std::exception_ptr& failure) {
  if constexpr (requires { data.abandon(walk, failure); }) data.abandon(walk, failure);
  if constexpr (HasBefore<D>) abandon(data.data, walk, failure);
}

[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_rows(long max_rows, long bytes) {
  throw_error<ValueError>("Rows of up to ", max_rows, " samples with ", bytes,
                          " bytes in a column are larger than any memory. Use a smaller batch size.");
}

/// Throws ValueError unless a row can be at this position.
inline void check_position(long position) {
  if (position < 0) throw_error<ValueError>("start(epoch, ", position, "): the position of a row is 0 or more.");
}

/// Memory for the longest row of a data set. A buffer that has been read into stays where it is.
template <class List>
class RowBuffer {
 public:
  [[gnu::noinline, gnu::cold]] explicit RowBuffer(long max_rows) : max_rows_(max_rows) {
    for (int i = 0; i < List::count; ++i)
      if (is_ragged(i)) ragged_[i] = tenon::detail::Owned<RaggedValue>(new RaggedValue);
      else memory_[i] = Storage(column_bytes(i));
  }

  /// Fills the buffer with the row at a place. False: there is none, the epoch has ended.
  template <class D>
  bool read(const D& data, Place place, Scratch& scratch) {
    void* column[List::count];
    for (int i = 0; i < List::count; ++i) {
      row_.column[i] = column[i] =
          is_ragged(i) ? static_cast<void*>(ragged_[i].get()) : gathering_.place(memory_[i], i);
      row_.owner[i] = &memory_[i];
    }
    const Scratch::Frame frame(scratch);
    scratch.begins(Scratch::no_sample, place.epoch);  // what fails before the source is no fault of the last sample
    scratch.operation = nullptr;
    gathering_.begin(scratch);
    try {
      row_.n = data.read(place, column, scratch);
    } catch (...) {
      if constexpr (in_order<D>()) abandon(data, scratch.walk.number, std::current_exception());
      rethrow_with_place(place, scratch);
    }
    if constexpr (requires { row_.belongs_to(0); }) row_.belongs_to(scratch.bucket);
    if (row_.n > 0) gathering_.end(memory_, List::types, row_.n);
    return row_.n > 0;
  }
#if defined(TENON_TARGET)
  /// From the next row on the target gathers the samples of a source, if it has room for them.
  void gather_on(TargetId target, const auto& source) { gathering_.start(target, source, List::count); }
#endif
  /// Before the next row is read: a column that is kept as a tensor gets other memory. Called in the thread of
  /// the keepers, whose blocks are reused.
  void let_go() {
    for (int i = 0; i < List::count; ++i)
      if (!is_ragged(i) && !memory_[i].unique()) memory_[i] = Storage(column_bytes(i));
  }
  const Row<List>& row() const { return row_; }

 private:
  static bool is_ragged([[maybe_unused]] int i) {
    if constexpr (List::any_ragged) return List::ragged[i];
    else return false;
  }
  std::size_t column_bytes(int i) const {
    const TensorType& type = List::types[i];
    // a static extent holds all rows already
    if (type.rank > 0 && type[0] > 0) return std::size_t(type.bytes(1));
    long bytes = 0;
    if (__builtin_mul_overflow(type.bytes(1), max_rows_, &bytes)) refuse_rows(max_rows_, type.bytes(1));
    return std::size_t(bytes);
  }

  long max_rows_;
  Storage memory_[List::count];
  tenon::detail::Owned<RaggedValue> ragged_[List::count];
  Row<List> row_;
  [[no_unique_address]] RowGathering gathering_;
};

}  // namespace detail

/// The iterator that open() returns. All memory is allocated here, none during the iteration.
template <class D>
class Rows {
 public:
  using Row = dataset::Row<typename D::columns>;

  [[gnu::noinline, gnu::cold]] explicit Rows(const D& data) : state_(new State(data)) {}

#if defined(TENON_TARGET)
  /// For a training on that target, which may gather the rows itself. A row is then in its memory.
  void gather_on(TargetId target) {
    if constexpr (detail::can_be_gathered<D>())
      if (target != TargetId::cpu) state_->buffer.gather_on(target, *detail::source_of_moved(state_->data));
  }
#endif
  /// Begins an epoch, from its first row or from another. The order depends on the seeds and the epoch only. Throws
  /// ValueError for a position below 0; at one beyond the end there is no row.
  void start(std::uint64_t epoch, long position = 0) {
    detail::check_position(position);
    state_->place = {epoch, position};
    state_->scratch.walk = {state_->scratch.walk.number + 1, true};
  }
  /// The position of the row that next() returns; start(epoch, position) resumes there.
  long position() const { return state_->place.position; }
  /// The next row, or nullptr at the end of the epoch. The row is valid until the following call.
  const Row* next() {
    State& s = *state_;
    if (D::counted && s.place.position >= s.size) return nullptr;
    s.buffer.let_go();
    if (!s.buffer.read(s.data, s.place, s.scratch)) return nullptr;
    ++s.place.position;
    s.scratch.walk.first_row = false;
    return &s.buffer.row();
  }

 private:
  struct State {
    explicit State(const D& rows) : data(rows), size(D::counted ? rows.size() : 0), buffer(rows.max_rows()) {}
    D data;
    long size;
    detail::RowBuffer<typename D::columns> buffer;
    Scratch scratch;
    Place place;
  };
  tenon::detail::Owned<State> state_;
};

struct EndOfEpoch {};
/// One epoch as a range: `for (const auto& row : rows(data, 3))`. A data set itself is the range of epoch 0.
template <class Iterator>
class Epoch {
 public:
  class Cursor {
   public:
    explicit Cursor(Iterator rows) : rows_(std::move(rows)), row_(rows_.next()) {}
    const auto& operator*() const& { return *row_; }
    const auto& operator*() const&& = delete;  // *begin(data) would outlive its memory: first_row(data) has the tensors
    Cursor& operator++() {
      row_ = rows_.next();
      return *this;
    }
    bool operator==(EndOfEpoch) const { return row_ == nullptr; }

   private:
    Iterator rows_;
    const typename Iterator::Row* row_;
  };

  Epoch(Iterator rows, std::uint64_t epoch) : rows_(std::move(rows)) { rows_.start(epoch); }
  /// Once per range.
  Cursor begin() { return Cursor(std::move(rows_)); }
  EndOfEpoch end() const { return {}; }

 private:
  Iterator rows_;
};

}  // namespace tenon::dataset
TENON_INT_SIZES_END
