// What a tape holds, handed on from one tape of a thread to the next, so that a new tape allocates nothing.
#pragma once
#include <vector>

#include <tenon/core/memory/arena.hpp>
#include <tenon/core/memory/growing.hpp>
#include <tenon/core/memory/owned.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/ir/post_order.hpp>
#include <tenon/graph/observe/recorded_at.hpp>
#include <tenon/run/rule.hpp>

namespace tenon::inline TENON_ABI::eager {

class Recomputation;  // call/recomputation.hpp

struct TapeMemory {
  /// An operand, result, or gradient: parameters have no storage of their own.
  struct Value {
    void* data = nullptr;
    Storage storage;
    int variable = -1;
  };
  struct Record {
    const Rule* rule;
    std::size_t first;  // of its values: operands, result
    std::uint64_t immediate;
    long n;
    [[no_unique_address]] std::conditional_t<observable, RecordedAt, NoConfig> at{};

    template <class Place = decltype(at)>
    void keep_place() {
      if constexpr (observable)
        if (const RecordedAt* const now = recording_at()) at = Place(*now);
    }
  };
  struct Variable {
    Value gradient;
    int record = -1;
  };
  /// The variable of a parameter of a second network in one tape.
  struct Foreign {
    const void* parameter;
    TapeVariable variable;
  };

  tenon::detail::Growing<Record> records;
  tenon::detail::Growing<Value> recorded;  // values of all records
  tenon::detail::Growing<Variable> variables;
  std::vector<int> parameter_variable;  // of each entry of the tape's arena
  tenon::detail::Growing<Foreign> foreign;
  tenon::detail::Growing<ParameterArena*> kept;
  tenon::detail::Growing<Value> values;  // computed by the rule that is being replayed
  PostOrder order;
  // of a tape with calls that are run again for the backward pass: brings the values of a record back; -1: ends it
  void (*bring_back)(TapeMemory&, int record) = nullptr;
  Recomputation* recomputation = nullptr;

  TapeMemory() = default;
  /// A function of its own: a program has three places that end one, of which g++ may inline it into each.
  [[gnu::cold, gnu::noinline]] ~TapeMemory() = default;

  void clear() {
    if (bring_back) bring_back(*this, -1);
    records.clear();
    recorded.clear();
    variables.clear();
    parameter_variable.clear();
    foreign.clear();
  }

  /// The memory that the last tape of this thread has left, or new one.
  static tenon::detail::Owned<TapeMemory> take() {
    tenon::detail::Owned<TapeMemory> memory;
    if (!Spare::gone) memory = std::move(spare().memory);
    if (!memory) memory = tenon::detail::Owned<TapeMemory>(new TapeMemory);
    return memory;
  }
  static void give_back(tenon::detail::Owned<TapeMemory> memory) {
    memory->clear();
    if (!Spare::gone) spare().memory = std::move(memory);
  }

 private:
  struct Spare {
    static inline thread_local bool gone = false;  // a static tape may end after this thread's spare
    tenon::detail::Owned<TapeMemory> memory;
    ~Spare() { gone = true; }
  };
  static Spare& spare() {
    thread_local Spare spare;
    return spare;
  }
};

}  // namespace tenon::eager
