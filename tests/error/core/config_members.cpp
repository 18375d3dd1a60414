// expects: an operator's Config is at most 12 members of type int, float, or int enum
#include <tenon/graph/observe/config_members.hpp>

struct Config {
  int kernel[7] = {}, stride[5] = {};
  bool padded = false;
};
int f() { return tenon::make_config_members<Config>()->count; }
