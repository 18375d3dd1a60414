// Every metric against the results and the refusals of MindSpore 2.10 (golden/metrics).
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include <tenon/nn/metric/accuracy.hpp>
#include <tenon/nn/metric/auc.hpp>
#include <tenon/nn/metric/bleu_score.hpp>
#include <tenon/nn/metric/confusion_matrix.hpp>
#include <tenon/nn/metric/confusion_matrix_metric.hpp>
#include <tenon/nn/metric/cosine_similarity.hpp>
#include <tenon/nn/metric/dice.hpp>
#include <tenon/nn/metric/fbeta.hpp>
#include <tenon/nn/metric/loss.hpp>
#include <tenon/nn/metric/mae.hpp>
#include <tenon/nn/metric/metric_set.hpp>
#include <tenon/nn/metric/mse.hpp>
#include <tenon/nn/metric/perplexity.hpp>
#include <tenon/nn/metric/precision.hpp>
#include <tenon/nn/metric/recall.hpp>
#include <tenon/nn/metric/roc.hpp>
#include <tenon/nn/metric/surface/hausdorff_distance.hpp>
#include <tenon/nn/metric/surface/mean_surface_distance.hpp>
#include <tenon/nn/metric/surface/root_mean_square_distance.hpp>
#include <tenon/nn/metric/top_k_categorical_accuracy.hpp>

#include "../support/expect.hpp"
#include "../support/json.hpp"
#include "../support/npz.hpp"
#include "../support/shared.hpp"

using namespace tenon;
using support::Json;
using Values = std::vector<double>;

namespace {

const std::string& folder() {
  static const std::string path = support::shared_folder() + "/golden/metrics/";
  return path;
}
const support::Npz& inputs() {
  static const support::Npz arrays = support::load_npz(folder() + "inputs.npz");
  return arrays;
}
AnyTensor view(const std::string& name) {
  const support::NpyArray& array = inputs()[name];
  return AnyTensor(array.dtype, array.shape, const_cast<char*>(array.bytes.data()));
}

struct Case {
  std::string name;
  const Json& json;

  const Json& arg(const char* key) const { return json["args"][key]; }
  AnyTensor input(std::size_t update, int argument) const {
    return view(name + "/update" + std::to_string(update) + "/" + std::to_string(argument));
  }
};

/// Inputs in float32 are known less well.
double tolerance(const std::string& name) {
  for (const auto& [array_name, array] : inputs().arrays())
    if (array_name.starts_with(name + "/") && array.dtype == Dtype::float32) return 1e-5;
  return 1e-6;
}
void compare(const std::string& name, const Values& found, const Values& expected) {
  support::expect(found.size() == expected.size());
  for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
    CAPTURE(i);
    CAPTURE(found[i]);
    CAPTURE(expected[i]);
    support::expect(std::fabs(found[i] - expected[i]) <= tolerance(name));
  }
}

template <class M>
void update(M& metric, const Case& c, std::size_t u, const Json& arguments) {
  if constexpr (requires { metric.update(c.input(u, 0)); }) metric.update(c.input(u, 0));
  else if constexpr (requires { metric.update(c.input(u, 0), c.input(u, 1)); })
    metric.update(c.input(u, 0), c.input(u, 1));
  else metric.update(c.input(u, 0), c.input(u, 1), arguments.array()[2].number());
}
/// All updates, then each result: `values` is called with true where MindSpore's eval() takes the mean.
template <class M, class F>
void run(const Case& c, M metric, F values) {
  metric.clear();
  const auto& updates = c.json["updates"].array();
  for (std::size_t u = 0; u < updates.size(); ++u) update(metric, c, u, updates[u]);
  for (std::size_t i = 0; i < c.json["eval"].names.size(); ++i)
    compare(c.name, values(metric, c.json["eval"].names[i] == "{\"average\": true}"),
            c.json["eval"].items[i].numbers());
}
constexpr auto number = [](const auto& metric, bool) { return Values{metric.eval()}; };
constexpr auto list = [](const auto& metric, bool) { return metric.eval(); };
constexpr auto each_class = [](const auto& metric, bool mean) {
  return mean ? Values{metric.eval()} : metric.per_class();
};
constexpr auto each_value = [](const auto& metric, bool mean) {
  return mean ? Values{metric.eval()} : metric.values();
};

bool multilabel(const Case& c) { return c.arg("eval_type").string() == "multilabel"; }

nn::DistanceMetric distance_metric(const Case& c) {
  const std::map<std::string, nn::DistanceMetric> known{{"euclidean", nn::DistanceMetric::euclidean},
                                                        {"chessboard", nn::DistanceMetric::chessboard},
                                                        {"taxicab", nn::DistanceMetric::taxicab}};
  return known.at(c.arg("distance_metric").string());
}

void run_confusion_matrix(const Case& c) {
  using enum nn::ConfusionNormalization;
  const std::map<std::string, nn::ConfusionNormalization> known{
      {"no_norm", none}, {"target", target}, {"prediction", prediction}, {"all", all}};
  const Json *normalize = c.json["args"].find("normalize"), *threshold = c.json["args"].find("threshold");
  run(c,
      nn::ConfusionMatrix{int(c.arg("num_classes").number()), normalize ? known.at(normalize->string()) : none,
                          threshold ? threshold->number() : 0.5},
      list);
}

void run_confusion_matrix_metric(const Case& c) {
  using enum nn::ConfusionRate;
  const std::map<std::string, nn::ConfusionRate> known{
      {"sensitivity", sensitivity},
      {"specificity", specificity},
      {"precision", precision},
      {"negative predictive value", negative_predictive_value},
      {"miss rate", miss_rate},
      {"fall out", fall_out},
      {"false discovery rate", false_discovery_rate},
      {"false omission rate", false_omission_rate},
      {"prevalence threshold", prevalence_threshold},
      {"threat score", threat_score},
      {"accuracy", accuracy},
      {"balanced accuracy", balanced_accuracy},
      {"f1 score", f1_score},
      {"matthews correlation coefficient", matthews_correlation_coefficient},
      {"fowlkes mallows index", fowlkes_mallows_index},
      {"informedness", informedness},
      {"markedness", markedness}};
  run(c,
      nn::ConfusionMatrixMetric{
          known.at(c.arg("metric_name").string()),
          {.first_channel = c.arg("skip_channel").boolean(), .per_sample = c.arg("calculation_method").boolean()}},
      number);
}

/// All fpr, all tpr, all thresholds, as MindSpore orders them.
Values flat(const std::vector<nn::RocCurve>& curves) {
  Values all;
  for (const auto part : {&nn::RocCurve::fpr, &nn::RocCurve::tpr, &nn::RocCurve::thresholds})
    for (const nn::RocCurve& curve : curves)
      for (const double one : curve.*part) all.push_back(one);
  return all;
}
void run_roc(const Case& c) {
  if (const Json* label = c.json["args"].find("pos_label"))
    return run(c, nn::ROC{{.pos_label = long(label->number())}},
               [](const nn::ROC& roc, bool) { return flat(roc.eval()); });
  // MindSpore reads the elements of [n, C] as [C, n] and takes its first C columns for the scores of the first C
  // samples: the curves of these numbers must be the same.
  const long classes = long(c.arg("class_num").number());
  const AnyTensor scores = c.input(0, 0), labels = c.input(0, 1);
  const long n = long(scores.extent[0]);
  std::vector<float> mixed;
  for (long row = 0; row < classes; ++row)
    for (long column = 0; column < classes; ++column)
      mixed.push_back(scores.as<float>()[std::size_t(row * n + column)]);
  nn::ROC roc;
  const std::int64_t shape[]{classes, classes};
  roc.update(AnyTensor(Dtype::float32, shape, mixed.data()), AnyTensor(labels.dtype, {shape, 1}, labels.data));
  compare(c.name, flat(roc.eval()), c.json["eval"]["{}"].numbers());
}

nn::Words words(const Json& list) {
  nn::Words result;
  for (const Json& word : list.array()) result.push_back(word.string());
  return result;
}
void run_bleu(const Case& c) {
  nn::BleuScore bleu{int(c.arg("n_gram").number()), c.arg("smooth").boolean()};
  for (const Json& arguments : c.json["updates"].array()) {
    std::vector<nn::Words> candidates;
    std::vector<std::vector<nn::Words>> references;
    for (const Json& candidate : arguments.array()[0].array()) candidates.push_back(words(candidate));
    for (const Json& sentence : arguments.array()[1].array()) {
      references.emplace_back();
      for (const Json& reference : sentence.array()) references.back().push_back(words(reference));
    }
    bleu.update(candidates, references);
  }
  compare(c.name, {bleu.eval()}, c.json["eval"]["{}"].numbers());
}

void run_cosine_similarity(const Case& c) {
  const std::map<std::string, nn::Reduction> known{
      {"none", nn::Reduction::none}, {"sum", nn::Reduction::sum}, {"mean", nn::Reduction::mean}};
  const auto similarity = c.arg("similarity").string() == "dot" ? nn::Similarity::dot : nn::Similarity::cosine;
  run(c,
      nn::CosineSimilarity{{.similarity = similarity,
                            .reduction = known.at(c.arg("reduction").string()),
                            .zero_diagonal = c.arg("zero_diagonal").boolean()}},
      list);
}

void run_hausdorff(const Case& c) {
  nn::HausdorffOptions options{.distance_metric = distance_metric(c), .directed = c.arg("directed").boolean()};
  if (!c.arg("percentile").is_null()) options.percentile = c.arg("percentile").number();
  run(c, nn::HausdorffDistance{options}, number);
}
void run_perplexity(const Case& c) {
  const Json& ignored = c.arg("ignore_label");
  run(c, ignored.is_null() ? nn::Perplexity{} : nn::Perplexity{long(ignored.number())}, number);
}

using Runner = void (*)(const Case&);
const std::map<std::string, Runner>& classes() {
  static const std::map<std::string, Runner> all{
      {"Accuracy",
       [](const Case& c) {
         multilabel(c) ? run(c, nn::MultilabelAccuracy{}, number) : run(c, nn::Accuracy{}, number);
       }},
      {"Precision",
       [](const Case& c) {
         multilabel(c) ? run(c, nn::MultilabelPrecision{}, each_value) : run(c, nn::Precision{}, each_class);
       }},
      {"Recall",
       [](const Case& c) {
         multilabel(c) ? run(c, nn::MultilabelRecall{}, each_value) : run(c, nn::Recall{}, each_class);
       }},
      {"F1", [](const Case& c) { run(c, nn::F1{}, each_class); }},
      {"Fbeta", [](const Case& c) { run(c, nn::Fbeta{c.arg("beta").number()}, each_class); }},
      {"Loss", [](const Case& c) { run(c, nn::Loss{nn::MeanOver::batches}, number); }},
      {"MAE", [](const Case& c) { run(c, nn::MAE{}, number); }},
      {"MSE", [](const Case& c) { run(c, nn::MSE{}, number); }},
      {"Top1CategoricalAccuracy", [](const Case& c) { run(c, nn::Top1CategoricalAccuracy{}, number); }},
      {"Top5CategoricalAccuracy", [](const Case& c) { run(c, nn::Top5CategoricalAccuracy{}, number); }},
      {"TopKCategoricalAccuracy",
       [](const Case& c) { run(c, nn::TopKCategoricalAccuracy{int(c.arg("k").number())}, number); }},
      {"ConfusionMatrix", run_confusion_matrix},
      {"ConfusionMatrixMetric", run_confusion_matrix_metric},
      {"ROC", run_roc},
      {"BleuScore", run_bleu},
      {"CosineSimilarity", run_cosine_similarity},
      {"Dice", [](const Case& c) { run(c, nn::Dice{{.smooth = c.arg("smooth").number()}}, number); }},
      {"Perplexity", run_perplexity},
      {"HausdorffDistance", run_hausdorff},
      {"MeanSurfaceDistance",
       [](const Case& c) {
         run(c, nn::MeanSurfaceDistance{{c.arg("symmetric").boolean(), distance_metric(c)}}, number);
       }},
      {"RootMeanSquareDistance",
       [](const Case& c) {
         run(c, nn::RootMeanSquareDistance{{c.arg("symmetric").boolean(), distance_metric(c)}}, number);
       }},
  };
  return all;
}

/// The function auc, whose cases are named after their arguments.
double area(const std::string& name) {
  Values x = inputs()["auc/x"].numbers(), y = inputs()["auc/y"].numbers();
  if (name == "auc_reversed") std::reverse(x.begin(), x.end()), std::reverse(y.begin(), y.end());
  if (name == "auc_reorder" || name == "auc_not_monotone") x = inputs()["auc_reorder/x"].numbers();
  return nn::auc(x, y, name == "auc_reorder");
}

/// A metric that is asked for nothing by update().
template <class M>
void eval_of_nothing() {
  M{}.eval();
}
template <class M, class... A>
constexpr bool constructible = requires(A... a) { M{a...}; };
template <class M, class... A>
constexpr bool updatable = requires(M m, A... a) { m.update(a...); };

/// What MindSpore refuses, done here; where it cannot be written, a check that it does not compile.
const std::map<std::string, std::function<void()>>& refused() {
  static std::vector<float> numbers(20, 0.5f);
  static std::vector<std::int32_t> labels(4, 0);
  static const auto tensor = [](auto& of, std::vector<std::int64_t> shape) {
    return AnyTensor(dtype_of<std::remove_cvref_t<decltype(of[0])>>, shape, of.data());
  };
  static const std::map<std::string, std::function<void()>> all{
      {"error_accuracy_no_samples", eval_of_nothing<nn::Accuracy>},
      {"error_mae_no_samples", eval_of_nothing<nn::MAE>},
      {"error_accuracy_class_change",
       [] {
         nn::Accuracy accuracy;
         accuracy.update(tensor(numbers, {4, 4}), tensor(labels, {4}));
         accuracy.update(tensor(numbers, {4, 5}), tensor(labels, {4}));
       }},
      {"error_fbeta_0", [] { nn::Fbeta{0}; }},
      {"error_topk_0", [] { nn::TopKCategoricalAccuracy{0}; }},
      {"error_loss_2d", [] { nn::Loss{}.update(tensor(numbers, {4, 5})); }},
      {"error_multilabel_not_01",
       [] { nn::MultilabelAccuracy{}.update(tensor(numbers, {4, 5}), tensor(numbers, {4, 5})); }},
      {"auc_not_monotone", [] { area("auc_not_monotone"); }},
      {"error_unknown_name", [] { nn::metric_by_name("nope"); }},
  };
  return all;
}
const std::map<std::string, bool>& does_not_compile() {
  static const std::map<std::string, bool> all{
      // sets of labels have a class of their own, and k is an int
      {"error_accuracy_bad_eval_type", !constructible<nn::Accuracy, const char*>},
      {"error_topk_float", !constructible<nn::TopKCategoricalAccuracy, double>},
      {"error_accuracy_one_input", !updatable<nn::Accuracy, AnyTensor>},
  };
  return all;
}

template <class E>
bool throws(const std::function<void()>& f) {
  try {
    f();
  } catch (const E&) {
    return true;
  } catch (const std::exception&) {
  }
  return false;
}
void check_refused(const Case& c) {
  if (const auto found = does_not_compile().find(c.name); found != does_not_compile().end())
    return support::expect(found->second);
  const std::string& error = c.json["error"].string();
  const std::function<void()>& f = refused().at(c.name);
  if (error.starts_with("RuntimeError")) support::expect(throws<RuntimeError>(f));
  else if (error.starts_with("TypeError")) support::expect(throws<TypeError>(f));
  else if (error.starts_with("KeyError")) support::expect(throws<KeyError>(f));
  else support::expect(error.starts_with("ValueError") && throws<ValueError>(f));
}

void check(const Case& c) {
  if (c.json.find("error")) check_refused(c);
  else if (c.json.find("function")) compare(c.name, {area(c.name)}, {c.json["value"].number()});
  else classes().at(c.json["class"].string())(c);
}

}  // namespace

TEST_CASE("golden/metrics: every case agrees") {
  if (!support::have_shared("golden/metrics")) return;
  const Json index = support::load_json(folder() + "metrics.json");
  const Json& cases = index["cases"];
  long passed = 0;
  for (std::size_t i = 0; i < cases.items.size(); ++i) {
    const std::string& name = cases.names[i];
    CAPTURE(name);
    const int before = support::failures();
    try {
      check({name, cases.items[i]});
    } catch (const std::exception& error) {
      const std::string what = error.what();
      CAPTURE(what);
      support::expect(false);
    }
    passed += support::failures() == before;
  }
  std::printf("golden/metrics: of %zu cases %ld passed\n", cases.items.size(), passed);
}

TEST_CASE("golden/metrics: every name of MindSpore's is known, and made, or said how to make") {
  if (!support::have_shared("golden/metrics")) return;
  const Json index = support::load_json(folder() + "metrics.json");
  const std::map<std::string, std::function<bool(const nn::AnyMetric&)>> types{
      {"Accuracy", [](const nn::AnyMetric& m) { return m.as<nn::Accuracy>() != nullptr; }},
      {"Precision", [](const nn::AnyMetric& m) { return m.as<nn::Precision>() != nullptr; }},
      {"Recall", [](const nn::AnyMetric& m) { return m.as<nn::Recall>() != nullptr; }},
      {"F1", [](const nn::AnyMetric& m) { return m.as<nn::F1>() != nullptr; }},
      {"MAE", [](const nn::AnyMetric& m) { return m.as<nn::MAE>() != nullptr; }},
      {"MSE", [](const nn::AnyMetric& m) { return m.as<nn::MSE>() != nullptr; }},
      {"Top1CategoricalAccuracy",
       [](const nn::AnyMetric& m) { return m.as<nn::Top1CategoricalAccuracy>() != nullptr; }},
      {"Top5CategoricalAccuracy",
       [](const nn::AnyMetric& m) { return m.as<nn::Top5CategoricalAccuracy>() != nullptr; }},
      {"Loss", [](const nn::AnyMetric& m) { return m.as<nn::Loss>() != nullptr; }},
      {"Dice", [](const nn::AnyMetric& m) { return m.as<nn::Dice>() != nullptr; }},
      {"Perplexity", [](const nn::AnyMetric& m) { return m.as<nn::Perplexity>() != nullptr; }},
      {"ConfusionMatrixMetric", [](const nn::AnyMetric& m) { return m.as<nn::ConfusionMatrixMetric>() != nullptr; }}};
  const Json& names = index["names"];
  for (std::size_t i = 0; i < names.names.size(); ++i) {
    const std::string &name = names.names[i], &type = names.items[i].string();
    CAPTURE(name);
    if (const auto found = types.find(type); found != types.end()) CHECK(found->second(nn::metric_by_name(name)));
    else CHECK_THROWS_WITH_AS(nn::metric_by_name(name), doctest::Contains(("nn::" + type).c_str()), ValueError);
  }
}
