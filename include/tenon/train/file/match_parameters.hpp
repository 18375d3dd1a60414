// Which tensor of a file belongs to which parameter of a network: under Tenon's or PyTorch's names, after a prefix,
// shared by two parameters, or transposed.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/memory/owned.hpp>
#include <tenon/io/tensors/held_tensors.hpp>
#if TENON_DEFINES
#include <cstring>

#include <tenon/io/text/escaped_text.hpp>
#include <tenon/train/file/optimizer_state.hpp>
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
  const io::NamedTensor* from = nullptr;
  const io::NamedTensor* to = nullptr;
  bool transposed = false;  // the parameter is [a, b], the tensor [b, a]
};
struct MatchedParameters {
  tenon::detail::Owned<ParameterMatch[]> match;
  std::size_t count = 0;    // of matches
  io::LoadReport report{};  // missing, unexpected, notes
};

/// Finds a tensor for each parameter. A parameter gets the tensor with its own name, or else with PyTorch's name. No
/// tensor is used twice. Exceptions:
///
/// wrapped      "_orig_mod.", "_fsdp_wrapped_module." and "_checkpoint_wrapped_module." are ignored anywhere in a name
///              (torch.compile and FSDP insert them)
/// tied         in a file of PyTorch's names a missing "lm_head.weight" or "predictions.decoder.weight" gets the only
///              embedding table of its shape, and a missing "decoder.bias" the "bias" next to "decoder": transformers'
///              models share these tensors and do not save them twice
/// transposed   transformers' Conv1D keeps its weight as [in, out], nn.Linear and Dense as [out, in]. If one of the
///              weights that it calls c_attn, c_fc, c_proj, q_attn has the transposed shape, all of them are transposed
/// unexpected   tensors that no parameter uses, except an optimizer's state, buffers of PyTorch's modules
///              ("num_batches_tracked", masks, position numbers), and copies of a tied tensor
[[gnu::cold]] MatchedParameters match_parameters(const MatchRequest& request);

/// The tensors of a file, and those that safetensors.torch.save_model left out: its metadata has "name of the tensor
/// left out" -> "name of the same tensor".
[[gnu::cold]] std::vector<io::NamedTensor> with_shared_tensors(
    std::span<const io::NamedTensor> tensors, std::span<const std::pair<std::string, std::string>> metadata);

/// What the tensor of a match is called in a sentence: "tensor 'bn1.weight' for parameter 'bn1.gamma'".
[[gnu::cold]] std::string match_text(const ParameterMatch& match);

/// The elements of a matrix, transposed, in memory of `bytes`.
[[gnu::cold]] AnyTensor transposed_matrix(const AnyTensor& matrix, std::string& bytes);

// Arrays below are of few types, and loops are written out: each new instance of a template costs every program that
// loads a checkpoint time to compile.
#if TENON_DEFINES

[[gnu::cold, gnu::noinline]] inline std::string_view last_name(std::string_view name) {
  return name.substr(name.rfind('.') + 1);
}
/// "h.0.mlp.c_fc" of "h.0.mlp.c_fc.weight".
[[gnu::cold, gnu::noinline]] inline std::string_view module_name(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == name.npos ? std::string_view() : name.substr(0, dot);
}
inline std::string_view last_module(std::string_view name) { return last_name(module_name(name)); }

/// Of tensors of one shape.
[[gnu::cold, gnu::noinline]] inline bool same_elements(const AnyTensor& a, const AnyTensor& b) {
  return a.dtype == b.dtype && a.data && b.data && (a.data == b.data || std::memcmp(a.data, b.data, a.bytes()) == 0);
}
inline bool has_transposed_shape(const AnyTensor& a, const AnyTensor& b) {
  return a.rank == 2 && b.rank == 2 && a.extent[0] == b.extent[1] && a.extent[1] == b.extent[0];
}

/// What PyTorch's and transformers' modules save in addition to their parameters.
[[gnu::cold, gnu::noinline]] inline bool is_pytorch_buffer(const io::NamedTensor& named) {
  const std::string_view name = last_name(named.name);
  const AnyTensor& t = named.tensor;
  const bool whole = is_signed_integer(t.dtype);
  if (name == "num_batches_tracked" || name == "n_averaged") return whole && t.count() == 1;
  if (name == "position_ids" || name == "token_type_ids") return whole && t.rank == 2 && t.extent[0] == 1;
  if (name == "inv_freq") return t.rank == 1;
  if (last_module(named.name) != "attn") return false;
  return (name == "masked_bias" && t.count() == 1) ||
         (name == "bias" && t.rank == 4 && t.extent[0] == 1 && t.extent[1] == 1 && t.extent[2] == t.extent[3]);
}

/// Whether "a.decoder.bias" and "a.bias" are these two names, which transformers' models share.
[[gnu::cold, gnu::noinline]] inline bool is_decoder_bias(std::string_view decoder, std::string_view bias) {
  return last_name(decoder) == "bias" && last_name(bias) == "bias" && last_module(decoder) == "decoder" &&
         module_name(module_name(decoder)) == module_name(bias);
}
/// Whether it is the weight of an output layer that transformers' models share with the table of words.
[[gnu::cold, gnu::noinline]] inline bool is_tied_head(std::string_view name) {
  if (last_name(name) != "weight") return false;
  const std::string_view module = module_name(name), parent = last_module(module);
  return last_name(module) == "lm_head" ||
         (last_name(module) == "decoder" && (parent == "predictions" || parent == "lm_head"));
}
/// A name without what torch.compile and others put into it.
[[gnu::cold, gnu::noinline]] inline std::string without_wrappers(std::string_view name) {
  std::string result;
  while (!name.empty()) {
    const std::size_t dot = name.find('.'), end = dot == name.npos ? name.size() : dot + 1;
    const std::string_view part = name.substr(0, end);
    if (part != "_orig_mod." && part != "_fsdp_wrapped_module." && part != "_checkpoint_wrapped_module.")
      result += part;
    name.remove_prefix(end);
  }
  return result;
}

/// The work of match_parameters.
struct ParameterSearch {
  static constexpr std::size_t none = io::SortedNames::none;
  const MatchRequest& ask;
  const std::size_t count = ask.parameters.size();
  std::vector<io::NamedTensor> held{};  // ask.held with names without wrappers
  io::SortedNames names{};
  Growing<io::SortKey> place{};  // index: where in `held` a parameter is found
  std::string taken = std::string(ask.held.size(), 0);
  std::size_t found = 0;
  std::vector<std::string> prefixes{}, notes{};  // that were left out; what was done

  [[gnu::cold, gnu::noinline]] void name_tensors() {
    bool wrapped = false;
    for (const io::NamedTensor& tensor : ask.held) {
      held.push_back({without_wrappers(tensor.name), tensor.tensor});
      wrapped = wrapped || held.back().name.size() != tensor.name.size();
    }
    if (wrapped) notes.push_back("Names are found without '_orig_mod.' and other wrappers.");
    names = io::SortedNames(std::span<const io::NamedTensor>(held));
    place.fill(count);
    forget();
  }
  [[gnu::cold, gnu::noinline]] void forget() {
    for (io::SortKey& key : place) key.index = none;
    for (char& is_taken : taken) is_taken = 0;
    found = 0;
  }
  bool is_missing(std::size_t p) const { return place[p].index == none; }
  const io::NamedTensor& tensor_of(std::size_t p) const { return held[place[p].index]; }
  [[gnu::cold, gnu::noinline]] void give(std::size_t p, std::size_t tensor) {
    place[p].index = tensor;
    taken[tensor] = 1;
    ++found;
  }

  /// Gives missing parameters the tensors of one family's names after a prefix.
  [[gnu::cold, gnu::noinline]] void take(std::span<const io::NamedTensor> family, const std::string& prefix) {
    for (std::size_t p = 0; p < count; ++p) {
      if (!is_missing(p)) continue;
      const std::size_t tensor = names.find(text(prefix, family[p].name));
      if (tensor != none && !taken[tensor]) give(p, tensor);
    }
  }
  [[gnu::cold, gnu::noinline]] void take(const std::string& prefix) {
    prefixes.push_back(std::string(prefix));
    if (!prefix.empty()) notes.push_back(text("Names are found after the prefix ", io::printable(prefix), "."));
    take(ask.parameters, prefix);
    take(ask.pytorch, prefix);
  }

  /// The prefix, with its dot, with which most parameters are there, of all or of the missing ones, and how many: the
  /// first of them.
  [[gnu::cold, gnu::noinline]] std::string best_prefix(bool of_all, std::size_t& most) const {
    std::vector<std::string_view> wanted(2 * count);
    for (std::size_t p = 0; p < count; ++p) {
      const bool is_wanted = of_all || is_missing(p);
      wanted[2 * p] = is_wanted ? std::string_view(ask.parameters[p].name) : ".";
      wanted[2 * p + 1] = is_wanted ? std::string_view(ask.pytorch[p].name) : ".";
    }
    const io::SortedNames asked(wanted);
    std::vector<std::string> votes;
    for (std::size_t i = 0; i < held.size(); ++i) {
      const std::string_view name = held[i].name;
      if ((taken[i] && !of_all) || is_optimizer_state(held[i], names)) continue;
      for (std::size_t dot = name.find('.'); dot < name.size() - 1; dot = name.find('.', dot + 1))
        if (name[dot + 1] != '.' && asked.find(name.substr(dot + 1)) != none)
          votes.push_back(held[i].name.substr(0, dot + 1));
    }
    return most_frequent(votes, most);
  }
  [[gnu::cold, gnu::noinline]] static std::string most_frequent(const std::vector<std::string>& votes,
                                                                std::size_t& most) {
    Growing<io::SortKey> sorted;
    for (std::size_t i = 0; i < votes.size(); ++i) sorted.push_back({0, 0, votes[i], i});
    io::sort_keys(sorted);
    std::size_t best = none;
    most = 0;
    for (std::size_t i = 0, end; i < sorted.size(); i = end) {
      for (end = i; end < sorted.size() && sorted[end].name == sorted[i].name;) ++end;
      if (end - i > most || (end - i == most && sorted[i].index < best)) most = end - i, best = sorted[i].index;
    }
    return best == none ? std::string() : votes[best];
  }
  [[gnu::cold, gnu::noinline]] void take_by_rule() {
    std::size_t most = 0;
    take("");
    if (ask.prefixes == PrefixRule::best && found < count)
      if (const std::string prefix = best_prefix(true, most); most > found) forget(), take(prefix);
    while (ask.prefixes == PrefixRule::each && found < count) {
      const std::string prefix = best_prefix(false, most);
      if (most == 0) break;
      take(prefix);
    }
  }

  bool is_table(std::size_t p) const { return last_name(ask.parameters[p].name) == "embedding_table"; }
  /// Where the tensor is that a missing parameter shares in transformers' models, or none.
  [[gnu::cold, gnu::noinline]] std::size_t tied_to(std::size_t p) const {
    const std::string& wanted = ask.pytorch[p].name;
    std::size_t tensor = none;
    for (std::size_t other = 0; other < count && is_tied_head(wanted); ++other) {
      if (is_missing(other) || !is_table(other) || last_name(tensor_of(other).name) != "weight" ||
          !io::detail::same_shape(tensor_of(other).tensor, ask.parameters[p].tensor))
        continue;
      if (tensor != none) return none;
      tensor = place[other].index;
    }
    if (last_name(wanted) == "bias" && last_module(wanted) == "decoder") {
      const std::string parent(module_name(module_name(wanted)));
      for (const std::string& prefix : prefixes)
        if (tensor == none) tensor = names.find(text(prefix, parent, parent.empty() ? "bias" : ".bias"));
    }
    return tensor;
  }
  [[gnu::cold, gnu::noinline]] void take_tied() {
    for (std::size_t p = 0; p < count; ++p) {
      if (!is_missing(p)) continue;
      const std::size_t tensor = tied_to(p);
      if (tensor == none) continue;
      give(p, tensor);
      notes.push_back(text(io::printable(ask.parameters[p].name), " is not in the file and takes ",
                           io::printable(held[tensor].name), ", with which transformers' models share it."));
    }
  }

  /// Whether it is a copy of a tensor that a parameter takes.
  [[gnu::cold, gnu::noinline]] bool is_tied_copy(const io::NamedTensor& tensor) const {
    for (std::size_t p = 0; p < count; ++p) {
      if (is_missing(p)) continue;
      const io::NamedTensor& other = tensor_of(p);
      if (!io::detail::same_shape(tensor.tensor, other.tensor)) continue;
      const bool may_be = (tensor.tensor.rank == 2 && is_table(p)) || tensor.tensor.data == other.tensor.data ||
                          is_decoder_bias(other.name, tensor.name);
      if (may_be && same_elements(tensor.tensor, other.tensor)) return true;
    }
    return false;
  }
  [[gnu::cold, gnu::noinline]] bool has_pytorch_name(std::size_t p) const {
    const std::string_view theirs = last_name(ask.pytorch[p].name);
    return theirs != last_name(ask.parameters[p].name) && theirs == last_name(tensor_of(p).name);
  }
};

/// Whether it may be a weight of transformers' Conv1D.
[[gnu::cold, gnu::noinline]] inline bool may_be_conv1d(const ParameterMatch& match) {
  const std::string& name = match.from->name;
  const std::string_view module = last_module(name);
  return last_name(name) == "weight" && has_transposed_shape(match.from->tensor, match.to->tensor) &&
         (module == "c_attn" || module == "c_fc" || module == "c_proj" || module == "q_attn");
}
/// Marks those weights, if one of them shows what they are, which a square one does not. Returns how many there are.
[[gnu::cold, gnu::noinline]] inline std::size_t mark_transposed(const MatchedParameters& found) {
  bool certain = false;
  std::size_t count = 0;
  for (std::size_t i = 0; i < found.count; ++i) {
    const ParameterMatch& match = found.match[i];
    certain = certain || (may_be_conv1d(match) && !io::detail::same_shape(match.from->tensor, match.to->tensor));
  }
  for (std::size_t i = 0; i < found.count && certain; ++i)
    count += found.match[i].transposed = may_be_conv1d(found.match[i]);
  return count;
}

TENON_INLINE MatchedParameters match_parameters(const MatchRequest& request) {
  ParameterSearch search{request};
  search.name_tensors();
  search.take_by_rule();
  search.take_tied();
  MatchedParameters result{tenon::detail::Owned<ParameterMatch[]>(new ParameterMatch[search.found])};
  io::LoadReport& report = result.report;
  report.notes = std::move(search.notes);
  std::size_t by_pytorch = 0;
  for (std::size_t p = 0; p < search.count; ++p) {
    const io::NamedTensor& parameter = request.parameters[p];
    if (search.is_missing(p)) {
      report.missing.push_back(std::string(parameter.name));
      continue;
    }
    result.match[result.count++] = {&request.held[search.place[p].index], &parameter};
    by_pytorch += search.has_pytorch_name(p);
  }
  if (by_pytorch > 0) report.notes.push_back(text("Parameters with PyTorch's names in the file: ", by_pytorch, "."));
  if (const std::size_t count = mark_transposed(result))
    report.notes.push_back(
        text("Weights of transformers' Conv1D (c_attn, c_fc, c_proj) that are transposed: ", count, "."));
  for (std::size_t i = 0; i < search.held.size(); ++i) {
    const io::NamedTensor& tensor = search.held[i];
    if (!search.taken[i] && !is_optimizer_state(tensor, search.names) && !is_pytorch_buffer(tensor) &&
        !search.is_tied_copy(tensor))
      report.unexpected.push_back(std::string(request.held[i].name));
  }
  return result;
}

TENON_INLINE std::vector<io::NamedTensor> with_shared_tensors(
    std::span<const io::NamedTensor> tensors, std::span<const std::pair<std::string, std::string>> metadata) {
  std::vector<io::NamedTensor> all;
  for (const io::NamedTensor& tensor : tensors) all.push_back({tensor.name, tensor.tensor});
  const io::SortedNames names(tensors);
  for (const auto& [left_out, kept] : metadata) {
    const std::size_t found = names.find(kept);
    if (found != names.none && names.find(left_out) == names.none) all.push_back({left_out, tensors[found].tensor});
  }
  return all;
}

TENON_INLINE std::string match_text(const ParameterMatch& match) {
  const std::string &from = match.from->name, &to = match.to->name;
  return from == to ? text("tensor ", io::printable(from))
                    : text("tensor ", io::printable(from), " for parameter ", io::printable(to));
}

TENON_INLINE AnyTensor transposed_matrix(const AnyTensor& matrix, std::string& bytes) {
  const std::int64_t rows = matrix.extent[0], columns = matrix.extent[1];
  const std::size_t size = size_of(matrix.dtype);
  bytes.resize(matrix.bytes());
  const char* from = static_cast<const char*>(matrix.data);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c, from += size)
      std::memcpy(bytes.data() + std::size_t(c * rows + r) * size, from, size);
  AnyTensor result = matrix;
  result.extent[0] = columns, result.extent[1] = rows;
  result.data = bytes.data();
  return result;
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
