#include <tenon/graph/observe/config_members.hpp>

struct Config {
  int kernel[6] = {}, stride[5] = {};
  int padded = 0;
};
int f() { return tenon::make_config_members<Config>()->count; }
