# find_package(tenon [COMPONENTS zlib xtensor protozero openssl png json jpeg sqlite lmdb redis zmq serve tls grpc dist
# cuda]): defines tenon::tenon, tenon::diagnostics, tenon::debugger, and the function tenon_compiled(target). Programs
# that link tenon::tenon get the compiled part, unless TENON_HEADER_ONLY is set (compiled.cmake). A component is an
# optional library that a program insists on (optional.cmake). zlib is used without being asked for, too, where it is
# found.
include("${CMAKE_CURRENT_LIST_DIR}/optional.cmake")

tenon_find_component(zlib "")
foreach(component IN LISTS tenon_FIND_COMPONENTS)
  tenon_find_component("${component}" "")
  set(tenon_${component}_FOUND TRUE)
  if(tenon_missing)
    set(tenon_${component}_FOUND FALSE)
    if(tenon_FIND_REQUIRED_${component})
      set(tenon_FOUND FALSE)
      set(tenon_NOT_FOUND_MESSAGE "${tenon_missing}")
      return()
    endif()
  endif()
endforeach()

include(CMakeFindDependencyMacro)
find_dependency(Threads)
include("${CMAKE_CURRENT_LIST_DIR}/tenonTargets.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/optimized.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/compiled.cmake")
tenon_compile_parts_of("${CMAKE_CURRENT_SOURCE_DIR}")
