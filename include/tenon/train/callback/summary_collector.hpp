// SummaryCollector: records the loss, parameters, inputs, the graph, and the lineage of a training while it runs. Needs
// protozero; with libpng it records images, too.
#pragma once
#include <sys/stat.h>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/log/log.hpp>
#include <tenon/dataset/stage/lineage.hpp>
#include <tenon/io/tensors/named_value.hpp>
#include <tenon/io/text/escaped_text.hpp>
#include <tenon/train/callback/callback.hpp>
#include <tenon/train/callback/run/learning_rate_of.hpp>
#include <tenon/train/checkpoint.hpp>
#include <tenon/train/eval_result.hpp>
#include <tenon/train/record/event_graph.hpp>
#include <tenon/train/summary_record.hpp>

namespace tenon::inline TENON_ABI {

/// What a SummaryCollector records. keep_default_action decides about options that are not set.
struct CollectSpecifiedData {
  std::optional<bool> collect_metric{};         // the loss, as loss/auto
  std::optional<bool> collect_graph{};          // the compiled training step, as train_network/auto
  std::optional<bool> collect_train_lineage{};  // optimizer, learning rate, loss, epochs, ... at the end of a training
  std::optional<bool> collect_eval_lineage{};   // the metrics at the end of an evaluation
  std::optional<bool> collect_input_data{};     // the first column of the batch, if it has images, as input_data/auto
  std::optional<bool> collect_dataset_graph{};  // the stages of the data set
  // Parameters whose names begin with a match of this expression, as <parameter>/auto; "": the first five.
  std::optional<std::string> histogram_regular{};
};

struct SummaryCollectorConfig {
  long collect_freq = 10;  // steps; the first one is always recorded
  CollectSpecifiedData collect_specified_data{};
  bool keep_default_action = true;  // false: only what is set above
  // numbers and texts of your own, beside the lineage: {{"version", "first try"}, {"layers", 3}}
  std::vector<io::NamedValue> custom_lineage_data{};
  std::optional<long> collect_tensor_freq{};  // of tensor summaries; none: about 20 in a training
  std::optional<std::int64_t> max_file_size{};
  SummaryFormat format = SummaryFormat::mindspore;
};

namespace detail {
/// The steps of a training, or the largest number: one "until it is stopped" may have more than a long counts.
constexpr long count_steps(long epochs, long batches) {
  constexpr long most = std::numeric_limits<long>::max();
  return batches > 0 && epochs > most / batches ? most : epochs * batches;
}
/// The steps in which tensors are recorded.
struct TensorSteps {
  long every = 1, last = 0;
  bool has(long step) const { return step <= last && step % every == 0; }
};
/// `every` of a training of `steps`, or about 20 in it, which MindSpore's rule makes 19 to 21.
constexpr TensorSteps tensor_steps(long steps, long collect_freq, std::optional<long> every) {
  constexpr long most = 20;
  if (every) return {*every, steps};
  if (steps / collect_freq + 1 <= most) return {collect_freq, steps};
  const long spread = steps / (most - 1);
  if (spread > 1) return {spread, spread * (most - 1)};
  return {1, most};
}

void check_collector(const SummaryCollectorConfig& config);
/// {"accuracy": 0.97, "loss": 0.1}, as Python's json writes it.
std::string metrics_json(const EvalResult& metrics);
io::CustomLineage custom_lineage(const std::vector<io::NamedValue>& values);
/// {"ckpt": "/path"} with the whole path, and the file's size.
void add_checkpoint(io::TrainLineage& lineage, const std::string* path);
}  // namespace detail

/// Records a training, and evaluations, in files that MindInsight reads, or TensorBoard:
///
///     model.train(10, data, SummaryCollector("summary_dir", {.format = SummaryFormat::tensorboard}));
///
/// In the first step, and in every step whose number collect_freq divides, it records loss/auto, input_data/auto,
/// <parameter>/auto, and the values of summary operators. Before the first step it records the graph and the stages of
/// the data set, and at the end the lineage. Each training, and each evaluation by eval(), also in a hook of a
/// training, makes a file (train/summary_record.hpp). If the disk is full or the folder has disappeared, one warning
/// reports this, and the training continues. Weights are bit-identical with and without it.
///
/// throws      ValueError for frequencies below 1, an expression that is none, and for a second SummaryCollector among
///             the callbacks of a run; RuntimeError if the folder cannot be made
/// source      MindSpore SummaryCollector of 2.10, without collect_landscape. Steps are counted in sink mode, too, and
///             an evaluation by fit() is recorded in the training's file
class SummaryCollector {
 public:
  static constexpr bool writes = true;

  explicit SummaryCollector(std::string summary_dir, const SummaryCollectorConfig& config = {})
      : folder_(std::move(summary_dir)), config_(config) {
    detail::check_collector(config_);
    detail::make_summary_directory(folder_);
  }

  /// A Model passes the data set to it.
  template <class Data>
  void take_data(const Data& data) {
    if (wants(config_.collect_specified_data.collect_dataset_graph)) dataset_ = dataset::lineage_of(data);
  }

  void on_train_begin(auto& run) requires requires { run.model.network(); }
  {
    outer_.reset(), own_evaluation_ = false;  // of a training or an evaluation that an error has ended
    open_record(run);
    record_->set_mode("train");
    begun_ = false, no_images_ = false, batch_size_ = 0;
    tensors_ = detail::tensor_steps(detail::count_steps(run.epoch_num, run.batch_num), config_.collect_freq,
                                    config_.collect_tensor_freq);
  }
  void on_train_step_begin(RunInfo& run) {
    end_own_evaluation();
    if (record_) record_->take_operators(wants_values(run.cur_step_num) || wants_tensors(run.cur_step_num));
  }
  void on_train_step_end(auto& run) requires requires { run.model.network(); }
  {
    end_own_evaluation();
    if (!record_) return;
    const long step = run.cur_step_num;
    const bool values = wants_values(step), tensors = wants_tensors(step);
    if (values || tensors) {
      if (!begun_) add_first(run);
      begun_ = true;
      if (values) add_values(run);
      record_->record(step, [&](std::string_view plugin) { return plugin == "tensor" ? tensors : values; });
    }
    record_->take_operators(false);  // of evaluations between steps
  }
  void on_train_epoch_end(RunInfo&) {
    end_own_evaluation();
    if (record_) record_->flush();
  }
  void on_train_end(auto& run) requires requires { run.model.network(); }
  {
    end_own_evaluation();
    if (!record_) return;
    if (wants(config_.collect_specified_data.collect_train_lineage))
      record_->add_value("train_lineage", "train_lineage", train_lineage(run));
    record_->set_mode("eval");
    record_->record(0);
    record_.reset();
  }

  void on_eval_begin(auto& run) requires requires { run.model.network(); }
  {
    end_own_evaluation();
    own_evaluation_ = !run.in_fit || !record_;
    if (own_evaluation_) {
      outer_ = std::move(record_);  // a hook of a training may have called eval, and the training continues after it
      open_record(run);
    }
    record_->set_mode("eval");
    eval_batch_size_ = 0;
  }
  void on_eval_step_end(RunInfo& run) {
    if (eval_batch_size_ == 0) eval_batch_size_ = batch_size_of(run);
  }
  void on_eval_end(RunInfo& run) {
    if (!record_) return;
    if (wants(config_.collect_specified_data.collect_eval_lineage) && run.metrics)
      record_->add_value("eval_lineage", "eval_lineage",
                         io::EvalLineage{detail::metrics_json(*run.metrics), "",
                                         static_cast<std::int32_t>(eval_batch_size_ * run.batch_num)});
    record_->record(0);
    if (own_evaluation_) end_own_evaluation();
    else record_->set_mode("train");
  }

 private:
  /// The record of the training around an evaluation is the one again, also if an error has ended the evaluation.
  void end_own_evaluation() {
    if (std::exchange(own_evaluation_, false)) record_ = std::move(outer_);
  }
  bool wants(const std::optional<bool>& asked) const { return asked.value_or(config_.keep_default_action); }

  void open_record(RunInfo& run) {
    constexpr std::string_view name = "tenon.summary_collector";
    if (run.find<bool>(name))
      throw_error<ValueError>("There is more than one SummaryCollector among the callbacks of a run; give it one.");
    run[name] = true;
    record_ = std::make_shared<SummaryRecord>(
        folder_, SummaryRecordConfig{.max_file_size = config_.max_file_size, .format = config_.format});
  }
  static long batch_size_of(const RunInfo& run) {
    const std::vector<AnyTensor> columns = run.dataset_element();
    return columns.empty() || columns[0].rank == 0 ? 1 : long(columns[0].extent[0]);
  }
  bool wants_values(long step) const { return !begun_ || step % config_.collect_freq == 0; }
  bool wants_tensors(long step) const { return !begun_ || tensors_.has(step); }

  void add_first(const RunInfo& run) {
    batch_size_ = batch_size_of(run);
    if (wants(config_.collect_specified_data.collect_graph)) {
      if (run.program) record_->add_value("graph", "train_network/auto", event_graph(*run.program));
      else logging::warning("SummaryCollector: this Model has no compiled graph, so that none is recorded.");
    }
    if (dataset_) record_->add_value("dataset_graph", "train_dataset", *dataset_);
    if (!config_.custom_lineage_data.empty() && !custom_recorded_)
      record_->add_value("custom_lineage_data", "custom_lineage_data",
                         detail::custom_lineage(config_.custom_lineage_data));
    custom_recorded_ = true;
  }
  void add_values(auto& run) {
    add_input(run);
    if (wants(config_.collect_specified_data.collect_metric) && !run.net_outputs.empty())
      record_->add_value("scalar", "loss/auto", run.loss());
    add_parameters(run);
  }
  void add_input(const RunInfo& run) {
    if (!wants(config_.collect_specified_data.collect_input_data) || no_images_) return;
    const std::vector<AnyTensor> columns = run.dataset_element();
    const bool fits =
        !columns.empty() && columns[0].rank == 4 && (columns[0].extent[1] == 1 || columns[0].extent[1] == 3);
    no_images_ = !fits || !io::has_png;
    if (no_images_) {
      if (config_.collect_specified_data.collect_input_data || (fits && !io::has_png))
        logging::warning("SummaryCollector records no input data: ",
                         fits ? "this program was built without libpng (CMake: tenon::png)."
                              : "the first column of the batch has no images [N, C, H, W] with 1 or 3 channels.");
      return;
    }
    try {
      record_->add_value("image", "input_data/auto", columns[0]);
    } catch (const Error& error) {
      no_images_ = true;
      logging::warning("SummaryCollector records no input data: ", error.what());
    }
  }
  void add_parameters(auto& run) {
    const std::optional<std::string>& pattern = config_.collect_specified_data.histogram_regular;
    if (!pattern && !config_.keep_default_action) return;
    const bool chosen = pattern && !pattern->empty();
    std::optional<std::regex> expression;
    if (chosen) expression.emplace(*pattern);
    constexpr int first_ones = 5;
    int count = 0;
    const ParameterList list(run.model.network());
    for (int e = 0; e < list.entries(); ++e) {
      const Entry& entry = list.table()[e];
      if (!entry.parameter || !entry.trainable || !list.handle(e).requires_grad()) continue;
      const std::string name = parameter_name(list.table(), e);
      const bool taken =
          chosen ? std::regex_search(name, *expression, std::regex_constants::match_continuous) : count++ < first_ones;
      if (!taken) continue;
      AnyTensor values(entry.dims, 1, list.handle(e).values_at(entry.dims.bytes(1), detail::Look::read));
      if (values.rank == 0) values = AnyTensor(values.dtype, std::vector<std::int64_t>{1}, values.data);
      record_->add_value("histogram", name + "/auto", values);
    }
  }
  io::TrainLineage train_lineage(auto& run) const {
    io::TrainLineage lineage;
    lineage.network = class_name<std::remove_cvref_t<decltype(run.model.network())>>();
    lineage.optimizer = std::remove_cvref_t<decltype(run.model.optimizer())>::name;
    lineage.loss_function = class_name<std::remove_cvref_t<decltype(run.loss_fn())>>();
    if (lineage.loss_function == "NoLoss") lineage.loss_function.clear();
    if constexpr (requires { run.learning_rate(); }) lineage.learning_rate = run.learning_rate();
    if (!run.net_outputs.empty()) lineage.loss = static_cast<float>(run.loss());
    lineage.parallel_mode = run.parallel_mode;
    lineage.epoch = static_cast<std::int32_t>(run.epoch_num);
    lineage.batch_size = static_cast<std::int32_t>(batch_size_);
    lineage.dataset_size = static_cast<std::int32_t>(batch_size_ * run.batch_num);
    detail::add_checkpoint(lineage, run.template find<std::string>("latest_ckpt_file"));
    return lineage;
  }

  std::string folder_;
  SummaryCollectorConfig config_;
  std::shared_ptr<SummaryRecord> record_;  // shared: callbacks may be copied before a training
  std::shared_ptr<SummaryRecord> outer_;   // of the training in which an evaluation outside of fit() has its own
  std::optional<io::DatasetGraph> dataset_;
  detail::TensorSteps tensors_;
  long batch_size_ = 0, eval_batch_size_ = 0;
  bool begun_ = false, custom_recorded_ = false, no_images_ = false, own_evaluation_ = false;
};

namespace detail {
inline void check_collector(const SummaryCollectorConfig& config) {
  const auto positive = [](std::string_view name, std::int64_t value) {
    if (value < 1) throw_error<ValueError>("SummaryCollector: ", name, " must be 1 or more, got ", value, ".");
  };
  positive("collect_freq", config.collect_freq);
  positive("collect_tensor_freq", config.collect_tensor_freq.value_or(1));
  positive("max_file_size", config.max_file_size.value_or(1));
  const std::string pattern = config.collect_specified_data.histogram_regular.value_or("");
  try {
    const std::regex expression(pattern);
  } catch (const std::regex_error& error) {
    throw_error<ValueError>("SummaryCollector: histogram_regular '", pattern,
                            "' is no regular expression: ", error.what(), ".");
  }
}
inline std::string metrics_json(const EvalResult& metrics) {
  std::string json = "{";
  for (const auto& [name, value] : metrics) {
    std::string number = text(value);
    if (std::isnan(value)) number = "NaN";
    else if (std::isinf(value)) number = value > 0 ? "Infinity" : "-Infinity";
    else if (number.find_first_of(".e") == number.npos) number += ".0";
    json += text(json.size() > 1 ? ", \"" : "\"", io::json_escaped(name), "\": ", number);
  }
  return json + "}";
}
inline io::CustomLineage custom_lineage(const std::vector<io::NamedValue>& values) {
  io::CustomLineage result;
  for (const io::NamedValue& named : values) {
    io::CustomLineage::Entry entry{named.name, io::text_of(named)};
    if (const auto* whole = std::get_if<std::int64_t>(&named.value)) entry.value = *whole;
    if (const auto* real = std::get_if<double>(&named.value)) entry.value = *real;
    if (const auto* flag = std::get_if<bool>(&named.value)) entry.value = std::int64_t{*flag};
    result.entries.push_back(std::move(entry));
  }
  return result;
}
inline void add_checkpoint(io::TrainLineage& lineage, const std::string* path) {
  struct stat status{};
  if (!path || ::stat(path->c_str(), &status) != 0) return;
  char* const whole = ::realpath(path->c_str(), nullptr);
  lineage.model_path = text(R"({"ckpt": ")", io::json_escaped(whole ? whole : *path), "\"}");
  std::free(whole);
  lineage.model_size = status.st_size;
}
}  // namespace detail

}  // namespace tenon
