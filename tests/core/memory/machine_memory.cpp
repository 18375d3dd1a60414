// What the machine and the control groups of a process have left, read from files as the kernel writes them.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include <tenon/core/memory/memory_limit.hpp>
#include <tenon/core/memory/storage.hpp>

using namespace tenon;

namespace {

/// A folder in place of "/".
struct System {
  std::string root = (std::filesystem::current_path() / "system/").string();
  System() {
    std::filesystem::remove_all(root);
    std::filesystem::create_directories(root);
    detail::system_root() = root.c_str();
  }
  ~System() { detail::system_root() = "/"; }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
    std::ofstream(root + path) << text;
  }
  void machine(long available_kb, long swap_kb = 0) const {
    write("proc/meminfo",
          "MemTotal:       24737376 kB\nMemFree:        20415244 kB\nMemAvailable:   " + std::to_string(available_kb) +
              " kB\nSwapCached:            0 kB\nSwapFree:       " + std::to_string(swap_kb) + " kB\n");
  }
};

double left() { return detail::machine_memory().bytes; }
bool of_group() { return detail::machine_memory().of_group; }

}  // namespace

TEST_CASE("a machine: what is available, and swap space") {
  const System system;
  CHECK(std::isinf(left()));  // it says nothing
  system.machine(1000);
  CHECK(left() == 1000 * 1024);
  system.machine(1000, 500);
  CHECK(left() == 1500 * 1024);
  system.write("proc/meminfo", "MemAvailable: lots\nSwapFree:");
  CHECK(std::isinf(left()));
  system.write("proc/meminfo", std::string("\0\n\n", 3));
  CHECK(std::isinf(left()));
}

TEST_CASE("control groups, version 2: the tightest on the way up, less what is used, with what files occupy") {
  const System system;
  system.machine(1 << 20);
  system.write("proc/self/cgroup", "0::/user.slice/job 7\n");
  const std::string user = "sys/fs/cgroup/user.slice", job = user + "/job 7";
  system.write(job + "/memory.max", "max\n");
  system.write(job + "/memory.current", "4096\n");
  CHECK(left() == 1073741824.0);
  CHECK_FALSE(of_group());
  system.write(user + "/memory.max", "1000000\n");
  system.write(user + "/memory.current", "700000\n");
  CHECK(left() == 300000);
  CHECK(of_group());
  system.write(user + "/memory.stat", "anon 1\nfile 9\nkernel_stack 5\ninactive_file 1000\nactive_file 200\n"
                                      "slab_reclaimable 30\nworkingset_activate_file 77777\n");
  CHECK(left() == 301230);
  system.write(job + "/memory.max", "500\n");
  CHECK(left() == 0);  // more is used than allowed
}

TEST_CASE("control groups, version 2: swap space as far as the group may use it") {
  const System system;
  system.machine(1 << 20, 1 << 10);
  system.write("proc/self/cgroup", "0::/\n");
  const std::string group = "sys/fs/cgroup";
  system.write(group + "/memory.max", "1000000");
  system.write(group + "/memory.current", "400000");
  CHECK(left() == 600000 + 1048576.0);
  system.write(group + "/memory.swap.max", "50000");
  system.write(group + "/memory.swap.current", "20000");
  CHECK(left() == 630000);
  system.write(group + "/memory.swap.max", "max");
  CHECK(left() == 600000 + 1048576.0);
}

TEST_CASE("control groups, version 1: 2^63 is no limit; in a container the path may be one outside") {
  const System system;
  system.machine(1 << 20, 1 << 10);
  system.write("proc/self/cgroup", "9:name=systemd:/memory\n4:cpu,memory:/outer/7\n0::/\n");
  const std::string group = "sys/fs/cgroup/memory";
  system.write(group + "/memory.limit_in_bytes", "9223372036854771712\n");
  system.write(group + "/memory.usage_in_bytes", "123\n");
  CHECK_FALSE(of_group());
  system.write(group + "/memory.limit_in_bytes", "1000000\n");
  system.write(group + "/memory.usage_in_bytes", "250000\n");
  system.write(group + "/memory.stat", "inactive_file 5\ntotal_inactive_file 100\ntotal_active_file 20\n");
  CHECK(left() == 750120 + 1048576.0);
  system.write(group + "/memory.memsw.limit_in_bytes", "1100000\n");
  system.write(group + "/memory.memsw.usage_in_bytes", "260000\n");
  CHECK(left() == 750120 + 90000);
  system.write(group + "/outer/7/memory.limit_in_bytes", "300000\n");
  system.write(group + "/outer/7/memory.usage_in_bytes", "299000\n");
  system.write(group + "/outer/7/memory.memsw.limit_in_bytes", "300000\n");
  system.write(group + "/outer/7/memory.memsw.usage_in_bytes", "299000\n");
  CHECK(left() == 1000);
}

TEST_CASE("a path that leads out, or is none, is that of the first group") {
  const System system;
  for (const char* const line : {"0::/../../etc\n", "0::\n", "0::no slash\n", "0:", "", "\n\n::::\n"}) {
    system.write("proc/self/cgroup", line);
    system.write("sys/fs/cgroup/memory.max", "7000");
    CAPTURE(line);
    CHECK(left() == 7000);
  }
}

TEST_CASE("memory that the machine has not is refused before it is touched, a smaller block can be had") {
  const System system;
  system.machine(100 << 10);  // 105 MB
  const long before = detail::memory_in_use();
  CHECK_THROWS_WITH_AS(Storage(std::size_t(1) << 30),
                       doctest::Contains("Out of memory: 1.07 GB were asked for the elements of a tensor, 105 MB are "
                                         "free (all that this machine has, "),
                       OutOfMemory);
  CHECK(detail::memory_in_use() == before);
  system.write("sys/fs/cgroup/memory.max", "90000000");
  CHECK_THROWS_WITH_AS(Storage(std::size_t(1) << 30),
                       doctest::Contains(", 90 MB are free (all that its control group leaves to this process, "),
                       OutOfMemory);
  CHECK(Storage(std::size_t(70) << 20).data());
}

TEST_CASE("small blocks are looked after, too: each time that much more is in use") {
  const System system;
  Storage::give_back_kept();
  system.machine(400 << 10);
  Storage block[64];
  int made = 0;
  CHECK_THROWS_AS(
      [&] {
        for (Storage& one : block) {
          one = Storage(std::size_t(16) << 20);
          ++made;
          system.machine((400 << 10) - made * (16 << 10));  // as if it were touched
        }
      }(),
      OutOfMemory);
  CHECK(made >= 22);
  CHECK(made <= 25);  // 400 MB
}

TEST_CASE("what is reserved and not touched yet is not free, though the system calls it so") {
  const System system;
  system.machine(1000);
  system.write("proc/self/status", "Name:\ta\nRssAnon:\t     300 kB\nRssFile:\t    9999 kB\nVmSwap:\t      50 kB\n");
  const auto left_beside = [](long kilobytes) { return detail::machine_memory(1024.0 * kilobytes).bytes / 1024; };
  CHECK(left_beside(0) == 1000);
  CHECK(left_beside(350) == 1000);  // all of it is touched
  CHECK(left_beside(351) == 999);
  CHECK(left_beside(5000) == 0);
  system.write("proc/self/status", "RssAnon: 300 kB\n");
  CHECK(left_beside(351) == 949);
  for (const char* const text : {"", "VmSwap: 5 kB", "RssAnon: many\nVmSwap: -", "RssAnon:"}) {
    system.write("proc/self/status", text);
    CHECK(left_beside(5000) == 1000);
  }
}

TEST_CASE("blocks that nobody has touched are refused when they are more than there is, together") {
  const System system;
  Storage::give_back_kept();
  system.machine(400 << 10);
  system.write("proc/self/status", "RssAnon:        0 kB\n");
  Storage block[3];
  for (Storage& one : block) one = Storage(std::size_t(112) << 20);
  CHECK_THROWS_WITH_AS(Storage(std::size_t(112) << 20), doctest::Contains(" are free (all that this machine has, "),
                       OutOfMemory);
  block[0] = {};
  Storage::give_back_kept();
  CHECK(Storage(std::size_t(112) << 20).data());
}

TEST_CASE("this machine has some, and says how much") {
  const double bytes = left();
  CHECK(bytes > 0);
}
