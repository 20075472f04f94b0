// Question: what do the adaptors cost over what they adapt? All objects and blocks have 64 bytes, but in xmalloc_mixed.
//
//   pair, hundred            new and delete of a class with DECLARE_MEMORY_POOL, beside its own pool called directly
//   pmr_pair, pmr_hundred    memory resources behind a std::pmr::memory_resource*
//   xmalloc_pair, _hundred   xmalloc and xfree, beside malloc and free
//   xmalloc_mixed            a thousand live blocks of 16 to 1024 bytes; free a random one, allocate one of another size
//
// A column `..._alone` runs as in a program that has one thread.

#include <cstdlib>
#include <memory_resource>

#include "tarn/allocator/memory_pool_macros.h"
#include "tarn/allocator/memory_resource.h"
#include "tarn/allocator/xmalloc.h"
#include "tarn/bench/allocators.h"
#include "tarn/bench/alone.h"
#include "tarn/bench/loops.h"
#include "tarn/bench/reference_allocator.h"

namespace tarn_bench {
namespace {

constexpr const char* table = "macros";
constexpr std::size_t object_bytes = 64;

// ---- class-level operator new -------------------------------------------------------------------------------------------

struct shared_object {
  std::byte content[object_bytes];
  DECLARE_MEMORY_POOL(shared_object)
};
struct unlocked_object {
  std::byte content[object_bytes];
  DECLARE_MEMORY_POOL_WITH(unlocked_object, tarn::no_locking)
};
/// What one writes into a class by hand.
struct bare_object {
  std::byte content[object_bytes];

  static void* operator new(std::size_t) { return list().take(); }
  static void operator delete(void* block) noexcept { list().give(block); }

 private:
  static bare_list<object_bytes>& list() noexcept { return through_register(static_list<object_bytes>); }
};
static_assert(sizeof(shared_object) == object_bytes && sizeof(unlocked_object) == object_bytes &&
              sizeof(bare_object) == object_bytes);

/// new and delete. A compiler may leave out calls of the global operators only, so these stay. The object has no constructor
/// that does anything: the block's first word is written by the loop, as in every column.
template <class Object>
struct by_operator {
  void* take() { return new Object; }
  void give(void* block) { delete static_cast<Object*>(block); }
};
template <class Object>
struct by_pool {
  void* take() { return Object::memory_pool().allocate(); }
  void give(void* block) { Object::memory_pool().deallocate(block); }
};

struct bare_operator : by_operator<bare_object> {
  static constexpr const char* name = "bare_operator";
};
struct macro : by_operator<shared_object> {
  static constexpr const char* name = "tarn_macro";
};
struct macro_pool : by_pool<shared_object> {
  static constexpr const char* name = "tarn_macro_pool";
};
struct macro_unlocked : by_operator<unlocked_object> {
  static constexpr const char* name = "tarn_macro_unlocked";
};
struct macro_pool_unlocked : by_pool<unlocked_object> {
  static constexpr const char* name = "tarn_macro_pool_unlocked";
};
using operators = columns<new_delete<object_bytes>, bare_operator, macro, macro_pool, macro_unlocked, macro_pool_unlocked>;

// ---- memory resources ---------------------------------------------------------------------------------------------------

/// The compiler doesn't know what the pointer points to.
class behind_pointer {
 public:
  void* take() { return resource_->allocate(object_bytes); }
  void give(void* block) { resource_->deallocate(block, object_bytes); }

 protected:
  explicit behind_pointer(std::pmr::memory_resource* resource) : resource_(resource) { asm("" : "+r"(resource_)); }

 private:
  std::pmr::memory_resource* resource_;
};
template <class Resource>
class owned_resource : public behind_pointer {
 public:
  owned_resource() : behind_pointer(&resource_) {}

 private:
  Resource resource_;
};
struct std_unsync : owned_resource<std::pmr::unsynchronized_pool_resource> {
  static constexpr const char* name = "pmr_unsync";
};
struct std_sync : owned_resource<std::pmr::synchronized_pool_resource> {
  static constexpr const char* name = "pmr_sync";
};
struct tarn_unsync : owned_resource<tarn::pmr::unsynchronized_pool_resource> {
  static constexpr const char* name = "tarn_pmr";
};
struct tarn_sync : owned_resource<tarn::pmr::synchronized_pool_resource> {
  static constexpr const char* name = "tarn_pmr_sync";
};
struct tarn_sync_alone : tarn_sync, alone {
  static constexpr const char* name = "tarn_pmr_sync_alone";
};
class tarn_block : public behind_pointer {
 public:
  static constexpr const char* name = "tarn_block_resource";
  tarn_block() : behind_pointer(&resource_) {}

 private:
  using pool = tarn::pool<tarn::static_size<object_bytes, alignof(std::max_align_t)>>;
  pool pool_;
  tarn::block_resource<pool> resource_{pool_};
};
using resources = columns<new_delete<object_bytes>, std_unsync, std_sync, tarn_unsync, tarn_sync, tarn_sync_alone, tarn_block>;

// ---- malloc -------------------------------------------------------------------------------------------------------------

struct with_malloc {
  static constexpr const char* name = "malloc";
  void* take(std::size_t size = object_bytes) { return std::malloc(size); }
  void give(void* block) { std::free(block); }
};
struct with_xmalloc {
  static constexpr const char* name = "tarn_xmalloc";
  void* take(std::size_t size = object_bytes) { return tarn::xmalloc(size); }
  void give(void* block) { tarn::xfree(block); }
};
struct with_xmalloc_alone : with_xmalloc, alone {
  static constexpr const char* name = "tarn_xmalloc_alone";
};
using mallocs = columns<with_malloc, with_xmalloc, with_xmalloc_alone>;

/// A place to free and a size to allocate, drawn before the clock starts.
struct step {
  std::uint16_t place;
  std::uint16_t size;
};
template <class Column>
TARN_BENCH_LOOP void mix(Column& column, std::vector<void*>& live, const std::vector<step>& steps) {
  for (const step each : steps) {
    free_block(column, live[each.place]);
    void* const block = column.take(each.size);
    *static_cast<std::size_t*>(block) = each.size;
    keep(block);
    live[each.place] = block;
  }
}

// ---- the rows -----------------------------------------------------------------------------------------------------------

constexpr std::size_t count = 4000;

constexpr auto pair = []<class Column>(benchmark::State& state) {
  alignas(64) Column column;
  for (auto _ : state) pairs(column, count);
  report(state, count);
};
constexpr auto hundred = []<class Column>(benchmark::State& state) {
  alignas(64) Column column;
  for (auto _ : state) hundreds(column, count / 100);
  report(state, count);
};
constexpr auto mixed = []<class Column>(benchmark::State& state) {
  constexpr std::size_t places = 1000;
  random_source random{5};
  std::vector<step> steps(count);
  for (step& each : steps)
    each = {static_cast<std::uint16_t>(random.below(places)), static_cast<std::uint16_t>(16 + random.below(1024 - 16 + 1))};
  alignas(64) Column column;
  std::vector<void*> live(places);
  for (void*& block : live) block = column.take(16 + random.below(1024 - 16 + 1));
  for (auto _ : state) mix(column, live, steps);
  empty(column, live);
  report(state, count);
};

}  // namespace

void register_benchmarks() {
  add(table, "pair", operators{}, pair);
  add(table, "hundred", operators{}, hundred);
  add(table, "pmr_pair", resources{}, pair);
  add(table, "pmr_hundred", resources{}, hundred);
  add(table, "xmalloc_pair", mallocs{}, pair);
  add(table, "xmalloc_hundred", mallocs{}, hundred);
  add(table, "xmalloc_mixed", mallocs{}, mixed);
}

}  // namespace tarn_bench
