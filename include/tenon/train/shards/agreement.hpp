// What the ranks of a training must have alike, and the sentences for what differs. All ranks hear the same one,
// instead of waiting for sums that another does not send.
#pragma once
#include <string>
#include <vector>

#include <tenon/dataset/stage/data_info.hpp>
#include <tenon/dist/collectives.hpp>
#include <tenon/nn/optim/update/update_rules.hpp>
#include <tenon/nn/parameters.hpp>
#if TENON_DEFINES
#include <cstring>

#include <tenon/core/tensor/list.hpp>
#include <tenon/graph/ir/guard.hpp>
#include <tenon/ops/clip_norm.hpp>
#endif

namespace tenon::inline TENON_ABI::detail {

/// Before a run: its length, and a number for what the Model is.
struct AgreedRun {
  std::int64_t epochs = 0, batches = 0, step = 0;
  std::int64_t num_shards = 1, shard_id = 0;  // of the data set
  std::uint64_t model = 0;
};
/// Which samples of the ranks' batches are a batch of them all, and which are this rank's.
struct DealtBatch {
  long all, begin;
};
/// Before a step. A batch of 0 samples: this rank has none left in its epoch.
struct AgreedStep {
  std::int64_t batch = 0, step = 0;
  std::uint64_t samples = 0;   // some of their bits
  std::uint64_t weights = 0;   // their bits, looked at before the first step of a run
  double rate = 0;             // of learning
  std::uint64_t seed = 0;      // of random numbers
  std::uint64_t numbers = 0;   // what else updates read beside gradients
  std::uint64_t settings = 0;  // of cells, and which parameters are frozen
  std::uint64_t outputs = 0;   // their types, and which parameters have gradients: those of a bucket
};

enum class Agreement : std::int32_t { run, step, stop, model, moments = 5, parts };  // 4: dist/shared_blocks.hpp
/// What each rank has. A std::span would cost each program the headers' checks of iterators per type.
template <class T>
struct FromRanks {
  const T* first;
  std::size_t ranks;
  const T* begin() const { return first; }
  const T* end() const { return first + ranks; }
  std::size_t size() const { return ranks; }
  const T& operator[](std::size_t rank) const { return first[rank]; }
};
/// What each rank has, one after the other, valid until the next call. A rank that is elsewhere in the program is a
/// RuntimeError.
const void* told(const dist::Communicator& ranks, Agreement which, const void* own, std::size_t bytes);
template <class T>
FromRanks<T> told(const dist::Communicator& ranks, Agreement which, const T& own) {
  return {static_cast<const T*>(told(ranks, which, &own, sizeof own)), std::size_t(ranks.size())};
}
/// A number for the bits of some memory, which goes on from another number.
std::uint64_t number_of_bits(const std::byte* data, std::size_t bytes, std::uint64_t number = 0);
/// The same for a column of a batch: of a large one 64 words, from its first to its last.
std::uint64_t number_of_column(const std::byte* data, std::size_t bytes, std::uint64_t number);
template <class List>
std::uint64_t number_of_samples(const dataset::Row<List>& row) {
  std::uint64_t number = 0;
  for (int i = 0; i < List::count; ++i)
    number = number_of_column(static_cast<const std::byte*>(row.column[i]), std::size_t(List::types[i].bytes(row.n)),
                              number);
  return number;
}

/// A number for what the updates of a step read beside gradients: the numbers of the optimizer, in its rules, and those
/// at the begin of the training state (`head`), which are the loss scale, the flag of updates, the limit of gradients.
std::uint64_t number_of_updates(const std::byte* head, const nn::UpdateRules& rules);
/// A number for the types of some tensors.
std::uint64_t number_of_types(const TensorType* first, int count);
/// A number for which parameters are frozen, and for the settings of cells, such as dropout rates; these on the CPU
/// alone, as another target would have to be waited for.
std::uint64_t number_of_settings(const ParameterList& parameters);

/// A line for the optimizer, and one for each parameter: its name, dtype, shape, and whether it is trained.
[[gnu::cold]] std::vector<std::string> model_lines(std::string_view optimizer, long shards,
                                                   const ParameterList& parameters, bool divided = false);
std::uint64_t number_of_lines(const std::vector<std::string>& lines);
/// The shard that a data set is, by the last of its stages that says so.
[[gnu::cold]] void find_shard(const dataset::DataInfo& data, AgreedRun& run);
template <class Data>
void find_shard(const Data& data, AgreedRun& run) {
  find_shard(dataset::DataInfo(data), run);
}

/// Throws RuntimeError, on all ranks, unless all begin the same run. Returns whether each has another shard of the
/// data.
[[gnu::cold]] bool agree_on_run(const dist::Communicator& ranks, std::string_view what, AgreedRun own,
                                const std::vector<std::string>& model);
/// Throws RuntimeError, on all ranks, unless all have the same batch before a step, or none has one; if data is
/// `dealt`, unless all have one or none.
DealtBatch agree_on_step(const dist::Communicator& ranks, const AgreedStep& own, bool dealt);
/// The same when all have told what they have.
DealtBatch compare_steps(const dist::Communicator& ranks, FromRanks<AgreedStep> all, const AgreedStep& own, bool dealt);

#if TENON_DEFINES
[[gnu::cold, gnu::noinline]] TENON_INLINE const void* told(const dist::Communicator& ranks, Agreement which,
                                                           const void* own, std::size_t bytes) {
  const dist::detail::Called called{dist::detail::Called::training, std::int32_t(which), -1, 0, std::int64_t(bytes)};
  const std::span<std::byte> all = dist::detail::scratch(bytes * std::size_t(ranks.size()));
  dist::detail::gather_for(ranks, called, {static_cast<const std::byte*>(own), bytes}, all);
  return all.data();
}
/// The first rank whose `number` is not that of rank 0, or 0.
template <class T, class N>
std::size_t first_other(FromRanks<T> all, N T::* number) {
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank].*number != all[0].*number) return rank;
  return 0;
}
[[gnu::noinline]] TENON_INLINE std::uint64_t number_of_bits(const std::byte* data, std::size_t bytes,
                                                            std::uint64_t number) {
  const auto add = [&](std::size_t at, std::size_t size) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + at, size);
    number = (number ^ word) * 0x9e3779b97f4a7c15u;
    number ^= number >> 29;
  };
  for (std::size_t i = 0; i + 8 <= bytes; i += 8) add(i, 8);
  if (bytes % 8) add(bytes / 8 * 8, bytes % 8);
  return number;
}
TENON_INLINE std::uint64_t number_of_column(const std::byte* data, std::size_t bytes, std::uint64_t number) {
  constexpr std::size_t words = 64;
  if (bytes <= 8 * words) return number_of_bits(data, bytes, number);
  for (std::size_t k = 0; k < words; ++k) number = number_of_bits(data + (bytes - 8) * k / (words - 1), 8, number);
  return number;
}

[[gnu::cold, gnu::noinline]] TENON_INLINE std::uint64_t number_of_updates(const std::byte* head,
                                                                          const nn::UpdateRules& rules) {
  const std::span<const nn::Numbers> all = rules.numbers();
  std::uint64_t number = number_of_bits(reinterpret_cast<const std::byte*>(all.data()), all.size_bytes());
  number = number_of_bits(head + loss_scale_state, sizeof(float), number);
  number = number_of_bits(head + overflow_state, sizeof(std::int32_t), number);
  return number_of_bits(head + gradient_clip_state, sizeof(float), number);
}
[[gnu::cold, gnu::noinline]] TENON_INLINE std::uint64_t number_of_types(const TensorType* first, int count) {
  std::uint64_t number = std::uint64_t(count);
  const auto add = [&](std::int64_t one) {
    number = number_of_bits(reinterpret_cast<const std::byte*>(&one), sizeof one, number);
  };
  for (const TensorType* type = first; type < first + count; ++type) {
    add(int(type->dtype)), add(type->rank);
    for (int axis = 0; axis < type->rank; ++axis) add(type->extent[axis]);
  }
  return number;
}
[[gnu::cold, gnu::noinline]] TENON_INLINE std::uint64_t number_of_settings(const ParameterList& parameters) {
  std::uint64_t number = 0;
  const bool reads = !computes_there();
  for (int e = 0; e < parameters.entries(); ++e) {
    const Entry& entry = parameters.table()[e];
    const std::int64_t frozen = e;
    if (entry.setting && entry.dims.rank == 0 && reads) {
      const long bytes = entry.dims.bytes(1);
      number = number_of_bits(parameters.handle(e).values_at(bytes, Look::read), std::size_t(bytes), number);
    } else if (entry.parameter && entry.trainable && !parameters.handle(e).requires_grad()) {
      number = number_of_bits(reinterpret_cast<const std::byte*>(&frozen), sizeof frozen, number);
    }
  }
  return number;
}

[[gnu::noinline]] TENON_INLINE std::vector<std::string> model_lines(std::string_view optimizer, long shards,
                                                                    const ParameterList& parameters, bool divided) {
  std::vector<std::string> lines;  // not of a list, whose constructor would be one more function
  lines.push_back(
      text("the optimizer ", optimizer, " and ", shards, " shards", divided ? ", with parallel_optimizer" : ""));
  for (int e = 0; e < parameters.entries(); ++e)
    if (const Entry& entry = parameters.table()[e]; entry.parameter) {
      const bool frozen = entry.trainable && !parameters.handle(e).requires_grad();
      lines.push_back(text("the parameter ", parameter_name(parameters.table(), e), " ", type_text(entry.dims),
                           frozen ? ", which is frozen" : ""));
    }
  return lines;
}
[[gnu::noinline]] TENON_INLINE std::uint64_t number_of_lines(const std::vector<std::string>& lines) {
  std::uint64_t number = lines.size();
  for (const std::string& line : lines)
    number = number_of_bits(reinterpret_cast<const std::byte*>(line.data()), line.size(), number + line.size());
  return number;
}
/// Says in what a rank's model differs from that of rank 0. All ranks call it.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_models(const dist::Communicator& ranks, std::size_t other,
                                                                 std::string_view what,
                                                                 const std::vector<std::string>& lines) {
  struct Line {
    std::int64_t is_there = 0;
    char words[1016]{};
  };
  for (std::size_t i = 0;; ++i) {
    Line own;
    if (i < lines.size()) own.is_there = 1, lines[i].copy(own.words, sizeof own.words - 1);
    const FromRanks<Line> all = told(ranks, Agreement::model, own);
    const Line &first = all[0], &second = all[other];
    if (first.is_there && second.is_there && std::strcmp(first.words, second.words) == 0) continue;
    const auto has = [](const Line& line) { return line.is_there ? line.words : "no further parameter"; };
    throw_error<RuntimeError>(what, ": the ranks have different models: rank 0 has ", has(first), ", rank ", other,
                              " has ", has(second), ". Give all ranks the same network, optimizer, and DataParallel.");
  }
}

[[gnu::noinline]] TENON_INLINE void find_shard(const dataset::DataInfo& data, AgreedRun& run) {
  data.each_stage([&](const dataset::StageInfo& stage) {
    if (run.num_shards > 1) return;
    for (const auto& setting : stage.setting) {
      if (setting.name == "num_shards") run.num_shards = setting.value;
      if (setting.name == "shard_id") run.shard_id = setting.value;
    }
  });
}
/// True if each rank has another shard, false if all have the same data. Throws RuntimeError for what is neither.
[[gnu::cold, gnu::noinline]] inline bool are_dealt(FromRanks<AgreedRun> all, std::string_view what) {
  if (!first_other(all, &AgreedRun::num_shards) && !first_other(all, &AgreedRun::shard_id)) return false;
  std::string is_there(all.size(), 'n');
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const AgreedRun& one = all[rank];
    if (one.num_shards != std::int64_t(all.size()) || std::size_t(one.shard_id) >= all.size() ||
        is_there[std::size_t(one.shard_id)] == 'y')
      throw_error<RuntimeError>(what, ": the data set of rank ", rank, " is shard ", one.shard_id, " of ",
                                one.num_shards, ", and there are ", all.size(),
                                " ranks: use shard() without numbers, "
                                "which gives each rank another one, or give all ranks the same data set.");
    is_there[std::size_t(one.shard_id)] = 'y';
  }
  return true;
}

[[gnu::noinline]] TENON_INLINE bool agree_on_run(const dist::Communicator& ranks, std::string_view what, AgreedRun own,
                                                 const std::vector<std::string>& model) {
  own.model = number_of_lines(model);
  const FromRanks<AgreedRun> all = told(ranks, Agreement::run, own);
  if (const std::size_t other = first_other(all, &AgreedRun::model)) refuse_models(ranks, other, what, model);
  const bool dealt = are_dealt(all, what);
  if (const std::size_t other = first_other(all, &AgreedRun::batches))
    throw_error<RuntimeError>(what, ": rank 0 has ", all[0].batches, " batches per epoch, rank ", other, " has ",
                              all[other].batches,
                              ": the others would wait for them. Give all ranks the same data set; "
                              "DataParallel shares each batch.");
  if (const std::size_t other = first_other(all, &AgreedRun::epochs))
    throw_error<RuntimeError>(what, ": rank 0 trains for ", all[0].epochs, " epochs, rank ", other, " for ",
                              all[other].epochs, ".");
  if (const std::size_t other = first_other(all, &AgreedRun::step))
    throw_error<RuntimeError>(what, ": rank 0 goes on after step ", all[0].step, ", rank ", other, " after step ",
                              all[other].step, ": load the same checkpoint on all ranks.");
  return dealt;
}

[[gnu::cold, gnu::noinline]] TENON_INLINE DealtBatch agree_on_step(const dist::Communicator& ranks,
                                                                   const AgreedStep& own, bool dealt) {
  return compare_steps(ranks, told(ranks, Agreement::step, own), own, dealt);
}
[[gnu::cold, gnu::noinline]] TENON_INLINE DealtBatch compare_steps(const dist::Communicator& ranks,
                                                                   FromRanks<AgreedStep> all, const AgreedStep& own,
                                                                   bool dealt) {
  std::size_t other = 0;
  for (std::size_t rank = all.size(); rank-- > 1;)
    if (dealt ? (all[rank].batch > 0) != (all[0].batch > 0) : all[rank].batch != all[0].batch) other = rank;
  if (other)
    throw_error<RuntimeError>("Model.train: after ", own.step, " steps rank 0 has a batch of ", all[0].batch,
                              " samples, rank ", other, " one of ", all[other].batch,
                              ": give all ranks the same data set; DataParallel shares each batch.");
  if ((other = first_other(all, &AgreedStep::step)))
    throw_error<RuntimeError>("Model.train: rank 0 is in step ", all[0].step + 1, ", rank ", other, " in step ",
                              all[other].step + 1, ": load the same checkpoint on all ranks.");
  if (!dealt && (other = first_other(all, &AgreedStep::samples)))
    throw_error<RuntimeError>(
        "Model.train: in step ", own.step + 1, " rank ", other,
        " has other samples than rank 0: "
        "DataParallel shares each batch, so give all ranks the same data set, with the same seed, "
        "or, by dataset::shard(), a shard each.");
  if ((other = first_other(all, &AgreedStep::outputs)))
    throw_error<RuntimeError>(
        "Model.train: in step ", own.step + 1, " rank ", other,
        " has a batch of another bucket than rank 0, with losses of another shape, or gradients of "
        "other parameters: reduce the loss, as nn::Reduction::mean does, or give all ranks the "
        "same data set.");
  if ((other = first_other(all, &AgreedStep::weights)))
    throw_error<RuntimeError>("Model.train: rank ", other,
                              " has other weights than rank 0: give all ranks the same "
                              "seed and checkpoint.");
  if ((other = first_other(all, &AgreedStep::rate)))
    throw_error<RuntimeError>("Model.train: in step ", own.step + 1, " rank 0 has the learning rate ", all[0].rate,
                              ", rank ", other, " ", all[other].rate, ": their weights would become different.");
  const auto refuse = [&](const char* has, const char* advice) {
    throw_error<RuntimeError>("Model.train: in step ", own.step + 1, " rank ", other, has, " than rank 0: ", advice,
                              ".");
  };
  if ((other = first_other(all, &AgreedStep::seed)))
    refuse(" has another seed of random numbers", "give all ranks the same one");
  if ((other = first_other(all, &AgreedStep::numbers)))
    refuse(" has other numbers of the optimizer or the loss scale", "their weights would become different");
  if ((other = first_other(all, &AgreedStep::settings)))
    refuse(" has other frozen parameters, or settings of cells,", "their weights would become different");
  DealtBatch batch{0, 0};
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (int(rank) == ranks.rank()) batch.begin = batch.all;
    batch.all += all[rank].batch;
  }
  return dealt ? batch : DealtBatch{own.batch, 0};
}

#endif  // TENON_DEFINES

}  // namespace tenon::detail
