// The layout in which an eager call runs, and its operands brought into it.
#pragma once
#include <tenon/backend/backends.hpp>
#include <tenon/core/tensor/list.hpp>
#include <tenon/run/launch.hpp>

namespace tenon::inline TENON_ABI::ops {
struct ToNchw16n;
struct FromNchw16n;
}  // namespace tenon::ops

namespace tenon::inline TENON_ABI::eager {

/// An operand before a call: where its elements are, and their number per sample if it is an image, which can be in
/// blocks of samples.
struct OperandLayout {
  void* data = nullptr;
  const Storage* storage = nullptr;  // null: a parameter or a number, always row-major
  long features = 0;
  bool fixed = false;  // a result of a call that is no image but has its layout: the others are brought into that

  bool in_nchw16n() const { return features && storage && storage->in_nchw16n(); }
};

/// True if a kernel shall run on NCHW16n: it can, the batch is large enough, and it wants to or an operand is NCHW16n
/// already.
bool runs_in_nchw16n(const KernelEntry& kernel, Nchw16n use, long n, const OperandLayout* operand, int operands);

/// Brings an operand into the layout of a call; `copy` holds the elements if they are elsewhere then.
void bring_to(bool blocks, OperandLayout& x, long n, Storage& copy);

/// A new block for a result.
Storage result_storage(const TensorType& type, long n, bool blocks);

/// The results of a call after the first: their types, and where they go; null: no reader needs it.
struct FurtherResults {
  const TensorType* type[max_results]{};
  Storage* to[max_results]{};
};

/// Brings the operands x of a call, `operands` of them, into one layout and runs it; the rest of `a` is filled in.
/// `kernel` null: a view, whose result shares the elements of operand 0. `effect`: the kernel changes operand 0 and has
/// no result.
Storage run_on_images(const KernelEntry* kernel, Nchw16n use, bool effect, const TensorType& result, Arguments& a,
                      OperandLayout* x, Storage* copy, int operands, const FurtherResults* further = nullptr);

/// Makes room for the results after the first, and tells a kernel of `operands` operands where it is.
void make_further(const FurtherResults& further, Arguments& a, int operands, bool blocks);

#if defined(TENON_TARGET)
/// A result that is no image but in NCHW16n, as rows.
inline Storage further_as_rows(const Storage& blocks, const TensorType& type, long n) {
  const std::size_t size = size_of(type.dtype);
  const long features = type.count(1);
  Storage made(static_cast<std::size_t>(type.bytes(n)));
  const std::byte* const from = tenon::detail::home(blocks.address());
  for (long s = 0, to = 0; s < n; ++s)
    for (long f = 0; f < features; ++f, ++to)
      std::memcpy(made.data() + std::size_t(to) * size, from + std::size_t(nchw16n_place(s, f, features)) * size, size);
  return made;
}
#endif

#if TENON_DEFINES
TENON_INLINE bool runs_in_nchw16n(const KernelEntry& kernel, Nchw16n use, long n, const OperandLayout* operand,
                                  int operands) {
  if (!kernel.run_nchw16n || !tenon::in_nchw16n(n)) return false;
  bool any = use == Nchw16n::wants;
  for (int k = 0; k < operands; ++k) any |= operand[k].in_nchw16n();
  for (int k = 0; k < operands; ++k)
    if (operand[k].fixed) any = operand[k].storage->made_in_nchw16n();
  return any;
}
[[gnu::noinline]] TENON_INLINE void bring_to(bool blocks, OperandLayout& x, long n, Storage& copy) {
  if (!x.features || !x.storage) return;
  const auto take = [&](Storage elements) {
    copy = std::move(elements);
    x.data = copy.data();
    x.storage = &copy;
  };
  if (Storage rows = x.storage->rows()) take(std::move(rows));  // they were handed out, and may have been written
  if (x.storage->made_in_nchw16n() == blocks) return;
  Storage moved(static_cast<std::size_t>((blocks ? whole_blocks(n) : n) * x.features) * sizeof(float));
  const long count = whole_blocks(n) / block_samples;
  const float* const from = static_cast<const float*>(tenon::detail::home(x.data));
  float* const to = reinterpret_cast<float*>(moved.data());
  if (blocks) moved.set_nchw16n(), FoundKernel<Cpu, ops::ToNchw16n>::convert(from, to, n, x.features, 0, count);
  else FoundKernel<Cpu, ops::FromNchw16n>::convert(from, to, n, x.features, 0, count);
  take(std::move(moved));
}
TENON_INLINE Storage result_storage(const TensorType& type, long n, bool blocks) {
  const bool image = blocks && type.rank == 4 && type.batched();
  Storage storage = tenon::detail::storage_for(type, image ? whole_blocks(n) : n);
  if (image) storage.set_nchw16n();
  return storage;
}
[[gnu::noinline]] TENON_INLINE void make_further(const FurtherResults& further, Arguments& a, int operands,
                                                 bool blocks) {
  for (int k = 1; k < max_results; ++k) {
    if (!further.to[k]) continue;
    *further.to[k] = result_storage(*further.type[k], a.n, blocks);
    a.buffer[Arguments::further_at(operands, k)] = further.to[k]->address();
  }
}
[[gnu::noinline]] TENON_INLINE Storage run_on_images(const KernelEntry* kernel, Nchw16n use, bool effect,
                                                     const TensorType& result, Arguments& a, OperandLayout* x,
                                                     Storage* copy, int operands, const FurtherResults* further) {
  if constexpr (several_targets)
    for (int k = 0; k < operands; ++k) tenon::detail::home(static_cast<std::byte*>(x[k].data));
  const bool blocks = kernel && runs_in_nchw16n(*kernel, use, a.n, x, operands);
  for (int k = 0; k < operands; ++k) {
    bring_to(blocks, x[k], a.n, copy[k]);
    a.buffer[Arguments::operand_at(k)] = x[k].data;
  }
  if (!kernel) return x[0].storage ? *x[0].storage : Storage();
  Storage made;
  if (!effect) made = result_storage(result, a.n, blocks);
  a.buffer[Arguments::result_at] = effect ? a.buffer[Arguments::operand_at(0)] : made.data();
  if (further) make_further(*further, a, operands, blocks);
  const FlushDenormals flush;
  if (blocks) launch(kernel->run_nchw16n, a, kernel->nchw16n_work(a.n));
  else launch(*kernel, a);
  return made;
}
#endif  // TENON_DEFINES

}  // namespace tenon::eager
