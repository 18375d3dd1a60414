// flags: -DTENON_OBSERVE
// The report of a training: what is on its page, thinned curves, texts that are no HTML, and what goes wrong.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include <tenon/debug/report.hpp>
#include <tenon/tenon.hpp>

#include "../support/comma_locale.hpp"

using namespace tenon;

namespace {
struct Net : nn::Cell<Net> {
  nn::Dense<3, 4> fc1;
  nn::Dense<4, 2> fc2;
  constexpr auto construct(auto x) const { return fc2(relu(fc1(x))); }
};
auto data() {
  std::vector<float> x, y;
  for (int i = 0; i < 24; ++i) {
    for (int k = 0; k < 3; ++k) x.push_back(float((i * 7 + k * 3) % 11) / 11);
    y.push_back(x[x.size() - 3]);
    y.push_back(1 - x[x.size() - 2]);
  }
  return dataset::from_arrays(dataset::column<Shape<3>>(std::move(x)), dataset::column<Shape<2>>(std::move(y))) |
         dataset::batch(4);
}
/// Trains, and returns the weights' bytes.
template <class... Callbacks>
std::string train(Mode mode, float rate, Callbacks&... callbacks) {
  const ContextScope context({.mode = mode, .seed = 5});
  Net net;
  Model model{net, nn::MSELoss{}, nn::Momentum{.learning_rate = rate, .momentum = 0.9f}, nn::Loss{}};
  model.fit(3, data(), data(), callbacks...);
  const ParameterList list(net);
  return {reinterpret_cast<const char*>(list.arena()->data), std::size_t(list.bytes())};
}
struct ImageNet : nn::Cell<ImageNet> {
  nn::Dense<784, 10> fc;
  constexpr auto construct(auto x) const { return fc(flatten(x)); }
};
/// Its name is a text with what numbers in other languages have.
struct Commas {
  static constexpr std::string_view name = "rows, not 1,5";
  long rows = 0;
  void clear() { rows = 0; }
  void update(const AnyTensor& prediction, const AnyTensor&) { rows += prediction.extent[0]; }
  double eval() const { return double(rows); }
};
/// A page of a training on images.
std::string image_page(const std::string& file) {
  const ContextScope context({.mode = Mode::graph, .seed = 5});
  const auto digits = dataset::Digits{.size = 32} | dataset::batch(16);
  ImageNet net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{}, Commas{}};
  debug::Report report(file);
  model.fit(2, digits, digits, report);
  return io::read_file(file);
}
bool has(const std::string& page, std::string_view part) { return page.find(part) != page.npos; }

/// Every element that is opened is closed again, in order: what a browser would silently mend.
std::string first_unbalanced(const std::string& page) {
  std::vector<std::string> open;
  for (std::size_t at = page.find('<'); at != page.npos; at = page.find('<', at + 1)) {
    const std::size_t end = page.find('>', at);
    if (end == page.npos) return "an element without end";
    const bool closes = page[at + 1] == '/';
    const std::size_t begin = at + 1 + closes;
    const std::string name = page.substr(begin, page.find_first_of(" >/", begin) - begin);
    if (name == "!DOCTYPE" || name == "meta" || name == "link" || name == "img" || name == "wbr" ||
        page[end - 1] == '/')
      continue;
    if (!closes) open.push_back(name);
    else if (open.empty() || open.back() != name) return name;
    else open.pop_back();
  }
  return open.empty() ? "" : open.back();
}
}  // namespace

TEST_CASE("the page has curves, parameters, times, memory, settings; the weights are those of a run without it") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const std::string without = train(mode, 0.05f);
    debug::Profiler profiler;
    debug::Report report(mode == Mode::graph ? "page.html" : "pynative.html", profiler);
    CHECK(train(mode, 0.05f, report) == without);
    const std::string page = io::read_file(report.path());
    CHECK(first_unbalanced(page) == "");
    for (const char* part :
         {"<h1>Net</h1>", "finished", "3 of 3", "loss of the training", "evaluation: loss", "fc1.weight", "[4, 3]",
          "Momentum", "MSELoss", "Where the time goes", "Default/<wbr>network-Net/<wbr>fc1-Dense/<wbr>MatMul-op0",
          "report.cpp:", "num_threads", TENON_VERSION})
      CHECK_MESSAGE(has(page, part), std::string(part));
    CHECK(has(page, "<td>Optimizer</td><td><code>Momentum</code></td>"));
    CHECK(has(page, "<h3>Net, training, 18 steps: "));
    CHECK(has(page, "<h3>Net, evaluation, 18 steps: "));
    CHECK(has(page, "<h3>Net, evaluation, batch of 4: ") == (mode == Mode::graph));
    CHECK(has(page, "<ul class=legend>") == (mode == Mode::graph));
    CHECK(!has(page, "http"));  // nothing from outside
    CHECK(!has(page, "<script"));
    CHECK(!has(page, "evaluation: eval_loss"));
    CHECK(report.record().loss.count() == 18);
  }
}

TEST_CASE("the images of the first batch are an address that a browser reads") {
  const std::string page = image_page("images.html");
  CHECK(first_unbalanced(page) == "");
  CHECK(has(page, "<td>Optimizer</td><td><code>Adam</code></td>"));
  if (!io::has_png) {
    CHECK(has(page, "need libpng"));
    return;
  }
  constexpr std::string_view address = "src=\"data:image/png;base64,";
  const std::size_t begin = page.find(address) + address.size(), end = page.find('"', begin);
  REQUIRE(begin > address.size());
  const std::string picture = page.substr(begin, end - begin);
  CHECK(picture.size() % 4 == 0);
  CHECK(picture.starts_with("iVBORw0KGgo"));     // a PNG's mark
  CHECK(picture.ends_with("AAAASUVORK5CYII="));  // its last part, IEND
  CHECK(picture.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") == picture.npos);
}

TEST_CASE("where numbers have commas pages have points, and commas of texts stay") {
  const support::CommaLocale german;
  const std::string page = image_page("german.html");
  CHECK(has(page, "evaluation: rows, not 1,5"));
  CHECK((has(page, "data:image/png;base64,") || !io::has_png));
  const std::size_t svg = page.find("d=\"M");
  REQUIRE(svg != page.npos);
  CHECK(!has(page.substr(svg, page.find("\"/>", svg) - svg), ","));
  CHECK(debug::short_number(1.5) == "1.5");
  CHECK(debug::short_time(1.5e-3) == "1.5 ms");
  CHECK(has(debug::share_bar(0.125), "width:12.5%"));
}

TEST_CASE("a training that fails, and one that is stopped, say so on their page") {
  {
    debug::Report report("failed.html");
    CHECK_THROWS_AS(train(Mode::graph, 1e30f, report), ValueError);
  }
  const std::string page = io::read_file("failed.html");
  CHECK(has(page, "stopped early"));
  CHECK(first_unbalanced(page) == "");
  struct Stops {
    void step_end(RunInfo& run) { run.request_stop(); }
  } stops;
  debug::Report report("stopped.html");
  train(Mode::graph, 0.1f, report, stops);
  CHECK(has(io::read_file("stopped.html"), "stopped early"));
}

TEST_CASE("a folder that is gone costs a warning, not the training") {
  std::filesystem::create_directories("gone");
  debug::Report report("gone/page.html");
  struct Removes {
    void epoch_begin(RunInfo&) { std::filesystem::remove_all("gone"); }
  } removes;
  CHECK(train(Mode::graph, 0.05f, removes, report) == train(Mode::graph, 0.05f));
  CHECK(!std::filesystem::exists("gone"));
}

TEST_CASE("a series keeps at most so many points, each the mean of neighbours") {
  debug::Series series("loss");
  for (int i = 0; i < 1'000'000; ++i) series.add(i, i % 2);
  CHECK(series.count() == 1'000'000);
  CHECK(series.points().size() <= debug::Series::most);
  CHECK(series.points().size() > debug::Series::most / 4);
  for (const auto& p : series.points()) CHECK(p.y == doctest::Approx(0.5));
  CHECK(series.first() == 0);
  CHECK(series.last() == 1);

  debug::Series broken("loss");
  for (int i = 0; i < 5; ++i) broken.add(i, i == 2 ? std::numeric_limits<double>::quiet_NaN() : i);
  CHECK(broken.least() == 0);
  CHECK(broken.largest() == 4);
  const debug::Series* const list[]{&broken};
  const std::string chart = debug::line_chart("a <b> & c", "step", list);
  CHECK(has(chart, "a &lt;b&gt; &amp; c"));
  CHECK(!has(chart, "nan"));
  CHECK(first_unbalanced(chart) == "");
}

TEST_CASE("charts of one point, of none, of equal, huge, and infinite numbers are pictures all the same") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const std::vector<double>& values :
       {std::vector<double>{}, {3}, {0, 0, 0}, {1e308, -1e308}, {infinity, -infinity}, {1e-300, 2e-300}}) {
    debug::Series series("s");
    for (std::size_t i = 0; i < values.size(); ++i) series.add(double(i), values[i]);
    const debug::Series* const list[]{&series};
    const std::string chart = debug::line_chart("s", "step", list);
    CHECK(!has(chart, "inf"));
    CHECK(!has(chart, "nan"));
    CHECK(chart.size() < 10000);
  }
}

TEST_CASE("texts are no HTML, bytes become text") {
  CHECK(debug::html_escaped("<script>\"a\" & 'b'\x1b") == "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;?");
  CHECK(debug::base64("") == "");  // the examples of RFC 4648
  CHECK(debug::base64("f") == "Zg==");
  CHECK(debug::base64("fo") == "Zm8=");
  CHECK(debug::base64("foobar") == "Zm9vYmFy");
  CHECK(debug::short_time(0.00123) == "1.23 ms");
  CHECK(debug::short_time(7260) == "2 h 01 min");
  CHECK(debug::short_number(1234567) == "1235 k");
}
