# SPDX-License-Identifier: Apache-2.0
# An overlay port of the folder above: vcpkg install coro --overlay-ports=engines/coro/vcpkg
set(VCPKG_BUILD_TYPE release) # headers alone
vcpkg_cmake_configure(SOURCE_PATH "${CURRENT_PORT_DIR}/.." OPTIONS -DCORO_DEVELOP=OFF -DCORO_INSTALL=ON)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/coro)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/lib")
vcpkg_install_copyright(FILE_LIST "${CURRENT_PORT_DIR}/../../../LICENSE")
