// main(), threads, and the report, which is the last thing of all.
#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "tarn/test/process/pools.h"

namespace tarn::test {

constinit stamped left_by_unit_0, left_by_unit_1, left_by_unit_2;
stamped left_by_main;

namespace {

constexpr std::size_t detached_threads = 3, short_threads = 8;

/// Made before all other static objects and, by not using a pool until it ends, before every pool that is made when it is
/// first used.
struct report {
  std::size_t runs_in_main = 0;
  report() noexcept { detail::keep_argument(this); }
  ~report();
};
[[gnu::init_priority(101)]] report last;

report::~report() {
  left_by_main.pass_through(true);
  stamped late;
  late.take(true);
  late.give(true);
  const auto in_the_end = [this] { return noted(when::detached_runs) - runs_in_main; };
  for (int tries = 0; tries != 100'000 && in_the_end() < 30; ++tries)  // the detached threads go on
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (noted(when::library_begins) != noted(when::library_ends)) note(when::faults);
  std::size_t left = 0;
#if !defined(CONTROL_ENDS) && !defined(CONTROL_LATE)
  auto& alone = numbered<7, no_locking>::instance();
  alone.trim();
  left = alone.capacity();
#endif
  char text[1024];
  int length = std::snprintf(text, sizeof text, "order %s\nleft %zu\nruns while the process ends %zu\n", order.data(), left,
                             in_the_end());
  for (std::size_t i = 0; i != names.size(); ++i)
    length += std::snprintf(text + length, sizeof text - static_cast<std::size_t>(length), "%s %zu\n", names[i],
                            counts[i].load());
  if (write(STDOUT_FILENO, text, static_cast<std::size_t>(length)) != length) std::_Exit(2);
  if (noted(when::faults) != 0) std::_Exit(1);
}

void run_for_ever() {
  for (stamped held;;) {
    held.take(false);
    held.give(false);
    note(when::detached_runs);
  }
}

void use_threads() {
  static thread_local at_thread_end<when::thread_ends> in_main;  // ends before the static objects do
  for (std::size_t i = 0; i != short_threads; ++i) {
    std::thread([] { static thread_local at_thread_end<when::thread_ends> in_thread; }).join();
    std::thread([] { static thread_local at_thread_end<when::detached_ends> in_thread; }).detach();
  }
  for (std::size_t i = 0; i != detached_threads; ++i) std::thread(run_for_ever).detach();
  while (noted(when::detached_runs) < 300 || noted(when::detached_ends) != short_threads)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

#if !defined(CONTROL_ENDS) && !defined(CONTROL_LATE)

// ---- a library that comes and goes --------------------------------------------------------------------------------------

void* opened(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) std::puts(dlerror()), std::_Exit(3);
  return library;
}
void use(void* library) { reinterpret_cast<void (*)()>(dlsym(library, "use_library"))(); }
template <class Do>
void in_thread(Do action) {
  std::thread(action).join();
}

/// Whoever closes it has never used its pools before; a thread that has may end later. In the end it stays, and so does a
/// thread in it.
void use_library(const char* path) {
  void* library = nullptr;
  in_thread([&] { library = opened(path); });
  in_thread([&] { use(library); });
  in_thread([&] { dlclose(library); });
  if (noted(when::library_ends) != 1) note(when::faults);

  in_thread([&] { library = opened(path); });
  std::atomic<int> step = 0;
  std::thread last_user([&] {
    use(library);
    step = 1;
    step.notify_one();
    step.wait(1);
  });
  step.wait(0);
  in_thread([&] { dlclose(library); });
  step = 2;
  step.notify_one();
  last_user.join();

  in_thread([&] { library = opened(path); });
  std::thread([library] {
    for (;;) use(library);
  }).detach();
  while (noted(when::library_runs) < 100) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

#endif

}  // namespace
}  // namespace tarn::test

extern "C" void note_in_program(std::size_t what) { tarn::test::note(static_cast<tarn::test::when>(what)); }

int main([[maybe_unused]] int argc, [[maybe_unused]] char** words) {
  using namespace tarn::test;
  std::atexit([] {
    stamped late;
    late.take(true);
    late.give(true);
    note(when::at_exit);
  });
  left_by_main.take(true);
  use_threads();
#if !defined(CONTROL_ENDS) && !defined(CONTROL_LATE)
  use_library(words[1]);
#endif
  last.runs_in_main = noted(when::detached_runs);
}
