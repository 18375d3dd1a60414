# tenon_compiled(target): what depends on no shape and no model is compiled once, not in each source of the target.
#
#   add_executable(train train.cpp)
#   target_link_libraries(train PRIVATE tenon::tenon)
#   tenon_compiled(train)
#
# Call it behind everything else that is said of the target: the library has the target's compile options, and targets
# with the same ones share it. Sources with options of their own that decide about code (-mavx2) must stay outside: the
# linker would miss their functions. The library is static; only what the program calls is linked.
function(tenon_compiled target)
  if(NOT TARGET "${target}")
    message(FATAL_ERROR "tenon_compiled: there is no target `${target}` here; call it behind add_executable.")
  endif()
  set(flags "${CMAKE_CXX_FLAGS}")
  foreach(property IN ITEMS COMPILE_OPTIONS COMPILE_DEFINITIONS COMPILE_FLAGS LINK_LIBRARIES CXX_STANDARD CXX_EXTENSIONS
      POSITION_INDEPENDENT_CODE TYPE INTERPROCEDURAL_OPTIMIZATION)
    get_target_property(value "${target}" "${property}")
    if("${property}" STREQUAL TYPE)
      string(REGEX MATCH "SHARED|MODULE" value "${value}")
    endif()
    string(APPEND flags "\n${property} ${value}")
  endforeach()
  string(SHA1 hash "${flags}")
  string(SUBSTRING "${hash}" 0 8 hash)
  set(library "tenon_compiled_${hash}")
  if(NOT TARGET "${library}")
    # This file stands among Tenon's sources, in share/cmake/tenon of an installation, or in share/tenon of vcpkg's.
    set(here "${CMAKE_CURRENT_FUNCTION_LIST_DIR}")
    file(GLOB sources "${here}/../compiled/*.cpp" "${here}/../../tenon/compiled/*.cpp" "${here}/compiled/*.cpp")
    add_library("${library}" STATIC EXCLUDE_FROM_ALL ${sources})
    target_link_libraries("${library}" PUBLIC tenon::tenon)
    target_compile_options("${library}" PRIVATE "$<TARGET_PROPERTY:${target},COMPILE_OPTIONS>" -ffunction-sections
      -fdata-sections)
    target_compile_definitions("${library}" PRIVATE
      "$<FILTER:$<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>,EXCLUDE,^TENON_COMPILED$>")
    foreach(property IN ITEMS COMPILE_FLAGS CXX_STANDARD CXX_EXTENSIONS POSITION_INDEPENDENT_CODE
        INTERPROCEDURAL_OPTIMIZATION)
      get_target_property(value "${target}" "${property}")
      if(NOT "${value}" MATCHES "-NOTFOUND$")
        set_target_properties("${library}" PROPERTIES "${property}" "${value}")
      endif()
    endforeach()
  endif()
  target_compile_definitions("${target}" PRIVATE TENON_COMPILED)
  target_link_libraries("${target}" PRIVATE "${library}")
  if(NOT APPLE)
    target_link_options("${target}" PRIVATE -Wl,--gc-sections)
  endif()
endfunction()
