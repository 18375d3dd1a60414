"""Tenon as a Conan 2 package: `conan create packaging/conan`."""
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain
from conan.tools.files import copy, load

OLDEST = {"gcc": 12, "clang": 18}
# as the components of find_package(tenon); the CUDA Toolkit and MPI are no packages of Conan's
COMPONENTS = ("zlib", "xtensor", "protozero", "openssl", "png", "json", "jpeg", "sqlite", "lmdb", "redis", "zmq",
              "serve", "tls", "grpc", "dist", "cuda")


class Tenon(ConanFile):
    name = "tenon"
    description = "Deep learning in C++20 with shapes that the compiler checks"
    license = "Apache-2.0"
    topics = ("deep-learning", "neural-network", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {name: [True, False] for name in COMPONENTS}
    default_options = {name: name == "zlib" for name in COMPONENTS}
    no_copy_source = True

    def _checkout(self):
        return os.path.join(self.recipe_folder, os.pardir, os.pardir)

    def set_version(self):
        config = load(self, os.path.join(self._checkout(), "include", "tenon", "core", "config.hpp"))
        self.version = re.search(r'define TENON_VERSION "([0-9.]+)"', config).group(1)

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "compiled/*", "debugger/*", "include/*"):
            copy(self, pattern, self._checkout(), self.export_sources_folder)

    def requirements(self):
        if self.options.zlib:
            self.requires("zlib/[>=1.2.11 <2]", transitive_headers=True)
        if self.options.xtensor:
            self.requires("xtensor/[>=0.24 <1]", transitive_headers=True)
        if self.options.grpc:
            self.requires("grpc/[>=1.51 <2]", transitive_headers=True)
        if self.options.protozero or self.options.grpc:
            self.requires("protozero/[>=1.7 <2]", transitive_headers=True)
        if self.options.openssl or self.options.tls:
            self.requires("openssl/[>=3 <4]", transitive_headers=True)
        if self.options.png:
            self.requires("libpng/[>=1.6 <2]", transitive_headers=True)
        if self.options.serve or self.options.tls or self.options.grpc:
            self.requires("boost/[>=1.74 <2]", transitive_headers=True)
        if self.options.json or self.options.serve or self.options.tls or self.options.grpc:
            self.requires("nlohmann_json/[>=3.11 <4]", transitive_headers=True)
        if self.options.jpeg:
            self.requires("libjpeg-turbo/[>=2.1 <4]", transitive_headers=True)
        if self.options.sqlite:
            self.requires("sqlite3/[>=3.40 <4]", transitive_headers=True)
        if self.options.lmdb:
            self.requires("lmdb/[>=0.9 <1]", transitive_headers=True)
        if self.options.redis:
            self.requires("hiredis/[>=0.14 <2]", transitive_headers=True)
        if self.options.zmq:
            self.requires("zeromq/[>=4.3 <5]", transitive_headers=True)

    def package_id(self):
        self.info.clear()  # the same files for everybody

    def validate(self):
        if self.settings.get_safe("compiler.cppstd"):
            check_min_cppstd(self, 20)
        compiler, version = str(self.settings.compiler), str(self.settings.compiler.version)
        if int(version.split(".")[0]) < OLDEST.get(compiler, 0):
            raise ConanInvalidConfiguration(
                f"Tenon needs {compiler} {OLDEST[compiler]} or newer, and the profile has {compiler} {version}.")

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.variables["TENON_BUILD_TESTS"] = False
        toolchain.variables["TENON_BUILD_EXAMPLES"] = False
        toolchain.generate()

    def build(self):
        CMake(self).configure()

    def package(self):
        CMake(self).install()

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        # CMake programs use Tenon's own package, so find_package(tenon) is the same everywhere.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("share", "cmake", "tenon")]
        # The rest is for other build systems.
        self.cpp_info.set_property("pkg_config_name", "tenon")
        if self.options.zlib:
            self.cpp_info.defines = ["TENON_WITH_ZLIB=1"]
        if self.settings.os == "Linux":
            self.cpp_info.system_libs = ["pthread"]
