// report_html: a RunRecord as one page, in which everything is: no script, no font, and no picture from outside.
#pragma once
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <tenon/debug/report/html.hpp>
#include <tenon/debug/report/line_chart.hpp>
#include <tenon/debug/report/run_record.hpp>

namespace tenon::inline TENON_ABI::debug {

namespace detail {

[[gnu::cold]] inline std::string section(std::string_view title, const std::string& content) {
  return content.empty() ? "" : "<section><h2>" + std::string(title) + "</h2>\n" + content + "</section>\n";
}
[[gnu::cold]] inline std::string card(std::string_view name, const std::string& value, const char* style = "") {
  return "<div class=card><b class=\"" + std::string(style) + "\">" + value + "</b><span>" + html_escaped(name) +
         "</span></div>\n";
}
[[gnu::cold]] inline std::string code(std::string_view text) { return "<code>" + html_escaped(text) + "</code>"; }

inline bool is_constant(const Series& series) { return !(series.largest() > series.least()); }
/// fit() gives the mean loss as "eval_loss", which a metric Loss makes a second time.
inline bool is_shown(const RunRecord& run, const Series& metric) {
  return metric.name() != "eval_loss" ||
         std::ranges::none_of(run.metrics, [](const Series& other) { return other.name() == "loss"; });
}
[[gnu::cold]] inline std::string report_cards(const RunRecord& run) {
  const bool broken = run.loss.count() > 0 && !std::isfinite(run.loss.last());
  std::string all = run.state == RunState::running    ? card("state", "running", "run")
                    : run.state == RunState::finished ? card("state", "finished", broken ? "bad" : "ok")
                                                      : card("state", "stopped early", "run");
  all += card("epochs", text(run.epochs, " of ", run.epochs_asked));
  all += card("steps", short_number(double(run.steps)));
  all += card("time", short_time(run.seconds));
  if (run.loss.count() > 0) all += card("last loss", short_number(run.loss.last()), broken ? "bad" : "");
  for (const Series& metric : run.metrics)
    if (is_shown(run, metric)) all += card("evaluation: " + metric.name(), short_number(metric.last()));
  return "<div class=cards>\n" + all + "</div>\n";
}
[[gnu::cold]] inline std::string report_curves(const RunRecord& run) {
  std::string all;
  const auto chart = [&](std::string_view title, std::string_view x, std::vector<const Series*> series) {
    std::erase_if(series, [](const Series* s) { return s->points().empty(); });
    if (!series.empty()) all += "<div>" + line_chart(title, x, series) + "</div>\n";
  };
  chart("loss of the training", "step", {&run.loss});
  for (const Series& metric : run.metrics)
    if (is_shown(run, metric)) chart("evaluation: " + metric.name(), "epoch", {&metric});
  if (!is_constant(run.learning_rate)) chart("learning rate", "step", {&run.learning_rate});
  chart("milliseconds of a step", "step", {&run.step_milliseconds});
  return all.empty() ? all : "<div class=charts>\n" + all + "</div>\n";
}
[[gnu::cold]] inline std::string facts_table(const Facts& facts) {
  HtmlTable table{.style = "facts"};
  for (const auto& [name, value] : facts) table.rows.push_back({html_escaped(name), code(value)});
  return facts.empty() ? "" : table.html();
}
[[gnu::cold]] inline std::string parameter_table(const RunRecord& run) {
  HtmlTable table{{"parameter", "shape", "dtype", "elements", ""}, {}, {false, false, false, true, false}};
  std::int64_t all = 0, trained = 0;
  for (const RunRecord::ParameterRow& row : run.parameters) {
    table.rows.push_back(
        {code(row.name), html_escaped(row.shape), row.dtype, std::to_string(row.count), row.trains ? "" : "frozen"});
    all += row.count;
    trained += row.trains ? row.count : 0;
  }
  if (table.rows.empty()) return {};
  return "<p class=sub>" + text(all, " elements, ", trained, " of them trained; ") +
         tenon::detail::memory_text(double(run.parameter_bytes)) + " of parameters, " +
         tenon::detail::memory_text(double(run.state_bytes)) + " of the optimizer</p>\n" + table.html();
}
[[gnu::cold]] inline std::string image_section(const RunRecord& run) {
  if (run.images.bytes.empty())
    return run.no_images.empty() ? "" : "<p class=sub>" + html_escaped(run.no_images) + "</p>";
  if constexpr (!io::has_png) return "<p class=sub>The program was built without libpng, which pictures need.</p>";
  else {
    const int width = run.images.width < 480 ? run.images.width * 2 : run.images.width;
    return text("<img width=\"", width, "\" alt=\"images of the first batch\" src=\"data:image/png;base64,",
                base64(io::encode_png(run.images)), "\">\n");
  }
}

}  // namespace detail

/// The page of a run.
[[gnu::cold]] inline std::string report_html(const RunRecord& run) {
  const std::string title = run.network + ", " + run.begun;
  std::string body =
      "<h1>" + html_escaped(run.network) + "</h1>\n<p class=sub>training begun " + html_escaped(run.begun) + "</p>\n";
  body += detail::report_cards(run);
  body += detail::section("Curves", detail::report_curves(run));
  body += detail::section("Where the time goes", run.time);
  body += detail::section("Memory of a step", run.memory);
  body += detail::section("First batch", detail::image_section(run));
  body += detail::section("Parameters", detail::parameter_table(run));
  Facts training = run.training;
  if (run.learning_rate.count() > 0 && detail::is_constant(run.learning_rate))
    training.emplace_back("Learning rate", text(float(run.learning_rate.last())));
  body += detail::section("Training", detail::facts_table(training));
  if (!run.context.empty())
    body += detail::section("Settings", "<pre><code>" + html_escaped(run.context) + "</code></pre>\n");
  body += detail::section("Environment", detail::facts_table(run.environment));
  return html_page(title, body);
}

}  // namespace tenon::debug
