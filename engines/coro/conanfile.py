# SPDX-License-Identifier: Apache-2.0
"""The package of coro for Conan 2: `conan create engines/coro`, which also builds and runs tests/installed with it."""

import re
from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class Coro(ConanFile):
    """Headers alone: one package for every compiler and setting."""

    name = "coro"
    description = "Stackless and stackful coroutines for C++20 on Linux, over one executor"
    license = "Apache-2.0"
    topics = ("coroutines", "fibers", "io_uring", "work-stealing")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    no_copy_source = True
    test_package_folder = "tests/installed"

    def set_version(self) -> None:
        """That of CMakeLists.txt."""
        project = Path(self.recipe_folder, "CMakeLists.txt").read_text()
        self.version = re.search(r"project\(coro VERSION ([0-9.]+)", project)[1]

    def export_sources(self) -> None:
        """What is installed, and the license, which is that of the repository."""
        here = Path(self.recipe_folder)
        for pattern in ("CMakeLists.txt", "include/*", "cmake/*"):
            copy(self, pattern, here, self.export_sources_folder)
        copy(self, "LICENSE", here.parents[1], self.export_sources_folder)

    def layout(self) -> None:  # noqa: D102
        cmake_layout(self)

    def validate(self) -> None:  # noqa: D102
        check_min_cppstd(self, 20)

    def package_id(self) -> None:  # noqa: D102
        self.info.clear()

    def generate(self) -> None:  # noqa: D102
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables |= {"CORO_DEVELOP": False, "CORO_INSTALL": True}
        toolchain.user_presets_path = False  # it would lie among the sources
        toolchain.generate()

    def package(self) -> None:  # noqa: D102
        cmake = CMake(self)
        cmake.configure()
        cmake.install()
        copy(self, "LICENSE", self.source_folder, Path(self.package_folder, "licenses"))

    def package_info(self) -> None:
        """The CMake package of coro's own, as an installation without Conan has it."""
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [str(Path("lib", "cmake", "coro"))]
        self.cpp_info.bindirs = self.cpp_info.libdirs = []
