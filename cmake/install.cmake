# What `cmake --install` writes: the headers, and a package that find_package(tenon) finds. Nothing depends on the
# machine.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_DATADIR}/cmake/tenon")
install(DIRECTORY include/tenon DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING
  PATTERN "*.hpp" PATTERN "*.cuh")
install(TARGETS tenon tenon_diagnostics EXPORT tenonTargets)
install(EXPORT tenonTargets NAMESPACE tenon:: DESTINATION "${package_dir}")

configure_package_config_file(cmake/tenonConfig.cmake.in "${PROJECT_BINARY_DIR}/tenonConfig.cmake"
  INSTALL_DESTINATION "${package_dir}")
# Before 1.0 a minor version may change names, so only the same minor version fits.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/tenonConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES "${PROJECT_BINARY_DIR}/tenonConfig.cmake" "${PROJECT_BINARY_DIR}/tenonConfigVersion.cmake"
  DESTINATION "${package_dir}")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
