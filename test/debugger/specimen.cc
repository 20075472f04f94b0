// Pools of many kinds, and what is in them: check_debugger.py compares that with what a debugger says of the core dump.
//
//   pool NAME IN_USE CAPACITY           of each pool, as snapshot() tells
//   block NAME ADDRESS WORDS            what must be said of the address
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <semaphore>
#include <span>
#include <thread>
#include <vector>

#include "tarn/allocator/all.h"

namespace {

void say(const char* name, const void* address, const char* words) { std::printf("block %s %p %s\n", name, address, words); }

/// 300 blocks, of which every third was freed: the newest at the front, the others behind.
template <class Pool>
std::vector<void*> fill(Pool& pool, const char* name, const char* newest = "front") {
  std::vector<void*> blocks(300);
  for (void*& block : blocks) block = pool.allocate();
  for (std::size_t i = 0; i < blocks.size(); i += 3) pool.deallocate(blocks[i]);
  say(name, blocks[1], "used");
  say(name, static_cast<std::byte*>(blocks[1]) + 3, "used 3 bytes");
  say(name, blocks[0], "free");
  say(name, blocks[297], newest);
  return blocks;
}

struct tag;
struct pair {
  long a, b;
};

}  // namespace

int main(int argc, char** argv) {
  using namespace tarn;
  pool<static_size<64>, named<"standard">> standard;
  fill(standard, "standard");
  pool<dynamic_size, mutex_locking<>, named<"dynamic">> dynamic{dynamic_size(48)};
  fill(dynamic, "dynamic");
  pool<static_size<64>, lifo_reuse<>, named<"lifo">> lifo;
  const auto of_lifo = fill(lifo, "lifo", "free");
  pool<static_size<64>, mutex_locking<>, reclaim_and_retry<>> nameless;
  say("nobody", nameless.allocate(), "none");
  pool<static_size<64>, page_local_reuse<>, page_store<>, named<"paged">> paged;
  fill(paged, "paged");
  pool<static_size<1024>, return_empty_pages<0, 0>, page_store<>, named<"returning">> returning;
  fill(returning, "returning", "free");
  pool<static_size<64>, lock_free, named<"stacked">> stacked;
  fill(stacked, "stacked", "free");
  pool<static_size<64>, hardened, named<"hardened">> hard;
  fill(hard, "hardened");
  pool<static_size<64>, checked_with<sites>, mutex_locking<>, named<"checked">> check;
  const auto of_check = fill(check, "checked");
  check.note_site(of_check[1], {"orders.cc", 12});
  pool<static_size<64>, no_growth<400>, named<"one_chunk">> one;
  fill(one, "one_chunk");
  pool<static_size<64>, switchable_checking, named<"switched">> switched;
  fill(switched, "switched");
  auto& shared = static_pool<tag, static_size<64>, thread_cached<>, named<"static">>::instance();
  void* const kept = shared.allocate();
  say("static", kept, "used");
  object_pool<pair, named<"objects">> objects;
  say("objects", objects.construct(1, 2), "used");
  size_class_pool<named<"sizes">> sizes;
  say("sizes/32", sizes.allocate(20), "used");

  pool<static_size<64>, thread_cached<>, named<"cached">> cached;
  std::binary_semaphore is_ready{0}, goes_on{0};
  std::thread other([&] {
    std::vector<void*> blocks(40);
    for (void*& block : blocks) block = cached.allocate();
    for (void* const block : blocks) cached.deallocate(block);
    say("cached", blocks[20], "magazine");
    is_ready.release();
    goes_on.acquire();
  });
  is_ready.acquire();
  say("cached", cached.allocate(), "used");

  pool<static_size<64>, named<"fresh">, fixed_growth<64>> fresh;
  auto* const first = static_cast<std::byte*>(fresh.allocate());
  say("fresh", first, "used");
  say("fresh", first + 64 * 20, "free or never");
  say("nobody", &argc, "none");

  arena<named<"arena">> requests;
  void* const large = requests.allocate(10'000);
  const auto mark = requests.mark();
  void* const larger = requests.allocate(20'000);
  requests.rewind(mark);
  say("arena", large, "used");
  say("arena", larger, "free");
  arena<named<"arena_reset">, mutex_locking<>> once;
  (void)once.allocate(5000);
  once.reset();
  say("arena_reset", once.allocate(100), "used");  // of its first chunk, which isn't the current one yet
  arena<named<"arena_array">, static_array_store<1024>> array;
  say("arena_array", array.allocate(100), "used");
  arena<named<"arena_empty">> nothing;

  for (const pool_record& its : snapshot()) std::printf("pool %s %zu %zu\n", its.name, its.in_use, its.capacity);
  if (argc > 1 && std::strcmp(argv[1], "damaged") == 0) {
    void* const wild = reinterpret_cast<void*>(0x1234560);
    std::memcpy(of_lifo[297], &wild, sizeof wild);  // a link in a free block
  }
  std::fflush(stdout);
  std::abort();
}
