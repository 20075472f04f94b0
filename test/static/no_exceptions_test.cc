// A program without exceptions and RTTI: members that throw don't exist, the others work.
#include <cstddef>
#include <cstdio>
#include <memory_resource>
#include <mutex>
#include <span>

#include "tarn/allocator/containers.h"
#include "tarn/allocator/memory_pool_macros.h"
#include "tarn/allocator/memory_resource.h"
#include "tarn/allocator/multipool.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/allocator/xmalloc.h"
#include "tarn/policies/store/resource_store.h"

#if defined(__cpp_exceptions) || defined(__cpp_rtti)
#error "this file is to be compiled with -fno-exceptions -fno-rtti"
#endif

namespace {

struct node {
  int value = 7;
  DECLARE_MEMORY_POOL(node)
};
struct used_again {
  int value = 7;
  void reset() { value = 7; }
};

int passed = 0;
int failed = 0;

void check(const char* what, bool good) {
  std::printf("%s  %s\n", good ? "ok   " : "FAIL ", what);
  ++(good ? passed : failed);
}

template <class Pool>
constexpr bool has_throwing_members =
    requires(Pool& p) { p.allocate(); } || requires(Pool& p, std::span<void*> out) { p.allocate_batch(out); } ||
    requires(Pool& p) { p.reserve(1); };

template <class Pool>
bool works(Pool& pool) {
  constexpr std::size_t n = 20;
  void* blocks[n] = {};
  if (!pool.try_reserve(n)) return false;
  for (void*& block : blocks) {
    block = pool.try_allocate();
    if (block == nullptr || !pool.owns(block)) return false;
  }
  pool.deallocate_batch(blocks);
  if (pool.try_allocate_batch(blocks) != n) return false;
  for (void* block : blocks) pool.deallocate(block);
  return pool.capacity() >= n && pool.trim() != 0 && pool.try_allocate() != nullptr;
}

using block = tarn::static_size<64>;

}  // namespace

int main() {
  tarn::pool<block> standard;
  tarn::pool<block, tarn::lifo_reuse<>> lifo;
  tarn::pool<block, tarn::mutex_locking<>> locked;
  tarn::pool<block, tarn::page_store<>> pages;
  tarn::pool<block, tarn::static_array_store<20>> array;
  tarn::pool<tarn::dynamic_size> dynamic{tarn::dynamic_size{48, 16}};
  auto& fixed = tarn::static_pool<struct tag, block>::instance();
  tarn::pool<block, tarn::resource_store> resource{tarn::resource_store{std::pmr::new_delete_resource()}};

  check("throwing members don't exist", !has_throwing_members<decltype(standard)>);
  check("nor in a pool with a mutex", !has_throwing_members<decltype(locked)>);
  check("nor in a static pool", !has_throwing_members<std::remove_reference_t<decltype(fixed)>>);
  check("the standard pool works", works(standard));
  check("a plain list works", works(lifo));
  check("a pool with a mutex works", works(locked));
  check("a pool over pages works", works(pages));
  check("a pool in an array works", works(array));
  check("a pool of a size given at run time works", works(dynamic));
  check("a pool over a memory resource works", works(resource));
  check("a static pool works", works(fixed));
  tarn::pool<block, tarn::no_growth<2>> two;
  void* const a = two.try_allocate();
  void* const b = two.try_allocate();
  check("an exhausted pool returns null", a != nullptr && b != nullptr && two.try_allocate() == nullptr);

  PREPARE_MEMORY_POOL(node, 10);
  const node* const n = new node;
  check("a class has its operator new", node::memory_pool().owns(n) && n->value == 7);
  delete n;
  tarn::map<tarn::string, int> count;
  ++count["a string that is too long to lie in the object"];
  check("a map of strings works", count.size() == 1);
  tarn::size_class_pool<> classes;
  std::list<int, tarn::stl_allocator<int, tarn::size_class_pool<>>> numbers({1, 2, 3}, classes);
  check("a list over a pool of size classes works", numbers.size() == 3);
  tarn::pmr::unsynchronized_pool_resource memory;
  std::pmr::vector<int> more({1, 2, 3}, &memory);
  check("a vector on a memory resource works", more.size() == 3);
  tarn::multipool<node, used_again> many;
  node* const m = many.try_construct<node>();
  check("a multipool works", m != nullptr && m->value == 7);
  many.destroy(m);
  tarn::recycling_pool<used_again> recycled;
  check("a recycling pool works", recycled.release(recycled.acquire()));
  void* const bytes = tarn::xrealloc(tarn::xmalloc(10), 10000);
  check("xmalloc works", bytes != nullptr);
  tarn::xfree(bytes);

  std::printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
