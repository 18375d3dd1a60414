#include <tenon/graph/observe/attribute_names.hpp>

struct Config {
  int padded = 0, ceil = 0;
  int stride = 1;
};
int f() { return int(tenon::attribute_names<Config>.size()); }
