// The tools that observe a run, switched on by the environment or set_context: one include, before all others.
#pragma once
#if !defined(TENON_OBSERVE)
#if defined(TENON_ABI)
#include <Header tenon/debug/debug.hpp comes before others of Tenon, in all sources; or compile with -DTENON_OBSERVE>
#endif
#if defined(TENON_COMPILED)
#include <Header tenon/debug/debug.hpp and the compiled part: link tenon::debug before tenon_compiled (-DTENON_OBSERVE)>
#endif
#define TENON_OBSERVE
#endif
#include <tenon/tenon.hpp>

#include <tenon/debug/dump.hpp>
#include <tenon/debug/log_files.hpp>
#include <tenon/debug/save_graphs.hpp>
#if __has_include(<protozero/pbf_writer.hpp>)
#include <tenon/debug/print_file.hpp>
#endif
// Last, for it reads the settings when the program starts, and a request for another tool must find it then.
#include <tenon/debug/profiler/profiler_switch.hpp>
