// Vocabularies of characters and words, byte pairs against examples worked by hand, files of both, hostile ones.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../support.hpp"

#include <tenon/core/random/philox.hpp>
#include <tenon/dataset/batch/batch.hpp>
#include <tenon/dataset/cache/pipeline_description.hpp>
#include <tenon/dataset/map/map.hpp>
#include <tenon/dataset/source/text_file.hpp>
#include <tenon/dataset/source/token_windows.hpp>
#include <tenon/dataset/text/byte_pair_encoding.hpp>
#include <tenon/dataset/text/tokens.hpp>
#include <tenon/dataset/text/vocabulary.hpp>

using namespace support;
using dataset::BytePairEncoding, dataset::TokenKind, dataset::Vocabulary;

namespace {
using Numbers32 = std::vector<std::int32_t>;
std::vector<std::string> tokens_of(const auto& coder, int from = 0) {
  std::vector<std::string> tokens;
  for (int i = from; i < coder.size(); ++i) tokens.push_back(coder.token(i));
  return tokens;
}
using Texts = std::vector<std::string>;
std::string pieces(std::string_view text) {
  std::string joined;
  dataset::each_piece(text, [&](std::string_view piece) { joined += std::string(piece) + "|"; });
  return joined;
}
template <class Coder>
std::string refusal(std::string_view content) {
  return message<RuntimeError>([&] { Coder::parse(content, "v.txt"); });
}
/// The pipeline as caches know it; 0 if they do not.
std::uint64_t known_as(const auto& data) {
  dataset::PipelineDescription description;
  description.add_data(data);
  return description.unknown().empty() ? description.number() : 0;
}
}  // namespace

TEST_CASE("characters: code points in order, back and forth, what is not there") {
  const Vocabulary letters = Vocabulary::of_characters("zaß€a\n");
  CHECK(tokens_of(letters) == Texts{"\n", "a", "z", "ß", "€"});
  CHECK(letters.encode("€az") == Numbers32{4, 1, 2});
  CHECK(letters.decode(letters.encode("az€\nß")) == "az€\nß");
  CHECK(has(message<ValueError>([&] { letters.encode("abc"); }), "'b' is not in the vocabulary of 5"));
  CHECK(has(message<ValueError>([&] { letters.encode("a\xff"); }), "byte 1 is 255"));
  CHECK(has(message<ValueError>([&] { letters.decode(Numbers32{5}); }), "no token 5 in a vocabulary of 5"));
  const Vocabulary with = Vocabulary::of_characters("zaa", {.most = 2, .unknown = "<unk>"});
  CHECK(tokens_of(with) == Texts{"<unk>", "a"});
  CHECK(with.encode("azq") == Numbers32{1, 0, 0});
}

TEST_CASE("words: by frequency, between white space of all kinds") {
  const Vocabulary words = Vocabulary::of_words("to be,\tor\u3000not\u00a0to\u2003be,\r\n that", {.unknown = "?"});
  CHECK(tokens_of(words) == Texts{"?", "be,", "to", "not", "or", "that"});
  CHECK(words.encode(" not  to ask") == Numbers32{3, 2, 0});
  CHECK(words.decode(Numbers32{2, 1}) == "to be,");
  CHECK(words.encode("").empty());
}

TEST_CASE("a padding is number 0, which no word has") {
  const dataset::VocabularyConfig config{.most = 5, .unknown = "<unk>", .padding = "<pad>"};
  const Vocabulary words = Vocabulary::of_words("a <pad> b a <pad> c <pad> b a d", config);
  CHECK(tokens_of(words) == Texts{"<pad>", "<unk>", "a", "b", "c"});
  CHECK(words.encode("c <pad> d a") == Numbers32{4, 1, 1, 2});
  CHECK(words.find("<pad>") == 0);
  CHECK(words.has_padding());
  const Vocabulary alone = Vocabulary::of_words("b a b", {.padding = "<pad>"});
  CHECK(alone.encode("a b") == Numbers32{2, 1});
  CHECK(has(message<ValueError>([&] { alone.encode("<pad>"); }), "'<pad>' is not in the vocabulary"));
  const Vocabulary letters = Vocabulary::of_characters("ba", {.padding = "no letter"});
  CHECK(tokens_of(letters) == Texts{"no letter", "a", "b"});
  const Folder folder;
  for (const Vocabulary* const one : {&words, &alone, &letters}) {
    one->save(folder / "v.txt");
    const Vocabulary again = Vocabulary::load(folder / "v.txt");
    CHECK(tokens_of(again) == tokens_of(*one));
    CHECK(again.has_padding());
    CHECK(again.find("never") == one->find("never"));
  }
  CHECK(has(refusal<Vocabulary>("tenon-vocabulary 1\nwords\nunknown 0 padding\na\n"), "Token 0"));
  CHECK(has(refusal<Vocabulary>("tenon-vocabulary 1\nwords\nunknown none padding\n"), "Token 0"));
  CHECK_FALSE(Vocabulary::of_words("a").has_padding());
}

TEST_CASE("a vocabulary as a file") {
  const Folder folder;
  const Vocabulary letters = Vocabulary::of_characters("\\\r\nn€", {.unknown = "none\nof them"});
  letters.save(folder / "v.txt");
  CHECK(io::read_file(folder / "v.txt") ==
        "tenon-vocabulary 1\ncharacters\nunknown 0\nnone\\nof them\n\\n\n\\r\n\\\\\nn\n€\n");
  const Vocabulary read = Vocabulary::load(folder / "v.txt");
  CHECK(tokens_of(read) == tokens_of(letters));
  CHECK(read.find("q") == 0);
  CHECK(read.kind() == TokenKind::characters);
  const std::string begin = "tenon-vocabulary 1\nwords\nunknown none\n";
  CHECK(Vocabulary::parse(begin, "v.txt").size() == 0);
  CHECK(has(refusal<Vocabulary>(""), "empty or cut off"));
  CHECK(has(refusal<Vocabulary>(begin + "word"), "cut off"));
  CHECK(has(refusal<Vocabulary>("words\n"), "line 1: it must be 'tenon-vocabulary 1'"));
  CHECK(has(refusal<Vocabulary>("tenon-vocabulary 1\nletters\n"), "line 2: 'letters' is neither"));
  CHECK(has(refusal<Vocabulary>("tenon-vocabulary 1\nwords\nunknown\n"), "line 3"));
  CHECK(has(refusal<Vocabulary>("tenon-vocabulary 1\nwords\nun\n"), "line 3: 'un' is neither"));
  CHECK(has(refusal<Vocabulary>("tenon-vocabulary 1\nwords\n"), "line 3: the file is empty or cut off"));
  CHECK(has(refusal<Vocabulary>("tenon-vocabulary 1\nwords\nunknown 99999999999\n"), "line 3"));
  CHECK(has(refusal<Vocabulary>("tenon-vocabulary 1\nwords\nunknown -1\n"), "line 3"));
  CHECK(has(refusal<Vocabulary>("tenon-vocabulary 1\nwords\nunknown 1\na\n"), "number 1 of 1"));
  CHECK(has(refusal<Vocabulary>(begin + "a\n\\x\n"), "line 5: a backslash"));
  CHECK(has(refusal<Vocabulary>(begin + "a\nb\na\n"), "'a' is twice"));
  CHECK(has(refusal<Vocabulary>(begin + "a b\n"), "has white space"));
  CHECK(has(refusal<Vocabulary>(begin + "a\n\n"), "is empty"));
  CHECK(has(refusal<Vocabulary>(begin + "\xc3\n"), "is not UTF-8"));
  CHECK(has(refusal<Vocabulary>(begin + std::string(2000, 'a') + "\n"), "more than 1024 bytes"));
  CHECK(has(refusal<Vocabulary>("tenon-vocabulary 1\ncharacters\nunknown none\nab\n"), "more than a character"));
}

TEST_CASE("pieces: a space belongs to what follows") {
  CHECK(pieces("Hello,  big\n\n world (ü2)!") == "Hello|,| | big|\n\n| world| (|ü2|)!|");
  CHECK(pieces("  ") == "  |");
  CHECK(pieces(" a ") == " a| |");
  CHECK(pieces(std::string(300, 'x')) == std::string(256, 'x') + "|" + std::string(44, 'x') + "|");
}

TEST_CASE("byte pairs, worked by hand") {
  // the example of Gage's article and many lectures: aa, ab, aaab
  const BytePairEncoding three = BytePairEncoding::trained("aaabdaaabac", 259);
  CHECK(tokens_of(three, 256) == Texts{"aa", "ab", "aaab"});
  CHECK(three.encode("aaabdaaabac") == Numbers32{258, 'd', 258, 'a', 'c'});
  CHECK(tokens_of(BytePairEncoding::trained("aaabdaaabac", 300), 256).size() == 3);  // no other pair is there twice

  // the words of Sennrich and others, figure 1: es 9, est 9, lo 7, low 7; then of pairs with 6 the lowest numbers
  std::string text;
  const std::pair<const char*, int> words[]{{"low", 5}, {"lower", 2}, {"newest", 6}, {"widest", 3}};
  for (const auto& [word, count] : words)
    for (int i = 0; i < count; ++i) text += std::string(word) + "\n";
  const BytePairEncoding learned = BytePairEncoding::trained(text, 263);
  CHECK(tokens_of(learned, 256) == Texts{"es", "est", "lo", "low", "ew", "new", "newest"});
  CHECK(learned.encode("lowest") == Numbers32{259, 257});
  CHECK(learned.decode(learned.encode("newest wider\xff")) == "newest wider\xff");
}

TEST_CASE("byte pairs: any bytes come back, and files of them") {
  Random random(3);
  std::string text, noise;
  for (int i = 0; i < 3000; ++i) text += "abc \n,"[random.below(6)];
  for (int i = 0; i < 3000; ++i) noise += static_cast<char>(random.below(256));
  const BytePairEncoding coder = BytePairEncoding::trained(text + noise, 360);
  CHECK(coder.size() == 360);
  CHECK(coder.decode(coder.encode(noise + text)) == noise + text);
  CHECK(coder.encode(text).size() < 2 * text.size() / 3);
  const Folder folder;
  coder.save(folder / "b.txt");
  const BytePairEncoding read = BytePairEncoding::load(folder / "b.txt");
  CHECK(tokens_of(read) == tokens_of(coder));
  CHECK(read.encode(text) == coder.encode(text));

  const std::string begin = "tenon-byte-pairs 1\n";
  CHECK(BytePairEncoding::parse(begin + "97 98\n256 256\n", "b.txt").token(257) == "abab");
  CHECK(has(refusal<BytePairEncoding>(""), "line 1: the file is empty"));
  CHECK(has(refusal<BytePairEncoding>("97 98\n"), "line 1: it must be"));
  CHECK(has(refusal<BytePairEncoding>(begin + "97 98"), "line 2: the file is empty or cut off"));
  CHECK(
      has(refusal<BytePairEncoding>(begin + "97 256\n"), "line 2: the pair '97 256' joins a token that is not there"));
  CHECK(has(refusal<BytePairEncoding>(begin + "-1 5\n"), "not there yet"));
  CHECK(has(refusal<BytePairEncoding>(begin + "97  98\n"), "no pair of numbers"));
  CHECK(has(refusal<BytePairEncoding>(begin + "97 99999999999\n"), "line 2"));
  CHECK(has(refusal<BytePairEncoding>(begin + "97 98\n97 98\n"), "line 3: the pair '97 98' is there twice"));
  std::string doubling = begin + "97 97\n";  // each twice as long as the one before
  for (int i = 256; i < 300; ++i) doubling += tenon::text(i, " ", i, "\n");
  CHECK(has(refusal<BytePairEncoding>(doubling), "line 10: the pair '263 263' makes a token of more than 256 bytes"));
  CHECK(has(message<ValueError>([] { BytePairEncoding::trained("", 255); }), "legal are 256"));
}

TEST_CASE("lines of a file as numbers") {
  const Folder folder;
  io::write_file(folder / "a.txt", "to be\r\n\nor\r\n\r\nnot");
  const dataset::TextFile lines(folder / "a.txt");
  REQUIRE(lines.size() == 3);
  const Vocabulary words = Vocabulary::of_words("be not or to");
  Numbers32 seen;
  for (const auto& row : lines | dataset::map<"text">(dataset::Tokens{words})) {
    for (const std::int32_t number : row.values<"text">()) seen.push_back(number);
    seen.push_back(-1);
  }
  CHECK(seen == Numbers32{3, 0, -1, 2, -1, 1, -1});
  const auto encoded = [&](const auto& coder) {
    return known_as(lines | dataset::map<"text">(dataset::Tokens{coder}));
  };
  CHECK(encoded(words) != 0);
  CHECK(encoded(words) != encoded(Vocabulary::of_words("be not or")));
  CHECK(encoded(BytePairEncoding::trained("aa aa", 257)) != encoded(BytePairEncoding()));
  CHECK(has(message<ValueError>([&] {
              for (const auto& row : lines | dataset::map<"text">(dataset::Tokens{Vocabulary::of_words("to or")}))
                static_cast<void>(row);
            }),
            "'be' is not in the vocabulary"));
}

TEST_CASE("windows: a piece and what follows") {
  Numbers32 tokens(12);
  for (int i = 0; i < 12; ++i) tokens[std::size_t(i)] = i;
  const auto first_of = [](const auto& data) {
    Numbers32 first;
    for (const auto& row : data) {
      first.push_back(row.template values<"text">()[0]);
      CHECK(row.template values<"text">()[3] == first.back() + 3);
      CHECK(row.template values<"next">()[3] == first.back() + 4);
    }
    return first;
  };
  CHECK(first_of(dataset::TokenWindows<4>(tokens)) == Numbers32{0, 4});
  CHECK(first_of(dataset::TokenWindows<4>(tokens, {.stride = 3})) == Numbers32{0, 3, 6});
  CHECK(first_of(dataset::TokenWindows<4>(tokens, {.stride = 7})) == Numbers32{0, 7});
  CHECK(dataset::TokenWindows<11>(tokens).size() == 1);
  CHECK(known_as(dataset::TokenWindows<4>(tokens)) != known_as(dataset::TokenWindows<4>(tokens, {.stride = 3})));
  CHECK(has(message<ValueError>([&] { dataset::TokenWindows<12>{tokens}; }), "needs 13 tokens"));
  CHECK(has(message<ValueError>([&] { dataset::TokenWindows<4>(tokens, {.stride = -1}); }), "stride is -1"));
}

TEST_CASE("tinyshakespeare: 65 characters, byte pairs learned and undone") {
  if (!have_shared("data/text/tinyshakespeare.txt")) return;
  const std::string path = shared_folder() + "/data/text/tinyshakespeare.txt";
  const std::string text = io::read_file(path);
  const Vocabulary letters = Vocabulary::of_characters(text);
  CHECK(letters.size() == 65);
  CHECK(letters.decode(letters.encode(text)) == text);
  CHECK(letters.token(letters.encode("h")[0]) == "h");
  CHECK(letters.encode("hii there") == Numbers32{46, 47, 47, 1, 58, 46, 43, 56, 43});
  const BytePairEncoding pairs = BytePairEncoding::trained(text, 512);
  const Numbers32 numbers = pairs.encode(text);
  CHECK(pairs.decode(numbers) == text);
  CHECK(numbers.size() < 6 * text.size() / 10);
  CHECK(dataset::TextFile(path).size() == 40000 - 7223);
}
