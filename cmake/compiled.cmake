# The compiled part: code that depends on no shape and no model is compiled once, not in each source of a program.
#
# Programs and shared libraries that link tenon::tenon get it without a call, at the end of the project's configuration
# (tenon_compile_parts below). -DTENON_HEADER_ONLY=ON leaves everything to the headers. With g++ they also share a
# precompiled header where each of their sources includes <tenon/tenon.hpp> anyhow; CMAKE_DISABLE_PRECOMPILE_HEADERS
# switches that off.
#
# tenon_compiled(target) gives it to any other target, such as a static library:
#
#   add_library(network STATIC network.cpp)
#   target_link_libraries(network PUBLIC tenon::tenon)
#   tenon_compiled(network)
#
# Call it after everything else that configures the target: the compiled part is a static library with the target's
# compile options, and targets with the same options share it. Sources with options of their own that decide about code
# (-mavx2) must stay outside: the linker would miss their functions. Only what the program calls is linked.
option(TENON_HEADER_ONLY "Compile all of Tenon in each source, instead of the compiled part once per project" OFF)

function(tenon_compiled target)
  if(NOT TARGET "${target}")
    message(FATAL_ERROR "tenon_compiled: there is no target `${target}` here; call it after add_executable.")
  endif()
  set(flags "${CMAKE_CXX_FLAGS}")
  foreach(property IN ITEMS COMPILE_OPTIONS COMPILE_DEFINITIONS COMPILE_FLAGS LINK_LIBRARIES CXX_STANDARD CXX_EXTENSIONS
      POSITION_INDEPENDENT_CODE TYPE INTERPROCEDURAL_OPTIMIZATION)
    get_target_property(value "${target}" "${property}")
    if("${property}" STREQUAL TYPE)
      string(REGEX MATCH "SHARED|MODULE" shared "${value}")
      set(value "${shared}")
    elseif("${property}" STREQUAL LINK_LIBRARIES)
      list(FILTER value EXCLUDE REGEX "^tenon::(diagnostics|debugger)$")  # they change no code of the part
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
    # The project's own checks, warnings, and unity builds are for its own sources.
    target_compile_options("${library}" PRIVATE -w)
    set_target_properties("${library}" PROPERTIES UNITY_BUILD OFF CXX_CLANG_TIDY "" CXX_CPPCHECK "" CXX_CPPLINT ""
      CXX_INCLUDE_WHAT_YOU_USE "")
    if(shared)
      set_target_properties("${library}" PROPERTIES POSITION_INDEPENDENT_CODE ON)
    endif()
    foreach(property IN ITEMS COMPILE_FLAGS CXX_STANDARD CXX_EXTENSIONS POSITION_INDEPENDENT_CODE
        INTERPROCEDURAL_OPTIMIZATION)
      get_target_property(value "${target}" "${property}")
      if(NOT "${value}" MATCHES "-NOTFOUND$")
        set_target_properties("${library}" PROPERTIES "${property}" "${value}")
      endif()
    endforeach()
  endif()
  set_target_properties("${target}" PROPERTIES TENON_PART "${library}")
  target_compile_definitions("${target}" PRIVATE TENON_COMPILED)
  target_link_libraries("${target}" PRIVATE "${library}")
  if(NOT APPLE)
    target_link_options("${target}" PRIVATE -Wl,--gc-sections)
  endif()
endfunction()

# ---- without a call: what links tenon::tenon

# Sets `reaches` if Tenon's headers are among the libraries, or among those that they bring.
function(tenon_among reaches libraries)
  set(seen "")
  while(libraries)
    list(POP_FRONT libraries library)
    if("${library}" MATCHES "^(tenon::tenon|tenon)$")
      set(${reaches} TRUE PARENT_SCOPE)
      return()
    endif()
    if(TARGET "${library}" AND NOT "${library}" IN_LIST seen)
      list(APPEND seen "${library}")
      get_target_property(more "${library}" INTERFACE_LINK_LIBRARIES)
      if(more)
        list(APPEND libraries ${more})
      endif()
    endif()
  endwhile()
  set(${reaches} FALSE PARENT_SCOPE)
endfunction()

# Sets `fits` if all sources of the target are compiled with the flags that a part made in this folder would have. Where
# that is not sure, headers are always right: CUDA, a second target of Tenon, options of single sources, a folder with
# flags of its own.
function(tenon_has_one_set_of_flags fits target directory)
  set(${fits} FALSE PARENT_SCOPE)
  get_target_property(definitions "${target}" COMPILE_DEFINITIONS)
  if("${definitions}" MATCHES "TENON_(COMPILED|TARGET)")
    return()
  endif()
  set(variables CMAKE_CXX_FLAGS)
  foreach(configuration IN LISTS CMAKE_BUILD_TYPE CMAKE_CONFIGURATION_TYPES)
    string(TOUPPER "CMAKE_CXX_FLAGS_${configuration}" variable)
    list(APPEND variables "${variable}")
  endforeach()
  foreach(variable IN LISTS variables)
    get_directory_property(value DIRECTORY "${directory}" DEFINITION ${variable})
    if(NOT "${value}" STREQUAL "${${variable}}")
      return()
    endif()
  endforeach()
  # what this folder says of all its targets, the part would have beside the target's own options
  get_target_property(of_target "${target}" COMPILE_OPTIONS)
  get_directory_property(of_folder COMPILE_OPTIONS)
  foreach(option IN LISTS of_folder)
    if(NOT option IN_LIST of_target)
      return()
    endif()
  endforeach()

  get_target_property(sources "${target}" SOURCES)
  set(with_cxx FALSE)
  foreach(source IN LISTS sources)
    foreach(property COMPILE_OPTIONS COMPILE_FLAGS COMPILE_DEFINITIONS)
      get_source_file_property(value "${source}" TARGET_DIRECTORY "${target}" ${property})
      if(value)
        return()
      endif()
    endforeach()
    get_source_file_property(language "${source}" TARGET_DIRECTORY "${target}" LANGUAGE)
    if("${language}" STREQUAL CXX OR (NOT language AND "${source}" MATCHES "[.](cc|cpp|cxx|c[+][+]|C)$"))
      set(with_cxx TRUE)
    endif()
  endforeach()
  set(${fits} ${with_cxx} PARENT_SCOPE)
endfunction()

# Sets `precompiles` if a precompiled tenon.hpp changes nothing but the time: every source of the target includes it
# before it defines a macro or includes a header of the project, which may define one. Caches of compilers do not keep
# what reads one, clang would name other lines in messages, and a target with a precompiled header of its own keeps it.
function(tenon_precompiles precompiles target)
  set(${precompiles} FALSE PARENT_SCOPE)
  get_target_property(own "${target}" PRECOMPILE_HEADERS)
  get_target_property(reused "${target}" PRECOMPILE_HEADERS_REUSE_FROM)
  get_target_property(launcher "${target}" CXX_COMPILER_LAUNCHER)
  get_target_property(independent "${target}" POSITION_INDEPENDENT_CODE)
  get_target_property(type "${target}" TYPE)
  if(own OR reused OR launcher OR (independent AND type STREQUAL EXECUTABLE) OR NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    return()
  endif()
  get_target_property(sources "${target}" SOURCES)
  get_target_property(folder "${target}" SOURCE_DIR)
  foreach(source IN LISTS sources)
    get_filename_component(source "${source}" ABSOLUTE BASE_DIR "${folder}")
    if("${source}" MATCHES "[.](cc|cpp|cxx|c[+][+]|C)$")
      set(lines "")
      if(EXISTS "${source}")
        file(STRINGS "${source}" lines LIMIT_COUNT 1
          REGEX "^[ \t]*#[ \t]*(define|undef|include[ \t]*\"|include[ \t]*<tenon/tenon[.]hpp>)")
      endif()
      if(NOT "${lines}" MATCHES "<tenon")
        return()
      endif()
    endif()
  endforeach()
  set(${precompiles} TRUE PARENT_SCOPE)
endfunction()

# Lets the target read the precompiled header of its part: that of an object library with the same flags.
function(tenon_share_precompiled target)
  get_target_property(part "${target}" TENON_PART)
  set(owner "${part}_header")
  if(NOT TARGET "${owner}")
    set(empty "${CMAKE_CURRENT_BINARY_DIR}/${owner}.cpp")
    file(CONFIGURE OUTPUT "${empty}" CONTENT "")
    add_library("${owner}" OBJECT EXCLUDE_FROM_ALL "${empty}")
    target_link_libraries("${owner}" PRIVATE tenon::tenon)
    target_compile_options("${owner}" PRIVATE "$<TARGET_PROPERTY:${target},COMPILE_OPTIONS>")
    target_compile_definitions("${owner}" PRIVATE "$<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>")
    set_target_properties("${owner}" PROPERTIES CXX_CLANG_TIDY "" CXX_CPPCHECK "" CXX_CPPLINT ""
      CXX_INCLUDE_WHAT_YOU_USE "")
    foreach(property IN ITEMS COMPILE_FLAGS CXX_STANDARD CXX_EXTENSIONS POSITION_INDEPENDENT_CODE
        INTERPROCEDURAL_OPTIMIZATION)
      get_target_property(value "${part}" "${property}")
      if(NOT "${value}" MATCHES "-NOTFOUND$")
        set_target_properties("${owner}" PROPERTIES "${property}" "${value}")
      endif()
    endforeach()
    target_precompile_headers("${owner}" PRIVATE <tenon/tenon.hpp>)
  endif()
  target_precompile_headers("${target}" REUSE_FROM "${owner}")
endfunction()

# Gives the part to the programs and shared libraries of the folder and those below it. (A static library may be
# exported, and then everything that it links must be, too.)
function(tenon_compile_parts directory)
  if(TENON_HEADER_ONLY OR NOT CMAKE_CXX_COMPILER)
    return()
  endif()
  get_filename_component(own "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/.." ABSOLUTE)
  if("${directory}" STREQUAL "${own}")
    return()
  endif()
  get_directory_property(targets DIRECTORY "${directory}" BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type "${target}" TYPE)
    get_target_property(part "${target}" TENON_PART)
    if(NOT part AND type MATCHES "^(EXECUTABLE|SHARED_LIBRARY|MODULE_LIBRARY)$")
      get_target_property(libraries "${target}" LINK_LIBRARIES)
      tenon_among(reaches "${libraries}")
      if(reaches)
        tenon_has_one_set_of_flags(fits "${target}" "${directory}")
        if(fits)
          tenon_compiled("${target}")
          # g++ collects garbage when it has allocated 400 MB, not 128: a tenth less time, and not another instruction
          target_compile_options("${target}" PRIVATE
            "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=400000>")
          tenon_precompiles(precompiles "${target}")
          if(precompiles)
            tenon_share_precompiled("${target}")
          endif()
        else()
          message(VERBOSE "tenon: ${target} is compiled from headers alone: its sources have flags of their own")
        endif()
      endif()
    endif()
  endforeach()
  get_directory_property(folders DIRECTORY "${directory}" SUBDIRECTORIES)
  foreach(folder IN LISTS folders)
    tenon_compile_parts("${folder}")
  endforeach()
endfunction()

# Once for `directory`, when its configuration ends: flags may stand after find_package(tenon).
function(tenon_compile_parts_of directory)
  get_property(known GLOBAL PROPERTY TENON_COMPILES_PARTS_OF)
  if(NOT "${directory}" IN_LIST known)
    set_property(GLOBAL APPEND PROPERTY TENON_COMPILES_PARTS_OF "${directory}")
    cmake_language(EVAL CODE "
      cmake_language(DEFER DIRECTORY [[${directory}]] CALL tenon_compile_parts [[${directory}]])")
  endif()
endfunction()
