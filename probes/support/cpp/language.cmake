# SPDX-License-Identifier: Apache-2.0
# Probes in C++: one program a file, of the support in C and probe.hpp. All may use the coroutines of engines/coro.
# A probe of a library that may be absent says so in its head comment, in this form, and is skipped where it is:
#  * Needs: Boost context, libboost-context-dev in Debian.
set(CPP_SUPPORT ${CMAKE_CURRENT_LIST_DIR})

# Designated initializers leave out what is optional, as in C, where this warning knows it.
set(CPP_FLAGS -O2 -g -Wall -Wextra -Wshadow -Wno-missing-field-initializers)
if(DEFINED ENV{CI})
  list(APPEND CPP_FLAGS -Werror)
endif()
list(JOIN CPP_FLAGS " " CPP_FLAGS_TEXT)

steelyard_sources(cpp SOURCES)
foreach(SOURCE IN LISTS SOURCES)
  if(NOT CMAKE_CXX_COMPILER)
    steelyard_skip(${SOURCE} "no C++ compiler was found when the probes were built: install g++ 12 or clang++ 14 \
(Debian: apt-get install g++) and build again")
    continue()
  endif()
  if(NOT TARGET coro::coro)
    steelyard_skip(${SOURCE} "the C++ compiler ${CMAKE_CXX_COMPILER} is too old for coroutines: install g++ 12 or \
clang++ 14 and build again")
    continue()
  endif()
  set(NEEDED)
  file(STRINGS ${SOURCE} NEED REGEX "^ \\* Needs: " LIMIT_COUNT 1)
  if(NEED MATCHES "Needs: ([A-Za-z]+) ([A-Za-z_]+), ([a-z0-9-]+) in Debian")
    set(NEEDED ${CMAKE_MATCH_1}::${CMAKE_MATCH_2})
    set(NEEDED_NAME "${CMAKE_MATCH_1} ${CMAKE_MATCH_2}")
    set(NEEDED_PACKAGE ${CMAKE_MATCH_3})
    set(PACKAGE ${CMAKE_MATCH_1})
    if(NOT STEELYARD_WHEEL)
      find_package(${PACKAGE} QUIET CONFIG COMPONENTS ${CMAKE_MATCH_2})
    endif()
    if(NOT TARGET ${NEEDED} AND NOT STEELYARD_WHEEL) # one that only CMake knows how to find
      find_package(${PACKAGE} QUIET MODULE)
    endif()
    if(NOT TARGET ${NEEDED})
      steelyard_skip(${SOURCE} "${NEEDED_NAME} was not found when the probes were built: install it (Debian: apt-get \
install ${NEEDED_PACKAGE}) and build again")
      continue()
    endif()
  elseif(NEED)
    message(FATAL_ERROR "${SOURCE}: write `Needs: PACKAGE COMPONENT, DEBIAN-PACKAGE in Debian`, not `${NEED}`")
  endif()
  steelyard_identity(${SOURCE} QUESTION WAY)
  set(TARGET probe_${QUESTION}_${WAY})
  add_executable(${TARGET} ${SOURCE})
  set_target_properties(${TARGET} PROPERTIES OUTPUT_NAME ${WAY}
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/probes/${QUESTION} C_EXTENSIONS ON)
  target_include_directories(${TARGET} PRIVATE ${CPP_SUPPORT})
  target_compile_options(${TARGET} PRIVATE ${CPP_FLAGS})
  target_compile_definitions(${TARGET} PRIVATE PROBE_ID="${QUESTION}/${WAY}"
    PROBE_COMPILER="${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}" PROBE_FLAGS="-std=c++20 ${CPP_FLAGS_TEXT}")
  target_link_libraries(${TARGET} PRIVATE coro::coro ${NEEDED} $<TARGET_NAME_IF_EXISTS:probe_${QUESTION}> probe_support)
  steelyard_install(${SOURCE} TARGETS ${TARGET})
endforeach()
