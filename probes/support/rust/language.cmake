# SPDX-License-Identifier: Apache-2.0
# Probes in Rust: one cargo package for all, whose manifest is made here from Cargo.toml and the files that are found.
# Versions are those of Cargo.lock. Where tokio can't be had, only what needs it is skipped.
set(RUST ${CMAKE_BINARY_DIR}/rust)
set(RUST_OLDEST 1.71)
find_program(CARGO cargo HINTS $ENV{HOME}/.cargo/bin)
find_program(RUSTC rustc HINTS $ENV{HOME}/.cargo/bin)
steelyard_sources(rs SOURCES)

set(RUST_LACKS "")
if(CARGO AND RUSTC)
  execute_process(COMMAND ${RUSTC} --version OUTPUT_VARIABLE RUST_VERSION OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  string(REGEX MATCH "[0-9]+[.][0-9]+[.][0-9]+" RUST_NUMBER "${RUST_VERSION}")
  if(NOT RUST_NUMBER)
    set(RUST_LACKS "${RUSTC} does not say its version: install Rust from rustup.rs or the distribution and build again")
  elseif(RUST_NUMBER VERSION_LESS RUST_OLDEST)
    set(RUST_LACKS "Rust ${RUST_NUMBER} is older than ${RUST_OLDEST}: install a newer one (rustup.rs) and build again")
  endif()
else()
  set(RUST_LACKS "no Rust compiler was found when Steelyard was built: install cargo and rustc and build again")
endif()

# Fetched once, then from cargo's own cache; without network nothing is fetched and nothing fails.
file(READ ${CMAKE_CURRENT_LIST_DIR}/Cargo.toml RUST_MANIFEST)
string(REPLACE "path = \"probe.rs\"" "path = \"${CMAKE_CURRENT_LIST_DIR}/probe.rs\"" RUST_MANIFEST "${RUST_MANIFEST}")
if(NOT RUST_LACKS)
  file(MAKE_DIRECTORY ${RUST}/fetched)
  file(WRITE ${RUST}/fetched/Cargo.toml "${RUST_MANIFEST}")
  configure_file(${CMAKE_CURRENT_LIST_DIR}/Cargo.lock ${RUST}/fetched/Cargo.lock COPYONLY)
  execute_process(COMMAND ${RUSTC} -vV OUTPUT_VARIABLE RUST_TARGET ERROR_QUIET)
  string(REGEX REPLACE ".*host: ([^\n]*).*" "\\1" RUST_TARGET "${RUST_TARGET}")
  if(STEELYARD_WHEEL)
    set(RUST_TARGET ${CMAKE_SYSTEM_PROCESSOR}-unknown-linux-gnu)
    execute_process(COMMAND ${RUSTC} --print target-libdir --target ${RUST_TARGET} OUTPUT_VARIABLE RUST_LIBRARIES
      OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(NOT EXISTS "${RUST_LIBRARIES}")
      set(RUST_LACKS "no library of Rust for ${RUST_TARGET} was found: run `rustup target add ${RUST_TARGET}`")
    endif()
  endif()
  foreach(HOW --offline "")
    execute_process(COMMAND ${CARGO} fetch --locked ${HOW} --target ${RUST_TARGET} --manifest-path ${RUST}/fetched/Cargo.toml
      RESULT_VARIABLE TOKIO_LACKS OUTPUT_QUIET ERROR_QUIET TIMEOUT 120)
    if(TOKIO_LACKS EQUAL 0)
      break()
    endif()
  endforeach()
endif()

set(RUST_PROGRAMS "")
foreach(SOURCE IN LISTS SOURCES)
  steelyard_identity(${SOURCE} QUESTION WAY)
  file(STRINGS ${SOURCE} NEEDS_TOKIO REGEX "tokio::" LIMIT_COUNT 1)
  if(RUST_LACKS)
    steelyard_skip(${SOURCE} "${RUST_LACKS}")
  elseif(NEEDS_TOKIO AND NOT TOKIO_LACKS EQUAL 0)
    steelyard_skip(${SOURCE} "cargo could not fetch tokio when Steelyard was built: build again with network")
  else()
    string(APPEND RUST_MANIFEST "\n[[bin]]\nname = \"${QUESTION}-${WAY}\"\npath = \"${SOURCE}\"\n")
    list(APPEND RUST_PROGRAMS ${SOURCE})
  endif()
endforeach()

if(RUST_PROGRAMS)
  file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/Cargo.lock TOKIO_VERSION REGEX "^(name|version) = ")
  string(REGEX REPLACE ".*name = \"tokio\";version = \"([^\"]*)\".*" "\\1" TOKIO_VERSION "${TOKIO_VERSION}")
  set(RUST_FLAGS "opt-level=3 debug=1, tokio ${TOKIO_VERSION}")
  if(NOT TOKIO_LACKS EQUAL 0) # the lock names it, so it has to go from there as well
    string(REGEX REPLACE "\n\\[dependencies\\]\ntokio[^\n]*\n" "\n" RUST_MANIFEST "${RUST_MANIFEST}")
    set(RUST_FLAGS "opt-level=3 debug=1")
    set(RUST_LOCKED "")
  else()
    configure_file(${CMAKE_CURRENT_LIST_DIR}/Cargo.lock ${RUST}/Cargo.lock COPYONLY)
    set(RUST_LOCKED --locked)
  endif()
  file(GENERATE OUTPUT ${RUST}/Cargo.toml CONTENT "${RUST_MANIFEST}") # written only when it changed
  # Cargo knows best what is up to date; it is asked at each build. What it is linked to it doesn't look at.
  file(SHA256 ${CMAKE_CURRENT_LIST_DIR}/../c/counters.c COUNTERS_DIGEST)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/../c/counters.c)
  # cargo links by cc unless it is told another, and a machine may have clang alone.
  string(TOUPPER "CARGO_TARGET_${RUST_TARGET}_LINKER" RUST_LINKER)
  string(REPLACE "-" "_" RUST_LINKER "${RUST_LINKER}")
  add_custom_target(probes_rust ALL
    COMMAND ${CMAKE_COMMAND} -E env "PROBE_COMPILER=${RUST_VERSION}" "PROBE_FLAGS=${RUST_FLAGS}"
      "PROBE_COUNTERS=${COUNTERS_DIGEST}" "RUSTFLAGS=$ENV{RUSTFLAGS} -L native=$<TARGET_FILE_DIR:counters_static>"
      CARGO_TARGET_DIR=${RUST}/target CARGO_TERM_COLOR=never "${RUST_LINKER}=${CMAKE_C_COMPILER}"
      ${CARGO} build --quiet --release --offline ${RUST_LOCKED} --target ${RUST_TARGET} --manifest-path ${RUST}/Cargo.toml
    VERBATIM)
  add_dependencies(probes_rust counters_static)
  foreach(SOURCE IN LISTS RUST_PROGRAMS)
    steelyard_identity(${SOURCE} QUESTION WAY)
    steelyard_install(${SOURCE} PROGRAMS ${RUST}/target/${RUST_TARGET}/release/${QUESTION}-${WAY} RENAME ${WAY})
  endforeach()
endif()
