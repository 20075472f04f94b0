"""The Conan 2 recipe: `conan create . -s compiler.cppstd=20`. docs/packages.md says more."""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, load


class TarnRecipe(ConanFile):
    """Headers alone: one package for all settings."""

    name = "tarn"
    license = "MIT"
    description = "Memory pools composed from policies: headers for C++20, with no dependencies"
    topics = ("memory-pool", "allocator", "header-only", "cpp20")
    package_type = "header-library"
    settings = "os", "compiler", "build_type", "arch"
    implements = ["auto_header_only"]
    exports = "CMakeLists.txt"
    exports_sources = "version.h", "allocator/*.h", "policies/*.h", "LICENSE"
    no_copy_source = True
    test_package_folder = "test/consumer/conan"

    def set_version(self):
        project = load(self, os.path.join(self.recipe_folder, "CMakeLists.txt"))
        self.version = re.search(r"project\(tarn VERSION ([\d.]+)", project)[1]

    def validate(self):
        check_min_cppstd(self, 20)

    def package(self):
        headers = os.path.join(self.package_folder, "include", "tarn")
        copy(self, "*.h", self.source_folder, headers)
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        self.cpp_info.set_property("cmake_file_name", "tarn")
        self.cpp_info.set_property("cmake_target_name", "tarn::tarn")
        self.cpp_info.set_property("pkg_config_name", "tarn")
