# How our own programs (tests, examples, benchmarks) are built. No flag in here reaches a program that links
# tenon::tenon.
#
# A source may direct its build in its first five lines:
#   // flags: -mavx2 -mfma    compile options of this file, after all others
#   // label: long serial     long: only with `test.sh --long`; serial: nothing else runs beside it
#   // only: x86_64           processors for which it is built (others skip it)
#   // link: openssl          an optional library (optional.cmake), where it is found
#   // run: --epochs 1        an example's arguments when it runs as a test
#   // run: no                an example that is built, but not run
#   // headers: yes           no preset gives it the compiled part: it looks at internals, which only headers have
#   // alone: yes             a test that is never compiled together with others (tests/together.cmake)
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug or Release" FORCE)
endif()

add_library(tenon_program INTERFACE)
target_link_libraries(tenon_program INTERFACE tenon::tenon "$<$<CONFIG:Debug>:tenon::debugger>")
# A run of many tests asks for no warnings in them, which takes a tenth of their time: a build of one test shows them.
target_compile_options(tenon_program INTERFACE "$<$<NOT:$<BOOL:$<TARGET_PROPERTY:TENON_QUIET>>>:-Wall;-Wextra>")
# g++ collects garbage when it has allocated 400 MB, not 128: 4% less time for a quarter more memory. Where each
# processor has 4 GB, 1 GB: up to a tenth less again for large tests.
cmake_host_system_information(RESULT processors QUERY NUMBER_OF_LOGICAL_CORES)
cmake_host_system_information(RESULT megabytes QUERY TOTAL_PHYSICAL_MEMORY)
math(EXPR megabytes "${megabytes} / ${processors}")
set(kilobytes 400000)
if(megabytes GREATER_EQUAL 4096)
  set(kilobytes 1000000)
endif()
target_compile_options(tenon_program INTERFACE "$<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=${kilobytes}>")

if(TENON_MARCH)
  include(CheckCXXCompilerFlag)
  string(MAKE_C_IDENTIFIER "TENON_HAS_MARCH_${TENON_MARCH}" has_march)
  check_cxx_compiler_flag(-march=${TENON_MARCH} ${has_march})
  if(${has_march})
    target_compile_options(tenon_program INTERFACE -march=${TENON_MARCH})
  elseif(NOT TENON_MARCH STREQUAL native)  # which some compilers have for some processors only
    message(FATAL_ERROR "TENON_MARCH: the compiler does not know -march=${TENON_MARCH}.")
  endif()
endif()

if(TENON_SANITIZE)
  foreach(sanitizer IN LISTS TENON_SANITIZE)
    if(NOT sanitizer MATCHES "^(address|undefined|thread)$")
      message(FATAL_ERROR "TENON_SANITIZE: `${sanitizer}` is not one of address, undefined, thread.")
    endif()
    if(NOT sanitizer STREQUAL undefined)  # the macro by which tests know a sanitizer; clang before 22 has none
      string(TOUPPER "__SANITIZE_${sanitizer}__=1" macro)
      target_compile_definitions(tenon_program INTERFACE "$<$<CXX_COMPILER_ID:Clang>:${macro}>")
    endif()
  endforeach()
  list(JOIN TENON_SANITIZE "," sanitizers)
  target_compile_options(tenon_program INTERFACE -fsanitize=${sanitizers} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  target_link_options(tenon_program INTERFACE -fsanitize=${sanitizers})
endif()

if(NOT TENON_COMPILED_PROGRAMS MATCHES "^(none|tests|all)$")
  message(FATAL_ERROR "TENON_COMPILED_PROGRAMS: `${TENON_COMPILED_PROGRAMS}` is not one of none, tests, all.")
endif()

# Sets `result` to the words after `// key:` in the first five lines of the source, or to nothing.
function(tenon_directive result source key)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
  file(STRINGS "${source}" lines LIMIT_COUNT 5)
  set(words "")
  foreach(line IN LISTS lines)
    if(line MATCHES "^// ${key}: *(.*)$")
      separate_arguments(words UNIX_COMMAND "${CMAKE_MATCH_1}")
    endif()
  endforeach()
  set(${result} "${words}" PARENT_SCOPE)
endfunction()

# Sets `result` to whether this processor is one that the source is for.
function(tenon_is_for_this_processor result source)
  tenon_directive(only "${source}" only)
  set(fits TRUE)
  if(only AND NOT CMAKE_SYSTEM_PROCESSOR IN_LIST only)
    set(fits FALSE)
  endif()
  set(${result} ${fits} PARENT_SCOPE)
endfunction()

# Adds an executable `target` at `path` below the build tree, from sources that carry their own flags.
function(tenon_program target path)
  set(own "")  # flags that decide about code: a level for quick compilation does not
  foreach(source IN LISTS ARGN)
    tenon_directive(flags "${source}" flags)
    set_source_files_properties("${source}" PROPERTIES COMPILE_OPTIONS "${flags}")
    list(FILTER flags EXCLUDE REGEX "^-O[01]$")
    list(APPEND own ${flags})
  endforeach()
  get_filename_component(folder "${path}" DIRECTORY)
  get_filename_component(name "${path}" NAME)
  add_executable(${target} ${ARGN})
  target_link_libraries(${target} PRIVATE tenon_program)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME "${name}"
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/${folder}")
  tenon_directive(headers "${ARGV2}" headers)
  tenon_directive(components "${ARGV2}" link)
  # `tests`: what is built with the tests takes the part that they need in any case, which halves the time of a lesson.
  # The lesson that quickstart.sh builds stays as it is without tests; a benchmark is what users compile.
  set(takes FALSE)
  if(TENON_COMPILED_PROGRAMS STREQUAL all OR (TENON_COMPILED_PROGRAMS STREQUAL tests AND TENON_BUILD_TESTS AND
      NOT target MATCHES "^(benchmark\\.|06_mnist$)"))
    set(takes TRUE)
  endif()
  # libraries of images are in the names of functions (core/abi.hpp): they would need a part of their own
  if(takes AND NOT headers AND NOT own AND NOT components MATCHES "png|jpeg")
    tenon_compiled(${target})
  endif()
  # behind it, so that they need no part of their own: no other component changes what is in there
  foreach(component IN LISTS components)
    tenon_find_component(${component} GLOBAL)
    target_link_libraries(${target} PRIVATE "$<TARGET_NAME_IF_EXISTS:tenon::${component}>")
  endforeach()
endfunction()

# Sets what each test has: labels, a time limit, a folder of its own to write in, the environment, and 77 as the exit
# status that means "skipped". Adds its line to the list that cmake/test.sh reads: name, short or long, target to build
# or -. The limit ends what hangs; it is far beyond what a test takes on a busy machine.
function(tenon_describe_test name target labels)
  set(kind short)
  set(limit 3600)
  if(long IN_LIST labels)
    set(kind long)
    set(limit 14400)
  endif()
  set(run_serial FALSE)  # a variable called serial would be read where the word is meant
  if("serial" IN_LIST labels)
    set(run_serial TRUE)
  endif()

  set(environment "TENON_SOURCE=${PROJECT_SOURCE_DIR}")
  get_filename_component(shared "${PROJECT_SOURCE_DIR}/../shared" ABSOLUTE)
  if(EXISTS "${shared}")
    list(APPEND environment "TENON_SHARED=${shared}")
  endif()
  set(scratch "${PROJECT_BINARY_DIR}/scratch/${name}")
  file(MAKE_DIRECTORY "${scratch}")
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT ${limit} RUN_SERIAL ${run_serial}
    SKIP_RETURN_CODE 77 ENVIRONMENT "${environment}" WORKING_DIRECTORY "${scratch}")

  if(kind STREQUAL "long" AND TARGET ${target})
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL TRUE)
    add_dependencies(long_tests ${target})
  endif()
  set_property(GLOBAL APPEND PROPERTY TENON_TESTS "${name} ${kind} ${target}")
endfunction()

# The same for a program whose source says it.
function(tenon_describe_program name target source)
  tenon_directive(labels "${source}" label)
  tenon_describe_test(${name} ${target} "${labels}")
endfunction()

# What `test.sh --long` builds beside the default target.
add_custom_target(long_tests)

# Writes tests.txt in the build tree, for cmake/test.sh.
function(tenon_write_test_list)
  get_property(tests GLOBAL PROPERTY TENON_TESTS)
  list(SORT tests)
  list(JOIN tests "\n" lines)
  file(WRITE "${PROJECT_BINARY_DIR}/tests.txt" "${lines}\n")
endfunction()
