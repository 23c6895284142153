# SPDX-License-Identifier: Apache-2.0
# Probes in C: one program a file, linked to the support.
find_package(Threads REQUIRED)

# One set of flags for everything that is timed; it is recorded in each run's meta line.
set(PROBE_FLAGS -O2 -g -Wall -Wextra -Wshadow -Wvla)
if(DEFINED ENV{CI})
  list(APPEND PROBE_FLAGS -Werror)
endif()
list(JOIN PROBE_FLAGS " " PROBE_FLAGS_TEXT)

# Compiled once, also for the probes in C++.
set(PROBE_SUPPORT ${CMAKE_CURRENT_LIST_DIR}/probe.c ${CMAKE_CURRENT_LIST_DIR}/contexts.c ${CMAKE_CURRENT_LIST_DIR}/counters.c)
add_library(probe_support STATIC ${PROBE_SUPPORT})
set_target_properties(probe_support PROPERTIES C_EXTENSIONS ON)
target_include_directories(probe_support PUBLIC ${CMAKE_CURRENT_LIST_DIR})
target_compile_options(probe_support PRIVATE ${PROBE_FLAGS})
target_link_libraries(probe_support PUBLIC Threads::Threads m)

# The counters as a library, for the supports of languages that can call C.
add_library(counters SHARED ${CMAKE_CURRENT_LIST_DIR}/counters.c)
add_library(counters_static STATIC ${CMAKE_CURRENT_LIST_DIR}/counters.c)
set_target_properties(counters counters_static PROPERTIES C_EXTENSIONS ON POSITION_INDEPENDENT_CODE ON)
install(TARGETS counters LIBRARY DESTINATION ${STEELYARD_NATIVE})

# What the probes of a question share in C lies in support/<question>/<question>.c; those in C++ may use it as well.
file(GLOB SHARED_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/../*/*.c)
foreach(SOURCE IN LISTS SHARED_SOURCES)
  steelyard_identity(${SOURCE} QUESTION WAY)
  if(QUESTION STREQUAL WAY)
    add_library(probe_${QUESTION} STATIC ${SOURCE})
    set_target_properties(probe_${QUESTION} PROPERTIES C_EXTENSIONS ON)
    target_include_directories(probe_${QUESTION} PUBLIC ${CMAKE_CURRENT_LIST_DIR}/../${QUESTION})
    target_compile_options(probe_${QUESTION} PRIVATE ${PROBE_FLAGS})
  endif()
endforeach()

include(${CMAKE_CURRENT_LIST_DIR}/variants.cmake)
steelyard_sources(c SOURCES)
foreach(SOURCE IN LISTS SOURCES)
  steelyard_identity(${SOURCE} QUESTION WAY)
  set(TARGET probe_${QUESTION}_${WAY})
  add_executable(${TARGET} ${SOURCE})
  set_target_properties(${TARGET} PROPERTIES OUTPUT_NAME ${WAY}
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/probes/${QUESTION} C_EXTENSIONS ON)
  target_compile_options(${TARGET} PRIVATE ${PROBE_FLAGS})
  target_compile_definitions(${TARGET} PRIVATE PROBE_ID="${QUESTION}/${WAY}" PROBE_FLAGS="${PROBE_FLAGS_TEXT}")
  target_link_libraries(${TARGET} PRIVATE $<TARGET_NAME_IF_EXISTS:probe_${QUESTION}> probe_support)
  steelyard_install(${SOURCE} TARGETS ${TARGET})
  steelyard_variants(${TARGET} ${SOURCE} ${STEELYARD_NATIVE}/probes/${QUESTION})
endforeach()

# For probes of a user's own: `steelyard new` copies them.
file(GLOB SUPPORT CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.c ${CMAKE_CURRENT_LIST_DIR}/*.h)
list(FILTER SUPPORT EXCLUDE REGEX "/conformance[.]c$")
install(FILES ${SUPPORT} DESTINATION ${STEELYARD_NATIVE}/probes/support/c)
