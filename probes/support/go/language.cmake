# SPDX-License-Identifier: Apache-2.0
# Probes in Go: one program a file, of the standard library and the support alone. Nothing is downloaded.
find_program(STEELYARD_GO go)
set(GO_WANTED "Go 1.21 or later (Debian: apt-get install golang-go), then build again")
set(GO_MISSING "")
if(NOT STEELYARD_GO)
  set(GO_MISSING "no Go compiler was found when the probes were built: install ${GO_WANTED}")
else()
  execute_process(COMMAND ${CMAKE_COMMAND} -E env GOTOOLCHAIN=local ${STEELYARD_GO} env GOVERSION
    OUTPUT_VARIABLE GO_VERSION OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  string(REGEX MATCH "[0-9]+[.][0-9]+" GO_VERSION "${GO_VERSION}")
  if(GO_VERSION STREQUAL "")
    set(GO_MISSING "${STEELYARD_GO} did not run when the probes were built: install ${GO_WANTED}")
  elseif(GO_VERSION VERSION_LESS 1.21)
    set(GO_MISSING "Go ${GO_VERSION} was found when the probes were built: install ${GO_WANTED}")
  endif()
endif()

set(GO_ENVIRONMENT CGO_ENABLED=0 GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local GOWORK=off)
if(NOT DEFINED ENV{HOME} AND NOT DEFINED ENV{GOCACHE})
  list(APPEND GO_ENVIRONMENT GOCACHE=${CMAKE_BINARY_DIR}/go-cache)
endif()
set(GO_PACKAGE steelyard/probe)
set(GO_FLAGS "-trimpath")
set(GO_STRIPPED "$<$<BOOL:${STEELYARD_WHEEL}>:-s -w >")
file(GLOB GO_SUPPORT CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.go ${CMAKE_CURRENT_LIST_DIR}/*.s ${CMAKE_CURRENT_LIST_DIR}/*/*.go)
list(FILTER GO_SUPPORT EXCLUDE REGEX "(_test|/conformance)[.]go$")

steelyard_sources(go SOURCES)
set(GO_PROGRAMS)
foreach(SOURCE IN LISTS SOURCES)
  if(GO_MISSING)
    steelyard_skip(${SOURCE} "${GO_MISSING}")
    continue()
  endif()
  steelyard_identity(${SOURCE} QUESTION WAY)
  set(PROGRAM ${CMAKE_BINARY_DIR}/probes/${QUESTION}/${WAY})
  add_custom_command(OUTPUT ${PROGRAM}
    COMMAND ${CMAKE_COMMAND} -E env ${GO_ENVIRONMENT} ${STEELYARD_GO} build ${GO_FLAGS}
      -ldflags "${GO_STRIPPED}-X ${GO_PACKAGE}.identity=${QUESTION}/${WAY} -X ${GO_PACKAGE}.flags=${GO_FLAGS}" -o ${PROGRAM} ${SOURCE}
    DEPENDS ${SOURCE} ${GO_SUPPORT} ${CMAKE_CURRENT_LIST_DIR}/go.mod
    WORKING_DIRECTORY ${CMAKE_CURRENT_LIST_DIR} # the module that the probes' import is looked up in
    COMMENT "Building Go probe ${QUESTION}/${WAY}" VERBATIM)
  list(APPEND GO_PROGRAMS ${PROGRAM})
  steelyard_install(${SOURCE} PROGRAMS ${PROGRAM})
endforeach()
if(GO_PROGRAMS)
  add_custom_target(go_probes ALL DEPENDS ${GO_PROGRAMS})
endif()
