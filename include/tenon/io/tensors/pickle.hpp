// The pickles of PyTorch's files, as far as they describe tensors: numbers, texts, tuples, lists, dictionaries, and
// tensors. Nothing is ever called: what a pickle may name is a fixed list.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <tenon/core/dtype.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/tensor/any_tensor.hpp>
#include <tenon/io/text/escaped_text.hpp>

namespace tenon::inline TENON_ABI::io {

[[noreturn]] inline void throw_bad_pickle(const std::string& path, const std::string& reason) {
  throw_error<RuntimeError>("Cannot read '", path, "' as tensors of PyTorch: ", reason, ".");
}

/// The elements of a tensor: a part of the file data/KEY of the archive.
struct PickledTensor {
  Dtype dtype = Dtype::float32;
  std::string_view key;
  std::int64_t elements = 0, offset = 0;  // of the storage; of the tensor in it
  std::vector<std::int64_t> extents{}, strides{};
};

/// A value of a pickle. A list and a tuple have items; a dictionary has keys and values by turns.
struct PickledValue {
  enum Kind : int { nothing, truth, whole, real, text, tuple, list, dictionary, storage, tensor, name };
  Kind kind = nothing;
  std::int64_t number = 0;  // a truth, a whole number, the number of a tensor or of a name
  double fraction = 0;
  std::string_view letters{};
  std::vector<int> items{};
};

/// Reads a pickle of protocol 2, as torch.save writes it.
///
/// throws   RuntimeError for anything else than what state dictionaries are made of, with the name of what it is
/// source   PyTorch's torch/_weights_only_unpickler.py, without what tensors do not need
class Pickle {
 public:
  Pickle(std::string_view bytes, const std::string& path) : bytes_(bytes), path_(path) {
    while (!is_done_) step();
  }

  const PickledValue& root() const { return value_[std::size_t(root_)]; }
  const PickledValue& operator[](int number) const { return value_[std::size_t(number)]; }
  const PickledTensor& tensor_of(const PickledValue& value) const { return tensor_[std::size_t(value.number)]; }

 private:
  using Kind = PickledValue::Kind;
  enum Name : int { ordered_dict, rebuild_tensor, rebuild_parameter, size, storage_type };

  [[noreturn]] void fail(const std::string& reason) const { throw_bad_pickle(path_, reason); }

  // ---- bytes
  std::uint64_t number(int length) {
    const std::string_view digits = take(std::uint64_t(length));
    std::uint64_t value = 0;
    for (int i = length; i-- > 0;) value = value << 8 | static_cast<unsigned char>(digits[std::size_t(i)]);
    return value;
  }
  std::string_view take(std::uint64_t length) {
    if (length > bytes_.size() - at_) fail("its pickle ends in the middle of a value");
    const std::string_view part = bytes_.substr(at_, length);
    at_ += length;
    return part;
  }
  std::string_view line() {
    const std::size_t end = bytes_.find('\n', at_);
    if (end == bytes_.npos) fail("its pickle ends in the middle of a name");
    const std::string_view part = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return part;
  }

  // ---- the stack
  int push(PickledValue value) {
    value_.push_back(std::move(value));
    stack_.push_back(int(value_.size()) - 1);
    return stack_.back();
  }
  void push_whole(std::int64_t number) { push({.kind = Kind::whole, .number = number}); }
  int pop() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) fail("its pickle takes a value that is not there");
    const int top = stack_.back();
    stack_.pop_back();
    return top;
  }
  PickledValue& top(Kind wanted) {
    if (stack_.empty() || value_[std::size_t(stack_.back())].kind != wanted)
      fail("its pickle changes a value of another kind");
    return value_[std::size_t(stack_.back())];
  }
  std::vector<int> pop_to_mark() {
    if (marks_.empty()) fail("its pickle has no mark where it needs one");
    const auto begin = stack_.begin() + std::ptrdiff_t(marks_.back());
    std::vector<int> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return items;
  }
  std::vector<int> pop_some(int count) {
    std::vector<int> items(static_cast<std::size_t>(count));
    for (int i = count; i-- > 0;) items[std::size_t(i)] = pop();
    return items;
  }
  void push_tuple(std::vector<int> items) { push({.kind = Kind::tuple, .items = std::move(items)}); }
  void append(std::vector<int> items) {
    PickledValue& list = top(Kind::list);
    list.items.insert(list.items.end(), items.begin(), items.end());
  }
  void set_items(std::vector<int> items) {
    if (items.size() % 2) fail("its pickle has a key without a value");
    PickledValue& dictionary = top(Kind::dictionary);
    dictionary.items.insert(dictionary.items.end(), items.begin(), items.end());
  }
  void remember(std::uint64_t place) {
    if (stack_.empty()) fail("its pickle remembers a value that is not there");
    memo_[place] = stack_.back();
  }
  void recall(std::uint64_t place) {
    const auto found = memo_.find(place);
    if (found == memo_.end()) fail("its pickle recalls a value that it does not have");
    stack_.push_back(found->second);
  }

  // ---- what each byte does
  void step() {
    const char code = take(1)[0];
    if (push_value(code) || build_value(code)) return;
    fail(text("its pickle has the instruction ", printable(std::string_view(&code, 1)),
              ", which tensors do not need (other protocols than 2 have more)"));
  }
  bool push_value(char code) {
    switch (code) {
      case '\x80':
        if (const std::uint64_t protocol = number(1); protocol != 2)
          fail(text("its pickle has protocol ", protocol, "; save it without pickle_protocol, which gives 2"));
        return true;
      case 'N': return push({}), true;
      case '\x88': return push({.kind = Kind::truth, .number = 1}), true;
      case '\x89': return push({.kind = Kind::truth}), true;
      case 'K': return push_whole(std::int64_t(number(1))), true;
      case 'M': return push_whole(std::int64_t(number(2))), true;
      case 'J': return push_whole(std::int32_t(number(4))), true;
      case '\x8a': return push_whole(long_number()), true;
      case 'G': {  // the one number whose first byte is the highest
        const std::uint64_t bits = number(8);
        return push({.kind = Kind::real, .fraction = std::bit_cast<double>(__builtin_bswap64(bits))}), true;
      }
      case 'X': return push({.kind = Kind::text, .letters = take(number(4))}), true;
      case 'U': return push({.kind = Kind::text, .letters = take(number(1))}), true;
      case 'c': return push_name(), true;
      case ')': return push_tuple({}), true;
      case ']': return push({.kind = Kind::list}), true;
      case '}': return push({.kind = Kind::dictionary}), true;
      case 'h': return recall(number(1)), true;
      case 'j': return recall(number(4)), true;
      default: return false;
    }
  }
  bool build_value(char code) {
    switch (code) {
      case '(': return marks_.push_back(stack_.size()), true;
      case 't': return push_tuple(pop_to_mark()), true;
      case '\x85': return push_tuple(pop_some(1)), true;
      case '\x86': return push_tuple(pop_some(2)), true;
      case '\x87': return push_tuple(pop_some(3)), true;
      case 'a': return append(pop_some(1)), true;
      case 'e': return append(pop_to_mark()), true;
      case 's': return set_items(pop_some(2)), true;
      case 'u': return set_items(pop_to_mark()), true;
      case 'q': return remember(number(1)), true;
      case 'r': return remember(number(4)), true;
      case 'Q': return push_storage(pop()), true;
      case 'R': return reduce(), true;
      case 'b':  // the _metadata of a dictionary: versions of modules
        pop();
        return static_cast<void>(top(Kind::dictionary)), true;
      case '.': root_ = pop(); return is_done_ = true;
      default: return false;
    }
  }
  std::int64_t long_number() {
    const int length = int(number(1));
    if (length > 8) fail("its pickle has a whole number of more than 64 bits");
    std::uint64_t bits = number(length);
    if (length > 0 && length < 8 && bits >> (8 * length - 1) & 1) bits |= ~std::uint64_t{0} << (8 * length);
    return std::int64_t(bits);
  }

  // ---- names and what they stand for
  void push_name() {
    const std::string_view module = line(), own = line();
    const std::string full = text(module, ".", own);
    if (full == "collections.OrderedDict") return push_name(ordered_dict);
    if (full == "torch._utils._rebuild_tensor_v2") return push_name(rebuild_tensor);
    if (full == "torch._utils._rebuild_parameter") return push_name(rebuild_parameter);
    if (full == "torch.Size") return push_name(size);
    if (const auto dtype = module == "torch" ? dtype_of_storage(own) : std::nullopt)
      return void(push({.kind = Kind::name, .number = storage_type, .items = {int(*dtype)}}));
    fail(text("it needs ", printable(full),
              ", and only tensors are read here. In Python: torch.save(model.state_dict(), ...)"));
  }
  void push_name(Name name) { push({.kind = Kind::name, .number = name}); }
  static std::optional<Dtype> dtype_of_storage(std::string_view name) {
    constexpr std::pair<std::string_view, Dtype> types[]{
        {"FloatStorage", Dtype::float32},     {"DoubleStorage", Dtype::float64}, {"HalfStorage", Dtype::float16},
        {"BFloat16Storage", Dtype::bfloat16}, {"LongStorage", Dtype::int64},     {"IntStorage", Dtype::int32},
        {"ShortStorage", Dtype::int16},       {"CharStorage", Dtype::int8},      {"ByteStorage", Dtype::uint8},
        {"BoolStorage", Dtype::bool_}};
    for (const auto& [known, dtype] : types)
      if (name == known) return dtype;
    return std::nullopt;
  }
  const PickledValue& item(const PickledValue& of, std::size_t k, Kind wanted, const char* what) const {
    if (k >= of.items.size() || value_[std::size_t(of.items[k])].kind != wanted)
      fail(text("its pickle has a ", what, " of another form"));
    return value_[std::size_t(of.items[k])];
  }
  /// ('storage', its type, key, device, number of elements)
  void push_storage(int id) {
    const PickledValue& of = value_[std::size_t(id)];
    const char* const what = "storage";
    const PickledValue& type = item(of, 1, Kind::name, what);
    if (of.kind != Kind::tuple || item(of, 0, Kind::text, what).letters != "storage" || type.number != storage_type)
      fail("its pickle has a storage of another form");
    push({.kind = Kind::storage,
          .number = item(of, 4, Kind::whole, what).number,
          .letters = item(of, 2, Kind::text, what).letters,
          .items = {type.items[0]}});
  }
  void reduce() {
    const int arguments = pop(), function = pop();
    const PickledValue& name = value_[std::size_t(function)];
    const PickledValue& given = value_[std::size_t(arguments)];
    if (name.kind != Kind::name || given.kind != Kind::tuple) fail("its pickle calls what is no function of PyTorch's");
    if (name.number == ordered_dict && given.items.empty()) return void(push({.kind = Kind::dictionary}));
    if (name.number == rebuild_tensor) return push_tensor(given);
    if (name.number == rebuild_parameter || name.number == size) {
      item(given, 0, name.number == size ? Kind::tuple : Kind::tensor, "call");
      return stack_.push_back(given.items[0]);
    }
    fail("its pickle calls what is no function of PyTorch's");
  }
  /// (storage, offset, extents, strides, ...). Of more axes than a tensor has one too many is kept, which is refused
  /// where the tensor is used: all tensors of a small file can share a long tuple.
  void push_tensor(const PickledValue& given) {
    const char* const what = "tensor";
    const PickledValue& storage = item(given, 0, Kind::storage, what);
    PickledTensor tensor{Dtype(storage.items[0]), storage.letters, storage.number,
                         item(given, 1, Kind::whole, what).number};
    for (const std::size_t k : {std::size_t{2}, std::size_t{3}}) {
      const PickledValue& all = item(given, k, Kind::tuple, what);
      for (std::size_t axis = 0; axis < std::min(all.items.size(), std::size_t{AnyTensor::max_axes} + 1); ++axis)
        (k == 2 ? tensor.extents : tensor.strides).push_back(item(all, axis, Kind::whole, what).number);
    }
    if (tensor.extents.size() != tensor.strides.size()) fail("its pickle has a tensor of another form");
    tensor_.push_back(std::move(tensor));
    push({.kind = Kind::tensor, .number = std::int64_t(tensor_.size()) - 1});
  }

  std::string_view bytes_;
  const std::string& path_;
  std::uint64_t at_ = 0;
  std::vector<PickledValue> value_{};
  std::vector<PickledTensor> tensor_{};
  std::vector<int> stack_{};
  std::vector<std::size_t> marks_{};
  std::unordered_map<std::uint64_t, int> memo_{};
  int root_ = 0;
  bool is_done_ = false;
};

}  // namespace tenon::io
