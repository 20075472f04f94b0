# The tests, without Bazel. The BUILD files are the only list: cmake_tests.py writes calls of the functions below out of them.
set(TARN_TEST_INCLUDE "" CACHE STRING "Only tests with a label, a test's tag, that matches this; empty: all")
set(TARN_TEST_EXCLUDE "^(slow|nightly|needs_.*)$" CACHE STRING "No test with a label that matches this")

find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
find_package(Threads REQUIRED)
# The archive where there is one: it works with every compiler and sanitizer, and a test is one file.
find_library(TARN_BOOST_TEST NAMES libboost_unit_test_framework.a boost_unit_test_framework)
find_path(TARN_BOOST_HEADERS NAMES boost/test/unit_test.hpp)
if(NOT TARN_BOOST_TEST OR NOT TARN_BOOST_HEADERS)
  message(FATAL_ERROR "tarn's tests need Boost.Test, its headers and its library (Debian: libboost-test-dev)")
endif()

set(tarn_support "${CMAKE_CURRENT_LIST_DIR}")
set(tarn_build "${CMAKE_CURRENT_BINARY_DIR}")
set(tarn_runfiles "${tarn_build}/runfiles/tarn")
# The interpreter itself, where what was found is a script that looks for it each time.
execute_process(COMMAND "${Python3_EXECUTABLE}" -c "import sys; print(sys.executable, end='')" OUTPUT_VARIABLE tarn_python)

# Builds the tests that ctest runs, and nothing else.
add_custom_target(tarn_tests ALL)

add_library(boost.test INTERFACE)
target_link_libraries(boost.test INTERFACE "${TARN_BOOST_TEST}")
target_include_directories(boost.test SYSTEM INTERFACE "${TARN_BOOST_HEADERS}")
if(NOT TARN_BOOST_TEST MATCHES "\\.a$")
  target_compile_definitions(boost.test INTERFACE BOOST_TEST_DYN_LINK)
endif()

macro(tarn_parse)
  cmake_parse_arguments(arg "" "OUTPUT;SHARED;PRECOMPILED;TIMEOUT;PROCESSORS"
    "AFTER;COMMAND;COPTS;DEFINES;DEPS;LABELS;LINKOPTS;NEEDS;OUTS;PRIVATE;SOURCES" ${ARGN})
endmacro()

# What all that is compiled has in common. `kind`: whether those that link it have it, too.
macro(tarn_configure name kind)
  target_link_libraries("${name}" ${kind} ${arg_DEPS} ${arg_LINKOPTS})
  target_compile_definitions("${name}" ${kind} ${arg_DEFINES})
  if(arg_AFTER)
    add_dependencies("${name}" ${arg_AFTER})
  endif()
  if(NOT "${kind}" STREQUAL "INTERFACE")
    # Bazel's toolchain has the last warning, too: g++ 12 warns of the standard library's own. In `runfiles` is what is
    # generated; as an option, it is looked into after the tree itself.
    target_compile_options("${name}" PRIVATE
      ${tarn_warnings} -Wno-free-nonheap-object "-I${tarn_build}/runfiles" ${arg_COPTS})
    target_compile_definitions("${name}" PRIVATE ${arg_PRIVATE})
    target_link_libraries("${name}" PRIVATE tarn Threads::Threads)
    set_target_properties("${name}" PROPERTIES CXX_STANDARD 20 CXX_EXTENSIONS OFF EXCLUDE_FROM_ALL TRUE)
    if(arg_PRECOMPILED)
      target_precompile_headers("${name}" REUSE_FROM test.support.precompiled)
    endif()
  endif()
endmacro()

function(tarn_precompiled name header)
  tarn_parse(${ARGN})
  file(WRITE "${tarn_build}/${name}.cc" "")  # CMake asks for one
  add_library("${name}" OBJECT "${tarn_build}/${name}.cc")
  tarn_configure("${name}" PUBLIC)
  target_precompile_headers("${name}" PRIVATE "${header}")
endfunction()

function(tarn_library name)
  tarn_parse(${ARGN})
  if(arg_SOURCES)
    add_library("${name}" STATIC ${arg_SOURCES})
    tarn_configure("${name}" PUBLIC)
  else()
    add_library("${name}" INTERFACE)
    tarn_configure("${name}" INTERFACE)
  endif()
endfunction()

function(tarn_program name)
  tarn_parse(${ARGN})
  set(output "${tarn_build}/programs/${arg_OUTPUT}")
  get_filename_component(folder "${output}" DIRECTORY)
  get_filename_component(file "${output}" NAME)
  if(arg_SHARED)
    add_library("${name}" MODULE ${arg_SOURCES})
  else()
    add_executable("${name}" ${arg_SOURCES})
  endif()
  set_target_properties("${name}" PROPERTIES PREFIX "" SUFFIX "" OUTPUT_NAME "${file}"
    LIBRARY_OUTPUT_DIRECTORY "${folder}" RUNTIME_OUTPUT_DIRECTORY "${folder}")
  tarn_configure("${name}" PRIVATE)
endfunction()

# The command runs where tests run, and its files stand there.
function(tarn_generated name)
  tarn_parse(${ARGN})
  list(TRANSFORM arg_OUTS PREPEND "${tarn_runfiles}/")
  add_custom_command(OUTPUT ${arg_OUTS} COMMAND ${arg_COMMAND} WORKING_DIRECTORY "${tarn_runfiles}" VERBATIM)
  add_custom_target("${name}" DEPENDS ${arg_OUTS})
endfunction()

function(tarn_test name)
  tarn_parse(${ARGN})
  add_test(NAME "${name}" WORKING_DIRECTORY "${tarn_runfiles}"
    COMMAND "${tarn_python}" -B "${tarn_support}/count_cases.py" ${arg_COMMAND})
  set_tests_properties("${name}" PROPERTIES TIMEOUT "${arg_TIMEOUT}" LABELS "${arg_LABELS}")
  if(arg_PROCESSORS)
    set_tests_properties("${name}" PROPERTIES PROCESSORS "${arg_PROCESSORS}")
  endif()
  foreach(one IN LISTS arg_NEEDS)
    if(TARGET "${one}")  # no group of files
      add_dependencies(tarn_tests "${one}")
    endif()
  endforeach()
endfunction()

# Again where a file comes or goes, or a BUILD file changes.
foreach(folder IN ITEMS allocator bench docs examples policies test tools)
  file(GLOB_RECURSE unused CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*")
endforeach()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${tarn_support}/cmake_tests.py" "${tarn_support}/compilers.py")
execute_process(
  COMMAND "${tarn_python}" -B "${tarn_support}/cmake_tests.py" "${CMAKE_CURRENT_SOURCE_DIR}" "${tarn_build}"
    "${TARN_TEST_INCLUDE}" "${TARN_TEST_EXCLUDE}"
  ERROR_VARIABLE said RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "The tests can't be read from the BUILD files.\n${said}")
endif()
include("${tarn_build}/tests.cmake")

# clangd looks for it in `build`. The preset that was configured last has it.
get_filename_component(folder "${CMAKE_BINARY_DIR}" DIRECTORY)
if(CMAKE_EXPORT_COMPILE_COMMANDS AND folder STREQUAL "${CMAKE_CURRENT_SOURCE_DIR}/build")
  file(CREATE_LINK "${CMAKE_BINARY_DIR}/compile_commands.json" "${folder}/compile_commands.json" SYMBOLIC)
endif()
