// What the ranks of a network in slices must have alike before a step.
#pragma once
#include <string_view>

#include <tenon/dist/world.hpp>
#include <tenon/train/shards/agreement.hpp>
#include <tenon/train/step/state.hpp>

namespace tenon::inline TENON_ABI::detail {

/// Of one rank. `weights`: a number for the bits of the parameters that are not in slices, before the first step.
struct AgreedSlices {
  std::int64_t batch = 0, step = 0;
  std::uint64_t samples = 0, weights = 0, seed = 0;
  double rate = 0;  // of learning
};
/// Throws RuntimeError, on all ranks of the group, unless they have the same.
void agree_on_slices(std::string_view group, const AgreedSlices& own);

template <class Net>
std::uint64_t weights_not_in_slices(const ParameterList& parameters) {
  std::uint64_t number = 0;
  for (int e = 0; e < parameters.entries(); ++e)
    if (const Entry& entry = parameters.table()[e];
        entry.parameter && !entry.setting && Structure<Net>::slice(e).slices == 1) {
      const long bytes = entry.dims.bytes(1);
      number = number_of_bits(parameters.handle(e).values_at(bytes, Look::read), std::size_t(bytes), number);
    }
  return number;
}
template <class Net>
constexpr std::string_view slices_group() {
  for (int e = 0; e < Structure<Net>::count; ++e)
    if (const SliceEntry slice = Structure<Net>::slice(e); slice.slices > 1) return slice.group;
  return {};
}

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE void agree_on_slices(std::string_view group, const AgreedSlices& own) {
  const std::span<const AgreedSlices> all = told(dist::communicator(group), Agreement::step, own);
  const auto refuse = [&](std::size_t rank, const char* what, const char* advice) {
    throw_error<RuntimeError>("Model.train: in step ", own.step + 1, " rank ", rank, " of the group '", group, "' has ",
                              what, " than rank 0: the ranks of a network in slices ", advice, ".");
  };
  std::size_t other;
  if ((other = first_other(all, &AgreedSlices::step)))
    refuse(other, "another number of steps before it", "load files of one moment");
  if ((other = first_other(all, &AgreedSlices::batch)) || (other = first_other(all, &AgreedSlices::samples)))
    refuse(other, "other samples",
           "need the same batches. If replicas have shards of the data, take the number and the rank of the group of "
           "replicas as num_shards and shard_id");
  if ((other = first_other(all, &AgreedSlices::seed)))
    refuse(other, "another seed of random numbers", "need the same one");
  if ((other = first_other(all, &AgreedSlices::weights)))
    refuse(other, "other weights where they are not in slices", "need the same seed, or files of one moment");
  if ((other = first_other(all, &AgreedSlices::rate))) refuse(other, "another learning rate", "need the same one");
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
