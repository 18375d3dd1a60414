// The readers that the golden tests stand on: files that NumPy wrote, and files that must be refused.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../support/golden.hpp"

using namespace support;

namespace {
std::string npy(const std::string& header, const std::string& data) {
  const std::string padded = header + "\n";
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(padded.size()) + '\0' + padded + data;
}
}  // namespace

TEST_CASE("a .npy in memory: dtype, shape, elements") {
  const NpyArray a = parse_npy(
      npy("{'descr': '<i2', 'fortran_order': False, 'shape': (3,), }", std::string("\x01\x00\xff\xff\x00\x01", 6)),
      "a");
  CHECK(a.dtype == tenon::Dtype::int16);
  CHECK(a.shape == std::vector<std::int64_t>{3});
  CHECK(a.values<std::int16_t>() == std::vector<std::int16_t>{1, -1, 256});
  CHECK(a.numbers() == std::vector<double>{1, -1, 256});
  CHECK_THROWS_AS(a.values<float>(), tenon::TypeError);
  CHECK(parse_npy(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (), }", "\x07"), "scalar").count() == 1);
}

TEST_CASE("a .npy that is not what it says") {
  CHECK_THROWS_AS(parse_npy("PK", "x"), tenon::ValueError);
  CHECK_THROWS_AS(parse_npy(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "1234567"), "x"),
                  tenon::ValueError);
  CHECK_THROWS_AS(parse_npy(npy("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "1234"), "x"),
                  tenon::TypeError);
  CHECK_THROWS_AS(parse_npy(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1), }", "1234"), "x"),
                  tenon::ValueError);
  CHECK_THROWS_AS(
      parse_npy(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999, 99999999, 99999999), }", "1234"),
                "x"),
      tenon::ValueError);
}

TEST_CASE("files of NumPy") {
  if (!have_shared()) return;
  const Npz deflated = load_npz(shared_folder() + "/golden/npz/deflated.npz"),
            stored = load_npz(shared_folder() + "/golden/npz/stored.npz");
  REQUIRE(deflated.arrays().size() == 5);
  for (const auto& [name, array] : stored.arrays()) {
    CHECK(deflated[name].shape == array.shape);
    CHECK(deflated[name].bytes == array.bytes);
  }
  CHECK_THROWS_AS(deflated["no such array"], tenon::KeyError);
  CHECK_THROWS_AS(load_npz(shared_folder() + "/golden/npz/refuse/truncated.npz"), tenon::ValueError);
  CHECK_THROWS_AS(load_npz(shared_folder() + "/golden/npz/refuse/deflate_garbage.npz"), tenon::ValueError);
  CHECK_THROWS_AS(load_npz(shared_folder() + "/no such file.npz"), tenon::RuntimeError);
  const Npz golden = load_case("where");
  CHECK_THROWS_AS((to_tensor<float, tenon::Shape<4, 3>>(golden["in/x"], "in/x")), tenon::ValueError);
  CHECK(to_tensor<float, tenon::Shape<tenon::dyn, 4>>(golden["in/x"], "in/x").n() == 3);
  CHECK(to_tensor<float, tenon::Shape<4>>(golden["in/y"], "in/y").values()[1] == 1.3243803977966309f);
}
