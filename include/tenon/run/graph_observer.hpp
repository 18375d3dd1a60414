// Tells the observers of a thread what a compiled graph does.
#pragma once
#include <tenon/core/math/min_max.hpp>
#include <tenon/core/memory/storage.hpp>
#include <tenon/graph/observe/observer.hpp>
#include <tenon/lowering/program.hpp>
#if TENON_DEFINES && defined(TENON_OBSERVE)
#include <tenon/core/thread/threads.hpp>
#include <tenon/graph/observe/word_map.hpp>
#endif

namespace tenon::inline TENON_ABI {

/// What Executor::run calls around each kernel. The default sees nothing and costs nothing.
struct NoPolicy {
  void before(const Node&, const Arguments&) const {}
  void after(const Node&, const Arguments&) const {}
};
/// Whether nobody looks at values. If nobody does, kernels run several instructions and tiles at once.
template <class Policy>
inline constexpr bool is_unseen = std::is_same_v<Policy, NoPolicy>;

namespace detail {

/// The operations of a program by node, made at the first look at one. They live as long as the program.
const Operation* operations_of(const Program& program);

/// What a body is of the node that runs it: "then" or "else" of a condition, "condition" or "turn" of a loop.
struct BodyPart {
  const char* name = nullptr;
  long turn = -1;
};
/// The name of the operation that this thread computes; names of what its bodies compute begin with it.
inline std::string_view& operation_around() {
  static constinit thread_local std::string_view name;
  return name;
}

/// A policy of Executor::run.
class GraphObserver {
 public:
  /// `parameters` is the base address of the parameters: what a kernel keeps of them is in an order of its own. `part`:
  /// of the program of a body.
  GraphObserver(Observation& innermost, const Program& program, std::byte* parameters, long n, BodyPart part = {})
      : innermost_(innermost),
        program_(program),
        operations_(operations_of(program)),
        parameters_(parameters),
        n_(n),
        part_(part),
        around_(operation_around()) {}
  ~GraphObserver() { operation_around() = around_; }
  GraphObserver(const GraphObserver&) = delete;
  GraphObserver& operator=(const GraphObserver&) = delete;
  void before(const Node& node, const Arguments& a) const {
    const Operation now = operation(node, a);
    operation_around() = now.name;
    tell_before(innermost_, now);
  }
  void after(const Node& node, const Arguments& a) const;
  /// Null if before() and after() are to be called for each tile: where an observer takes no runs (Observer).
  ObserverClock clock() const { return innermost_.clock; }
  void ran(const Node& node, std::span<const OperationRun> runs) const {
    Operation operation = operations_[&node - program_.node];
    operation.n = n_;
    tell_ran(innermost_, operation, runs);
  }

 private:
  Operation operation(const Node& node, const Arguments& a) const {
    Operation operation = operations_[&node - program_.node];
    operation.n = a.n;
    if (part_.name) operation.name = name_in_body(operation.name);
    return operation;
  }
  std::string_view name_in_body(std::string_view name) const;
  AnyTensor rows(const Node& node, void* data, long n, Storage& copy) const;

  Observation& innermost_;
  const Program& program_;
  const Operation* operations_;
  std::byte* parameters_;
  long n_;
  BodyPart part_;
  std::string_view around_;  // the operation whose body this is
};

/// An image of NCHW16n as rows.
Storage copy_as_rows(const float* blocks, long n, long features);

#if TENON_DEFINES && defined(TENON_OBSERVE)
// Different nodes of one name, as passes make them, get numbers that are free.
inline std::string_view unique_name(const Program& program, const Node& node, WordMap& taken) {
  for (Origin origin = node.origin;; ++origin.number)
    if (const std::string_view name = operation_name(program.entries, node.scope, origin, node.op->name);
        taken[{{address_word(name.data())}}]++ == 0)  // equal names are one text
      return name;
}
[[gnu::noinline]] inline const Operation* name_operations(const Program& program) {
  auto* const made = new Operation[std::size_t(program.nodes)];
  WordMap taken;
  for (int id = 0; id < program.nodes; ++id) {
    const Node& node = program.node[id];
    if (node.op->leaf || node.op->view || node.op->part) continue;
    Operation& operation = made[id];
    operation.name = unique_name(program, node, taken);
    operation.type = node.op->name;
    operation.part = part_of(program.entries, node.scope, node.origin);
    operation.location = node.location;
    operation.operands.count = node.operands;
    for (int k = 0; k < node.operands; ++k) operation.operands.type[k] = program.node[node.operand[k]].type;
    operation.result = node.op->effect ? program.node[node.operand[0]].type : node.type;
    operation.op = node.op;
    operation.attributes = node.attributes;
    operation.steps = node.steps;
  }
  return made;
}
[[gnu::noinline]] TENON_INLINE const Operation* operations_of(const Program& program) {
  static Mutex mutex;
  // with and without the classes of cells in the names
  static WordMap* const all = new WordMap;
  const Lock lock(mutex);
  std::uint64_t& operations = (*all)[{{address_word(&program), get_context().reserve_class_name_in_scope}}];
  if (!operations) operations = address_word(name_operations(program));
  return reinterpret_cast<const Operation*>(operations);
}
// An observer that takes no values, as the profiler, adds up the times of all turns: they have one name.
[[gnu::noinline]] TENON_INLINE std::string_view GraphObserver::name_in_body(std::string_view name) const {
  constexpr std::string_view network = "Default/";
  if (const std::size_t at = name.find(network); at != name.npos) name.remove_prefix(at + network.size());
  std::string text(around_);
  text += '/';
  text += part_.name;
  if (part_.turn >= 0 && innermost_.takes_values) text += std::to_string(part_.turn);
  text += '/';
  return interned((text += name));
}
TENON_INLINE void GraphObserver::after(const Node& node, const Arguments& a) const {
  operation_around() = around_;
  const Operation now = operation(node, a);
  if (!innermost_.takes_values) return tell_after(innermost_, now);
  Storage copy[max_operands + max_results];
  AnyTensor operand[max_operands], result[max_results];
  std::size_t results = 1;
  result[0] = node.op->effect
                  ? rows(program_.node[node.operand[0]], a.buffer[Arguments::operand_at(0)], a.n, copy[max_operands])
                  : rows(node, a.buffer[Arguments::result_at], a.n, copy[max_operands]);
  each_part(program_.node, int(&node - program_.node), [&](int id, int k) {
    if (k >= node.op->returns) return;
    result[k] = rows(program_.node[id], a.buffer[Arguments::further_at(node.operands, k)], a.n, copy[max_operands + k]);
    results = math::max(results, std::size_t(k) + 1);
  });
  for (int k = 0; k < node.operands; ++k)
    operand[k] = rows(program_.node[node.operand[k]], a.buffer[Arguments::operand_at(k)], a.n, copy[k]);
  tell_after(innermost_, now, {operand, std::size_t(node.operands)}, {result, results});
}
TENON_INLINE AnyTensor GraphObserver::rows(const Node& node, void* data, long n, Storage& copy) const {
  const BufferPlace& place = program_.place[&node - program_.node];
  if (place.region == Region::parameters) data = parameters_ + place.offset;
  const long samples = program_.nchw16n && in_nchw16n(n) ? whole_blocks(n) : n;
  auto* const here = home(static_cast<std::byte*>(data), std::size_t(node.type.bytes(samples)), Look::read);
  if (!in_nchw16n(program_.instruction->by_tile ? n : n_) || !program_.in_blocks[&node - program_.node] ||
      !is_image(node.type))
    return AnyTensor(node.type, n, here);
  copy = copy_as_rows(reinterpret_cast<const float*>(here), n, node.type.count(1));
  return AnyTensor(node.type, n, copy.data());
}
[[gnu::noinline]] TENON_INLINE Storage copy_as_rows(const float* blocks, long n, long features) {
  Storage made(std::size_t(n * features) * sizeof(float));
  auto* const row = reinterpret_cast<float*>(made.data());
  for (long s = 0; s < n; ++s)
    for (long f = 0; f < features; ++f) row[s * features + f] = blocks[nchw16n_place(s, f, features)];
  return made;
}
#endif

}  // namespace detail

}  // namespace tenon
