// The text of reports: exactly, cut to any length, and in one write.
#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>

#include "tarn/policies/checking/misuse.h"
#include "tarn/test/misuse/reports.h"

namespace tarn::test {
namespace {

const void* at(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }
const std::array<const void*, 2> two{at(0xa0), at(0xb0)};
void block(misuse& what, std::uintptr_t start, std::size_t number) {
  what.address = what.block = at(start);
  what.chunk = at(0xc00);
  what.number = number;
  what.allocated = number + 1;
  what.allocated_by = 1;
}

using enum misuse_kind;
const struct {
  const char* text;
  void (*fill)(misuse&);
} golden[] = {
    {"tarn: double free: pool \"orders\" <64 bytes>@0x10 block 0xa0 (#0 of chunk 0xc00), allocated seq 1 thread 1; "
     "freed seq 3 thread 1",
     [](misuse& k) { k.kind = double_free; block(k, 0xa0, 0); k.freed = 3, k.freed_by = 1; }},
    {"tarn: foreign pointer: pool \"orders\" <64 bytes>@0x10 block 0xd0",
     [](misuse& k) { k.kind = foreign_pointer; k.address = at(0xd0); }},
    {"tarn: block of another pool: pool \"orders\" <64 bytes>@0x10 block 0xc0 of pool \"invoices\"@0x20",
     [](misuse& k) { k.kind = other_pool; k.address = at(0xc0); k.other_pool = at(0x20), k.other_name = "invoices"; }},
    {"tarn: interior pointer: pool \"orders\" <64 bytes>@0x10 block 0xc1 (#1 of chunk 0xc00): the block starts 17 "
     "bytes earlier, at 0xb0, allocated seq 2 thread 1",
     [](misuse& k) { k.kind = interior_pointer; block(k, 0xb0, 1); k.address = at(0xc1); }},
    {"tarn: write past the end: pool \"orders\" <64 bytes>@0x10 block 0xb0 (#1 of chunk 0xc00): 1 byte from +66, "
     "value 0x41, allocated seq 2 thread 1",
     [](misuse& k) { k.kind = write_past_end; block(k, 0xb0, 1); k.offset = 66, k.damaged = 1, k.value = 0x41; }},
    {"tarn: write in front: pool \"orders\" <64 bytes>@0x10 block 0xb0 (#1 of chunk 0xc00): 3 bytes from -3, value "
     "0x43, allocated seq 2 thread 1",
     [](misuse& k) { k.kind = write_in_front; block(k, 0xb0, 1); k.offset = -3, k.damaged = 3, k.value = 0x43; }},
    {"tarn: write after free: pool \"orders\" <64 bytes>@0x10 block 0xa0 (#0 of chunk 0xc00): 1 byte from +5, value "
     "0x44, allocated seq 1 thread 1; freed seq 3 thread 1",
     [](misuse& k) {
       k.kind = write_after_free; block(k, 0xa0, 0); k.freed = 3, k.freed_by = 1;
       k.offset = 5, k.damaged = 1, k.value = 0x44;
     }},
    {"tarn: wrong size: pool \"orders\" <64 bytes>@0x10 block 0xa0: freed as 96 bytes; is the destructor of a "
     "base class not virtual?",
     [](misuse& k) { k.kind = wrong_size; k.address = at(0xa0); k.size = 96; }},
    {"tarn: wrong size: pool \"orders\" <64 bytes>@0x10 block 0xa0: freed as 64 bytes aligned to 128; is the "
     "destructor of a base class not virtual?",
     [](misuse& k) { k.kind = wrong_size; k.address = at(0xa0); k.size = 64, k.alignment = 128; }},
    {"tarn: wrong thread: pool \"orders\" <64 bytes>@0x10: owner thread 1, called by thread 2",
     [](misuse& k) { k.kind = wrong_thread; k.owner = 1, k.thread = 2; }},
    {"tarn: leak: pool \"orders\" <64 bytes>@0x10: 2 blocks, 128 bytes: 0xa0 0xb0; the first, allocated seq 4 thread 1",
     [](misuse& k) { k.kind = leak; k.leaked = 2, k.leaks = two; k.allocated = 4, k.allocated_by = 1; }},
    {"tarn: destroyed pool: pool \"orders\" <64 bytes>@0x10 block 0xa0",
     [](misuse& k) { k.kind = ended_pool; k.address = at(0xa0); }},
    {"tarn: leak: pool \"orders\" <64 bytes>@0x10: 3 blocks, 192 bytes",
     [](misuse& k) { k.kind = leak; k.leaked = 3; }},
    {"tarn: corrupt free list: pool \"orders\" <64 bytes>@0x10 block 0xd0",
     [](misuse& k) { k.kind = corrupt_free_list; k.address = at(0xd0); }},
    {"tarn: broken store: pool \"orders\" <64 bytes>@0x10: the store returned 4100 bytes at 0xe4, which are not aligned to 64",
     [](misuse& k) { k.kind = broken_store; k.address = at(0xe4); k.size = 4100, k.alignment = 64; }},
    {"tarn: array delete: pool \"tarn::test::Order\" <64 bytes>@0x10 block 0xa0: it is one object; write delete, "
     "without []",
     [](misuse& k) { k.kind = array_delete; k.address = at(0xa0); k.pool_name = "tarn::test::Order"; }},
    {"tarn: reentry: pool \"orders\" <64 bytes>@0x10: thread 1 is already in a call of it; a signal handler or the "
     "pool's own store called it",
     [](misuse& k) { k.kind = reentry; k.thread = 1; }},
    {"tarn: page fault: pool \"orders\" <64 bytes>@0x10 block 0xa0: access at +8, after it was freed, allocated "
     "seq 1 thread 1; freed seq 2 thread 1",
     [](misuse& k) {
       k.kind = page_fault; k.address = k.block = at(0xa0); k.offset = 8;
       k.allocated = k.allocated_by = 1, k.freed = 2, k.freed_by = 1;
     }},
    {"tarn: double free: pool \"orders\" <64 bytes>@0x10 block 0xa0 (#0 of chunk 0xc00), allocated seq 1 thread 1 at "
     "orders.cc:12; freed seq 2 thread 1",
     [](misuse& k) {
       k.kind = double_free; block(k, 0xa0, 0); k.freed = 2, k.freed_by = 1; k.file = "orders.cc", k.line = 12;
     }},
    {"tarn: leak: pool \"orders\" <64 bytes>@0x10: 1 block, 64 bytes: 0xa0, allocated seq 1 thread 1 at orders.cc:34",
     [](misuse& k) {
       k.kind = leak; k.leaked = 1, k.leaks = {two.data(), 1}; k.allocated = k.allocated_by = 1;
       k.file = "orders.cc", k.line = 34;
     }},
    {"tarn: corrupt chunk: pool \"orders\" <64 bytes>@0x10: bytes in front of its record at 0xa0 were overwritten; "
     "did the block before it overflow?",
     [](misuse& k) { k.kind = corrupt_chunk; k.address = at(0xa0); }},
    {"tarn: stale mark: arena \"orders\"@0x10: it went back further since the mark was set, or was reset",
     [](misuse& k) { k.kind = stale_mark; k.is_arena = true; }},
    {"tarn: mark of another arena: arena \"orders\"@0x10: the mark is of arena@0x30",
     [](misuse& k) { k.kind = other_arena; k.is_arena = true; k.other_pool = at(0x30); }},
    {"tarn: reentry: arena \"orders\"@0x10: a destructor that it runs rewinds it further, or resets it",
     [](misuse& k) { k.kind = reentry; k.is_arena = true; }},
    {"tarn: interior pointer: arena \"orders\"@0x10 block 0xa0: an object of create() or make_span(), which the arena "
     "destroys itself",
     [](misuse& k) { k.kind = interior_pointer; k.is_arena = true; k.address = at(0xa0); }},
    {"tarn: double free: arena \"orders\"@0x10 block 0xa0",
     [](misuse& k) { k.kind = double_free; k.is_arena = true; k.address = at(0xa0); }},
};

/// What a handler is told is the matrix's; here, what is said of it.
BOOST_AUTO_TEST_CASE(golden_lines) {
  std::set<misuse_kind> kinds;
  for (const auto& [text, fill] : golden) {
    misuse what;
    what.pool_name = "orders";
    what.pool = at(0x10);
    what.block_size = 64;
    fill(what);
    BOOST_TEST(text_of(what) == text);
    kinds.insert(what.kind);
  }
  BOOST_TEST(kinds.size() == static_cast<std::size_t>(other_arena) + 1);  // every one
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
  for (unsigned kind = 0; kind <= static_cast<unsigned>(misuse_kind::other_arena) + 1; ++kind) {
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
