// ProgressBar: lines in a file, a bar on a terminal that is redrawn seldom enough.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>

#include <fcntl.h>
#include <stdlib.h>

#include <tenon/train/callback/progress_bar.hpp>

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
    REQUIRE(std::fscanf(file, "epoch %ld/%ld: %ld steps, %lf ms/step, %lf s, loss %lf\n", &epoch, &epochs, &steps, &pace, &seconds, &loss) == 6);
    CHECK((epoch == e && epochs == 2 && steps == 5));
    CHECK((pace >= 2 && pace < 1000));
    CHECK(loss == doctest::Approx(1.0 / (5 * e)).epsilon(1e-3));
  }
  CHECK(std::fgetc(file) == EOF);
  std::fclose(file);
}

TEST_CASE("progress bar: on a terminal a bar, at most ten times a second") {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE(master >= 0);
  REQUIRE(::grantpt(master) == 0);
  REQUIRE(::unlockpt(master) == 0);
  const int slave = ::open(::ptsname(master), O_RDWR | O_NOCTTY);
  REQUIRE(slave >= 0);
  std::FILE* terminal = ::fdopen(slave, "w");
  {
    ProgressBar bar(terminal);
    play(bar, 2, 100, [](long) { ::usleep(2000); });
  }
  std::string shown;
  ::fcntl(master, F_SETFL, O_NONBLOCK);
  char part[4096];
  for (ssize_t n; (n = ::read(master, part, sizeof part)) > 0;) shown.append(part, std::size_t(n));  // a terminal hands out what it has in pieces
  std::fclose(terminal);
  ::close(master);
  CAPTURE(shown);
  CHECK(shown.find("\repoch 1/2 [>                   ]    1/100") == 0);
  CHECK(shown.find("\repoch 1/2 [====================]  100/100") != shown.npos);
  CHECK(shown.find("\repoch 2/2 [====================]  100/100") != shown.npos);
  CHECK(shown.find("ETA 0:0") != shown.npos);
  CHECK(shown.find("loss 0.0050\x1b[K\r\n") != shown.npos);  // a terminal makes "\r\n" of "\n"
  const auto drawn = std::count(shown.begin(), shown.end(), '[') / 2;  // each drawing has "[" of the bar and "\x1b[K"
  const auto epochs = 2;
  CHECK(drawn >= 2 * epochs);
  CHECK(drawn <= 30);  // 0.4 s and more take 200 steps; one drawing per step would be 200
}
