// A library that is loaded, unloaded, loaded again and left to the end. Its pools are its own.
#define LIBRARY
#include "tarn/test/process/pools.h"

namespace tarn::test {
namespace {

struct user {
  stamped held;
  user() noexcept {
    held.take(false);
    note(when::library_begins);
  }
  ~user() {
    held.pass_through(false);
    note(when::library_ends);
  }
} the_user;

}  // namespace
}  // namespace tarn::test

extern "C" [[gnu::visibility("default")]] void use_library() {
  using namespace tarn::test;
  static thread_local at_thread_end<when::thread_ends> in_thread;
  stamped held;
  held.take(false);
  held.give(false);
  note(when::library_runs);
}
