# SPDX-License-Identifier: Apache-2.0
"""What `conan create engines/coro` does with the package that it has made: builds this project with it and runs it."""

from pathlib import Path

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout


class UsesCoro(ConanFile):
    """See CMakeLists.txt."""

    settings = "os", "arch", "compiler", "build_type"

    def requirements(self) -> None:
        self.requires(self.tested_reference_str)

    def layout(self) -> None:
        cmake_layout(self)

    def generate(self) -> None:
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False  # it would lie among the sources
        toolchain.generate()

    def build(self) -> None:
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self) -> None:
        if can_run(self):
            self.run(str(Path(self.build_folder, "uses_coro")), env="conanrun")
