# SPDX-License-Identifier: Apache-2.0
# What the probes under request/ share: Python modules, the applications, and the bare responder as a program.
file(GLOB REQUEST_SUPPORT CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.py)
install(FILES ${REQUEST_SUPPORT} DESTINATION ${STEELYARD_NATIVE}/probes/support/request)
install(DIRECTORY ${CMAKE_CURRENT_LIST_DIR}/applications ${CMAKE_CURRENT_LIST_DIR}/borrowed ${CMAKE_CURRENT_LIST_DIR}/own
  DESTINATION ${STEELYARD_NATIVE}/probes/support/request
  PATTERN "__pycache__" EXCLUDE)

add_executable(epoll_floor ${CMAKE_CURRENT_LIST_DIR}/epoll_floor.c)
target_compile_options(epoll_floor PRIVATE ${PROBE_FLAGS})
install(TARGETS epoll_floor RUNTIME DESTINATION ${STEELYARD_NATIVE}/probes/support/request)
