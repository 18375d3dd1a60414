#include <tenon/tenon.hpp>

void f() {
  tenon::Tensor row({{1.0f, 2.0f, 3.0f}});
  static_assert(row.rank == 2);
  static_cast<void>(row);
}
