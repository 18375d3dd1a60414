# The targets that others link: tenon::tenon (the headers), tenon::diagnostics and tenon::debugger (help, never forced
# on anybody).
add_library(tenon INTERFACE)
add_library(tenon::tenon ALIAS tenon)
target_compile_features(tenon INTERFACE cxx_std_20)
target_include_directories(tenon INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>")

# GLOBAL: the project above us must see the targets that ours name.
find_package(Threads REQUIRED GLOBAL)
target_link_libraries(tenon INTERFACE Threads::Threads)

# Optional libraries are looked for again where the installed package is used (tenonConfig.cmake): what is exported says
# only that tenon::zlib is linked if there is one.
include(cmake/optional.cmake)
target_link_libraries(tenon INTERFACE "$<TARGET_NAME_IF_EXISTS:tenon::zlib>")
tenon_find_component(zlib GLOBAL)
if(tenon_missing AND PROJECT_IS_TOP_LEVEL)
  message(STATUS "tenon: zlib not found, so .gz files cannot be read. On Debian: apt-get install zlib1g-dev")
endif()
foreach(component IN LISTS TENON_COMPONENTS)
  tenon_find_component("${component}" GLOBAL)
  if(tenon_missing)
    message(FATAL_ERROR "${tenon_missing}")
  endif()
endforeach()
if(NOT PROJECT_IS_TOP_LEVEL)
  include(cmake/optimized.cmake)
endif()

# The first error of a template program says it; the rest is noise.
add_library(tenon_diagnostics INTERFACE)
add_library(tenon::diagnostics ALIAS tenon_diagnostics)
set_target_properties(tenon_diagnostics PROPERTIES EXPORT_NAME diagnostics)
target_compile_options(tenon_diagnostics INTERFACE
  "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fmax-errors=1>"
  "$<$<COMPILE_LANG_AND_ID:CXX,Clang,AppleClang>:-ferror-limit=1>"
  "$<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:SHELL:-Xcudafe --error_limit=1 -Xcompiler -fmax-errors=1>")

# gdb shows values of Tenon in programs that link this: one source, which names the script (docs/debugging.md). And it
# stops at every line of construct: g++ 12 marks no statements in function templates, so it shall mark lines.
add_library(tenon_debugger INTERFACE)
add_library(tenon::debugger ALIAS tenon_debugger)
set_target_properties(tenon_debugger PROPERTIES EXPORT_NAME debugger)
target_sources(tenon_debugger INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/debugger/auto_load.cpp>"
  "$<INSTALL_INTERFACE:$<INSTALL_PREFIX>/share/tenon/debugger/auto_load.cpp>")
target_compile_options(tenon_debugger INTERFACE "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-gno-statement-frontiers>")

# What looks into a run (docs/observing.md): a program that links this can be observed, and has all tools that the
# environment or set_context switches on.
add_library(tenon_debug INTERFACE)
add_library(tenon::debug ALIAS tenon_debug)
set_target_properties(tenon_debug PROPERTIES EXPORT_NAME debug)
target_compile_definitions(tenon_debug INTERFACE TENON_OBSERVE)
target_link_libraries(tenon_debug INTERFACE tenon "$<TARGET_NAME_IF_EXISTS:tenon::json>")
target_sources(tenon_debug INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/compiled/tools/debug.cpp>"
  "$<INSTALL_INTERFACE:$<INSTALL_PREFIX>/share/tenon/compiled/tools/debug.cpp>")
