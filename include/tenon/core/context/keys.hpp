// The keys of set_context. The first ones do something, the next ones are for what other versions do, then come
// those with one value, of which some say what always holds, at last those of other devices.
#pragma once
#include <iterator>

#include <tenon/core/context/key.hpp>

namespace tenon::inline TENON_ABI::detail {

inline constexpr ContextKey context_keys[]{
    {"mode", KeyKind::mode, KeyEffect::works, "graph", "", "",
     "how a Model's step or the outermost call of a cell runs; may change between calls"},
    {"device_target", KeyKind::target, KeyEffect::works, "CPU", "", "", "where kernels run"},
    {"device_id", KeyKind::whole, KeyEffect::kept, "0", "0 .. 4095", "", "the CPU is one device"},
    {"num_threads", KeyKind::whole, KeyEffect::works, "all processors", "1 .. 1024", "",
     "threads of a kernel; results do not depend on it"},
    {"seed", KeyKind::whole, KeyEffect::works, "0", "0 .. 18446744073709551615", "",
     "of initial values, dropout, and the order of data"},
    {"max_device_memory", KeyKind::gigabytes, KeyEffect::works, "1024GB", "", "",
     "what tensors, parameters, and scratch memory may take together; more is an OutOfMemory. 1GB is 2^30 bytes, "
     "1024GB and more are no limit"},
    {"save_graphs", KeyKind::level, KeyEffect::works, "0", "0 .. 3", "",
     "writes the graphs of steps: 1 some texts, 2 or True one for each pass, 3 pictures too", Tool::saved_graphs},
    {"save_graphs_path", KeyKind::folder, KeyEffect::works, ".", "", "", "where; the folder is made",
     Tool::saved_graphs},
    {"reserve_class_name_in_scope", KeyKind::flag, KeyEffect::works, "True", "", "",
     "False leaves the classes of cells out of the names of operations"},
    {"enable_dump", KeyKind::flag, KeyEffect::works, "False", "", "",
     "writes the values of every operation to files; MINDSPORE_DUMP_CONFIG says more", Tool::dump},
    {"save_dump_path", KeyKind::folder, KeyEffect::works, ".", "", "", "where; the folder is made", Tool::dump},
    {"print_file_path", KeyKind::file, KeyEffect::works, "", "", "",
     "what print() prints goes to the file, io::parse_print() reads it. A file that is there stays: '.' and the "
     "seconds "
     "since 1970 are added to the name",
     Tool::print_file},
    {"enable_profiling", KeyKind::flag, KeyEffect::works, "False", "", "",
     "measures every operation, and writes tables and a timeline when the program ends", Tool::profiler},
    {"profiling_options", KeyKind::profiling, KeyEffect::works, "training_trace", "", "",
     "what is measured, and where the files go", Tool::profiler},
    {"runtime_num_threads", KeyKind::whole, KeyEffect::renamed, "num_threads", "", "", "another name of num_threads"},
    {"deterministic", KeyKind::choice, KeyEffect::always, "ON", "ON OFF", "", "equal runs have equal bits, always"},
    {"check_bprop", KeyKind::flag, KeyEffect::always, "True", "", "",
     "dtypes and shapes of gradients are checked when a program is compiled"},
    {"precompile_only", KeyKind::flag, KeyEffect::always, "False", "", "",
     "a graph is compiled with the program that has it; to only compile, do not run the program"},
    {"pynative_synchronize", KeyKind::flag, KeyEffect::always, "True", "", "",
     "in PyNative mode an operator has run when its call returns"},
    {"memory_optimize_level", KeyKind::choice, KeyEffect::always, "O1", "O0 O1", "",
     "the memory of a graph is always planned"},
    {"enable_sparse", KeyKind::flag, KeyEffect::fixed, "False", "", "", "there are no sparse tensors"},
    {"grad_for_scalar", KeyKind::flag, KeyEffect::fixed, "False", "", "",
     "gradients are those of tensors; a number becomes one by Tensor{1.0f}"},
    {"max_call_depth", KeyKind::whole, KeyEffect::fixed, "1000", "1 .. 2147483647", "",
     "calls nest as deeply as the C++ compiler takes (-fconstexpr-depth)"},
    {"jit_syntax_level", KeyKind::whole, KeyEffect::fixed, "2", "0 .. 2", "", "the language of construct is C++"},
    {"inter_op_parallel_num", KeyKind::whole, KeyEffect::fixed, "0", "0 .. 1024", "",
     "operators run one after another, each on num_threads threads"},
    {"memory_offload", KeyKind::choice, KeyEffect::fixed, "OFF", "ON OFF", "", "the memory of the CPU is the only one"},
    {"mempool_block_size", KeyKind::gigabytes, KeyEffect::fixed, "1GB", "1GB", "", "memory is taken tensor by tensor"},
    {"op_timeout", KeyKind::whole, KeyEffect::fixed, "1900", "0 .. 2147483647", "", "no operator waits for a device"},
    {"save_compile_cache", KeyKind::flag, KeyEffect::fixed, "False", "", "",
     "a graph is compiled once, with the program"},
    {"load_compile_cache", KeyKind::flag, KeyEffect::fixed, "False", "", "",
     "a graph is compiled once, with the program"},
    {"enable_compile_cache", KeyKind::flag, KeyEffect::fixed, "False", "", "",
     "a graph is compiled once, with the program"},
    {"compile_cache_path", KeyKind::text, KeyEffect::fixed, ".", "", "", "a graph is compiled once, with the program"},
    {"auto_tune_mode", KeyKind::choice, KeyEffect::fixed, "NO_TUNE", "NO_TUNE RL GA RL,GA GA,RL", "",
     "kernels have their sizes when they are compiled"},
    {"env_config_path", KeyKind::text, KeyEffect::fixed, "", "", "", "there is nothing that such a file could say"},
    {"graph_kernel_flags", KeyKind::text, KeyEffect::fixed, "", "", "",
     "fusion is a pass: Passes{.fuse = false} switches it off"},
    {"enable_graph_kernel", KeyKind::flag, KeyEffect::fixed, "False", "", "Ascend GPU",
     "fusion is a pass, on the CPU always there: Passes{.fuse = false} switches it off"},
    {"enable_reduce_precision", KeyKind::flag, KeyEffect::fixed, "True", "", "Ascend",
     "no operator takes another dtype than it was given"},
    {"enable_auto_mixed_precision", KeyKind::flag, KeyEffect::fixed, "False", "", "Ascend",
     "see docs/training.md for mixed precision"},
    {"variable_memory_max_size", KeyKind::gigabytes, KeyEffect::fixed, "30GB", "", "Ascend", "see max_device_memory"},
    {"aoe_tune_mode", KeyKind::choice, KeyEffect::fixed, "", "online offline", "Ascend", "tunes Ascend's kernels"},
    {"aoe_config", KeyKind::object, KeyEffect::fixed, "", "", "Ascend", "tunes Ascend's kernels"},
    {"ascend_config", KeyKind::object, KeyEffect::fixed, "", "", "Ascend", "settings of that device"},
    {"gpu_config", KeyKind::object, KeyEffect::fixed, "", "", "GPU", "settings of that device"},
};
inline constexpr PackedKeys<std::size(context_keys), texts_size(context_keys)> packed_context_keys(context_keys);

}  // namespace tenon::detail
