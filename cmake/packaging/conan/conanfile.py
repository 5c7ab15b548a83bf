# A recipe for Conan 2, of the checkout that it lies in. Not run yet. In a checkout:
#   conan create cmake/packaging/conan
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, cmake_layout
from conan.tools.files import copy, load


class Posenc(ConanFile):
    name = "posenc"
    description = "Positional encodings of transformers, and attention over KV caches, on CPUs"
    license = "MIT"
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps", "CMakeToolchain"

    @property
    def checkout(self):
        return os.path.normpath(os.path.join(self.recipe_folder, "..", "..", ".."))

    def set_version(self):
        header = load(self, os.path.join(self.checkout, "include", "posenc", "version.hpp"))
        self.version = ".".join(re.findall(r"POSENC_VERSION_[A-Z]+ (\d+)", header))

    def export_sources(self):
        for part in "CMakeLists.txt", "LICENSE", "include/*", "cmake/*":
            copy(self, part, self.checkout, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        self.requires("xsimd/[>=8.1]", transitive_headers=True)
        self.requires("eigen/[>=3.4]", transitive_headers=True)
        self.requires("nlohmann_json/[>=3.10 <4]", transitive_headers=True)

    def validate(self):
        check_min_cppstd(self, 20)

    def build(self):
        cmake = CMake(self)
        cmake.configure({"POSENC_BUILD_TESTS": False, "POSENC_BUILD_EXAMPLES": False})

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_id(self):
        self.info.clear()

    # posenc's own package for CMake, with its components, is the one that is found.
    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("share", "cmake", "posenc")]
        self.cpp_info.bindirs = self.cpp_info.libdirs = []
