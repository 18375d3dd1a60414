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

  std::string check(const dist::detail::RequestHead& head, std::span<const std::byte> body) const {
    using dist::detail::Ask;
    if (head.ask == Ask::push) return parts_of(head, body, nullptr);
    long right = 0;
    if (head.ask == Ask::begin && head.worker == 0) right = plan_.arena + plan_.state;
    if (head.ask == Ask::finish && head.worker == 0) right = plan_.arena;
    if (long(body.size()) == right) return {};
    return text("a body of ", body.size(), " bytes, and it must have ", right);
  }

  void begin(std::vector<Request>& all) {
    for (const Request& one : all) compare_runs(all[0].head, one.head);
    const std::byte* from = all[0].body.data();
    const ParameterList parameters(net_);
    std::memcpy(arena(parameters), from, std::size_t(plan_.arena));
    std::memcpy(state_.data(), from + plan_.arena, std::size_t(plan_.state));
    std::vector<std::byte> flags(std::size_t(plan_.flags));
    write_record(all[0].head, flags.data(), {}, true);
  }
  void push(std::vector<Request>& all) {
    for (const Request& one : all) compare_steps(all[0], one);
    const FlushDenormals flush;
    const ParameterList parameters(net_);
    if (ParameterArena* const of = parameters.arena()) of->change();
    const std::byte* const head = all[0].body.data();
    const auto* const flags = reinterpret_cast<const unsigned char*>(head + plan_.head);
    std::memcpy(state_.data(0, std::size_t(plan_.head), Look::overwrite), head, std::size_t(plan_.head));
    std::vector<Part> parts;
    for (const Request& one : all) parts_of(one.head, one.body, &parts);
    const int leaves = int(std::min(shards_, all[0].head.batch));
    add_gradients(parts, leaves);
    bool reached[Structure<Net>::count]{};
    plan_.each(server(), [&](const ServerEntry& one) {
      const ParameterHandle& handle = parameters.handle(one.entry);
      if (const bool wants = flags[one.entry] & wants_gradient; wants != handle.requires_grad())
        handle.requires_grad(wants);
      reached[one.entry] = flags[one.entry] & has_gradient;
    });
    steps_.update(runner_, parameters, reached, sums_.block());
    write_record(all[0].head, head + plan_.head, sum_of_numbers(parts, leaves, numbers_of(all[0].head)), false);
    make_changes();
  }
  /// What workers get of the last step, or of the one before: the head of the training state, weights, or those rows of
  /// tables that the step has changed, and numbers.
  std::span<const std::byte> changes(std::int64_t step) {
    if (step != dist::detail::ServerRecords::head_of(records_.last()).step) {
      write_changes(old_changes_, records_.before(), nullptr);
      return old_changes_;
    }
    if (step != changes_of_) make_changes();
    return changes_;
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
    if (std::memcmp(a.body.data(), b.body.data(), sizeof(std::uint64_t)) != 0) refuse("another seed of random numbers");
    if (std::memcmp(a.body.data() + loss_scale_state, b.body.data() + loss_scale_state, sizeof(float)) != 0)
      refuse("another loss scale");
    if (std::memcmp(a.body.data() + alignment, b.body.data() + alignment, std::size_t(plan_.head - alignment)) != 0)
      refuse("other numbers of the optimizer");
    if (std::memcmp(a.body.data() + plan_.head, b.body.data() + plan_.head, std::size_t(plan_.flags)) != 0)
      refuse("other parameters that are trained");
    if (a.head.settings != b.head.settings) refuse("other settings of cells");
  }

  // The sums of a node of the tree: those of tensors, and the numbers.
  struct Part {
    int first, leaves;
    std::vector<const std::byte*> tensor;
    const std::byte* numbers;
  };
  // Appends the nodes of a worker, or only looks whether they are right: returns what is wrong.
  std::string parts_of(const dist::detail::RequestHead& head, std::span<const std::byte> body,
                       std::vector<Part>* parts) const {
    const long begin = plan_.head + plan_.flags, size = long(body.size());
    if (head.batch < 1 || head.batch > most_batch || head.numbers < 0 || head.numbers % 8 != 0 || size < begin ||
        numbers_of(head) > size)
      return "numbers that cannot be";
    long done = begin;
    each_node(head.worker, head.batch, [&](int first, int leaves) {
      if (done < 0) return;
      Part part{first, leaves, {}, nullptr};
      const long bytes = read_tensors(plan_, server(), true, body.subspan(std::size_t(done)),
                                      [&](const ServerEntry&, const std::byte* at) { part.tensor.push_back(at); });
      part.numbers = body.data() + done + bytes;
      done =
          bytes < 0 || size - done - bytes < aligned(numbers_of(head)) ? -1 : done + bytes + aligned(numbers_of(head));
      if (parts && done >= 0) parts->push_back(std::move(part));
    });
    if (done == size) return {};
    return text("a body of ", size, " bytes that are not its gradients");
  }
  // sum = that over the tree, of which find(part) has a part's numbers.
  template <class S, class Find>
  static void add(const std::vector<Part>& parts, int leaves, std::byte* to, long bytes, Find find) {
    dist::sum_nodes<S>(
        leaves,
        [&](int first, int of) -> const S* {
          for (const Part& part : parts)
            if (part.first == first && part.leaves == of) return reinterpret_cast<const S*>(find(part));
          return nullptr;
        },
        std::span(reinterpret_cast<S*>(to), std::size_t(bytes) / sizeof(S)));
  }
  void add_gradients(const std::vector<Part>& parts, int leaves) {
    std::byte* const block = sums_.values() - dist::detail::ShardNodes::header;
    std::size_t tensor = 0;
    plan_.each(server(), [&](const ServerEntry& one) {
      const auto find = [tensor](const Part& part) { return part.tensor[tensor]; };
      std::byte* const sum = block + one.sum_offset;
      if (one.rows) add_rows(parts, leaves, one, tensor, sum);
      else if (one.wide) add<double>(parts, leaves, sum, one.sum, find);
      else add<float>(parts, leaves, sum, one.sum, find);
      ++tensor;
    });
  }
  // A row that a part does not have counts as zeros.
  void add_rows(const std::vector<Part>& parts, int leaves, const ServerEntry& one, std::size_t tensor,
                std::byte* sum) {
    const ServerRows rows = plan_.gradient_rows(one);
    std::memset(sum, 0, std::size_t(one.sum));
    const std::vector<float> zeros(std::size_t(rows.bytes) / sizeof(float));
    std::vector<bool> is_done(std::size_t(one.rows));
    for (const Part& part : parts)
      rows.each(part.tensor[tensor], [&](long number, const std::byte*) {
        if (is_done[std::size_t(number)]) return;
        is_done[std::size_t(number)] = true;
        add<float>(parts, leaves, sum + number * rows.bytes, rows.bytes, [&](const Part& of) {
          const std::byte* const row = rows.find(of.tensor[tensor], number);
          return row ? row : reinterpret_cast<const std::byte*>(zeros.data());
        });
      });
  }
  // What comes last in the record: losses, and moving statistics.
  static std::vector<double> sum_of_numbers(const std::vector<Part>& parts, int leaves, long bytes) {
    std::vector<double> numbers(std::size_t(bytes) / sizeof(double));
    add<double>(parts, leaves, reinterpret_cast<std::byte*>(numbers.data()), bytes,
                [](const Part& part) { return part.numbers; });
    return numbers;
  }
  void make_changes() {
    changes_of_ = dist::detail::ServerRecords::head_of(records_.last()).step;
    write_changes(changes_, records_.last(), records_.has_before() ? records_.before().data() : nullptr);
  }
  void write_changes(std::vector<std::byte>& to, const std::vector<std::byte>& record, const std::byte* before) const {
    to.assign(record.begin() + layout_.state, record.begin() + layout_.weights);
    long at = layout_.weights;
    plan_.each(server(), [&](const ServerEntry& one) {
      const std::byte* const own = record.data() + at;
      if (!one.rows) append_bytes(to, own, one.weights);
      else {
        const ServerRows rows = plan_.weight_rows(one);
        rows.append(to, own, [&](long number, const std::byte* row) {
          return !before || std::memcmp(row, before + at + number * rows.bytes, std::size_t(rows.bytes)) != 0;
        });
      }
      at += aligned(one.weights);
    });
    to.insert(to.end(), record.begin() + layout_.fixed, record.end());
  }
  void write_record(const dist::detail::RequestHead& request, const std::byte* flags,
                    const std::vector<double>& numbers, bool is_first) {
    dist::detail::RecordHead head;
    head.step = request.step, head.place = request.place, head.batch = request.batch, head.is_first = is_first;
    head.numbers = long(numbers.size() * sizeof numbers[0]);
    std::copy(std::begin(request.scale), std::end(request.scale), head.scale);
    records_.begin_next(layout_.fixed + head.numbers);
    records_.put(0, &head, sizeof head);
    long at = layout_.moments;
    const auto put = [&](const std::byte* from, long bytes) {
      records_.put(at, from, bytes);
      at += aligned(bytes);
    };
    each_moment(put);
    put(state_.data(0, std::size_t(plan_.head), Look::read), plan_.head);
    put(flags, plan_.flags);
    each_weight(put);
    records_.put(at, numbers.data(), head.numbers);
    records_.commit();
  }

  Runner& runner_;
  Net& net_;
  TrainState& state_;
  const ServerPlan& plan_;
  const dist::detail::ServerNode& node_;
  const long shards_;
  dist::detail::ServerRecords& records_;
  const dist::detail::RecordLayout layout_;
  static constexpr long most_batch = 1L << 40;
  std::vector<std::byte> changes_, old_changes_;
  std::int64_t changes_of_ = -1;  // the step
  dist::detail::ShardNodes sums_;
  ShardSteps steps_;
};

}  // namespace tenon::detail
TENON_INT_SIZES_END
