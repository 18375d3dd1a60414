// ModelCheckpoint: saves a training while it runs, and keeps the last few files.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/train/callback/run/callback_turn.hpp>
#include <tenon/train/callback/run/run_info.hpp>
#include <tenon/train/file/background_writer.hpp>
#include <tenon/train/training_file.hpp>
#if TENON_DEFINES
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <exception>

#include <tenon/core/log/log.hpp>
#include <tenon/core/process_rank.hpp>
#include <tenon/train/callback/checkpoint_family.hpp>
#include <tenon/train/step/clock.hpp>
#endif

namespace tenon::inline TENON_ABI {
namespace detail {
struct ReservedRun;
}

/// The format of the files of a ModelCheckpoint.
enum class CheckpointFormat { safetensors, ckpt };

/// When ModelCheckpoint saves, and which files it keeps; 0 switches a rule off.
struct CheckpointConfig {
  long save_checkpoint_steps = 1;          // every n steps
  double save_checkpoint_seconds = 0;      // after so much time; only without a number of steps
  long keep_checkpoint_max = 5;            // the last n files of this run stay
  long keep_checkpoint_per_n_minutes = 0;  // the first file of every n minutes stays; only without a maximum
  long save_total_limit = 0;               // this many files stay in all, of this run and of runs that have ended
  CheckpointFormat format = CheckpointFormat::safetensors;  // ckpt: MindSpore's, with <tenon/train/ckpt.hpp>
  bool async_save = false;                                  // a thread writes a copy while the training continues
  // saved beside the training; "epoch_num" and "step_num" grow from the number given here, `{{"epoch_num"}}` from 0
  std::vector<io::NamedValue> append_info{};
  bool in_parts =
      false;  // save_training_in_parts: with moments that ranks divide, each rank writes a file; no async_save
};

namespace detail {
/// The files of one run of a ModelCheckpoint: their names, which of them stay, and when the next one is due.
class CheckpointFiles {
 public:
  CheckpointFiles(std::string_view prefix, std::string_view directory, const CheckpointConfig& config);

  void begin(long step);
  /// Whether a file is due after `step` steps; `last`: the run is over.
  bool due(long step, bool last) const;
  /// The path of the next file.
  std::string next(const RunInfo& run) const;
  /// The information that is saved in addition to the training.
  std::vector<io::NamedValue> values(const RunInfo& run) const;
  /// A file is being written.
  void begun(long step);
  /// The file is complete: removes the files that it replaces, which had to exist until now, because a save may fail.
  void saved(std::string path);
  const std::string& latest() const { return latest_; }
  bool in_background() const { return config_.async_save; }
  bool in_parts() const { return config_.in_parts; }

 private:
  void reserve();
  // Removes the oldest files of the family that are more than its limit.
  void limit_family();
  void remove(const std::string& path) const;

  std::string family_, prefix_, directory_;  // the prefix that was asked for, and the one of this run
  std::shared_ptr<ReservedRun> run_;         // which keeps the run's prefix from others
  CheckpointConfig config_;
  std::vector<std::string> kept_;  // the oldest first
  std::string latest_;
  long last_step_ = 0;
  double last_time_ = 0, window_ = 0;
  std::size_t in_window_ = 0;  // files since the window began
};
}  // namespace detail

/// Saves the training, with all that load_training needs to continue with it, to
/// `<directory>/<prefix>-<epoch>_<step in epoch>.safetensors`, or `.ckpt`, as often as the config states, and at the
/// end:
///
///     if (const auto file = latest_checkpoint("lenet", "ckpt")) load_training(*file, model);
///     model.train(10, data, ModelCheckpoint("lenet", "ckpt", {.save_checkpoint_steps = 500}));
///
/// Creates the directory if it does not exist. If the directory has files with the prefix, or if another active run
/// uses the prefix, the prefix becomes `<prefix>_1`, or the largest number in use plus one. No run therefore overwrites
/// or removes files of another run, even if both start at the same time: during the run it holds the lock of
/// `.<prefix>_1.lock`, an empty file in the directory. keep_checkpoint_max limits the files of this run.
/// save_total_limit also counts files of runs that have ended, such as those before a restart. The oldest files are
/// removed first, but never files of another active run. A process that watches one file needs SaveBest, because each
/// file here has a new name. A further run with the same object is a new run, unless it was resumed. Files are saved
/// after all hooks of a step, at any position in the list (docs/training.md). latest_ckpt_file_name() returns the path
/// of the last file; other callbacks find it in run["latest_ckpt_file"]. With async_save another thread writes a file,
/// from a copy of the training, and the file counts as the last one when it is complete; the next save and the end of
/// the training wait for it, and report if it could not be written. After a run that an error has ended the begin of
/// the next one does, and a warning reports it.
///
/// throws      ValueError for a prefix with '/', numbers below 0, and a config in which no rule is left; RuntimeError
///             if the directory cannot be made, read, or written
/// source      MindSpore ModelCheckpoint. There the numbers of steps and seconds may both be 0 if a number of files is
///             given; then nothing is saved. Tenon does the same, with a warning
class ModelCheckpoint {
 public:
  static constexpr bool writes = true;
  static constexpr CallbackTurn turn = CallbackTurn::saves;

  explicit ModelCheckpoint(std::string_view prefix = "CKP", std::string_view directory = ".",
                           const CheckpointConfig& config = {})
      : files_(prefix, directory, config) {}

  const std::string& latest_ckpt_file_name() const { return files_.latest(); }

  void on_train_begin(auto& run) requires requires { run.model.network(); }
  {
    end_run_before();
    files_.begin(run.cur_step_num);
  }
  void on_train_step_end(auto& run) requires requires { run.model.network(); }
  {
    // a run that ends within an epoch is resumed there, and tells of the epoch's end again
    if (files_.due(run.cur_step_num, run.stop_requested)) save(run, detail::TrainingSource(run.model));
  }
  void on_train_end(auto& run) requires requires { run.model.network(); }
  {
    if (!run.diverged && files_.due(run.cur_step_num, true)) save(run, detail::TrainingSource(run.model));
    finish(run);
  }

 private:
  [[gnu::cold]] void save(RunInfo& run, const detail::TrainingSource& training);
  // Waits for the file on its way, if there is one.
  [[gnu::cold]] void finish(RunInfo& run);
  [[gnu::cold]] void saved(RunInfo& run);
  // Waits for the last file of a run that an error has ended, which is among that run's.
  [[gnu::cold]] void end_run_before();

  detail::CheckpointFiles files_;
  std::string on_its_way_;
  long step_ = 0;
  std::shared_ptr<detail::BackgroundWriter> writer_;  // shared: callbacks may be copied before a training
};

/// The last file that a ModelCheckpoint with this prefix wrote, in any run: the file with the largest number after the
/// prefix, epoch, and step. Empty if there is no such file or directory.
std::optional<std::string> latest_checkpoint(std::string_view prefix = "CKP", std::string_view directory = ".");

#if TENON_DEFINES
[[gnu::cold, gnu::noinline]] TENON_INLINE void ModelCheckpoint::save(RunInfo& run,
                                                                     const detail::TrainingSource& training) {
  finish(run);
  on_its_way_ = files_.next(run);
  step_ = run.cur_step_num;
  files_.begun(step_);
  if (!files_.in_background()) {
    (files_.in_parts() ? detail::save_parts_of : detail::save_training_of)(training, on_its_way_, files_.values(run));
    return saved(run);
  }
  if (!writer_) writer_ = std::make_shared<detail::BackgroundWriter>();
  writer_->start(
      [copy = std::make_shared<const detail::TrainingCopy>(training), path = on_its_way_, values = files_.values(run)] {
        detail::write_training(path, copy->tensors(), values, copy->mindspore());
      });
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void ModelCheckpoint::finish(RunInfo& run) {
  if (!writer_ || !writer_->busy()) return;
  writer_->finish();
  saved(run);
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void ModelCheckpoint::saved(RunInfo& run) {
  files_.saved(on_its_way_);
  run["latest_ckpt_file"] = on_its_way_;
  run["last_save_ckpt_step"] = step_;
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void ModelCheckpoint::end_run_before() try {
  if (!writer_ || !writer_->busy()) return;
  writer_->finish();
  files_.saved(on_its_way_);
} catch (const std::exception& error) {
  logging::warning("ModelCheckpoint: '", on_its_way_,
                   "' of the run before, which an error has ended, is not written: ", error.what());
}
namespace detail {
constexpr std::string_view suffix(CheckpointFormat format) {
  return format == CheckpointFormat::ckpt ? ".ckpt" : ".safetensors";
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void make_directory(const std::string& path) {
  if (io::directory_exists(path)) return;
  if (const std::string above = io::directory_of(path); above != path) make_directory(above);
  if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) io::throw_system_error("make the directory", path);
}

[[gnu::cold, gnu::noinline]] TENON_INLINE_CONSTRUCTOR CheckpointFiles::CheckpointFiles(std::string_view prefix,
                                                                                       std::string_view directory,
                                                                                       const CheckpointConfig& config)
    : family_(prefix), directory_(directory), config_(config) {
  const CheckpointConfig& c = config;
  if (prefix.empty() || prefix.find('/') != std::string_view::npos)
    throw_error<ValueError>("ModelCheckpoint: prefix must be the begin of a file name, without '/', got '", prefix,
                            "'; the folder is the next argument.");
  if (c.save_checkpoint_steps < 0 || !(c.save_checkpoint_seconds >= 0) || c.keep_checkpoint_max < 0 ||
      c.keep_checkpoint_per_n_minutes < 0 || c.save_total_limit < 0)
    throw_error<ValueError>("CheckpointConfig: its numbers must be 0 or more, got ", c.save_checkpoint_steps, ", ",
                            c.save_checkpoint_seconds, ", ", c.keep_checkpoint_max, ", ",
                            c.keep_checkpoint_per_n_minutes, ", ", c.save_total_limit, ".");
  const bool saves = c.save_checkpoint_steps > 0 || c.save_checkpoint_seconds > 0;
  if (!saves && c.keep_checkpoint_max == 0 && c.keep_checkpoint_per_n_minutes == 0)
    throw_error<ValueError>("CheckpointConfig: all rules are 0: say when to save, save_checkpoint_steps or "
                            "save_checkpoint_seconds.");
  if (!saves)
    logging::warning("CheckpointConfig: save_checkpoint_steps and save_checkpoint_seconds are 0: nothing is saved.");
  if (c.keep_checkpoint_max == 0 && c.keep_checkpoint_per_n_minutes == 0) config_.keep_checkpoint_max = 1;
  static_cast<void>(is_ckpt_path("save", text(prefix, suffix(c.format))));
  if (c.in_parts && (c.async_save || c.format == CheckpointFormat::ckpt))
    throw_error<ValueError>("CheckpointConfig: files in_parts are safetensors, and no thread writes them: leave ",
                            c.async_save ? "async_save" : "format", " out.");
  if (process_rank.rank != 0) return;
  make_directory(directory_);
  reserve();
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void CheckpointFiles::reserve() {
  ReservedPrefix mine = reserve_prefix(family_, directory_);
  prefix_ = std::move(mine.prefix), run_ = std::move(mine.run);
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void CheckpointFiles::begin(long step) {
  // what is there is the parent's, or of a run before this one, also of one with a copy of this object
  if (!run_) make_directory(directory_), reserve();  // it writes, although it is not rank 0 of the program
  else if (!run_->lock.of_this_process() || (step == 0 && run_->has_files)) kept_.clear(), latest_.clear(), reserve();
  last_step_ = step;
  last_time_ = window_ = now();
  in_window_ = 0;
}
[[gnu::noinline]] TENON_INLINE bool CheckpointFiles::due(long step, bool last) const {
  const bool by_steps = config_.save_checkpoint_steps > 0;
  if (step == last_step_ || (!by_steps && config_.save_checkpoint_seconds <= 0)) return false;
  if (last) return true;
  return by_steps ? step >= last_step_ + config_.save_checkpoint_steps
                  : now() - last_time_ >= config_.save_checkpoint_seconds;
}
[[gnu::cold, gnu::noinline]] TENON_INLINE std::string CheckpointFiles::next(const RunInfo& run) const {
  return io::join_path(directory_,
                       text(prefix_, "-", run.cur_epoch_num, "_", run.step_in_epoch(), suffix(config_.format)));
}
[[gnu::cold, gnu::noinline]] TENON_INLINE std::vector<io::NamedValue> CheckpointFiles::values(
    const RunInfo& run) const {
  std::vector<io::NamedValue> result = config_.append_info;
  for (io::NamedValue& named : result)
    if (std::int64_t* const number = std::get_if<std::int64_t>(&named.value)) {
      if (named.name == "epoch_num") *number += run.cur_epoch_num;
      if (named.name == "step_num") *number += run.cur_step_num;
    }
  return result;
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void CheckpointFiles::begun(long step) {
  last_step_ = step, last_time_ = now(), run_->has_files = true;
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void CheckpointFiles::saved(std::string path) {
  latest_ = path;
  std::erase(kept_, path);  // of a run that was resumed in this process: it is the newest again
  if (config_.keep_checkpoint_max > 0) {
    for (; long(kept_.size()) >= config_.keep_checkpoint_max; kept_.erase(kept_.begin())) remove(kept_.front());
  } else if (last_time_ - window_ >= 60.0 * double(config_.keep_checkpoint_per_n_minutes)) {
    window_ = last_time_, in_window_ = 0;
  } else {
    for (; in_window_ > 1; --in_window_, kept_.pop_back()) remove(kept_.back());
  }
  kept_.push_back(std::move(path));
  ++in_window_;
  if (config_.save_total_limit > 0) limit_family();
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void CheckpointFiles::limit_family() {
  const std::size_t most = std::size_t(config_.save_total_limit);
  for (; kept_.size() > most; kept_.erase(kept_.begin())) remove(kept_.front());
  const std::vector<std::string> ended = checkpoints_of_ended_runs(family_, prefix_, directory_);
  for (std::size_t i = most - kept_.size(); i < ended.size(); ++i) remove(ended[i]);
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void CheckpointFiles::remove(const std::string& path) const {
  if (::unlink(path.c_str()) == 0) return;
  if (errno == ENOENT) remove_parts(path);
  else logging::warning("ModelCheckpoint cannot remove '", path, "': ", std::strerror(errno), ".");
}
}  // namespace detail

[[gnu::cold, gnu::noinline]] TENON_INLINE std::optional<std::string> latest_checkpoint(std::string_view prefix,
                                                                                       std::string_view directory) {
  detail::CheckpointName best;
  std::string name;
  detail::each_file(std::string(directory), [&](std::string_view file) {
    const detail::CheckpointName one = detail::parse_checkpoint_name(file, prefix);
    if (one.valid() && one > best) best = one, name = file;
  });
  if (!best.valid()) return {};
  return io::join_path(std::string(directory), detail::whole_name(name));
}
#endif  // TENON_DEFINES

}  // namespace tenon
