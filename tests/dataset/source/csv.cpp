// Csv: the cases of RFC 4180, numbers of all kinds, names and places of columns, and what is refused in which words.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../support.hpp"

#include <algorithm>
#include <cmath>

#include <tenon/dataset/batch/batch.hpp>
#include <tenon/dataset/cache/pipeline_description.hpp>
#include <tenon/dataset/map/map.hpp>
#include <tenon/dataset/operation/prefetch.hpp>
#include <tenon/dataset/operation/shuffle.hpp>
#include <tenon/dataset/source/csv.hpp>

using namespace support;
using dataset::any, dataset::as, dataset::Column, dataset::Csv, dataset::Ragged;

namespace {
template <FixedString name = "">
using Text = Column<std::uint8_t, Ragged<any>, name>;
template <FixedString name = "">
using Number = Column<std::int32_t, Shape<>, name>;

struct File : Folder {
  std::string path = *this / "a.csv";
  explicit File(std::string_view content) { io::write_file(path, content); }
};
/// The fields of a file of two columns, without header.
std::vector<std::string> fields_of(std::string_view content, dataset::CsvConfig config = {.header = false}) {
  const File file(content);
  std::vector<std::string> fields;
  for (const auto& row : Csv(file.path, as<Text<>, Text<>>, config)) {
    const auto first = row.values<0>(), second = row.values<1>();
    fields.emplace_back(first.begin(), first.end());
    fields.emplace_back(second.begin(), second.end());
  }
  return fields;
}
using Fields = std::vector<std::string>;
std::string refusal(std::string_view content, dataset::CsvConfig config = {.header = false}) {
  return message<RuntimeError>([&] { fields_of(content, config); });
}
/// What is said of a field that should be a T.
template <class T>
std::string refused(std::string_view field) {
  const File file(field);
  return message<RuntimeError>([&] {
    for (const auto& row : Csv(file.path, as<Column<T, Shape<>>>, {.header = false})) static_cast<void>(row);
  });
}
template <class T>
T value(std::string_view field) {
  const File file(field);
  for (const auto& row : Csv(file.path, as<Column<T, Shape<>>>, {.header = false})) return row.template values<0>()[0];
  return T(-99);
}
/// The pipeline as caches know it; 0 if they do not.
std::uint64_t known_as(const auto& data) {
  dataset::PipelineDescription description;
  description.add_data(data);
  return description.unknown().empty() ? description.number() : 0;
}
}  // namespace

TEST_CASE("csv: a text is a range of bytes, and a string_view") {
  const File file("name,count\nRome,2\n,0\n");
  const auto rows = Csv(file.path, as<Text<"name">, Number<"count">>) |
                    dataset::map<dataset::Inputs<"name", "count">, dataset::Columns<Column<std::int32_t, Shape<3>>>>(
                        [](auto name, auto count, std::span<std::int32_t> seen) {
                          seen[2] = 0, seen[0] = name.text() == "Rome" && count[0] == 2;
                          seen[1] = name.size() > 0 ? name[1] : -1;
                          for (const std::uint8_t c : name) seen[2] += c;
                        });
  std::vector<std::int32_t> all;
  for (const auto& row : rows) all.insert(all.end(), row.values<0>().begin(), row.values<0>().end());
  CHECK(all == std::vector<std::int32_t>{1, 'o', 'R' + 'o' + 'm' + 'e', 0, -1, 0});
}

TEST_CASE("RFC 4180, section 2") {
  CHECK(fields_of("aaa,bbb\r\nzzz,yyy\r\n") == Fields{"aaa", "bbb", "zzz", "yyy"});  // 1
  CHECK(fields_of("aaa,bbb\r\nzzz,yyy") == Fields{"aaa", "bbb", "zzz", "yyy"});      // 2
  CHECK(fields_of("name,other\r\naaa,bbb\r\n", {}) == Fields{"aaa", "bbb"});         // 3
  CHECK(fields_of("aaa, b b ") == Fields{"aaa", " b b "});                           // 4: spaces are part of a field
  CHECK(fields_of("\"aaa\",\"bbb\"\r\nzzz,yyy") == Fields{"aaa", "bbb", "zzz", "yyy"});            // 5
  CHECK(fields_of("\"aaa\",\"b \r\nbb\"\r\nzzz,yyy") == Fields{"aaa", "b \r\nbb", "zzz", "yyy"});  // 6
  CHECK(fields_of("\"aaa\",\"b\"\"bb\"") == Fields{"aaa", "b\"bb"});                               // 7
}

TEST_CASE("beyond the RFC: ends of lines, empty fields and lines, a mark in front, other delimiters") {
  CHECK(fields_of("a,b\nc,d\n\n\r\ne,f\n\n") == Fields{"a", "b", "c", "d", "e", "f"});
  CHECK(fields_of(",\n\"\",\"\"\n") == Fields{"", "", "", ""});
  CHECK(fields_of("\"\"\"\",\"a\"\"\"") == Fields{"\"", "a\""});
  CHECK(fields_of("\xef\xbb\xbf\"a\",b") == Fields{"a", "b"});
  CHECK(fields_of("5\" pipe,6\"") == Fields{"5\" pipe", "6\""});
  CHECK(fields_of("a;b,c", {.delimiter = ';', .header = false}) == Fields{"a", "b,c"});
  CHECK(fields_of("a\tb", {.delimiter = '\t', .header = false}) == Fields{"a", "b"});
  CHECK(fields_of("a,b\rc,\"d\"\r\re,\"f\rg\"") == Fields{"a", "b", "c", "d", "e", "f\rg"});
  CHECK(fields_of("a,b\r\nc,d\re,f\n") == Fields{"a", "b", "c", "d", "e", "f"});
  CHECK(fields_of("\"a,\n\n\",\"\n\"\n1,2") == Fields{"a,\n\n", "\n", "1", "2"});
}

TEST_CASE("columns by name, by place, and several fields as one") {
  const File file("id,width,height,kind\n7,1.5,2.5,x\n8,-1e3,+4,\"y\"\n9, 5 ,6,z\n");
  const Csv data(file.path, as<Text<"kind">, Column<float, Shape<2>, "width">, Number<"id">>);
  REQUIRE(data.size() == 3);
  std::vector<float> sizes;
  std::vector<int> ids;
  std::string kinds;
  for (const auto& row : data) {
    for (const float size : row.values<"width">()) sizes.push_back(size);
    ids.push_back(row.values<"id">()[0]);
    kinds += static_cast<char>(row.values<"kind">()[0]);
  }
  CHECK(sizes == std::vector<float>{1.5f, 2.5f, -1000, 4, 5, 6});
  CHECK(ids == std::vector<int>{7, 8, 9});
  CHECK(kinds == "xyz");
  CHECK(known_as(data) != 0);
  CHECK(known_as(Csv(file.path, as<Number<"id">>)) != known_as(Csv(file.path, as<Number<"kind">>)));
  const Csv places(file.path, as<Number<>, Column<float, Shape<2>>>);
  for (const auto& row : places | dataset::batch<3>()) {
    CHECK(row.values<0>()[2] == 9);
    CHECK(row.values<1>()[5] == 6);
  }
}

TEST_CASE("numbers of all dtypes") {
  CHECK(value<std::int8_t>("-128") == -128);
  CHECK(value<std::uint64_t>("18446744073709551615") == 18446744073709551615u);
  CHECK(value<bool>("True"));
  CHECK_FALSE(value<bool>(" 0"));
  CHECK(value<float>("3.4e38") == 3.4e38f);
  CHECK(value<float>("-1e-60") == 0.0f);
  CHECK(value<float>("1e-400") == 0.0f);
  CHECK(value<double>("-1e-400") == 0.0);
  CHECK(value<double>("1e-320") == 1e-320);
  for (const char* tiny : {"1e-5000", "0.1E-4999", "12345e-99999999999999999999", "0.00001e-5000"})
    CHECK(value<double>(tiny) == 0.0);
  CHECK(value<float>("1e-5000") == 0.0f);
  CHECK(std::signbit(value<double>("-1e-5000")));
  CHECK(value<double>("0." + std::string(6000, '0') + "1") == 0.0);
  CHECK(value<double>("0." + std::string(6000, '0') + "1e+6001") == 1.0);
  CHECK(value<double>("0.1") == 0.1);
  CHECK(std::isnan(value<double>("nan")));
  CHECK(value<float>("-inf") == -INFINITY);
  CHECK(value<float16>("1.5") == float16(1.5f));
  CHECK(value<bfloat16>("-2") == bfloat16(-2.0f));
  CHECK(value<std::int32_t>("+5\t") == 5);
}

TEST_CASE("what does not fit is named with line and column") {
  const File file("a,\"the \n kind\"\n1,2\n\"1\",x\n");
  const std::string said = message<RuntimeError>([&] {
    for (const auto& row : Csv(file.path, as<Number<"a">, Number<>>)) static_cast<void>(row);
  });
  CHECK(has(said, "a.csv' as CSV: line 4: column 2 ('the \\n kind'): 'x' is no int32."));
  CHECK(has(said, "row 1 of epoch 0"));
  CHECK(has(refused<std::uint8_t>("256"), "line 1: column 1: '256' is no uint8"));
  CHECK(has(refused<std::uint8_t>("-1"), "is no uint8"));
  CHECK(has(refused<std::int32_t>("1.0"), "'1.0' is no int32"));
  CHECK(has(refused<std::int32_t>("\"\""), "'' is no int32"));
  CHECK(has(refused<float>("1e39"), "is no float32"));
  for (const char* huge : {"1e5000", "-1e+5000", "0.01e5003", "1e99999999999999999999", "1e+99999999999999999999"})
    CHECK(has(refused<double>(huge), "is no float64"));
  CHECK(has(refused<double>("1" + std::string(6000, '0') + "e-900"), "is no float64"));
  CHECK(has(refused<double>("1e-5000x"), "is no float64"));
  CHECK(has(refused<float>("+-1"), "is no float32"));
  CHECK(has(refused<bool>("yes"), "'yes' is no bool"));
}

TEST_CASE("files that are refused") {
  CHECK(has(message<RuntimeError>([] { Csv("no/such.csv", as<Number<>>); }), "No such file"));
  CHECK(has(refusal(""), "it has no row"));
  CHECK(has(refusal("\n\r\n\n"), "it has no row"));
  CHECK(has(refusal("a,b\n", {}), "no row after its header"));
  CHECK(has(refusal("a,b\n1,2\n3\n"), "line 3: it has 1 field, the first row has 2"));
  CHECK(has(refusal("a,b\n1,2,3\n"), "line 2: it has 3 fields"));
  CHECK(has(refusal("a,b\r1,2\r3\r"), "line 3: it has 1 field, the first row has 2"));
  CHECK(has(refusal("a,b\r\n1,2\r\n3\r\n"), "line 3: it has 1 field, the first row has 2"));
  CHECK(has(refusal("a,b\n\n1,\"2\n3,4\n"), "line 3: a quote that opens in this row is not closed"));
  CHECK(has(refusal("a,\"b\"c\n"), "line 1: there is text after the quotes of the field 'b'"));
  CHECK(has(refusal("a,b\naaaa,b\n", {.header = false, .field_limit = 3}), "line 2: a field has 4 bytes, at most 3"));
  CHECK(has(refusal("a,b\n\"aaaaaaaa\na", {.header = false, .row_limit = 6}), "line 2: the row has more than the 6"));
  CHECK(has(refusal(std::string(70000, ',')), "more than 65536 fields"));
  CHECK(has(message<ValueError>([] { fields_of("a", {.delimiter = '"'}); }), "delimiter"));
  const File file("a,b,a\n1,2,3\n");
  CHECK(
      has(message<KeyError>([&] { Csv(file.path, as<Number<"c">>); }), "a.csv' has no column 'c'; it has 'a', 'b', "));
  CHECK(has(message<KeyError>([&] { Csv(file.path, as<Number<"a">>); }), "has two columns 'a'; it has 'a', 'b', 'a'."));
  CHECK(has(message<KeyError>([&] { Csv(file.path, as<Column<float, Shape<4>>>); }), "takes the fields 1 .. 4"));
}

TEST_CASE("longer than a block, read by several threads in another order; a file that shrinks") {
  std::string content = "number,text\n";
  const std::string filler(200, 'x');
  for (int i = 0; i < 20000; ++i) content += text(i, ",\"", filler, i, "\"\n");
  File file(content);
  const Csv data(file.path, as<Number<"number">>);
  CHECK(data.size() == 20000);
  std::vector<bool> seen(20000);
  for (const auto& row :
       data | dataset::shuffle(20000, 5) | dataset::batch(100) | dataset::prefetch(2, {.num_parallel_workers = 3}))
    for (const int number : row.values<0>()) seen[std::size_t(number)] = true;
  CHECK(std::ranges::count(seen, true) == 20000);
  std::filesystem::resize_file(file.path, 1000);
  CHECK(has(message<RuntimeError>([&] {
              for (const auto& row : data) static_cast<void>(row);
            }),
            "ends at 1000 now"));
}
