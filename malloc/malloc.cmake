# The library that is a malloc. Included by CMakeLists.txt where TARN_BUILD_MALLOC is on.
if(NOT UNIX OR APPLE)
  message(FATAL_ERROR "tarn: TARN_BUILD_MALLOC needs Linux, or another ELF system with POSIX threads")
endif()
find_package(Threads REQUIRED)

add_library(tarn_malloc SHARED "${CMAKE_CURRENT_LIST_DIR}/malloc.cc")
add_library(tarn::malloc ALIAS tarn_malloc)
# Optimised whatever the build type is. The compiler may make a call of calloc from malloc and memset, and this is calloc. What a
# thread has of its own must not be allocated when it is first used.
target_compile_options(tarn_malloc PRIVATE -O2 -fno-builtin-malloc -ftls-model=initial-exec)
target_link_libraries(tarn_malloc PRIVATE tarn Threads::Threads)
set_target_properties(tarn_malloc PROPERTIES
  CXX_STANDARD 20 CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden VERSION "${PROJECT_VERSION}" SOVERSION 0)
if(TARN_INSTALL)
  install(TARGETS tarn_malloc LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    COMPONENT tarn_malloc NAMELINK_COMPONENT tarn_malloc)
endif()
