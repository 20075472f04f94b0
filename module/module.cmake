# The target tarn::module, for `import tarn;`. Included by CMakeLists.txt where TARN_BUILD_MODULE is on.
if(CMAKE_VERSION VERSION_LESS 3.28)
  message(FATAL_ERROR "tarn: TARN_BUILD_MODULE needs CMake 3.28 or later for C++20 modules; this is ${CMAKE_VERSION}")
endif()

add_library(tarn_module STATIC)
add_library(tarn::module ALIAS tarn_module)
target_sources(tarn_module PUBLIC
  FILE_SET CXX_MODULES BASE_DIRS "${CMAKE_CURRENT_LIST_DIR}" FILES "${CMAKE_CURRENT_LIST_DIR}/tarn.cppm")
target_link_libraries(tarn_module PUBLIC tarn::tarn)
