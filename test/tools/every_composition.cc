// Every tested composition, looked at byte by byte with what AddressSanitizer knows: all that was handed out is open, all that
// was given back is closed, also after the list was walked through, and all that isn't the pool's any more is open.
#include <sanitizer/asan_interface.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tarn/test/support/compositions.h"
#include "tarn/test/support/rig.h"

namespace tarn::test {
namespace {

std::size_t seen_open = 0;    // bytes
std::size_t seen_closed = 0;  // bytes
std::size_t row = 0;

void look(const void* block, std::size_t bytes, bool closed, const char* when) {
  for (std::size_t i = 0; i != bytes; ++i) {
    if ((__asan_address_is_poisoned(static_cast<const char*>(block) + i) != 0) == closed) continue;
    std::printf("composition %zu, %s: byte %zu of %zu isn't %s\n", row, when, i, bytes, closed ? "closed" : "open");
    std::exit(1);
  }
  (closed ? seen_closed : seen_open) += bytes;
}
void look(std::span<void* const> blocks, std::size_t bytes, bool closed, const char* when) {
  for (void* const block : blocks) look(block, bytes, closed, when);
}

template <class Pool>
void look_at_every_step() {
  using is = facts<Pool>;
  ++row;
  auto held = std::make_unique<rig<Pool>>();
  Pool& pool = held->pool;
  const std::size_t bytes = pool.block_size();

  // On pages of their own, which the system closes, not the tool. They stay in use, so that the others come from chunks.
  std::vector<void*> beside;
  while (beside.size() != is::beside) beside.push_back(pool.try_allocate());
  look(beside, bytes, false, "handed out on pages of their own");

  std::vector<void*> blocks;
  for (void* block; blocks.size() != 1500 && (block = pool.try_allocate()) != nullptr;) blocks.push_back(block);
  look(blocks, bytes, false, "handed out");

  // Every other block: half of them one by one, half in batches.
  std::vector<void*> kept, freed;
  for (std::size_t i = 0; i != blocks.size(); ++i) (i % 2 == 0 ? kept : freed).push_back(blocks[i]);
  const std::size_t half = freed.size() / 2;
  for (std::size_t i = 0; i != half; ++i) pool.deallocate(freed[i]);
  pool.deallocate_batch(std::span(freed).subspan(half));
  look(freed, bytes, true, "given back");
  look(kept, bytes, false, "beside what was given back");

  trim_if_possible(pool);
  look(kept, bytes, false, "used, after trim");
  look(freed, bytes, true, "free, after trim");  // no chunk is wholly free

  std::vector<void*> again(freed.size());
  again.resize(pool.try_allocate_batch(again));
  look(again, bytes, false, "handed out in a batch");
  pool.deallocate_batch(again);
  look(again, bytes, true, "given back again");
  pool.deallocate_batch(kept);
  if (!is::returns_chunks) look(kept, bytes, true, "all given back");
  trim_if_possible(pool);
  if (release_if_possible(pool) && is::store::traits.bounded) look(kept, bytes, true, "released");
  void* const last = pool.try_allocate();
  if (last != nullptr) {
    look(last, bytes, false, "after release");
    pool.deallocate(last);
  }

  if constexpr (std::same_as<typename is::store, static_array_store<3000>>) {
    auto* const place = reinterpret_cast<std::byte*>(&pool);  // other things will lie there
    std::destroy_at(&pool);
    look(place, sizeof(Pool), false, "after the end");
    ::new (static_cast<void*>(place)) Pool();
  }
}

template <class... Rows>
void look_at_each(std::tuple<Rows...>*) {
  (look_at_every_step<typename Rows::type>(), ...);
}

}  // namespace
}  // namespace tarn::test

int main() {
  using namespace tarn::test;
  look_at_each(static_cast<shard*>(nullptr));
  std::printf("%zu compositions, %zu bytes open, %zu bytes closed\n", row, seen_open, seen_closed);
}
