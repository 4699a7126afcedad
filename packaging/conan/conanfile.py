"""Conan 2 recipe of the tree that it lies in: conan create packaging/conan"""

import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class Abut(ConanFile):
    name = "abut"
    description = "Whether triangle meshes touch, where, how deep, how far apart they are and when they will meet"
    license = "MIT"
    topics = ("collision-detection", "mesh", "distance-field", "opencl")
    package_type = "library"
    settings = "os", "compiler", "build_type", "arch"
    options = {"shared": [True, False], "fPIC": [True, False], "png": [True, False], "zstd": [True, False],
               "gltf": [True, False], "urdf": [True, False]}
    default_options = {"shared": False, "fPIC": True, "png": True, "zstd": True, "gltf": True, "urdf": True}
    implements = ["auto_shared_fpic"]
    languages = ["C"]

    def _tree(self):
        return os.path.join(self.recipe_folder, os.pardir, os.pardir)

    def set_version(self):
        text = load(self, os.path.join(self._tree(), "include", "abut", "base.h"))
        self.version = ".".join(re.findall(r"#define ABUT_VERSION_[A-Z]+ ([0-9]+)", text))

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "README.md", "CHANGELOG.md", "cmake/*", "include/*", "src/*", "apps/*"):
            copy(self, pattern, self._tree(), self.export_sources_folder)

    def requirements(self):
        if self.options.png:
            self.requires("libpng/[>=1.6 <2]")
        if self.options.zstd:
            self.requires("zstd/[>=1.5 <2]")
        if self.options.gltf:
            self.requires("yajl/2.1.0")
        if self.options.urdf:
            self.requires("expat/[>=2.4 <3]")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("PNG", "ZSTD", "GLTF", "URDF"):
            toolchain.cache_variables["ABUT_" + part] = bool(self.options.get_safe(part.lower()))
        for part in ("ASSIMP", "COMMAND", "TESTS", "BENCH"):
            toolchain.cache_variables["ABUT_" + part] = False
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "abut")
        for name in ("abut", "abut_picture", "abut_figures"):
            part = self.cpp_info.components[name]
            part.libs = [name]
            part.set_property("cmake_target_name", "abut::" + name.replace("abut_", ""))
            part.set_property("pkg_config_name", name)
            if name != "abut":
                part.requires = ["abut"]
        core = self.cpp_info.components["abut"]
        if self.options.png:
            self.cpp_info.components["abut_picture"].requires.append("libpng::libpng")
        core.requires = [f"{name}::{name}" for name, given in (("zstd", self.options.zstd), ("yajl", self.options.gltf),
                                                                ("expat", self.options.urdf)) if given]
        if not self.options.shared:
            core.defines = ["ABUT_STATIC"]
            if self.settings.os in ("Linux", "FreeBSD"):
                core.system_libs = ["m", "pthread", "dl"]
