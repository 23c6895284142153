# SPDX-License-Identifier: Apache-2.0
# A timed part compiled several times. A probe asks for it by a line of its head comment:
#  * Variants: compiler=gcc,clang level=2,0,3
# Each combination is compiled with VARIANT defined, by that compiler at that -O, and linked into the one program, where
# variants.h finds it. `profile=off,on` adds a second build of each that uses a profile; the run that makes the profile is
#  * Training: key=value …
# What can't be built here is left out, and the program says why when it is asked for it.
# Beside the program stands what became of the loops: <way>.loops.json, made by loops.py.
find_program(STEELYARD_GCC gcc)
find_program(STEELYARD_CLANG clang)
set(OBJDUMP objdump)
if(STEELYARD_WHEEL)
  set(OBJDUMP ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu-objdump) # one that reads the other machine's code
endif()
find_program(STEELYARD_OBJDUMP ${OBJDUMP})
find_package(Python3 COMPONENTS Interpreter)
if(STEELYARD_WHEEL)
  set(VARIANT_gcc "") # gcc's code would be linked to the libraries of the machine that builds
elseif(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  set(VARIANT_gcc ${CMAKE_C_COMPILER})
else()
  set(VARIANT_gcc ${STEELYARD_GCC})
endif()
if(CMAKE_C_COMPILER_ID STREQUAL "Clang")
  set(VARIANT_clang ${CMAKE_C_COMPILER})
else()
  set(VARIANT_clang ${STEELYARD_CLANG})
endif()
set(VARIANT_SUPPORT ${CMAKE_CURRENT_LIST_DIR})
set(VARIANT_WARNINGS -g -Wall -Wextra -Wshadow -Wvla)
if(DEFINED ENV{CI})
  list(APPEND VARIANT_WARNINGS -Werror)
endif()

# Why a compiler, or its profiles, can't be used here, as "<compiler>=reason|" and "<compiler>+profile=reason|".
set(VARIANT_LACKS "")
if(STEELYARD_WHEEL)
  string(CONCAT VARIANT_LACKS "gcc=a wheel holds no code of gcc: build the probes from a checkout|"
    "clang+profile=a wheel holds no code with a profile: build the probes from a checkout|")
endif()
foreach(COMPILER gcc clang)
  if(NOT VARIANT_${COMPILER} AND NOT STEELYARD_WHEEL)
    string(APPEND VARIANT_LACKS "${COMPILER}=${COMPILER} was not found when the probes were built: install it (Debian: \
apt-get install ${COMPILER}) and build again|")
  endif()
endforeach()
if(VARIANT_clang AND NOT STEELYARD_WHEEL)
  # The merger and the runtime of profiles are packages of their own.
  execute_process(COMMAND ${VARIANT_clang} --print-prog-name=llvm-profdata OUTPUT_VARIABLE VARIANT_PROFDATA
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  file(WRITE ${CMAKE_BINARY_DIR}/variants/profile.c "int main(void) { return 0; }\n")
  execute_process(COMMAND ${VARIANT_clang} -fprofile-instr-generate ${CMAKE_BINARY_DIR}/variants/profile.c
    -o ${CMAKE_BINARY_DIR}/variants/profile RESULT_VARIABLE VARIANT_NO_RUNTIME OUTPUT_QUIET ERROR_QUIET)
  find_program(STEELYARD_PROFDATA NAMES ${VARIANT_PROFDATA} llvm-profdata)
  if(VARIANT_NO_RUNTIME OR NOT STEELYARD_PROFDATA)
    string(APPEND VARIANT_LACKS "clang+profile=clang cannot make profiles here: install its runtime and llvm-profdata \
(Debian: apt-get install libclang-rt-dev llvm) and build again|")
  endif()
endif()

# The values of KEY in a line such as ` * Variants: key=a,b other=c`; DEFAULT where the line lacks it.
function(variant_axis LINE KEY DEFAULT RESULT)
  if(LINE MATCHES " ${KEY}=([a-z0-9,]+)")
    string(REPLACE "," ";" VALUES "${CMAKE_MATCH_1}")
    set(${RESULT} ${VALUES} PARENT_SCOPE)
  else()
    set(${RESULT} "${DEFAULT}" PARENT_SCOPE)
  endif()
endfunction()

# Compile the variants of SOURCE, if it asks for any, into TARGET, whose program is installed to DESTINATION.
function(steelyard_variants TARGET SOURCE DESTINATION)
  file(STRINGS ${SOURCE} LINE REGEX "^ \\* Variants: " LIMIT_COUNT 1)
  if(NOT LINE)
    return()
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${SOURCE}) # the line may change
  file(STRINGS ${SOURCE} TRAINING REGEX "^ \\* Training: " LIMIT_COUNT 1)
  # Before CMake 4.1 an expression of REPLACE may not match the empty string.
  string(REGEX REPLACE "^ \\* Training: *| *\\*/$" "" TRAINING "${TRAINING}")
  separate_arguments(TRAINING)
  variant_axis("${LINE}" compiler "" COMPILERS)
  variant_axis("${LINE}" level "" LEVELS)
  variant_axis("${LINE}" profile "off" PROFILES)
  if(NOT COMPILERS OR NOT LEVELS OR ("on" IN_LIST PROFILES AND NOT TRAINING))
    message(FATAL_ERROR "${SOURCE}: write `Variants: compiler=gcc,clang level=2,0,3`, and with profile=off,on a line \
`Training: key=value …`, not `${LINE}`")
  endif()
  string(REPLACE ";" "," COMPILERS_TEXT "${COMPILERS}")
  string(REPLACE ";" "," LEVELS_TEXT "${LEVELS}")
  string(REPLACE ";" "," PROFILES_TEXT "${PROFILES}")
  steelyard_identity(${SOURCE} QUESTION WAY)
  set(FOLDER ${CMAKE_BINARY_DIR}/variants/${QUESTION}/${WAY})
  file(MAKE_DIRECTORY ${FOLDER})
  set(BRIEF ${LEVELS})
  list(FILTER BRIEF INCLUDE REGEX "[02]") # a first session has no time for more
  string(REPLACE ";" "," BRIEF_TEXT "${BRIEF}")
  set(OWN TIMED_COMPILERS="${COMPILERS_TEXT}" TIMED_LEVELS="${LEVELS_TEXT}" TIMED_PROFILES="${PROFILES_TEXT}"
    TIMED_BRIEF="${BRIEF_TEXT}" TIMED_LACKS="${VARIANT_LACKS}")
  target_compile_definitions(${TARGET} PRIVATE ${OWN})
  foreach(COMPILER IN LISTS COMPILERS)
    if(NOT VARIANT_${COMPILER})
      continue()
    endif()
    foreach(LEVEL IN LISTS LEVELS)
      foreach(PROFILE IN LISTS PROFILES)
        if(PROFILE STREQUAL "on" AND VARIANT_LACKS MATCHES "${COMPILER}\\+profile=")
          continue()
        endif()
        variant_object(${COMPILER} ${LEVEL} ${PROFILE} OBJECT)
        target_sources(${TARGET} PRIVATE ${OBJECT})
        set_source_files_properties(${OBJECT} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
      endforeach()
    endforeach()
  endforeach()
  if(STEELYARD_WHEEL)
    # Not stripped: loops are found by the names of their functions. And the section that nothing but its own name refers to
    # would be dropped.
    set_property(TARGET ${TARGET} PROPERTY LINK_OPTIONS ${STEELYARD_LINK_OPTIONS} -Wl,--no-gc-sections)
  endif()
  if(STEELYARD_OBJDUMP AND Python3_Interpreter_FOUND)
    set(LOOPS ${FOLDER}/${WAY}.loops.json)
    add_custom_command(TARGET ${TARGET} POST_BUILD BYPRODUCTS ${LOOPS} COMMAND ${Python3_EXECUTABLE}
      ${VARIANT_SUPPORT}/loops.py ${STEELYARD_OBJDUMP} $<TARGET_FILE:${TARGET}> ${LOOPS} VERBATIM)
    install(FILES ${LOOPS} DESTINATION ${DESTINATION})
  endif()
endfunction()

# Part of steelyard_variants: how one variant's object file is made is added to the build, and OBJECT is set to it.
function(variant_object COMPILER LEVEL PROFILE OBJECT)
  set(NAME ${COMPILER}_O${LEVEL})
  set(FLAGS -O${LEVEL} ${VARIANT_WARNINGS})
  list(JOIN FLAGS " " FLAGS_TEXT)
  if(PROFILE STREQUAL "on")
    string(APPEND NAME _profile)
    string(APPEND FLAGS_TEXT " with a profile")
    if(COMPILER STREQUAL "gcc")
      set(COUNT -fprofile-generate)
      set(USE -fprofile-use -Werror=missing-profile)
      set(MERGE ${CMAKE_COMMAND} -E true)
    else()
      set(COUNT -fprofile-instr-generate)
      set(USE -fprofile-instr-use=${FOLDER}/${NAME}.profdata -Werror=profile-instr-missing)
      set(MERGE ${STEELYARD_PROFDATA} merge ${FOLDER}/${NAME}.profraw -o ${FOLDER}/${NAME}.profdata)
    endif()
  endif()
  set(FILE ${FOLDER}/${NAME}.o)
  set(${OBJECT} ${FILE} PARENT_SCOPE)
  set(CC ${VARIANT_${COMPILER}} -std=gnu17 -fPIE -I${VARIANT_SUPPORT})
  set(COMPILE ${CC} ${FLAGS} -DVARIANT=${NAME} -DVARIANT_COMPILER="${COMPILER}" -DVARIANT_LEVEL="${LEVEL}"
    -DVARIANT_PROFILE="${PROFILE}" -DVARIANT_FLAGS="${FLAGS_TEXT}" -MD -MT ${FILE} -MF ${FILE}.d -c ${SOURCE} -o ${FILE})
  if(PROFILE STREQUAL "off")
    add_custom_command(OUTPUT ${FILE} DEPFILE ${FILE}.d DEPENDS ${SOURCE} COMMAND ${COMPILE} VERBATIM
      COMMENT "Compiling ${QUESTION}/${WAY} by ${COMPILER} at -O${LEVEL}")
    return()
  endif()
  # Compiled so that it counts, linked into a program of its own that is run, and compiled again by what was counted;
  # under the same name, because gcc finds the counts by the name of the object.
  set(TRAINER ${FOLDER}/${NAME}.trainer)
  list(TRANSFORM OWN PREPEND "-D" OUTPUT_VARIABLE DEFINITIONS)
  add_custom_command(OUTPUT ${FILE} DEPFILE ${FILE}.d DEPENDS ${SOURCE} VERBATIM
    COMMENT "Training ${QUESTION}/${WAY} by ${COMPILER} at -O${LEVEL}"
    COMMAND ${CMAKE_COMMAND} -E rm -f ${FOLDER}/${NAME}.gcda
    COMMAND ${COMPILE} ${COUNT}
    COMMAND ${CC} -O1 -pie -pthread ${DEFINITIONS} -DPROBE_ID="${QUESTION}/${WAY}" ${SOURCE} ${PROBE_SUPPORT}
      ${FILE} -o ${TRAINER} ${COUNT}
    COMMAND ${CMAKE_COMMAND} -E env LLVM_PROFILE_FILE=${FOLDER}/${NAME}.profraw ${TRAINER} ${TRAINING}
      compiler=${COMPILER} level=${LEVEL} profile=on --values 3 --json > ${FOLDER}/${NAME}.trained
    COMMAND ${MERGE}
    COMMAND ${COMPILE} ${USE})
endfunction()
