// The graph of a network's forward pass, and the error sentences if it cannot be traced.
#pragma once
#include <tenon/lowering/compiled.hpp>
#include <tenon/nn/checked_cell.hpp>

namespace tenon::inline TENON_ABI::detail {

/// The forward graph of a cell for arguments of given types, in evaluation.
template <class Net, class... Keys>
struct Forward {
  static constexpr const Entry* entries = Structure<Net>::table.entry;
  static constexpr Builder trace(int cells = all_cells) {
    Builder b;
    b.entries = entries;
    b.entry_count = Structure<Net>::count;
    b.cells = cells;
    trace_arguments(b, std::index_sequence_for<Keys...>{});
    return b;
  }
  template <std::size_t... I>
  static constexpr void trace_arguments(Builder& b, std::index_sequence<I...>) {
    trace_call(b, Traced<typename Keys::type, typename Keys::shape>(&b, b.leaf(&info<ops::Input>, Keys::value, I))...);
  }
  template <class... X>
  static constexpr void trace_call(Builder& b, const X&... x) {
    if constexpr (!requires(const Net& net, const X&... v) { net.construct(v...); })
      b.fail(wrong_arguments<Net, X...>(sizeof...(X)));
    else if constexpr (is_wrong_result<ResultOf<Net, X...>>) b.fail(wrong_result<Net, ResultOf<Net, X...>>());
    else add_outputs(b, prototype<Net>.construct(x...));
  }
};

template <class Source>
constexpr bool runs_to_its_end(int cells) {
  Source::trace(cells);
  return true;
}
template <class Source, int cells>
concept RunsToItsEnd = requires { typename std::bool_constant<runs_to_its_end<Source>(cells)>; };

/// The number of cells that a trace may enter without failing, at least `fine` and less than `bad`.
template <class Source, int fine, int bad>
constexpr int cells_until_failure() {
  if constexpr (bad - fine < 2) return fine;
  else if constexpr (constexpr int middle = (fine + bad) / 2; RunsToItsEnd<Source, middle>)
    return cells_until_failure<Source, middle, bad>();
  else return cells_until_failure<Source, fine, middle>();
}

/// True if this many cells can be traced, but not twice: then it is the compiler's limit of steps that ends a trace.
template <class Source, int cells>
inline constexpr bool reaches_limit =
    !requires { typename std::bool_constant<runs_to_its_end<Source>(cells) && runs_to_its_end<Source>(cells)>; };

#if defined(__clang__)
inline constexpr std::string_view more_steps = "-fconstexpr-steps=1000000000";
#else
inline constexpr std::string_view more_steps = "-fconstexpr-ops-limit=1000000000";
#endif

/// Stands for the graph of a trace that does not run to its end in constant evaluation. To name the cell it traces
/// again, with ever other numbers of cells that are entered, while the results of later ones are made up.
template <class Source>
struct NotConstexpr {
  static constexpr bool ok = false, asks_values = false;
  static constexpr int most_cells = 4096;
  static constexpr Sentence find() {
    Builder b;
    b.entries = Source::entries;
    Sentence s;
    if constexpr (RunsToItsEnd<Source, most_cells>) {  // all of construct: it is the derivative that takes too long
      return s << "network: the derivative takes more steps than this compiler allows: compile with " << more_steps;
    } else if constexpr (RunsToItsEnd<Source, 0>) {
      constexpr int cells = cells_until_failure<Source, 0, most_cells>();
      if constexpr (reaches_limit<Source, cells>)
        return s << "network: " << cells << " cells are as many as this compiler traces: compile with " << more_steps;
      b = Source::trace(cells);
    }
    b.write_skipped(s);
    return s << "::construct cannot run while the program is compiled: write constexpr auto construct(auto x) const, "
                "call constexpr functions only, read constants or an nn::Setting, use no index past the end, print "
                "in if (!std::is_constant_evaluated()), or see the error before this one";
  }
  static constexpr Sentence sentence = find();
};

/// Runs construct once more, as a constant: the compiler then says what stops it, by name and line, and writes this
/// function with the sentence in its template arguments above it.
template <class Net, class... X, FixedString... sentence>
constexpr bool stops_here(mistake<sentence...>*) {
  Builder b;
  b.entries = Structure<Net>::table.entry;
  b.entry_count = Structure<Net>::count;
  static_cast<void>(prototype<Net>.construct(X(&b, b.leaf(&info<ops::Input>, X::dims, 0))...));
  return true;
}
/// Whether a sentence is NotConstexpr's about a construct that can be called.
template <class Net, class... X>
constexpr bool stops(const Sentence& sentence) {
  if constexpr (requires(const Net& net, const X&... x) { net.construct(x...); })
    return sentence.view().find("::construct cannot run while the program is compiled") != std::string_view::npos;
  else return false;
}
/// Whether a call is refused at the user's line: for what stops construct, the compiler's own words come first.
template <class Checked, class Net, class... X>
constexpr bool is_refused() {
  if constexpr (Checked::ok) return false;
  else if constexpr (!CheckedCell<std::remove_const_t<Net>>::ok) return true;
  else return !stops<Net, X...>(Checked::sentence);
}
// This is a class template: with the condition in the alias below, nvcc takes another type for Source.
template <class Source, Passes passes, bool runs = TraceRoom<Source>::value.nodes >= 0>
struct Tried {
  using type = Compiled<Source, passes>;
};
template <class Source, Passes passes>
struct Tried<Source, passes, false> {
  using type = NotConstexpr<Source>;
};
/// The compiled graph of a trace, or NotConstexpr.
template <class Source, Passes passes = Passes{}>
using TriedGraph = typename Tried<Source, passes>::type;

/// The random calls of a graph's trace; none if it could not be traced.
template <class Graph>
constexpr std::span<const Draw> draws_of() {
  if constexpr (Graph::ok) return Graph::draws;
  else return {};
}

/// True for arguments that a graph can take as inputs: tensors, not tuples of them.
template <class... X>
inline constexpr bool have_keys = requires { (sizeof(KeyFor<X>) + ...); };

/// What construct sees of a tensor in a graph.
template <class X>
using SeenInGraph = Traced<typename KeyFor<X>::type::type, typename KeyFor<X>::type::shape>;
/// The same, for an outermost call of what is a network only.
template <class Net, class X, bool outermost>
struct SeenFirst {};
template <class Net, class X>
requires(CheckedCell<Net>::ok)
struct SeenFirst<Net, X, true> {
  using type = SeenInGraph<X>;
};

/// Whether the call of a network on tensors is right, and the sentence if it is not. Errors of a trace are reported by
/// whoever traces.
template <bool on_tensors, class Net, class... X>
struct CheckedNetwork {
  static constexpr bool ok = true;
};
template <class Net, class... X>
requires(!CheckedCell<Net>::ok)
struct CheckedNetwork<true, Net, X...> : CheckedCell<Net> {};
template <class Net, class... X>
requires(CheckedCell<Net>::ok)
struct CheckedNetwork<true, Net, X...> {
  using Graph = TriedGraph<Forward<Net, typename KeyFor<X>::type...>>;
  static constexpr const Sentence& sentence = Graph::sentence;
  static constexpr bool ok = Graph::ok || Graph::asks_values;
};

}  // namespace tenon::detail
