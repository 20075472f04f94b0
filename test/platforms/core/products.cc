// The products: objects, classes, static pools, sizes, containers, malloc.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "tarn/allocator/memory_pool_macros.h"
#include "tarn/allocator/multipool.h"
#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/recycling_pool.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/allocator/xmalloc.h"
#include "tarn/test/platforms/core/parts.h"
#include "tarn/test/platforms/core/rows.h"

#if TARN_TEST_LIBRARY
#include <list>
#include <map>
#include <memory_resource>
#include <string>
#include <unordered_map>
#include <vector>

#include "tarn/allocator/containers.h"
#include "tarn/allocator/memory_resource.h"
#include "tarn/allocator/stl_allocator.h"
#endif

namespace tarn::test {
namespace {

int alive = 0;
struct thing {
  explicit thing(int n = 0) noexcept : number(n) { ++alive; }
  ~thing() { --alive; }
  void reset() noexcept { number = -1; }
  int number;
  double weight = 1.5;
};

bool is_aligned(const void* block, std::size_t alignment) noexcept {
  return reinterpret_cast<std::uintptr_t>(block) % alignment == 0;
}

template <class... Policies>
void object_pool_of() {
  {
    object_pool<thing, Policies...> things;
    thing* some[40];
    for (int i = 0; i < 40; ++i) CHECK((some[i] = things.try_construct(i)) != nullptr);
    CHECK(alive == 40);
    for (int i = 0; i < 40; i += 2) things.destroy(some[i]);
    things.destroy(nullptr);
    int sum = 0, seen = 0;
    things.for_each([&](thing& one) { sum += one.number, ++seen; });
    CHECK(seen == 20 && sum == 400);
    thing* more[30];
    CHECK(things.try_construct_n(span<thing*>(more, 30), 7) == 30);
    CHECK(more[29]->number == 7 && alive == 50);
    things.destroy_n(span<thing* const>(more, 30));
    CHECK(alive == 20);
    things.clear();
    CHECK(alive == 0);
    CHECK(things.try_construct(3) != nullptr);
  }
  CHECK(alive == 0);  // its destructor destroys what is left
}
void object_pools() {
  object_pool_of<>();
  object_pool_of<static_array_store<100>>();
  object_pool_of<checked, geometric_growth<>>();
}

void handles_outlive_their_objects() {
  object_pool<thing, hardened_with<generations>> things;
  thing* const one = things.try_construct(1);
  if (!CHECK(one != nullptr)) return;
  const handle<thing> which = things.handle_to(one);
  CHECK(things.get(which) == one);
  things.destroy(one);
  CHECK(things.get(which) == nullptr);
  CHECK(things.try_construct(2) == one);
  CHECK(things.get(which) == nullptr && !things.destroy(which));
  things.clear();
}

void recycling() {
  {
    recycling_pool<thing, static_array_store<8>> things;
    thing* some[8];
    for (thing*& one : some) CHECK((one = things.acquire()) != nullptr);
    CHECK(things.acquire() == nullptr && alive == 8);
    some[3]->number = 5;
    CHECK(things.release(some[3]) && !things.release(some[3]));
    CHECK(alive == 8);
    thing* const again = things.acquire();
    CHECK(again == some[3] && again->number == -1);
    thing outside;
    CHECK(!things.release(&outside));
  }
  CHECK(alive == 0);
}

void multipools() {
  struct wall {
    long bricks;
  };
  {
    multipool<thing, wall, no_locking> all;
    thing* const t = all.try_construct<thing>(4);
    wall* const w = all.try_construct<wall>(9L);
    CHECK(t != nullptr && w != nullptr && t->number == 4 && w->bricks == 9);
    all.destroy(w);
    CHECK(alive == 1);
  }
  CHECK(alive == 0);
}

struct orders;
using locking_here = here_t<mutex_locking<>>;
void static_pools() {
  auto& pool = static_pool<orders, static_size<40>, locking_here>::instance();
  void* some[100];
  for (void*& one : some) {
    CHECK((one = pool.try_allocate()) != nullptr);
    std::memset(one, 1, 40);
  }
  for (void* const one : some) pool.deallocate(one);
  CHECK(pool.capacity() >= 100);
  pool.release();
  CHECK(pool.capacity() == 0);
  auto& array = static_pool<orders, static_size<24>, static_array_store<10>>::instance();
  void* ten[10];
  for (void*& one : ten) CHECK((one = array.try_allocate()) != nullptr);
  CHECK(array.try_allocate() == nullptr);
  for (void* const one : ten) array.deallocate(one);
}

struct message {
  long number = 3;
  char text[40] = {};
  DECLARE_MEMORY_POOL_WITH__NOTHROW(message, locking_here)
};
struct letter {
  int number = 4;
  DECLARE_MEMORY_POOL__NOTHROW(letter)
};
struct alignas(64) wide {
  unsigned char bytes[64] = {};
  DECLARE_MEMORY_POOL_WITH__NOTHROW(wide, static_array_store<4>)
};
template <class Class>
void class_operators_of() {
  Class* some[4];
  for (Class*& one : some) {
    one = new Class;
    CHECK(one != nullptr && Class::memory_pool().owns(one) && is_aligned(one, alignof(Class)));
  }
  for (Class* const one : some) delete one;
  Class* const array = new (std::nothrow) Class[3];
  CHECK(array != nullptr && !Class::memory_pool().owns(array));
  delete[] array;
}
void class_operators() {
  class_operators_of<message>();
  class_operators_of<letter>();
  wide* some[5];
  for (wide*& one : some) one = new wide;
  CHECK(some[3] != nullptr && some[4] == nullptr);
  for (wide* const one : some) delete one;
}

template <class... Policies>
void size_classes_of() {
  size_class_pool<Policies...> blocks;
  constexpr std::size_t sizes[] = {1, 8, 17, 100, 128, 129, 1000, 4096, 5000, 20000};
  void* some[10];
  for (std::size_t round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < 10; ++i) {
      some[i] = blocks.try_allocate(sizes[i], 16);
      if (!CHECK(some[i] != nullptr)) continue;
      CHECK(is_aligned(some[i], 16));
      std::memset(some[i], static_cast<int>(i), sizes[i]);
    }
    for (std::size_t i = 0; i < 10; ++i) {
      if (some[i] == nullptr) continue;
      CHECK(static_cast<unsigned char*>(some[i])[sizes[i] - 1] == i);
      blocks.deallocate(some[i], sizes[i], 16);
    }
  }
  blocks.trim();
}
void size_classes() {
  size_classes_of<>();
  size_classes_of<locking_here, hardened>();
  size_classes_of<here_t<thread_cached<>>, counting_statistics>();
}

using heap_of_c = xallocator<orders>;
void malloc_functions() {
  char* p = static_cast<char*>(heap_of_c::allocate(100));
  if (!CHECK(p != nullptr)) return;
  CHECK(is_aligned(p, 16));
  std::memset(p, 'x', 100);
  p = static_cast<char*>(heap_of_c::reallocate(p, 6000));
  CHECK(p != nullptr && p[0] == 'x' && p[99] == 'x');
  heap_of_c::deallocate(p);
  heap_of_c::deallocate(nullptr);
  void* const aligned = heap_of_c::allocate_aligned(64, 100);
  CHECK(aligned != nullptr && is_aligned(aligned, 64));
  heap_of_c::deallocate(aligned);
  auto* const zeros = static_cast<unsigned char*>(heap_of_c::allocate_zeroed(10, 10));
  if (!CHECK(zeros != nullptr)) return;
  for (int i = 0; i < 100; ++i) CHECK(zeros[i] == 0);
  heap_of_c::deallocate(zeros);
  CHECK(heap_of_c::allocate_zeroed(static_cast<std::size_t>(-1), 2) == nullptr);
  CHECK(heap_of_c::allocate(static_cast<std::size_t>(-1)) == nullptr);
  p = static_cast<char*>(xmalloc(10));
  CHECK(p != nullptr && xmalloc_usable_size(p) >= 10);
  xfree(p);
}

#if TARN_TEST_LIBRARY
void containers_over_static_pools() {
  tarn::list<int> numbers;
  tarn::map<int, tarn::string> names;
  tarn::unordered_map<int, int> squares;
  for (int i = 0; i < 300; ++i) {
    numbers.push_back(i);
    names[i] = "a text that is too long to lie in the string itself";
    squares[i] = i * i;
  }
  for (int i = 0; i < 300; i += 2) {
    numbers.remove(i);
    names.erase(i);
  }
  CHECK(numbers.size() == 150 && names.size() == 150 && names[299].size() == 51 && squares[299] == 299 * 299);
}

void containers_over_a_pool() {
  size_class_pool<> blocks;
  {
    std::list<int, stl_allocator<int, size_class_pool<>>> numbers(blocks);
    std::vector<long, stl_allocator<long, size_class_pool<>>> many(blocks);
    for (int i = 0; i < 2000; ++i) {
      numbers.push_back(i);
      many.push_back(i);
    }
    CHECK(numbers.back() == 1999 && many[1234] == 1234);
  }
  blocks.trim();
}

void resources() {
  pool_resource<no_locking> alone;
  pmr::synchronized_pool_resource shared;
  for (std::pmr::memory_resource* const one :
       {static_cast<std::pmr::memory_resource*>(&alone), static_cast<std::pmr::memory_resource*>(&shared)}) {
    std::pmr::vector<std::pmr::string> words(one);
    std::pmr::map<int, int> numbers(one);
    for (int i = 0; i < 200; ++i) {
      words.emplace_back("words that need memory of their own, since they are long");
      numbers[i] = i;
    }
    CHECK(words.back().size() == 56 && numbers[150] == 150);
  }
  pool<static_size<64>> blocks;
  block_resource<pool<static_size<64>>> over(blocks);
  void* const block = over.allocate(60, 8);
  void* const large = over.allocate(600, 8);
  CHECK(blocks.owns(block) && !blocks.owns(large));
  over.deallocate(block, 60, 8);
  over.deallocate(large, 600, 8);
}
#endif

#if TARN_EXCEPTIONS
void what_throws() {
  pool<static_size<16>, static_array_store<1>> one;
  void* const block = one.allocate();
  bool thrown = false;
  try {
    static_cast<void>(one.allocate());
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  CHECK(thrown);
  one.deallocate(block);
  struct fails {
    explicit fails(int n) {
      if (n == 2) throw n;
    }
    char bytes[20] = {};
  };
  object_pool<fails, static_array_store<2>> two;
  thrown = false;
  try {
    static_cast<void>(two.construct(2));
  } catch (int) {
    thrown = true;
  }
  CHECK(thrown);
  CHECK(two.try_construct(1) != nullptr && two.try_construct(1) != nullptr && two.try_construct(1) == nullptr);
}
#endif

constexpr entry cases[] = {
    CASE(object_pools),
    CASE(handles_outlive_their_objects),
    CASE(recycling),
    CASE(multipools),
    CASE(static_pools),
    CASE(class_operators),
    CASE(size_classes),
    CASE(malloc_functions),
#if TARN_TEST_LIBRARY
    CASE(containers_over_static_pools),
    CASE(containers_over_a_pool),
    CASE(resources),
#endif
#if TARN_EXCEPTIONS
    CASE(what_throws),
#endif
};

}  // namespace

const part products_part = make_part("products", cases);

}  // namespace tarn::test
