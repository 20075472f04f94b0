// The stacks that are in the log: each frame with its caller's stack has a number. Part of recorder.cc.
#ifndef TARN_TOOLS_TARN_RECORD_STACKS_H_
#define TARN_TOOLS_TARN_RECORD_STACKS_H_

#include <cstddef>
#include <cstdint>

#include <sys/mman.h>

#include "blocks.h"
#include "format.h"
#include "mappings.h"

namespace tarn_record {
namespace {

constexpr std::uint32_t most_stacks = 1U << 20;

/// Found without a lock, added to with one. `number` comes last: 0 is a free place.
struct known_stack {
  std::uint64_t returns_to;
  std::uint32_t outer;
  std::uint32_t number;
};
known_stack* stack_table;  // twice as many places; of zeros in a fork's child, whose log is another

bool make_stack_table() {
  constexpr std::size_t bytes = std::size_t{2} * most_stacks * sizeof(known_stack);
  void* const found = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (found == MAP_FAILED || madvise(found, bytes, MADV_WIPEONFORK) != 0) return false;
  stack_table = static_cast<known_stack*>(found);
  return true;
}

std::uint64_t mixed(std::uint64_t one, std::uint64_t other) {
  const std::uint64_t all = (one ^ (other * 0x9e3779b97f4a7c15U)) * 0xbf58476d1ce4e5b9U;
  return all ^ (all >> 32);
}

/// Its place in the table, or the free one where it would be. `found`: its number, or 0.
known_stack* find_stack(std::uint32_t outer, std::uint64_t returns_to, std::uint32_t& found) {
  // Stacks that were new at the same time are near each other: half the misses of the cache.
  for (std::uint64_t at = std::uint64_t{2} * outer + mixed(returns_to, 0) % 256;; ++at) {
    known_stack* const it = stack_table + at % (2 * most_stacks);
    found = __atomic_load_n(&it->number, __ATOMIC_ACQUIRE);
    if (found == 0 || (it->returns_to == returns_to && it->outer == outer)) return it;
  }
}

/// The number of the stack whose innermost frame returns to `returns_to`; 0: there are too many, or nothing is written any
/// more.
std::uint32_t number_of(std::uint32_t outer, std::uint64_t returns_to) {
  std::uint32_t found;
  find_stack(outer, returns_to, found);
  if (found != 0) return found;
  const locked lock;
  known_stack* const it = find_stack(outer, returns_to, found);
  stack_writer& to = process->stacks;
  const bool goes_on = own.generation == process->generation.load(std::memory_order_relaxed);
  if (found != 0 || to.last == most_stacks || !goes_on) return found;
  tell_mapping(returns_to);
  char* const first = room_for_entry(most_call_bytes);
  if (first == nullptr) return 0;
  const std::uint32_t number = ++to.last;
  char* const end = put(put(first + 1, code_of(returns_to, to.last_address)), number - outer);
  to.last_address = returns_to;
  end_entry(first, stack_entry::frame, end);
  note_time();
  it->returns_to = returns_to;
  it->outer = outer;
  __atomic_store_n(&it->number, number, __ATOMIC_RELEASE);
  return number;
}

}  // namespace
}  // namespace tarn_record

#endif  // TARN_TOOLS_TARN_RECORD_STACKS_H_
