// Members that a composition lacks. What the compiler says of a call names the constant that the member depends on.
#include <cstddef>

#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/xmalloc.h"

// case absent_release: release
// mentions: may_return_chunks
// Chunks can't go back while a reader may look into them: the notes name the constant `may_return_chunks`.
RIGHT(void use(tarn::object_pool<long, tarn::thread_cached<>>& right) { right.release(); })
WRONG(void use(tarn::object_pool<long, tarn::lock_free>& wrong) { wrong.release(); })

// case absent_statistics: statistics
// mentions: counts
// The pool counts nothing, so there is nothing to read: the notes name the constant `counts`.
struct allocation_count : tarn::no_statistics {
  static constexpr tarn::statistics_traits traits{.counts = true};
  template <class Traits>
  struct state {
    constexpr explicit state(const allocation_count&) noexcept {}
    constexpr void on_allocate(std::size_t blocks) noexcept { total += blocks; }
    constexpr void on_deallocate(std::size_t) noexcept {}
    constexpr void on_chunk(std::size_t) noexcept {}
    constexpr void off_chunk(std::size_t) noexcept {}
    constexpr std::size_t read() const noexcept { return total; }
    std::size_t total = 0;
  };
};

RIGHT(tarn::pool<tarn::static_size<64>, allocation_count> right; std::size_t use() { return right.statistics(); })
WRONG(tarn::pool<tarn::static_size<64>> wrong; auto use() { return wrong.statistics(); })

// case absent_trim_lock_free: trim
// mentions: may_return_chunks
// A thread that takes a block may still look into a chunk that another gives back.
RIGHT(void use(tarn::pool<tarn::static_size<64>, tarn::thread_cached<>>& right) { right.trim(); })
WRONG(void use(tarn::pool<tarn::static_size<64>, tarn::lock_free>& wrong) { wrong.trim(); })

// case absent_bytes_for: bytes_for
// mentions: takes_a_buffer
// The heap gives one chunk after the other: the notes name the constant `takes_a_buffer`.
RIGHT(using pool = tarn::pool<tarn::static_size<64>, tarn::buffer_store>;)
WRONG(using pool = tarn::pool<tarn::static_size<64>>;)
std::size_t use() { return pool::bytes_for(100); }

// case absent_blocks_in: blocks_in
// mentions: size_is_given_at_run_time
// What a block takes isn't known before its size is: it is an argument, then.
using pool = tarn::pool<tarn::dynamic_size, tarn::buffer_store>;

RIGHT(std::size_t use() { return pool::blocks_in(4096, tarn::dynamic_size{48}); })
WRONG(std::size_t use() { return pool::blocks_in(4096); })

// case absent_trim_of_many_sizes: trim
// mentions: may_return_chunks
struct messages;
RIGHT(std::size_t use() { return tarn::xallocator<messages, tarn::thread_cached<>>::trim(); })
WRONG(std::size_t use() { return tarn::xallocator<messages, tarn::lock_free>::trim(); })

// case absent_verify: verify
// mentions: can_verify
// Nothing is written around blocks or into free ones, so there is nothing to look at: the notes name the constant `can_verify`.
RIGHT(tarn::pool<tarn::static_size<64>, tarn::checked> right; std::size_t use() { return right.verify(); })
WRONG(tarn::pool<tarn::static_size<64>> wrong; std::size_t use() { return wrong.verify(); })

// case absent_maintain: maintain
// mentions: has_maintenance
// Nothing grows ahead and nothing goes back: the notes name the constant `has_maintenance`.
RIGHT(void use(tarn::pool<tarn::static_size<64>, tarn::grow_ahead<100>>& right) { right.maintain(); })
WRONG(void use(tarn::pool<tarn::static_size<64>>& wrong) { wrong.maintain(); })
