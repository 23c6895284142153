# SPDX-License-Identifier: Apache-2.0
# What the probes under serve/ share beside their languages: the instrument, and its client as a program.
file(GLOB SERVE_SUPPORT CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.py)
install(FILES ${SERVE_SUPPORT} DESTINATION ${STEELYARD_NATIVE}/probes/support/serve)
add_executable(load ${CMAKE_CURRENT_LIST_DIR}/load.c)
set_target_properties(load PROPERTIES C_EXTENSIONS ON)
target_include_directories(load PRIVATE ${CMAKE_CURRENT_LIST_DIR}/../c)
target_compile_options(load PRIVATE ${PROBE_FLAGS})
target_link_libraries(load PRIVATE m)
install(TARGETS load RUNTIME DESTINATION ${STEELYARD_NATIVE}/probes/support/serve)
