// `leaks WHAT PRODUCT`: has a block that owns memory from malloc, or a pool, and loses one of them or not. LeakSanitizer looks
// at the end. `leaks list` prints the products.
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <memory>
#include <memory_resource>
#include <string>

#include "tarn/allocator/containers.h"
#include "tarn/allocator/memory_pool_macros.h"
#include "tarn/allocator/memory_resource.h"
#include "tarn/allocator/multipool.h"
#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/recycling_pool.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/allocator/stl_allocator.h"
#include "tarn/allocator/xmalloc.h"

namespace {

/// What lies in a block, and owns memory.
struct owner {
  void* memory = nullptr;
  char more[48] = {};
  void reset() noexcept { memory = nullptr; }
};
struct other : owner {};
struct classed : owner {
  DECLARE_MEMORY_POOL(classed)
};
struct classed_on_pages : owner {
  DECLARE_MEMORY_POOL_WITH(classed_on_pages, tarn::page_store<>)
};
using on_pages = tarn::static_pool<struct pages_tag, tarn::size_of<owner>, tarn::page_store<>>;
using in_heap = tarn::static_pool<struct heap_tag, tarn::size_of<owner>>;

owner* kept = nullptr;  // what the program still knows

/// What is done with a product's one block: it is left in use, and known or lost; or freed.
template <class Take, class Give>
void act(const std::string& what, Take take, Give give) {
  owner* const block = take();
  block->memory = std::malloc(1000);
  if (what == "freed") give(block);
  else if (what == "held") kept = block;
}
/// A pool that lives as long as the program.
template <class Pool>
Pool& lasting() {
  static Pool* const made = new Pool;
  return *made;
}
template <class Pool>
void with_pool(const std::string& what) {
  auto& pool = lasting<Pool>();
  act(what, [&] { return ::new (pool.allocate()) owner; }, [&](owner* block) { pool.deallocate(block); });
}
template <class Class>
void with_class(const std::string& what) {
  act(what, [] { return new Class; }, [](owner* block) { delete static_cast<Class*>(block); });
}
template <class Pool>
void with_sizes(const std::string& what) {
  auto& pool = lasting<Pool>();
  constexpr std::size_t bytes = sizeof(owner), alignment = alignof(owner);
  act(what, [&] { return ::new (pool.allocate(bytes, alignment)) owner; },
      [&](owner* block) { pool.deallocate(block, bytes, alignment); });
}
/// The loss of a pool with all that is in it.
template <class Pool>
void lose(const std::string&) {
  auto* const pool = new Pool;
  static_cast<void>(pool->try_allocate() == nullptr);
}

/// A pool ends, and its pages are somebody else's, where LeakSanitizer doesn't look: what they know is lost.
template <class Pool>
void reuse_pages(const std::string&) {
  void* const memory = std::malloc(1000);
  auto* const pool = new Pool;
  void* const block = pool->allocate();
  delete pool;
  constexpr std::size_t page = 4096;
  std::byte* const start = static_cast<std::byte*>(block) - reinterpret_cast<std::uintptr_t>(block) % page;
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
  if (mmap(start, page, PROT_READ | PROT_WRITE, flags, -1, 0) != start) std::abort();
  std::memcpy(start, &memory, sizeof memory);
}

struct product {
  const char* name;
  void (*use)(const std::string& what);
};
const product products[] = {
    {"new", [](const std::string& what) { act(what, [] { return new owner; }, [](owner* block) { delete block; }); }},
    {"pool", with_pool<tarn::pool<tarn::size_of<owner>>>},
    {"pool,thread_cached", with_pool<tarn::pool<tarn::size_of<owner>, tarn::thread_cached<>>>},
    {"pool,hardened", with_pool<tarn::pool<tarn::size_of<owner>, tarn::hardened>>},
    {"pool,page_store", with_pool<tarn::pool<tarn::size_of<owner>, tarn::page_store<>>>},
    {"pool,huge_pages", with_pool<tarn::pool<tarn::size_of<owner>, tarn::page_store<tarn::huge_pages, tarn::guard_pages>>>},
    {"pool,sampled", with_pool<tarn::pool<tarn::size_of<owner>, tarn::sampled_guard_pages<1>>>},
    {"pool,static_array", with_pool<tarn::pool<tarn::size_of<owner>, tarn::static_array_store<8>>>},
    {"static_pool", [](const std::string& what) {
       act(what, [] { return ::new (in_heap::instance().allocate()) owner; },
           [](owner* block) { in_heap::instance().deallocate(block); });
     }},
    {"static_pool,page_store", [](const std::string& what) {
       act(what, [] { return ::new (on_pages::instance().allocate()) owner; },
           [](owner* block) { on_pages::instance().deallocate(block); });
     }},
    {"class", with_class<classed>},
    {"class,page_store", with_class<classed_on_pages>},
    {"object_pool", [](const std::string& what) {
       auto& pool = lasting<tarn::object_pool<owner>>();
       act(what, [&] { return pool.construct(); }, [&](owner* block) { pool.destroy(block); });
     }},
    {"multipool", [](const std::string& what) {
       auto& pool = lasting<tarn::multipool<owner, other>>();
       act(what, [&] { return pool.construct<owner>(); }, [&](owner* block) { pool.destroy(block); });
     }},
    {"size_class_pool", with_sizes<tarn::size_class_pool<>>},
    {"size_class_pool,page_store", with_sizes<tarn::size_class_pool<tarn::page_store<>>>},
    {"xmalloc", [](const std::string& what) {
       act(what, [] { return ::new (tarn::xmalloc(sizeof(owner))) owner; }, [](owner* block) { tarn::xfree(block); });
     }},
    {"pool_resource", with_sizes<tarn::pmr::synchronized_pool_resource>},
    {"list", [](const std::string& what) {
       auto& list = lasting<tarn::list<owner>>();
       act(what, [&] { return &list.emplace_back(); }, [&](owner*) { list.clear(); });
     }},
};
const product losses[] = {
    {"pool", lose<tarn::pool<tarn::size_of<owner>>>},
    {"object_pool", [](const std::string&) { static_cast<void>((new tarn::object_pool<owner>)->construct()); }},
    {"recycling_pool", [](const std::string&) { static_cast<void>((new tarn::recycling_pool<owner>)->acquire()); }},
    {"size_class_pool", [](const std::string&) { static_cast<void>((new tarn::size_class_pool<>)->allocate(64, 8)); }},
    {"pool_resource", [](const std::string&) {
       static_cast<void>((new tarn::pmr::unsynchronized_pool_resource)->allocate(64, 8));
     }},
    {"content of pages that went back", reuse_pages<tarn::pool<tarn::size_of<owner>, tarn::page_store<>>>},
    {"content of sampled pages that went back",
     reuse_pages<tarn::pool<tarn::size_of<owner>, tarn::sampled_guard_pages<1>>>},
};

/// So that no word of an earlier call points to what is lost.
[[gnu::noinline]] void clear_stack() {
  volatile char bytes[50'000];
  for (volatile char& one : bytes) one = 0;
}

}  // namespace

int main(int, char** words) {
  const std::string what = words[1];
  for (const product& one : products)
    if (what == "list") std::printf("%s\n", one.name);
    else if (what != "pool_lost" && std::strcmp(one.name, words[2]) == 0) one.use(what);
  for (const product& one : losses)
    if (what == "list") std::printf("lost %s\n", one.name);
    else if (what == "pool_lost" && std::strcmp(one.name, words[2]) == 0) one.use(what);
  clear_stack();
  if (what != "list") std::puts("done");
  std::fflush(stdout);  // LeakSanitizer ends the program
}
