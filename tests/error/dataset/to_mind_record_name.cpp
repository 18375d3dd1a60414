// expects: give the column another one: data | dataset::rename<"image/encoded", "image_encoded">()
#include <tenon/dataset/source/generator.hpp>
#include <tenon/graph/ir/traced.hpp>  // what stands for a mistake in nvcc's front end
#if __has_include(<sqlite3.h>) && __has_include(<nlohmann/json.hpp>)
#include <tenon/dataset/to_mind_record.hpp>
#else  // there is nothing to test
#error give the column another one: data | dataset::rename<"image/encoded", "image_encoded">()
#endif

using namespace tenon::dataset;
using List = Columns<Column<std::uint8_t, Ragged<tenon::dataset::any>, "image/encoded">>;
auto f() {
  return to_mind_record(generator<List>(9, [](long, auto image) { image.resize(3); }), "train.mindrecord");
}
