# Optional libraries: the components of find_package(tenon), and TENON_COMPONENTS where Tenon's sources are a part of
# the project. Installed with the package. What is found becomes a target: tenon::zlib, which tenon::tenon links by
# itself, or one that a program links that includes its header: tenon::xtensor, tenon::protozero, tenon::openssl,
# tenon::png, tenon::json.
set(tenon_components zlib xtensor protozero openssl png json)

# Looks for a component's library and makes its target. `scope`: GLOBAL for all folders of the project, or nothing.
# Sets tenon_missing to a sentence if there is no such component or library, else to nothing.
function(tenon_find_component name scope)
  set(missing "")
  if(name STREQUAL "zlib")
    find_package(ZLIB QUIET ${scope})
    if(NOT ZLIB_FOUND)
      string(CONCAT missing "tenon's component `zlib` needs zlib, which is not found here: install it (on Debian: "
        "apt-get install zlib1g-dev), or leave the component out and do without .gz files.")
    elseif(NOT TARGET tenon::zlib)
      add_library(tenon::zlib INTERFACE IMPORTED ${scope})
      target_link_libraries(tenon::zlib INTERFACE ZLIB::ZLIB)
      target_compile_definitions(tenon::zlib INTERFACE TENON_WITH_ZLIB=1)
    endif()
  elseif(name STREQUAL "xtensor")
    find_package(xtensor QUIET ${scope})
    if(NOT xtensor_FOUND)
      string(CONCAT missing "tenon's component `xtensor` needs xtensor, which is not found here: install it (on "
        "Debian: apt-get install libxtensor-dev), or leave the component out and do without "
        "<tenon/core/xtensor.hpp>.")
    elseif(NOT TARGET tenon::xtensor)
      add_library(tenon::xtensor INTERFACE IMPORTED ${scope})
      target_link_libraries(tenon::xtensor INTERFACE tenon::tenon xtensor)
      if(xtensor_VERSION VERSION_LESS 0.26)
        # clang 19 finds two specializations of it equally good, and wants this flag of its own past to choose.
        set(new_clang "$<COMPILE_LANG_AND_ID:CXX,Clang>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,19>")
        target_compile_options(tenon::xtensor INTERFACE
          "$<$<AND:${new_clang}>:-fno-relaxed-template-template-args>"
          "$<$<AND:${new_clang}>:-Wno-deprecated-no-relaxed-template-template-args>")
      endif()
    endif()
  elseif(name STREQUAL "protozero")
    # it brings no package of its own; Conan makes one
    find_package(protozero QUIET ${scope})
    if(NOT TARGET protozero::protozero AND NOT CMAKE_DISABLE_FIND_PACKAGE_protozero)
      find_path(TENON_PROTOZERO_INCLUDE protozero/pbf_reader.hpp)
    endif()
    if(NOT TARGET protozero::protozero AND NOT TENON_PROTOZERO_INCLUDE)
      string(CONCAT missing "tenon's component `protozero` needs protozero, which is not found here: install it (on "
        "Debian: apt-get install libprotozero-dev), or leave the component out and do without MindSpore's .ckpt files "
        "and summaries.")
    elseif(NOT TARGET tenon::protozero)
      add_library(tenon::protozero INTERFACE IMPORTED ${scope})
      target_link_libraries(tenon::protozero INTERFACE tenon::tenon "$<TARGET_NAME_IF_EXISTS:protozero::protozero>")
      if(TENON_PROTOZERO_INCLUDE)
        target_include_directories(tenon::protozero SYSTEM INTERFACE "${TENON_PROTOZERO_INCLUDE}")
      endif()
    endif()
  elseif(name STREQUAL "openssl")
    find_package(OpenSSL QUIET ${scope})
    if(NOT OPENSSL_FOUND)
      string(CONCAT missing "tenon's component `openssl` needs OpenSSL, which is not found here: install it (on "
        "Debian: apt-get install libssl-dev), or leave the component out and do without encrypted .ckpt files.")
    elseif(NOT TARGET tenon::openssl)
      add_library(tenon::openssl INTERFACE IMPORTED ${scope})
      target_link_libraries(tenon::openssl INTERFACE tenon::tenon OpenSSL::Crypto)
    endif()
  elseif(name STREQUAL "png")
    find_package(PNG QUIET ${scope})
    if(NOT PNG_FOUND)
      string(CONCAT missing "tenon's component `png` needs libpng, which is not found here: install it (on Debian: "
        "apt-get install libpng-dev), or leave the component out and do without images in summaries.")
    elseif(NOT TARGET tenon::png)
      add_library(tenon::png INTERFACE IMPORTED ${scope})
      target_link_libraries(tenon::png INTERFACE tenon::tenon PNG::PNG)
      target_compile_definitions(tenon::png INTERFACE TENON_WITH_PNG=1)
    endif()
  elseif(name STREQUAL "cli11")
    find_package(CLI11 QUIET ${scope})
    if(NOT TARGET CLI11::CLI11)
      string(CONCAT missing "tenon's tools need CLI11, which is not found here: install it (on Debian: apt-get install "
        "libcli11-dev), or do without tenon-inspect.")
    elseif(NOT TARGET tenon::cli11)
      add_library(tenon::cli11 INTERFACE IMPORTED ${scope})
      target_link_libraries(tenon::cli11 INTERFACE CLI11::CLI11)
    endif()
  elseif(name STREQUAL "json")
    find_package(nlohmann_json QUIET ${scope})
    if(NOT nlohmann_json_FOUND)
      string(CONCAT missing "tenon's component `json` needs nlohmann_json, which is not found here: install it (on "
        "Debian: apt-get install nlohmann-json3-dev), or leave the component out and do without files in JSON, such as "
        "a dump's configuration.")
    elseif(NOT TARGET tenon::json)
      add_library(tenon::json INTERFACE IMPORTED ${scope})
      target_link_libraries(tenon::json INTERFACE nlohmann_json::nlohmann_json)
    endif()
  else()
    list(JOIN tenon_components ", " known)
    set(missing "tenon has no component `${name}`. Its components: ${known}.")
  endif()
  set(tenon_missing "${missing}" PARENT_SCOPE)
endfunction()
