// expects: a writer of a dump needs File open(const DumpedStep&), void write(File&, const DumpedTensor&, const
// AnyTensor&), and void close(File&)
#define TENON_OBSERVE
#include <tenon/debug/dump/dump.hpp>
#include <tenon/tenon.hpp>
using namespace tenon;

struct Names {
  int open(const debug::DumpedStep&) { return 0; }
  void wrote(int&, const debug::DumpedTensor&, const AnyTensor&) {}
  void close(int&) {}
};

void f() {
  debug::Dump dump(Names{});
  const Watching scope(dump);
}
