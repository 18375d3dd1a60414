// ProgressBar: what it shows of which numbers, lines in a file, and on a terminal a table and a line that is redrawn
// seldom enough and fits into it.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include <tenon/train/callback/progress_bar.hpp>
#include <tenon/train/eval_result.hpp>
#include <tenon/train/step/clock.hpp>

#include "../../support/comma_locale.hpp"
#include "../../support/skip.hpp"
#include "output.hpp"

using namespace tenon;

namespace {
using tenon::detail::LossCurve, tenon::detail::ProgressNow, tenon::detail::ProgressStyle;
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN(),
                infinite = std::numeric_limits<float>::infinity();

LossCurve curve_of(std::initializer_list<float> losses) {
  LossCurve curve;
  for (const float loss : losses) curve.add(loss);
  return curve;
}
}  // namespace

TEST_CASE("progress view: numbers, times, paces") {
  using tenon::detail::progress_number, tenon::detail::progress_duration, tenon::detail::progress_pace;
  CHECK(progress_number(0) == "0.0000");
  CHECK(progress_number(0.31716) == "0.3172");
  CHECK(progress_number(-12345.67891) == "-12345.6789");
  CHECK(progress_number(0.00012344) == "0.0001234");
  CHECK(progress_number(1.23456e-9) == "1.235e-09");
  CHECK(progress_number(1.5e7) == "1.5e+07");
  CHECK(progress_number(not_a_number) == "nan");
  CHECK(progress_number(-not_a_number) == "nan");
  CHECK(progress_number(infinite) == "inf");
  CHECK(progress_number(-infinite) == "-inf");
  CHECK(progress_duration(0) == "0:00");
  CHECK(progress_duration(61) == "1:01");
  CHECK(progress_duration(3599) == "59:59");
  CHECK(progress_duration(363609) == "101:00:09");
  CHECK(tenon::detail::epoch_duration(3.24) == "3.2 s");
  CHECK(tenon::detail::epoch_duration(61.6) == "1:02");
  CHECK(progress_pace(1.734) == "1.73 ms/step");
  CHECK(progress_pace(2100) == "2.10 s/step");
}

TEST_CASE("progress view: curves") {
  using tenon::detail::sparkline;
  CHECK(sparkline({}, 8, true).empty());
  CHECK(sparkline(curve_of({1}), 8, true) == "▁");
  CHECK(sparkline(curve_of({5, 5, 5}), 8, true) == "▁▁▁");
  CHECK(sparkline(curve_of({0, 1, 2, 3, 4, 5, 6, 7}), 8, true) == "▁▂▃▄▅▆▇█");
  CHECK(sparkline(curve_of({0, 1, 2, 3, 4, 5, 6, 7}), 8, false) == ".:-=+*#@");
  CHECK(sparkline(curve_of({7, 5, 6, 4, 2, 2, 1, 1}), 4, true) == "█▇▂▁");  // means of two
  CHECK(sparkline(curve_of({3, not_a_number, 1, infinite}), 8, true) == "█×▁×");
  CHECK(sparkline(curve_of({3, not_a_number, 1, infinite}), 8, false) == "@x.x");
  CHECK(sparkline(curve_of({not_a_number, not_a_number}), 8, true) == "××");
  CHECK(sparkline(curve_of({1, 0}), 0, true).empty());
}

TEST_CASE("progress view: a long training is shown as means of ever longer runs") {
  LossCurve curve;
  for (int step = 0; step < 1000000; ++step) {
    curve.add(step);
    REQUIRE(curve.size() <= LossCurve::most);
  }
  CHECK(curve.size() > LossCurve::most / 2);
  // runs of 2^14 steps
  CHECK(curve[0] == doctest::Approx(16383 / 2.0));
  CHECK(curve[10] == doctest::Approx(10.5 * 16384 - 0.5));
  CHECK(curve[curve.size() - 1] == doctest::Approx((61 * 16384 + 999999) / 2.0));
  CHECK(tenon::detail::sparkline(curve, 8, true) == "▁▂▃▄▅▆▇█");
}

TEST_CASE("progress view: the line, as wide as there is room") {
  using tenon::detail::progress_line;
  const LossCurve curve = curve_of({7, 6, 5, 4, 3, 2, 1, 0});
  ProgressNow now{.epoch = 2, .epochs = 10, .step = 25, .steps = 100, .milliseconds = 1.734, .seconds_left = 27};
  now.loss = 0.0931;
  const auto ascii = [&](int columns) { return progress_line(now, curve, {.columns = columns}); };
  CHECK(progress_line(now, curve, {.columns = 120, .utf8 = true}) ==
        "epoch 2/10 ━━━━━━──────────────────  25/100  1.73 ms/step  "
        "ETA 0:27  loss 0.0931  █▇▆▅▄▃▂▁");
  CHECK(ascii(120) == "epoch 2/10 [=====>                ]  25/100  1.73 ms/step  ETA 0:27  loss 0.0931  @#*+=-:.");
  CHECK(ascii(80) == "epoch 2/10 [==>        ]  25/100  1.73 ms/step  ETA 0:27  loss 0.0931  @#*+=-:.");
  CHECK(ascii(75) == "epoch 2/10 [==>       ]  25/100  1.73 ms/step  ETA 0:27  loss 0.0931  @*-.");
  CHECK(ascii(70) == "epoch 2/10 [==>        ]  25/100  1.73 ms/step  ETA 0:27  loss 0.0931");
  CHECK(ascii(63) == "epoch 2/10 [=>  ]  25/100  1.73 ms/step  ETA 0:27  loss 0.0931");
  CHECK(ascii(60) == "epoch 2/10  25/100  1.73 ms/step  ETA 0:27  loss 0.0931");
  CHECK(ascii(30) == "epoch 2/10  25/100  1.73 ms/s");
  CHECK(ascii(1).empty());
  CHECK(ascii(0).empty());
  for (int columns = 1; columns < 150; ++columns)
    for (const bool color : {false, true}) {
      const std::string line = progress_line(now, curve, {.columns = columns, .utf8 = true, .color = color});
      CHECK(tenon::detail::shown_width(line) < columns);
      CHECK((line.find('\x1b') != line.npos) == (color && line.find("━") != line.npos));
    }
  now.loss = not_a_number, now.step = 100;
  CHECK(ascii(80) == "epoch 2/10 [==============] 100/100  1.73 ms/step  ETA 0:27  loss nan  @#*+=-:.");
  now.evaluating = true, now.step = 7;
  CHECK(ascii(80) == "epoch 2/10 [=>                    ]   7/100  evaluating");
  CHECK(progress_line({}, {}, {.columns = 80}) ==
        "epoch 0/0 [>                     ] 0/1  0.00 ms/step  ETA 0:00  loss 0.0000");
}

TEST_CASE("progress view: rows stand below their heads") {
  std::string head, row;
  tenon::detail::add_column(head, row, "epoch", "12", 3);
  tenon::detail::add_column(head, row, "loss", "0.5000");
  tenon::detail::add_column(head, row, "", "▁▂");
  tenon::detail::add_column(head, row, "top_3_accuracy", "0.9");
  tenon::detail::add_column(head, row, "mse", "1.235e+05");
  CHECK(head == "  epoch     loss           top_3_accuracy        mse");
  CHECK(row == "     12   0.5000       ▁▂             0.9  1.235e+05");
}

TEST_CASE("progress bar: in a file one line per epoch") {
  std::FILE* file = std::tmpfile();
  ProgressBar bar(file);
  play(bar, 2, 5, [](long) { ::usleep(2000); });
  std::rewind(file);
  long epoch = 0, epochs = 0, steps = 0;
  double pace = 0, seconds = 0, loss = 0;
  for (int e = 1; e <= 2; ++e) {
    REQUIRE(std::fscanf(file, "epoch %ld/%ld: %ld steps, %lf ms/step, %lf s, loss %lf\n", &epoch, &epochs, &steps,
                        &pace, &seconds, &loss) == 6);
    CHECK((epoch == e && epochs == 2 && steps == 5));
    CHECK(pace >= 2);
    double mean = 0;
    for (int step = 5 * e - 4; step <= 5 * e; ++step) mean += 1.0 / step / 5;  // of this epoch's losses
    CHECK(loss == doctest::Approx(mean).epsilon(1e-3));
  }
  CHECK(std::fgetc(file) == EOF);
  std::fclose(file);
}

TEST_CASE("progress bar: an epoch that waits long for its data says so") {
  std::FILE* file = std::tmpfile();
  ProgressBar bar(file);
  RunInfo run;
  run.epoch_num = 1, run.cur_epoch_num = 1, run.batch_num = 1;
  for (const double waited : {0.0, 1000.0}) {  // however long a step takes
    bar.epoch_begin(run);
    ::usleep(5000);
    run.data_seconds = waited;
    bar.step_end(run);
    bar.epoch_end(run);
  }
  std::rewind(file);
  char line[200]{};
  REQUIRE(std::fgets(line, sizeof line, file));
  CHECK(std::string(line).find("waiting") == std::string::npos);
  REQUIRE(std::fgets(line, sizeof line, file));
  CHECK(std::string(line).find(" % waiting for data\n") != std::string::npos);
  std::fclose(file);
}

TEST_CASE("progress bar: numbers have a point in every locale") {
  const support::CommaLocale locale;
  std::FILE* file = std::tmpfile();
  ProgressBar bar(file);
  play(bar, 1, 1, [](long) {});
  std::rewind(file);
  char line[200]{};
  REQUIRE(std::fgets(line, sizeof line, file));
  const std::string shown = line;
  CHECK(shown.find("loss 1.0000\n") != shown.npos);
  CHECK(std::count(shown.begin(), shown.end(), ',') == 3);  // between the four parts of the line
  std::fclose(file);
}

namespace {
/// False, and said, where the system has no pseudo-terminals, as in a bare root without /dev/pts.
bool have_terminal() {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0) support::say_skipped("there is no pseudo-terminal, the progress bar was only tested on a file");
  else ::close(master);
  return master >= 0;
}
/// Sets a variable of the environment until the end of the scope.
struct Variable {
  const char* name;
  std::string before;
  bool was_set;
  Variable(const char* variable, const char* value) : name(variable), was_set(::getenv(variable)) {
    if (was_set) before = ::getenv(variable);
    value ? ::setenv(name, value, 1) : ::unsetenv(name);
  }
  ~Variable() { was_set ? ::setenv(name, before.c_str(), 1) : ::unsetenv(name); }
};
/// What f(terminal) shows on a terminal with so many columns; 0: the terminal does not know.
template <class F>
std::string on_terminal(unsigned short columns, F f) {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE(master >= 0);
  REQUIRE(::grantpt(master) == 0);
  REQUIRE(::unlockpt(master) == 0);
  const int slave = ::open(::ptsname(master), O_RDWR | O_NOCTTY);
  REQUIRE(slave >= 0);
  winsize size{};
  size.ws_col = columns;
  REQUIRE(::ioctl(slave, TIOCSWINSZ, &size) == 0);
  std::FILE* terminal = ::fdopen(slave, "w");
  f(terminal);
  std::string shown;
  ::fcntl(master, F_SETFL, O_NONBLOCK);
  char part[4096];
  // a terminal hands out what it has in pieces
  for (ssize_t n; (n = ::read(master, part, sizeof part)) > 0;) shown.append(part, std::size_t(n));
  std::fclose(terminal);
  ::close(master);
  return shown;
}
/// The same of a training that was played.
std::string shown_on_terminal(unsigned short columns, long epochs, long steps, long microseconds,
                              double* seconds = nullptr) {
  return on_terminal(columns, [&](std::FILE* terminal) {
    ProgressBar bar(terminal);
    const double begin = tenon::detail::now();
    play(bar, epochs, steps, [&](long) { ::usleep(static_cast<useconds_t>(microseconds)); });
    if (seconds) *seconds = tenon::detail::now() - begin;
  });
}
/// The lines that were drawn, without what moves the cursor.
std::vector<std::string> lines_of(std::string shown) {
  std::vector<std::string> lines;
  for (std::size_t at; (at = shown.find("\x1b[K")) != shown.npos;) shown.erase(at, 3);
  std::size_t begin = 0;
  for (std::size_t end; (end = shown.find_first_of("\r\n", begin)) != shown.npos; begin = end + 1)
    if (end > begin) lines.push_back(shown.substr(begin, end - begin));
  if (begin < shown.size()) lines.push_back(shown.substr(begin));
  return lines;
}
}  // namespace

TEST_CASE("progress bar: on a terminal a line that is redrawn at most ten times a second, and a row per epoch") {
  if (!have_terminal()) return;
  const Variable term("TERM", "xterm"), plain("NO_COLOR", "1"), locale("LC_ALL", "C");
  double seconds = 0;
  const std::string shown = shown_on_terminal(100, 2, 100, 2000, &seconds);
  CAPTURE(shown);
  CHECK(shown.starts_with("\repoch 1/2 [>                     ]   1/100  "));
  CHECK(shown.find("ETA 0:0") != shown.npos);
  const std::vector<std::string> lines = lines_of(shown);
  long drawn = 0, heads = 0, rows = 0;
  for (const std::string& line : lines) {
    if (line.starts_with("epoch ")) ++drawn;
    else if (line.starts_with("  epoch     time  ms/step     loss")) ++heads;
    else {
      ++rows;
      // the means of 1/1 .. 1/100 and of 1/101 .. 1/200
      CHECK(line.starts_with(rows == 1 ? "      1" : "      2"));
      CHECK(line.find(rows == 1 ? "   0.0519  " : "   0.0069  ") != line.npos);
      CHECK(line.ends_with(rows == 1 ? "  @::....." : "  @*+=-::."));
    }
  }
  CHECK(heads == 1);
  CHECK(rows == 2);
  CHECK(drawn >= 4);
  // Besides, one at the begin of each epoch. 200 steps take 0.4 s, more on a busy machine.
  CHECK(double(drawn) <= 10 * seconds + 2);
  CHECK(std::count(shown.begin(), shown.end(), '\n') == 3);  // the head and the rows stay, all else is drawn over
  CHECK(shown.ends_with("\n"));
}

TEST_CASE("progress bar: a line is shorter than the terminal is wide") {
  if (!have_terminal()) return;
  const Variable term("TERM", "xterm"), plain("NO_COLOR", "1"), locale("LC_ALL", "C.UTF-8"), said("COLUMNS", nullptr);
  for (const unsigned short columns : {0, 200, 80, 70, 60, 52, 30, 5, 1}) {
    CAPTURE(columns);
    int widest = 0;
    for (const std::string& line : lines_of(shown_on_terminal(columns, 3, 20, 10)))
      if (line.starts_with("epoch ")) widest = std::max(widest, tenon::detail::shown_width(line));
    CHECK(widest < (columns ? columns : 80));
    if (columns >= 70) CHECK(widest >= 60);
  }
  const Variable forty("COLUMNS", "40");
  for (const std::string& line : lines_of(shown_on_terminal(0, 1, 20, 10)))
    if (line.starts_with("epoch ")) CHECK(tenon::detail::shown_width(line) == 39);
}

TEST_CASE("progress bar: colors, blocks, and escapes only where they are understood") {
  if (!have_terminal()) return;
  const Variable locale("LC_ALL", "en_US.utf8");
  const auto shown = [](const char* term, const char* no_color) {
    const Variable kind("TERM", term), plain("NO_COLOR", no_color);
    return shown_on_terminal(100, 2, 20, 100);
  };
  const std::string colorful = shown("xterm-256color", nullptr), quiet = shown("xterm", "1"),
                    dumb = shown("dumb", nullptr);
  CHECK(colorful.find("\x1b[32m") != colorful.npos);
  CHECK(colorful.find("━") != colorful.npos);
  CHECK(shown("xterm", "").find("\x1b[32m") != colorful.npos);  // empty is as not set
  CHECK(quiet.find("\x1b[K") != quiet.npos);
  CHECK(quiet.find("\x1b[32m") == quiet.npos);
  CHECK(dumb.find('\x1b') == dumb.npos);
  CHECK(shown(nullptr, nullptr).find('\x1b') == dumb.npos);
  const Variable ascii("LC_ALL", "C");
  for (const char c : shown("xterm", "1")) CHECK(static_cast<unsigned char>(c) < 128);
}

TEST_CASE("progress bar: without escapes blanks take away what a longer line has left") {
  if (!have_terminal()) return;
  const Variable term("TERM", "dumb"), locale("LC_ALL", "C");
  std::string screen;
  for (const std::string& line : lines_of(shown_on_terminal(100, 1, 20, 100)))
    if (line.starts_with("  epoch")) screen = line;
  CHECK(screen.size() >=
        std::string("epoch 1/1 [>                     ]  1/20  0.10 ms/step  ETA 0:00  loss 1.0000").size());
}

namespace {
/// An epoch of a fit() with its evaluation, as a Model tells it.
template <class C>
void play_fit(C& callback, long epochs, float loss, long every = 1) {
  RunInfo run;
  run.in_fit = true;
  run.epoch_num = epochs;
  run.batch_num = 3;
  const AnyTensor output(Dtype::float32, {}, &loss);
  tenon::detail::CallbackList<RunInfo, C> list(run, callback);
  list.template tell<tenon::detail::Begin>();
  for (run.cur_epoch_num = 1; run.cur_epoch_num <= epochs; ++run.cur_epoch_num) {
    run.training = true;
    run.steps_before = run.cur_step_num;
    list.template tell<tenon::detail::EpochBegin>();
    run.net_outputs = {&output, 1};
    for (long i = 0; i < 3; ++i) {
      ++run.cur_step_num;
      list.template tell<tenon::detail::StepEnd>();
    }
    EvalResult results;
    results.add("accuracy", 0.25 * double(run.cur_epoch_num));
    results.add("loss", 2e-9);  // of nn::Loss: not shown beside eval_loss
    results.add("eval_loss", 2e-9);
    run.eval_results = run.cur_epoch_num % every == 0 ? &results : nullptr;
    list.template tell<tenon::detail::EpochEnd>();
    run.eval_results = nullptr;
  }
  list.template tell<tenon::detail::End>();
}
std::string without_times(std::string line) {
  for (char& c : line)
    if (c >= '0' && c <= '9') c = '0';
  return line;
}
}  // namespace

TEST_CASE("progress bar: metrics of fit, losses that are no numbers") {
  std::FILE* file = std::tmpfile();
  ProgressBar bar(file);
  play_fit(bar, 2, not_a_number);
  std::rewind(file);
  char line[200]{};
  REQUIRE(std::fgets(line, sizeof line, file));
  CHECK(std::string(line).starts_with("epoch 1/2: 3 steps, "));
  CHECK(std::string(line).ends_with(" s, loss nan, accuracy 0.2500, eval_loss 2e-09\n"));
  REQUIRE(std::fgets(line, sizeof line, file));
  CHECK(std::string(line).ends_with(" s, loss nan, accuracy 0.5000, eval_loss 2e-09\n"));
  CHECK(std::fgets(line, sizeof line, file) == nullptr);
  std::fclose(file);
}

TEST_CASE("progress bar: the table has a column per metric, the head comes again when one is new") {
  if (!have_terminal()) return;
  const Variable term("TERM", "xterm"), plain("NO_COLOR", "1"), locale("LC_ALL", "C");
  const std::string shown = on_terminal(100, [](std::FILE* terminal) {
    ProgressBar bar(terminal);
    play_fit(bar, 4, 1.5f, 2);
  });
  std::vector<std::string> rows;
  for (const std::string& line : lines_of(shown))
    if (!line.starts_with("epoch ")) rows.push_back(without_times(line));
  REQUIRE(rows.size() == 6);
  CHECK(rows[0] == "  epoch     time  ms/step     loss          ");
  CHECK(rows[1] == "      0    0.0 s     0.00   0.0000  ...     ");
  CHECK(rows[2] == "  epoch     time  ms/step     loss            accuracy  eval_loss");
  CHECK(rows[3] == "      0    0.0 s     0.00   0.0000  ...         0.0000      0e-00");
  CHECK(rows[4] == rows[1]);
  CHECK(rows[5] == rows[3]);
}
