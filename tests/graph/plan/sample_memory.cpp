// headers: yes
// Places in fast memory: first fit, by lifetimes, and not beyond a limit.
#include <tenon/graph/plan/sample_memory.hpp>

#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "../maker.hpp"

using tenon::detail::FastMemory;

TEST_CASE("a place is free again after its last step") {
  FastMemory<8> memory;
  CHECK(memory.place(64, 0, 2) == 0);
  CHECK(memory.place(32, 0, 0) == 64);
  CHECK(memory.place(128, 1, 3) == 64);  // the second one is over, its place and what follows are free
  CHECK(memory.place(64, 2, 2) == 192);  // the first one lives to the end of step 2
  CHECK(memory.place(64, 3, 3) == 0);
  CHECK(memory.bytes() == 256);
}

TEST_CASE("the first gap that is large enough is taken") {
  FastMemory<8> memory;
  CHECK(memory.place(16, 0, 0) == 0);
  CHECK(memory.place(16, 0, 9) == 16);
  CHECK(memory.place(64, 0, 0) == 32);
  CHECK(memory.place(16, 0, 9) == 96);
  CHECK(memory.place(32, 1, 9) == 32);
  CHECK(memory.place(16, 1, 9) == 0);
  CHECK(memory.bytes() == 112);
}

TEST_CASE("what would end beyond the limit gets no place, and takes none") {
  FastMemory<8> memory;
  CHECK(memory.place(48, 0, 1, 64) == 0);
  CHECK(memory.place(32, 0, 1, 64) == -1);
  CHECK(memory.bytes() == 48);
  CHECK(memory.place(16, 0, 1, 64) == 48);
  CHECK(memory.place(64, 2, 2, 64) == 0);
}

TEST_CASE("values of more bytes than an int counts do not fit, however their number ends") {
  using namespace graph_test;
  for (const int elements : {1 << 29, 1 << 30, 2000000000}) {
    CAPTURE(elements);
    Maker<40> make;
    SampleRoles<40> roles;
    int x = make.input({{dyn, elements}, 2, Dtype::float32});
    for (int k = 0; k < 32; ++k) roles.of[x = make.call<ops::Relu>(x)] = SampleRole::sample;
    make.output(x);
    CHECK(place_samples(make.graph, roles).bytes > 1 << 20);
  }
}
