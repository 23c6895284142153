# SPDX-License-Identifier: Apache-2.0
# Probes in Python: nothing to build. They stand beside their support as in the source tree, where they find it by its
# relative path, and are run by the interpreter of the lab or by another one that a user names (interpreter.toml).
file(GLOB PYTHON_SUPPORT CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.py ${CMAKE_CURRENT_LIST_DIR}/interpreter.toml)
list(FILTER PYTHON_SUPPORT EXCLUDE REGEX "/conformance[.]py$")
foreach(MODULE IN LISTS PYTHON_SUPPORT)
  get_filename_component(NAME ${MODULE} NAME)
  configure_file(${MODULE} ${CMAKE_BINARY_DIR}/probes/support/python/${NAME} COPYONLY)
endforeach()
install(FILES ${PYTHON_SUPPORT} $<TARGET_FILE:counters> DESTINATION ${STEELYARD_NATIVE}/probes/support/python)

steelyard_sources(py SOURCES)
foreach(SOURCE IN LISTS SOURCES)
  steelyard_identity(${SOURCE} QUESTION WAY)
  configure_file(${SOURCE} ${CMAKE_BINARY_DIR}/probes/${QUESTION}/${WAY}.py COPYONLY)
  steelyard_install(${SOURCE} PROGRAMS ${SOURCE})
endforeach()
