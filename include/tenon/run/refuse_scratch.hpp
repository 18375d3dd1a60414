// What the error says if there is no memory for the values of a compiled graph.
#pragma once
#include <tenon/lowering/program.hpp>
#if TENON_DEFINES
#include <tenon/core/memory/storage.hpp>
#include <tenon/graph/plan/memory_owners.hpp>
#endif

namespace tenon::inline TENON_ABI::detail {

/// Throws OutOfMemory for the scratch memory of a batch of n, with the largest owners and the batch size that fits.
[[noreturn, gnu::cold]] void refuse_scratch(const Program& program, long n, int threads);

/// " A batch size of 96 fits.": the largest one below n for which `bytes(context, batch)` are free, so that one more
/// does not fit; or what one of `least`, the smallest that can be, takes.
[[gnu::cold]] std::string fitting_batch(long least, long n, double (*bytes)(const void* context, long batch),
                                        const void* context);

/// The smallest batch that a program takes.
[[gnu::cold]] long smallest_batch(const Program& program);

#if TENON_DEFINES
/// Of values that have one place in turn the first one.
[[gnu::cold]] TENON_INLINE const void* first_at(const Program& program, int id) {
  const BufferPlace& place = program.place[id];
  const BufferPlace* first = program.place;
  while (first->region != place.region || first->offset != place.offset || first->lift != place.lift) ++first;
  return first;
}
/// "Conv2d in network.conv1 float32 [n,6,28,28] (net.cpp:12)", of a node.
[[gnu::cold, gnu::noinline]] TENON_INLINE std::string node_text(std::string_view what, const Program& program,
                                                                const Node& node) {
  return text(what, node.op->name, program.entries ? " in " : "",
              program.entries ? cell_path(program.entries, node.scope) : std::string(), " ", type_text(node.type),
              place_text(node.location));
}
// The values of a program in scratch memory, and what it works on; of kernels that need memory of their own the first.
[[gnu::cold, gnu::noinline]] TENON_INLINE void add_owners(MemoryOwners& owners, const Program& program, long n,
                                                          int threads) {
  const Entry* const entries = program.entries;
  for (int id = 0; id < program.nodes; ++id) {
    const Node& node = program.node[id];
    const double bytes = double(node.type.bytes(1)) * (node.type.batched() ? double(program.samples(n)) : 1);
    const bool parameter = is<ops::ParameterLeaf>(node), state = is<ops::StateLeaf>(node);
    const Region region = program.place[id].region;
    const bool value = (region == Region::sample || region == Region::fixed) && !node.op->view && !node.op->effect;
    if (!value && (!entries || !(parameter || state))) continue;
    const void* const key = parameter ? &entries[node.immediate] : first_at(program, id);
    if (!owners.wants(bytes, key)) continue;
    if (value) owners.add(bytes, key, node_text("", program, node));
    else if (parameter || entries[node.scope].parameter)
      owners.add(
          bytes, key,
          text(parameter ? "parameter " : "optimizer state of ",
               parameter_name(entries, parameter ? int(node.immediate) : node.scope), " ", type_text(node.type)));
  }
  for (int i = 0; i < program.instructions; ++i) {
    const Node& node = program.node[program.instruction[i].node];
    if (const double bytes = double(program.workspace_of(program.instruction[i], n)) * threads;
        owners.wants(bytes, &program))
      owners.add(bytes, &program, node_text("workspace of ", program, node));
  }
}

[[gnu::noinline]] TENON_INLINE std::string fitting_batch(long least, long n, double (*bytes)(const void*, long),
                                                         const void* context) {
  const double free = free_memory();
  if (n <= least || bytes(context, least) > bytes(context, n) * 0.999) return {};
  if (bytes(context, least) > free)
    return text(" Not even a batch size of ", least, " fits, which takes ", memory_text(bytes(context, least)), ".");
  long fits = least, too_large = n;
  while (too_large - fits > 1) {
    const long middle = fits + (too_large - fits) / 2;
    (bytes(context, middle) <= free ? fits : too_large) = middle;
  }
  return text(" A batch size of ", fits, " fits.");
}

[[gnu::noinline]] TENON_INLINE long smallest_batch(const Program& program) {
  long least = 1;
  for (int i = 0; i < program.instructions; ++i)
    if (const LeastBatch* const needed = program.instruction[i].kernel->least_batch; needed && needed->n > least)
      least = needed->n;
  return least;
}
[[gnu::noinline]] TENON_INLINE void refuse_scratch(const Program& program, long n, int threads) {
  struct Context {
    const Program& program;
    int threads;
  } const context{program, threads};
  const auto bytes = [](const void* of, long batch) {
    const auto& [asked, on] = *static_cast<const Context*>(of);
    const double about = asked.many_bytes(batch, on);
    return about > double(Storage::max_bytes) ? about : double(asked.bytes(batch, on));
  };
  MemoryOwners owners;
  if (bytes(&context, n) < double(Storage::max_bytes)) add_owners(owners, program, n, threads);
  refuse_memory(bytes(&context, n), text("the values between the operators of a graph for a batch of ", n),
                text(owners.sentence(), fitting_batch(smallest_batch(program), n, bytes, &context)));
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
