# The tests, without Bazel. The BUILD files stay the only list: cmake_tests.py writes calls of the functions below out of them.
#
# Only what TARN_TEST_INCLUDE and TARN_TEST_EXCLUDE choose by labels, a test's tags, is built by default; a preset's `ctest`
# chooses by the same.
set(TARN_TEST_INCLUDE "" CACHE STRING "Build the tests with a label that matches this; empty: all")
set(TARN_TEST_EXCLUDE "^(slow|nightly|needs_.*)$" CACHE STRING "Don't build the tests with a label that matches this")

find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
find_package(Threads REQUIRED)

# The interpreter itself, where what was found is a script that looks for it each time.
execute_process(COMMAND "${Python3_EXECUTABLE}" -c "import sys; print(sys.executable, end='')" OUTPUT_VARIABLE tarn_python)

set(tarn_support "${CMAKE_CURRENT_LIST_DIR}")
set(tarn_build "${CMAKE_CURRENT_BINARY_DIR}")
set(tarn_left_out "")

# The framework itself. The archive where there is one: it works with every compiler and sanitizer, and a test is one file.
find_library(TARN_BOOST_TEST NAMES libboost_unit_test_framework.a boost_unit_test_framework)
if(NOT TARN_BOOST_TEST)
  message(FATAL_ERROR "tarn's tests need Boost.Test's library, libboost_unit_test_framework (Debian: libboost-test-dev)")
endif()

# For every test. The flags are .bazelrc's; `generated` holds headers that are written by the build.
execute_process(
  COMMAND "${tarn_python}" -B -c "import compilers; print(';'.join(compilers.WARNINGS), end='')"
  WORKING_DIRECTORY "${tarn_support}" OUTPUT_VARIABLE tarn_warnings RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "compilers.py doesn't say which warnings tarn is compiled with")
endif()
add_library(tarn_tested INTERFACE)
# Bazel's toolchain has the last one, too: g++ 12 warns of the standard library's own.
target_compile_options(tarn_tested INTERFACE ${tarn_warnings} -Wno-free-nonheap-object)
target_include_directories(tarn_tested INTERFACE "${tarn_build}/generated")
target_link_libraries(tarn_tested INTERFACE tarn Threads::Threads)

add_library(tarn_boost_test INTERFACE)
target_link_libraries(tarn_boost_test INTERFACE "${TARN_BOOST_TEST}")
if(NOT TARN_BOOST_TEST MATCHES "\\.a$")
  target_compile_definitions(tarn_boost_test INTERFACE BOOST_TEST_DYN_LINK)
endif()

# A library of others, by one of its headers. What needs a missing one is left out, by name.
function(tarn_need name)
  cmake_parse_arguments(arg "" "HEADER;PACKAGE" "" ${ARGN})
  string(MAKE_C_IDENTIFIER "TARN_HEADERS_OF_${name}" folder)
  find_path("${folder}" NAMES "${arg_HEADER}")
  mark_as_advanced("${folder}")
  if(NOT ${folder})
    set(reason "<${arg_HEADER}> isn't here")
    if(arg_PACKAGE)
      string(APPEND reason " (Debian: ${arg_PACKAGE})")
    endif()
    if(name STREQUAL "boost.test")
      message(FATAL_ERROR "tarn's tests need Boost.Test: ${reason}")
    endif()
    set("tarn_missing_${name}" "${reason}" PARENT_SCOPE)
  endif()
endfunction()

# What the next three have in common.
macro(tarn_parse)
  cmake_parse_arguments(arg "" "LABEL;KIND;OUTPUT;PRECOMPILED"
    "SOURCES;COPTS;DEFINITIONS;LINKOPTS;OBJECTS;NEEDS;AFTER;DATA" ${ARGN})
  foreach(need IN LISTS arg_NEEDS)
    if(DEFINED "tarn_missing_${need}")
      list(APPEND tarn_left_out "${arg_LABEL}: ${tarn_missing_${need}}")
      set(tarn_left_out "${tarn_left_out}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endmacro()

macro(tarn_configure name)
  set_target_properties("${name}" PROPERTIES CXX_STANDARD 20 CXX_EXTENSIONS OFF EXCLUDE_FROM_ALL TRUE)
  target_link_libraries("${name}" PRIVATE tarn_tested)
  target_compile_options("${name}" PRIVATE ${arg_COPTS})
  target_compile_definitions("${name}" PRIVATE ${arg_DEFINITIONS})
  foreach(need IN LISTS arg_NEEDS)
    if(need STREQUAL "boost.test")
      target_link_libraries("${name}" PRIVATE tarn_boost_test)
    endif()
    string(MAKE_C_IDENTIFIER "TARN_HEADERS_OF_${need}" folder)
    target_include_directories("${name}" SYSTEM PRIVATE "${${folder}}")
  endforeach()
  if(arg_AFTER)
    add_dependencies("${name}" ${arg_AFTER})
  endif()
  if(arg_PRECOMPILED)
    target_precompile_headers("${name}" REUSE_FROM "${arg_PRECOMPILED}")
  endif()
endmacro()

function(tarn_precompiled name)
  tarn_parse(${ARGN})
  set(source "${tarn_build}/${name}.cc")  # CMake asks for one
  if(NOT EXISTS "${source}")
    file(WRITE "${source}" "")
  endif()
  add_library("${name}" OBJECT "${source}")
  tarn_configure("${name}")
  target_precompile_headers("${name}" PRIVATE ${arg_SOURCES})
endfunction()

function(tarn_objects name)
  tarn_parse(${ARGN})
  add_library("${name}" OBJECT ${arg_SOURCES})
  tarn_configure("${name}")
endfunction()

function(tarn_program name)
  tarn_parse(${ARGN})
  foreach(objects IN LISTS arg_OBJECTS)
    list(APPEND arg_SOURCES "$<TARGET_OBJECTS:${objects}>")
  endforeach()
  get_filename_component(folder "${arg_OUTPUT}" DIRECTORY)
  get_filename_component(file "${arg_OUTPUT}" NAME)
  if(arg_KIND STREQUAL "SHARED")
    add_library("${name}" SHARED ${arg_SOURCES})
    set_target_properties("${name}" PROPERTIES PREFIX "" SUFFIX "" LIBRARY_OUTPUT_DIRECTORY "${folder}")
    if(arg_OBJECTS)
      set_target_properties(${arg_OBJECTS} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    endif()
  else()
    add_executable("${name}" ${arg_SOURCES})
    set_target_properties("${name}" PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${folder}")
  endif()
  set_target_properties("${name}" PROPERTIES OUTPUT_NAME "${file}")
  target_link_libraries("${name}" PRIVATE ${arg_LINKOPTS})
  tarn_configure("${name}")
  if(arg_DATA)
    add_dependencies("${name}" ${arg_DATA})
  endif()
endfunction()

function(tarn_generated name)
  cmake_parse_arguments(arg "" "LABEL" "OUTPUT;COMMAND;DEPENDS;AFTER" ${ARGN})
  foreach(file IN LISTS arg_OUTPUT)
    get_filename_component(folder "${file}" DIRECTORY)
    file(MAKE_DIRECTORY "${folder}")
  endforeach()
  add_custom_command(OUTPUT ${arg_OUTPUT} COMMAND "${CMAKE_COMMAND}" -E env PYTHONDONTWRITEBYTECODE=1 ${arg_COMMAND}
    DEPENDS ${arg_DEPENDS} ${arg_AFTER} WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" VERBATIM)
  add_custom_target("${name}" DEPENDS ${arg_OUTPUT})
endfunction()

function(tarn_test name)
  cmake_parse_arguments(arg "" "FOLDER;TIMEOUT;PROCESSORS" "PROGRAMS;COMMAND;LABELS;ENVIRONMENT" ${ARGN})
  foreach(program IN LISTS arg_PROGRAMS)
    if(NOT TARGET "${program}")  # left out
      return()
    endif()
  endforeach()
  add_test(NAME "${name}" WORKING_DIRECTORY "${arg_FOLDER}"
    COMMAND "${tarn_python}" -B "${tarn_support}/ctest_case.py" run "${tarn_build}" "${name}" ${arg_COMMAND})
  set_tests_properties("${name}" PROPERTIES
    TIMEOUT "${arg_TIMEOUT}" LABELS "${arg_LABELS}" ENVIRONMENT "${arg_ENVIRONMENT}")
  if(arg_PROCESSORS)
    set_tests_properties("${name}" PROPERTIES PROCESSORS "${arg_PROCESSORS}")
  endif()

  set(chosen FALSE)
  if(NOT TARN_TEST_INCLUDE)
    set(chosen TRUE)
  endif()
  foreach(label IN LISTS arg_LABELS)
    if(TARN_TEST_INCLUDE AND label MATCHES "${TARN_TEST_INCLUDE}")
      set(chosen TRUE)
    endif()
  endforeach()
  foreach(label IN LISTS arg_LABELS)
    if(TARN_TEST_EXCLUDE AND label MATCHES "${TARN_TEST_EXCLUDE}")
      set(chosen FALSE)
    endif()
  endforeach()
  if(chosen)
    foreach(program IN LISTS arg_PROGRAMS)
      get_target_property(kind "${program}" TYPE)
      if(kind STREQUAL "UTILITY")
        add_dependencies(tarn_generated_for_tests "${program}")
      else()
        set_target_properties("${program}" PROPERTIES EXCLUDE_FROM_ALL FALSE)
      endif()
    endforeach()
  endif()
endfunction()

# Files that scripts read.
add_custom_target(tarn_generated_for_tests ALL)

execute_process(
  COMMAND "${tarn_python}" -B "${tarn_support}/cmake_tests.py" write "${CMAKE_CURRENT_SOURCE_DIR}" "${tarn_build}"
  ERROR_VARIABLE said RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "The tests can't be read from the BUILD files.\n${said}")
endif()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  "${tarn_support}/build_files.py" "${tarn_support}/cmake_tests.py" "${tarn_support}/compilers.py")
include("${tarn_build}/tests.cmake")

# Names what is missing here, and after the tests, too.
set(text "")
foreach(one IN LISTS tarn_left_out)
  message(STATUS "Left out: ${one}")
  string(APPEND text "left out: ${one}\n")
endforeach()
file(WRITE "${tarn_build}/left_out.txt" "${text}")

# The count of all cases, after ctest's own of all programs.
foreach(when IN ITEMS PRE:clear POST:sum)
  string(REPLACE ":" ";" when "${when}")
  list(GET when 0 turn)
  list(GET when 1 word)
  string(APPEND custom "set(CTEST_CUSTOM_${turn}_TEST "
    "[==[\"${tarn_python}\" -B \"${tarn_support}/ctest_case.py\" ${word} \"${tarn_build}\"]==])\n")
endforeach()
file(WRITE "${tarn_build}/CTestCustom.cmake" "${custom}")

# clangd looks for it in `build`. The preset that was configured last has it.
get_filename_component(folder "${CMAKE_BINARY_DIR}" DIRECTORY)
if(CMAKE_EXPORT_COMPILE_COMMANDS AND folder STREQUAL "${CMAKE_CURRENT_SOURCE_DIR}/build")
  file(CREATE_LINK "${CMAKE_BINARY_DIR}/compile_commands.json" "${folder}/compile_commands.json" SYMBOLIC)
endif()
