// expects: an operator's Config is at most 12 members of type int, float, or int enum
#include <tenon/graph/observe/config_members.hpp>

struct Config {
  bool padded = false, ceil = false;
  int stride = 1;
};
int f() { return tenon::make_config_members<Config>()->count; }
