// expects: to_mind_record writes one sample in a row: leave out batch, which comes after dataset::MindRecord
#include <tenon/dataset/dataset.hpp>
#if __has_include(<sqlite3.h>) && __has_include(<nlohmann/json.hpp>)
#include <tenon/dataset/to_mind_record.hpp>
#else  // there is nothing to test
#error to_mind_record writes one sample in a row: leave out batch, which comes after dataset::MindRecord
#endif

using namespace tenon::dataset;
auto f(Digits digits) { to_mind_record(digits | batch(32), "train.mindrecord"); }
