// What an arena promises at its edges. That blocks lie apart and keep what they hold, grow and come back: arena_model_test.cc.
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <map>
#include <memory_resource>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "tarn/allocator/arena.h"
#include "tarn/allocator/arena_resource.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/registry.h"
#include "tarn/allocator/resource_over.h"
#include "tarn/policies/checking/checked.h"
#include "tarn/policies/name.h"
#include "tarn/policies/platform/memory_tools.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {
namespace {

using small = arena<fixed_growth<4096>>;

bool is_aligned(const void* p, std::size_t alignment) { return reinterpret_cast<std::uintptr_t>(p) % alignment == 0; }

/// What destructors say.
std::vector<std::string> said;
using words = std::vector<std::string>;
struct says {
  says() = default;
  explicit says(std::string text) : word(std::move(text)) {}
  says(const says&) = delete;
  ~says() { said.push_back(word); }
  std::string word;
};
words take_said() { return std::exchange(said, {}); }

/// The misuse that was reported last, and how many were.
misuse last;
std::string last_text;
int reports = 0;
class caught {
 public:
  caught()
      : before_(set_misuse_handler([](const misuse& what) noexcept {
          last = what;
          char text[400];
          last_text.assign(text, to_text(what, text, sizeof text));
          ++reports;
        })) {
    reports = 0;
  }
  ~caught() { set_misuse_handler(before_); }

 private:
  misuse_handler before_;
};

// ---- blocks ---------------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(no_bytes_are_a_block) {
  arena<> a;
  void* const one = a.allocate(0);
  void* const other = a.allocate(0, 1);
  BOOST_TEST(one != nullptr);
  BOOST_TEST(one != other);
  BOOST_TEST((a.allocate<0>()) != other);
  arena<> fresh;
  void* const only = fresh.try_allocate(0, 1);
  BOOST_TEST(only != nullptr);
  BOOST_TEST(!fresh.grow_last(only, 0, static_cast<std::size_t>(-1)));
  arena<static_array_store<16>> tiny;
  BOOST_TEST(tiny.try_allocate(0) != nullptr);
  BOOST_TEST(tiny.in_use() == 8u);
  a.deallocate(nullptr, 0);
  a.deallocate(nullptr, 100, 8);
  BOOST_TEST(!a.grow_last(nullptr, 0, 8));
}

template <class Arena>
void refuse_too_much(Arena& a) {
  constexpr std::size_t most = static_cast<std::size_t>(-1);
  for (const std::size_t bytes : {most, most - 1, most - 7, most - 8, most - 15, most / 2, most / 2 + 1, most / 8 + 1})
    for (const std::size_t alignment : {std::size_t{1}, std::size_t{16}, std::size_t{64}, std::size_t{1} << 20})
      BOOST_TEST(a.try_allocate(bytes, alignment) == nullptr);
  for (const std::size_t alignment : {most / 2 + 1, most / 4 + 1, most / 8 + 1})
    BOOST_TEST(a.try_allocate(1, alignment) == nullptr);
  BOOST_CHECK_THROW((void)a.allocate(most), std::bad_alloc);
  BOOST_CHECK_THROW((void)a.template make_span<long>(most / 4), std::bad_alloc);
  BOOST_CHECK_THROW((void)a.template make_span<says>(most / 4), std::bad_alloc);
  BOOST_TEST(a.try_allocate(8) != nullptr);
  BOOST_TEST(a.try_allocate(most) == nullptr);
}
BOOST_AUTO_TEST_CASE(more_than_there_is_refused) {
  arena<> heap;
  refuse_too_much(heap);
  arena<static_array_store<1000>> array;
  refuse_too_much(array);
}

BOOST_AUTO_TEST_CASE(a_spare_chunk_has_a_block_for_no_bytes_and_none_for_too_many) {
  small a;
  for (int i = 0; i != 2; ++i) (void)a.allocate(4096 - 48);
  a.reset();
  (void)a.allocate(4096 - 48);  // the other chunk is spare
  BOOST_TEST(a.try_allocate(static_cast<std::size_t>(-1), 8) == nullptr);
  void* const none = a.allocate(0, 8);
  BOOST_TEST(a.allocate(0, 8) != none);
  BOOST_TEST(a.in_use() == 4096u - 48 + 16);
}

BOOST_AUTO_TEST_CASE(alignments_up_to_a_mebibyte) {
  arena<> a;
  for (std::size_t alignment = 1; alignment <= std::size_t{1} << 20; alignment *= 2) {
    (void)a.allocate(1, 1);
    BOOST_TEST(is_aligned(a.allocate(3, alignment), alignment));
  }
  arena<static_array_store<4096>> array;
  for (const std::size_t alignment : {1u, 8u, 16u, 64u, 512u}) {
    (void)array.allocate(1, 1);
    BOOST_TEST(is_aligned(array.allocate(3, alignment), alignment));
  }
  BOOST_TEST(is_aligned((array.allocate<3, 256>()), 256));
}

BOOST_AUTO_TEST_CASE(an_array_is_used_to_its_last_byte) {
  arena<static_array_store<64>> a;
  BOOST_TEST(a.capacity() == 64u);
  BOOST_TEST(a.try_allocate(65) == nullptr);
  BOOST_TEST((a.try_allocate<65>()) == nullptr);
  void* const all = a.try_allocate(64);
  BOOST_TEST(all != nullptr);
  std::memset(all, 1, 64);
  BOOST_TEST(a.in_use() == 64u);
  BOOST_TEST((a.try_allocate<1>()) == nullptr);
  BOOST_TEST(a.try_allocate(0) == nullptr);
  BOOST_CHECK_THROW((void)a.allocate(1), std::bad_alloc);
  BOOST_CHECK_THROW((void)a.allocate<1>(), std::bad_alloc);
  a.reset();
  BOOST_TEST(a.in_use() == 0u);
  BOOST_TEST((a.try_allocate<64>()) == all);
  BOOST_TEST(sizeof(a) <= 64 + 4 * sizeof(void*));
  BOOST_TEST((arena<static_array_store<1000>>().capacity()) >= 1000u);
}

BOOST_AUTO_TEST_CASE(a_buffer_is_used_to_its_last_byte) {
  alignas(16) std::array<std::byte, 96> bytes;
  arena<buffer_store> a{buffer_store(span<std::byte>(bytes))};
  void* const all = a.try_allocate(96);
  BOOST_TEST(all == bytes.data());
  BOOST_TEST(a.capacity() == 96u);
  BOOST_TEST(a.try_allocate(1) == nullptr);
  a.release();
  BOOST_TEST(a.capacity() == 0u);
  BOOST_TEST(a.try_allocate(90) == bytes.data());
  std::array<std::byte, 3> few;
  arena<buffer_store> none{buffer_store(span<std::byte>(few))};
  BOOST_TEST(none.try_allocate(1) == nullptr);
}

BOOST_AUTO_TEST_CASE(chunks_are_as_large_as_growth_says) {
  upstream its;
  {
    arena<resource_store, fixed_growth<4096>, counting_statistics> a{resource_store(&its)};
    (void)a.allocate(8);
    BOOST_TEST(its.bytes() == 4096u);
    BOOST_TEST(a.capacity() == 4096u - 48);
    (void)a.allocate(4096);  // more than a chunk has
    BOOST_TEST(its.regions() == 2u);
    BOOST_TEST(its.bytes() == 4096u + 4096 + 48);
    BOOST_TEST(a.statistics().chunks == 2u);
    BOOST_TEST(a.statistics().bytes == its.bytes());
    BOOST_TEST(a.statistics().allocations == 2u);
  }
  BOOST_TEST(its.regions() == 0u);
}

BOOST_AUTO_TEST_CASE(a_cap_holds_for_large_requests) {
  upstream its;
  arena<resource_store, fixed_growth<1024, 10240>> a{resource_store(&its)};
  BOOST_TEST(a.try_allocate(10240 - 48 + 1) == nullptr);
  BOOST_TEST(a.try_allocate(10240 - 48) != nullptr);
  BOOST_TEST(its.bytes() == 10240u);
  BOOST_TEST(a.try_allocate(1) == nullptr);
  arena<no_growth<1000>> one;
  BOOST_TEST(one.try_allocate(1009) == nullptr);
  BOOST_TEST(one.try_allocate(1000) != nullptr);
  BOOST_TEST(one.try_allocate(9) == nullptr);
}

BOOST_AUTO_TEST_CASE(owns_is_what_is_in_use) {
  small a;
  small other;
  int local = 0;
  auto* const block = static_cast<char*>(a.allocate(24, 8));
  BOOST_TEST(a.owns(block));
  BOOST_TEST(a.owns(block + 23));
  BOOST_TEST(!a.owns(block + 24));
  BOOST_TEST(!other.owns(block));
  BOOST_TEST(!a.owns(&local));
  BOOST_TEST(!a.owns(nullptr));
  void* const in_second = a.allocate(4000);
  void* const in_third = a.allocate(4000);
  BOOST_TEST((a.owns(block) && a.owns(in_second) && a.owns(in_third)));
  a.reset();
  BOOST_TEST((!a.owns(block) && !a.owns(in_second) && !a.owns(in_third)));
}

// ---- going back -----------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(rewinding_brings_back_the_same_blocks) {
  upstream its;
  arena<resource_store, fixed_growth<4096>> a{resource_store(&its)};
  (void)a.allocate(100);
  const auto mark = a.mark();
  const std::size_t in_use = a.in_use();
  std::vector<void*> blocks;
  for (int i = 0; i != 100; ++i) blocks.push_back(a.allocate(200));
  const std::size_t calls = its.calls();
  for (int round = 0; round != 3; ++round) {
    a.rewind(mark);
    BOOST_TEST(a.in_use() == in_use);
    for (void* const block : blocks) BOOST_TEST(a.allocate(200) == block);
  }
  BOOST_TEST(its.calls() == calls);
}

BOOST_AUTO_TEST_CASE(scopes_nest) {
  arena<> a;
  const std::size_t start = a.in_use();
  {
    arena<>::scope outer(a);
    a.create<says>("outer");
    {
      arena<>::scope inner(a);
      a.create<says>("inner 1");
      a.create<says>("inner 2");
    }
    BOOST_TEST((take_said() == words{"inner 2", "inner 1"}));
    BOOST_TEST(a.in_use() > start);
  }
  BOOST_TEST((take_said() == words{"outer"}));
  BOOST_TEST(a.in_use() == start);
}

BOOST_AUTO_TEST_CASE(a_mark_of_an_empty_arena) {
  arena<> a;
  const auto mark = a.mark();
  a.rewind(mark);
  (void)a.allocate(10000);
  a.rewind(mark);
  BOOST_TEST(a.in_use() == 0u);
  BOOST_TEST(a.capacity() >= 10000u);
}

BOOST_AUTO_TEST_CASE(reset_keeps_what_it_is_told) {
  upstream its;
  arena<resource_store, fixed_growth<4096>> a{resource_store(&its)};
  const auto fill = [&] {
    for (int i = 0; i != 10; ++i) (void)a.allocate(4000);
  };
  fill();
  a.reset();
  BOOST_TEST(its.regions() == 10u);
  fill();
  BOOST_TEST(its.calls() == 10u);
  a.reset(3 * 4096 + 4095);
  BOOST_TEST(its.regions() == 3u);
  fill();
  BOOST_TEST(its.calls() == 17u);
  BOOST_TEST(a.trim() == 0u);
  a.reset();
  (void)a.allocate(1);
  BOOST_TEST(a.trim() == 9u * 4096);
  BOOST_TEST(its.regions() == 1u);
  a.release();
  BOOST_TEST(its.regions() == 0u);
  BOOST_TEST(a.capacity() == 0u);
  fill();
  BOOST_TEST(its.regions() == 10u);
}

BOOST_AUTO_TEST_CASE(a_large_request_leaves_small_chunks_spare) {
  upstream its;
  arena<resource_store, fixed_growth<4096>> a{resource_store(&its)};
  for (int i = 0; i != 3; ++i) (void)a.allocate(4000);
  a.reset();
  (void)a.allocate(10000);  // none of the three has room
  (void)a.allocate(4000);
  (void)a.allocate(4000);
  (void)a.allocate(4000);
  BOOST_TEST(its.calls() == 4u);
  a.reset();
  for (int i = 0; i != 3; ++i) (void)a.allocate(4000);
  (void)a.allocate(10000);
  BOOST_TEST(its.calls() <= 5u);
}

BOOST_AUTO_TEST_CASE(without_blocks_all_chunks_are_spare) {
  upstream its;
  arena<resource_store, fixed_growth<4096>> a{resource_store(&its)};
  (void)a.allocate(100);
  a.reset();
  const auto mark = a.mark();
  BOOST_TEST(a.trim() == 4096u);
  (void)a.allocate(100);
  a.rewind(mark);  // not to the chunk that is gone
  BOOST_TEST(a.in_use() == 0u);
  (void)a.allocate(10000);
  BOOST_TEST(a.in_use() == 10000u);  // the first chunk isn't passed
}
BOOST_AUTO_TEST_CASE(a_chunk_that_becomes_the_first_has_none_in_front) {
  arena<fixed_growth<4096>, counting_statistics> a;
  (void)a.allocate(10000);
  (void)a.allocate(100);
  a.reset(6000);  // the large one goes
  a.reset();
  BOOST_TEST(a.in_use() == 0u);
  (void)a.allocate(16);
  BOOST_TEST(a.in_use() == 16u);
  BOOST_TEST(a.statistics().peak < 15000u);
}
/// A mark whose chunk has become empty is still valid.
template <class... Policies>
void expect_marked_chunk_stays(bool was_reset) {
  upstream its;
  arena<resource_store, fixed_growth<4096>, Policies...> a{resource_store(&its)};
  if (was_reset) (void)a.allocate(100), a.reset();
  void* const block = a.allocate(100);
  const auto mark = a.mark();
  const std::size_t at_mark = a.in_use();
  a.deallocate(block, 100);
  BOOST_TEST(a.trim() == 0u);
  const void* const large = a.allocate(10000);
  a.rewind(mark);
  BOOST_TEST(a.in_use() == at_mark);
  BOOST_TEST(!a.owns(large));
  BOOST_TEST(a.owns(a.allocate(100)));
  a.release();
  BOOST_TEST((its.regions() == 0u && its.faults() == 0u));
}
BOOST_AUTO_TEST_CASE(a_chunk_that_a_mark_names_stays) {
  for (const bool was_reset : {false, true}) {
    expect_marked_chunk_stays(was_reset);
    expect_marked_chunk_stays<checked>(was_reset);
  }
}

// ---- objects --------------------------------------------------------------------------------------------------------------

struct parent {
  explicit parent(arena<>& a) { a.create<says>("child"); }
  ~parent() { said.push_back("parent"); }
};
struct creates_when_it_ends {
  creates_when_it_ends(arena<>& a, int n) : its(a), left(n) {}
  ~creates_when_it_ends() {
    said.push_back("end " + std::to_string(left));
    arena<>::scope inner(its);
    its.create<says>("in scope");
    if (left != 0) its.create<creates_when_it_ends>(its, left - 1);
  }
  arena<>& its;
  int left;
};
struct throws_after {
  explicit throws_after(arena<>& a, bool creates) {
    if (creates) a.create<says>("created by what threw");
    throw 1;
  }
  ~throws_after() { said.push_back("never"); }
};

BOOST_AUTO_TEST_CASE(destructors_run_last_first) {
  {
    arena<> a;
    a.create<says>("1");
    auto* const number = a.create<int>(7);
    BOOST_TEST(*number == 7);
    a.create<parent>(a);
    const auto three = a.make_span<std::string>(3);
    BOOST_TEST(three.size() == 3u);
    three[2] = "a text that is too long to lie in the string itself";
    BOOST_TEST(take_said().empty());
  }
  BOOST_TEST((take_said() == words{"parent", "child", "1"}));
}
BOOST_AUTO_TEST_CASE(destructors_may_create_and_use_scopes) {
  arena<> a;
  a.create<creates_when_it_ends>(a, 2);
  a.reset();
  BOOST_TEST((take_said() == words{"end 2", "end 1", "end 0", "in scope", "in scope", "in scope"}));
  BOOST_TEST(a.in_use() == 0u);
}
BOOST_AUTO_TEST_CASE(a_constructor_throws) {
  arena<> a;
  (void)a.allocate(8);
  const std::size_t in_use = a.in_use();
  BOOST_CHECK_THROW(a.create<throws_after>(a, false), int);
  BOOST_TEST(a.in_use() == in_use);
  BOOST_CHECK_THROW(a.create<throws_after>(a, true), int);
  BOOST_TEST(a.in_use() > in_use);  // what it created stays
  BOOST_TEST(take_said().empty());
  a.reset();
  BOOST_TEST((take_said() == words{"created by what threw"}));
}
struct third_throws {
  third_throws() : number(++made) {
    if (number == 3) throw 1;
  }
  ~third_throws() { said.push_back(std::to_string(number)); }
  int number;
  static inline int made = 0;
};
BOOST_AUTO_TEST_CASE(a_constructor_of_a_span_throws) {
  arena<> a;
  (void)a.allocate(8);
  const std::size_t in_use = a.in_use();
  third_throws::made = 0;
  BOOST_CHECK_THROW(a.make_span<third_throws>(5), int);
  BOOST_TEST((take_said() == words{"2", "1"}));
  BOOST_TEST(a.in_use() == in_use);
  BOOST_TEST(a.make_span<third_throws>(2).size() == 2u);
  a.reset();
  BOOST_TEST((take_said() == words{"5", "4"}));
}
BOOST_AUTO_TEST_CASE(spans_are_zero) {
  arena<> a;
  const auto before = a.make_span<long>(10);
  std::memset(before.data(), 0xFF, sizeof(long) * 10);
  a.reset();
  for (const long n : a.make_span<long>(10)) BOOST_TEST(n == 0);
  BOOST_TEST(a.make_span<long>(0).size() == 0u);
  BOOST_TEST(a.make_span<says*>(1)[0] == nullptr);
}
struct alignas(64) line {
  ~line() { said.push_back("line"); }
  char bytes[64];
};
BOOST_AUTO_TEST_CASE(aligned_objects) {
  arena<> a;
  (void)a.allocate(1);
  BOOST_TEST(is_aligned(a.create<line>(), 64));
  BOOST_TEST(is_aligned(a.make_span<line>(3).data(), 64));
  a.reset();
  BOOST_TEST(take_said().size() == 4u);
}
struct with_members {
  int a, b;
};
BOOST_AUTO_TEST_CASE(members_are_initialised) {
  arena<> a;
  BOOST_TEST(a.create<with_members>(1, 2)->b == 2);
  BOOST_TEST(*a.create<const int>(3) == 3);
}

// ---- policies -------------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_array_first_and_then_the_heap) {
  arena<static_array_store<1024>, fall_back_to<heap_store>> a;
  void* const first = a.allocate(500);
  void* const second = a.allocate(5000);  // more than the second growth policy wants first
  void* const third = a.allocate(100'000);
  BOOST_TEST((a.owns(first) && a.owns(second) && a.owns(third)));
  BOOST_TEST(a.capacity() >= 1024u - 48 + 5000 + 100'000);
  std::memset(third, 1, 100'000);
  a.release();
  BOOST_TEST(a.capacity() == 0u);
  BOOST_TEST(a.allocate(500) == first);
}
BOOST_AUTO_TEST_CASE(a_second_store_refuses_too) {
  upstream its;
  using falls_back = fall_back_to<resource_store, fixed_growth<1000, 2000>>;
  arena<static_array_store<256>, falls_back> a{falls_back(resource_store(&its))};
  BOOST_TEST(a.try_allocate(2000 - 47) == nullptr);  // growth wants no more than 2,000 bytes in all
  BOOST_TEST(a.capacity() == 0u + 256 - 48);
  BOOST_TEST(a.try_allocate(900) != nullptr);
  BOOST_TEST(its.regions() == 1u);
  BOOST_TEST(a.try_allocate(2000 - 1000 - 48) == nullptr);  // 960 bytes, so that the chunk's end is aligned
  BOOST_TEST(a.try_allocate(944) != nullptr);
  BOOST_TEST(its.bytes() == 2000u);
  BOOST_TEST(a.try_allocate(900) == nullptr);
  a.reset();
  BOOST_TEST(a.try_allocate(100) != nullptr);
  its.fail(1, failing::for_ever);
  a.release();
  BOOST_TEST(a.try_allocate(900) == nullptr);
  BOOST_TEST(a.try_allocate(150) != nullptr);
}
struct gives_thrice {
  bool operator()(std::size_t bytes) {
    asked_for = bytes;
    return ++asked % 3 != 0;
  }
  static inline int asked = 0;
  static inline std::size_t asked_for = 0;
};
BOOST_AUTO_TEST_CASE(a_handler_is_asked_again) {
  arena<fixed_growth<1024, 1024>, retry_with<gives_thrice>> a;
  BOOST_TEST(a.try_allocate(900) != nullptr);
  BOOST_TEST(gives_thrice::asked == 0);
  BOOST_TEST(a.try_allocate(900) == nullptr);
  BOOST_TEST(gives_thrice::asked == 3);
  BOOST_TEST(gives_thrice::asked_for == 900u);
  BOOST_TEST(a.try_allocate(static_cast<std::size_t>(-1)) == nullptr);  // no handler can help
  BOOST_TEST(gives_thrice::asked == 3);
  arena<static_array_store<64>, retry_with<gives_thrice>> array;
  BOOST_TEST(array.try_allocate(65) == nullptr);
  BOOST_TEST(gives_thrice::asked == 6);
}
BOOST_AUTO_TEST_CASE(a_store_refuses) {
  upstream its;
  arena<resource_store> a{resource_store(&its)};
  its.fail(1, failing::for_ever);
  BOOST_TEST(a.try_allocate(8) == nullptr);
  BOOST_CHECK_THROW((void)a.allocate(8), std::bad_alloc);
  BOOST_TEST(a.in_use() == 0u);
  its.fail(1, failing::never);
  BOOST_TEST(a.try_allocate(8) != nullptr);
}
/// A resource that takes a block of the arena that it serves.
struct comes_back final : std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    got = ask ? ask() : nullptr;
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* region, std::size_t bytes, std::size_t alignment) override {
    std::pmr::new_delete_resource()->deallocate(region, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }
  void* (*ask)() = nullptr;
  void* got = nullptr;
};
template <class Arena>
void come_back() {
  static comes_back its;
  static std::optional<Arena> a;
  a.emplace(resource_store(&its));
  its.ask = [] { return a->try_allocate(100); };
  BOOST_TEST(a->try_allocate(100) != nullptr);
  BOOST_TEST(its.got == nullptr);  // there was no chunk yet, and it gets none
  BOOST_TEST(a->try_allocate(4000) != nullptr);  // asks for a second chunk; the first has room for what the store wants
  BOOST_TEST(its.got != nullptr);
  its.ask = nullptr;
  a.reset();
}
BOOST_AUTO_TEST_CASE(a_store_comes_back) {
  come_back<arena<resource_store, fixed_growth<4096>>>();
  come_back<arena<resource_store, fixed_growth<4096>, mutex_locking<>>>();
}

BOOST_AUTO_TEST_CASE(a_name_is_in_the_registry) {
  arena<named<"requests">, fixed_growth<4096>> a;
  (void)a.allocate(1000);
  (void)a.allocate(4000);
  a.reset();
  (void)a.allocate(96);
  int found = 0;
  for (const pool_record& its : snapshot()) {
    if (std::strcmp(its.name, "requests") != 0) continue;
    ++found;
    BOOST_TEST(its.policies == "no_locking, arena, heap_store");
    BOOST_TEST(its.block_size == 1u);
    BOOST_TEST(its.in_use == 96u);
    BOOST_TEST(its.peak == 4096u - 48 + 4000);
    BOOST_TEST(its.chunks == 2u);
    BOOST_TEST(its.bytes_held == 8192u);
    BOOST_TEST(its.capacity == 8192u - 2 * 48);
    BOOST_TEST(its.is_exact);
    BOOST_TEST(its.growths == 2u);
  }
  BOOST_TEST(found == 1);
}
BOOST_AUTO_TEST_CASE(another_thread_sees_what_an_arena_noted) {
  arena<named<"elsewhere">, fixed_growth<4096>> a;
  (void)a.allocate(1000);
  std::thread([] {
    for (const pool_record& its : snapshot())
      if (std::strcmp(its.name, "elsewhere") == 0) BOOST_TEST((!its.is_exact && its.chunks == 1u && its.bytes_held == 4096u));
  }).join();
}

struct listed_tag;
BOOST_AUTO_TEST_CASE(a_static_arena_has_its_name) {
  (void)static_arena<listed_tag, named<"static requests">>::instance().allocate(100);
  int found = 0;
  for (const pool_record& its : snapshot()) found += std::strcmp(its.name, "static requests") == 0 && its.in_use == 104;
  BOOST_TEST(found == 1);
}
struct early_tag;
using early = static_arena<early_tag, counting_statistics>;
struct firmware_tag;
using firmware = static_arena<firmware_tag, static_array_store<1024>>;
void* const before_main = early::instance().allocate(10);
/// An array beside what isn't zero would take space in the program's file, and on firmware in flash.
template <class... Policies>
inline constexpr bool array_lies_beside =
    sizeof(typename static_arena<struct beside_tag, static_array_store<4096>, Policies...>::body) < 1024;
static_assert(!array_lies_beside<> && !array_lies_beside<counting_statistics>);  // these start zero
static_assert(array_lies_beside<mutex_locking<>> && array_lies_beside<checked> && array_lies_beside<named<"beside">>);

BOOST_AUTO_TEST_CASE(arrays_beside_static_arenas_are_used_up) {
  auto& arena = static_arena<struct full_tag, static_array_store<4096>, mutex_locking<>>::instance();
  for (int round = 0; round != 2; ++round) {
    for (int i = 0; i != 32; ++i) BOOST_TEST(arena.owns(arena.try_allocate(128)));
    BOOST_TEST(arena.try_allocate(128) == nullptr);
    arena.reset();
  }
}

BOOST_AUTO_TEST_CASE(static_arenas) {
  BOOST_TEST(early::instance().owns(before_main));
  static_assert(std::is_trivially_destructible_v<firmware::body>);
  auto& a = firmware::instance();
  BOOST_TEST(a.capacity() == 1024u);
  {
    firmware::body::scope inner(a);
    BOOST_TEST((a.allocate<24>()) != nullptr);
  }
  BOOST_TEST(a.in_use() == 0u);
}

BOOST_AUTO_TEST_CASE(threads_share_an_arena) {
  arena<mutex_locking<>, fixed_growth<4096>, counting_statistics> a;
  std::vector<std::thread> threads;
  std::array<bool, 4> right{};
  for (int t = 0; t != 4; ++t)
    threads.emplace_back([&a, &right, t] {
      std::vector<std::pair<unsigned char*, int>> mine;
      for (int k = 0; k != 2000; ++k) {
        const int n = 1 + (k * 7 + t) % 90;
        auto* const p = static_cast<unsigned char*>(k % 2 != 0 ? a.allocate(static_cast<std::size_t>(n), 8) : a.allocate<90>());
        std::memset(p, t, static_cast<std::size_t>(n));
        mine.push_back({p, n});
        if (k % 64 == 0) a.create<std::string>(std::size_t{40}, 'x');
        if (k % 100 == 0) a.deallocate(a.allocate(8), 8);
        if (k % 500 == 0) a.trim();
      }
      bool all = true;
      for (const auto& [p, n] : mine)
        for (int i = 0; i != n; ++i) all &= p[i] == t;
      right[static_cast<std::size_t>(t)] = all;
    });
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST((right == std::array<bool, 4>{true, true, true, true}));
  BOOST_TEST(a.statistics().allocations == 4u * (2000 + 32 + 20));
  a.reset();
  BOOST_TEST(a.in_use() == 0u);
}

// ---- checking -------------------------------------------------------------------------------------------------------------

using watched = arena<checked>;

BOOST_AUTO_TEST_CASE(marks_that_are_gone_are_reported) {
  const caught reported;
  watched a{checked{"requests"}};
  watched b;
  (void)a.allocate(8);
  const auto outer = a.mark();
  b.rewind(outer);
  BOOST_TEST(reports == 1);
  BOOST_TEST((last.kind == misuse_kind::other_arena && last.pool == &b && last.other_pool == &a && last.is_arena));
  const auto inner = a.mark();
  a.create<says>("kept");
  a.rewind(outer);
  BOOST_TEST((take_said() == words{"kept"}));
  a.rewind(outer);  // stays good
  BOOST_TEST(reports == 1);
  a.create<says>("not ended");
  a.rewind(inner);  // out of order
  BOOST_TEST(reports == 2);
  BOOST_TEST((last.kind == misuse_kind::stale_mark && last.pool == &a));
  BOOST_TEST(take_said().empty());
  BOOST_TEST(last_text.find("tarn: stale mark: arena \"requests\"@") == 0u);
  a.reset();
  BOOST_TEST((take_said() == words{"not ended"}));
  a.rewind(outer);
  BOOST_TEST(reports == 3);
  const auto fresh = a.mark();  // at the place of an earlier one
  a.rewind(outer);
  BOOST_TEST(reports == 4);
  a.rewind(fresh);
  BOOST_TEST(reports == 4);
}
BOOST_AUTO_TEST_CASE(scopes_leave_nothing_where_marks_are_checked) {
  const caught reported;
  watched a;
  a.create<says>("outside");
  const std::size_t before = a.in_use();
  for (int i = 0; i != 3; ++i) {
    const watched::scope outer(a);
    const watched::scope inner(a);
    a.create<says>("in it");
  }
  BOOST_TEST(a.in_use() == before);
  BOOST_TEST((take_said() == words{"in it", "in it", "in it"}));
  const auto around = a.mark();
  const auto gone = a.mark();
  {
    const watched::scope its(a);
  }
  a.rewind(gone);
  BOOST_TEST(reports == 0);
  a.rewind(around);
  a.rewind(gone);
  BOOST_TEST((reports == 1 && last.kind == misuse_kind::stale_mark));
  a.reset();
  BOOST_TEST((take_said() == words{"outside"}));
}
struct rewinds {
  rewinds(watched& a, const watched::mark_type& m) : its(a), mark(m) {}
  ~rewinds() {
    said.push_back("rewinds");
    its.rewind(mark);
    its.reset();
    its.release();
  }
  watched& its;
  watched::mark_type mark;
};
BOOST_AUTO_TEST_CASE(going_back_further_within_a_destructor_is_refused) {
  const caught reported;
  watched a;
  a.create<says>("1");
  const auto outer = a.mark();
  a.create<says>("2");
  const auto inner = a.mark();
  a.create<rewinds>(a, outer);
  a.rewind(inner);
  BOOST_TEST(reports == 3);
  BOOST_TEST((last.kind == misuse_kind::reentry && last.is_arena));
  BOOST_TEST((take_said() == words{"rewinds"}));
  a.rewind(outer);
  BOOST_TEST((take_said() == words{"2"}));
  a.reset();
  BOOST_TEST((take_said() == words{"1"}));
  BOOST_TEST(reports == 3);
}
BOOST_AUTO_TEST_CASE(blocks_that_are_not_in_use_are_refused) {
  const caught reported;
  watched a;
  void* const block = a.allocate(24, 8);
  int local = 0;
  a.deallocate(&local, sizeof local);
  BOOST_TEST((reports == 1 && last.kind == misuse_kind::foreign_pointer && last.address == &local));
  a.deallocate(block, 24);
  a.deallocate(block, 24);
  BOOST_TEST((reports == 2 && last.kind == misuse_kind::double_free && last.address == block));
  BOOST_TEST(a.in_use() == 0u);
  a.deallocate(nullptr, 8);
  BOOST_TEST(reports == 2);
}
BOOST_AUTO_TEST_CASE(a_free_of_what_the_arena_destroys_is_refused) {
  const caught reported;
  watched a;
  const auto refuses = [&](void* object, std::size_t bytes) {
    const int before = reports;
    a.deallocate(object, bytes);
    return reports == before + 1 && last.kind == misuse_kind::interior_pointer && last.address == object && last.is_arena;
  };
  says* const one = a.create<says>("one");
  BOOST_TEST(refuses(one, sizeof *one));
  std::string* const many = a.make_span<std::string>(3).data();
  BOOST_TEST(refuses(many, 3 * sizeof *many));
  BOOST_TEST(last_text.find(": an object of create() or make_span(), which the arena destroys itself") != std::string::npos);
  const int before = reports;
  long* const plain = a.create<long>(7);  // has no destructor
  a.deallocate(plain, sizeof *plain);
  (void)a.make_span<std::string>(0);
  void* const behind = a.allocate(8);  // where an object would be
  a.deallocate(behind, 8);
  for (int i = 0; i != 63; ++i) a.create<says>("newer");
  BOOST_TEST((reports == before && refuses(many, sizeof *many)));
  a.reset();
  a.deallocate(a.allocate(8), 8);
  BOOST_TEST((reports == before + 1 && take_said().size() == 64u));
}
BOOST_AUTO_TEST_CASE(marks_without_room_for_a_record_are_believed) {
  const caught reported;
  arena<checked, static_array_store<64>> a;
  (void)a.allocate(56, 8);
  const auto mark = a.mark();
  (void)a.allocate(8, 8);
  BOOST_TEST(a.try_allocate(1) == nullptr);
  a.rewind(mark);
  BOOST_TEST(a.in_use() == 56u);
  BOOST_TEST(reports == 0);
}
/// Gives regions 8 bytes behind what was asked for.
struct misaligned_store {
  using axis = tarn::axis::store;
  static constexpr store_traits traits{};
  alignas(16) static inline std::byte bytes[8192];

  template <class Traits>
  struct source {
    constexpr explicit source(const misaligned_store&) noexcept {}
    static detail::memory acquire(std::size_t wanted, std::size_t) noexcept { return {bytes + 8, wanted}; }
    static void release(detail::memory, std::size_t) noexcept {}
  };
};
BOOST_AUTO_TEST_CASE(a_broken_store_is_reported) {
  const caught reported;
  arena<checked, misaligned_store> a;
  BOOST_TEST(a.try_allocate(8) == nullptr);
  BOOST_TEST((reports == 1 && last.kind == misuse_kind::broken_store && last.address == misaligned_store::bytes + 8));
}

#if defined(TARN_ASAN)
BOOST_AUTO_TEST_CASE(what_is_freed_is_poisoned) {
  const auto is_poisoned = [](const void* p) { return __asan_address_is_poisoned(p) != 0; };
  alignas(16) std::array<std::byte, 256> bytes;
  {
    arena<buffer_store> a{buffer_store(span<std::byte>(bytes))};
    auto* const first = static_cast<char*>(a.allocate(13, 8));
    BOOST_TEST((!is_poisoned(first) && !is_poisoned(first + 12) && is_poisoned(first + 13)));
    const auto mark = a.mark();
    auto* const second = static_cast<char*>(a.allocate<24>());
    auto* const third = static_cast<char*>(a.allocate<24>());
    BOOST_TEST((!is_poisoned(second) && !is_poisoned(third + 23) && is_poisoned(third + 24)));
    a.deallocate(second, 24);
    BOOST_TEST((is_poisoned(second) && !is_poisoned(third)));
    BOOST_TEST(a.grow_last(third, 24, 40));
    BOOST_TEST((!is_poisoned(third + 39) && is_poisoned(third + 40)));
    BOOST_TEST(a.grow_last(third, 40, 20));
    BOOST_TEST((!is_poisoned(third + 19) && is_poisoned(third + 20)));
    a.rewind(mark);
    BOOST_TEST((is_poisoned(third) && !is_poisoned(first)));
    a.reset();
    BOOST_TEST(is_poisoned(first));
  }
  BOOST_TEST((!is_poisoned(bytes.data()) && !is_poisoned(bytes.data() + 255)));
}
#endif

// ---- other products -------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(containers_of_the_standard_library) {
  upstream its;
  {
    pmr::arena_resource request(&its);
    BOOST_TEST(request.upstream_resource() == &its);
    for (int round = 0; round != 3; ++round) {
      {
        std::pmr::list<std::pmr::string> texts(&request);
        std::pmr::map<int, std::pmr::vector<int>> numbers(&request);
        for (int i = 0; i != 100; ++i) {
          texts.emplace_back("a text that is too long to lie in the string itself");
          numbers[i].assign(10, i);
        }
        BOOST_TEST(numbers[99][9] == 99);
      }
      request.reset();
      BOOST_TEST(request.arena().in_use() == 0u);
    }
    BOOST_TEST(its.calls() <= 6u);
    request.reset(4096);
    BOOST_TEST(its.bytes() <= 4096u);
    request.release();
    BOOST_TEST(its.regions() == 0u);
    BOOST_TEST(!request.is_equal(*std::pmr::new_delete_resource()));
    BOOST_TEST(request.is_equal(request));
  }
  BOOST_TEST(its.faults() == 0u);
}
BOOST_AUTO_TEST_CASE(a_resource_over_an_arena_of_ones_own) {
  arena<mutex_locking<>> a;
  pmr::resource_over<arena<mutex_locking<>>&> over(a);
  std::pmr::vector<int> numbers(1000, 7, &over);
  BOOST_TEST(a.owns(numbers.data()));
  BOOST_TEST(&over.block() == &a);
}
BOOST_AUTO_TEST_CASE(an_allocator_over_an_arena) {
  arena<> a;
  arena<> b;
  using numbers = std::vector<int, arena_allocator<int>>;
  numbers one(a);
  for (int i = 0; i != 1000; ++i) one.push_back(i);
  BOOST_TEST(a.owns(one.data()));
  const arena_allocator<long> other(one.get_allocator());
  BOOST_TEST((other == one.get_allocator()));
  BOOST_TEST((other != arena_allocator<int>(b)));
  std::list<int, arena_allocator<int>> list(a);
  list.push_back(1);
  BOOST_TEST(a.owns(&list.front()));
  numbers elsewhere(b);
  elsewhere = one;
  BOOST_TEST(b.owns(elsewhere.data()));
}
BOOST_AUTO_TEST_CASE(an_arena_in_a_block_of_a_pool) {
  pool<static_size<4096>> blocks;
  void* const block = blocks.allocate();
  {
    arena<buffer_store> a{buffer_store(span<std::byte>(static_cast<std::byte*>(block), 4096))};
    std::memset(a.allocate(3000), 1, 3000);
    BOOST_TEST(a.try_allocate(3000) == nullptr);
  }
  std::memset(block, 2, 4096);
  blocks.deallocate(block);
}
BOOST_AUTO_TEST_CASE(a_pool_over_an_arena) {
  pmr::arena_resource request;
  {
    pool<static_size<64>, resource_store> blocks{resource_store(&request)};
    for (int i = 0; i != 1000; ++i) std::memset(blocks.allocate(), 1, 64);
  }
  request.reset();
  BOOST_TEST(request.arena().in_use() == 0u);
}

}  // namespace
}  // namespace tarn::test
