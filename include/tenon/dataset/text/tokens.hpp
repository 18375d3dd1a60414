// Tokens: texts as numbers, by a vocabulary or by byte pairs.
#pragma once
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include <tenon/dataset/map/transform.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// Encodes a column of texts: `TextFile("a.txt") | map<"text">(Tokens{vocabulary})`.
///
/// from        uint8, one axis
/// makes       int32 [any]
/// coder       Vocabulary, BytePairEncoding, or what has `std::size_t encode(std::string_view, std::int32_t* out)
///             const`, which writes at most a number for each byte. It is copied once and shared
/// throws      what the coder throws: ValueError for a token that is not in a vocabulary
template <class Coder>
struct Tokens {
  using transforms_samples = void;
  static constexpr const char* name = "Tokens";
  static constexpr bool random = false;
  std::shared_ptr<const Coder> coder;

  explicit Tokens(Coder c) : coder(std::make_shared<const Coder>(std::move(c))) {}

  void describe(auto& d) const { d.add_value(*coder); }
  template <class In>
  using result = Column<std::int32_t, Ragged<any>>;
  template <class In>
  void apply(SampleView<In> in, SampleSlot<result<In>> out, Random&) const {
    static_assert(std::is_same_v<typename In::type, std::uint8_t> && In::shape::rank == 1,
                  "Tokens encodes a column of texts: uint8 with one axis, as TextFile has it");
    const std::size_t count = coder->encode(in.text(), out.resize(in.count()));
    out.resize(count);  // shorter, in the same memory
  }
};

}  // namespace tenon::dataset
