// What a checking policy knows about each block of a chunk: a record for each, in the chunk's column, outside the blocks.
#ifndef TARN_POLICIES_CHECKING_DETAIL_BLOCK_RECORDS_H_
#define TARN_POLICIES_CHECKING_DETAIL_BLOCK_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "tarn/policies/checking/call_site.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/this_thread_number.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/secret.h"

namespace tarn::detail {

/// In use or not: a byte, which also says whether the block was ever handed out. A bit would be an eighth of that, but each
/// call would wait for the word that the previous call wrote: 3.1 ns a pair more than without checks, instead of 2.7 (64-byte
/// blocks of a static array, g++ 12, Xeon with AMX); in churn the two are even.
struct live_mark {
  TARN_STEP bool in_use() const noexcept { return state == used; }
  TARN_STEP bool was_handed_out() const noexcept { return state != never_used; }
  TARN_STEP void take(std::uint64_t&) noexcept { state = used; }
  TARN_STEP void give(std::uint64_t&) noexcept { state = idle; }
  void tell(misuse&) const noexcept {}

  enum : unsigned char { never_used, used, idle } state;
};

/// In use or not, and how many times it was: odd while it is in use. After 2^31 uses of the block a number comes again.
struct generation_mark {
  TARN_STEP bool in_use() const noexcept { return (count & 1) != 0; }
  TARN_STEP bool was_handed_out() const noexcept { return count != 0; }
  std::uint64_t generation() const noexcept { return count; }
  TARN_STEP void take(std::uint64_t&) noexcept { ++count; }
  TARN_STEP void give(std::uint64_t&) noexcept { count += count + 1 == 0 ? 3 : 1; }  // never 0 again: that means a new block
  void tell(misuse&) const noexcept {}

  std::uint32_t count;
};

/// The last allocation and the last free of a block: which operation of the pool each was, and by which thread.
struct life_record {
  TARN_STEP bool in_use() const noexcept { return allocated > freed; }
  TARN_STEP bool was_handed_out() const noexcept { return allocated != 0; }
  std::uint64_t generation() const noexcept { return allocated; }
  TARN_STEP void take(std::uint64_t& sequence) noexcept {
    allocated = ++sequence;
    allocated_by = this_thread_number();
  }
  TARN_STEP void give(std::uint64_t& sequence) noexcept {
    freed = ++sequence;
    freed_by = this_thread_number();
  }
  void tell(misuse& what) const noexcept {
    what.allocated = allocated;
    what.allocated_by = allocated_by;
    what.freed = in_use() ? 0 : freed;  // a free of the previous use doesn't matter
    what.freed_by = in_use() ? 0 : freed_by;
  }

  std::uint64_t allocated;
  std::uint64_t freed;
  std::uint64_t allocated_by;
  std::uint64_t freed_by;
};

/// The same, and where the block was allocated, if the caller says.
struct sited_record : life_record {
  TARN_STEP void take(std::uint64_t& sequence) noexcept {
    life_record::take(sequence);
    site = {};
  }
  void tell(misuse& what) const noexcept {
    life_record::tell(what);
    what.file = site.file;
    what.line = site.line;
  }

  call_site site;
};

template <class Record>
concept counts_uses = requires(const Record& one) { one.generation(); };

/// So many chunks of the process, of any pool, have counted uses. Where a library has a variable of its own, it numbers its
/// chunks from elsewhere on.
TARN_ONE_IN_PROCESS inline constinit atomic_word<std::uintptr_t> chunks_that_count = 0;

/// A number for each chunk that no other had, in the upper half of each generation: counts of uses begin anew in a chunk that
/// comes again at the same address, and in another pool's.
struct chunk_number {
  void draw() noexcept {
    upper_half = (std::uint64_t{chunks_that_count.fetch_add(1, memory_order_relaxed)} +
                  scatter(address_of(&chunks_that_count)))
                 << 32;
  }
  std::uint64_t upper_half = 0;
};
struct no_chunk_number {
  static void draw() noexcept {}
};

/// The column. A record is made when its block is first handed out: a chunk of a million blocks costs no more than one.
template <class Record>
class block_records {
 public:
  template <class Geometry>
  static constexpr std::size_t column_bytes(std::size_t blocks, const Geometry&) noexcept {
    return multiply(blocks, sizeof(Record));
  }
  template <class Geometry>
  void open(std::byte* column, std::size_t, const Geometry&) noexcept {
    records_ = reinterpret_cast<Record*>(column);
    ready_ = 0;
    number_.draw();
  }

  TARN_STEP bool in_use(std::size_t i) const noexcept { return i < ready_ && records_[i].in_use(); }
  /// The record of a block, or null if it was never handed out.
  TARN_STEP Record* find(std::size_t i) const noexcept { return i < ready_ ? records_ + i : nullptr; }
  TARN_STEP Record& get(std::size_t i) noexcept {
    while (ready_ <= i) [[unlikely]] ::new (static_cast<void*>(records_ + ready_++)) Record{};
    return records_[i];
  }
  std::size_t ready() const noexcept { return ready_; }
  /// As if no block had ever been handed out.
  void forget() noexcept { ready_ = 0; }
  /// A number that no other use of a block at this address had, in this pool or another, within 2^31 uses of the block and 2^32
  /// chunks of the process. Precondition: the block is in use.
  std::uint64_t generation(std::size_t i) const noexcept
    requires(counts_uses<Record>)
  {
    return number_.upper_half + records_[i].generation();
  }

 private:
  Record* records_ = nullptr;
  std::size_t ready_ = 0;
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<counts_uses<Record>, chunk_number, no_chunk_number> number_;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_CHECKING_DETAIL_BLOCK_RECORDS_H_
