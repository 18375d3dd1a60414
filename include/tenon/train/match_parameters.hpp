// Which tensor of a file belongs to which parameter of a network: under Tenon's or PyTorch's names, behind a prefix,
// shared by two parameters, or transposed.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/io/named_tensor.hpp>
#if TENON_DEFINES
#include <algorithm>
#include <array>
#include <cstring>

#include <tenon/io/escaped_text.hpp>
#include <tenon/train/optimizer_state.hpp>
#endif

namespace tenon::inline TENON_ABI::detail {

/// Which prefixes of a file's names match_parameters may leave out.
enum class PrefixRule {
  none,
  best,  // the one with which most parameters are found, unless as many are without
  each   // those without, then those with the prefix that most of the missing ones have, and so on
};

/// The parameters of a network by both families of names, and the tensors of a file.
struct MatchRequest {
  std::span<const io::NamedTensor> parameters;
  std::span<const io::NamedTensor> pytorch;  // the same with PyTorch's names
  std::span<const io::NamedTensor> held;     // names unique; tensors whose dtype Tenon lacks have no data
  PrefixRule prefixes;
};
/// A tensor of the file and the parameter that takes it.
struct ParameterMatch {
  const io::NamedTensor* from;
  const io::NamedTensor* to;
  bool transposed = false;  // the parameter is [a, b], the tensor [b, a]
};
struct MatchedParameters {
  std::vector<ParameterMatch> matches;
  io::LoadReport report;  // missing, unexpected, notes
};

/// Finds a tensor for each parameter. A parameter takes the tensor of its own name, else that of PyTorch's name; no
/// tensor is given away twice, but:
///
/// tied         a missing "lm_head.weight" or "decoder.weight" takes the one embedding table of its shape, a missing
///              "decoder.bias" the "bias" beside "decoder", as transformers' models share them and do not save them
/// transposed   transformers' Conv1D keeps its weight as [in, out], nn.Linear and Dense as [out, in]. If one of the
///              weights that it calls c_attn, c_fc, c_proj, q_attn has the transposed shape, all of them are transposed
/// unexpected   tensors that nothing takes, but neither an optimizer's state, nor what PyTorch's modules hold beside
///              parameters ("num_batches_tracked", masks, numbers of positions), nor copies of a tied tensor
[[gnu::cold]] MatchedParameters match_parameters(const MatchRequest& request);

/// The tensors of a file, and those that safetensors.torch.save_model left out: its metadata has "name of the tensor
/// left out" -> "name of the same tensor".
[[gnu::cold]] std::vector<io::NamedTensor> with_shared_tensors(
    std::span<const io::NamedTensor> tensors, std::span<const std::pair<std::string, std::string>> metadata);

/// What the tensor of a match is called in a sentence: "tensor 'bn1.weight' for parameter 'bn1.gamma'".
[[gnu::cold]] std::string match_text(const ParameterMatch& match);

/// The elements of a matrix, transposed, in memory of `bytes`.
[[gnu::cold]] AnyTensor transposed_matrix(const AnyTensor& matrix, std::vector<std::byte>& bytes);

#if TENON_DEFINES

inline std::string_view last_name(std::string_view name) { return name.substr(name.rfind('.') + 1); }
/// "h.0.mlp.c_fc" of "h.0.mlp.c_fc.weight".
inline std::string_view module_name(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == name.npos ? std::string_view() : name.substr(0, dot);
}
inline bool same_elements(const AnyTensor& a, const AnyTensor& b) {
  return a.dtype == b.dtype && io::detail::same_shape(a, b) && a.data && b.data &&
         (a.data == b.data || std::memcmp(a.data, b.data, a.bytes()) == 0);
}
inline bool has_transposed_shape(const AnyTensor& a, const AnyTensor& b) {
  return a.rank == 2 && b.rank == 2 && a.shape()[0] == b.shape()[1] && a.shape()[1] == b.shape()[0];
}

/// What PyTorch's and transformers' modules save beside their parameters.
[[gnu::cold, gnu::noinline]] inline bool is_pytorch_buffer(const io::NamedTensor& named) {
  const std::string_view name = last_name(named.name);
  const std::span<const std::int64_t> shape = named.tensor.shape();
  const bool whole = is_signed_integer(named.tensor.dtype);
  if (name == "num_batches_tracked" || name == "n_averaged") return whole && named.tensor.count() == 1;
  if (name == "position_ids" || name == "token_type_ids") return whole && shape.size() == 2 && shape[0] == 1;
  if (name == "inv_freq") return shape.size() == 1;
  if (last_name(module_name(named.name)) != "attn") return false;
  return (name == "masked_bias" && named.tensor.count() == 1) ||
         (name == "bias" && shape.size() == 4 && shape[0] == 1 && shape[1] == 1 && shape[2] == shape[3]);
}

/// Whether "a.decoder.bias" and "a.bias" are these two names, which transformers' models share.
inline bool is_decoder_bias(std::string_view decoder, std::string_view bias) {
  return last_name(decoder) == "bias" && last_name(bias) == "bias" && last_name(module_name(decoder)) == "decoder" &&
         module_name(module_name(decoder)) == module_name(bias);
}

/// The work of match_parameters.
struct ParameterSearch {
  static constexpr std::size_t none = io::SortedNames::none;
  const MatchRequest& ask;
  const io::SortedNames names{ask.held};
  std::vector<std::size_t> place = std::vector<std::size_t>(ask.parameters.size(), none);  // in ask.held
  std::vector<bool> taken = std::vector<bool>(ask.held.size());
  std::vector<std::string> prefixes{}, notes{};  // that were left out; what was done

  bool is_missing(std::size_t p) const { return place[p] == none; }
  std::size_t missing() const { return std::size_t(std::count(place.begin(), place.end(), none)); }
  bool is_table(std::size_t p) const { return last_name(ask.parameters[p].name) == "embedding_table"; }

  /// Gives missing parameters the tensors of one family's names behind a prefix.
  void take(std::span<const io::NamedTensor> family, const std::string& prefix) {
    for (std::size_t p = 0; p < place.size(); ++p) {
      if (!is_missing(p)) continue;
      const std::size_t found = names.find(prefix + family[p].name);
      if (found == none || taken[found]) continue;
      place[p] = found;
      taken[found] = true;
    }
  }
  void take(const std::string& prefix) {
    prefixes.push_back(prefix);
    if (!prefix.empty()) notes.push_back(text("Names are found behind the prefix ", io::printable(prefix), "."));
    take(ask.parameters, prefix);
    take(ask.pytorch, prefix);
  }

  /// The prefix, with its dot, with which most of the missing parameters are there, the first of them, or "".
  std::string best_prefix(std::size_t& most) const {
    std::vector<std::string_view> missing;
    for (std::size_t p = 0; p < place.size(); ++p) {
      if (!is_missing(p)) continue;
      missing.push_back(ask.parameters[p].name);
      if (ask.pytorch[p].name != ask.parameters[p].name) missing.push_back(ask.pytorch[p].name);
    }
    const io::SortedNames asked(missing);
    std::vector<io::SortKey> votes;
    for (std::size_t i = 0; i < ask.held.size(); ++i) {
      if (taken[i] || is_optimizer_state(ask.held[i], names)) continue;
      const std::string_view name = ask.held[i].name;
      for (std::size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1))
        if (asked.find(name.substr(dot + 1)) != none) votes.push_back({0, 0, name.substr(0, dot + 1), i});
    }
    io::sort_keys(votes);
    std::string_view best;
    std::size_t first = none;
    most = 0;
    for (std::size_t i = 0, end; i < votes.size(); i = end) {
      for (end = i; end < votes.size() && votes[end].name == votes[i].name;) ++end;
      if (end - i < most || (end - i == most && votes[i].index > first)) continue;
      most = end - i, best = votes[i].name, first = votes[i].index;
    }
    return std::string(best);
  }
  void take_by_rule() {
    take("");
    std::size_t most = 0;
    if (ask.prefixes == PrefixRule::best && missing() > 0) {
      const std::size_t without = place.size() - missing();
      std::vector<std::size_t> before(place.size(), none);
      std::vector<bool> taken_before(taken.size());
      before.swap(place), taken_before.swap(taken);
      if (const std::string prefix = best_prefix(most); most > without) take(prefix);
      else before.swap(place), taken_before.swap(taken);
    }
    while (ask.prefixes == PrefixRule::each && missing() > 0) {
      const std::string prefix = best_prefix(most);
      if (most == 0) break;
      take(prefix);
    }
  }

  /// Where the tensor is that a missing parameter shares in transformers' models, or none.
  std::size_t tied_to(std::size_t p) const {
    const std::string& name = ask.pytorch[p].name;
    const std::string_view module = last_name(module_name(name));
    std::size_t found = none;
    if (last_name(name) == "weight" && (module == "lm_head" || module == "decoder")) {
      for (std::size_t other = 0; other < place.size(); ++other) {
        if (is_missing(other) || !is_table(other) ||
            !io::detail::same_shape(ask.held[place[other]].tensor, ask.parameters[p].tensor))
          continue;
        if (found != none) return none;
        found = place[other];
      }
    }
    if (last_name(name) == "bias" && module == "decoder") {
      const std::string_view parent = module_name(module_name(name));
      for (const std::string& prefix : prefixes)
        if (found == none) found = names.find(text(prefix, parent, parent.empty() ? "" : ".", "bias"));
    }
    return found;
  }
  void take_tied() {
    for (std::size_t p = 0; p < place.size(); ++p) {
      if (!is_missing(p)) continue;
      const std::size_t found = tied_to(p);
      if (found == none) continue;
      place[p] = found;
      taken[found] = true;
      notes.push_back(text(io::printable(ask.parameters[p].name), " is not in the file and takes ",
                           io::printable(ask.held[found].name), ", with which transformers' models share it."));
    }
  }

  /// Whether it is a copy of a tensor that a parameter takes.
  bool is_tied_copy(const io::NamedTensor& tensor) const {
    for (std::size_t p = 0; p < place.size(); ++p) {
      if (is_missing(p)) continue;
      const io::NamedTensor& other = ask.held[place[p]];
      const bool may_be = (is_table(p) && tensor.tensor.rank == 2) || is_decoder_bias(other.name, tensor.name) ||
                          tensor.tensor.data == other.tensor.data;
      if (may_be && same_elements(tensor.tensor, other.tensor)) return true;
    }
    return false;
  }
};

/// Marks the weights of transformers' Conv1D. Returns how many there are.
[[gnu::cold, gnu::noinline]] inline std::size_t mark_transposed(std::vector<ParameterMatch>& matches) {
  constexpr std::array<std::string_view, 4> modules{"c_attn", "c_fc", "c_proj", "q_attn"};
  std::vector<ParameterMatch*> weights;
  bool certain = false;
  for (ParameterMatch& match : matches) {
    const AnyTensor &from = match.from->tensor, &to = match.to->tensor;
    const std::string_view module = last_name(module_name(match.from->name));
    if (last_name(match.from->name) != "weight" || !has_transposed_shape(from, to) ||
        std::find(modules.begin(), modules.end(), module) == modules.end())
      continue;
    weights.push_back(&match);
    certain = certain || !io::detail::same_shape(from, to);  // a square weight does not tell
  }
  if (!certain) return 0;
  for (ParameterMatch* match : weights) match->transposed = true;
  return weights.size();
}

TENON_INLINE MatchedParameters match_parameters(const MatchRequest& request) {
  ParameterSearch search{request};
  search.take_by_rule();
  search.take_tied();
  MatchedParameters result;
  io::LoadReport& report = result.report;
  report.notes = std::move(search.notes);
  std::size_t by_pytorch = 0;
  for (std::size_t p = 0; p < search.place.size(); ++p) {
    const io::NamedTensor& parameter = request.parameters[p];
    if (search.is_missing(p)) {
      report.missing.push_back(parameter.name);
      continue;
    }
    result.matches.push_back({&request.held[search.place[p]], &parameter});
    by_pytorch += last_name(request.pytorch[p].name) != last_name(parameter.name) &&
                  last_name(result.matches.back().from->name) == last_name(request.pytorch[p].name);
  }
  if (by_pytorch > 0) report.notes.push_back(text(by_pytorch, " parameters have PyTorch's names in the file."));
  if (const std::size_t count = mark_transposed(result.matches))
    report.notes.push_back(
        text(count, " weights of c_attn, c_fc, c_proj are transposed: the file has them as transformers' Conv1D."));
  for (std::size_t i = 0; i < request.held.size(); ++i) {
    const io::NamedTensor& tensor = request.held[i];
    if (!search.taken[i] && !is_optimizer_state(tensor, search.names) && !is_pytorch_buffer(tensor) &&
        !search.is_tied_copy(tensor))
      report.unexpected.push_back(tensor.name);
  }
  return result;
}

TENON_INLINE std::vector<io::NamedTensor> with_shared_tensors(
    std::span<const io::NamedTensor> tensors, std::span<const std::pair<std::string, std::string>> metadata) {
  std::vector<io::NamedTensor> all(tensors.begin(), tensors.end());
  const io::SortedNames names(tensors);
  for (const auto& [left_out, kept] : metadata)
    if (const std::size_t found = names.find(kept);
        found != io::SortedNames::none && names.find(left_out) == io::SortedNames::none)
      all.push_back({left_out, tensors[found].tensor});
  return all;
}

TENON_INLINE std::string match_text(const ParameterMatch& match) {
  const std::string &from = match.from->name, &to = match.to->name;
  return text("tensor ", io::printable(from), from == to ? "" : text(" for parameter ", io::printable(to)));
}

TENON_INLINE AnyTensor transposed_matrix(const AnyTensor& matrix, std::vector<std::byte>& bytes) {
  const std::int64_t rows = matrix.shape()[0], columns = matrix.shape()[1];
  const std::size_t size = size_of(matrix.dtype);
  bytes.resize(matrix.bytes());
  const auto* from = static_cast<const std::byte*>(matrix.data);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c, from += size)
      std::memcpy(bytes.data() + std::size_t(c * rows + r) * size, from, size);
  const std::int64_t shape[]{columns, rows};
  return AnyTensor(matrix.dtype, shape, bytes.data());
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
