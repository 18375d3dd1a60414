#include <tenon/dataset/dataset.hpp>
#if __has_include(<sqlite3.h>) && __has_include(<nlohmann/json.hpp>)
#include <tenon/dataset/to_mind_record.hpp>

using namespace tenon::dataset;
auto f(Digits digits) { to_mind_record(digits, "train.mindrecord"); }
#endif
