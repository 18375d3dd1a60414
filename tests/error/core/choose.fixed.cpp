#include <tenon/core/choose.hpp>

int f(long hidden) {
  return tenon::choose<64, 128>(hidden, []<int Size>() { return Size; });
}
