// Reads the JSON of an inference request while nlohmann_json meets its parts: no tree of values is built, and nothing
// is kept beyond what the model's inputs hold. This reader takes plain numbers of the data from the text itself;
// nlohmann_json goes on where they end.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/serve/infer/number_list.hpp>
#include <tenon/serve/infer/plain_numbers.hpp>

namespace tenon::inline TENON_ABI::serving {

/// What a request says about an input. Elements are in `numbers`, or bytes after the JSON.
struct InputText {
  std::string name, datatype;
  std::vector<std::int64_t> shape;
  NumberList numbers;
  std::vector<std::size_t> nesting;  // extents of nested arrays, [n] for a flat one
  std::int64_t binary_size = -1;     // -1: none
  bool has_data = false, has_shape = false;
};
struct OutputText {
  std::string name;
  int binary = -1;  // -1: as the request says for all
};
struct InferText {
  std::string id;
  bool has_id = false, binary_output = false, names_outputs = false;
  std::vector<InputText> inputs;
  std::vector<OutputText> outputs;
};

/// What a request may have at most.
struct InferLimits {
  std::size_t inputs = 1, outputs = 1, elements = 0;  // elements of an input
};

/// The receiver of nlohmann_json's events. `reason` says why it stopped.
class InferReader {
  using Json = nlohmann::json;

 public:
  /// `cursor` is where nlohmann_json reads.
  InferReader(const InferLimits& limits, TextCursor& cursor) : limits_(limits), cursor_(cursor) {
    open_.reserve(max_depth);
  }

  InferText result;
  std::string reason;

  /// The same as no value, where one may be missing.
  bool null() {
    const Place at = top();
    const bool optional = at == Place::request ? key_ != "inputs" : at == Place::input || at == Place::output;
    return (optional && number_of(key_) < 4) || !has_other_type() || fail("a null where a value is needed");
  }
  bool boolean(bool value) {
    switch (top()) {
      case Place::data: return add([&](NumberList& list) { return list.add_flag(value); });
      case Place::request_parameters:
        if (key_ == "binary_data_output") result.binary_output = value;
        return true;
      case Place::output_parameters:
        if (key_ == "binary_data") result.outputs.back().binary = value;
        return true;
      default: return other_scalar();
    }
  }
  /// One with a minus, also -0.
  bool number_integer(Json::number_integer_t value) {
    if (top() == Place::data) return add([&](NumberList& list) { return list.add_negative(value); });
    if (top() == Place::shape) return fail("a negative extent in a shape");
    return other_scalar();
  }
  bool number_unsigned(Json::number_unsigned_t value) {
    if (top() == Place::data) return add([&](NumberList& list) { return list.add_whole(value); });
    if (top() == Place::shape) {
      std::vector<std::int64_t>& shape = result.inputs.back().shape;
      if (shape.size() == max_rank) return fail(text("a shape of more than ", max_rank, " extents"));
      if (value > most) return fail("an extent that no tensor has");
      return shape.push_back(std::int64_t(value)), true;
    }
    if (top() == Place::input_parameters && key_ == "binary_data_size") {
      if (value > most) return fail("a binary_data_size that no request has");
      result.inputs.back().binary_size = std::int64_t(value);
      return true;
    }
    return other_scalar();
  }
  bool number_float(Json::number_float_t value, const std::string& digits) {
    if (top() == Place::data) return add([&](NumberList& list) { return list.add_real(value, digits); });
    if (top() == Place::shape) return fail("an extent that is not whole");
    return other_scalar();
  }
  bool string(std::string& value) {
    switch (top()) {
      case Place::request:
        if (key_ != "id") break;
        if (value.size() > longest_text) return fail(text("an id of more than ", longest_text, " bytes"));
        result.id = std::move(value), result.has_id = true;
        return true;
      case Place::input:
        if (key_ == "name") return keep(result.inputs.back().name, value);
        if (key_ == "datatype") return keep(result.inputs.back().datatype, value);
        break;
      case Place::output:
        if (key_ == "name") return keep(result.outputs.back().name, value);
        break;
      case Place::data: return fail("a text in the data of an input: no datatype of a model here has texts");
      default: break;
    }
    return other_scalar();
  }
  bool binary(Json::binary_t&) { return fail("a binary value"); }

  bool start_object(std::size_t) {
    switch (top()) {
      case Place::root: return push(Place::request);
      case Place::request: return push(key_ == "parameters" ? Place::request_parameters : skipped_or_refused());
      case Place::inputs:
        if (result.inputs.size() == limits_.inputs) return fail("more inputs than the model has");
        result.inputs.emplace_back();
        return push(Place::input);
      case Place::input: return push(key_ == "parameters" ? Place::input_parameters : skipped_or_refused());
      case Place::outputs:
        if (result.outputs.size() == limits_.outputs) return fail("more outputs than the model has");
        result.outputs.emplace_back();
        return push(Place::output);
      case Place::output: return push(key_ == "parameters" ? Place::output_parameters : skipped_or_refused());
      case Place::data:
      case Place::shape: return fail("an object where a number is needed");
      default: return push(Place::skipped);
    }
  }
  bool start_array(std::size_t) {
    switch (top()) {
      case Place::root: return fail("an array where the request is an object");
      case Place::request:
        if (key_ == "outputs") result.names_outputs = true;
        return push(key_ == "inputs" ? Place::inputs : key_ == "outputs" ? Place::outputs : skipped_or_refused());
      case Place::input:
        if (key_ == "shape") {
          result.inputs.back().has_shape = true;
          return push(Place::shape);
        }
        if (key_ != "data") return push(skipped_or_refused());
        result.inputs.back().has_data = true;
        counts_.assign(1, 0);
        data_depth_ = 1;
        return push(Place::data) && read_plain();
      case Place::data:
        if (data_depth_ >= max_rank) return fail("data that is nested deeper than a shape");
        if (leaf_ == data_depth_) return fail("data with a number and an array side by side");
        ++counts_[std::size_t(data_depth_) - 1];
        if (int(counts_.size()) == data_depth_) counts_.push_back(0);
        counts_[std::size_t(data_depth_++)] = 0;
        return push(Place::data) && read_plain();
      case Place::inputs:
      case Place::outputs:
      case Place::shape: return fail("an array where it has no place");
      default: return push(Place::skipped);
    }
  }
  bool end_object() { return pop(); }
  bool end_array() { return top() != Place::data || end_data() ? pop() : false; }
  bool key(std::string& name) {
    key_ = std::move(name);
    const int known = top() == Place::skipped ? -1 : number_of(key_);
    if (known < 0) return true;
    if (open_.back().seen >> known & 1) return fail(text("the name ", key_, " twice in an object"));
    open_.back().seen |= 1u << known;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) {
    if (error.id == 406) return fail("a number that no datatype has");
    return fail(text("an error in the JSON near byte ", position + passed_));
  }

 private:
  enum class Place : unsigned char {
    root,
    request,
    request_parameters,
    inputs,
    input,
    input_parameters,
    shape,
    data,
    outputs,
    output,
    output_parameters,
    skipped
  };
  struct Open {
    Place place;
    unsigned seen = 0;
  };
  static constexpr std::size_t max_depth = 16, longest_text = 256;
  static constexpr std::uint64_t most = std::uint64_t{1} << 40;
  static constexpr std::string_view names[]{
      "id",   "parameters",       "inputs",      "outputs",           "name", "shape", "datatype",
      "data", "binary_data_size", "binary_data", "binary_data_output"};

  static int number_of(std::string_view name) {
    for (std::size_t k = 0; k < std::size(names); ++k)
      if (names[k] == name) return int(k);
    return -1;
  }
  Place top() const { return open_.empty() ? Place::root : open_.back().place; }
  bool fail(std::string why) {
    reason = std::move(why);
    return false;
  }
  bool push(Place place) {
    if (!reason.empty()) return false;
    if (open_.size() == max_depth) return fail(text("nesting deeper than ", max_depth, " levels"));
    open_.push_back({place});
    return true;
  }
  bool pop() {
    open_.pop_back();
    return true;
  }
  bool keep(std::string& to, std::string& value) {
    if (value.size() > longest_text) return fail(text("a name of more than ", longest_text, " bytes"));
    to = std::move(value);
    return true;
  }
  // A value under a name that the protocol gives a meaning, with another type.
  bool has_other_type() const {
    const Place at = top();
    if (at == Place::request) return number_of(key_) >= 0 && number_of(key_) <= 3;
    if (at == Place::input) return key_ == "parameters" || (number_of(key_) >= 4 && number_of(key_) <= 7);
    if (at == Place::output) return key_ == "name" || key_ == "parameters";
    if (at == Place::input_parameters) return key_ == "binary_data_size";
    if (at == Place::output_parameters) return key_ == "binary_data";
    if (at == Place::request_parameters) return key_ == "binary_data_output";
    return at != Place::skipped;
  }
  bool other_scalar() {
    if (!has_other_type()) return true;
    if (top() == Place::root) return fail("a value where the request is an object");
    if (top() == Place::inputs || top() == Place::outputs) return fail("a value where an object is needed");
    if (top() == Place::shape || top() == Place::data) return fail("a value where a number is needed");
    return fail(text("a value of the wrong type for ", key_));
  }
  Place skipped_or_refused() {
    if (has_other_type()) fail(text("a value of the wrong type for ", key_));
    return Place::skipped;
  }
  template <class F>
  bool add(F add_to) {
    NumberList& list = result.inputs.back().numbers;
    if (list.size() == limits_.elements) return fail("more elements than the largest batch has");
    if (leaf_ == 0) leaf_ = data_depth_;
    if (leaf_ != data_depth_ || data_depth_ < int(counts_.size()))
      return fail("data with a number and an array side by side");
    ++counts_[std::size_t(data_depth_) - 1];
    return add_to(list) || fail("data with booleans and numbers");
  }
  // Behind the bracket of an array of the data.
  bool read_plain() {
    NumberList& list = result.inputs.back().numbers;
    if ((leaf_ && leaf_ != data_depth_) || data_depth_ < int(counts_.size()) || list.has_flags()) return true;
    const std::size_t before = list.size();
    const char* const at = read_plain_numbers(cursor_.at, cursor_.end, limits_.elements - before, list);
    passed_ += std::size_t(at - std::exchange(cursor_.at, at));
    if (list.size() == before) return true;
    leaf_ = data_depth_;
    counts_[std::size_t(data_depth_) - 1] += list.size() - before;
    return true;
  }
  // An array of the data ends: all arrays of a level have equal lengths.
  bool end_data() {
    std::vector<std::size_t>& nesting = result.inputs.back().nesting;
    const auto level = std::size_t(--data_depth_);
    if (nesting.size() <= level) nesting.resize(level + 1, npos);
    if (nesting[level] != npos && nesting[level] != counts_[level])
      return fail("data with nested arrays of unequal lengths");
    nesting[level] = counts_[level];
    if (data_depth_ == 0) leaf_ = 0;
    return true;
  }
  static constexpr std::size_t npos = std::size_t(-1);

  InferLimits limits_;
  TextCursor& cursor_;
  std::size_t passed_ = 0;  // bytes that nlohmann_json has not seen
  std::vector<Open> open_;
  std::string key_;
  std::vector<std::size_t> counts_;  // of the arrays of the data that are open, outermost first
  int data_depth_ = 0, leaf_ = 0;    // leaf_: the depth at which the numbers are, 0 before the first
};

/// Reads the JSON of a request. Returns what is wrong with it, or nothing.
inline std::string read_infer_text(std::string_view json, const InferLimits& limits, InferText& to) {
  TextCursor cursor{json.data(), json.data() + json.size()};
  InferReader reader(limits, cursor);
  if (!nlohmann::json::sax_parse(CursorIterator(&cursor), CursorIterator(), &reader))
    return "the request has " + (reader.reason.empty() ? "an error in the JSON" : reader.reason);
  to = std::move(reader.result);
  return {};
}

}  // namespace tenon::serving
