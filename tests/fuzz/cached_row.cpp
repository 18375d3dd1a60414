// A row of a cache of data sets, fed by libFuzzer: it is refused, or fills its columns, with no more memory than it has
// bytes.
#include <tenon/dataset/cache/packed_row.hpp>

using namespace tenon;
using namespace tenon::dataset;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t count) {
  using List = Columns<Column<float, Shape<dyn, 2>>, Column<std::uint8_t, Ragged<any, any, 3>>>;
  constexpr long max_rows = 3;
  float values[2 * max_rows];
  RaggedValue ragged;
  void* const columns[]{values, &ragged};
  dataset::detail::PackedHead head;
  const std::span<const std::byte> row(reinterpret_cast<const std::byte*>(bytes), count);
  if (dataset::detail::unpack_row<List>(row, head, columns, max_rows) && (head.samples < 0 || head.samples > max_rows))
    __builtin_trap();
  if (ragged.data() && static_cast<std::size_t>(ragged.count()) > count) __builtin_trap();
  return 0;
}
