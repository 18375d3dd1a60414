// join_slices, cut_slices: between the files of the ranks of a network in slices and that of the whole network.
#pragma once
#include <string>
#include <vector>

#include <tenon/train/checkpoint.hpp>
#if TENON_DEFINES
#include <cstring>
#include <utility>

#include <tenon/core/memory/aligned_bytes.hpp>
#include <tenon/core/tensor/list.hpp>
#include <tenon/train/callback/run/callback_state.hpp>
#endif

namespace tenon::inline TENON_ABI {

namespace detail {
/// A parameter of which each rank has a slice.
struct SlicedParameter {
  std::string name;
  TensorType dims;  // of a slice
  int axis;
};
/// Those of a network in slices, and their number.
struct SlicedParameters {
  int slices = 1;
  std::vector<SlicedParameter> all;
  std::vector<std::string> others{};  // the names of parameters that are not in slices
};
template <class Net>
SlicedParameters sliced_parameters() {
  SlicedParameters found;
  const Entry* const table = Structure<Net>::table.entry;
  for (int e = 0; e < Structure<Net>::count; ++e) {
    if (!table[e].parameter) continue;
    const SliceEntry slice = Structure<Net>::slice(e);
    if (slice.slices == 1) found.others.push_back(parameter_name(table, e));
    else found.all.push_back({parameter_name(table, e), table[e].dims, slice.axis});
    if (slice.slices > 1) found.slices = slice.slices;
  }
  return found;
}
[[gnu::cold]] void join_slices(const SlicedParameters& net, const std::vector<std::string>& from,
                               const std::string& to);
[[gnu::cold]] void cut_slices(const SlicedParameters& net, const std::string& from, const std::vector<std::string>& to);
}  // namespace detail

/// Writes the file of the whole network from those of all ranks of a group of slices, in the order of the ranks:
///
///     join_slices<Words<2>>({"words0.safetensors", "words1.safetensors"}, "words.safetensors");
///
/// Net      the network in slices. The whole file is one of the same network with one slice
/// from     files of save_checkpoint, save_training, or ModelCheckpoint, of any format with its header. Moments of an
///          optimizer are joined as their parameters are; of callbacks, the state of the first file is kept
/// throws   ValueError for another number of files than slices, for tensors that the files do not have alike, or that
///          are not those of this network; RuntimeError for a file that cannot be read or written. After an error the
///          target file is unchanged
/// source   MindSpore's merge_sliced_parameter
template <AnyCell Net>
void join_slices(const std::vector<std::string>& from, const std::string& to) {
  detail::join_slices(detail::sliced_parameters<Net>(), from, to);
}
/// Writes the files of all ranks of a group of slices from that of the whole network, the other way round:
///
///     cut_slices<Words<4>>("words.safetensors", {"a.safetensors", "b.safetensors", "c.safetensors", "d.safetensors"});
///
/// A training in 2 slices resumes in 4, and its whole network is used in one process. Throws as join_slices does; after
/// an error some of the files may be written.
template <AnyCell Net>
void cut_slices(const std::string& from, const std::vector<std::string>& to) {
  detail::cut_slices(detail::sliced_parameters<Net>(), from, to);
}

#if TENON_DEFINES
namespace detail {
/// The parameter that a tensor of a file is, or of which it is a moment; null for none. `slices`: of which it has as
/// many in one.
[[gnu::noinline]] inline const SlicedParameter* slice_in(const SlicedParameters& net, const io::NamedTensor& tensor,
                                                         int slices, const std::string& path) {
  for (const std::string& other : net.others)
    if (tensor.name == other) return nullptr;
  const std::size_t dot = tensor.name.find('.');
  const std::string_view name = tensor.name, of_moment = name.substr(dot == name.npos ? name.size() : dot + 1);
  for (const SlicedParameter& one : net.all) {
    const bool moment = of_moment == one.name;
    if (name != one.name && !moment) continue;
    TensorType type = one.dims;
    type.extent[one.axis] *= slices;
    bool fits = tensor.tensor.rank == type.rank;
    for (int axis = 0; fits && axis < type.rank; ++axis) fits = tensor.tensor.extent[axis] == type.extent[axis];
    if (!fits && moment) continue;  // such as one number of it
    if (!fits)
      throw_error<ValueError>("'", path, "': '", tensor.name, "' has the shape ", shape_text(tensor.tensor.shape()),
                              ", the network needs ", type_text(type),
                              slices > 1 ? " for all slices." : " for a slice.");
    return &one;
  }
  return nullptr;
}
[[gnu::noinline]] inline void check_all_there(const SlicedParameters& net, const io::HeldTensors& file) {
  const io::SortedNames names(file.tensors);
  for (const SlicedParameter& one : net.all)
    if (names.find(one.name) == io::SortedNames::none)
      throw_error<ValueError>("'", file.path, "' has no tensor '", one.name, "', of which each rank has a slice.");
}
inline void check_count(const char* who, const SlicedParameters& net, std::size_t files) {
  if (files != std::size_t(net.slices))
    throw_error<ValueError>(who, ": ", files, files == 1 ? " file" : " files", " for a network in ", net.slices,
                            net.slices == 1 ? " slice." : " slices.");
}
/// Bytes of a row along the axis of the slices, and how many rows there are.
struct SliceRows {
  std::size_t row, rows;
  SliceRows(const AnyTensor& slice, int axis) : row(size_of(slice.dtype)), rows(1) {
    for (int i = 0; i < slice.rank; ++i) (i < axis ? rows : row) *= std::size_t(slice.extent[i]);
  }
};
/// Tensors with bytes of their own, for a file.
struct MadeTensors {
  std::vector<io::NamedTensor> tensors;
  std::vector<AlignedBytes> bytes;

  std::byte* add(const io::NamedTensor& like, int axis, std::int64_t extent) {
    io::NamedTensor& made = tensors.emplace_back(like);
    made.tensor.extent[axis] = extent;
    made.tensor.data = bytes.emplace_back(made.tensor.bytes(), "the slices of a file").data();
    return static_cast<std::byte*>(made.tensor.data);
  }
  void save(const std::string& path, const io::HeldTensors& like) const {
    if (!like.foreign.empty()) io::detail::throw_foreign(like.path, like.foreign[0]);
    if (has_suffix(path, ".safetensors"))
      io::save_safetensors(path, tensors, {like.metadata.begin(), like.metadata.end()});
    else save_checkpoint(tensors, path);
  }
};
/// Throws ValueError unless a tensor that is not in slices is the same in two files.
[[gnu::noinline]] inline void check_equal(const io::NamedTensor& first, const io::NamedTensor& other,
                                          const std::string& path, const std::string& other_path) {
  const AnyTensor &a = first.tensor, &b = other.tensor;
  if (a.dtype != b.dtype || !io::detail::same_shape(a, b) || std::memcmp(a.data, b.data, a.bytes()) != 0)
    throw_error<ValueError>("join_slices: '", first.name, "' is in '", other_path, "' not what it is in '", path,
                            "': the files are not of one moment of a training in slices.");
}
[[gnu::noinline]] inline void join_files(const SlicedParameters& net, std::span<const io::HeldTensors* const> files,
                                         const std::string& to) {
  const io::HeldTensors& first = *files[0];
  check_all_there(net, first);
  MadeTensors made;
  std::vector<io::SortedNames> names;
  for (const io::HeldTensors* file : files) names.emplace_back(file->tensors);
  for (const io::NamedTensor& tensor : first.tensors) {
    const SlicedParameter* const parameter = slice_in(net, tensor, 1, first.path);
    std::byte* into = nullptr;
    if (!parameter) made.tensors.push_back(tensor);
    else into = made.add(tensor, parameter->axis, tensor.tensor.extent[parameter->axis] * net.slices);
    for (std::size_t k = 0; k < files.size(); ++k) {
      const std::size_t found = names[k].find(tensor.name);
      if (found == io::SortedNames::none || files[k]->tensors.size() != first.tensors.size())
        throw_error<ValueError>("join_slices: '", files[k]->path, "' has not the tensors of '", first.path, "'",
                                found == io::SortedNames::none ? text(": '", tensor.name, "' is missing.") : ".");
      const io::NamedTensor& other = files[k]->tensors[found];
      if (!parameter) {
        if (!tensor.name.starts_with(callback_state_prefix)) check_equal(tensor, other, first.path, files[k]->path);
        continue;
      }
      if (slice_in(net, other, 1, files[k]->path) != parameter || other.tensor.dtype != tensor.tensor.dtype)
        throw_error<ValueError>("join_slices: '", tensor.name, "' has other dtypes or shapes in '", first.path,
                                "' and '", files[k]->path, "'.");
      const SliceRows of(tensor.tensor, parameter->axis);
      for (std::size_t i = 0; i < of.rows; ++i)
        std::memcpy(into + (i * files.size() + k) * of.row,
                    static_cast<const std::byte*>(other.tensor.data) + i * of.row, of.row);
    }
  }
  made.save(to, first);
}
/// Reads all files, the first ones around the others: what they hold is there while a function runs.
[[gnu::noinline]] inline void with_files(std::span<const std::string> paths, std::vector<const io::HeldTensors*>& held,
                                         FunctionRef<> use) {
  if (held.size() == paths.size()) return use();
  read_checkpoint(paths[held.size()], [&](const io::HeldTensors& file) {
    held.push_back(&file);
    with_files(paths, held, use);
  });
}
[[gnu::cold]] TENON_INLINE void join_slices(const SlicedParameters& net, const std::vector<std::string>& from,
                                            const std::string& to) {
  check_count("join_slices", net, from.size());
  std::vector<const io::HeldTensors*> held;
  with_files(from, held, [&] { join_files(net, held, to); });
}
[[gnu::cold]] TENON_INLINE void cut_slices(const SlicedParameters& net, const std::string& from,
                                           const std::vector<std::string>& to) {
  check_count("cut_slices", net, to.size());
  read_checkpoint(from, [&](const io::HeldTensors& file) {
    check_all_there(net, file);
    for (std::size_t k = 0; k < to.size(); ++k) {
      MadeTensors made;
      for (const io::NamedTensor& tensor : file.tensors) {
        const SlicedParameter* const parameter = slice_in(net, tensor, net.slices, from);
        if (!parameter) {
          made.tensors.push_back(tensor);
          continue;
        }
        std::byte* const into = made.add(tensor, parameter->axis, tensor.tensor.extent[parameter->axis] / net.slices);
        const SliceRows of(made.tensors.back().tensor, parameter->axis);
        for (std::size_t i = 0; i < of.rows; ++i)
          std::memcpy(into + i * of.row,
                      static_cast<const std::byte*>(tensor.tensor.data) + (i * to.size() + k) * of.row, of.row);
      }
      made.save(to[k], file);
    }
  });
}
}  // namespace detail
#endif  // TENON_DEFINES

}  // namespace tenon
