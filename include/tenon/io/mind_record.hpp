// MindRecord files, MindSpore's format of data sets: written and read, row by row. Needs SQLite and nlohmann_json.
#pragma once
#include <tenon/io/mind_record/reader.hpp>
#include <tenon/io/mind_record/schema.hpp>
#include <tenon/io/mind_record/writer.hpp>
