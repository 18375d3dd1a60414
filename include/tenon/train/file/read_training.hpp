// Reads and writes the tensors of a training: of a file of either format, or of the parts of one.
#pragma once
#include <span>
#include <string>
#include <vector>

#include <tenon/io/tensors/named_value.hpp>
#include <tenon/nn/parameters.hpp>
#include <tenon/train/checkpoint.hpp>
#include <tenon/train/file/mindspore_training.hpp>
#include <tenon/train/file/training_parts.hpp>

namespace tenon::inline TENON_ABI::detail {

/// `numbers` are written to a .ckpt.
[[gnu::cold]] void write_training(const std::string& path, std::span<const io::NamedTensor> tensors,
                                  const std::vector<io::NamedValue>& values, MindSporeNumbers numbers);
/// io::load_tensors of a file of either format; the values of save_training are not unexpected.
[[gnu::cold]] void read_training(const std::string& path, std::span<const io::NamedTensor> into, bool strict);
/// Takes moments of parameters without requires_grad off a list unless the file has them: MindSpore keeps none.
[[gnu::cold]] void leave_out_frozen(std::vector<io::NamedTensor>& all, const ParameterList& list,
                                    const std::string& path);
/// read_training of a training of MindSpore, whose state has its names.
[[gnu::cold]] void read_mindspore_training(const std::string& path, std::span<const io::NamedTensor> into);

#if TENON_DEFINES
[[gnu::cold, gnu::noinline]] TENON_INLINE void write_training(const std::string& path,
                                                              std::span<const io::NamedTensor> tensors,
                                                              const std::vector<io::NamedValue>& values,
                                                              MindSporeNumbers numbers) {
  if (is_ckpt_path("save", path)) {
    std::vector<io::NamedTensor> all(tensors.begin(), tensors.end());
    numbers.add_to(all, values);
    return ckpt_format->save(path, all, &values);
  }
  std::vector<std::pair<std::string, std::string>> metadata;
  for (const io::NamedValue& value : values) metadata.emplace_back(value.name, io::text_of(value));
  io::save_safetensors(path, tensors, std::move(metadata));
}
[[gnu::cold, gnu::noinline]] inline void read_training_of(const std::string& path,
                                                          std::span<const io::NamedTensor> into, bool strict,
                                                          bool mindspore) {
  if (const std::vector<std::string> parts = parts_of(path); !parts.empty())
    return read_parts(path, parts, into, strict);
  const bool numbers_are_tensors = is_ckpt_path("load", path);
  read_checkpoint(path, [&](const io::HeldTensors& file) {
    const io::SortedNames asked(into), held_names(file.tensors);
    std::vector<io::NamedTensor> tensors;
    for (io::NamedTensor named : file.tensors) {
      if (mindspore) named.name = name_of_mindspore_state(named, held_names);
      if (named.name.empty()) continue;
      const bool is_value =
          numbers_are_tensors && named.name.find('.') == named.name.npos &&
          (named.tensor.rank == 0 || (named.tensor.count() == 1 && (mindspore || is_mindspore_number(named.name))));
      if (!is_value || asked.find(named.name) != io::SortedNames::none) tensors.push_back(named);
    }
    const io::HeldTensors held{path, {tensors.data(), tensors.size()}, file.foreign};
    if (strict)
      if (const io::LoadReport report = io::detail::compare_names(held, into);
          !report.missing.empty() || !report.unexpected.empty())
        throw_error<KeyError>("'", path, "' holds a training of another network or optimizer.",
                              io::detail::unmatched_text(report));
    io::load_tensors(held, into, strict);
  });
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void read_training(const std::string& path,
                                                             std::span<const io::NamedTensor> into, bool strict) {
  read_training_of(path, into, strict, false);
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void leave_out_frozen(std::vector<io::NamedTensor>& all,
                                                                const ParameterList& list, const std::string& path) {
  std::vector<std::string> frozen;
  for (int e = 0; e < list.entries(); ++e)
    if (list.table()[e].parameter && !list.handle(e).requires_grad()) frozen.push_back(parameter_name(list.table(), e));
  if (frozen.empty()) return;
  const io::SortedNames names(frozen);
  read_checkpoint(path, [&](const io::HeldTensors& file) {
    const io::SortedNames held(file.tensors);
    std::erase_if(all, [&](const io::NamedTensor& named) {
      const std::size_t dot = named.name.find('.');
      return dot != named.name.npos && names.find(named.name.substr(dot + 1)) != io::SortedNames::none &&
             held.find(named.name) == io::SortedNames::none;
    });
  });
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void read_mindspore_training(const std::string& path,
                                                                       std::span<const io::NamedTensor> into) {
  read_training_of(path, into, true, true);
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
