#include <tenon/graph/observe/attribute_names.hpp>

struct Config {
  int kernel[6] = {}, stride[5] = {};
  int padded = 0;
};
int f() { return int(tenon::attribute_names<Config>.size()); }
