// The letters of einsum: which axis of which operand has which letter, and which letters of two operands form matrices.
#pragma once
#include <string_view>

#include <tenon/core/shape.hpp>
#include <tenon/core/text/sentence.hpp>
#include <tenon/graph/ir/operator.hpp>

namespace tenon::inline TENON_ABI::ops::detail {

/// A set of letters. Axes of `...` are the letters 1 .. 6, where 1 is the last axis.
using LetterSet = std::uint64_t;
constexpr bool is_small_letter(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_letter(char c) { return is_small_letter(c) || (c >= 'A' && c <= 'Z'); }
constexpr int letter_number(char c) { return is_small_letter(c) ? c - 'a' : is_letter(c) ? c - 'A' + 26 : c + 51; }
constexpr LetterSet set_of(char c) { return LetterSet(1) << letter_number(c); }

/// The letters of the axes of a tensor, in their order.
struct Letters {
  static constexpr int most = 2 * max_rank;  // of a product of two
  char letter[most]{};
  int count = 0;

  constexpr Letters() = default;
  constexpr explicit Letters(char only) : letter{only}, count(1) {}
  constexpr bool operator==(const Letters&) const = default;
  constexpr char operator[](int k) const { return letter[k]; }
  constexpr void add(char c) {
    if (count < most) letter[count++] = c;
  }
  constexpr int find(char c) const {
    for (int k = 0; k < count; ++k)
      if (letter[k] == c) return k;
    return -1;
  }
  constexpr LetterSet set() const {
    LetterSet all = 0;
    for (int k = 0; k < count; ++k) all |= set_of(letter[k]);
    return all;
  }
  constexpr bool has(char c) const { return find(c) >= 0; }
  constexpr Letters within(LetterSet wanted) const {
    Letters rest;
    for (int k = 0; k < count; ++k)
      if (set_of(letter[k]) & wanted) rest.add(letter[k]);
    return rest;
  }
  constexpr Letters without(LetterSet unwanted) const { return within(~unwanted); }
  constexpr Letters operator+(const Letters& more) const {
    Letters all = *this;
    for (int k = 0; k < more.count; ++k) all.add(more[k]);
    return all;
  }
  /// Without the axes `first` and `second`, which have one letter, and with that at the end.
  constexpr Letters with_last(int first, int second) const {
    Letters rest;
    for (int k = 0; k < count; ++k)
      if (k != first && k != second) rest.add(letter[k]);
    rest.add(letter[first]);
    return rest;
  }
  /// The first axis whose letter an axis before it has, or -1.
  constexpr int repeated() const {
    for (int k = 1; k < count; ++k)
      if (find(letter[k]) < k) return k;
    return -1;
  }
};

/// The letters of a call of einsum.
struct Subscripts {
  enum Fault : int {
    fits,
    stray,
    other_count,
    other_rank,
    two_extents,
    unknown_in_result,
    twice_in_result,
    wide_result,
    not_leading,
  };
  Letters operand[max_operands], result;
  LetterSet stretched[max_operands]{};  // letters of axes of extent 1 that other operands have with more elements
  int operands = 0;
  // what is wrong, and with which operand and letter
  Fault fault = fits;
  int where = 0, found = 0, wanted = 0;
  char letter = 0;

  constexpr void fail(Fault why, int at, char c = 0, int got = 0, int other = 0) {
    if (fault == fits) fault = why, where = at, letter = c, found = got, wanted = other;
  }
  /// The letters of the result and of the operands after operand k.
  constexpr LetterSet needed_after(int k) const {
    LetterSet all = result.set();
    for (int j = k + 1; j < operands; ++j) all |= operand[j].set();
    return all;
  }
  constexpr std::string_view own() const { return {&letter, 1}; }
  constexpr void explain(Sentence& error) const {
    const auto axis = [&] {
      if (is_letter(letter)) error << "axis " << own();
      else error << "an axis of ...";
    };
    switch (fault) {
      case fits: break;
      case stray:
        error << "got " << own() << " after " << where
              << " characters; it needs letters, commas, three dots once per operand, and one ->";
        break;
      case other_count: error << "the text has " << found << " operands, the call " << wanted; break;
      case other_rank:
        error << "operand " << where << " has " << wanted << " axes, the text has " << found << " letters for it";
        break;
      case two_extents:
        axis();
        error << " has the extent ";
        write_extent(error, found);
        error << " in operand " << where << ", and ";
        write_extent(error, wanted);
        error << " before";
        break;
      case unknown_in_result:
        axis();
        error << " of the result is none of the operands";
        break;
      case twice_in_result:
        axis();
        error << " is twice in the result";
        break;
      case wide_result: error << "the result would have " << found << " axes, a tensor has at most " << max_rank; break;
      case not_leading:
        axis();
        error << " depends on n, so it must be the first one of the result";
        break;
    }
  }
};

/// Reads the text; `...` is one axis with the letter '.' here.
struct EinsumReader {
  Subscripts& all;
  bool arrow = false;

  constexpr Letters& current() { return arrow ? all.result : all.operand[all.operands - 1]; }
  constexpr void read(std::string_view text) {
    all.operands = 1;
    for (int k = 0, end = int(text.size()); k < end && all.fault == Subscripts::fits; ++k) {
      const char c = text[std::size_t(k)];
      const auto next = [&](int ahead) { return k + ahead < end ? text[std::size_t(k + ahead)] : '\0'; };
      if (c == ' ') continue;
      if (is_letter(c) && current().count < max_rank + 1) current().add(c);
      else if (c == ',' && !arrow && all.operands < max_operands) ++all.operands;
      else if (c == '-' && next(1) == '>' && !arrow) arrow = true, ++k;
      else if (c == '.' && next(1) == '.' && next(2) == '.' && !current().has('.')) current().add('.'), k += 2;
      else all.fail(Subscripts::stray, k, c);
    }
  }
  /// Letters with `axes` axes in the place of `...`.
  static constexpr Letters expanded(const Letters& l, int axes) {
    Letters all;
    for (int k = 0; k < l.count; ++k)
      if (l[k] != '.') all.add(l[k]);
      else
        for (int axis = axes; axis > 0; --axis) all.add(char(axis));
    return all;
  }
};

constexpr Subscripts subscripts(std::string_view text, const TensorType* x, int count) {
  Subscripts all;
  EinsumReader reader{all};
  reader.read(text);
  if (all.operands != count) all.fail(Subscripts::other_count, 0, 0, all.operands, count);
  if (all.fault) return all;
  int extent[64]{}, times[64]{}, dots = 0;
  for (int k = 0; k < count && !all.fault; ++k) {
    Letters& own = all.operand[k];
    const bool open = own.has('.');
    const int free = x[k].rank - (own.count - (open ? 1 : 0));
    if (open ? free < 0 : free != 0) all.fail(Subscripts::other_rank, k, 0, own.count - (open ? 1 : 0), x[k].rank);
    else if (open) own = EinsumReader::expanded(own, free), dots = free > dots ? free : dots;
    for (int axis = 0; axis < own.count && !all.fault; ++axis) {
      int &known = extent[letter_number(own[axis])], e = x[k][axis];
      const int same = own.find(own[axis]);  // of one operand both have one extent
      if (known == 0 || (known == 1 && same == axis)) known = e;
      else if (e != known && (e != 1 || (same < axis && x[k][same] != 1)))
        all.fail(Subscripts::two_extents, k, own[axis], e, known);
      ++times[letter_number(own[axis])];
    }
  }
  if (all.fault) return all;
  for (int k = 0; k < count; ++k)
    for (int axis = 0; axis < x[k].rank; ++axis)
      if (x[k][axis] == 1 && extent[letter_number(all.operand[k][axis])] != 1)
        all.stretched[k] |= set_of(all.operand[k][axis]);
  if (reader.arrow) all.result = EinsumReader::expanded(all.result, dots);
  else {
    for (int axis = dots; axis > 0; --axis) all.result.add(char(axis));
    for (char c = 'A'; c <= 'z'; ++c)
      if (is_letter(c) && times[letter_number(c)] == 1) all.result.add(c);
  }
  if (all.result.count > max_rank) all.fail(Subscripts::wide_result, 0, 0, all.result.count);
  for (int k = 0; k < all.result.count; ++k) {
    const char c = all.result[k];
    if (extent[letter_number(c)] == 0) all.fail(Subscripts::unknown_in_result, 0, c);
    else if (all.result.find(c) < k) all.fail(Subscripts::twice_in_result, 0, c);
    else if (extent[letter_number(c)] < 0 && k > 0) all.fail(Subscripts::not_leading, 0, c);
  }
  return all;
}

/// Which letters of two operands are a stack of matrices, rows, columns, and summed. If the first operand has an axis
/// that depends on n, it is the first one.
struct Pairing {
  Letters stack, sum, left, right, split;
  char dynamic = 0;

  constexpr Pairing(const Letters& a, const Letters& b, LetterSet kept, bool batched)
      : stack(a.within(b.set() & kept)),
        sum(a.within(b.set() & ~kept)),
        left(a.without(b.set())),
        right(b.without(a.set())),
        dynamic(batched ? a[0] : '\0') {
    // rows of the axis that depends on n would not be first: each is a matrix of its own
    if (dynamic && left.has(dynamic) && stack.count) split = Letters(dynamic);
  }
  constexpr bool is_matrix_product() const {
    const int in_stack = split.count + stack.count;
    return sum.count && (left.count || right.count) && !(dynamic && sum.has(dynamic) && stack.count) &&
           in_stack + 2 <= max_rank && stack.count + left.count + right.count <= max_rank;
  }
  /// Whether the matrices of the first operand are transposed, with the summed letters before the rows.
  constexpr bool first_transposed(const Letters& a) const {
    if (dynamic && !stack.count) return sum.has(dynamic);
    return left.count > split.count && !sum.has(a[a.count - 1]);
  }
  constexpr bool second_transposed(const Letters& b) const {
    return !(dynamic && sum.has(dynamic)) && right.count && sum.has(b[b.count - 1]);
  }
};
/// x without the axes whose letters are in a set.
constexpr TensorType without_axes(const TensorType& x, const Letters& letters, LetterSet dropped) {
  TensorType t{{}, 0, x.dtype};
  for (int k = 0; k < letters.count; ++k)
    if (!(set_of(letters[k]) & dropped)) t.extent[t.rank++] = x[k];
  return t;
}
/// x with an axis for each of `all` letters: of extent 1 for those that it lacks.
constexpr TensorType with_axes(const TensorType& x, const Letters& letters, const Letters& all) {
  TensorType t{{}, all.count, x.dtype};
  for (int k = 0; k < all.count; ++k) t.extent[k] = letters.has(all[k]) ? x[letters.find(all[k])] : 1;
  return t;
}
/// `before`, and after it those axes of x whose letters are `wanted`.
constexpr TensorType extents_of(const Letters& wanted, const TensorType& x, const Letters& letters, TensorType before) {
  for (int k = 0; k < wanted.count; ++k) before.extent[before.rank++] = x[letters.find(wanted[k])];
  return before;
}
/// x with `before` axes left alone, `rows` axes as one, and the others as one.
constexpr TensorType as_matrices(const TensorType& x, int before, int rows) {
  TensorType t{{}, before + 2, x.dtype};
  for (int k = 0; k < before; ++k) t.extent[k] = x[k];
  for (int k = 0; k < 2; ++k) {
    int& e = t.extent[before + k];
    e = 1;
    for (int axis = before + (k ? rows : 0), end = k ? x.rank : before + rows; axis < end; ++axis) e *= x[axis];
  }
  return t;
}

}  // namespace tenon::ops::detail
