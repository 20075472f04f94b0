# What `cmake --install` writes. Nothing of it depends on the processor, so that all but the headers lies in share/.
include(CMakePackageConfigHelpers)

set(tarn_package "${CMAKE_INSTALL_DATADIR}/cmake/tarn")
set(tarn_out "${CMAKE_CURRENT_BINARY_DIR}/packaging")

install(DIRECTORY allocator policies
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/tarn" COMPONENT tarn_development
  FILES_MATCHING PATTERN "*.h")
file(GLOB tarn_root_headers CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.h")
if(tarn_root_headers)
  install(FILES ${tarn_root_headers} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/tarn" COMPONENT tarn_development)
endif()
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DATADIR}/licenses/tarn" COMPONENT tarn_development)

# find_package(tarn 0.2 COMPONENTS tarn): a component is a target without its tarn::. Before 1.0 another minor version may
# break, and isn't taken.
install(TARGETS tarn EXPORT tarn-targets)
install(EXPORT tarn-targets NAMESPACE tarn:: DESTINATION "${tarn_package}" COMPONENT tarn_development)
configure_package_config_file(packaging/tarn-config.cmake.in "${tarn_out}/tarn-config.cmake"
  INSTALL_DESTINATION "${tarn_package}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${tarn_out}/tarn-config-version.cmake" COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES "${tarn_out}/tarn-config.cmake" "${tarn_out}/tarn-config-version.cmake"
  DESTINATION "${tarn_package}" COMPONENT tarn_development)

# The same in the Common Package Specification, for tools other than CMake. An export of its own: whatever else is exported
# above, this file describes the headers.
if(NOT CMAKE_VERSION VERSION_LESS 4.3)
  install(TARGETS tarn EXPORT tarn-package-info)
  install(PACKAGE_INFO tarn EXPORT tarn-package-info NO_PROJECT_METADATA
    VERSION "${PROJECT_VERSION}" COMPAT_VERSION "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}.0"
    DEFAULT_TARGETS tarn LICENSE MIT DESCRIPTION "Memory pools composed from policies"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/cps/tarn" COMPONENT tarn_development)
endif()

# The file finds the headers from where it lies itself, so that an installed tree can be moved; a prefix and an include folder
# without a common parent can't.
set(tarn_pc_folder "${CMAKE_INSTALL_DATADIR}/pkgconfig")
if(IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_DATADIR}")
  set(tarn_pc_prefix "${CMAKE_INSTALL_PREFIX}")
  set(tarn_pc_include "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
else()
  file(RELATIVE_PATH tarn_pc_up "/${tarn_pc_folder}" "/")
  string(REGEX REPLACE "/$" "" tarn_pc_up "${tarn_pc_up}")
  set(tarn_pc_prefix "\${pcfiledir}/${tarn_pc_up}")
  set(tarn_pc_include "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
configure_file(packaging/tarn.pc.in "${tarn_out}/tarn.pc" @ONLY)
install(FILES "${tarn_out}/tarn.pc" DESTINATION "${tarn_pc_folder}" COMPONENT tarn_development)

option(TARN_INSTALL_TOOLS "Install tarn's programs, too" ON)
if(NOT TARN_INSTALL_TOOLS)
  return()
endif()
# Programs, and beside them the tree that they read: links to the headers. tools/x is started by tarn-x.
install(DIRECTORY tools DESTINATION "${CMAKE_INSTALL_DATADIR}/tarn" COMPONENT tarn_tools USE_SOURCE_PERMISSIONS
  PATTERN BUILD EXCLUDE PATTERN __pycache__ EXCLUDE)
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DATADIR}/tarn" COMPONENT tarn_tools)
file(RELATIVE_PATH tarn_up "/${CMAKE_INSTALL_DATADIR}/tarn" "/${CMAKE_INSTALL_INCLUDEDIR}/tarn")
foreach(name allocator policies version.h)
  file(CREATE_LINK "${tarn_up}/${name}" "${tarn_out}/${name}" SYMBOLIC RESULT tarn_linked)
  if(tarn_linked EQUAL 0)
    install(FILES "${tarn_out}/${name}" DESTINATION "${CMAKE_INSTALL_DATADIR}/tarn" COMPONENT tarn_tools)
  endif()
endforeach()
file(GLOB tarn_tools CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/tools/*")
foreach(tool IN LISTS tarn_tools)
  get_filename_component(name "${tool}" NAME)
  if(NOT IS_DIRECTORY "${tool}" AND NOT name MATCHES "^BUILD|[.]")
    string(REGEX REPLACE "^tarn-" "" program "${name}")
    set(program "tarn-${program}")
    configure_file(packaging/tool.in "${tarn_out}/${program}" @ONLY)
    install(PROGRAMS "${tarn_out}/${program}" DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT tarn_tools)
  endif()
endforeach()
