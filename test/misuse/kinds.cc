#include "tarn/test/misuse/kinds.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <thread>

namespace tarn::test {
namespace {

using enum misuse_kind;

// ---- who finds it ----------------------------------------------------------------------------------------------------------

answer when(bool caught) { return caught ? answer::caught : answer::missed; }
answer all_but_none(const traits& t) { return when(t.checks != policy::none); }
answer with_guards(const traits& t) { return when(t.checks >= policy::guarded); }
answer with_fill(const traits& t) { return when(t.checks == policy::checked); }
answer nobody(const traits&) { return answer::missed; }
answer by_verify(const traits& t) { return t.checks == policy::checked ? answer::caught : answer::not_applicable; }

// ---- given back what can't be ----------------------------------------------------------------------------------------------

void free_twice(trial& t) {
  void* const a = t.free_block();
  t.misuse_by([&] {
    t.expect(double_free, a, a);
    t.pool().give(a);
  });
}
void free_a_b_a(trial& t) {
  void* const a = t.free_block();
  t.free_block();
  t.misuse_by([&] {
    t.expect(double_free, a, a);
    t.pool().give(a);
  });
}
void free_after_many_others(trial& t) {
  void* const a = t.free_block();
  t.free_block();
  for (int i = 0; i != 10'000; ++i) {
    void* const b = t.pool().try_allocate();
    REQUIRE(b != nullptr);
    REQUIRE(b != a);
    t.pool().deallocate(b);
  }
  t.misuse_by([&] {
    t.expect(double_free, a, a);
    t.pool().give(a);
  });
}
/// The pool can't know: the pointer is as good as its new owner's. Handles can.
void free_after_reuse(trial& t) {
  void* const a = t.free_block();
  do {
    REQUIRE(t.live.take());
  } while (t.live.blocks().back() != a);
  t.misuse_by([&] { t.pool().give(a); });
}

void give_foreign(trial& t, void* address) {
  t.misuse_by([&] {
    t.expect(foreign_pointer, address);
    t.pool().give(address);
  });
}
void free_of_stack(trial& t) {
  alignas(64) std::byte local[384] = {};
  give_foreign(t, local + 64);
  for (const std::byte b : local) REQUIRE(b == std::byte{0});
}
void free_of_heap(trial& t) {
  auto* const memory = static_cast<std::byte*>(std::calloc(1, 1024));
  REQUIRE(memory != nullptr);
  give_foreign(t, memory + 512);
  for (int i = 0; i != 1024; ++i) REQUIRE(memory[i] == std::byte{0});
  std::free(memory);
}
/// Nothing may be read in front of it.
void free_of_mapping(trial& t) {
  void* const page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(page != MAP_FAILED);
  give_foreign(t, page);
  munmap(page, 4096);
}
void free_of_null_plus(trial& t) {
  // NOLINTNEXTLINE: a member of an object at null
  give_foreign(t, reinterpret_cast<void*>(std::uintptr_t{8}));
}

void give_inside(trial& t, std::size_t bytes) {
  std::byte* const a = t.some_block();
  t.misuse_by([&] {
    t.expect(interior_pointer, a + bytes, a);
    t.pool().give(a + bytes);
  });
}
void free_of_interior(trial& t) { give_inside(t, t.size() / 2); }
void free_of_misaligned(trial& t) { give_inside(t, 1); }

void free_to_other_pool(trial& t) {
  const std::unique_ptr<subject> other = t.pool().another("invoices");
  void* const a = other->try_allocate();
  REQUIRE(a != nullptr);
  std::memset(a, 0x5A, t.size());
  t.misuse_by([&] {
    const bool names_it = t.about.checks == policy::checked;
    expectation& e = t.expect(names_it ? other_pool : foreign_pointer, a);
    if (names_it) {
      e.other_pool = other->address();
      e.other_name = "invoices";
    }
    t.pool().give(a);
  });
  for (std::size_t i = 0; i != t.size(); ++i) REQUIRE(static_cast<unsigned char*>(a)[i] == 0x5A);
  other->deallocate(a);
}
void free_to_ended_pool(trial& t) {
  void* const a = t.some_block();
  while (t.live.live() != 0) t.live.give_newest();
  t.end();
  t.misuse_by([&] {
    t.expect(ended_pool, a);
    t.pool().give(a);
  });
}

// ---- written where it should not be ----------------------------------------------------------------------------------------

/// Changes bytes around or in a block. Returns the first of the new ones.
unsigned char damage(std::byte* at, std::size_t bytes) {
  for (std::size_t i = 0; i != bytes; ++i) at[i] = ~at[i];
  return std::to_integer<unsigned char>(at[0]);
}
void write_around(trial& t, misuse_kind what, std::ptrdiff_t offset, std::size_t bytes, bool by_verify, called_from = {}) {
  std::byte* const a = t.some_block();
  t.misuse_by([&] {
    expectation& e = t.expect(what, a, a);
    e.offset = offset;
    e.damaged = bytes;
    e.value = damage(a + offset, bytes);
    if (!by_verify) return t.pool().give(a);
    REQUIRE(t.pool().verify() == 1u);
  });
}
std::ptrdiff_t end_of_block(const trial& t) { return static_cast<std::ptrdiff_t>(t.size()); }
/// Guard bytes stand behind the room that a list in the block needs.
answer past_payload(const traits& t) { return when(t.checks >= policy::guarded && t.payload == t.size); }
void overflow_1(trial& t) { write_around(t, write_past_end, end_of_block(t), 1, false); }
void overflow_1_verify(trial& t) { write_around(t, write_past_end, end_of_block(t), 1, true); }
void overflow_16(trial& t) {
  const std::size_t unseen = t.about.payload - t.about.size;
  damage(t.some_block() + t.size(), t.misuses() ? unseen : 0);
  write_around(t, write_past_end, static_cast<std::ptrdiff_t>(t.about.payload), 16 - unseen, false);
}
void overflow_16_verify(trial& t) { write_around(t, write_past_end, end_of_block(t), 16, true); }
void underflow_1(trial& t) { write_around(t, write_in_front, -1, 1, false); }
void underflow_1_verify(trial& t) { write_around(t, write_in_front, -1, 1, true); }

/// A list that lies in the free blocks, and nothing in front of it.
bool links_in_payload(const traits& t) { return t.list == home::links && t.checks != policy::checked; }

void write_to_free(trial& t, std::size_t offset, bool by_verify, called_from = {}) {
  std::byte* const a = t.free_block();
  t.misuse_by([&] {
    const bool hits_link = links_in_payload(t.about) && offset < sizeof(void*);
    expectation& e = hits_link ? t.expect(corrupt_free_list) : t.expect(write_after_free, a, a);
    const unsigned char value = damage(a + offset, 1);
    if (hits_link) {
      e.any_address = true;
    } else {
      e.offset = static_cast<std::ptrdiff_t>(offset);
      e.damaged = 1;
      e.value = value;
    }
    if (by_verify) REQUIRE(t.pool().verify() == 1u);
  });
  for (int i = 0; i != 3; ++i) REQUIRE(t.live.take());  // a link is followed when the block behind it is taken
}
answer first_word_of_free(const traits& t) {
  return when(t.checks == policy::checked || (t.checks != policy::none && links_in_payload(t)));
}
answer last_word_of_free(const traits& t) { return t.size == sizeof(void*) ? first_word_of_free(t) : with_fill(t); }
void write_first_word(trial& t) { write_to_free(t, 0, false); }
void write_first_word_verify(trial& t) { write_to_free(t, 0, true); }
void write_last_word(trial& t) { write_to_free(t, t.size() - 1, false); }
void write_last_word_verify(trial& t) { write_to_free(t, t.size() - 1, true); }

// ---- sizes -----------------------------------------------------------------------------------------------------------------

void give_sized(trial& t, std::size_t bytes, std::size_t alignment) {
  void* const a = t.some_block();
  t.misuse_by([&] {
    expectation& e = t.expect(wrong_size, a);
    e.size = bytes;
    e.alignment = alignment;
    t.pool().give(a, bytes, alignment);
  });
}
void wrong_size_of_free(trial& t) { give_sized(t, t.size() + 1, 1); }
void wrong_alignment_of_free(trial& t) { give_sized(t, t.size(), t.pool().block_alignment() * 2); }

// ---- ends ------------------------------------------------------------------------------------------------------------------

void give_all(trial& t) {
  while (t.live.live() != 0) t.live.give_newest();
}
void end_with_live_blocks(trial& t) {
  t.misuse_by([&] {
    expectation& e = t.expect(leak);
    e.leaked = t.live.live();
    if (t.about.checks == policy::checked) {
      e.leaks.assign(t.live.blocks().begin(), t.live.blocks().end());
      std::sort(e.leaks.begin(), e.leaks.end());
      e.leaks.resize(16);
    }
  });
  if (!t.misuses()) give_all(t);
  t.end();
}
/// An adapter that outlives the pool gives its blocks back into nothing.
void use_after_end(trial& t) {
  void* const a = t.some_block();
  end_with_live_blocks(t);
  t.misuse_by([&] {
    t.expect(ended_pool, a);
    t.pool().give(a);
  });
}

// ---- threads ---------------------------------------------------------------------------------------------------------------

answer threads_told_apart(const traits& t) {
  if (!t.one_thread) return answer::allowed;
  return when(t.checks == policy::checked);
}
template <class Use>
void on_second_thread(trial& t, Use use) {
  if (!t.about.one_thread) {  // that is allowed, and the twin does it too
    std::thread(use).join();
    return;
  }
  t.misuse_by([&] {
    t.expect(wrong_thread).owner = detail::this_thread_number();
    expectation& e = t.expected.back();
    std::thread([&] {
      e.thread = detail::this_thread_number();
      use();
    }).join();
  });
}
void allocate_on_second_thread(trial& t) {
  on_second_thread(t, [&] {
    if (void* const block = t.pool().try_allocate()) t.pool().deallocate(block);
  });
}
void free_on_second_thread(trial& t) {
  if (!t.about.one_thread) return on_second_thread(t, [&] { t.live.give_newest(); });
  void* const a = t.some_block();
  on_second_thread(t, [&] { t.pool().give(a); });
}
void reserve_on_second_thread(trial& t) {
  on_second_thread(t, [&] { (void)t.pool().try_reserve(t.about.bounded ? 0 : t.pool().capacity() * 2); });
}
/// Whoever uses the pool first after that owns it.
answer handing_over(const traits& t) { return t.checks == policy::none ? answer::not_applicable : answer::allowed; }
void use_after_hand_over(trial& t) {
  t.pool().hand_over();
  std::thread([&] {
    REQUIRE(t.live.take());
    t.live.give_newest();
    t.pool().hand_over();
  }).join();
}
answer groups_told_apart(const traits& t) {
  return t.grouped ? threads_told_apart(t) : answer::not_applicable;
}
void other_pool_of_group(trial& t) {
  const std::unique_ptr<subject> other = t.pool().another("invoices");
  on_second_thread(t, [&] { (void)t.pool().get(); });
}

// ---- the pool's own memory -------------------------------------------------------------------------------------------------

void pack(trial& t) {
  for (int i = 0; i != 300; ++i) t.free_block();
}
answer links_checked(const traits& t) {
  const bool in_blocks = t.list == home::links || t.list == home::batches;
  return in_blocks ? all_but_none(t) : answer::not_applicable;
}
/// Takes what was given back, until the damage is met.
void take_until_reported(trial& t, std::size_t blocks, called_from = {}) {
  for (std::size_t i = 0; i != blocks; ++i) REQUIRE(t.live.take());
}
/// An address that a list in blocks leads to: of a block in use, as plain as an attacker knows it.
void overwrite_links(trial& t, void* with) {
  std::vector<void*> freed;
  for (int i = 0; i != 300; ++i) freed.push_back(t.free_block());
  t.pool().drain();
  t.misuse_by([&] {
    t.expect(corrupt_free_list).any_address = true;
    for (std::size_t i = 0; i != (t.about.list == home::links ? freed.size() - 10 : 60); ++i)
      std::memcpy(t.pool().link_of(freed[i]), &with, sizeof with);
  });
  take_until_reported(t, freed.size());
}
void link_to_block_in_use(trial& t) { overwrite_links(t, t.live.blocks().front()); }
void link_to_nowhere(trial& t) { overwrite_links(t, reinterpret_cast<void*>(std::uintptr_t{0xDEAD'BEEF'F000u})); }

void mark_free_as_used(trial& t) {
  t.pool().find_mark(t.live.blocks().back());
  std::byte* const a = t.free_block();
  t.misuse_by([&] {
    t.expect(corrupt_free_list, a);
    t.lost = 1;
    t.pool().set_mark(true);
  });
  for (int i = 0; i != 3; ++i) REQUIRE(t.live.take());
}
void mark_used_as_free(trial& t) {
  std::byte* const a = t.some_block();
  t.pool().find_mark(a);
  t.misuse_by([&] {
    t.expect(double_free, a, a);
    t.lives.back().freed = t.lives.back().allocated + 1;
    t.freed_by_nobody = true;
    t.pool().set_mark(false);
    t.pool().give(a);
    t.pool().set_mark(true);
  });
}
answer marks_checked(const traits& t) { return t.checks == policy::none ? answer::not_applicable : answer::caught; }

answer bits_checked(const traits& t) { return t.list == home::bitmap ? all_but_none(t) : answer::not_applicable; }
/// The bit of a block in use says that it is free.
void set_bit(trial& t) {
  pack(t);
  t.pool().drain();
  t.misuse_by([&] {
    void* const a = t.live.blocks().front();
    std::uint64_t bit;
    std::uint64_t* const word = t.pool().bitmap_word(a, bit);
    REQUIRE((*word & bit) == 0);
    t.expect(corrupt_free_list, a);
    t.lost = 1;  // whoever counted it as free
    *word |= bit;
  });
  take_until_reported(t, 300);
}

// ---- the store -------------------------------------------------------------------------------------------------------------

answer store_checked(const traits& t) { return t.over_resource ? all_but_none(t) : answer::not_applicable; }
void with_mood(trial& t, moody_resource::mood mood, called_from = {}) {
  t.misuse_by([&] {
    t.pool().upstream.now = mood;
    expectation& e = t.expect(broken_store);
    e.any_address = true;
    const bool refused = !t.pool().try_reserve(t.pool().capacity() + 1);
    if (t.about.checks == policy::none) _exit(0);  // there is no way back
    REQUIRE(refused);
    t.pool().upstream.now = moody_resource::mood::honest;
    if (const auto& seen = recorder::seen(); !seen.empty()) {
      e.size = seen[0].what.size;
      e.alignment = seen[0].what.alignment;
      const bool is_aligned = reinterpret_cast<std::uintptr_t>(seen[0].what.address) % e.alignment == 0;
      REQUIRE(is_aligned == (mood == moody_resource::mood::twice));
    }
  });
}
void misaligned_store(trial& t) { with_mood(t, moody_resource::mood::misaligned); }
void store_repeats_itself(trial& t) { with_mood(t, moody_resource::mood::twice); }
/// No report: a store that has no memory may say so in this way, too.
answer null_is_refusal(const traits& t) { return t.over_resource ? answer::allowed : answer::not_applicable; }
void null_from_store(trial& t) {
  t.misuse_by([&] {
    t.pool().upstream.now = moody_resource::mood::null;
    REQUIRE(!t.pool().try_reserve(t.pool().capacity() + 1));
    t.pool().upstream.now = moody_resource::mood::honest;
  });
}

}  // namespace

std::span<const kind> all_kinds() {
  static constexpr kind kinds[] = {
      {1, "double free", all_but_none, free_twice},
      {2, "double free: A, B, A", all_but_none, free_a_b_a},
      {3, "double free, 10,000 frees later", all_but_none, free_after_many_others},
      {4, "double free of a block used again", nobody, free_after_reuse},
      {5, "free of a stack address", all_but_none, free_of_stack},
      {6, "free of a heap address", all_but_none, free_of_heap},
      {7, "free of another mapping", all_but_none, free_of_mapping},
      {8, "free of null plus 8", all_but_none, free_of_null_plus},
      {9, "free of the middle of a block", all_but_none, free_of_interior},
      {10, "free of a block plus 1", all_but_none, free_of_misaligned},
      {11, "free into another pool of the type", all_but_none, free_to_other_pool},
      {12, "free into a pool that has ended", all_but_none, free_to_ended_pool},
      {13, "1 byte past the end, at free", past_payload, overflow_1},
      {13, "1 byte past the end, verify()", by_verify, overflow_1_verify},
      {14, "16 bytes past the end, at free", with_guards, overflow_16},
      {14, "16 bytes past the end, verify()", by_verify, overflow_16_verify},
      {15, "1 byte in front, at free", with_guards, underflow_1},
      {15, "1 byte in front, verify()", by_verify, underflow_1_verify},
      {16, "write after free, first byte", first_word_of_free, write_first_word},
      {16, "the same, verify()", by_verify, write_first_word_verify},
      {17, "write after free, last byte", last_word_of_free, write_last_word},
      {17, "the same, verify()", by_verify, write_last_word_verify},
      {18, "sized free, too large", all_but_none, wrong_size_of_free},
      {18, "sized free, too strictly aligned", all_but_none, wrong_alignment_of_free},
      {20, "leak at the pool's end", all_but_none, end_with_live_blocks},
      {21, "second thread allocates", threads_told_apart, allocate_on_second_thread},
      {21, "second thread frees", threads_told_apart, free_on_second_thread},
      {21, "second thread reserves", threads_told_apart, reserve_on_second_thread},
      {21, "second thread, after hand_over()", handing_over, use_after_hand_over},
      {21, "second thread, a pool of the group", groups_told_apart, other_pool_of_group},
      {22, "links overwritten, with a used block", links_checked, link_to_block_in_use},
      {22, "links overwritten, with a wild address", links_checked, link_to_nowhere},
      {22, "live mark of a free block set", marks_checked, mark_free_as_used},
      {22, "live mark of a used block cleared", marks_checked, mark_used_as_free},
      {22, "bitmap: a used block's bit set", bits_checked, set_bit},
      {23, "pool destroyed before its adapters", all_but_none, use_after_end},
      {24, "store returns misaligned memory", store_checked, misaligned_store},
      {24, "store returns the same twice", store_checked, store_repeats_itself},
      {24, "store returns null and should throw", null_is_refusal, null_from_store},
  };
  return kinds;
}

void* moody_resource::do_allocate(std::size_t bytes, std::size_t alignment) {
  ++asked;
  switch (now) {
    case mood::null: return nullptr;
    case mood::twice:
      if (last_ != nullptr) return last_;
      break;
    case mood::misaligned:
      return static_cast<std::byte*>(::operator new(bytes + alignment, std::align_val_t{alignment})) + alignment / 2;
    case mood::honest: break;
  }
  return last_ = ::operator new(bytes, std::align_val_t{alignment});
}
void moody_resource::do_deallocate(void* block, std::size_t, std::size_t alignment) {
  if (now == mood::misaligned) block = static_cast<std::byte*>(block) - alignment / 2;
  ::operator delete(block, std::align_val_t{alignment});
}

}  // namespace tarn::test
