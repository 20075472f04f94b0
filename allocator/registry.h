// The registry: the pools of the process that have a name, and those that can be asked to return memory.
//
//   tarn::pool<tarn::size_of<Order>, tarn::named<"orders">> orders;
//   for (const tarn::pool_record& pool : tarn::snapshot()) std::printf("%s: %zu blocks\n", pool.name, pool.in_use);
//   std::string text = tarn::to_json(tarn::snapshot());
//   std::size_t bytes = tarn::reclaim_all();
//
// A pool with a name is in the registry from its construction on. A constant, such as a static pool, and the pool of a size
// class are there from their first chunk on. Pools whose exhaustion policy is reclaim_and_retry can be asked to return memory
// from their first chunk on. Both last until the pool is destroyed; for pools of classes and static pools, until the process
// exits or their library is unloaded. detail/pool/slow_path.h enters them.
#ifndef TARN_ALLOCATOR_REGISTRY_H_
#define TARN_ALLOCATOR_REGISTRY_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "tarn/policies/detail/process_list.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/name.h"

namespace tarn {

namespace detail {

// Pool records as text, written into a buffer without memory, locks or the C library, so that a signal handler may do it.

// ---- JSON ------------------------------------------------------------------------------------------------------------------

inline void put_json_text(text_writer& to, const char* text) noexcept {
  to.put('"');
  to.put_text(text, [&](char c) {
    if (c == '"' || c == '\\') to.put('\\'), to.put(c);
    else if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F) to.put(c);
    else to.put("\\u00"), to.put("0123456789abcdef"[c / 16]), to.put("0123456789abcdef"[c % 16]);
  });
  to.put('"');
}
inline void put_json(text_writer& to, const pool_record& r) noexcept {
  to.put("{\"name\":");
  put_json_text(to, r.name);
  to.put(",\"policies\":");
  put_json_text(to, r.policies);
  to.put(",\"address\":\"");
  to.put_address(r.address);
  to.put('"');
  if (r.where.file != nullptr) {
    to.put(",\"file\":");
    put_json_text(to, r.where.file);
    to.put(",\"line\":");
    to.put_number(r.where.line);
  }
  const auto number = [&to](const char* name, std::size_t value) {
    to.put(",\"");
    to.put(name);
    to.put("\":");
    to.put_number(value);
  };
  number("block_size", r.block_size);
  number("stride", r.stride);
  number("in_use", r.in_use);
  number("peak", r.peak);
  number("waiting", r.waiting);
  number("capacity", r.capacity);
  number("chunks", r.chunks);
  number("bytes_held", r.bytes_held);
  number("growths", r.growths);
  number("refused", r.refused);
  to.put(",\"is_exact\":");
  to.put(r.is_exact ? "true}" : "false}");
}
inline std::size_t write_json(span<const pool_record> records, span<char> out) noexcept {
  text_writer to(out);
  to.put("{\"version\":1,\"pools\":[");
  for (std::size_t i = 0; i != records.size(); ++i) {
    to.put(i == 0 ? "\n" : ",\n");
    put_json(to, records[i]);
  }
  to.put("\n]}\n");
  return to.written();
}

// ---- Prometheus ------------------------------------------------------------------------------------------------------------

struct pool_metric {
  const char* name;
  bool is_counter;
  const char* help;
  std::size_t pool_record::*value;
};
inline constexpr pool_metric pool_metrics[] = {
    {"tarn_pool_blocks_in_use", false, "Blocks handed out and not given back.", &pool_record::in_use},
    {"tarn_pool_blocks_peak", false, "The most blocks in use at once.", &pool_record::peak},
    {"tarn_pool_blocks_waiting", false, "Free blocks that wait in threads.", &pool_record::waiting},
    {"tarn_pool_blocks_capacity", false, "Blocks, free or in use.", &pool_record::capacity},
    {"tarn_pool_block_size_bytes", false, "Size of a block.", &pool_record::block_size},
    {"tarn_pool_block_stride_bytes", false, "From one block to the next.", &pool_record::stride},
    {"tarn_pool_chunks", false, "Chunks held.", &pool_record::chunks},
    {"tarn_pool_held_bytes", false, "Bytes of the chunks held.", &pool_record::bytes_held},
    {"tarn_pool_growths", true, "Chunks ever got.", &pool_record::growths},
    {"tarn_pool_refused", true, "Requests for blocks that found none.", &pool_record::refused},
};

/// \param open_metrics  OpenMetrics 1.0; otherwise Prometheus' text format 0.0.4
inline std::size_t write_prometheus(span<const pool_record> records, span<char> out, bool open_metrics) noexcept {
  text_writer to(out);
  const auto put_name = [&](const pool_metric& m, bool of_sample) {
    to.put(m.name);
    if (m.is_counter && (of_sample || !open_metrics)) to.put("_total");
  };
  const auto put_label = [&](const char* text) {
    to.put_text(text, [&](char c) {
      if (c == '\n') to.put("\\n");
      else if (c == '"' || c == '\\') to.put('\\'), to.put(c);
      else to.put(c);
    });
  };
  for (const pool_metric& m : pool_metrics) {
    to.put("# HELP ");
    put_name(m, false);
    to.put(' ');
    to.put(m.help);
    to.put("\n# TYPE ");
    put_name(m, false);
    to.put(m.is_counter ? " counter\n" : " gauge\n");
    for (const pool_record& r : records) {
      put_name(m, true);
      to.put("{pool=\"");
      put_label(r.name);
      to.put("\",id=\"");
      to.put_address(r.address);
      to.put("\"} ");
      to.put_number(r.*m.value);
      to.put('\n');
    }
  }
  if (open_metrics) to.put("# EOF\n");
  return to.written();
}

// ---- slabinfo --------------------------------------------------------------------------------------------------------------

/// Whether a character of several bytes is a space or a control character of Unicode: some scripts divide lines there.
inline bool is_wide_space(const char* text, std::size_t n) noexcept {
  std::uint32_t code = static_cast<unsigned char>(text[0]) & (0x7Fu >> n);
  for (std::size_t i = 1; i != n; ++i) code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3F);
  return code <= 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200F) || (code >= 0x2028 && code <= 0x202F) ||
         (code >= 0x205F && code <= 0x206F) || code == 0x3000 || code == 0xFEFF;
}

/// The columns of Linux' /proc/slabinfo, version 2.1. A chunk is a slab; of chunks of several sizes, the average.
inline std::size_t write_slabinfo(span<const pool_record> records, span<char> out) noexcept {
  constexpr std::size_t page = 4096;
  text_writer to(out);
  to.put(
      "slabinfo - version: 2.1\n"
      "# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables <limit> <batchcount> "
      "<sharedfactor> : slabdata <active_slabs> <num_slabs> <sharedavail>\n");
  for (const pool_record& r : records) {
    if (*r.name == 0) to.put('-');
    const auto is_first = [&to, at = to.written()] { return to.written() == at; };
    to.put_text(
        r.name,
        [&](char c) {
          const bool is_comment = c == '#' && is_first();
          to.put(static_cast<unsigned char>(c) <= ' ' || c == 0x7F || is_comment ? '_' : c);
        },
        [&](const char* wide, std::size_t n) {
          if (is_wide_space(wide, n)) return to.put('_');
          for (std::size_t i = 0; i != n; ++i) to.put(wide[i]);
        });
    const std::size_t slabs = larger(r.chunks, 1);
    const std::size_t columns[] = {r.in_use, r.capacity, r.stride, r.capacity / slabs,
                                   (r.bytes_held / slabs + page - 1) / page};
    for (const std::size_t value : columns) {
      to.put(' ');
      to.put_number(value);
    }
    to.put(" : tunables 0 0 0 : slabdata ");
    to.put_number(r.chunks);
    to.put(' ');
    to.put_number(r.chunks);
    to.put(" 0\n");
  }
  return to.written();
}

}  // namespace detail

// ---- what there is -------------------------------------------------------------------------------------------------------

/// Writes a record for each pool with a name into `out`, as many as fit, in the order in which they were registered. Returns
/// how many such pools there are. Each record shows one moment, under that pool's lock. During this, pools may be created,
/// destroyed and used. A pool that is being destroyed, or whose owner walks through its blocks, is left out. Allocates nothing.
/// Not for signal handlers, because it takes locks.
inline std::size_t snapshot(span<pool_record> out) noexcept { return detail::write_records(out.data(), out.size()); }

/// The records of a snapshot: a range of pool_record. It can be moved.
class pool_snapshot {
 public:
  /// Takes the records of another, which is then empty. Assignment returns *this.
  pool_snapshot(pool_snapshot&& other) noexcept
      : records_(detail::replace(other.records_, nullptr)), size_(detail::replace(other.size_, std::size_t{0})) {}
  pool_snapshot& operator=(pool_snapshot&& other) noexcept {
    pool_snapshot taken(static_cast<pool_snapshot&&>(other));
    detail::swap_both(records_, taken.records_);
    detail::swap_both(size_, taken.size_);
    return *this;
  }
  ~pool_snapshot() { delete[] records_; }

  /// Return iterators, which are pointers.
  const pool_record* begin() const noexcept { return records_; }
  const pool_record* end() const noexcept { return records_ + size_; }
  /// Return the records as an array, their number, and whether there are none.
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
  for (std::size_t room = detail::pools_of_process().listed();; room += room / 4) {
    room += 8;  // more may be created in between
    pool_snapshot all;
    all.records_ = new pool_record[room];
    all.size_ = snapshot(span<pool_record>(all.records_, room));
    if (all.size_ <= room) return all;
    all.size_ = 0;
  }
}

// ---- as text -------------------------------------------------------------------------------------------------------------
// Those with a buffer may be called in a signal handler.

/// Write the records as text into `out`, as much as fits, without a terminating null, and return the length of the complete
/// text; or return the text. The formats: JSON ({"version":1,"pools":[{"name":"orders",...},...]}, with the names of
/// pool_record's members), Prometheus' text 0.0.4, OpenMetrics 1.0, and Linux' /proc/slabinfo 2.1, where a chunk is a slab.
/// Those with `out` allocate nothing and take no lock. O(records).
/// Throws: std::bad_alloc, those that return the text.
inline std::size_t to_json(span<const pool_record> records, span<char> out) noexcept {
  return detail::write_json(records, out);
}
inline std::size_t to_prometheus(span<const pool_record> records, span<char> out) noexcept {
  return detail::write_prometheus(records, out, false);
}
inline std::size_t to_open_metrics(span<const pool_record> records, span<char> out) noexcept {
  return detail::write_prometheus(records, out, true);
}
inline std::size_t to_slabinfo(span<const pool_record> records, span<char> out) noexcept {
  return detail::write_slabinfo(records, out);
}

namespace detail {
std::string as_text(span<const pool_record> records, auto write) {
  std::string text(write(records, span<char>()), '\0');
  write(records, span<char>(text.data(), text.size()));
  return text;
}
}  // namespace detail

/// Write the records as text into `out`, as much as fits, without a terminating null, and return the length of the complete
/// text; or return the text. The formats: JSON ({"version":1,"pools":[{"name":"orders",...},...]}, with the names of
/// pool_record's members), Prometheus' text 0.0.4, OpenMetrics 1.0, and Linux' /proc/slabinfo 2.1, where a chunk is a slab.
/// Those with `out` allocate nothing and take no lock. O(records).
/// Throws: std::bad_alloc, those that return the text.
inline std::string to_json(span<const pool_record> records) { return detail::as_text(records, detail::write_json); }
inline std::string to_prometheus(span<const pool_record> records) {
  return detail::as_text(records, [](span<const pool_record> all, span<char> out) { return to_prometheus(all, out); });
}
inline std::string to_open_metrics(span<const pool_record> records) {
  return detail::as_text(records, [](span<const pool_record> all, span<char> out) { return to_open_metrics(all, out); });
}
inline std::string to_slabinfo(span<const pool_record> records) { return detail::as_text(records, detail::write_slabinfo); }

// ---- checks --------------------------------------------------------------------------------------------------------------

/// Switches the checks of the pools of that name on or off, if their checking policy is switchable_checking. With thread_cached
/// and lock_free, only TARN_CHECK can switch them on, before the program starts; without a lock, also the thread that last used
/// the pool. Returns how many pools were switched, and how many refused: both 0 if no pool of the name has such checks. Takes
/// locks. O(pools), and O(chunks) of those.
inline switched_pools switch_checks(const char* name, bool on) noexcept {
  return detail::switch_checks_of(span<const char>(name, std::strlen(name)), on);
}

// ---- memory back ---------------------------------------------------------------------------------------------------------

/// Asks every registered pool to trim, those of a low priority first. Returns the bytes that were returned to their stores. It
/// skips a pool whose store another thread is calling, and one without a lock that another thread used last. Stores and locking
/// policies run with nothing else held.
inline std::size_t reclaim_all() noexcept {
  std::size_t bytes = 0;
  for (detail::reclaim_round round; !round.ended;) bytes += detail::pools_of_process().trim_next(round);
  return bytes;
}

}  // namespace tarn

#endif  // TARN_ALLOCATOR_REGISTRY_H_
