// What a server does: adds the gradients of all workers along the tree over the shards, and updates its parameters.
#pragma once
#include <tenon/dist/server/shard_nodes.hpp>
#include <tenon/train/server/desk.hpp>
#include <tenon/train/server/server_plan.hpp>
#include <tenon/train/shards/shard_steps.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI::detail {

/// The work of a ServerDesk, with the network and the training state of a Model.
template <class Runner>
class ServerWork {
 public:
  using Net = typename Runner::network_type;
  using Request = dist::detail::ServerRequest;

  ServerWork(Runner& runner, Net& net, const ServerPlan& plan, const dist::detail::ServerNode& node, long shards,
             dist::detail::ServerRecords& records)
      : runner_(runner),
        net_(net),
        state_(runner.state()),
        plan_(plan),
        node_(node),
        shards_(shards),
        records_(records),
        layout_(plan.record(server())) {
    sums_.fit({SumLayout<Net>::table.floats, SumLayout<Net>::table.bytes});
  }

  std::string check(const dist::detail::RequestHead& head, std::size_t bytes) const {
    using dist::detail::Ask;
    long right = 0;
    if (head.ask == Ask::begin && head.worker == 0) right = plan_.arena + plan_.state;
    if (head.ask == Ask::finish && head.worker == 0) right = plan_.arena;
    if (head.ask == Ask::push) {
      if (head.batch < 1 || head.numbers < 0 || head.numbers % 8 != 0 || numbers_of(head) > long(bytes))
        return "numbers that cannot be";
      int nodes = 0;
      each_node(head.worker, head.batch, [&](int, int) { ++nodes; });
      right = plan_.head + plan_.flags + nodes * (plan_.sums(server()) + aligned(numbers_of(head)));
    }
    if (long(bytes) == right) return {};
    return text("a body of ", bytes, " bytes, and it must have ", right);
  }

  void begin(std::vector<Request>& all) {
    for (const Request& one : all) compare_runs(all[0].head, one.head);
    const std::byte* from = all[0].body.data();
    const ParameterList parameters(net_);
    std::memcpy(arena(parameters), from, std::size_t(plan_.arena));
    std::memcpy(state_.data(), from + plan_.arena, std::size_t(plan_.state));
    std::vector<std::byte> flags(std::size_t(plan_.flags));
    write_record(all[0].head, flags.data(), true);
  }
  void push(std::vector<Request>& all) {
    for (const Request& one : all) compare_steps(all[0], one);
    const FlushDenormals flush;
    const ParameterList parameters(net_);
    if (ParameterArena* const of = parameters.arena()) of->change();
    const std::byte* const head = all[0].body.data();
    const auto* const flags = reinterpret_cast<const unsigned char*>(head + plan_.head);
    std::memcpy(state_.data(0, std::size_t(plan_.head), Look::overwrite), head, std::size_t(plan_.head));
    add_gradients(all);
    bool reached[Structure<Net>::count]{};
    plan_.each(server(), [&](const ServerEntry& one) {
      const ParameterHandle& handle = parameters.handle(one.entry);
      if (const bool wants = flags[one.entry] & wants_gradient; wants != handle.requires_grad())
        handle.requires_grad(wants);
      reached[one.entry] = flags[one.entry] & has_gradient;
    });
    steps_.update(runner_, parameters, reached, sums_.block());
    write_record(all[0].head, head + plan_.head, false);
    add_numbers(all);
    records_.commit();
  }
  void finish(std::vector<Request>& all) {
    std::memcpy(arena(ParameterList(net_)), all[0].body.data(), std::size_t(plan_.arena));
    state_.random()[1] = std::uint64_t(all[0].head.step);
  }
  /// After a restart: what the record of the server before has.
  void load() {
    const std::byte* from = records_.last().data() + layout_.moments;
    each_moment([&](std::byte* to, long bytes) { take_bytes(to, from, bytes); });
    from = records_.last().data() + layout_.weights;
    each_weight([&](std::byte* to, long bytes) { take_bytes(to, from, bytes); });
  }

 private:
  // Losses and moving statistics go to server 0 alone.
  long numbers_of(const dist::detail::RequestHead& head) const { return server() == 0 ? head.numbers : 0; }
  int server() const { return node_.rank(); }
  int workers() const { return node_.environment.workers; }
  static std::byte* arena(const ParameterList& parameters) {
    ParameterArena* const of = parameters.arena();
    of->change();
    return home(of->data, std::size_t(of->bytes), Look::change);
  }
  template <class F>
  void each_moment(F f) {
    plan_.each(server(), [&](const ServerEntry& one) {
      for (int s = 0; s < one.slots; ++s)
        f(state_.data(one.slot_offset[s], std::size_t(one.slot[s]), Look::change), one.slot[s]);
    });
  }
  template <class F>
  void each_weight(F f) {
    const ParameterList parameters(net_);
    plan_.each(server(),
               [&](const ServerEntry& one) { f(parameters.handle(one.entry).values_at(one.weights), one.weights); });
  }
  template <class F>
  void each_node(int worker, long batch, F f) const {
    const dist::ShardRange own = dist::part_of(shards_, workers(), worker);
    dist::each_node_within(int(own.begin), int(own.end), int(std::min(shards_, batch)), f);
  }

  static void compare_runs(const dist::detail::RequestHead& a, const dist::detail::RequestHead& b) {
    const auto compare = [&](const char* what, auto first, auto other) {
      if (first != other)
        throw_error<RuntimeError>("worker 0 has ", first, " ", what, ", worker ", b.worker, " has ", other,
                                  ": give all workers the same data set, seed, and checkpoint.");
    };
    compare("batches per epoch", a.batches, b.batches);
    compare("epochs", a.epochs, b.epochs);
    if (a.weights != b.weights)
      throw_error<RuntimeError>("worker ", b.worker,
                                " has other weights than worker 0: give all workers the same seed "
                                "and checkpoint.");
  }
  void compare_steps(const Request& a, const Request& b) const {
    const auto refuse = [&](const char* what) {
      throw_error<RuntimeError>("in step ", a.head.step, " worker ", b.head.worker, " has ", what,
                                " than worker 0: "
                                "give all workers the same data set, seed, and callbacks.");
    };
    if (a.head.batch != b.head.batch || a.head.samples != b.head.samples || a.head.numbers != b.head.numbers)
      refuse("other samples");
    if (std::memcmp(a.body.data() + alignment, b.body.data() + alignment, std::size_t(plan_.head - alignment)) != 0)
      refuse("other learning rates");
    if (std::memcmp(a.body.data() + plan_.head, b.body.data() + plan_.head, std::size_t(plan_.flags)) != 0)
      refuse("other parameters that are trained");
  }

  // Calls f(first, leaves, gradients) for each node of each worker.
  template <class F>
  void each_part(const std::vector<Request>& all, F f) const {
    for (const Request& one : all) {
      const std::byte* from = one.body.data() + plan_.head + plan_.flags;
      each_node(one.head.worker, one.head.batch, [&](int first, int leaves) {
        f(first, leaves, from);
        from += plan_.sums(server()) + aligned(numbers_of(one.head));
      });
    }
  }
  struct Part {
    int first, leaves;
    const std::byte* data;
  };
  template <class S>
  void add(const std::vector<Part>& parts, long batch, long offset, std::byte* to, long bytes) const {
    dist::sum_nodes<S>(
        int(std::min(shards_, batch)),
        [&](int first, int leaves) -> const S* {
          for (const Part& part : parts)
            if (part.first == first && part.leaves == leaves) return reinterpret_cast<const S*>(part.data + offset);
          return nullptr;
        },
        std::span(reinterpret_cast<S*>(to), std::size_t(bytes) / sizeof(S)));
  }
  std::vector<Part> parts_of(const std::vector<Request>& all) const {
    std::vector<Part> parts;
    each_part(all, [&](int first, int leaves, const std::byte* data) { parts.push_back({first, leaves, data}); });
    return parts;
  }
  void add_gradients(const std::vector<Request>& all) {
    const std::vector<Part> parts = parts_of(all);
    std::byte* const block = sums_.values() - dist::detail::ShardNodes::header;
    long offset = 0;
    plan_.each(server(), [&](const ServerEntry& one) {
      if (one.wide) add<double>(parts, all[0].head.batch, offset, block + one.sum_offset, one.sum);
      else add<float>(parts, all[0].head.batch, offset, block + one.sum_offset, one.sum);
      offset += aligned(one.sum);
    });
  }
  // What comes last in the record: losses, and moving statistics.
  void add_numbers(const std::vector<Request>& all) {
    std::vector<std::byte>& record = records_.next();
    const long bytes = numbers_of(all[0].head);
    record.resize(std::size_t(layout_.fixed + bytes));
    add<double>(parts_of(all), all[0].head.batch, plan_.sums(server()), record.data() + layout_.fixed, bytes);
  }
  void write_record(const dist::detail::RequestHead& request, const std::byte* flags, bool is_first) {
    std::vector<std::byte>& record = records_.next();
    dist::detail::RecordHead head;
    head.step = request.step, head.place = request.place, head.batch = request.batch, head.is_first = is_first;
    head.numbers = is_first ? 0 : numbers_of(request);
    std::copy(std::begin(request.scale), std::end(request.scale), head.scale);
    record.clear();
    append_bytes(record, &head, sizeof head);
    const auto append = [&](const std::byte* from, long bytes) { append_bytes(record, from, bytes); };
    each_moment(append);
    append(state_.data(0, std::size_t(plan_.head), Look::read), plan_.head);
    append(flags, plan_.flags);
    each_weight(append);
    if (is_first) records_.commit();
  }

  Runner& runner_;
  Net& net_;
  TrainState& state_;
  const ServerPlan& plan_;
  const dist::detail::ServerNode& node_;
  const long shards_;
  dist::detail::ServerRecords& records_;
  const dist::detail::RecordLayout layout_;
  dist::detail::ShardNodes sums_;
  ShardSteps steps_;
};

}  // namespace tenon::detail
TENON_INT_SIZES_END
