// Dump: shows the operands and results of operators to a writer while networks run.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/debug/dump/dump_selection.hpp>
#include <tenon/debug/dump/dumped_tensor.hpp>
#include <tenon/debug/dump/kernel_list.hpp>
#include <tenon/debug/dump/marked_cells.hpp>
#include <tenon/debug/dump/mindspore_names.hpp>
#include <tenon/debug/overflow_check.hpp>

namespace tenon::inline TENON_ABI::debug {

/// A step of a network that is dumped.
struct DumpedStep {
  std::string_view network;  // its class: "LeNet"
  StepKind kind = StepKind::call;
  int graph = 0;       // a Model's steps of one kind are a graph; numbers ascend in the order in which graphs begin
  long iteration = 0;  // of the graph; the first one has the number of Iterations::first()
};

namespace detail {
// What open returns. Not a requirement within another one, at which nvcc fails with an internal error.
template <class W>
using FileOf = decltype(std::declval<W&>().open(std::declval<const DumpedStep&>()));
}  // namespace detail

/// A class that stores the tensors of a dump. `open` returns the state of one step, its file: a value of any type that
/// can be moved:
///
///     File open(const DumpedStep&);
///     void write(File&, const DumpedTensor&, const AnyTensor&);   in the order of execution
///     void close(File&);                                          at the end of the step
///
/// and optionally
///
///     void pass(File&, const Operation&, std::string_view name);  told of each operator of the step, dumped or not
///     bool done() const;                                          true: it takes nothing more
///     void finish();                                              waits until everything is where it belongs
///
/// An exception ends the dump with one warning; the program continues. Threads that run steps at the same time call a
/// writer at the same time, each with a separate file.
template <class W>
concept DumpWriter = std::movable<detail::FileOf<W>> &&
                     requires(W& w, detail::FileOf<W>& file, const DumpedTensor& what, const AnyTensor& tensor) {
                       w.write(file, what, tensor);
                       w.close(file);
                     };

namespace detail {
/// Where the compiler is not to explain a concept.
template <class W>
inline constexpr bool is_dump_writer = DumpWriter<W>;
struct NoFile {};
template <class W>
struct FileOfWriter {
  using type = NoFile;
};
template <DumpWriter W>
struct FileOfWriter<W> {
  using type = FileOf<W>;
};
}  // namespace detail

/// A watcher that passes the selected tensors to a writer:
///
///     debug::Dump dump(debug::NpyDump{"values"}, {.mode = debug::DumpMode::kernels, .kernels = {"Conv2D"}});
///     const Watching scope(dump);
///     model.train(1, data);
///
/// Writers are MindSporeDump, NpyDump, StatisticDump, and custom classes (docs/dump.md). MINDSPORE_DUMP_CONFIG and
/// enable_dump write MindSpore's files without a line in the program (debug/dump.hpp).
///
/// Graph mode runs dumped steps operator by operator, with bit-identical results: both modes dump the tensors of the
/// source. If an operator changes an operand in place, as optimizers do, the dumped operand has the new value, because
/// observers see the memory after an operator. Each Model has a graph number for each kind of step, in the order of
/// their first steps; the iteration is the Model's count of steps of this kind, so a resumed training continues
/// counting. Parameters follow the operators of a step, unless operators were selected.
///
/// A step that runs inside another step, for example when an observer predicts with another network, is dumped
/// separately.
template <class Writer>
class Dump {
  static_assert(detail::is_dump_writer<Writer>,
                "a writer of a dump needs File open(const DumpedStep&), void write(File&, const DumpedTensor&, const "
                "AnyTensor&), and void close(File&), where File is what open returns: docs/dump.md");

 public:
  static constexpr bool every_value = true, every_view = true;
  using File = typename detail::FileOfWriter<Writer>::type;

  explicit Dump(Writer writer, DumpSelection what = {})
      : what_(std::move(what)), kernels_(what_.kernels), writer_(std::move(writer)) {}
  Dump(const Dump&) = delete;
  Dump& operator=(const Dump&) = delete;
  /// Waits for the writer. Lists the names among `kernels` that no operator has.
  ~Dump();

  const DumpSelection& selection() const { return what_; }
  Writer& writer() { return writer_; }
  const Writer& writer() const { return writer_; }
  /// Waits until everything that was dumped is stored.
  void finish() {
    if constexpr (requires { writer_.finish(); }) attempt([&] { writer_.finish(); });
  }

  bool begin_step(const NetworkStep& step);
  void end_step(const NetworkStep& step);
  void before(const Operation&) {
    if (Step* const step = step_of_thread()) step->told = nullptr;
  }
  void after(const Operation& operation, std::span<const AnyTensor> operands, std::span<const AnyTensor> results);

 private:
  struct Graph {
    int id = 0;
    std::set<long> begun;
  };
  /// A step that a thread is in.
  struct Step {
    const Dump* dump;
    std::optional<File> file{};  // none if the step is not dumped
    std::string where{};
    std::vector<std::string> scopes{};          // of marked cells
    std::optional<MindSporeNames> mindspore{};  // none: Tenon's names
    const Operation* told = nullptr;            // what was told of after the last beginning of an operation
  };
  static std::vector<Step>& steps_of_thread() {
    static thread_local std::vector<Step> steps;
    return steps;
  }
  Step* step_of_thread() const {
    std::vector<Step>& steps = steps_of_thread();
    return !steps.empty() && steps.back().dump == this && steps.back().file ? &steps.back() : nullptr;
  }

  bool is_for_this_device();
  const Graph* graph_of(const NetworkStep& step, long iteration);
  void start(Step& made, const NetworkStep& step);
  bool wants(const Step& step, const Operation& operation, const OperatorName& name) const;
  void write(File& file, DumpedTensor what, const AnyTensor& tensor);
  void write_parameters(File& file, const NetworkParts& parts);
  std::int64_t next_time();
  bool is_done() const {
    if constexpr (requires { writer_.done(); }) return failed_.load(std::memory_order_acquire) || writer_.done();
    else return failed_.load(std::memory_order_acquire);
  }
  template <class Act>
  [[gnu::cold]] void attempt(Act act) {
    try {
      act();
    } catch (const std::exception& e) {
      if (!failed_.exchange(true)) logging::warning("The dump ends here, the program goes on without it: ", e.what());
    }
  }

  const DumpSelection what_;
  KernelList kernels_;
  Writer writer_;
  std::mutex mutex_;
  std::map<std::pair<const void*, StepKind>, const Graph*> current_;
  std::vector<std::unique_ptr<Graph>> graphs_;
  bool device_told_ = false;
  std::atomic<bool> failed_{false}, overflow_told_{false};
  std::atomic<std::int64_t> time_{0};
};

template <class Writer>
Dump<Writer>::~Dump() {
  finish();
  if (what_.mode != DumpMode::kernels || graphs_.empty()) return;
  if (const std::vector<std::string> unused = kernels_.unused(); !unused.empty()) {
    std::string hint;
    if constexpr (requires { writer_.names_hint(); }) hint = writer_.names_hint();
    logging::warning("[DataDump] Unused Kernel in json: ", quoted_list(unused), ".", kernels_.near_unused(), hint,
                     MindSporeNames::hint(unused, what_.names));
  }
}

template <class Writer>
std::int64_t Dump<Writer>::next_time() {
  using namespace std::chrono;
  const std::int64_t now = duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
  std::int64_t before = time_.load(std::memory_order_relaxed), next = 0;
  do next = std::max(now, before + 1);
  while (!time_.compare_exchange_weak(before, next, std::memory_order_relaxed));
  return next;
}
template <class Writer>
[[gnu::cold]] bool Dump<Writer>::is_for_this_device() {
  const long device = get_context().device_id;
  if (std::find(what_.devices.begin(), what_.devices.end(), device) != what_.devices.end()) return true;
  if (!std::exchange(device_told_, true))
    logging::warning("Dump: this is device ", device, ", which support_device does not name: nothing is dumped.");
  return false;
}
/// Null if the iteration is not to be dumped. If a step with this number was dumped already, it belongs to another
/// network at the same place, or to a network that was reset: the step gets a new number.
template <class Writer>
[[gnu::cold]] auto Dump<Writer>::graph_of(const NetworkStep& step, long iteration) -> const Graph* {
  const std::lock_guard lock(mutex_);
  if (!is_for_this_device()) return nullptr;
  const Graph*& graph = current_[{step.owner, step.kind}];
  if (!graph || graph->begun.contains(iteration)) {
    graphs_.push_back(std::make_unique<Graph>());
    graphs_.back()->id = int(graphs_.size()) - 1;
    graph = graphs_.back().get();
  }
  if (!what_.iterations.contains(iteration)) return nullptr;
  graphs_[std::size_t(graph->id)]->begun.insert(iteration);
  return graph;
}

// One that is not dumped has its place, too: its end is told, and what runs in it is no part of the step around it.
template <class Writer>
[[gnu::cold]] bool Dump<Writer>::begin_step(const NetworkStep& step) {
  Step made{this};
  if (!is_done()) attempt([&] { start(made, step); });
  steps_of_thread().push_back(std::move(made));
  return steps_of_thread().back().file.has_value();
}
template <class Writer>
[[gnu::cold]] void Dump<Writer>::start(Step& made, const NetworkStep& step) {
  const long iteration = step.number + what_.iterations.first();
  const Graph* const graph = graph_of(step, iteration);
  if (!graph) return;
  made.where = text("Overflow in step ", iteration, " (", name(step.kind), ") of ", step.network, ": ");
  if (what_.mode == DumpMode::cells) made.scopes = marked_scopes(step.parts);
  if (what_.names == DumpNames::mindspore) made.mindspore.emplace(step);
  if constexpr (DumpWriter<Writer>)
    made.file.emplace(writer_.open(DumpedStep{step.network, step.kind, graph->id, iteration}));
  if (is_done()) made.file.reset();
}
template <class Writer>
[[gnu::cold]] void Dump<Writer>::end_step(const NetworkStep& step) {
  std::vector<Step>& steps = steps_of_thread();
  if (steps.empty() || steps.back().dump != this) return;
  Step done = std::move(steps.back());
  steps.pop_back();
  if (!done.file) return;
  const bool whole = what_.mode == DumpMode::all && !what_.only_overflow;
  attempt([&] {
    if (whole && what_.slots != DumpedSlots::inputs) write_parameters(*done.file, step.parts);
    if constexpr (DumpWriter<Writer>) writer_.close(*done.file);
  });
}

template <class Writer>
bool Dump<Writer>::wants(const Step& step, const Operation& operation, const OperatorName& name) const {
  if (what_.mode == DumpMode::all) return true;
  if (what_.mode == DumpMode::kernels) return kernels_.contains(name.name, name.type);
  for (const std::string& scope : step.scopes)
    if (operation.name.find(scope) != std::string_view::npos) return true;
  return false;
}
template <class Writer>
void Dump<Writer>::after(const Operation& operation, std::span<const AnyTensor> operands,
                         std::span<const AnyTensor> results) {
  Step* const step = step_of_thread();
  if (!step || is_done()) return;
  if (operation.op->view && !step->mindspore) return;  // MindSpore dumps Flatten and Reshape
  // in a step inside another one, both of which observe, each operation is told twice
  if (std::exchange(step->told, &operation) == &operation) return;
  attempt([&] {
    const OperatorName name =
        step->mindspore ? step->mindspore->of(operation) : OperatorName{operation.type, operation.name};
    if constexpr (requires(File& file) { writer_.pass(file, operation, name.name); })
      writer_.pass(*step->file, operation, name.name);
    if (!wants(*step, operation, name)) return;
    if (what_.only_overflow) {
      const auto bad = std::ranges::find_if(results, [](const AnyTensor& result) { return bool(NotFinite(result)); });
      if (bad == results.end()) return;
      if (!overflow_told_.exchange(true))
        logging::warning(overflow_sentence(step->where, operation, NotFinite(*bad), operands, *bad));
    }
    if (what_.slots != DumpedSlots::outputs || what_.only_overflow)
      for (std::size_t k = 0; k < operands.size(); ++k)
        write(*step->file, {name.type, name.name, false, int(k), 0}, operands[k]);
    if (what_.slots != DumpedSlots::inputs || what_.only_overflow)
      for (std::size_t k = 0; k < results.size(); ++k)
        write(*step->file, {name.type, name.name, true, int(k), 0}, results[k]);
  });
}
template <class Writer>
void Dump<Writer>::write(File& file, DumpedTensor what, const AnyTensor& tensor) {
  if (!tensor.data && tensor.bytes() > 0) return;  // it was never given any elements
  what.time = next_time();
  if constexpr (DumpWriter<Writer>) writer_.write(file, what, tensor);
}
template <class Writer>
[[gnu::cold]] void Dump<Writer>::write_parameters(File& file, const NetworkParts& parts) {
  for (int i = 0; i < parts.count; ++i) {
    if (!parts.entry[i].parameter) continue;
    const std::string name = parameter_name(parts.entry, i);
    write(file, {"Parameter", name, true, 0, 0}, parts.values(i));
  }
}

}  // namespace tenon::debug
