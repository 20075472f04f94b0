// The plugin as the program gets at it, and where the program says what is wrong.
#ifndef TARN_TEST_LIBRARIES_LOADED_H_
#define TARN_TEST_LIBRARIES_LOADED_H_

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tarn/test/libraries/side.h"

namespace tarn::test {
namespace {

[[noreturn]] void fail(const char* what) {
  std::printf("fault: %s\n", what);
  std::exit(1);
}

/// The plugin, from constructor to close(); what it does runs in a thread of its own, so that no thread that goes on has ended
/// its days in a library that is gone.
class library {
 public:
  library(const char* path, const char* how) : path_(path), linked_(std::strcmp(how, "linked") == 0) {
    if (linked_) {
      handle_ = RTLD_DEFAULT;
    } else {
      handle_ = dlopen(path, RTLD_NOW | (std::strcmp(how, "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL));
      if (handle_ == nullptr) fail(dlerror());
    }
    const auto get = reinterpret_cast<const side* (*)()>(dlsym(handle_, "plugin_side"));
    if (get == nullptr) fail("no plugin_side");
    functions = get();
  }
  /// Returns whether it is gone: a linked one isn't, nor one that the system keeps.
  bool close() {
    if (linked_) return false;
    if (dlclose(handle_) != 0) fail(dlerror());
    functions = nullptr;
    void* const still = dlopen(path_, RTLD_NOW | RTLD_NOLOAD);
    if (still != nullptr) dlclose(still);
    return still == nullptr;
  }

  const side* functions;

 private:
  const char* path_;
  bool linked_;
  void* handle_;
};

}  // namespace
}  // namespace tarn::test

#endif  // TARN_TEST_LIBRARIES_LOADED_H_
