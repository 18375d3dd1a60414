// Parts of a parameter server by themselves: the places that a scheduler gives, among strangers; the files of a server,
// where signals interrupt calls and a write takes a part of what it is asked for; a process that gets no thread.
// link: zmq
#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include <tenon/dist/server/node.hpp>
#include <tenon/train/server/server_record.hpp>

#include "../support/error_of.hpp"
#include "../support/few_threads.hpp"
#include "../support/free_port.hpp"

using namespace tenon;
using namespace tenon::dist::detail;
using dist::Role;

namespace {
int calls = 0;
/// Two of three calls do not end as usual: with a signal before them, or after 1000 bytes.
bool is_interrupted(std::size_t& bytes) {
  ++calls;
  if (calls % 3 == 1) return errno = EINTR, true;
  if (calls % 3 == 2 && bytes > 1000) bytes = 1000;
  return false;
}
}  // namespace

extern "C" ssize_t pwrite(int file, const void* from, std::size_t bytes, off_t place) {
  return is_interrupted(bytes) ? -1 : ::syscall(SYS_pwrite64, file, from, bytes, place);
}
extern "C" ssize_t pread(int file, void* to, std::size_t bytes, off_t place) {
  return is_interrupted(bytes) ? -1 : ::syscall(SYS_pread64, file, to, bytes, place);
}
extern "C" int ftruncate(int file, off_t size) noexcept {
  std::size_t none = 0;
  return is_interrupted(none) ? -1 : int(::syscall(SYS_ftruncate, file, size));
}

TEST_CASE("a server finds its last two records again, although signals interrupt its reads and writes") {
  const auto folder = std::filesystem::temp_directory_path() / ("tenon_records_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  RecordLayout layout;
  layout.fixed = 9000;
  const auto fill = [&](ServerRecords& records, int step, long bytes) {
    records.begin_next(bytes);
    RecordHead head;
    head.step = step, head.numbers = bytes - layout.fixed;
    records.put(0, &head, sizeof head);
    const std::vector<std::byte> rest(std::size_t(bytes) - sizeof head, std::byte(step));
    records.put(sizeof head, rest.data(), long(rest.size()));
    records.commit();
  };
  for (const int last : {1, 2, 3, 5}) {
    ServerRecords written(folder.string(), 1, 7, 8), found(folder.string(), 1, 7, 8);
    for (int step = 1; step <= last; ++step) fill(written, step, step < 4 ? 20000 : 15000);
    REQUIRE(found.load(layout));
    CHECK(found.has_before() == (last > 1));
    CHECK(ServerRecords::head_of(found.last()).step == last);
    CHECK(found.last() == written.last());
    if (last > 1) CHECK(found.before() == written.before());
    written.remove();
    CHECK_FALSE(found.load(layout));
  }
  CHECK(calls > 50);
  std::filesystem::remove_all(folder);
}

TEST_CASE("a scheduler keeps few strangers, forgets those that are gone, and seats who belongs to the job") {
  ServerEnvironment environment;
  environment.servers = 1, environment.workers = 2;
  Scheduler scheduler(environment);
  const auto hear = [&](std::uint64_t incarnation, Role role) {
    Beat beat;
    beat.incarnation = incarnation, beat.role = role, beat.servers = 1, beat.workers = 2;
    return scheduler.hear(beat);
  };
  CHECK(hear(1, Role::worker).rank == -1);
  for (std::uint64_t one = 100; one < 121; ++one) CHECK(read_text(hear(one, Role::worker).refusal) == "");
  for (std::uint64_t one = 200; one < 20000; ++one)
    REQUIRE(read_text(hear(one, Role::worker).refusal) ==
            "22 processes wait for one of 3 places already: end those that do not belong to this job, or that a loop "
            "starts again and again");
  ::usleep(10 * beat_ms * 1000 + 50000);
  CHECK(read_text(hear(2, Role::worker).refusal) == "");  // those before have not beaten for a second
  CHECK(hear(2, Role::worker).workers == 1);
  CHECK(hear(1, Role::worker).rank == -1);
  CHECK(hear(3, Role::server).rank == 0);
  CHECK(hear(1, Role::worker).rank == 1);
  CHECK(hear(2, Role::worker).rank == 0);
}

TEST_CASE("where the system makes no more threads, a node says so") {
  ServerEnvironment environment;
  environment.servers = environment.workers = 1, environment.host = "127.0.0.1";
  environment.port = support::free_port();
  const ZmqSocket first(ZMQ_ROUTER, 1000);  // the threads of ZeroMQ
  for (const Role role : {Role::scheduler, Role::worker}) {
    environment.role = role;
    const support::FewThreads none(0);
    CHECK(support::error_of([&] { ServerNode node(environment, {}); }).starts_with("The system makes no more threads"));
  }
}
