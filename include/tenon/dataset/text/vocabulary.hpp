// A vocabulary: the characters or the words of a text and their numbers.
#pragma once
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tenon/dataset/text/lines.hpp>
#include <tenon/dataset/text/utf8.hpp>
#include <tenon/io/file.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// What a vocabulary numbers: characters (code points), or words, which white space separates.
enum class TokenKind { characters, words };

struct VocabularyConfig {
  /// The largest number of tokens, including the token for unknown tokens; 0: no limit. The rarest are left out.
  std::size_t most = 0;
  /// The token for tokens outside of the vocabulary; its number is 0, or 1 after a padding. Empty: such a token is an
  /// error.
  std::string unknown{};
  /// The token that fills up short texts, number 0; no text has it. Batches of unequal texts are padded with 0, which
  /// without this is the number of a word.
  std::string padding{};
};

/// Tokens and their numbers, 0 .. size() - 1.
///
/// file        lines: `tenon-vocabulary 1`, `characters` or `words`, `unknown NUMBER` or `unknown none` (with `padding`
///             after it if token 0 is one), then a token each, with \\, \n and \r for a backslash and ends of lines
class Vocabulary {
 public:
  /// Throws ValueError for a token that is repeated, empty, not UTF-8, longer than 1,024 bytes, or that could never
  /// match: several characters, or white space in a word. `unknown` is the number of the token for unknown tokens, or
  /// -1; with `has_padding` token 0 is a padding.
  Vocabulary(TokenKind kind, std::vector<std::string> tokens, std::int32_t unknown = -1, bool has_padding = false)
      : kind_(kind), unknown_(unknown), has_padding_(has_padding), tokens_(std::move(tokens)) {
    if (tokens_.size() > most_tokens) throw_error<ValueError>("A vocabulary has at most ", most_tokens, " tokens.");
    if (has_padding && (tokens_.empty() || unknown == 0))
      throw_error<ValueError>("Token 0 of a vocabulary with a padding is the padding, and no other token.");
    if (unknown < -1 || unknown >= size())
      throw_error<ValueError>("The token for unknown ones is number ", unknown, " of ", size(), ".");
    numbers_.reserve(tokens_.size());
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      check_token(i);
      if (!numbers_.emplace(tokens_[i], static_cast<std::int32_t>(i)).second)
        throw_error<ValueError>("The token ", io::printable(tokens_[i]), " is twice in a vocabulary.");
    }
  }
  /// The characters of a text, in the order of their code points. Throws ValueError unless it is UTF-8.
  static Vocabulary of_characters(std::string_view text, const VocabularyConfig& config = {}) {
    Counts counts;
    each_character(text, [&](std::string_view character) { ++counts[character]; });
    std::vector<std::string> tokens = most_frequent(counts, config);
    std::sort(tokens.begin() + (config.unknown.empty() ? 0 : 1) + (config.padding.empty() ? 0 : 1), tokens.end());
    return Vocabulary(TokenKind::characters, std::move(tokens), unknown_of(config), !config.padding.empty());
  }
  /// The words of a text, the most frequent first; of equally frequent ones, in the order of their bytes. Throws
  /// ValueError unless it is UTF-8.
  static Vocabulary of_words(std::string_view text, const VocabularyConfig& config = {}) {
    Counts counts;
    each_word(text, [&](std::string_view word) { ++counts[word]; });
    return Vocabulary(TokenKind::words, most_frequent(counts, config), unknown_of(config), !config.padding.empty());
  }
  /// Reads a file that save has written. Throws RuntimeError, with the line, for anything else.
  static Vocabulary load(const std::string& path) { return parse(io::read_file(path, file_limit), path); }
  /// The content of such a file; path is for messages.
  static Vocabulary parse(std::string_view content, const std::string& path);

  /// Writes a file, which is complete or absent. Throws RuntimeError if it cannot.
  void save(const std::string& path) const;

  void describe(auto& d) const { d.add(kind_, unknown_, has_padding_, tokens_); }
  std::int32_t size() const { return static_cast<std::int32_t>(tokens_.size()); }
  TokenKind kind() const { return kind_; }
  /// Whether token 0 is a padding.
  bool has_padding() const { return has_padding_; }
  /// Throws ValueError for a number that is no token.
  const std::string& token(std::int32_t number) const {
    if (number < 0 || number >= size())
      throw_error<ValueError>("There is no token ", number, " in a vocabulary of ", size(), ".");
    return tokens_[static_cast<std::size_t>(number)];
  }
  /// The number of a token; for an unknown token the number of `unknown`, or -1.
  std::int32_t find(std::string_view token) const {
    const auto found = numbers_.find(token);
    return found == numbers_.end() ? unknown_ : found->second;
  }
  /// The numbers of a text's tokens. Throws ValueError for a token outside of the vocabulary if there is no token for
  /// unknown tokens, and for a text that is not UTF-8.
  std::vector<std::int32_t> encode(std::string_view text) const {
    std::vector<std::int32_t> numbers(text.size());
    numbers.resize(encode(text, numbers.data()));
    return numbers;
  }
  /// Writes the tokens, at most one for each byte, and returns their number.
  std::size_t encode(std::string_view text, std::int32_t* out) const {
    std::size_t count = 0;
    const auto add = [&](std::string_view token) {
      const std::int32_t number = find(token);
      if ((out[count++] = number == 0 && has_padding_ ? unknown_ : number) < 0)
        throw_error<ValueError>(io::printable(token), " is not in the vocabulary of ", size(), ", which has no token ",
                                "for unknown ones: make it with .unknown = \"<unk>\", or of a larger text.");
    };
    kind_ == TokenKind::characters ? each_character(text, add) : each_word(text, add);
    return count;
  }
  /// The characters one after the other, or the words with blanks between them. Throws ValueError as token does.
  std::string decode(std::span<const std::int32_t> numbers) const {
    std::string text;
    for (const std::int32_t number : numbers) {
      if (kind_ == TokenKind::words && !text.empty()) text += ' ';
      text += token(number);
    }
    return text;
  }

 private:
  using Counts = std::unordered_map<std::string_view, long>;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  static constexpr std::size_t most_tokens = 1 << 24, longest_token = 1024;
  static constexpr std::uint64_t file_limit = std::uint64_t{1} << 30;
  static constexpr std::string_view first_line = "tenon-vocabulary 1";

  static std::int32_t unknown_of(const VocabularyConfig& config) {
    return config.unknown.empty() ? -1 : config.padding.empty() ? 0 : 1;
  }
  static std::vector<std::string> most_frequent(const Counts& counts, const VocabularyConfig& config) {
    std::vector<std::pair<std::string_view, long>> sorted(counts.begin(), counts.end());
    std::ranges::sort(sorted, [](const auto& a, const auto& b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    std::vector<std::string> tokens;
    for (const std::string& own : {config.padding, config.unknown})
      if (!own.empty()) tokens.push_back(own);
    for (const auto& [token, count] : sorted) {
      if (config.most && tokens.size() >= config.most) break;
      if (token != config.unknown && token != config.padding) tokens.emplace_back(token);
    }
    return tokens;
  }
  void check_token(std::size_t number) const {
    const std::string& token = tokens_[number];
    const auto refuse = [&](std::string_view reason) {
      throw_error<ValueError>("Token ", number, " of a vocabulary, ", io::printable(token), ", ", reason, ".");
    };
    if (token.empty()) refuse("is empty");
    if (token.size() > longest_token) refuse("has more than 1024 bytes");
    if (io::find_bad_utf8(token) != token.npos) refuse("is not UTF-8");
    if (static_cast<std::int64_t>(number) == unknown_ || (number == 0 && has_padding_)) return;
    std::size_t words = 0;
    each_word(token, [&](std::string_view word) { words += word.size() == token.size(); });
    if (kind_ == TokenKind::characters && token.size() != detail::utf8_length(token[0]))
      refuse("is more than a character");
    if (kind_ == TokenKind::words && words != 1) refuse("is no word: it has white space");
  }

  TokenKind kind_;
  std::int32_t unknown_;
  bool has_padding_;
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> numbers_;
};

namespace detail {
/// A token as a line of a file, and back; false for an escape that is none.
inline std::string escaped_token(std::string_view token) {
  std::string line;
  for (const char c : token)
    if (c == '\\') line += "\\\\";
    else if (c == '\n') line += "\\n";
    else if (c == '\r') line += "\\r";
    else line += c;
  return line;
}
inline bool token_of_line(std::string_view line, std::string& token) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\') {
      token += line[i];
      continue;
    }
    constexpr std::string_view letters = "\\nr", means = "\\\n\r";
    const std::size_t which = ++i < line.size() ? letters.find(line[i]) : letters.npos;
    if (which == letters.npos) return false;
    token += means[which];
  }
  return true;
}
}  // namespace detail

inline void Vocabulary::save(const std::string& path) const {
  std::string content = text(first_line, "\n", kind_ == TokenKind::words ? "words" : "characters", "\nunknown ",
                             unknown_ < 0 ? "none" : std::to_string(unknown_), has_padding_ ? " padding\n" : "\n");
  for (const std::string& token : tokens_) content += detail::escaped_token(token) + "\n";
  io::write_file(path, content);
}

inline Vocabulary Vocabulary::parse(std::string_view content, const std::string& path) {
  detail::Lines lines(content, path, "a vocabulary");
  if (lines.take() != first_line) lines.refuse(text("it must be '", first_line, "'"));
  const std::string_view kind = lines.take();
  if (kind != "characters" && kind != "words")
    lines.refuse(text(io::printable(kind), " is neither characters nor words"));
  std::string_view other = lines.take();
  const bool has_padding = other.ends_with(" padding");
  if (has_padding) other.remove_suffix(8);
  std::int32_t unknown = -1;
  if (other != "unknown none") {
    constexpr std::string_view begin = "unknown ";
    const std::string_view number = other.starts_with(begin) ? other.substr(begin.size()) : std::string_view();
    const char* const last = number.data() + number.size();
    if (number.empty() || std::from_chars(number.data(), last, unknown).ptr != last || unknown < 0)
      lines.refuse(text(io::printable(other), " is neither 'unknown none' nor 'unknown' with a number"));
  }
  std::vector<std::string> tokens;
  while (!lines.empty())
    if (!detail::token_of_line(lines.take(), tokens.emplace_back()))
      lines.refuse("a backslash may come before \\, n, or r only");
  try {
    return Vocabulary(kind == "words" ? TokenKind::words : TokenKind::characters, std::move(tokens), unknown,
                      has_padding);
  } catch (const ValueError& error) {
    throw_error<RuntimeError>("Cannot read '", path, "' as a vocabulary: ", error.what());
  }
}

}  // namespace tenon::dataset
