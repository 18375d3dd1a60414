// Rotary positions: queries and keys turned by angles that grow with the position.
#pragma once
#include <tenon/ops/accumulate.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Which two features of a head turn together: i and i + D / 2 (half, as in Hugging Face's rotate_half and in
/// MindFormers), or 2 i and 2 i + 1 (interleaved, as in the paper, in torchtune, and in MindSpore's mode 1).
enum class RotaryForm : int { half, interleaved };

/// Turns each pair (a, b) of features of a head:  (a cos - b sin, b cos + a sin)
///
/// x           [..., T, heads · D]; floating-point, 16-bit floats are computed in float
/// table       [Length, D] with T <= Length: D / 2 cosines, then D / 2 sines, of each position; float32, float64 beside
///             float64
/// position    optional, [n] of int32 or int64 beside x [n, T, heads · D]: where the first of the T tokens of each
///             sequence is; otherwise 0. Throws ValueError for a position beyond the table
/// result      shape and dtype of x
/// derivative  to x, dy turned back; none to the table
/// source      Su and others, arXiv 2104.09864; MindSpore's rotary_position_embedding
struct RotaryEmbedding : Operator<RotaryEmbedding, "RotaryEmbedding"> {
  struct Config {
    RotaryForm form = RotaryForm::half;
    int inverse = 0;
  };
  static constexpr bool float_parameters = true, per_sample = true;
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence& error) {
    const TensorType &x = in[0], &table = in[1];
    if (!is_floating(x.dtype) || x.rank < 2 || x[x.rank - 2] < 1)
      error << "RotaryEmbedding needs floating-point x [...,T,Features] of a fixed length, got " << tenon::name(x.dtype)
            << " " << x;
    else if (table.rank != 2 || table[1] < 2 || table[1] % 2 || x.last() % table[1] || x[x.rank - 2] > table[0])
      error << "RotaryEmbedding got " << x << " and a table " << table << ", which needs " << x[x.rank - 2]
            << " rows or more, and an even number of columns that divides " << x.last();
    else if (table.dtype != (x.dtype == Dtype::float64 ? Dtype::float64 : Dtype::float32))
      error << "RotaryEmbedding of " << tenon::name(x.dtype) << " got a table of " << tenon::name(table.dtype);
    else if (in.count > 2 && (in[2].rank != 1 || x.rank != 3 || in[2][0] != x[0] ||
                              (in[2].dtype != Dtype::int32 && in[2].dtype != Dtype::int64)))
      error << "RotaryEmbedding of " << x << " needs the position of each sequence as int32 or int64, got "
            << tenon::name(in[2].dtype) << " " << in[2];
    return x;
  }
  static constexpr IndexRange indices(const OperandTypes& in, const Config&) {
    if (in.count < 3) return {};
    return {.operand = 2,
            .high = in[1][0] - in[0][1] + 1,
            .among = 1,
            .number = "position",
            .have = "places for this many tokens in the table",
            .advice = "give the table more rows"};
  }
  static constexpr void derivative(Derivative& d) {
    Config back = d.config<RotaryEmbedding>();
    back.inverse = !back.inverse;
    d.flows_to(0, d.operands() == 2 ? d.call_with<RotaryEmbedding>(back, d.gradient(), d.operand(1))
                                    : d.call_with<RotaryEmbedding>(back, d.gradient(), d.operand(1), d.operand(2)));
    d.no_gradient(1);
  }
};

/// Turns the features of x by the position of their row. nn::RotaryEmbedding has the table.
/// `rotary_embedding(q, table)` for whole sequences, `rotary_embedding(q, table, position)` for tokens that follow
/// those of a cache.
template <RotaryForm form = RotaryForm::half>
constexpr auto rotary_embedding(const Operand auto& x, const Operand auto& table,
                                std::source_location at = std::source_location::current()) {
  return apply<RotaryEmbedding, RotaryEmbedding::Config{form}>(at, x, table);
}
template <RotaryForm form = RotaryForm::half>
constexpr auto rotary_embedding(const Operand auto& x, const Operand auto& table, const Operand auto& position,
                                std::source_location at = std::source_location::current()) {
  return apply<RotaryEmbedding, RotaryEmbedding::Config{form}>(at, x, table, position);
}

}  // namespace tenon::ops

namespace tenon::inline TENON_ABI {
using ops::RotaryForm;
}  // namespace tenon
