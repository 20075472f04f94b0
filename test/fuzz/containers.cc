// Blocks of many sizes from memory resources and from malloc's family.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <new>

#include "tarn/allocator/memory_resource.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/xmalloc.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/fuzz/input.h"
#include "tarn/test/fuzz/stamped_blocks.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {
namespace {

constexpr std::size_t most_bytes = 1024 * 1024;  // of all blocks together

// ---- memory resources --------------------------------------------------------------------------------------------------

/// A resource, and the members that std's have not.
struct sized_blocks {
  std::unique_ptr<std::pmr::memory_resource> resource;
  std::size_t (*trim)(std::pmr::memory_resource&) = nullptr;
  void (*release)(std::pmr::memory_resource&) = nullptr;
  std::shared_ptr<void> pool;  // of a block_resource
};

template <class Resource>
sized_blocks resource_of(input& in, test::upstream& upstream) {
  std::pmr::pool_options options;
  options.max_blocks_per_chunk = in.below(300);
  options.largest_required_pool_block = in.size_up_to(70'000);
  return {std::make_unique<Resource>(options, &upstream),
          [](std::pmr::memory_resource& r) { return static_cast<Resource&>(r).trim(); },
          [](std::pmr::memory_resource& r) { static_cast<Resource&>(r).release(); },
          nullptr};
}
sized_blocks blocks_of_one_size(input& in, test::upstream& upstream) {
  using blocks = pool<dynamic_size, resource_store, fixed_growth<20>>;
  const std::size_t bytes = 1 + in.below(300);
  const auto made = std::make_shared<blocks>(dynamic_size{bytes, in.power_of_two(8)}, resource_store{&upstream});
  return {std::make_unique<block_resource<blocks>>(*made, &upstream), nullptr, nullptr, made};
}
sized_blocks any_resource(input& in, test::upstream& upstream) {
  switch (in.below(5)) {
    case 0: return resource_of<pmr::unsynchronized_pool_resource>(in, upstream);
    case 1: return resource_of<pmr::synchronized_pool_resource>(in, upstream);
    case 2: return resource_of<pool_resource<batch_reuse<>>>(in, upstream);
    case 3: return resource_of<pool_resource<thread_cached<>, page_local_reuse<>, return_empty_chunks<>>>(in, upstream);
    default: return blocks_of_one_size(in, upstream);
  }
}

void fuzz_resource(input& in) {
  test::upstream upstream;
  {
    sized_blocks of = any_resource(in, upstream);
    std::pmr::memory_resource& resource = *of.resource;
    stamped_blocks blocks;
    std::size_t bytes_in_use = 0;
    const auto give = [&](std::size_t i) {
      const stamped_blocks::block one = blocks.take(i);
      bytes_in_use -= one.bytes;
      resource.deallocate(one.start, one.bytes, one.alignment);
    };
    const auto take = [&](std::size_t bytes, std::size_t alignment) {
      if (bytes_in_use + bytes > most_bytes) return;
      const std::size_t failures = upstream.failures();
      try {
        blocks.add(resource.allocate(bytes, alignment), bytes, alignment);
        bytes_in_use += bytes;
      } catch (const std::bad_alloc&) {
        must(upstream.failures() != failures, "a refusal, though upstream had memory");
      }
    };
    while (!in.ended()) {
      switch (in.below(12)) {
        case 0: case 1: take(in.size_up_to(100'000), in.power_of_two(8)); break;
        case 2: take(in.below(300), in.power_of_two(5)); break;
        case 3:
          for (std::size_t n = in.below(100), bytes = 1 + in.below(200); n != 0; --n) take(bytes, 8);
          break;
        case 4: if (!blocks.empty()) give(blocks.size() - 1); break;
        case 5: if (!blocks.empty()) give(0); break;
        case 6: if (!blocks.empty()) give(in.below(blocks.size())); break;
        case 7: for (std::size_t n = in.below(100); n != 0 && !blocks.empty(); --n) give(blocks.size() - 1); break;
        case 8: blocks.check_all(), blocks.shuffle(in.byte()); break;
        case 9:
          if (of.trim != nullptr) {
            const std::size_t before = upstream.bytes();
            const std::size_t said = of.trim(resource);
            must(upstream.bytes() + said == before, "a trim() that says another number of bytes");
          }
          break;
        case 10:
          if (of.release != nullptr && in.below(4) == 0) {
            blocks.check_all();
            of.release(resource);
            blocks.forget_all();
            bytes_in_use = 0;
            must(upstream.bytes() == 0, "a release() that left memory");
          }
          break;
        case 11: upstream.fail(1 + in.below(4), static_cast<failing>(in.below(4))); break;
      }
      must(upstream.bytes() >= bytes_in_use, "more in use than there is");
    }
    while (!blocks.empty()) give(0);
  }
  must(upstream.bytes() == 0, "memory that a resource didn't give back");
  must(upstream.faults() == 0, "memory that was given back otherwise than it was taken");
}

// ---- malloc's family ---------------------------------------------------------------------------------------------------

std::size_t in_use() {
  const auto all = xmalloc_statistics();
  std::size_t blocks = all.large.blocks;
  for (const auto& one : all.by_class) blocks += one.counts.in_use;
  return blocks;
}

void fuzz_xmalloc(input& in) {
  stamped_blocks blocks;
  const std::size_t others = in_use();
  std::size_t bytes_in_use = 0;
  const auto took = [&](void* block, std::size_t bytes, std::size_t alignment) {
    must(block != nullptr, "xmalloc() refused");
    must(xmalloc_usable_size(block) >= bytes, "a block with less room than asked for");
    blocks.add(block, bytes, alignment);
    bytes_in_use += bytes;
  };
  const auto leave = [&](std::size_t i) {
    const stamped_blocks::block one = blocks.take(i);
    bytes_in_use -= one.bytes;
    return one;
  };
  while (!in.ended()) {
    const std::uint8_t what = in.byte();
    const std::size_t bytes = in.size_up_to(100'000);
    if (bytes_in_use + bytes > most_bytes) continue;
    const std::size_t some = blocks.empty() ? 0 : in.below(blocks.size());
    switch (what % 8) {
      case 0: case 1: took(xmalloc(bytes), bytes, 16); break;
      case 2: {
        const std::size_t alignment = in.power_of_two(10);
        took(xaligned_alloc(alignment, bytes), bytes, alignment);
        break;
      }
      case 3: {
        auto* const block = static_cast<unsigned char*>(xcalloc(1 + what / 64, bytes / (1 + what / 64)));
        const std::size_t all = bytes / (1 + what / 64) * (1 + what / 64);
        for (std::size_t i = 0; i != all; ++i) must(block[i] == 0, "xcalloc() with a byte that isn't 0");
        took(block, all, 16);
        break;
      }
      case 4: if (!blocks.empty()) xfree(leave(some).start); break;
      case 5: if (!blocks.empty()) xfree(leave(blocks.size() - 1).start); break;
      case 6: {
        if (blocks.empty()) break;
        stamped_blocks::block one = blocks[some];
        stamped_blocks::check(one, one.bytes);
        blocks.forget(some);
        bytes_in_use -= one.bytes;
        one.start = xrealloc(one.start, bytes);
        if (bytes == 0) {
          must(one.start == nullptr, "xrealloc() to nothing returned a block");
          break;
        }
        stamped_blocks::check(one, std::min(one.bytes, bytes));
        took(one.start, bytes, 16);
        break;
      }
      case 7: blocks.check_all(), static_cast<void>(xmalloc_trim()); break;
    }
    must(in_use() == others + blocks.size(), "statistics with another number of blocks in use");
  }
  while (!blocks.empty()) xfree(leave(0).start);
  must(in_use() == others, "a block is still in use");
  static_cast<void>(xmalloc_trim());
}

}  // namespace
}  // namespace tarn::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tarn::test;
  input in(data, size);
  if (in.below(3) == 1) fuzz_xmalloc(in);  // saved inputs begin so
  else fuzz_resource(in);
  return 0;
}
