// A program and two DLLs: one pool for all, pools that one makes and others use, and what a process has once.
#include <initializer_list>

#include "tarn/test/platforms/windows/module.h"
#include "tarn/test/platforms/windows/program.h"

const tarn::test::module_part* part_of_program();

namespace tarn::test {
namespace {

const module_part* parts[3];
constexpr std::size_t count = 3;

const module_part* load(const char* name) {
  const HMODULE library = LoadLibraryA(name);
  if (library == nullptr) return std::printf("no %s\n", name), nullptr;
  const auto get = reinterpret_cast<const module_part* (*)()>(
      reinterpret_cast<void (*)()>(GetProcAddress(library, "part_of_module")));
  return get();
}

void one_shared_pool() {
  for (std::size_t i = 1; i != count; ++i) CHECK(parts[i]->shared_pool() == parts[0]->shared_pool());
  for (std::size_t by = 0; by != count; ++by)
    for (std::size_t to = 0; to != count; ++to) parts[to]->free_shared(parts[by]->allocate_shared());
  for (std::size_t i = 0; i != count; ++i) {
    shared_thing* const thing = parts[i]->make_thing();
    CHECK(thing->number == 7);
    delete thing;
  }
  CHECK(shared_blocks::instance().statistics().in_use == 0);
}

void what_a_process_has_once() {
  for (std::size_t i = 1; i != count; ++i) {
    CHECK(parts[i]->secret() == parts[0]->secret());
    CHECK(parts[i]->thread_number() == parts[0]->thread_number());
    for (std::size_t which = 0; which != lists; ++which) CHECK(parts[i]->list(which) == parts[0]->list(which));
  }
  in_threads(4, [] {
    const std::uint64_t mine = parts[2]->thread_number();
    CHECK(parts[0]->thread_number() == mine && parts[1]->thread_number() == mine);
  });
}

/// Blocks go from hand to hand: no block is with two, and what is written stays.
template <class Allocate, class Free>
void exchange_blocks(Allocate allocate, Free free_block) {
  constexpr unsigned threads = 4, rounds = 300;
  static void* volatile places[64];
  for (auto& p : places) p = nullptr;
  static volatile LONG turn, bad;
  turn = 0;
  bad = 0;
  in_threads(threads, [=] {
    const auto me = static_cast<std::size_t>(InterlockedIncrement(&turn));
    for (std::size_t i = 0; i != rounds; ++i) {
      const std::size_t by = (me + i) % count;
      auto* const block = static_cast<std::size_t*>(allocate(by));
      for (std::size_t w = 0; w != 8; ++w) block[w] = reinterpret_cast<std::size_t>(block) + w;
      void* const other = InterlockedExchangePointer(const_cast<void**>(&places[(me * 17 + i) % 64]), block);
      if (other == nullptr) continue;
      auto* const its = static_cast<std::size_t*>(other);
      for (std::size_t w = 0; w != 8; ++w)
        if (its[w] != reinterpret_cast<std::size_t>(its) + w) InterlockedIncrement(&bad);
      free_block((me + i / 2) % count, other);
    }
  });
  for (auto& p : places)
    if (p != nullptr) free_block(0, p);
  CHECK(bad == 0);
}

void shared_pool_in_threads_that_end() {
  for (int i = 0; i != 20; ++i)
    exchange_blocks([](std::size_t by) { return parts[by]->allocate_shared(); },
                    [](std::size_t by, void* block) { parts[by]->free_shared(block); });
  CHECK(shared_blocks::instance().statistics().in_use == 0);
}

/// Each thread keeps to its module, so that several have the same number there: they must not share a slot.
void threads_of_different_modules_at_once() {
  void* const pool = parts[1]->make(0);
  static volatile LONG turn, bad;
  turn = 0;
  bad = 0;
  in_threads(9, [=] {
    const auto me = static_cast<std::size_t>(InterlockedIncrement(&turn));
    while (turn != 9) Sleep(0);
    for (std::size_t i = 0; i != 60000; ++i) {
      std::size_t* blocks[20];
      for (std::size_t*& b : blocks) {
        b = static_cast<std::size_t*>(parts[me % count]->allocate(0, pool));
        *b = me;
      }
      for (std::size_t* const b : blocks) {
        if (*b != me) InterlockedIncrement(&bad);
        parts[me % count]->free(0, pool, b);
      }
    }
  });
  CHECK(bad == 0);
  parts[2]->destroy(0, pool);
}

void pool_objects_in_threads_that_end() {
  for (const std::size_t kind : {std::size_t{0}, std::size_t{2}, std::size_t{3}}) {  // hardened alone locks nothing
    void* const pool = parts[1]->make(kind);
    for (int i = 0; i != 10; ++i)
      exchange_blocks([=](std::size_t by) { return parts[by]->allocate(kind, pool); },
                      [=](std::size_t by, void* block) { parts[by]->free(kind, pool, block); });
    parts[2]->destroy(kind, pool);
  }
}

void hardened_pool_from_module_to_module() {
  void* const pool = parts[1]->make(1);
  for (std::size_t i = 0; i != 100; ++i) {
    void* const block = parts[i % count]->allocate(1, pool);
    parts[(i + 1) % count]->free(1, pool, block);
  }
  parts[0]->destroy(1, pool);
}

void numbers_come_back() {
  static volatile LONG highest;
  highest = 0;
  for (int i = 0; i != 300; ++i) {
    const auto use = [i] {
      parts[i % count]->free_shared(parts[i % count]->allocate_shared());
      const auto number = static_cast<LONG>(parts[i % count]->slot());
      if (number > highest) highest = number;
    };
    if (i % 2 == 0) in_threads(1, use);
    else in_standard_thread(use);
  }
  CHECK(highest > 0);
  CHECK(highest < 8);
}

}  // namespace
}  // namespace tarn::test

int main() {
  using namespace tarn::test;
  parts[0] = part_of_program();
  parts[1] = load("shared_blocks.dll");
  parts[2] = load("other.dll");
  if (parts[1] == nullptr || parts[2] == nullptr) return 1;
  run_case("one shared pool", one_shared_pool);
  run_case("what a process has once", what_a_process_has_once);
  run_case("a shared pool in threads that end", shared_pool_in_threads_that_end);
  run_case("threads of different modules at once", threads_of_different_modules_at_once);
  run_case("pool objects in threads that end", pool_objects_in_threads_that_end);
  run_case("a hardened pool from module to module", hardened_pool_from_module_to_module);
  run_case("numbers come back", numbers_come_back);
  return report();
}
