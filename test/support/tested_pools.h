// The tested compositions as values: what is tried on every pool is written as for one, and compiled once. The pools themselves
// are compiled in shards (tested_pools.cc).
#ifndef TARN_TEST_SUPPORT_TESTED_POOLS_H_
#define TARN_TEST_SUPPORT_TESTED_POOLS_H_

#include <cstddef>
#include <memory>
#include <ostream>
#include <span>
#include <vector>

#include "tarn/test/support/any_pool.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {

/// A reservation behind virtual functions.
class any_reservation {
 public:
  virtual ~any_reservation() = default;
  virtual explicit operator bool() const noexcept = 0;
  virtual std::size_t remaining() const noexcept = 0;
  virtual void* allocate() noexcept = 0;
};

/// A rig behind virtual functions.
class any_rig {
 public:
  virtual ~any_rig() = default;
  any_pool& pool;
  test::upstream& upstream;
  /// What tells the chunks of a pool apart: the chunk in which a block lies.
  virtual const void* chunk_of(const void* block) const noexcept = 0;
  virtual std::unique_ptr<any_reservation> try_reserve_blocks(std::size_t blocks) = 0;

 protected:
  any_rig(any_pool& p, test::upstream& u) : pool(p), upstream(u) {}
};

/// A row of the list of compositions: what follows from its policies (as in `facts`), and how one is made.
struct tested_pool {
  std::size_t row;
  bool at_run_time;  // the size
  std::size_t bytes, alignment;
  bool bounded;
  bool ends;
  bool over_resource;
  bool keeps_memory;
  bool keeps_blocks;
  bool sees_empty_chunks;
  bool returns_chunks;
  bool returns_pages;
  bool may_return_chunks;
  bool in_place;
  bool one_thread;
  bool is_listed;
  std::size_t beside;
  std::unique_ptr<any_rig> (*make)();
  std::unique_ptr<any_pool> (*make_over)(upstream&);  // of pools over a resource, else null

  // Of pools in a buffer, else null: the static members, and a pool in that one.
  std::size_t (*bytes_for)(std::size_t blocks, std::size_t alignment);
  std::size_t (*blocks_in)(std::size_t bytes, std::size_t alignment);
  std::unique_ptr<any_pool> (*make_in)(std::span<std::byte>);

  friend std::ostream& operator<<(std::ostream& out, const tested_pool& p) {
    return out << "row " << p.row << " of cover.inc";
  }
};

/// All of them, in the order of the list.
const std::vector<tested_pool>& tested_pools();

}  // namespace tarn::test

#endif  // TARN_TEST_SUPPORT_TESTED_POOLS_H_
