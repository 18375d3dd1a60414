#include <cstdio>
#include <exception>
#include <string_view>

#include "train.hpp"

double train_in_cpp();

int main(int argc, char** argv) try {
  if (argc > 1 && std::string_view(argv[1]) == "GPU") tenon::set_context({.device_target = "GPU"});
  const double own = train(), other = train_in_cpp();
  std::printf("%a %a\n", own, other);
  return own == other ? 0 : 1;
} catch (const std::exception& e) {
  std::puts(e.what());
  return 1;
}
