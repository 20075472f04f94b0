// Reports: their text, exactly (golden.txt); that making one allocates nothing and holds nothing, wherever it happens; and what a
// handler may do.
#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "tarn/allocator/memory_pool_macros.h"
#include "tarn/allocator/pool.h"
#include "tarn/test/misuse/reports.h"
#include "tarn/test/support/global_operators.h"

// Every way to memory leads here, and none may be used while a report is made.
namespace {
std::atomic<bool> no_memory_now = false;
std::atomic<std::size_t> allocations = 0;
void note_allocation() noexcept {
  if (!no_memory_now.load(std::memory_order_relaxed)) return;
  ++allocations;
}
}  // namespace
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void* malloc(std::size_t n) { return note_allocation(), __libc_malloc(n); }
void* calloc(std::size_t n, std::size_t m) { return note_allocation(), __libc_calloc(n, m); }
void* realloc(void* p, std::size_t n) { return note_allocation(), __libc_realloc(p, n); }
void* aligned_alloc(std::size_t a, std::size_t n) { return note_allocation(), __libc_memalign(a, n); }
}

namespace tarn::test {

struct Order {  // not of the unnamed namespace, which compilers name differently
  char bytes[64];
  DECLARE_MEMORY_POOL_WITH(Order, tarn::checked)
};

namespace {

using simple = pool<static_size<64>, checked>;
using release_simple = pool<static_size<64>, hardened>;

struct askew final : std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    bytes_ = bytes;
    return at_ = static_cast<std::byte*>(::operator new(bytes + 64, std::align_val_t{alignment})) + 4;
  }
  void do_deallocate(void* block, std::size_t, std::size_t alignment) override {
    ::operator delete(static_cast<std::byte*>(block) - 4, std::align_val_t{alignment});
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
  std::size_t bytes_ = 0;
  void* at_ = nullptr;
};

/// The text of the last report, every address replaced by a name.
class normaliser {
 public:
  normaliser& name(const void* address, std::string as) {
    char words[32];
    std::snprintf(words, sizeof words, "0x%zx", reinterpret_cast<std::size_t>(address));
    names_[words] = std::move(as);
    return *this;
  }
  std::string operator()(std::string text) const {
    for (std::size_t at = text.find("0x"); at != std::string::npos; at = text.find("0x", at + 1)) {
      const std::size_t end = text.find_first_not_of("0123456789abcdef", at + 2);
      const std::string address = text.substr(at, end == std::string::npos ? end : end - at);
      if (const auto found = names_.find(address); found != names_.end()) text.replace(at, address.size(), found->second);
    }
    return text;
  }

 private:
  std::map<std::string, std::string> names_;
};

std::vector<std::string> lines_of_real_misuse() {
  std::vector<std::string> lines;
  const recorder recording;
  const auto note = [&](normaliser names) {
    BOOST_REQUIRE(!recorder::seen().empty());
    const report& r = recorder::seen().back();
    names.name(r.what.pool, "POOL").name(r.what.chunk, "CHUNK");
    lines.push_back(names(r.text));
    recorder::seen().clear();
  };
  const auto bytes = [](void* p) { return static_cast<std::byte*>(p); };

  {
    simple orders(checked{"orders"});
    simple invoices(checked{"invoices"});
    void* const a = orders.allocate();
    void* const b = orders.allocate();
    void* const c = invoices.allocate();
    const normaliser names = normaliser().name(a, "A").name(b, "B").name(c, "C").name(&invoices, "OTHER");

    orders.deallocate(a);
    orders.deallocate(a);
    note(names);
    alignas(64) std::byte local[192];
    orders.deallocate(local + 64);
    note(normaliser().name(local + 64, "LOCAL"));
    orders.deallocate(c);
    note(names);
    orders.deallocate(bytes(b) + 17);
    note(normaliser(names).name(bytes(b) + 17, "B+17"));
    bytes(b)[66] = std::byte{0x41};
    orders.deallocate(b);
    note(names);
    bytes(b)[-1] = std::byte{0x42};
    bytes(b)[-3] = std::byte{0x43};
    orders.deallocate(b);
    note(names);
    bytes(a)[5] = std::byte{0x44};
    (void)orders.allocate();
    note(names);
    orders.deallocate(a, 96);
    note(names);
    orders.deallocate(a, 64, 128);
    note(names);
    std::thread([&] { (void)orders.try_allocate(); }).join();
    BOOST_REQUIRE(!recorder::seen().empty());
    const std::string other = "thread " + std::to_string(recorder::seen().back().what.thread);
    note(names);
    std::string& line = lines.back();
    if (const std::size_t at = line.find("by " + other); at != std::string::npos) line.replace(at + 3, other.size(), "thread N");
    invoices.deallocate(c);
    std::destroy_at(&orders);
    note(normaliser(names).name(a, "A"));
    orders.deallocate(a);
    note(names);
    ::new (&orders) simple(checked{"orders"});
  }
  {
    release_simple orders(hardened{"orders"});
    for (int i = 0; i != 3; ++i) (void)orders.allocate();
    std::destroy_at(&orders);
    note({});
    ::new (&orders) release_simple(hardened{"orders"});
  }
  {
    pool<static_size<64>, lifo_reuse<>, hardened> orders(hardened{"orders"});
    void* const a = orders.allocate();
    orders.deallocate(a);
    std::memset(a, 0x5A, 8);
    void* const first = orders.allocate();
    void* const second = orders.allocate();
    BOOST_TEST(recorder::seen().size() == 1u);
    note(normaliser().name(recorder::seen().back().what.address, "WILD"));
    orders.deallocate(first);
    orders.deallocate(second);
  }
  {
    askew upstream;
    pool<static_size<64, 64>, resource_store, fixed_growth<64>, hardened> orders(resource_store(&upstream), hardened{"orders"});
    BOOST_TEST(orders.try_allocate() == nullptr);
    BOOST_REQUIRE(!recorder::seen().empty());
    const std::string size = std::to_string(upstream.bytes_) + " bytes at";
    note(normaliser().name(recorder::seen().back().what.address, "REGION"));
    if (const std::size_t at = lines.back().find(size); at != std::string::npos) lines.back().replace(at, size.size(), "N bytes at");
  }
  {
    Order* const order = new Order;
    Order::operator delete[](hidden(order));  // as `delete[] order` does, behind the compiler's back
    note(normaliser().name(order, "ORDER"));
    delete order;
    BOOST_TEST(recorder::seen().empty());
  }
  return lines;
}

BOOST_AUTO_TEST_CASE(golden_lines) {
  const std::vector<std::string> lines = lines_of_real_misuse();
  std::ifstream file("test/misuse/golden.txt");
  std::vector<std::string> golden;
  for (std::string line; std::getline(file, line);) golden.push_back(line);
  BOOST_TEST(golden == lines, boost::test_tools::per_element());
  if (golden != lines)
    for (const std::string& line : lines) std::printf("%s\n", line.c_str());
  // Every kind has one.
  std::set<std::string> kinds;
  for (const std::string& line : lines) kinds.insert(line.substr(6, line.find(": pool \"") - 6));
  constexpr std::size_t all = static_cast<std::size_t>(misuse_kind::broken_store) + 1;
  BOOST_TEST(kinds.size() >= all);
}

// ---- nothing is allocated, nothing is held ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_report_needs_no_memory) {
  // The control: the traps work.
  no_memory_now = true;
  std::free(seen(std::malloc(1)));
  ::operator delete(seen(::operator new(1)));
  no_memory_now = false;
  BOOST_TEST(allocations == 2u);
  allocations = 0;

  const int nowhere = open("/dev/null", O_WRONLY);
  const int stderr_before = dup(STDERR_FILENO);
  dup2(nowhere, STDERR_FILENO);
  static std::size_t reports;
  reports = 0;
  const misuse_handler before = set_misuse_handler([](const misuse& what) noexcept {
    ++reports;
    print_misuse(what);
  });
  const auto misuse_all = [](auto& pool, auto& other) {
    auto* const a = static_cast<std::byte*>(pool.allocate());
    auto* const b = static_cast<std::byte*>(pool.allocate());
    void* const c = other.allocate();
    pool.deallocate(b);
    no_memory_now = true;
    pool.deallocate(b);
    pool.deallocate(c);
    pool.deallocate(a + 1);
    pool.deallocate(a, 4096);
    pool.deallocate(&pool);
    a[64] = ~a[64];
    pool.deallocate(a);
    b[3] = std::byte{0};
    b[pool.block_size() - 1] = std::byte{0};
    pool.deallocate(pool.try_allocate());
    if constexpr (requires { pool.verify(); }) {
      a[-1] = ~a[-1];
      pool.verify();
    }
    std::destroy_at(&pool);
    pool.deallocate(a);
    no_memory_now = false;
  };
  const auto with = [&]<class Pool>(std::type_identity<Pool>) {
    alignas(Pool) std::byte place[sizeof(Pool)];
    Pool& pool = *::new (static_cast<void*>(place)) Pool;
    Pool other;
    misuse_all(pool, other);
  };
  with(std::type_identity<simple>());
  with(std::type_identity<pool<static_size<64>, mutex_locking<>, checked>>());
  with(std::type_identity<pool<static_size<64>, thread_cached<>, hardened_with<guard_bytes>>>());
  with(std::type_identity<pool<static_size<64>, lock_free, checked>>());
  set_misuse_handler(before);
  dup2(stderr_before, STDERR_FILENO);
  close(stderr_before);
  close(nowhere);
  std::printf("%zu reports, %zu allocations\n", reports, allocations.load());
  BOOST_TEST(allocations == 0u);
  BOOST_TEST(reports >= 4u * 7);
}

/// A pipe that keeps what single writes wrote apart.
BOOST_AUTO_TEST_CASE(a_report_is_one_write) {
  int ends[2];
  BOOST_REQUIRE(pipe2(ends, O_DIRECT | O_NONBLOCK) == 0);
  const int stderr_before = dup(STDERR_FILENO);
  dup2(ends[1], STDERR_FILENO);
  misuse what;
  what.kind = misuse_kind::double_free;
  const std::string name(200, 'n');
  what.pool_name = name.c_str();
  what.address = &what;
  what.allocated = what.freed = 7;
  print_misuse(what);
  dup2(stderr_before, STDERR_FILENO);
  close(stderr_before);
  char packet[4096];
  const ssize_t got = read(ends[0], packet, sizeof packet);
  BOOST_TEST(std::string(packet, static_cast<std::size_t>(got)) == text_of(what) + "\n");
  BOOST_TEST(read(ends[0], packet, sizeof packet) == -1);
  close(ends[0]);
  close(ends[1]);
}

simple* pool_of_handler = nullptr;
void* block_of_handler = nullptr;

BOOST_AUTO_TEST_CASE(from_a_signal_handler) {
  const ending end = in_child([] {
    simple orders(checked{"orders"});
    block_of_handler = orders.allocate();
    pool_of_handler = &orders;
    orders.deallocate(block_of_handler);
    std::signal(SIGSEGV, [](int) {
      no_memory_now = true;
      pool_of_handler->deallocate(block_of_handler);
      _exit(1);
    });
    void* const page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *static_cast<volatile char*>(page) = 1;
    return 2;
  });
  BOOST_TEST(end.status == -SIGABRT);
  BOOST_TEST(end.wrote_one_line());
  BOOST_TEST(end.words.starts_with("tarn: double free: pool \"orders\" <64 bytes>@0x"));
}

// ---- what a handler may do -------------------------------------------------------------------------------------------------

template <class Pool>
struct uses_the_pool {
  static inline Pool* pool = nullptr;
  static inline std::size_t told = 0;
  static inline std::size_t got = 0;
  static inline bool inside = false;

  static void handle(const misuse& what) noexcept {
    if (what.pool != static_cast<const void*>(pool)) return;
    ++told;
    if (std::exchange(inside, true)) return;
    std::array<void*, 100> blocks;
    const std::size_t n = pool->try_allocate_batch(blocks);
    for (void* const block : std::span(blocks).first(n)) std::memset(block, 1, pool->block_size());
    pool->deallocate_batch(std::span<void* const>(blocks).first(n));
    void* const one = pool->try_allocate();
    if (one != nullptr) pool->deallocate(one, pool->block_size());
    got += n + (one != nullptr) + pool->owns(one) + (pool->capacity() != 0);
    got += pool->try_reserve(pool->capacity() + 1);
    if constexpr (requires { pool->trim(); }) pool->trim();
    if constexpr (requires { pool->verify(); }) pool->verify();
    pool->deallocate(one);  // misuse in a handler
    inside = false;
  }
};

template <class Pool>
void use_in_handler(const char* name) {
  const ending end = in_child([] {
    using uses = uses_the_pool<Pool>;
    set_misuse_handler(uses::handle);
    Pool pool;
    uses::pool = &pool;
    std::vector<std::byte*> blocks;
    for (int i = 0; i != 500; ++i) blocks.push_back(static_cast<std::byte*>(pool.allocate()));
    std::size_t expected = 0;
    const auto reported = [&](std::size_t n) {  // and one of the handler's own for each
      expected += 2 * n;
      if (uses::told != expected) _exit(10 + static_cast<int>(uses::told));
    };
    for (int i = 0; i != 300; ++i) pool.deallocate(blocks[static_cast<std::size_t>(i)]);
    pool.deallocate(blocks[0]);
    reported(1);
    pool.deallocate(blocks[400] + 1);
    reported(1);
    pool.deallocate(blocks[400], 10'000);
    reported(1);
    if constexpr (requires { pool.verify(); }) {
      blocks[400][pool.block_size()] = ~blocks[400][pool.block_size()];
      pool.deallocate(blocks[400]);
      reported(1);
      blocks[299][0] = std::byte{1};  // whoever takes it next is told, in take()
      while (pool.allocate() != blocks[299]) {}
      reported(1);
      blocks[401][pool.block_size()] = ~blocks[401][pool.block_size()];
      pool.verify();
      reported(1);
    }
    if (uses::got == 0) return 3;
    set_misuse_handler([](const misuse&) noexcept {});
    return 0;
  });
  BOOST_TEST(end.status == 0, name << ": the child ended with " << end.status << ": " << end.words);
}

struct herd;
BOOST_AUTO_TEST_CASE(a_handler_uses_the_pool) {
  use_in_handler<pool<static_size<64>, checked>>("no_locking, checked");
  use_in_handler<pool<static_size<64>, mutex_locking<>, hardened>>("mutex, hardened");
  use_in_handler<pool<static_size<64>, mutex_locking<>, checked>>("mutex, checked");
  use_in_handler<pool<static_size<64>, mutex_locking<>, lifo_reuse<>, checked>>("mutex, lifo, checked");
  use_in_handler<pool<static_size<64>, grouped_locking<herd, std::mutex>, checked>>("grouped with a mutex, checked");
  use_in_handler<pool<static_size<64>, thread_cached<>, hardened>>("thread_cached, hardened");
  use_in_handler<pool<static_size<64>, thread_cached<>, checked>>("thread_cached, checked");
  use_in_handler<pool<static_size<64>, lock_free, hardened>>("lock_free, hardened");
  use_in_handler<pool<static_size<64>, lock_free, checked>>("lock_free, checked");
}

BOOST_AUTO_TEST_CASE(a_handler_is_replaced_meanwhile) {
  static std::atomic<std::size_t> first, second;
  first = second = 0;
  const misuse_handler before = set_misuse_handler([](const misuse&) noexcept { ++first; });
  BOOST_TEST((before == print_and_abort));
  std::atomic<bool> stop = false;
  std::thread other([&] {
    while (!stop) {
      set_misuse_handler([](const misuse&) noexcept { ++first; });
      set_misuse_handler([](const misuse&) noexcept { ++second; });
    }
  });
  constexpr std::size_t times = 200'000;
  {
    pool<static_size<64>, mutex_locking<>, hardened> orders;
    void* const a = orders.allocate();
    orders.deallocate(a);
    for (std::size_t i = 0; i != times; ++i) orders.deallocate(a);
  }
  stop = true;
  other.join();
  std::printf("told one handler %zu times, the other %zu times\n", first.load(), second.load());
  BOOST_TEST(first + second == times);
  BOOST_TEST((set_misuse_handler(nullptr) != print_and_abort));
  BOOST_TEST((set_misuse_handler(before) == print_and_abort));
}

// ---- the text --------------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(text_is_cut) {
  std::array<const void*, 16> leaks;
  leaks.fill(&leaks);
  misuse what;
  what.pool_name = "a pool with a name that is not short";
  what.pool = what.address = what.block = what.chunk = what.other_pool = &what;
  what.other_name = "another pool";
  what.number = 12345678;
  what.allocated = what.freed = what.allocated_by = what.freed_by = what.thread = what.owner = ~std::uint64_t{0};
  what.file = "some/path/to/a/file.cc";
  what.line = 77;
  what.leaked = 1'000'000;
  what.leaks = leaks;
  what.damaged = 3;
  what.offset = -3;
  std::size_t tried = 0;
  for (unsigned kind = 0; kind <= static_cast<unsigned>(misuse_kind::broken_store) + 1; ++kind) {
    what.kind = static_cast<misuse_kind>(kind);
    const std::string whole = text_of(what);
    BOOST_TEST(whole.size() > 150u);
    BOOST_TEST(whole.find('\n') == std::string::npos);
    for (std::size_t bytes = 0; bytes <= 400; ++bytes, ++tried) {
      char text[512];
      std::memset(text, 0x7E, sizeof text);
      const std::size_t length = to_text(what, text + 50, bytes);
      const std::size_t expected = bytes == 0 ? 0 : std::min(bytes - 1, whole.size());
      bool outside = false;
      for (std::size_t i = 0; i != sizeof text; ++i)
        if (i < 50 || i >= 50 + bytes) outside |= text[i] != 0x7E;
      if (outside || length != expected || (bytes != 0 && (text[50 + length] != '\0' || whole.compare(0, length, text + 50) != 0)))
        BOOST_ERROR("kind " << kind << " in " << bytes << " bytes");
    }
  }
  BOOST_TEST(tried >= 13u * 401);
}

// ---- verify() --------------------------------------------------------------------------------------------------------------

template <class Pool>
void verify_many(const char* name) {
  const recorder recording;
  std::size_t reported = 0;
  {
    Pool pool;
    std::vector<std::byte*> all;
    for (int i = 0; i != 700; ++i) all.push_back(static_cast<std::byte*>(pool.allocate()));
    const std::size_t size = pool.block_size();
    std::vector<std::byte*> freed;
    for (std::size_t i = 0; i < all.size(); i += 2) {
      pool.deallocate(all[i]);
      freed.push_back(all[i]);
    }
    BOOST_TEST(pool.verify() == 0u, name);
    std::map<const void*, misuse_kind> damaged;
    for (std::size_t i = 0; i < all.size(); i += 7) {
      const bool is_free = i % 2 == 0;
      switch (i / 7 % 3) {
        case 0: all[i][size] = ~all[i][size]; damaged[all[i]] = misuse_kind::write_past_end; break;
        case 1: all[i][-1] = ~all[i][-1]; damaged[all[i]] = misuse_kind::write_in_front; break;
        default:
          if (!is_free) break;
          all[i][size / 2] = ~all[i][size / 2];
          damaged[all[i]] = misuse_kind::write_after_free;
      }
    }
    BOOST_TEST(pool.verify() == damaged.size(), name);
    reported = recorder::seen().size();
    for (const report& r : recorder::seen()) {
      const auto found = damaged.find(r.what.block);
      if (found == damaged.end() || found->second != r.what.kind || r.what.damaged != 1) BOOST_ERROR(name << ": " << r.text);
      else damaged.erase(found);
    }
    BOOST_TEST(damaged.empty(), name);
    recorder::seen().clear();
    BOOST_TEST(pool.verify() == 0u, name);
    BOOST_TEST(recorder::seen().empty(), name);
    for (std::size_t i = 1; i < all.size(); i += 2) pool.deallocate(all[i]);
  }
  BOOST_TEST(recorder::seen().empty(), name);
  std::printf("verify() of %s: %zu blocks\n", name, reported);
}

BOOST_AUTO_TEST_CASE(verify_tells_of_each_damage_once) {
  verify_many<pool<static_size<64>, checked>>("batch");
  verify_many<pool<static_size<64>, lifo_reuse<>, fixed_growth<64>, checked>>("lifo");
  verify_many<pool<static_size<24>, page_local_reuse<>, checked>>("page_local");
  verify_many<pool<static_size<256, 64>, checked_with<shuffled>>>("shuffled");
  verify_many<pool<static_size<8>, thread_cached<>, checked>>("thread_cached");
  verify_many<pool<static_size<64>, lock_free, checked>>("lock_free");
  verify_many<pool<static_size<64>, static_array_store<800>, checked>>("static array");
}

}  // namespace
}  // namespace tarn::test
