#include <tenon/dataset/operation/rename.hpp>
#include <tenon/dataset/source/generator.hpp>
#if __has_include(<sqlite3.h>) && __has_include(<nlohmann/json.hpp>)
#include <tenon/dataset/to_mind_record.hpp>

using namespace tenon::dataset;
using List = Columns<Column<std::uint8_t, Ragged<tenon::dataset::any>, "image/encoded">>;
auto f() {
  const auto data = generator<List>(9, [](long, auto image) { image.resize(3); });
  return to_mind_record(data | rename<"image/encoded", "image_encoded">(), "train.mindrecord");
}
#endif
