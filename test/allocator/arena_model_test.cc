// An arena does what a model of it says, whatever is asked of it: blocks lie apart, are aligned and keep what they hold until
// the arena goes back; the next block lies where the model says, to the byte; destructors run once, the last object's first.
//
// TARN_STEPS=n takes so many random steps for each composition.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <random>
#include <vector>

#include "tarn/allocator/arena.h"
#include "tarn/policies/checking/checked.h"
#include "tarn/policies/store/page_store.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/support/model.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {
namespace {

std::vector<int> ended;  // numbers of the objects whose destructors ran

struct object {
  explicit object(int n) : number(n) { std::memset(filled, n, sizeof filled); }
  object(const object&) = delete;
  ~object() {
    for (const char c : filled)
      if (c != static_cast<char>(number)) std::abort();
    ended.push_back(number);
  }
  int number;
  char filled[20];
};
struct alignas(16) aligned : object {
  using object::object;
};
struct alignas(128) much_aligned : object {
  using object::object;
};
int next_number = 0;
struct numbered : object {
  numbered() : object(++next_number) {}
};
struct throws {
  throws() {
    was_at = this;
    throw 1;
  }
  ~throws() { std::abort(); }
  static inline throws* was_at = nullptr;
};

using address = std::uintptr_t;

constexpr std::size_t unit = 8;
constexpr std::size_t record = 48;  // of a chunk, among several

std::size_t up(std::size_t n, std::size_t power) { return (n + power - 1) / power * power; }
std::size_t taken(std::size_t bytes) { return up(std::max<std::size_t>(bytes, 1), unit); }

struct block {
  unsigned char* at;
  std::size_t bytes;
  unsigned char fill;
  bool is_object = false;  // which looks at its contents itself
  bool in_use = true;
};

/// \tparam Kind  what the model knows of the arena's chunks
enum class chunks { unknown, one, known };

template <class Arena, chunks Kind, bool Checked = false>
class trial {
 public:
  /// \param its  the arena's upstream, if its chunks are known
  trial(Arena& arena, const upstream* its, std::uint64_t seed) : arena_(arena), upstream_(its), random_(seed) {}

  void run(std::size_t steps) {
    for (std::size_t i = 0; i != steps; ++i) step();
    verify();
  }
  /// After the arena's end.
  void check_end() { expect_ended(0); }
  std::size_t rewinds() const { return rewinds_; }

 private:
  struct saved {
    typename Arena::mark_type mark;
    std::size_t blocks, objects, in_use, depth;
    address at;
  };
  std::size_t number(std::size_t below) { return random_() % below; }

  void step() {
    const std::size_t kind = number(1000);
    if (kind < 500) any_block(kind);
    else if (kind < 600) known_blocks();
    else if (kind < 760) object_of(kind % 3);
    else if (kind < 775) throwing_object();
    else if (kind < 790) span_of_objects();
    else if (kind < 830) free_one();
    else if (kind < 870) grow_one();
    else if (kind < 920) set_mark();
    else if (kind < 985) go_back();
    else if (kind == 995) forget();
    else if (kind == 996) trim();
    if constexpr (requires { arena_.statistics(); }) check_counts();
  }

  void any_block(std::size_t kind) {
    std::size_t bytes = number(100);
    std::size_t alignment = std::size_t{1} << number(5);
    if (kind < 20) bytes = number(3000), alignment = std::size_t{1} << number(9);
    else if (kind < 80) bytes = number(260), alignment = std::size_t{1} << number(9);
    if (kind < 2) bytes = 20000 + number(20000);
    before();
    add(arena_.try_allocate(bytes, alignment), bytes, alignment);
  }
  void known_blocks() {
    before();
    add(arena_.template try_allocate<24>(), 24, 8);
    before();
    add(arena_.template try_allocate<40, 16>(), 40, 16);
    before();
    add(arena_.template try_allocate<1, 64>(), 1, 64);
  }
  template <class T>
  void make() {
    const std::size_t front = up(16, alignof(T));
    before();
    T* made = nullptr;
    try {
      made = arena_.template create<T>(++next_number);
      objects_.push_back(next_number);
    } catch (const std::bad_alloc&) {
    }
    add_object(made, front, front + sizeof(T), alignof(T));
  }
  void object_of(std::size_t which) {
    if (which == 0) make<object>();
    else if (which == 1) make<aligned>();
    else make<much_aligned>();
  }
  void span_of_objects() {
    const std::size_t n = number(4);
    before();
    const int first = next_number;
    span<numbered> made;
    try {
      made = arena_.template make_span<numbered>(n);
    } catch (const std::bad_alloc&) {
    }
    add_object(made.data(), 24, 24 + n * sizeof(numbered), 8);
    for (int i = first; i != next_number; ++i) objects_.push_back(i + 1);
  }
  /// \param front  bytes in front of it in its block
  void add_object(void* made, std::size_t front, std::size_t bytes, std::size_t alignment) {
    std::byte* const start = made == nullptr ? nullptr : static_cast<std::byte*>(made) - front;
    place(start, bytes, alignment);
    if (made != nullptr) keep({reinterpret_cast<unsigned char*>(start), bytes, 0, true});
  }
  void throwing_object() {
    before();
    throws::was_at = nullptr;
    try {
      arena_.template create<throws>();
      BOOST_ERROR("no exception");
    } catch (const std::bad_alloc&) {
    } catch (int) {
    }
    constexpr std::size_t front = 16;
    place(throws::was_at == nullptr ? nullptr : reinterpret_cast<std::byte*>(throws::was_at) - front, front + 1, 8, true);
  }

  // ---- where the next block lies -------------------------------------------------------------------------------------------

  void before() {
    in_use_ = arena_.in_use();
    calls_ = upstream_ != nullptr ? upstream_->calls() : 0;
  }
  struct range {
    address start, first, end;
  };
  std::vector<range> regions() const {
    std::vector<range> all;
    upstream_->each_region([&](const void* start, std::size_t bytes) {
      const auto from = reinterpret_cast<address>(start);
      all.push_back({from, from + record, from + bytes / 16 * 16});
    });
    return all;
  }
  range region_of(address at) const {
    for (const range& r : regions())
      if (at >= r.first && at <= r.end) return r;
    BOOST_FAIL("no block of a chunk");
    return {};
  }
  static bool fits(const range& r, address at, std::size_t bytes, std::size_t alignment) {
    return up(at, alignment) + taken(bytes) <= r.end;
  }

  /// What a request did, to the byte. `undone`: the block was given back at once.
  void place(void* block, std::size_t bytes, std::size_t alignment, bool undone = false) {
    alignment = std::max(alignment, unit);
    if (block == nullptr) return missed(bytes, alignment);
    const auto got = reinterpret_cast<address>(block);
    ++successes_;
    if (got % alignment != 0) BOOST_ERROR("not aligned");
    const std::size_t grown = arena_.in_use() + (undone ? taken(bytes) : 0) - in_use_;
    if (is_next(got, alignment)) {
      if (grown != got - at_ + taken(bytes)) BOOST_ERROR("in_use() grew by " << grown);
    } else {
      if (Kind == chunks::one && at_ != 0) BOOST_ERROR("not the next address");
      if (grown < taken(bytes)) BOOST_ERROR("in_use() grew by " << grown << " for " << bytes);
      if (Kind == chunks::known) entered(got, bytes, alignment, grown);
    }
    at_ = got + (undone ? 0 : taken(bytes));
    peak_ = std::max(peak_, in_use_ + grown);
    if (in_use_ + grown > arena_.capacity()) BOOST_ERROR("more in use than there is");
  }
  /// Whether it lies in the same chunk as the block before.
  bool is_next(address got, std::size_t alignment) const {
    if (at_ == 0 || got != up(at_, alignment)) return false;
    if (Kind == chunks::known) return region_of(got).start == region_of(at_).start;
    return Kind == chunks::one || alignment <= 16;  // there is a record between chunks
  }
  void missed(std::size_t bytes, std::size_t alignment) {
    ++misses_;
    BOOST_TEST(arena_.in_use() == in_use_);
    if (Kind == chunks::one && at_ != 0) BOOST_TEST(in_use_ + (up(at_, alignment) - at_) + taken(bytes) > arena_.capacity());
    if (Kind == chunks::known) {
      if (at_ != 0) BOOST_TEST(!fits(region_of(at_), at_, bytes, alignment));
      BOOST_TEST(!fits_a_spare(0, bytes, alignment));
    }
  }
  bool fits_a_spare(address besides, std::size_t bytes, std::size_t alignment) const {
    const std::vector<range> all = regions();
    return std::any_of(all.begin(), all.end(), [&](const range& r) {
      return r.start != besides && std::find(used_.begin(), used_.end(), r.start) == used_.end() &&
             fits(r, r.first, bytes, alignment);
    });
  }
  /// It lies at the start of a chunk that was spare or is new; the rest of the one before counts as used.
  void entered(address got, std::size_t bytes, std::size_t alignment, std::size_t grown) {
    const range now = region_of(got);
    if (got != up(now.first, alignment)) BOOST_ERROR("not at the start of a chunk");
    std::size_t rest = 0;
    if (at_ != 0) {
      const range last = region_of(at_);
      if (fits(last, at_, bytes, alignment)) BOOST_ERROR("the chunk before had room");
      rest = last.end - at_;
    }
    if (grown != rest + (got - now.first) + taken(bytes)) BOOST_ERROR("in_use() grew by " << grown);
    if (upstream_->calls() != calls_ && fits_a_spare(now.start, bytes, alignment)) BOOST_ERROR("a spare chunk had room");
    used_.push_back(now.start);
  }

  void add(void* p, std::size_t bytes, std::size_t alignment) {
    place(p, bytes, alignment);
    if (p == nullptr) return;
    const auto fill = static_cast<unsigned char>(random_());
    std::memset(p, fill, bytes);
    keep({static_cast<unsigned char*>(p), bytes, fill});
  }
  void keep(const block& b) {
    const auto start = reinterpret_cast<address>(b.at);
    const auto after = live_.lower_bound(start);
    if (after != live_.end() && after->first < start + taken(b.bytes)) BOOST_ERROR("overlaps the next");
    if (after != live_.begin() && std::prev(after)->second > start) BOOST_ERROR("overlaps the one before");
    live_[start] = start + taken(b.bytes);
    blocks_.push_back(b);
    if (!arena_.owns(b.at)) BOOST_ERROR("not owned");
  }

  // ---- the other operations ------------------------------------------------------------------------------------------------

  void check_content(const block& b, std::size_t bytes) {
    if (!std::all_of(b.at, b.at + bytes, [&](unsigned char c) { return c == b.fill; })) BOOST_ERROR("was written");
  }
  void verify() {
    for (const block& b : blocks_)
      if (b.in_use && !b.is_object) check_content(b, b.bytes);
  }
  block* newest_or_any() {
    if (blocks_.empty()) return nullptr;
    block& b = number(2) != 0 ? blocks_.back() : blocks_[number(blocks_.size())];
    return b.in_use && !b.is_object ? &b : nullptr;
  }
  /// What is allocated there next lies in front of a mark that is older, and in use after it.
  bool is_below_mark(const block& b) const {
    return !marks_.empty() && static_cast<std::size_t>(&b - blocks_.data()) < marks_.back().blocks;
  }
  bool is_newest(const block& b) const { return at_ != 0 && address(b.at) + taken(b.bytes) == at_; }
  void free_one() {
    block* const b = newest_or_any();
    if (b == nullptr) return;
    check_content(*b, b->bytes);
    const std::size_t in_use = arena_.in_use();
    const bool newest = is_newest(*b);
    arena_.deallocate(b->at, b->bytes, 1);
    if (at_ != 0 && arena_.in_use() != in_use - (newest ? taken(b->bytes) : 0)) BOOST_ERROR("freed other bytes");
    if (newest) {
      at_ = address(b->at);
      if (is_below_mark(*b)) reused_below_mark_ = true;
    }
    live_.erase(address(b->at));
    b->in_use = false;
  }
  void grow_one() {
    block* const b = newest_or_any();
    if (b == nullptr || at_ == 0 || is_below_mark(*b)) return;
    const std::size_t bytes = number(200);
    const std::size_t in_use = arena_.in_use();
    const std::size_t less = in_use - taken(b->bytes);
    bool can = is_newest(*b) && bytes != 0;
    if (Kind == chunks::one) can &= less + taken(bytes) <= arena_.capacity();
    if (Kind == chunks::known) can = can && address(b->at) + taken(bytes) <= region_of(at_).end;
    const bool did = arena_.grow_last(b->at, b->bytes, bytes);
    if (Kind != chunks::unknown && did != can) BOOST_ERROR("grew " << did << ", not " << can);
    if (!did) {
      BOOST_TEST(arena_.in_use() == in_use);
      return;
    }
    if (arena_.in_use() != less + taken(bytes)) BOOST_ERROR("in_use() after growth");
    at_ = address(b->at) + taken(bytes);
    live_[address(b->at)] = at_;
    check_content(*b, std::min(b->bytes, bytes));
    std::memset(b->at, b->fill, bytes);
    b->bytes = bytes;
  }
  void set_mark() {
    if (marks_.size() == 60) return;
    const address at = at_;
    auto mark = arena_.mark();
    if (Checked) at_ = 0;  // it left a record
    marks_.push_back({mark, blocks_.size(), objects_.size(), arena_.in_use(), used_.size(), Checked ? 0 : at});
  }
  void go_back() {
    if (marks_.empty()) return;
    for (std::size_t skipped = number(4); skipped != 0 && marks_.size() > 1; --skipped) marks_.pop_back();
    const saved to = marks_.back();
    if (number(4) != 0) marks_.pop_back();  // else the mark stays good
    verify();
    arena_.rewind(to.mark);
    ++rewinds_;
    drop_to(to.blocks);
    expect_ended(to.objects);
    used_.resize(std::min(used_.size(), to.depth));
    at_ = to.at;
    if (arena_.in_use() != to.in_use) BOOST_ERROR("in_use() " << arena_.in_use() << " instead of " << to.in_use);
  }
  void forget() {
    verify();
    const std::size_t kept = number(20000);
    switch (number(4)) {
      case 0:
        arena_.release();
        break;
      case 1:
        arena_.reset(kept);
        break;
      default:
        arena_.reset();
    }
    BOOST_TEST(arena_.in_use() == 0u);
    drop_to(0);
    expect_ended(0);
    marks_.clear();
    used_.clear();
    at_ = 0;
    reused_below_mark_ = false;
    check_capacity();
  }
  void trim() {
    const std::size_t capacity = arena_.capacity();
    const std::size_t bytes = arena_.trim();
    BOOST_TEST((bytes == 0) == (arena_.capacity() == capacity));
    check_capacity();
  }
  void check_capacity() {
    if (upstream_ == nullptr) return;
    std::size_t all = 0;
    for (const range& r : regions()) all += r.end - r.first;
    BOOST_TEST(arena_.capacity() == all);
  }
  void check_counts() {
    const auto counts = arena_.statistics();
    peak_ = std::max(peak_, arena_.in_use());
    if (counts.in_use != arena_.in_use()) BOOST_ERROR("counts " << counts.in_use << " bytes in use");
    if (Checked ? counts.peak < peak_ : counts.peak != peak_) BOOST_ERROR("peak " << counts.peak << ", not " << peak_);
    if (upstream_ != nullptr && (counts.bytes != upstream_->bytes() || counts.chunks != upstream_->regions()))
      BOOST_ERROR("counts " << counts.chunks << " chunks of " << counts.bytes << " bytes");
    if (!Checked && counts.allocations != successes_) BOOST_ERROR(counts.allocations << " allocations");
  }

  void drop_to(std::size_t blocks) {
    while (blocks_.size() > blocks) {
      const block gone = blocks_.back();
      blocks_.pop_back();
      if (!gone.in_use) continue;
      live_.erase(address(gone.at));
      if (!Checked && !reused_below_mark_ && arena_.owns(gone.at)) BOOST_ERROR("owned after its end");
    }
  }
  void expect_ended(std::size_t left) {
    BOOST_TEST(ended.size() == objects_.size() - left);
    for (const int n : ended) {
      if (objects_.back() != n) BOOST_ERROR("ended out of order");
      objects_.pop_back();
    }
    ended.clear();
  }

  Arena& arena_;
  const upstream* upstream_;
  std::mt19937_64 random_;
  std::vector<block> blocks_;
  std::vector<int> objects_;
  std::vector<saved> marks_;
  std::map<address, address> live_;
  std::vector<address> used_;  // chunks, in order
  address at_ = 0;  // where the next block lies; 0: not known
  bool reused_below_mark_ = false;
  std::size_t in_use_ = 0;
  std::size_t calls_ = 0;
  std::size_t peak_ = 0;
  std::size_t successes_ = 0, misses_ = 0, rewinds_ = 0;
};

std::size_t steps() {
  const char* const given = std::getenv("TARN_STEPS");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 8'000 * patience();
}

template <class Arena, chunks Kind, bool Checked = false, class... Given>
void try_arena(const Given&... given) {
  auto arena = std::make_unique<Arena>(given...);  // an array is too large for the stack
  trial<Arena, Kind, Checked> its(*arena, nullptr, seed());
  its.run(steps());
  BOOST_TEST(its.rewinds() > steps() / 100);
  arena.reset();
  its.check_end();
}
template <class Arena, bool Checked = false>
void try_over_upstream() {
  upstream its;
  {
    Arena arena{resource_store(&its)};
    trial<Arena, Checked ? chunks::unknown : chunks::known, Checked> one(arena, &its, seed());
    one.run(steps());
    BOOST_TEST(one.rewinds() > steps() / 100);
    arena.release();
    one.check_end();
    BOOST_TEST(its.regions() == 0u);
  }
  BOOST_TEST(its.faults() == 0u);
}

BOOST_AUTO_TEST_CASE(heap) { try_arena<arena<>, chunks::unknown>(); }
BOOST_AUTO_TEST_CASE(heap_checked) { try_arena<arena<hardened, fixed_growth<4096>>, chunks::unknown, true>(); }
BOOST_AUTO_TEST_CASE(pages) { try_arena<arena<page_store<>, counting_statistics>, chunks::unknown>(); }
BOOST_AUTO_TEST_CASE(array) { try_arena<arena<static_array_store<20000>>, chunks::one>(); }
BOOST_AUTO_TEST_CASE(array_checked) { try_arena<arena<static_array_store<20000>, checked>, chunks::one, true>(); }
BOOST_AUTO_TEST_CASE(array_counting) { try_arena<arena<static_array_store<20000>, counting_statistics>, chunks::one>(); }
BOOST_AUTO_TEST_CASE(buffer) {
  alignas(16) static std::array<std::byte, 30001> bytes;
  try_arena<arena<buffer_store>, chunks::one>(buffer_store(span<std::byte>(bytes.data() + 1, bytes.size() - 1)));
}
BOOST_AUTO_TEST_CASE(buffer_then_heap) {
  static std::array<std::byte, 5000> bytes;
  try_arena<arena<buffer_store, fall_back_to<heap_store>>, chunks::unknown>(buffer_store(span<std::byte>(bytes)));
}
BOOST_AUTO_TEST_CASE(resource) { try_over_upstream<arena<resource_store, counting_statistics>>(); }
BOOST_AUTO_TEST_CASE(resource_of_small_chunks) { try_over_upstream<arena<resource_store, fixed_growth<256>>>(); }
BOOST_AUTO_TEST_CASE(resource_with_a_cap) { try_over_upstream<arena<resource_store, fixed_growth<1000, 50000>>>(); }
BOOST_AUTO_TEST_CASE(resource_checked) { try_over_upstream<arena<resource_store, checked, fixed_growth<512>>, true>(); }

}  // namespace
}  // namespace tarn::test
