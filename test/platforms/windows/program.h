// The least of a test program: what failed, how many passed, and threads, which not every g++ for Windows has in <thread>.
#ifndef TARN_TEST_PLATFORMS_WINDOWS_PROGRAM_H_
#define TARN_TEST_PLATFORMS_WINDOWS_PROGRAM_H_

#include <windows.h>

#include <cstdio>
#include <thread>

namespace tarn::test {

inline int passed = 0, failed = 0;
inline bool is_well = true;

inline void check(bool holds, const char* what, int line) {
  if (!holds) std::printf("line %d: %s\n", line, what), is_well = false;
}
#define CHECK(...) ::tarn::test::check((__VA_ARGS__), #__VA_ARGS__, __LINE__)

template <class Case>
void run_case(const char* name, Case its) {
  is_well = true;
  its();
  (is_well ? passed : failed) += 1;
  if (!is_well) std::printf("failed: %s\n", name);
  std::fflush(stdout);
}
inline int report() {
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}

template <class Do>
DWORD WINAPI act_in_thread(void* action) {
  (*static_cast<Do*>(action))();
  return 0;
}
/// Runs it in a thread of the standard library if there are: they may end otherwise (winpthreads).
template <class Do>
void in_standard_thread(Do action) {
#if !defined(__GLIBCXX__) || defined(_GLIBCXX_HAS_GTHREADS)
  std::thread(action).join();
#else
  act_in_thread<Do>(&action);
#endif
}
/// Runs an action in so many threads at once, and waits for their ends.
template <class Do>
void in_threads(unsigned n, Do action) {
  HANDLE threads[16];
  for (unsigned i = 0; i != n; ++i) threads[i] = CreateThread(nullptr, 0, act_in_thread<Do>, &action, 0, nullptr);
  for (unsigned i = 0; i != n; ++i) WaitForSingleObject(threads[i], INFINITE), CloseHandle(threads[i]);
}

}  // namespace tarn::test

#endif  // TARN_TEST_PLATFORMS_WINDOWS_PROGRAM_H_
