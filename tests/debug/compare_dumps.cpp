// Two dumps side by side: errors worked out by hand, order of execution, and files that are broken or none of a dump.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include <unistd.h>

#include <tenon/debug/dump/compare_dumps.hpp>
#include <tenon/debug/dump/dumped_tensor.hpp>

#include "../support/comma_locale.hpp"

using namespace tenon;
using namespace tenon::debug;
namespace fs = std::filesystem;

namespace {
struct Dump {
  fs::path path;
  explicit Dump(const char* name) : path(fs::absolute(name)) { fs::remove_all(path); }
  ~Dump() { fs::remove_all(path); }
  std::string string() const { return path.string(); }

  void add_text(const std::string& name, const std::string& content) const {
    fs::create_directories((path / name).parent_path());
    io::write_file((path / name).string(), content);
  }
  void add(const std::string& folder, const char* operation, std::int64_t time, std::vector<float> values,
           std::vector<std::int64_t> shape = {}) const {
    if (shape.empty()) shape = {std::int64_t(values.size())};
    const DumpedTensor what{"Op", operation, true, 0, time};
    add_text(folder + "/" + what.file_name(Dtype::float32),
             dump_npy_header(Dtype::float32, shape) +
                 std::string(reinterpret_cast<const char*>(values.data()), values.size() * 4));
  }
};
}  // namespace

TEST_CASE("errors by hand, and the first difference in the order of execution") {
  const Dump a("compare_a"), b("compare_b");
  a.add("rank_0/Net/0/9", "same", 30, {1, 2, 3});
  b.add("rank_0/Net/0/9", "same", 7, {1, 2, 3});
  a.add("rank_0/Net/0/9", "z", 10, {3, 4, 0, NAN});
  b.add("rank_0/Net/0/9", "z", 8, {4, 3, 0, NAN});
  a.add("rank_0/Net/0/10", "a", 1, {1, INFINITY, -0.0f});
  b.add("rank_0/Net/0/10", "a", 1, {1, 5, 0});
  a.add("rank_0/Net/0/9", "y", 20, {1, 2}, {2, 1});
  b.add("rank_0/Net/0/9", "y", 2, {1, 2}, {1, 2});
  a.add("rank_0/Net/0/9", "mine", 20, {1});
  b.add("rank_0/Net/0/9", "yours", 20, {1});
  b.add("rank_0/Net/0/9", "broken", 40, {1});
  a.add_text("rank_0/Net/0/9/Op.broken.0.0.50.output.0.DefaultFormat.Float32.npy", "\x93NUMPY");
  a.add_text("rank_0/execution_order/ms_execution_order_graph_0.csv", "x");

  const DumpComparison found = compare_dumps(a.string(), b.string());
  CHECK(!found.same());
  CHECK(found.compared == 5);
  CHECK(found.only_in_first == std::vector<std::string>{"rank_0/Net/0/9/Op.mine.output.0"});
  CHECK(found.only_in_second == std::vector<std::string>{"rank_0/Net/0/9/Op.yours.output.0"});
  REQUIRE(found.different.size() == 4);
  const TensorDifference& z = found.different[0];
  CHECK(z.tensor == "rank_0/Net/0/9/Op.z.output.0");
  CHECK(z.count == 4);
  CHECK(z.different == 2);
  CHECK(z.max_abs == 1);
  CHECK(z.max_rel == 0.25);
  CHECK(z.mean_abs == doctest::Approx(2.0 / 3));
  CHECK(z.cosine == doctest::Approx(24.0 / 25));
  CHECK(found.different[1].reason == "float32 [2, 1] and float32 [1, 2]");
  CHECK(found.different[2].reason.find("Cannot read") == 0);
  // folder 10 comes behind folder 9; the infinite pair is in no error, zeros of two signs are other bits
  CHECK(found.different[3].tensor == "rank_0/Net/0/10/Op.a.output.0");
  CHECK(found.different[3].different == 2);
  CHECK(found.different[3].max_abs == 0);
  CHECK(found.different[3].cosine == 1);
  const support::CommaLocale german;  // its numbers have points all the same
  CHECK(found.text(1) == "5 tensors compared, 4 differ.\n"
                         "1 tensors are in the first dump only, such as rank_0/Net/0/9/Op.mine.output.0.\n"
                         "1 tensors are in the second dump only, such as rank_0/Net/0/9/Op.yours.output.0.\n"
                         "The first tensor that differs: rank_0/Net/0/9/Op.z.output.0\n"
                         "\n"
                         "    max abs     max rel    mean abs     cosine    different/all  tensor\n"
                         "  1.000e+00   2.500e-01   6.667e-01  0.9600000            2/4  rank_0/Net/0/9/Op.z.output.0\n"
                         "... and 3 more.\n");
  CHECK(compare_dumps(a.string() + "/rank_0/Net/0/10", a.string() + "/rank_0/Net/0/10/").same());
}

TEST_CASE("a second run in the same folder counts, a short name is looked up, links are not followed") {
  const Dump a("compare_c");
  a.add("0", "x", 1, {1});
  a.add("0", "x", 2, {2});
  a.add_text("0/123.npy", dump_npy_header(Dtype::float32, {}) + "abcd");
  a.add_text("0/mapping.csv", "123.npy,Op.long.name.0.0.3.input.4.DefaultFormat.Float32.npy\n,\nnothing\n");
  a.add_text("0/other.npy", "x");
  fs::create_directory_symlink(a.path, a.path / "0/loop");
  const std::vector<DumpFile> files = dump_files(a.string());
  REQUIRE(files.size() == 2);
  CHECK(files[0].tensor == "0/Op.x.output.0");
  CHECK(files[0].time == 2);
  CHECK(files[1].tensor == "0/Op.long.name.input.4");
}

TEST_CASE("folders that have nothing to compare") {
  CHECK_THROWS_WITH_AS(compare_dumps("/nowhere/at/all", "/tmp"), doctest::Contains("Cannot read the folder"),
                       RuntimeError);
  const Dump empty("compare_d");
  empty.add_text("statistic.csv", "x");
  CHECK_THROWS_WITH_AS(compare_dumps(empty.string(), empty.string()),
                       doctest::Contains("There are no tensors of a dump"), RuntimeError);
}

TEST_CASE("NumPy reads the files of a dump") {
  if (std::system("python3 -c 'import numpy' >/dev/null 2>&1") != 0) {
    MESSAGE("SKIPPED: python3 has no numpy here");
    return;
  }
  const Dump a("compare_e");
  a.add("0", "x", 1, {1, 2, 3, 4, 5, 6}, {2, 3});
  const std::string read = "import numpy, sys; a = numpy.load(sys.argv[1]); assert a.dtype == numpy.float32; "
                           "assert a.tolist() == [[1, 2, 3], [4, 5, 6]]";
  CHECK(std::system(text("python3 -c '", read, "' ", dump_files(a.string())[0].path).c_str()) == 0);
}
