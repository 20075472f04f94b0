// The text of reports: exactly (golden.txt), cut to any length, and in one write.
#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <memory_resource>
#include <new>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tarn/allocator/memory_pool_macros.h"
#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/pool.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/misuse/reports.h"

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

/// Uses the pool that asks it for memory.
struct greedy final : std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    asks_();
    return ::operator new(bytes, std::align_val_t{alignment});
  }
  void do_deallocate(void* block, std::size_t, std::size_t alignment) override {
    ::operator delete(block, std::align_val_t{alignment});
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
  std::function<void()> asks_;
};

struct order_line {
  char bytes[64];
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
    // A pool whose guard bytes aren't, by chance, what is written over them below: one in 85 is none.
    std::vector<std::unique_ptr<simple>> pools;
    void* a = nullptr;
    void* b = nullptr;
    for (bool fits = false; !fits;) {
      simple& one = *pools.emplace_back(std::make_unique<simple>(checked{"orders"}));
      a = one.allocate();
      b = one.allocate();
      fits = bytes(b)[66] != std::byte{0x41} && bytes(b)[-1] != std::byte{0x42} && bytes(b)[-3] != std::byte{0x43};
      if (!fits) one.deallocate(a), one.deallocate(b);
    }
    simple& orders = *pools.back();
    simple invoices(checked{"invoices"});
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
    if (const std::size_t at = line.find("by " + other); at != std::string::npos)
      line.replace(at + 3, other.size(), "thread N");
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
    if (const std::size_t at = lines.back().find(size); at != std::string::npos)
      lines.back().replace(at, size.size(), "N bytes at");
  }
  {
    Order* const order = new Order;
    Order::operator delete[](hidden(order));  // as `delete[] order` does, behind the compiler's back
    note(normaliser().name(order, "ORDER"));
    delete order;
    BOOST_TEST(recorder::seen().empty());
  }
  {
    greedy upstream;
    pool<static_size<64>, resource_store, mutex_locking<>, checked> orders(resource_store(&upstream), checked{"orders"});
    upstream.asks_ = [&orders] { orders.release(); };  // what is being got would be lost
    orders.deallocate(orders.allocate());
    note({});
  }
  {
    pool<static_size<64>, sampled_guard_pages<1, checked>> orders(sampled_guard_pages<1, checked>{{"orders"}});
    auto* const a = static_cast<std::byte*>(orders.allocate());
    orders.deallocate(a);
    misuse what;
    BOOST_REQUIRE(orders.explain_fault(a + 8, what));
    detail::report_misuse(what);
    note(normaliser().name(a, "A"));
  }
  {
    object_pool<order_line, checked_with<sites>> orders(checked_with<sites>{"orders"});
    order_line* const a = orders.here(call_site("orders.cc", 12)).construct();
    orders.destroy(a);
    orders.destroy(a);
    note(normaliser().name(a, "A"));
  }
  {
    pool<static_size<64>, checked_with<sites>> orders(checked_with<sites>{"orders"});
    void* const a = orders.allocate();
    orders.note_site(a, call_site("orders.cc", 34));
    std::destroy_at(&orders);
    note(normaliser().name(a, "A"));
    ::new (&orders) pool<static_size<64>, checked_with<sites>>();
  }
  {
    pool<static_size<64>, hardened> orders;  // attacks_test.cc has one that is real
    void* const a = orders.allocate();
    misuse what;
    what.kind = misuse_kind::corrupt_chunk;
    what.pool_name = "orders";
    what.pool = &orders;
    what.block_size = 64;
    what.address = a;
    detail::report_misuse(what);
    orders.deallocate(a);
    note(normaliser().name(a, "A"));
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
  for (const std::string& line : lines) kinds.insert(line.substr(6, line.find(": pool", 6) - 6));
  constexpr std::size_t all = static_cast<std::size_t>(misuse_kind::corrupt_chunk) + 1;
  BOOST_TEST(kinds.size() >= all);
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

BOOST_AUTO_TEST_CASE(a_pool_without_a_name_is_its_address_and_a_line_is_one_line) {
  misuse what;
  what.kind = misuse_kind::other_pool;
  what.block_size = 64;
  what.pool = reinterpret_cast<const void*>(std::uintptr_t{0x10});
  what.address = reinterpret_cast<const void*>(std::uintptr_t{0x20});
  what.other_pool = reinterpret_cast<const void*>(std::uintptr_t{0x30});
  BOOST_TEST(text_of(what) == "tarn: block of another pool: pool <64 bytes>@0x10 block 0x20 of pool@0x30");
  what.pool_name = "a\nb\x1b[31m";
  what.other_name = "c\r\x7f";
  BOOST_TEST(text_of(what) ==
             "tarn: block of another pool: pool \"a?b?[31m\" <64 bytes>@0x10 block 0x20 of pool \"c??\"@0x30");
}

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
  for (unsigned kind = 0; kind <= static_cast<unsigned>(misuse_kind::corrupt_chunk) + 1; ++kind) {
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
      if (outside || length != expected ||
          (bytes != 0 && (text[50 + length] != '\0' || whole.compare(0, length, text + 50) != 0)))
        BOOST_ERROR("kind " << kind << " in " << bytes << " bytes");
    }
  }
  BOOST_TEST(tried >= 16u * 401);
}

}  // namespace
}  // namespace tarn::test
