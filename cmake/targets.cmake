# The two targets that others link: tenon::tenon (the headers) and tenon::diagnostics (advice, never forced on anybody).
add_library(tenon INTERFACE)
add_library(tenon::tenon ALIAS tenon)
target_compile_features(tenon INTERFACE cxx_std_20)
target_include_directories(tenon INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
  "$<INSTALL_INTERFACE:include>")

# GLOBAL: the project above us must see the targets that ours name.
find_package(Threads REQUIRED GLOBAL)
target_link_libraries(tenon INTERFACE Threads::Threads)

# Optional libraries are looked for again where the installed package is used (tenonConfig.cmake), so they are not
# exported.
find_package(ZLIB QUIET GLOBAL)
if(ZLIB_FOUND)
  target_link_libraries(tenon INTERFACE "$<BUILD_INTERFACE:ZLIB::ZLIB>")
  target_compile_definitions(tenon INTERFACE "$<BUILD_INTERFACE:TENON_WITH_ZLIB=1>")
elseif(PROJECT_IS_TOP_LEVEL)
  message(STATUS "tenon: zlib not found, so .gz and compressed .npz files cannot be read. "
    "On Debian: apt-get install zlib1g-dev")
endif()

# The first error of a template program says it; the rest is noise.
add_library(tenon_diagnostics INTERFACE)
add_library(tenon::diagnostics ALIAS tenon_diagnostics)
set_target_properties(tenon_diagnostics PROPERTIES EXPORT_NAME diagnostics)
target_compile_options(tenon_diagnostics INTERFACE
  "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fmax-errors=1>"
  "$<$<COMPILE_LANG_AND_ID:CXX,Clang,AppleClang>:-ferror-limit=1>")
