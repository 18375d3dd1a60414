# The functions of vcpkg that a portfile calls, each as short as what the port needs of it: vcpkg.sh runs
# packaging/vcpkg/tenon/portfile.cmake with them, because vcpkg itself is rarely installed.
#   cmake -DPORTFILE=... -DCURRENT_PACKAGES_DIR=... -DCURRENT_BUILDTREES_DIR=... -DCOMPILER=... -P vcpkg.cmake
set(PORT tenon)
set(CURRENT_INSTALLED_DIR "${CURRENT_BUILDTREES_DIR}/installed")

function(tenon_execute)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${said}")
  endif()
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  tenon_execute("${CMAKE_COMMAND}" -S "${arg_SOURCE_PATH}" -B "${CURRENT_BUILDTREES_DIR}/rel" ${arg_OPTIONS}
    -DCMAKE_BUILD_TYPE=Release "-DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}" "-DCMAKE_CXX_COMPILER=${COMPILER}")
endfunction()

function(vcpkg_cmake_install)
  tenon_execute("${CMAKE_COMMAND}" --install "${CURRENT_BUILDTREES_DIR}/rel")
endfunction()

# Moves the package to share/PORT. Its files then count the folders up to the prefix anew, of which there are two.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "CONFIG_PATH" "")
  set(share "${CURRENT_PACKAGES_DIR}/share/${PORT}")
  file(COPY "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/" DESTINATION "${share}")
  get_filename_component(above "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}" DIRECTORY)
  file(REMOVE_RECURSE "${above}")
  set(up "get_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\n")
  file(GLOB files "${share}/*.cmake")
  foreach(file IN LISTS files)
    file(READ "${file}" text)
    string(REPLACE "${up}${up}${up}" "${up}${up}" text "${text}")
    file(WRITE "${file}" "${text}")
  endforeach()
endfunction()

function(vcpkg_fixup_pkgconfig)
  find_program(PKG_CONFIG pkg-config)
  if(PKG_CONFIG)
    set(ENV{PKG_CONFIG_PATH} "${CURRENT_PACKAGES_DIR}/share/pkgconfig")
    tenon_execute("${PKG_CONFIG}" --print-errors --exists ${PORT})
  endif()
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  file(INSTALL ${arg_FILE_LIST} DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}" RENAME copyright)
endfunction()

include("${PORTFILE}")
