// Rings of events: what a dump holds, also while threads trace; rings of threads that ended; and samples.
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "tarn/allocator/pool.h"
#include "tarn/policies/statistics/trace_ring.h"
#include "tarn/policies/statistics/sampled_trace.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

using record = detail::trace_record;
struct dumped {
  std::uint64_t ring;
  std::uint64_t first;
  record its;
  trace_kind kind() const { return static_cast<trace_kind>(its.bytes_and_kind >> 56); }
  bool is_thread() const { return its.bytes_and_kind >> 56 == 0x80; }
};

/// The events of a dump, with their numbers.
template <class Ring>
std::vector<dumped> dump_of(called_from = {}) {
  std::vector<dumped> found;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  REQUIRE(file != nullptr);
  CHECK(Ring::dump_trace(file.get()));
  std::rewind(file.get());
  detail::trace_header header;
  REQUIRE(std::fread(&header, sizeof header, 1, file.get()) == 1);
  CHECK(std::memcmp(header.magic, "tarntrac", 8) == 0);
  CHECK(header.version == 1u);
  for (std::uint64_t pieces = 0;; ++pieces) {
    detail::trace_piece piece;
    REQUIRE(std::fread(&piece, sizeof piece, 1, file.get()) == 1);
    if (piece.events == 0) {
      CHECK(piece.first == pieces);
      return found;
    }
    for (std::uint64_t i = 0; i != piece.events; ++i) {
      record one;
      REQUIRE(std::fread(&one, sizeof one, 1, file.get()) == 1);
      found.push_back({piece.ring, piece.first + i, one});
    }
  }
}

std::uint64_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

}  // namespace

// Each case has rings of its own: another size is another class.
BOOST_AUTO_TEST_CASE(a_dump_holds_what_happened) {
  using ring = trace_ring<128, 4>;
  pool<static_size<64>, tracing_statistics<ring>> pool;
  void* const a = pool.allocate();
  void* const b = pool.allocate();
  pool.deallocate(a);
  const auto events = dump_of<ring>();
  REQUIRE(events.size() == 5u);
  CHECK(events[0].is_thread());
  CHECK(events[1].kind() == trace_kind::grow);
  CHECK(events[2].kind() == trace_kind::allocate);
  CHECK(events[2].its.address == number(a));
  CHECK((events[2].its.bytes_and_kind & 0xffffff) == 64u);
  CHECK(events[3].its.address == number(b));
  CHECK(events[4].kind() == trace_kind::free);
  CHECK(events[4].its.address == number(a));
  for (std::size_t i = 2; i != 5; ++i) {
    CHECK(events[i].its.pool == events[1].its.pool);
    CHECK(events[i].its.ticks >= events[i - 1].its.ticks);
  }
  pool.deallocate(b);
}

BOOST_AUTO_TEST_CASE(the_oldest_events_are_replaced) {
  using ring = trace_ring<64, 4>;
  pool<static_size<64>, tracing_statistics<ring>> pool;
  for (int i = 0; i != 100; ++i) pool.deallocate(pool.allocate());
  const auto events = dump_of<ring>();
  REQUIRE(events.size() == 63u);  // one is perhaps being replaced
  CHECK(events.back().first == 201u);  // of the thread, the chunk, and 200
  for (std::size_t i = 1; i != events.size(); ++i) {
    CHECK(events[i].first == events[i - 1].first + 1);
    CHECK(events[i].kind() != events[i - 1].kind());
  }
}

BOOST_AUTO_TEST_CASE(each_event_has_its_time_if_asked_for) {
  using ring = trace_ring<256, 4, trace_times::each_event>;
  pool<static_size<64>, tracing_statistics<ring>> pool;
  for (int i = 0; i != 20; ++i) pool.deallocate(pool.allocate());
  std::set<std::uint64_t> times;
  for (const auto& event : dump_of<ring>()) times.insert(event.its.ticks);
  CHECK(times.size() > 1u);
}

BOOST_AUTO_TEST_CASE(rings_of_threads_that_ended_are_taken_again) {
  using ring = trace_ring<1024, 2>;
  pool<static_size<64>, mutex_locking<>, tracing_statistics<ring>> pool;
  pool.deallocate(pool.allocate());
  for (int i = 0; i != 5; ++i) std::thread([&] { pool.deallocate(pool.allocate()); }).join();
  CHECK(ring::lost() == 0u);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> threads;  // who, and who had the ring before
  std::size_t frees = 0;
  for (const auto& event : dump_of<ring>()) {
    if (event.is_thread()) threads.emplace_back(event.its.address, event.its.pool);
    else frees += event.kind() == trace_kind::free ? 1 : 0;
  }
  CHECK(frees == 6u);
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> expected{{1, 0}, {2, 0}, {3, 2}, {4, 3}, {5, 4}, {6, 5}};
  CHECK(threads == expected);
}

BOOST_AUTO_TEST_CASE(events_without_a_ring_are_counted) {
  using ring = trace_ring<512, 1>;
  pool<static_size<64>, mutex_locking<>, tracing_statistics<ring>> pool;
  pool.deallocate(pool.allocate());
  const std::size_t before = dump_of<ring>().size();
  std::thread([&] { pool.deallocate(pool.allocate()); }).join();
  CHECK(ring::lost() == 2u);
  CHECK(dump_of<ring>().size() == before);
}

BOOST_AUTO_TEST_CASE(a_dump_while_threads_trace_has_no_torn_event) {
  using ring = trace_ring<1024, 8>;  // several pieces, between which threads go on
  pool<static_size<64>, thread_cached<>, tracing_statistics<ring>> pool;
  std::atomic<bool> ends = false;
  std::atomic<int> started = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t != 3; ++t)
    threads.emplace_back([&] {
      for (int i = 0; !ends; ++i) {
        ring::on_event({trace_kind::allocate, reinterpret_cast<void*>(static_cast<std::uintptr_t>(i)),
                        reinterpret_cast<void*>(static_cast<std::uintptr_t>(i)), static_cast<std::size_t>(i & 0xffff)});
        if (i == 100) ++started;
        if (i % 16 == 0) pool.deallocate(pool.allocate());
      }
    });
  while (started != 3) std::this_thread::yield();
  std::size_t torn = 0, seen = 0, misplaced = 0;
  for (int i = 0; i != 100; ++i) {
    std::uint64_t of = 0, before = 0;
    for (const auto& event : dump_of<ring>()) {
      if (event.is_thread() || event.its.pool > 0xffffffff) continue;  // the pool's own
      torn += event.its.pool == event.its.address && (event.its.pool & 0xffff) == (event.its.bytes_and_kind & 0xffff) ? 0 : 1;
      misplaced += event.ring == of && event.its.pool <= before ? 1 : 0;
      of = event.ring;
      before = event.its.pool;
      ++seen;
    }
  }
  ends = true;
  for (auto& thread : threads) thread.join();
  CHECK(torn == 0u);
  CHECK(misplaced == 0u);
  CHECK(seen > 0u);
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_written_is_told) {
  CHECK(!trace_ring<128, 4>::dump_trace("/no such folder/trace.bin"));
}

// ---- sampled_trace ---------------------------------------------------------------------------------------------------------

namespace {
template <int>
struct tally {
  static void on_event(const trace_event& event) noexcept {
    if (event.kind == trace_kind::allocate) ++allocations, live.insert(event.address);
    else if (event.kind == trace_kind::free) frees += live.erase(event.address);
    else if (event.kind == trace_kind::release) ++releases;
  }
  static inline std::size_t allocations, frees, releases;
  static inline std::set<const void*> live;
};

/// Whether so many of n are chosen as their size says: within six times the standard deviation.
template <std::size_t Block, std::size_t Mean, class Locking>
void sample(called_from = {}) {
  using sink = tally<static_cast<int>(Block + Mean)>;
  sink::allocations = sink::frees = 0;
  pool<static_size<Block>, Locking, tracing_statistics<sampled_trace<sink, Mean>>> pool;
  constexpr std::size_t n = 100000;
  for (std::size_t i = 0; i != n; ++i) pool.deallocate(pool.allocate());
  const double chance = 1 - std::exp(-static_cast<double>(Block) / static_cast<double>(Mean));
  const double mean = chance * static_cast<double>(n);
  CHECK(std::abs(static_cast<double>(sink::allocations) - mean) < 6 * std::sqrt(mean * (1 - chance)));
  CHECK(sink::frees == sink::allocations);
  CHECK(sink::live.empty());
}
}  // namespace

BOOST_AUTO_TEST_CASE(samples_are_as_many_as_their_bytes_say) {
  sample<64, 128, no_locking>();
  sample<256, 100, mutex_locking<>>();
  sample<64, 6400, thread_cached<>>();
  sample<64, 300, lock_free>();
}

BOOST_AUTO_TEST_CASE(a_release_lets_the_samples_of_its_pool_go) {
  using sink = tally<-1>;
  using sampled = sampled_trace<sink, 1, 64>;
  pool<static_size<64>, tracing_statistics<sampled>> one, other;
  void* const block = other.allocate();
  for (int i = 0; i != 500; ++i) static_cast<void>(one.allocate());
  CHECK(sampled::missed() > 0u);
  const std::size_t chosen = sink::allocations;
  CHECK(chosen <= 64u);
  CHECK(chosen + sampled::missed() > 495u);  // each byte is due, but for a few by chance
  one.release();
  CHECK(sink::releases == 1u);
  other.deallocate(block);
  CHECK(sink::frees == 1u);
  for (int i = 0; i != 500; ++i) static_cast<void>(one.allocate());
  CHECK(sink::allocations - chosen > 65 - chosen);  // more than places were left, with that of `block`
}

}  // namespace tarn::test
