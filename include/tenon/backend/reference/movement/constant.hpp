// Constant tensors: the program's numbers.
#pragma once
#include <tenon/backend/reference/index.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
template <class Values>
struct ConstantTable;
}

template <class Values>
struct Kernel<Reference, ops::ConstantTable<Values>> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    for (long i = 0; i < Call::result.count(1); ++i) a.result<typename Call::Result>()[i] = Values::values[i];
  }
};

}  // namespace tenon
