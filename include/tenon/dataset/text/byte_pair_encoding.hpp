// Byte-pair encoding: a text as numbers of frequent pieces, learned from a text (Sennrich and others, arXiv 1508.07909;
// on bytes, as in GPT-2).
#pragma once
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tenon/dataset/text/lines.hpp>
#include <tenon/dataset/text/pieces.hpp>
#include <tenon/io/file.hpp>
#include <tenon/io/text/escaped_text.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// Tokens 0 .. 255 are the bytes; each further token is a pair of earlier tokens. Any text can be encoded, and decode
/// gives it back byte by byte. No token crosses the border of two pieces of the text (text/pieces.hpp).
///
/// file        lines: `tenon-byte-pairs 1`, then for token 256, 257, ... the two numbers that it joins
class BytePairEncoding {
 public:
  /// The bytes alone.
  BytePairEncoding() {
    for (int byte = 0; byte < 256; ++byte) tokens_.emplace_back(1, static_cast<char>(byte));
  }
  /// Learns `size` tokens from a text, including the 256 bytes. In each step the most frequent pair becomes a token; of
  /// equally frequent pairs, the pair with the lower numbers. Fewer, if no pair is there twice. The same text gives the
  /// same tokens everywhere. Throws ValueError unless 256 <= size <= 2^24.
  static BytePairEncoding trained(std::string_view text, std::int32_t size);
  /// Reads a file that save has written. Throws RuntimeError, with the line, for anything else.
  static BytePairEncoding load(const std::string& path) { return parse(io::read_file(path, file_limit), path); }
  /// The content of such a file; path is for messages.
  static BytePairEncoding parse(std::string_view content, const std::string& path);

  /// Writes a file, which is complete or absent. Throws RuntimeError if it cannot.
  void save(const std::string& path) const {
    std::string content = text(first_line, "\n");
    for (const auto& [left, right] : pairs_) content += text(left, " ", right, "\n");
    io::write_file(path, content);
  }

  void describe(auto& d) const { d.add(tokens_); }
  std::int32_t size() const { return static_cast<std::int32_t>(tokens_.size()); }
  /// The bytes of a token. Throws ValueError for a number that is no token.
  const std::string& token(std::int32_t number) const {
    if (number < 0 || number >= size())
      throw_error<ValueError>("There is no token ", number, " in a byte-pair encoding of ", size(), ".");
    return tokens_[static_cast<std::size_t>(number)];
  }
  std::vector<std::int32_t> encode(std::string_view text) const {
    std::vector<std::int32_t> numbers(text.size());
    numbers.resize(encode(text, numbers.data()));
    return numbers;
  }
  /// Writes the tokens, at most one for each byte, and returns their number.
  std::size_t encode(std::string_view text, std::int32_t* out) const {
    std::size_t count = 0;
    each_piece(text, [&](std::string_view piece) { count += encode_piece(piece, out + count); });
    return count;
  }
  /// Throws ValueError as token does.
  std::string decode(std::span<const std::int32_t> numbers) const {
    std::string text;
    for (const std::int32_t number : numbers) text += token(number);
    return text;
  }

 private:
  using Pair = std::pair<std::int32_t, std::int32_t>;
  static constexpr std::int32_t most_tokens = 1 << 24;
  static constexpr std::uint64_t file_limit = std::uint64_t{1} << 30;
  static constexpr std::string_view first_line = "tenon-byte-pairs 1";

  static std::uint64_t key(std::int32_t left, std::int32_t right) {
    return std::uint64_t(std::uint32_t(left)) << 32 | std::uint32_t(right);
  }
  /// Says why the pair cannot be the next token, "" if it can.
  std::string_view why_not(Pair pair) const {
    const auto known = [&](std::int32_t number) { return number >= 0 && number < size(); };
    if (!known(pair.first) || !known(pair.second)) return "joins a token that is not there yet";
    if (tokens_[std::size_t(pair.first)].size() + tokens_[std::size_t(pair.second)].size() > longest_piece)
      return "makes a token of more than 256 bytes";
    if (number_of_.contains(key(pair.first, pair.second))) return "is there twice";
    return "";
  }
  void add(Pair pair) {
    number_of_.emplace(key(pair.first, pair.second), size());
    pairs_.push_back(pair);
    tokens_.push_back(tokens_[std::size_t(pair.first)] + tokens_[std::size_t(pair.second)]);
  }
  /// Joins, of all pairs, the one that was learned first, wherever it is, until none is left. A piece is short.
  std::size_t encode_piece(std::string_view piece, std::int32_t* out) const {
    std::size_t count = 0;
    for (const char byte : piece) out[count++] = static_cast<unsigned char>(byte);
    for (;;) {
      std::int32_t first = most_tokens;
      for (std::size_t i = 0; i + 1 < count; ++i)
        if (const auto found = number_of_.find(key(out[i], out[i + 1])); found != number_of_.end())
          first = std::min(first, found->second);
      if (first == most_tokens) return count;
      count = joined(out, count, pairs_[std::size_t(first - 256)], first);
    }
  }
  /// Puts `number` for each occurrence of a pair, from the left, and returns how many tokens are left.
  static std::size_t joined(std::int32_t* tokens, std::size_t count, Pair pair, std::int32_t number) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++kept)
      if (i + 1 < count && tokens[i] == pair.first && tokens[i + 1] == pair.second) tokens[kept] = number, i += 2;
      else tokens[kept] = tokens[i++];
    return kept;
  }

  class Training;

  std::vector<std::string> tokens_;
  std::vector<Pair> pairs_;  // of the tokens from 256 on
  std::unordered_map<std::uint64_t, std::int32_t> number_of_;
};

/// The different pieces of a text as tokens, and how often each pair is in them.
class BytePairEncoding::Training {
 public:
  explicit Training(std::string_view text) {
    std::unordered_map<std::string_view, std::int64_t> counts;
    each_piece(text, [&](std::string_view piece) { ++counts[piece]; });
    for (const auto& [piece, count] : counts) {
      Piece& added = pieces_.emplace_back();
      added.count = count;
      for (const char byte : piece) added.tokens.push_back(static_cast<unsigned char>(byte));
    }
    for (std::uint32_t i = 0; i < pieces_.size(); ++i) count_pairs(i, 1);
    for (const auto& [pair, where] : where_) queue_.push({where.count, pair});
    changed_.clear();
  }

  /// The pair that comes next; false if none is there twice.
  bool next(Pair& pair) {
    for (; !queue_.empty(); queue_.pop()) {
      const Entry top = queue_.top();
      if (top.count < 2) return false;
      if (const auto found = where_.find(top.pair); found == where_.end() || found->second.count != top.count) continue;
      pair = {static_cast<std::int32_t>(top.pair >> 32), static_cast<std::int32_t>(top.pair & 0xffffffffu)};
      return true;
    }
    return false;
  }
  void join(Pair pair, std::int32_t number) {
    std::vector<std::uint32_t> pieces = std::move(where_[key(pair.first, pair.second)].pieces);
    std::ranges::sort(pieces);
    pieces.erase(std::unique(pieces.begin(), pieces.end()), pieces.end());
    for (const std::uint32_t i : pieces) {
      std::vector<std::int32_t>& tokens = pieces_[i].tokens;
      count_pairs(i, -1);
      tokens.resize(joined(tokens.data(), tokens.size(), pair, number));
      count_pairs(i, 1);
    }
    where_.erase(key(pair.first, pair.second));
    std::ranges::sort(changed_);
    changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
    for (const std::uint64_t one : changed_)
      if (const auto found = where_.find(one); found != where_.end()) queue_.push({found->second.count, one});
    changed_.clear();
  }

 private:
  struct Piece {
    std::vector<std::int32_t> tokens;
    std::int64_t count = 0;
  };
  struct Where {
    std::int64_t count = 0;
    std::vector<std::uint32_t> pieces;  // and some where it was
  };
  struct Entry {
    std::int64_t count;
    std::uint64_t pair;
    bool operator<(const Entry& other) const { return count != other.count ? count < other.count : pair > other.pair; }
  };

  void count_pairs(std::uint32_t i, int sign) {
    const Piece& piece = pieces_[i];
    for (std::size_t k = 0; k + 1 < piece.tokens.size(); ++k) {
      const std::uint64_t pair = key(piece.tokens[k], piece.tokens[k + 1]);
      Where& where = where_[pair];
      where.count += sign * piece.count;
      if (sign > 0 && (where.pieces.empty() || where.pieces.back() != i)) where.pieces.push_back(i);
      changed_.push_back(pair);
    }
  }

  std::vector<Piece> pieces_;
  std::unordered_map<std::uint64_t, Where> where_;
  std::priority_queue<Entry> queue_;    // with counts that were; what has changed is there anew
  std::vector<std::uint64_t> changed_;  // since the last pair
};

inline BytePairEncoding BytePairEncoding::trained(std::string_view text, std::int32_t size) {
  if (size < 256 || size > most_tokens)
    throw_error<ValueError>("A byte-pair encoding of ", size, " tokens was asked for, legal are 256 .. ", +most_tokens,
                            ": the bytes are the first 256.");
  BytePairEncoding learned;
  Training training(text);
  for (Pair pair; learned.size() < size && training.next(pair);) {
    training.join(pair, learned.size());
    learned.add(pair);
  }
  return learned;
}

inline BytePairEncoding BytePairEncoding::parse(std::string_view content, const std::string& path) {
  detail::Lines lines(content, path, "byte pairs");
  if (lines.take() != first_line) lines.refuse(text("it must be '", first_line, "'"));
  BytePairEncoding read;
  while (!lines.empty()) {
    const std::string_view row = lines.take();
    const char* const end = row.data() + row.size();
    Pair pair{-1, -1};
    const char* const blank = std::from_chars(row.data(), end, pair.first).ptr;
    if (blank == end || *blank != ' ' || std::from_chars(blank + 1, end, pair.second).ptr != end)
      lines.refuse(text(io::printable(row), " is no pair of numbers"));
    if (const std::string_view reason = read.why_not(pair); !reason.empty())
      lines.refuse(text("the pair ", io::printable(row), " ", reason));
    if (read.size() == most_tokens) lines.refuse("there are more tokens than any encoding has");
    read.add(pair);
  }
  return read;
}

}  // namespace tenon::dataset
