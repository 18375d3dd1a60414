#include <tenon/graph/observe/config_members.hpp>

struct Config {
  int padded = 0, ceil = 0;
  int stride = 1;
};
int f() { return tenon::make_config_members<Config>()->count; }
