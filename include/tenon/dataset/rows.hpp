// Walks through a data set: owns the memory of one row and fills it again and again.
#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>

#include <tenon/core/memory/aligned_bytes.hpp>
#include <tenon/core/memory/storage.hpp>
#include <tenon/dataset/column.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// What identifies a row: the epoch, which decides the order, and the position in it, 0 .. size() - 1.
struct Place {
  std::uint64_t epoch = 0;
  long position = 0;
};

namespace detail {

/// Memory for the longest row of a data set. A buffer that has been read into stays where it is.
template <class List>
class RowBuffer {
 public:
  [[gnu::noinline]] explicit RowBuffer(long max_rows) : max_rows_(max_rows) {
    for (int i = 0; i < List::count; ++i) memory_[i] = Storage(column_bytes(i));
  }

  /// Fills the buffer with the row at a place.
  template <class D>
  void read(const D& data, Place place, std::byte* scratch) {
    void* column[List::count];
    for (int i = 0; i < List::count; ++i) {
      row_.column[i] = column[i] = memory_[i].data();
      row_.owner[i] = &memory_[i];
    }
    row_.n = data.read(place, column, scratch);
  }
  /// Before the next row is read: a column that somebody keeps as a tensor gets other memory. Called in the thread of
  /// those who keep it, whose blocks go round.
  void let_go() {
    for (int i = 0; i < List::count; ++i)
      if (!memory_[i].unique()) memory_[i] = Storage(column_bytes(i));
  }
  const Row<List>& row() const { return row_; }

 private:
  std::size_t column_bytes(int i) const {
    const TensorType& type = List::types[i];
    // a static extent holds all rows already
    return std::size_t(type.rank > 0 && type[0] > 0 ? type.bytes(1) : type.bytes(max_rows_));
  }

  long max_rows_;
  Storage memory_[List::count];
  Row<List> row_;
};

}  // namespace detail

/// The iterator that open() returns. All memory is taken here, none while walking.
template <class D>
class Rows {
 public:
  using Row = dataset::Row<typename D::columns>;

  explicit Rows(const D& data) : state_(std::make_unique<State>(data)) {}

  /// Begins an epoch from its first row. The order depends on the seeds and the epoch only.
  void start(std::uint64_t epoch) { state_->place = {epoch, 0}; }
  /// The next row, or nullptr at the end of the epoch. The row is valid until the following call.
  const Row* next() {
    State& s = *state_;
    if (s.place.position >= s.size) return nullptr;
    s.buffer.let_go();
    s.buffer.read(s.data, s.place, s.scratch.data());
    ++s.place.position;
    return &s.buffer.row();
  }

 private:
  struct State {
    explicit State(const D& rows)
        : data(rows), size(rows.size()), buffer(rows.max_rows()), scratch(rows.scratch_bytes()) {}
    D data;
    long size;
    detail::RowBuffer<typename D::columns> buffer;
    AlignedBytes scratch;
    Place place;
  };
  std::unique_ptr<State> state_;
};

/// One epoch as a range: `for (const auto& row : rows(data, 3))`. A data set itself is the range of epoch 0.
template <class Iterator>
class Epoch {
 public:
  class Cursor {
   public:
    explicit Cursor(Iterator rows) : rows_(std::move(rows)), row_(rows_.next()) {}
    const auto& operator*() const { return *row_; }
    Cursor& operator++() {
      row_ = rows_.next();
      return *this;
    }
    bool operator==(std::default_sentinel_t) const { return row_ == nullptr; }

   private:
    Iterator rows_;
    const typename Iterator::Row* row_;
  };

  Epoch(Iterator rows, std::uint64_t epoch) : rows_(std::move(rows)) { rows_.start(epoch); }
  /// Once per range.
  Cursor begin() { return Cursor(std::move(rows_)); }
  std::default_sentinel_t end() const { return {}; }

 private:
  Iterator rows_;
};

}  // namespace tenon::dataset
