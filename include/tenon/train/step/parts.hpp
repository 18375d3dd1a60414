// What follows a Model's optimizer, sorted.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include <tenon/nn/metric/count/mean_over.hpp>
#include <tenon/train/amp.hpp>
#include <tenon/train/callback/net_outputs.hpp>
#include <tenon/train/callback/run/run_info.hpp>
#include <tenon/train/eval_result.hpp>
#include <tenon/train/step/graphs.hpp>
#include <tenon/train/step/parallel.hpp>

namespace tenon::inline TENON_ABI::detail {

/// Whether a part is no metric.
template <class P>
inline constexpr bool is_no_metric = is_precision<P> || is_parallel<P>;

template <class Sorted, class... Parts>
struct SortedParts {
  using type = Sorted;
};
template <class... M, class P, class... Parts>
struct SortedParts<std::tuple<M...>, P, Parts...>
    : std::conditional_t<is_no_metric<P>, SortedParts<std::tuple<M...>, Parts...>,
                         SortedParts<std::tuple<M..., P>, Parts...>> {};
/// The metrics among the parts of a Model, a tuple.
template <class... Parts>
using MetricsAmong = typename SortedParts<std::tuple<>, Parts...>::type;

template <class... Parts>
MetricsAmong<Parts...> metrics_among(Parts... parts) {
  if constexpr (!(is_no_metric<Parts> || ...)) return {std::move(parts)...};
  else {
    const auto one = []<class P>(P part) {
      if constexpr (is_no_metric<P>) return std::tuple();
      else return std::tuple(std::move(part));
    };
    return std::tuple_cat(one(std::move(parts))...);
  }
}

/// Gives a metric of a Model what it judges: the first output is the loss, the last ones are the predictions.
template <int labels, int outputs, class M, class Row>
void update_metric(M& metric, const NetOutputs& all, const Row& row, int columns) {
  if constexpr (nn::OutputMetric<M>)
    metric.update(all.front(), all[all.size() - std::size_t(outputs - M::output)],
                  row[label_column<labels, outputs>(M::output, columns)]);
  else if constexpr (nn::MetricGroup<M>) metric.update(all.front(), all.back(), row[columns - 1]);
  else if constexpr (nn::LossMetric<M>) nn::detail::update_loss(metric, all.front(), row[columns - 1]);
  else metric.update(all.back(), row[columns - 1]);
}
/// Adds the names of a metric's numbers, and those of its class. False if they are not known before there are numbers.
template <class M>
bool add_names(MonitoredNames& names, const M& metric) {
  const auto take = [&](std::string_view name, std::string_view kind) {
    names.push_back({std::string(name), std::string(kind)});
  };
  if constexpr (nn::MetricGroup<M>) {
    if constexpr (!requires { metric.each_name(take); }) return false;
    else metric.each_name(take);
  } else if constexpr (!nn::ListMetric<M>) take(M::name, M::name);
  return true;
}
/// Adds the numbers of a metric of a Model to a result.
template <class M>
void add_metric(EvalResult& result, M& metric) {
  if constexpr (nn::MetricGroup<M>)
    metric.report([&](std::string_view name, double value) { result.add(name, value); });
  else if constexpr (!nn::ListMetric<M>) result.add(metric.name, metric.eval());
}

}  // namespace tenon::detail
