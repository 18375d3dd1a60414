// Saves a whole training, and resumes it in another process as if it had not been interrupted.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/io/tensors/named_value.hpp>
#include <tenon/train/checkpoint.hpp>
#include <tenon/train/file/mindspore_training.hpp>
#include <tenon/train/file/part_facts.hpp>
#include <tenon/train/file/read_training.hpp>
#include <tenon/train/model.hpp>
#if TENON_DEFINES
#include <unistd.h>
#endif

namespace tenon::inline TENON_ABI {

namespace detail {
/// What a training is at one moment, in memory of its own or read from a file.
struct TrainingFile {
  static constexpr std::string_view counts_name = "tenon.training", numbers_name = "tenon.numbers",
                                    rates_name = "tenon.group_rates";
  static constexpr std::int64_t version = 1;

  // version, seed and step of random numbers, then Progress
  std::array<std::int64_t, 8> counts{};
  // of the loss scale, then the optimizer's learning rate, below 0 where that is no number, and the last loss
  std::array<double, 7> numbers{};
  CallbackStates states{};
  MindSporeNumbers mindspore{};
  std::vector<nn::LearningRate> group_rates{};  // read from a file

  template <class M>
  static std::vector<io::NamedTensor> tensors(M& model, Look look, bool all_moments = true) {
    std::vector<io::NamedTensor> all = named_parameters_of(ParameterList(*model.net_), parameter_name, look);
    if (const Snapshot* const own = model.progress_.own)  // the network has others now
      for (std::size_t i = 0; i < all.size(); ++i) all[i].tensor.data = own->values(i);
    if constexpr (M::shares_training)
      if (look == Look::read && all_moments) model.runner_.parallel().fetch_state(model.runner_);
    for (io::NamedTensor& moment : model.own_state(look)) all.push_back(std::move(moment));
    return all;
  }
  /// To be written: the parameters, and the moments of all ranks, or those that this rank has.
  template <class M>
  static std::vector<io::NamedTensor> own_tensors(M& model, bool all_moments) {
    std::vector<io::NamedTensor> all = tensors(model, Look::read, all_moments);
    if (!all_moments) {
      leave_out_others(model, all);
      std::erase_if(all, [](const io::NamedTensor& named) { return !named.tensor.data; });
    }
    return all;
  }
  template <class M>
  static void refuse_in_run(const M& model, const std::string& path) {
    if (model.progress_.running)
      throw_error<RuntimeError>("'", path,
                                "' cannot be loaded in a hook of a training of the same Model: end the "
                                "training first, by request_stop().");
  }
  template <class M>
  static bool request_parts(void* model, const std::string& path, PartFacts& own) {
    return static_cast<M*>(model)->runner_.parallel().request_parts(path, own);
  }
  /// Calls write() where a file is written now. Where ranks divide the moments, all of them save one between runs, and
  /// rank 0 writes it; the others return when it has, or could not.
  template <class M, class Write>
  static void save(const M& model, Write write) {
    if constexpr (!runner_divides<M>) return write();
    else {
      const auto& parallel = model.runner_.parallel();
      if (model.progress_.running || !parallel.elsewhere()) return write();
      if (parallel.rank() != 0) return parallel.give_state(), parallel.give_state();
      try {
        write();
      } catch (const std::exception&) {
        try {
          parallel.give_state();
        } catch (const std::exception&) {  // another rank is gone, as the first error says
        }
        throw;
      }
      parallel.give_state();
    }
  }
  /// Takes the data of moments that other ranks have off a list to be loaded.
  template <class M>
  static void leave_out_others(const M& model, std::vector<io::NamedTensor>& all) {
    if constexpr (runner_divides<M>)
      for (io::NamedTensor& named : all)
        if (!model.runner_.parallel().is_here(named.tensor.data)) named.tensor.data = nullptr;
  }
  template <class M>
  static constexpr bool runner_divides = M::runner_type::divides_state;
  [[gnu::cold]] void add_to(std::vector<io::NamedTensor>& all);
  /// The contents of a file of MindSpore, which was written after an epoch of a run that has ended.
  template <class M>
  void take(const MindSporeNumbers& theirs, M& model) {
    const auto scale = model.runner_.loss_scale().numbers();
    std::copy(scale.begin(), scale.end(), numbers.begin());
    numbers[3] = numbers[4] = 0;  // updates that this model has skipped: the file's steps are without them
    if (theirs.loss_scale > 0)
      numbers[0] = theirs.loss_scale, numbers[1] = double(theirs.scaled_steps), numbers[2] = double(theirs.overflow);
    counts = {version, std::int64_t(model.runner_.state().random()[0]), theirs.global_step, theirs.epochs};
    numbers[5] = std::isnan(theirs.learning_rate) ? -1.0 : double(theirs.learning_rate);
  }
  template <class M>
  void take(M& model) {
    const std::uint64_t* const random = model.runner_.state().random(Look::read);
    const Progress& p = model.progress_;
    const bool waits = p.resumed && !p.running;  // loaded, and to be resumed by the next run, or from the next file
    counts = {version,     std::int64_t(random[0]), std::int64_t(random[1]), p.dataset_epoch, p.epochs, p.steps,
              p.run_steps, p.running || waits};
    const auto scale = model.runner_.loss_scale().numbers();
    std::copy(scale.begin(), scale.end(), numbers.begin());
    const auto& rate = model.optimizer_.learning_rate;
    numbers[5] = rate.is_number() ? double(rate.at(0)) : -1.0;
    const auto losses = model.train_outputs_.views();
    numbers[6] = losses.empty() || waits ? p.loss : mean_of(losses[0]);
    if (p.before_epoch_end) states = *p.before_epoch_end;
    else if (p.collect) p.collect(p.callbacks, states);
    else take_callback_states(p.states);
    mindspore = MindSporeNumbers::of(model.optimizer_, counts[2]);
    if constexpr (requires { model.optimizer_.groups.size(); }) {
      CallbackState rates;  // of groups that have a number of their own
      for (const nn::ParameterGroup& group : model.optimizer_.groups)
        if (double number = 0; has_number(group)) number = double(group.learning_rate->at(0)), rates(number);
      if (!rates.bytes().empty()) states.emplace_back(rates_name, rates.bytes());
    }
    using Optimizer = std::remove_cvref_t<decltype(model.optimizer_)>;
    if constexpr (Optimizer::slots > 0) name_slots({&Optimizer::slot_names[0], std::size_t(Optimizer::slots)});
  }
  /// Takes what callbacks had counted from what a file had.
  [[gnu::cold]] void take_callback_states(const CallbackStates& of_file);
  /// Lists the moments that a reader would take for parameters.
  [[gnu::cold]] void name_slots(std::span<const std::string_view> slots);
  static bool has_number(const nn::ParameterGroup& group) {
    return group.learning_rate && group.learning_rate->is_number();
  }
  template <class M>
  void give(M& model) const {
    std::uint64_t* const random = model.runner_.state().random();
    random[0] = std::uint64_t(counts[1]), random[1] = std::uint64_t(counts[2]);
    Progress& p = model.progress_;
    p.dataset_epoch = counts[3], p.epochs = counts[4], p.steps = counts[5], p.run_steps = counts[6];
    p.running = false, p.resumed = counts[7] != 0, p.states = states;
    p.loss = numbers[6];
    model.runner_.loss_scale().take(numbers.data());
    if (numbers[5] >= 0 && model.optimizer_.learning_rate.is_number()) model.optimizer_.learning_rate = numbers[5];
    if constexpr (requires { model.optimizer_.groups.size(); }) {
      std::size_t next = 0;
      for (nn::ParameterGroup& group : model.optimizer_.groups)
        if (has_number(group) && next < group_rates.size()) group.learning_rate = group_rates[next++];
    }
  }
  /// Reads the rates of groups among the states. Throws ValueError for those of other groups.
  template <class M>
  void find_group_rates(const M& model, const std::string& path) {
    if constexpr (requires { model.optimizer_.groups.size(); }) {
      long count = 0;
      for (const nn::ParameterGroup& group : model.optimizer_.groups) count += has_number(group);
      read_group_rates(count, path);
    }
  }
  [[gnu::cold]] void read_group_rates(long count, const std::string& path);
  /// Throws ValueError for numbers that no training has.
  void check(const std::string& path) const;
};
/// A Model without its type, so that what saves is compiled once for all of them.
struct TrainingSource {
  void* model = nullptr;
  std::vector<io::NamedTensor> (*tensors)(void* model, bool all_moments) = nullptr;
  void (*take)(void* model, TrainingFile& file) = nullptr;
  bool (*request_parts)(void* model, const std::string& path, PartFacts& own) = nullptr;  // null: there are none

  template <class M>
  explicit TrainingSource(M& of)
      : model(&of),
        tensors([](void* m, bool all) { return TrainingFile::own_tensors(*static_cast<M*>(m), all); }),
        take([](void* m, TrainingFile& file) { file.take(*static_cast<M*>(m)); }) {
    if constexpr (TrainingFile::runner_divides<M>) request_parts = TrainingFile::request_parts<M>;
  }
};
/// A copy of a training at one moment: the training may continue while the copy is written.
class TrainingCopy {
 public:
  explicit TrainingCopy(const TrainingSource& source);
  TrainingCopy(const TrainingCopy&) = delete;
  TrainingCopy& operator=(const TrainingCopy&) = delete;
  const std::vector<io::NamedTensor>& tensors() const { return tensors_; }
  const MindSporeNumbers& mindspore() const { return file_.mindspore; }

 private:
  TrainingFile file_;
  std::vector<io::NamedTensor> tensors_;
  std::vector<AlignedBytes> bytes_;
};
[[gnu::cold]] void save_training_of(const TrainingSource& source, const std::string& path,
                                    const std::vector<io::NamedValue>& values);
/// In parts, if ranks divide the moments, which replace a file that was there.
[[gnu::cold]] void save_parts_of(const TrainingSource& source, const std::string& path,
                                 const std::vector<io::NamedValue>& values);
inline const bool writes_parts = (write_tensors = [](const std::string& path, const io::NamedTensor* first,
                                                     std::size_t tensors) {
  io::save_safetensors(path, {first, tensors});
}, true);
/// What callbacks had counted when a file was written, and the rates of groups.
[[gnu::cold]] CallbackStates read_callback_states(const std::string& path);
}  // namespace detail

/// Writes a whole training to a safetensors file, which is complete or absent: the parameters, the optimizer's moments
/// and learning rate, the loss scale, the step, the random counters, the position in the data set, and the state of the
/// run's callbacks (train/callback/run/callback_state.hpp). A callback may call it in any hook; ModelCheckpoint does.
/// With `#include <tenon/train/ckpt.hpp>` a path that ends with ".ckpt" gets a checkpoint that MindSpore reads: its
/// optimizer finds moments, global_step, learning_rate, momentum, and powers of beta under its names.
///
/// Where ranks divide the moments (dist::DataParallel{.parallel_optimizer = true}), a rank may save in any hook;
/// between runs all ranks call it, and rank 0 writes the file.
///
/// values     additional numbers and texts: metadata of safetensors, MindSpore's append_dict of .ckpt
/// throws     ValueError for another suffix, RuntimeError if the file cannot be written
template <class M>
void save_training(M& model, const std::string& path, const std::vector<io::NamedValue>& values = {}) {
  static_cast<void>(detail::is_ckpt_path("save", path));  // on all ranks
  detail::TrainingFile::save(model, [&] { detail::save_training_of(detail::TrainingSource(model), path, values); });
}

/// The same where ranks divide the moments, without all of them on one rank: rank 2 of 4 writes its moments to
/// `run-rank-2-of-4.safetensors`, and the rank that saves, which writes after the others, adds all else to its own.
/// load_training takes `run.safetensors`, and joins the parts into any number of ranks. Parts of another number of
/// ranks, and a file of that name, are removed. On one rank, or without DataParallel{.parallel_optimizer = true}, it is
/// save_training.
///
/// throws     ValueError for another suffix, RuntimeError if a rank, which it names, cannot write its part
template <class M>
void save_training_in_parts(M& model, const std::string& path, const std::vector<io::NamedValue>& values = {}) {
  static_cast<void>(detail::part_path(path, 0, 1));  // on all ranks
  detail::TrainingFile::save(model, [&] { detail::save_parts_of(detail::TrainingSource(model), path, values); });
}

/// Restores a Model with the same network, optimizer, and data to its state when the file was written. If that was
/// during a run, the next train() or fit() resumes this run: `model.train(10, data)` ends when the run has had 10
/// epochs, also if it was killed in its seventh epoch, with bit-identical results.
///
/// A .ckpt that MindSpore's Model.train saved is a training, too: moments, global_step (of which schedules and random
/// numbers are functions), a fixed learning_rate, epoch_num. MindSpore saves no position within a run, so the next
/// train() is a new run. A momentum or beta that differs from the optimizer's causes a warning.
///
/// A training that was saved in parts has the path without the ranks. Any number of ranks loads it.
///
/// throws     KeyError, TypeError, ValueError, RuntimeError as load_checkpoint does, for a damaged file or a file that
///            is no training of this Model, for a part that is missing or of another save; RuntimeError in a hook of a
///            training of this Model; after an error nothing has changed
template <class M>
void load_training(const std::string& path, M& model) {
  detail::refuse_torch_save(path);
  static_cast<void>(detail::is_ckpt_path("load", path));
  detail::TrainingFile::refuse_in_run(model, path);
  const ParameterList list(model.network());
  detail::TrainingFile file;
  std::vector<io::NamedTensor> own;
  file.add_to(own);
  detail::read_training(path, own, false);
  std::vector<io::NamedTensor> all = detail::TrainingFile::tensors(model, detail::Look::change);
  detail::TrainingFile::leave_out_others(model, all);
  if (file.counts[0] == 0 && detail::parts_of(path).empty())
    if (const detail::MindSporeNumbers theirs = detail::read_mindspore_numbers(path); theirs.global_step >= 0) {
      if (ParameterArena* const arena = list.arena()) arena->change();
      detail::leave_out_frozen(all, list, path);
      detail::read_mindspore_training(path, all);
      file.take(theirs, model);
      detail::MindSporeNumbers::compare(path, theirs, detail::MindSporeNumbers::of(model.optimizer(), file.counts[2]));
      return file.give(model);
    }
  file.check(path);
  file.states = detail::read_callback_states(path);
  file.find_group_rates(model, path);
  file.add_to(all);
  if (ParameterArena* const arena = list.arena()) arena->change();
  detail::read_training(path, all, true);
  file.give(model);
}
/// The error for arguments in the wrong order.
template <class M>
void save_training(const std::string&, M&) {
  using Wrong = Mistake<detail::ArgumentsSwapped<"save_training(model, \"run.safetensors\")", M>>;
  static_cast<void>(Wrong::corrected);
}
template <class M>
void load_training(M&, const std::string&) {
  using Wrong = Mistake<detail::ArgumentsSwapped<"load_training(\"run.safetensors\", model)", M>>;
  static_cast<void>(Wrong::corrected);
}

#if TENON_DEFINES
namespace detail {
[[gnu::cold, gnu::noinline]] TENON_INLINE void TrainingFile::add_to(std::vector<io::NamedTensor>& all) {
  const auto count = std::int64_t(counts.size()), number = std::int64_t(numbers.size());
  all.push_back({std::string(counts_name), AnyTensor(Dtype::int64, {&count, 1}, counts.data())});
  all.push_back({std::string(numbers_name), AnyTensor(Dtype::float64, {&number, 1}, numbers.data())});
  for (auto& [name, bytes] : states) {
    const auto size = std::int64_t(bytes.size());
    all.push_back({name, AnyTensor(Dtype::uint8, {&size, 1}, bytes.data())});
  }
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void TrainingFile::take_callback_states(const CallbackStates& of_file) {
  for (const auto& state : of_file)
    if (state.first.starts_with(callback_state_prefix)) states.push_back(state);
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void TrainingFile::name_slots(std::span<const std::string_view> slots) {
  for (const std::string_view slot : slots)
    if (!is_known_slot(slot)) states.emplace_back(text(slot_entry_prefix, slot), std::string(1, '\0'));
}
[[gnu::cold, gnu::noinline]] TENON_INLINE_CONSTRUCTOR TrainingCopy::TrainingCopy(const TrainingSource& source) {
  source.take(source.model, file_);
  tensors_ = source.tensors(source.model, true);
  for (io::NamedTensor& named : tensors_) {
    AlignedBytes& copy = bytes_.emplace_back(named.tensor.bytes(), "a copy of a training");
    std::memcpy(copy.data(), named.tensor.data, named.tensor.bytes());
    named.tensor.data = copy.data();
  }
  file_.add_to(tensors_);
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void save_training_of(const TrainingSource& source, const std::string& path,
                                                                const std::vector<io::NamedValue>& values) {
  static_cast<void>(is_ckpt_path("save", path));
  TrainingFile file;
  source.take(source.model, file);
  std::vector<io::NamedTensor> all = source.tensors(source.model, true);
  file.add_to(all);
  write_training(path, all, values, file.mindspore);
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void save_parts_of(const TrainingSource& source, const std::string& path,
                                                             const std::vector<io::NamedValue>& values) {
  PartFacts own;
  static_cast<void>(part_path(path, own.rank, own.ranks));
  if (!source.request_parts || !source.request_parts(source.model, path, own)) {
    save_training_of(source, path, values);
    return remove_parts(path);
  }
  TrainingFile file;
  source.take(source.model, file);
  std::vector<io::NamedTensor> all = source.tensors(source.model, false);
  file.add_to(all);
  all.push_back(own.tensor());
  write_training(part_path(path, own.rank, own.ranks), all, values, file.mindspore);
  static_cast<void>(::unlink(path.c_str()));
  remove_parts(path, own.ranks);
}
[[gnu::cold, gnu::noinline]] TENON_INLINE CallbackStates read_callback_states(const std::string& path) {
  CallbackStates states;
  std::vector<std::string> files = parts_of(path);
  if (files.empty()) files.push_back(path);
  const auto take = [&](const io::HeldTensors& file) {
    for (const io::NamedTensor& named : file.tensors)
      if ((named.name.starts_with(callback_state_prefix) || named.name == TrainingFile::rates_name ||
           named.name.starts_with(slot_entry_prefix)) &&
          named.tensor.dtype == Dtype::uint8)
        states.emplace_back(named.name, std::string(static_cast<const char*>(named.tensor.data), named.tensor.bytes()));
  };
  for (const std::string& one : files) read_checkpoint(one, take);
  return states;
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void TrainingFile::read_group_rates(long count, const std::string& path) {
  for (const auto& [name, bytes] : states) {
    if (name != rates_name) continue;
    if (bytes.size() != std::size_t(count) * sizeof(double))
      throw_error<ValueError>("'", path, "' holds a training with learning rates of ", bytes.size() / sizeof(double),
                              " groups, the optimizer has ", count, " groups with one number as their learning rate.");
    CallbackState rates(bytes);
    for (double rate = 0; long(group_rates.size()) < count; group_rates.emplace_back(rate)) rates(rate);
  }
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void TrainingFile::check(const std::string& path) const {
  if (counts[0] == 0)
    throw_error<KeyError>("'", path, "' holds no training: there is no '", counts_name,
                          "' in it, and no 'global_step' of MindSpore's. load_checkpoint(path, net) loads parameters "
                          "alone.");
  if (counts[0] != version)
    throw_error<ValueError>("'", path, "' holds a training of version ", counts[0], ", this program reads version ",
                            version, ".");
  for (std::size_t i = 2; i < counts.size(); ++i)
    if (counts[i] < 0 || counts[i] > std::int64_t{1} << 62)
      throw_error<ValueError>("'", path, "' is damaged: number ", i, " of its training is ", counts[i], ".");
  for (std::size_t i = 0; i < 5; ++i)
    if (!(numbers[i] >= 0 && numbers[i] <= 0x1p62))
      throw_error<ValueError>("'", path, "' is damaged: number ", i, " of its loss scale is ", numbers[i], ".");
}
}  // namespace detail
#endif  // TENON_DEFINES

}  // namespace tenon
