// ProgressBar: lines in a file, a bar on a terminal that is redrawn seldom enough and fits into it.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include <tenon/train/callback/progress_bar.hpp>

#include "../../support/comma_locale.hpp"
#include "../../support/skip.hpp"
#include "output.hpp"

using namespace tenon;

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
/// What a bar shows on a terminal with so many columns; 0: the terminal does not know.
std::string shown_on_terminal(unsigned short columns, long epochs, long steps, long microseconds,
                              double* seconds = nullptr) {
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
  {
    ProgressBar bar(terminal);
    const double begin = tenon::detail::now();
    play(bar, epochs, steps, [&](long) { ::usleep(static_cast<useconds_t>(microseconds)); });
    if (seconds) *seconds = tenon::detail::now() - begin;
  }
  std::string shown;
  ::fcntl(master, F_SETFL, O_NONBLOCK);
  char part[4096];
  // a terminal hands out what it has in pieces
  for (ssize_t n; (n = ::read(master, part, sizeof part)) > 0;) shown.append(part, std::size_t(n));
  std::fclose(terminal);
  ::close(master);
  return shown;
}
/// The longest line that was drawn.
std::string longest_line(const std::string& shown) {
  std::string longest;
  for (std::size_t from = 0; (from = shown.find('\r', from)) != shown.npos;) {
    const std::string line = shown.substr(from + 1, shown.find('\x1b', from) - from - 1);
    if (shown[++from] != '\n' && line.size() > longest.size()) longest = line;
  }
  return longest;
}
}  // namespace

TEST_CASE("progress bar: on a terminal a bar, at most ten times a second") {
  if (!have_terminal()) return;
  double seconds = 0;
  const std::string shown = shown_on_terminal(100, 2, 100, 2000, &seconds);
  CAPTURE(shown);
  CHECK(shown.find("\repoch 1/2 [>                   ]    1/100") == 0);
  CHECK(shown.find("\repoch 1/2 [====================]  100/100") != shown.npos);
  CHECK(shown.find("\repoch 2/2 [====================]  100/100") != shown.npos);
  CHECK(shown.find("ETA 0:0") != shown.npos);
  // the mean of 1/1 .. 1/100; a terminal makes "\r\n" of "\n"
  CHECK(shown.find("loss 0.0519\x1b[K\r\n") != shown.npos);
  CHECK(shown.find("loss 0.0069\x1b[K\r\n") != shown.npos);            // and of 1/101 .. 1/200
  const auto drawn = std::count(shown.begin(), shown.end(), '[') / 2;  // each drawing has "[" of the bar and "\x1b[K"
  const auto epochs = 2;
  CHECK(drawn >= 2 * epochs);
  // Besides, one at the begin and the end of each epoch. 200 steps take 0.4 s, more on a busy machine.
  CHECK(double(drawn) <= 10 * seconds + 2 * epochs);
}

TEST_CASE("progress bar: a line is shorter than the terminal is wide, what gives way first is the bar") {
  if (!have_terminal()) return;
  for (const unsigned short columns : {0, 200, 80, 70, 60, 52, 30, 5, 1}) {
    CAPTURE(columns);
    const std::string line = longest_line(shown_on_terminal(columns, 3, 20, 10));
    CHECK(int(line.size()) < (columns ? columns : 80));
    if (columns == 0 || columns >= 70) {
      CHECK(line.find(" [") != line.npos);
      CHECK(line.find("  loss ") + 13 == line.size());
    }
  }
  CHECK(shown_on_terminal(200, 1, 20, 10).find("[====================]") != std::string::npos);
}
