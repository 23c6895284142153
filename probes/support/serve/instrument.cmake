# SPDX-License-Identifier: Apache-2.0
# What the probes under serve/ share beside their languages: the instrument, and its client as a program.
file(GLOB SERVE_SUPPORT CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.py)
install(FILES ${SERVE_SUPPORT} DESTINATION ${STEELYARD_NATIVE}/probes/support/serve)
foreach(PROGRAM load asked)
  add_executable(${PROGRAM} ${CMAKE_CURRENT_LIST_DIR}/${PROGRAM}.c)
  set_target_properties(${PROGRAM} PROPERTIES C_EXTENSIONS ON)
  target_include_directories(${PROGRAM} PRIVATE ${CMAKE_CURRENT_LIST_DIR}/../c)
  target_compile_options(${PROGRAM} PRIVATE ${PROBE_FLAGS})
  target_link_libraries(${PROGRAM} PRIVATE m)
endforeach()
install(TARGETS load asked RUNTIME DESTINATION ${STEELYARD_NATIVE}/probes/support/serve)
