# Stand-ins for the functions of vcpkg's scripts that the portfile calls, so that it can be run where vcpkg isn't:
#   cmake -DPORTFILE=... -DCURRENT_PACKAGES_DIR=... -DCURRENT_BUILDTREES_DIR=... -P stand_ins.cmake
# They do what vcpkg's manual says of these functions, for one build type.
set(PORT tarn)
set(CURRENT_BUILD "${CURRENT_BUILDTREES_DIR}/rel")

function(vcpkg_stand_in_run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE failed OUTPUT_QUIET)
  if(failed)
    message(FATAL_ERROR "failed: ${ARGV}")
  endif()
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 given "" "SOURCE_PATH" "OPTIONS")
  vcpkg_stand_in_run("${CMAKE_COMMAND}" -S "${given_SOURCE_PATH}" -B "${CURRENT_BUILD}" -DCMAKE_BUILD_TYPE=Release
    "-DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}" ${given_OPTIONS})
endfunction()

function(vcpkg_cmake_install)
  vcpkg_stand_in_run("${CMAKE_COMMAND}" --install "${CURRENT_BUILD}")
endfunction()

# Moves the package's CMake files to share/PORT, and has them look for the prefix from there.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 given "" "CONFIG_PATH" "")
  file(GLOB files "${CURRENT_PACKAGES_DIR}/${given_CONFIG_PATH}/*.cmake")
  foreach(path IN LISTS files)
    get_filename_component(name "${path}" NAME)
    file(READ "${path}" text)
    string(REGEX REPLACE "get_filename_component\\(_IMPORT_PREFIX[^\n]*\n" "" text "${text}")
    string(REGEX REPLACE "# Compute the installation prefix relative to this file.\n"
      "get_filename_component(_IMPORT_PREFIX \"\${CMAKE_CURRENT_LIST_DIR}/../..\" ABSOLUTE)\n" text "${text}")
    string(REPLACE "/../../../\"" "/../../\"" text "${text}")
    file(WRITE "${CURRENT_PACKAGES_DIR}/share/${PORT}/${name}" "${text}")
  endforeach()
  file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/${given_CONFIG_PATH}")
endfunction()

function(vcpkg_fixup_pkgconfig)
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 given "" "" "FILE_LIST")
  configure_file("${given_FILE_LIST}" "${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright" COPYONLY)
endfunction()

include("${PORTFILE}")
