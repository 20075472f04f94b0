// The registry: the pools of the process that have a name, and those that can be asked for memory.
//
//   tarn::pool<tarn::size_of<Order>, tarn::named<"orders">> orders;
//   for (const tarn::pool_record& pool : tarn::snapshot()) std::printf("%s: %zu blocks\n", pool.name, pool.in_use);
//   std::string text = tarn::to_json(tarn::snapshot());
//   std::size_t bytes = tarn::reclaim_all();
//
// A pool with a name is in the registry from its construction on; one that is a constant, as static pools are, from its first
// chunk on. Those whose exhaustion policy is reclaim_and_retry can be asked for memory from their first chunk on. Either ends
// with the pool; for pools of classes and static pools, with the process or their library.
#ifndef TARN_ALLOCATOR_REGISTRY_H_
#define TARN_ALLOCATOR_REGISTRY_H_

#include <cstddef>
#include <cstring>
#include <string>

#include "tarn/policies/detail/reclaim_list.h"
#include "tarn/policies/detail/replace.h"
#include "tarn/policies/detail/span.h"
#include "tarn/policies/name/listed_pools.h"
#include "tarn/policies/name/pool_record.h"
#include "tarn/policies/name/record_text.h"

namespace tarn {

// ---- what there is -------------------------------------------------------------------------------------------------------

/// Writes a record for each pool with a name into `out`, as many as it has room for, in the order in which they came. Returns
/// how many pools there are. Each record is of one moment, which the pool's lock keeps; the moments follow one another. Pools
/// may come, go and be used meanwhile: no thread waits but those that need the lock of the pool that is looked at. A pool
/// that ends, or whose owner walks through its blocks, isn't in it. Allocates nothing. May be called wherever a lock may be
/// taken: not in a signal handler. O(pools), and for each O(blocks in the list's front, and free blocks under lifo_reuse or
/// lock_free).
inline std::size_t snapshot(span<pool_record> out) noexcept {
  return detail::pools_of_process().fill(out.data(), out.size());
}

/// The records that a snapshot took: a range of pool_record. It can be moved.
class pool_snapshot {
 public:
  /// Takes the records of another, which is then empty. The assignment returns *this.
  pool_snapshot(pool_snapshot&& other) noexcept
      : records_(detail::replace(other.records_, nullptr)), size_(detail::replace(other.size_, std::size_t{0})) {}
  pool_snapshot& operator=(pool_snapshot&& other) noexcept {
    pool_snapshot taken(static_cast<pool_snapshot&&>(other));
    detail::swap_both(records_, taken.records_);
    detail::swap_both(size_, taken.size_);
    return *this;
  }
  ~pool_snapshot() { delete[] records_; }

  /// Return pointers to the first record, and past the last: iterators.
  const pool_record* begin() const noexcept { return records_; }
  const pool_record* end() const noexcept { return records_ + size_; }
  /// Return the records as an array, how many they are, and whether there is none.
  const pool_record* data() const noexcept { return records_; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  /// Returns record `i`. Precondition: i < size().
  const pool_record& operator[](std::size_t i) const noexcept { return records_[i]; }

 private:
  friend pool_snapshot snapshot();
  pool_snapshot() noexcept = default;

  pool_record* records_ = nullptr;
  std::size_t size_ = 0;
};

/// Returns a record for each pool with a name: as snapshot(out) writes them.
/// Throws: std::bad_alloc.
[[nodiscard]] inline pool_snapshot snapshot() {
  for (std::size_t room = detail::pools_of_process().size();; room += room / 4) {
    room += 8;  // some may come meanwhile
    pool_snapshot all;
    all.records_ = new pool_record[room];
    all.size_ = snapshot(span<pool_record>(all.records_, room));
    if (all.size_ <= room) return all;
    all.size_ = 0;
  }
}

// ---- as text -------------------------------------------------------------------------------------------------------------
// Those with a buffer allocate nothing and take no lock: they may be called in a signal handler.

/// Writes JSON into `out`, as much as there is room for, without a null at its end:
/// {"version":1,"pools":[{"name":"orders",...},...]}. The names are those of pool_record's members. Returns how many characters
/// the whole text has. O(records).
inline std::size_t to_json(span<const pool_record> records, span<char> out) noexcept {
  return detail::write_json(records, out);
}
/// The same in the text format of Prometheus, version 0.0.4.
inline std::size_t to_prometheus(span<const pool_record> records, span<char> out) noexcept {
  return detail::write_prometheus(records, out, false);
}
/// The same in the text format of OpenMetrics, version 1.0.
inline std::size_t to_open_metrics(span<const pool_record> records, span<char> out) noexcept {
  return detail::write_prometheus(records, out, true);
}
/// The same in the columns of Linux' /proc/slabinfo, version 2.1: a chunk is a slab.
inline std::size_t to_slabinfo(span<const pool_record> records, span<char> out) noexcept {
  return detail::write_slabinfo(records, out);
}

namespace detail {
template <class Write>
std::string as_text(span<const pool_record> records, Write write) {
  std::string text(write(records, span<char>()), '\0');
  write(records, span<char>(text.data(), text.size()));
  return text;
}
}  // namespace detail

/// Returns the records as JSON.
/// Throws: std::bad_alloc.
inline std::string to_json(span<const pool_record> records) { return detail::as_text(records, detail::write_json); }
/// Returns the records in the text format of Prometheus.
/// Throws: std::bad_alloc.
inline std::string to_prometheus(span<const pool_record> records) {
  return detail::as_text(records, [](span<const pool_record> all, span<char> out) { return to_prometheus(all, out); });
}
/// Returns the records in the text format of OpenMetrics.
/// Throws: std::bad_alloc.
inline std::string to_open_metrics(span<const pool_record> records) {
  return detail::as_text(records, [](span<const pool_record> all, span<char> out) { return to_open_metrics(all, out); });
}
/// Returns the records in the columns of Linux' /proc/slabinfo.
/// Throws: std::bad_alloc.
inline std::string to_slabinfo(span<const pool_record> records) { return detail::as_text(records, detail::write_slabinfo); }

// ---- checks --------------------------------------------------------------------------------------------------------------

/// Switches the checks of the pools of that name on or off, where their checking policy is switchable_checking. Those of pools
/// without a lock, of thread_cached and of lock_free can be switched on only by TARN_CHECK, before the program starts; but the
/// thread that used a pool without a lock last may do it. Returns how many pools that were, and how many refused: both 0 where
/// no pool of the name has such checks. May be called wherever a lock may be taken. O(pools), and O(chunks) of those.
inline switched_pools switch_checks(const char* name, bool on) noexcept {
  return detail::pools_of_process().switch_checks(span<const char>(name, std::strlen(name)), on);
}

// ---- memory back ---------------------------------------------------------------------------------------------------------

/// Asks every registered pool to trim, those of a low priority first. Returns the bytes that went back to their stores. It
/// waits for no pool: it skips one whose store another thread is calling, and one without a lock that another thread used last.
/// It may be called from anywhere, also by several threads at once; stores and locking policies run with nothing else held.
inline std::size_t reclaim_all() noexcept {
  std::size_t bytes = 0;
  for (detail::reclaim_round round; !round.ended;) bytes += detail::reclaimable_pools().ask_next(round);
  return bytes;
}

}  // namespace tarn

#endif  // TARN_ALLOCATOR_REGISTRY_H_
