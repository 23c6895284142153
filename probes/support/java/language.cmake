# SPDX-License-Identifier: Apache-2.0
# Probes in Java: compiled by the newest JDK that is found, started by a small script each.
set(JAVA_OLDEST 17)
set(JAVA_VIRTUAL 21)
set(JAVA_FOREIGN 22)
# One collector and one heap whatever the placement: the machine would choose them by the number of CPUs. No file of
# performance data in /tmp.
set(JAVA_FLAGS "-XX:+UseSerialGC -Xms256m -Xmn64m -XX:-UsePerfData")
steelyard_sources(java SOURCES)
file(GLOB JAVA_SUPPORT CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/[A-Z]*.java)
file(GLOB JAVA_FOREIGN_SUPPORT CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/foreign/*.java)

# The newest of JAVA_HOME, of the usual folder and of the path.
find_program(JAVAC_ON_PATH javac)
set(STEELYARD_JDKS /usr/lib/jvm CACHE PATH "The folder in which JDKs are looked for")
file(GLOB JAVACS $ENV{JAVA_HOME}/bin/javac ${STEELYARD_JDKS}/*/bin/javac)
set(JAVAC "")
set(JAVA_VERSION 0)
foreach(CANDIDATE IN LISTS JAVACS JAVAC_ON_PATH)
  if(NOT EXISTS "${CANDIDATE}")
    continue()
  endif()
  execute_process(COMMAND ${CANDIDATE} -version OUTPUT_VARIABLE SAID ERROR_VARIABLE SAID)
  if(SAID MATCHES "javac ([0-9][0-9.]*)" AND CMAKE_MATCH_1 VERSION_GREATER JAVA_VERSION)
    set(JAVAC ${CANDIDATE})
    set(JAVA_VERSION ${CMAKE_MATCH_1})
  endif()
endforeach()

set(JAVA_CLASSES ${CMAKE_BINARY_DIR}/java/classes)
set(JAVA_BUILT "")
set(JAVA_DIGEST "")
foreach(SOURCE IN LISTS JAVA_SUPPORT JAVA_FOREIGN_SUPPORT SOURCES)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${SOURCE}) # the digest is in the scripts
  file(SHA256 ${SOURCE} DIGEST)
  string(SHA256 JAVA_DIGEST "${JAVA_DIGEST}${DIGEST}")
endforeach()
# Compiled for the oldest machine that has what they use, so that machines can be compared with STEELYARD_JAVA.
set(JAVA_RELEASE ${JAVA_OLDEST})
if(JAVA_VERSION VERSION_GREATER_EQUAL JAVA_VIRTUAL)
  set(JAVA_RELEASE ${JAVA_VIRTUAL})
endif()
get_filename_component(JAVA_FOLDER "${JAVAC}" DIRECTORY)
set(JAVA_PROGRAM ${JAVA_FOLDER}/java)
set(JAVA_GONE "is no longer there: build again")
if(STEELYARD_WHEEL)
  set(JAVA_PROGRAM "\${JAVA_HOME:+\$JAVA_HOME/bin/}java")
  set(JAVA_GONE "is not found: install Java ${JAVA_RELEASE} or later, or name one by STEELYARD_JAVA")
endif()
foreach(SOURCE IN LISTS SOURCES)
  steelyard_identity(${SOURCE} QUESTION WAY)
  file(STRINGS ${SOURCE} CLASS REGEX "^final class [A-Za-z]+ extends")
  string(REGEX REPLACE "^final class ([A-Za-z]+) .*" "\\1" CLASS "${CLASS}")
  file(STRINGS ${SOURCE} VIRTUAL REGEX "ofVirtual|isVirtual" LIMIT_COUNT 1)
  if(NOT JAVAC)
    steelyard_skip(${SOURCE} "no JDK was found when Steelyard was built: install one, or set JAVA_HOME, and build again")
  elseif(JAVA_VERSION VERSION_LESS JAVA_OLDEST)
    steelyard_skip(${SOURCE} "the newest JDK found is ${JAVA_VERSION}: install ${JAVA_OLDEST} or later and build again")
  elseif(VIRTUAL AND JAVA_VERSION VERSION_LESS JAVA_VIRTUAL)
    steelyard_skip(${SOURCE}
      "virtual threads need Java ${JAVA_VIRTUAL} and the newest JDK found is ${JAVA_VERSION}: install a newer one and build again")
  else()
    list(APPEND JAVA_BUILT ${SOURCE})
    configure_file(${CMAKE_CURRENT_LIST_DIR}/launch.sh.in ${CMAKE_BINARY_DIR}/java/${QUESTION}/${WAY} @ONLY)
    steelyard_install(${SOURCE} PROGRAMS ${CMAKE_BINARY_DIR}/java/${QUESTION}/${WAY})
  endif()
endforeach()

if(JAVA_BUILT)
  # Strings are joined inline: the usual way costs tens of milliseconds at each start.
  set(JAVA_COMPILES ${JAVAC} -d ${JAVA_CLASSES} -XDstringConcat=inline -Xlint:all,-serial,-processing -encoding UTF-8)
  set(JAVA_COMPILES_FOREIGN ${CMAKE_COMMAND} -E true)
  if(JAVA_VERSION VERSION_GREATER_EQUAL JAVA_FOREIGN)
    set(JAVA_COMPILES_FOREIGN ${JAVA_COMPILES} --release ${JAVA_FOREIGN} -cp ${JAVA_CLASSES} -Xlint:-restricted ${JAVA_FOREIGN_SUPPORT})
  endif()
  add_custom_command(OUTPUT ${JAVA_CLASSES}/Probe.class
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${JAVA_CLASSES}
    COMMAND ${JAVA_COMPILES} --release ${JAVA_RELEASE} ${JAVA_SUPPORT} ${JAVA_BUILT}
    COMMAND ${JAVA_COMPILES_FOREIGN}
    DEPENDS ${JAVA_SUPPORT} ${JAVA_FOREIGN_SUPPORT} ${JAVA_BUILT} VERBATIM)
  add_custom_target(probes_java ALL DEPENDS ${JAVA_CLASSES}/Probe.class)
  install(FILES ${CMAKE_CURRENT_LIST_DIR}/../place.sh DESTINATION ${STEELYARD_NATIVE})
  install(DIRECTORY ${JAVA_CLASSES}/ DESTINATION ${STEELYARD_NATIVE}/java)
endif()
