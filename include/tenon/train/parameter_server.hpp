// ParameterServer: a Model whose weights and moments are on servers, which update them with the gradients of workers.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <string>

#include <tenon/core/context/parallel.hpp>
#include <tenon/train/model.hpp>
#include <tenon/train/server/server_work.hpp>
#include <tenon/train/server/worker_link.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

namespace dist {
/// A part of a Model that workers train, and whose parameters are on servers:
///
///     set_ps_context("enable_ps", "True");
///     dist::init_parameter_server();  // MS_ROLE and other variables
///     Model model{net, loss, optimizer, dist::ParameterServer{.shards = 6}};
///     model.train(2, data);
///
/// The scheduler, the servers, and the workers are processes of the same program. In train() and fit() servers serve,
/// the scheduler waits, and both return when the workers do; the network of a server has the trained weights then.
/// Workers give train() the same batches. A batch is cut into shards, as DataParallel does it, of which each worker
/// computes some. A server adds the gradients of its parameters along the tree over the shards, and makes the update
/// when all workers have sent theirs. So weights, moments, and losses have the bits of dist::DataParallel with this
/// number of shards in one process, on any number of servers and workers.
///
/// shards  0: one per worker, with the bits of that number of workers
/// folder  where a server has files of its last two steps, which it finds if it is started again; empty: the system's
///         folder for temporary files. It is for a server that is killed; for a machine that fails, save checkpoints
///
/// update      any optimizer. One whose update looks at all parameters, by clipping or by a loss scale that drops
///             updates, has them all on server 0
/// throws      ValueError for less than 0 shards; RuntimeError if the process has a role and init_parameter_server was
///             not called. train() throws RuntimeError on all if their programs, data, or numbers differ, or if one is
///             silent for longer than ParameterServerOptions::timeout_seconds
/// Source: MindSpore's parameter server, whose workers do not wait for each other
struct ParameterServer {
  int shards = 0;
  std::string folder = {};
};

namespace detail {
inline const tenon::detail::HasTool has_parameter_server(tenon::detail::Tool::parameter_server);

/// The node of a Model: none if it trains alone.
[[gnu::cold]] inline ServerNode* node_of_training() {
  const char* const role = std::getenv("MS_ROLE");
  if (!server_node() && (role || get_ps_context("enable_ps") == "True"))
    throw_error<RuntimeError>("ParameterServer: ", role ? "MS_ROLE is set" : "enable_ps is set",
                              ", and this process would train alone: call dist::init_parameter_server before you make "
                              "a Model.");
  return server_node().get();
}
}  // namespace detail
}  // namespace dist

namespace detail {
template <>
inline constexpr bool is_parallel<dist::ParameterServer> = true;

/// The training of such a Model.
template <>
class ParallelStep<dist::ParameterServer> {
 public:
  using Ask = dist::detail::Ask;
  using Answer = dist::detail::Answer;
  using RequestHead = dist::detail::RequestHead;
  template <class Net, class Optimizer>
  using UpdateOf = GradientSums<Net>;
  static constexpr MixedPrecision precision(MixedPrecision of_model) {
    of_model.scales_loss = true;  // by the weight of a shard
    return of_model;
  }
  explicit ParallelStep(const dist::ParameterServer& how)
      : node_(dist::detail::node_of_training()),
        shards_(how.shards != 0 ? how.shards
                : node_         ? node_->environment.workers
                                : 1),
        folder_(how.folder.empty() ? std::filesystem::temp_directory_path().string() : how.folder) {
    if (how.shards < 0)
      throw_error<ValueError>("ParameterServer: shards must be 1 or more, or 0 for one per worker, got ", how.shards,
                              ".");
  }
  ParallelStep(ParallelStep&&) = default;
  ~ParallelStep() {
    if (link_) node_->tell(run_);  // an error ends the run: servers tell the others
  }

  int rank() const { return rank_here().rank; }
  long smallest(long n) const { return n < shards_ ? 1 : n / shards_; }
  bool any_rank(bool yes) const {
    if (!link_) return yes;
    if (link_->stop_step != step_) link_->stop_step = step_, link_->last_stop = Ask::stop;
    else link_->last_stop = Ask::stop_epoch;
    return link_->any(link_->last_stop, step_, yes);
  }
  template <class Runner>
  void agree_on_end(const Runner&) const {
    if (link_) link_->any(Ask::end_epoch, step_, false);
  }

  /// Begins a run of a worker: true. A server and the scheduler return false when it has ended.
  template <class Runner, class Data, class Optimizer>
  [[gnu::cold]] bool agree_on_run(Runner& runner, std::string_view what, long epochs, const Data& data,
                                  const Optimizer& optimizer, Progress& progress) {
    if (!node_) return true;
    refuse_shards_of_data(data, what);
    const std::int32_t run = run_ = node_->begin_run();
    if (node_->environment.role == dist::Role::scheduler) return node_->await_run(run, what), false;
    using Net = typename Runner::network_type;
    plan_ = make_server_plan<Net, typename Runner::optimizer_type>(
        node_->environment.servers,
        Runner::drops_overflow || looks_at_all(nn::detail::clipping_of<typename Runner::optimizer_type>));
    runner.bind();
    const ParameterList parameters(*runner.net_);
    RequestHead head;
    head.model = number_of_lines(model_lines(Runner::optimizer_type::name, shards_, parameters));
    if (!node_->is_worker()) return serve(runner, head.model), false;
    head.epochs = epochs, head.batches = data.size(), head.step = step_ = runner.state_.step();
    head.vote = has_missed_;
    const std::byte* const arena = home(parameters.arena()->data);
    head.weights = number_of_bits(arena, std::size_t(plan_.arena));
    progress_ = &progress;
    head.place.dataset_epoch = progress.dataset_epoch;
    if (progress.resumed) head.place = {progress.dataset_epoch, progress.epochs, progress.steps, progress.run_steps};
    link_ = std::make_unique<WorkerLink>(*node_, plan_, run, most_bytes(), head);
    return begin(runner, optimizer);
  }

  template <class... C, class Runner, class List>
  void train(Runner& runner, const dataset::Row<List>& row, StepOutputs& outputs) {
    using Net = typename Runner::network_type;
    static constexpr auto& facts = ShardFacts<Net, typename Runner::template TrainGraph<C...>>::table;
    static constexpr auto& layout = SumLayout<Net>::table;
    const FlushDenormals flush;
    const ParameterList parameters(*runner.net_);
    const long all = std::min(shards_, row.n);
    const std::span<const TensorType> output_types(facts.output,
                                                   std::size_t(facts.outputs));  // as in data_parallel.hpp
    steps_.numbers.start(parameters, facts.moving, output_types, facts.all_means, row.n);
    dist::detail::SumBytes bytes;
    bytes.floats = layout.floats;
    bytes.all = layout.bytes + steps_.numbers.bytes();
    nodes_.fit(bytes);
    const auto numbers = [this] { return reinterpret_cast<double*>(nodes_.values() + layout.bytes); };
    const dist::ShardRange own =
        node_ ? dist::part_of(shards_, node_->environment.workers, node_->rank()) : dist::ShardRange{0, shards_};
    const auto& nodes = nodes_.run(own, all, [&](int shard, bool begins) {
      const dist::ShardRange samples = dist::part_of(row.n, shards_, shard);
      const double weight = facts.all_means ? double(samples.size()) / double(row.n) : 1;
      steps_.compute<C...>(
          runner, part_of_row(row, samples), {shards_, shard, weight, begins}, nodes_.block(),
          [](Executor& executor, const void* const* inputs, long n) { executor.run(inputs, n); },
          [&](ShardSteps::OutputOf output) { steps_.numbers.take(numbers(), samples, begins, output); });
    });
    if (!link_) {
      steps_.numbers.finish(numbers());
      steps_.update(runner, parameters, facts.reached, nodes_.block());
    } else {
      std::vector<unsigned char> flags(std::size_t(plan_.flags));
      for (int e = 0; e < parameters.entries(); ++e) {
        const bool wants = parameters.table()[e].trainable && parameters.handle(e).requires_grad();
        flags[std::size_t(e)] =
            static_cast<unsigned char>((facts.reached[e] && wants ? has_gradient : 0) |
                                       (facts.moving[e] ? is_moving : 0) | (wants ? wants_gradient : 0));
      }
      exchange(runner, flags, nodes, layout.bytes, row.n, number_of_samples(row));
    }
    outputs.clear();
    steps_.numbers.each_output([&](const AnyTensor& output) { outputs.add(output); });
    step_ = runner.state_.step() + 1;
  }
  /// The moments of all servers, for a checkpoint in the middle of a run.
  template <class Runner>
  void fetch_state(const Runner& runner) const {
    if (link_ && step_ > 0) fetch(runner, link_->next(Ask::state, step_, [](RequestHead&) {}), {});
  }
  void leave_run() const {}
  /// The end of a run that went well: workers have all moments then, servers all weights.
  template <class Runner>
  [[gnu::cold]] void end_run(const Runner& runner) {
    if (!link_) return;
    std::vector<std::byte> arena;
    if (node_->rank() == 0) {
      const std::byte* const data = home(ParameterList(*runner.net_).arena()->data);
      arena.assign(data, data + plan_.arena);
    }
    fetch(runner, link_->next(Ask::finish, step_, [](RequestHead&) {}), arena);
    link_.reset();
    node_->tell(run_);
  }

 private:
  static constexpr bool looks_at_all(nn::Clipping clipping) {
    return clipping == nn::Clipping::by_norm || clipping == nn::Clipping::by_global_norm;
  }
  template <class Data>
  static void refuse_shards_of_data(const Data& data, std::string_view what) {
    AgreedRun run;
    find_shard(data, run);
    if (run.num_shards > 1)
      throw_error<ValueError>(what, ": the data set is shard ", run.shard_id, " of ", run.num_shards,
                              ": give all workers the same data set, ParameterServer shares each batch.");
  }
  // The bytes of the largest message that there can be: of gradients, and numbers of a batch.
  long most_bytes() const {
    constexpr long most_numbers = 1 << 28;
    long sums = 0;
    for (int server = 0; server < plan_.servers; ++server) sums = std::max(sums, plan_.most_sums(server));
    const long nodes = std::min(shards_, 64L);
    return most_numbers + 2 * (plan_.arena + plan_.state) + plan_.head + plan_.flags + nodes * sums;
  }
  template <class Runner>
  [[gnu::cold]] void serve(Runner& runner, std::uint64_t model) {
    using namespace dist::detail;
    const StepTarget scope(runner.target_);
    ServerRecords records(folder_, node_->rank(), node_->job(), model);
    if (records.run_in_files() > run_) return;  // this run was over before this server was started again
    if (records.load(plan_.record(node_->rank())) && records.index.run < run_) records.begin_run(run_);
    ServerWork<Runner> work(runner, *runner.net_, plan_, *node_, shards_, records);
    if (!records.empty()) work.load();
    const struct Removal {  // after an error, too: it ends the run for all
      ServerRecords& of;
      ~Removal() { of.remove(); }
    } removal{records};
    ServerDesk desk(*node_, run_, most_bytes(), model, records, work);
    desk.serve();
  }

  // True if there are steps to be done.
  template <class Runner, class Optimizer>
  bool begin(Runner& runner, const Optimizer& optimizer) {
    const ParameterList parameters(*runner.net_);
    JoinedRecords records;
    bool is_over = false;
    link_->ask_all(
        link_->head(),
        [&](int) {
          std::vector<std::byte> body;
          if (node_->rank() != 0) return body;
          const std::byte* const arena = home(parameters.arena()->data);
          const std::byte* const state = runner.state_.data();
          body.assign(arena, arena + plan_.arena);
          body.insert(body.end(), state, state + plan_.state);
          return body;
        },
        [&](int server, Answer answer, std::span<const std::byte> bytes) {
          is_over |= answer == Answer::over;
          if (!is_over) records.add(bytes, plan_.record(server));
        });
    if (is_over) {
      has_missed_ = true;
      logging::warning("Model.train: training ", run_, " of this program was over before ", node_->name(),
                       " was started again: its network has not the weights that the training has left.");
      link_.reset();
      node_->tell(run_);
      return false;
    }
    join(runner, records, optimizer);
    has_missed_ = false;
    // what the others may wait for
    if (!records.head().is_first && any_rank(false)) {
      end_run(runner);
      return false;
    }
    return true;
  }
  // Goes on after the step of the records.
  template <class Runner, class Optimizer>
  void join(Runner& runner, const JoinedRecords& records, const Optimizer& optimizer) {
    const ParameterList parameters(*runner.net_);
    if (ParameterArena* const arena = parameters.arena()) arena->change();
    for (int server = 0; server < plan_.servers; ++server)
      link_->take_weights(server, records.of(server).data() + plan_.record(server).weights, parameters);
    const dist::detail::RecordHead head = records.head();
    if (head.is_first) return;
    step_ = head.step;
    runner.state_.random()[1] = std::uint64_t(head.step);
    progress_->dataset_epoch = head.place.dataset_epoch, progress_->epochs = head.place.epochs;
    progress_->steps = head.place.steps, progress_->run_steps = head.place.run_steps;
    progress_->step(), progress_->resumed = true;
    const dist::detail::RecordLayout layout = plan_.record(0);
    const std::byte* const record = records.of(0).data();
    if constexpr (Runner::scales_loss) {
      std::int32_t overflow;
      std::memcpy(&overflow, record + layout.state + overflow_state, sizeof overflow);
      runner.scale_.take(head.scale);
      if (head.step % nn::detail::batches_of(optimizer) == 0) static_cast<void>(runner.scale_.update(overflow == 1));
    }
    const auto* const flags = reinterpret_cast<const unsigned char*>(record + layout.state + plan_.head);
    const double* sum = reinterpret_cast<const double*>(record + layout.fixed);
    long left = head.numbers;
    for (int e = 0; e < parameters.entries(); ++e)
      if (flags[e] & is_moving) {
        const TensorType& type = parameters.table()[e].dims;
        if ((left -= type.count(1) * long(sizeof *sum)) < 0)
          throw_error<RuntimeError>("Model.train: server 0 has not the moving statistics of step ", step_, ".");
        const AnyTensor moving(type, 1, parameters.handle(e).values_at(type.bytes(1)));
        round_into(moving, sum);
        sum += moving.count();
      }
  }
  template <class Runner>
  void exchange(Runner& runner, const std::vector<unsigned char>& flags,
                const std::vector<dist::detail::ShardNodes::Node>& nodes, long gradients, long n,
                std::uint64_t samples) {
    const ParameterList parameters(*runner.net_);
    const long numbers = steps_.numbers.bytes();
    const auto scale = runner.scale_.numbers();
    RequestHead head = link_->next(Ask::push, runner.state_.step() + 1, [&](RequestHead& to) {
      to.batch = n, to.samples = samples, to.numbers = numbers, to.settings = number_of_settings(parameters);
      to.place = {progress_->dataset_epoch, progress_->epochs, progress_->steps, progress_->run_steps};
      std::copy(scale.begin(), scale.end(), to.scale);
    });
    link_->ask_all(
        head, [&](int server) { return link_->push_body(server, runner.state_, flags, nodes, gradients, numbers); },
        [&](int server, Answer answer, std::span<const std::byte> bytes) {
          const dist::detail::RecordLayout layout = plan_.record(server);
          const long head = layout.weights - layout.state, own = server == 0 ? numbers : 0;
          long weights = -1;
          if (answer == Answer::done && long(bytes.size()) >= head + own)
            weights = link_->take_changes(server, bytes.subspan(std::size_t(head)), parameters);
          if (weights < 0 || long(bytes.size()) != head + weights + own)
            throw_error<RuntimeError>("Model.train: server ", server, " answers with ", bytes.size(),
                                      " bytes that are no weights of this network.");
          if (server != 0) return;
          std::int32_t overflow;
          std::memcpy(&overflow, bytes.data() + overflow_state, sizeof overflow);
          runner.state_.overflow(overflow);
          std::memcpy(nodes_.values() + gradients, bytes.data() + head + weights, std::size_t(numbers));
        });
    steps_.numbers.finish(reinterpret_cast<double*>(nodes_.values() + gradients));
  }
  template <class Runner>
  void fetch(const Runner& runner, const RequestHead& head, const std::vector<std::byte>& body) const {
    link_->ask_all(
        head, [&](int) { return body; },
        [&](int server, Answer, std::span<const std::byte> bytes) {
          const dist::detail::RecordLayout layout = plan_.record(server);
          dist::detail::RecordHead record;
          if (long(bytes.size()) >= layout.fixed) std::memcpy(&record, bytes.data(), sizeof record);
          if (long(bytes.size()) < layout.fixed || record.step != step_)
            throw_error<RuntimeError>("Model.train: server ", server, " has not the moments of step ", step_, ".");
          link_->take_moments(server, bytes.data() + layout.moments, runner.state_);
        });
  }

  dist::detail::ServerNode* node_;
  long shards_;
  std::string folder_;
  std::int32_t run_ = 0;
  bool has_missed_ = false;  // a run that was over before this worker was started again
  long step_ = 0;            // of the Model, the last one that is done
  ServerPlan plan_;
  Progress* progress_ = nullptr;
  std::unique_ptr<WorkerLink> link_;  // in a run of a worker
  dist::detail::ShardNodes nodes_;
  ShardSteps steps_;
};
}  // namespace detail

}  // namespace tenon
TENON_INT_SIZES_END
