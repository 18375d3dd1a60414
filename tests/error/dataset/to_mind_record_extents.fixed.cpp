#include <tenon/dataset/source/generator.hpp>
#if __has_include(<sqlite3.h>) && __has_include(<nlohmann/json.hpp>)
#include <tenon/dataset/to_mind_record.hpp>

using namespace tenon::dataset;
using List = Columns<Column<std::uint8_t, Ragged<2, tenon::dataset::any, 3>, "image">>;
auto f() {
  return to_mind_record(generator<List>(9, [](long, auto image) { image.resize(2, 4, 3); }), "train.mindrecord");
}
#endif
