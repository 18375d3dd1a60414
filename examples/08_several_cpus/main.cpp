// Lesson 8: one program for several processors. train.cpp is compiled once per instruction set (see CMakeLists.txt);
// this file, compiled for all of them, selects the code for the processor at run time. Tenon's symbols contain the
// instruction set, so no translation unit uses the code of another.
#include <cstdio>
#include <string_view>

// train.cpp defines one of these functions per level of x86-64.
namespace x86_64 {
int train();
}
namespace x86_64_v3 {
int train();
}
namespace x86_64_v4 {
int train();
}

namespace {
struct Level {
  std::string_view name;
  bool runs_here;
  int (*train)();
};
}  // namespace

int main(int count, char** arguments) {
  const Level levels[] = {
      // the fastest first
      {"x86-64-v4", bool(__builtin_cpu_supports("x86-64-v4")), x86_64_v4::train},
      {"x86-64-v3", bool(__builtin_cpu_supports("x86-64-v3")), x86_64_v3::train},
      {"x86-64", true, x86_64::train},
  };
  const std::string_view wanted = count > 1 ? arguments[1] : "";
  for (const Level& level : levels) {
    if (!wanted.empty() && level.name != wanted) continue;
    if (level.runs_here) return level.train();
    if (!wanted.empty())
      return std::fprintf(stderr, "08_several_cpus: this processor cannot run %s.\n", arguments[1]), 1;
  }
  return std::fprintf(stderr, "usage: 08_several_cpus [x86-64 | x86-64-v3 | x86-64-v4], got '%s'.\n", arguments[1]), 2;
}
