# SPDX-License-Identifier: Apache-2.0
# cmake -DBUILD=… -DSOURCE=… -DCOMPILER=… -P check.cmake: installs coro, builds a project with it and runs that.
function(must)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE FAILED OUTPUT_VARIABLE SAID ERROR_VARIABLE SAID)
  if(FAILED)
    message(FATAL_ERROR "${ARGN}: ${SAID}")
  endif()
endfunction()
file(REMOVE_RECURSE ${BUILD}/installed)
must(${CMAKE_COMMAND} --install ${BUILD} --prefix ${BUILD}/installed/coro)
must(${CMAKE_COMMAND} -S ${SOURCE}/tests/installed -B ${BUILD}/installed/build -DCMAKE_CXX_COMPILER=${COMPILER}
  -DCMAKE_BUILD_TYPE=Release -Dcoro_ROOT=${BUILD}/installed/coro)
must(${CMAKE_COMMAND} --build ${BUILD}/installed/build)
must(${BUILD}/installed/build/uses_coro)
