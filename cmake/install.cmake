# What `cmake --install` writes: the headers, a package that find_package(tenon) finds, files for pkg-config, and what
# shows values in debuggers. Nothing depends on the machine, and everything may be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_DATADIR}/cmake/tenon")
install(DIRECTORY include/tenon DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING
  PATTERN "*.hpp" PATTERN "*.cuh")
install(DIRECTORY debugger/ DESTINATION share/tenon/debugger FILES_MATCHING PATTERN "*.py" PATTERN "*.cpp"
  PATTERN __pycache__ EXCLUDE)
install(DIRECTORY compiled DESTINATION share/tenon FILES_MATCHING PATTERN "*.cpp")
target_include_directories(tenon INTERFACE "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
install(TARGETS tenon tenon_diagnostics tenon_debugger tenon_debug EXPORT tenonTargets)
install(EXPORT tenonTargets NAMESPACE tenon:: DESTINATION "${package_dir}")

# Before 1.0 a minor version may change names, so only the same minor version fits.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/tenonConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES cmake/tenonConfig.cmake cmake/optional.cmake cmake/optimized.cmake cmake/compiled.cmake
  "${PROJECT_BINARY_DIR}/tenonConfigVersion.cmake" DESTINATION "${package_dir}")

# Paths count from the folder of the .pc file, unless somebody chose an absolute one.
set(pc_dir "${CMAKE_INSTALL_DATADIR}/pkgconfig")
set(pc_prefix "${CMAKE_INSTALL_PREFIX}")
if(NOT IS_ABSOLUTE "${pc_dir}")
  file(RELATIVE_PATH up "/${pc_dir}" "/")
  string(REGEX REPLACE "/$" "" up "${up}")
  set(pc_prefix "\${pcfiledir}/${up}")
endif()
set(pc_includedir "${CMAKE_INSTALL_INCLUDEDIR}")
if(NOT IS_ABSOLUTE "${pc_includedir}")
  set(pc_includedir "\${prefix}/${pc_includedir}")
endif()
foreach(name tenon tenon-zlib)
  configure_file(cmake/${name}.pc.in "${PROJECT_BINARY_DIR}/${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${name}.pc" DESTINATION "${pc_dir}")
endforeach()
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
