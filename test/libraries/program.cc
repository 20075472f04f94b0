// The program: `program PLUGIN local|global|linked`. It prints counts, which check_libraries.py compares with the right ones.
#include <cstdio>
#include <vector>

#include "tarn/allocator/registry.h"
#include "tarn/test/libraries/loaded.h"

namespace tarn::test {
namespace {

own_pools<2 * block_bytes> own;

/// A block that somebody holds, and what is in its stamp.
struct held_block {
  void* at;
  std::uint64_t salt;
};
using held_blocks = std::vector<held_block>;

held_blocks take(const side& from, std::size_t pool, std::size_t n) {
  held_blocks taken;
  for (std::size_t i = 0; i != n; ++i) {
    taken.push_back({from.allocate(pool), i << 8 | pool});
    if (taken.back().at == nullptr) fail("no block");
    write_stamp(taken.back().at, taken.back().salt);
  }
  return taken;
}
void give(const side& to, std::size_t pool, const held_blocks& blocks) {
  for (const held_block& b : blocks) {
    if (!has_stamp(b.at, b.salt)) fail("a block was written to");
    to.deallocate(pool, b.at);
  }
}

/// Blocks of each side are freed by the other, where the two have the same pool; each frees its own, where not.
void exchange(const side& mine, const side& other, std::size_t n) {
  std::size_t exchanged = 0;
  for (std::size_t pool = 0; pool != static_pools; ++pool) {
    const bool same = mine.instance[pool] == other.instance[pool];
    const held_blocks ours = take(mine, pool, n), theirs = take(other, pool, n);
    for (const held_block& b : ours)
      if (!mine.owns(pool, b.at) || other.owns(pool, b.at) != same) fail("a block is in the wrong pool");
    give(same ? other : mine, pool, ours);
    give(same ? mine : other, pool, theirs);
    if (same) exchanged += 2 * n;
  }
  std::printf("exchanged %zu\n", exchanged);
}

void use_statics(const char* path, const char* how) {
  const side mine = this_side();
  library plugin(path, how);
  std::printf("instances");
  for (std::size_t i = 0; i != static_pools; ++i)
    std::printf(" %d", mine.instance[i] == plugin.functions->instance[i] ? 1 : 2);
  std::printf("\n");
  exchange(mine, *plugin.functions, 100);
  const std::size_t listed = snapshot().size();
  std::size_t its_own = 1;  // that of own_pools, and these, but for the array, which is not in the registry
  for (std::size_t i = 0; i != static_pools; ++i) its_own += i != 2 && mine.instance[i] != plugin.functions->instance[i];
  const int gone = plugin.close();
  if (snapshot().size() != listed - (gone != 0 ? its_own : 0)) fail("the registry has pools that are gone, or has lost some");
  std::printf("gone %d\n", gone);
  std::printf("reclaimed %zu\n", reclaim_all());
  for (std::size_t pool = 0; pool != static_pools; ++pool) give(mine, pool, take(mine, pool, 200));
}

}  // namespace
}  // namespace tarn::test

int main(int, char** words) {
  tarn::test::use_statics(words[1], words[2]);
  std::puts("done");
}
