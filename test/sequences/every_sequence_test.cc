// Every sequence of calls on a pool of a few blocks, of any length: no block is handed out twice or overlaps another, none is
// lost, null comes exactly when all are out, nothing is written around the pool, and blocks in use keep their content.
//
// The search is breadth first over the states of a pool: its bytes, and which blocks are in use. A state is entered by the
// calls that led to it, on a new pool. A state that was met before isn't followed again, because what follows depends on
// nothing else. When no further state is found, every sequence has been tried. Two states count as one if 128 bits of a hash
// are the same. The calls: allocate a block, or two at once; free a block, or the first two at once; free null.
//
// Fronts and batches of batch_reuse and page_local_reuse never fill here: test/policies/reuse has that.
// check_mistakes.py makes mistakes in the library, each of which this must find.
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tarn/allocator/pool.h"

namespace {

constexpr std::size_t most_blocks = 6, block_bytes = 24;

unsigned misuses = 0;
void note(const tarn::misuse&) noexcept { ++misuses; }
using reported = tarn::reported_to<note>;

/// Interrupts, and a mutex, that know whether each call puts them back.
struct mask {
  static inline bool masked = false, wrong = false;
  static bool save_and_mask() noexcept { return std::exchange(masked, true); }
  static void restore(bool before) noexcept { masked = before; }
};
struct one_mutex {
  void lock() noexcept { mask::wrong |= std::exchange(held, true); }
  void unlock() noexcept { mask::wrong |= !std::exchange(held, false); }
  bool held = false;  // part of the state
};

/// A pool of any type, with bytes around it that nobody may write.
class subject {
 public:
  virtual void create() = 0;
  virtual void destroy() = 0;
  virtual void* take() = 0;
  virtual std::size_t take(void** out, std::size_t n) = 0;
  virtual void give(void* block) = 0;
  virtual void give(void* const* blocks, std::size_t n) = 0;
  virtual bool owns(const void* block) const = 0;
  virtual bool wrote_around() const = 0;

  std::byte* start = nullptr;  // of the pool
  std::size_t bytes = 0;
  std::size_t blocks = 0;

 protected:
  ~subject() = default;
};

template <class Pool, std::size_t Blocks>
class subject_of final : public subject {
 public:
  subject_of() {
    start = room_.place;
    bytes = sizeof(Pool);
    blocks = Blocks;
  }
  void create() override {
    std::memset(static_cast<void*>(&room_), 0, sizeof room_);  // padding, too
    pool_ = ::new (static_cast<void*>(room_.place)) Pool;
  }
  void destroy() override { pool_->~Pool(); }
  void* take() override { return pool_->try_allocate(); }
  std::size_t take(void** out, std::size_t n) override { return pool_->try_allocate_batch(tarn::span<void*>(out, n)); }
  void give(void* block) override { pool_->deallocate(block); }
  void give(void* const* all, std::size_t n) override { pool_->deallocate_batch(tarn::span<void* const>(all, n)); }
  bool owns(const void* block) const override { return pool_->owns(block); }
  bool wrote_around() const override {
    for (std::size_t i = 0; i != around; ++i)
      if (room_.in_front[i] != std::byte{} || room_.behind[i] != std::byte{}) return true;
    return false;
  }

 private:
  static constexpr std::size_t around = 128;
  struct {
    std::byte in_front[around];
    alignas(Pool) std::byte place[sizeof(Pool)];
    std::byte behind[around];
  } room_;
  Pool* pool_ = nullptr;
};

/// What is done in a state: allocate, allocate two, free null, free the first two, or free block i.
enum step : std::uint8_t { take_one, take_two, give_null, give_two, give_first };

/// What the search must know of a composition.
struct peculiarities {
  bool keeps_nulls = false;  // each free of null is a state of its own: too many to follow
  std::size_t counting = 0;  // bytes that only count calls, so that they are no part of the state
  std::size_t longest = 0;   // calls of a sequence; 0: the search goes on until it finds no further state
};

class search {
 public:
  search(subject& pool, const peculiarities& how) : pool_(pool), how_(how) {
    if (how_.longest != 0) return;
    find_counters();
    if (counting_.size() != how_.counting) fault_ = std::to_string(counting_.size()) + " bytes count calls";
  }

  void run() {
    const std::size_t longest = how_.longest != 0 ? how_.longest : 64;
    std::vector<std::uint32_t> now{0}, next;
    nodes_ = {{0, take_one}};
    for (std::size_t length = 0; length != longest && !now.empty() && fault_.empty(); ++length, now.swap(next)) {
      next.clear();
      for (const std::uint32_t from : now) follow(from, next);
    }
    is_closed_ = now.empty();
  }

  std::size_t states() const { return seen_.size(); }
  std::size_t calls() const { return calls_; }
  bool is_closed() const { return is_closed_; }
  const std::string& fault() const { return fault_; }

 private:
  struct node {
    std::uint32_t before;
    std::uint8_t last;
  };
  using held_blocks = std::array<std::byte*, most_blocks>;  // by ascending address

  /// Tries each call in a state.
  void follow(std::uint32_t from, std::vector<std::uint32_t>& next) {
    std::vector<std::uint8_t> path;
    for (std::uint32_t at = from; at != 0; at = nodes_[at].before) path.push_back(nodes_[at].last);
    for (unsigned call = take_one; fault_.empty(); ++call) {
      enter(path);
      if (call >= give_first + held_) return leave();
      const bool is_one = (call != give_two || held_ > 1) && (call != give_null || !how_.keeps_nulls);
      if (is_one) {
        ++calls_;
        perform(static_cast<std::uint8_t>(call));
        check();
        if (fault_.empty() && seen_.insert(key()).second) {
          next.push_back(static_cast<std::uint32_t>(nodes_.size()));
          nodes_.push_back({from, static_cast<std::uint8_t>(call)});
        }
        if (!fault_.empty()) describe(path, call);
      }
      if (fault_.empty()) leave();
    }
  }
  void enter(const std::vector<std::uint8_t>& path) {
    pool_.create();
    held_ = 0;
    for (std::size_t i = path.size(); i-- != 0;) perform(path[i]);
  }
  void leave() {
    while (held_ != 0) pool_.give(drop(held_ - 1));
    pool_.destroy();
    if (misuses != 0) fault_ = "the destructor reports a misuse";
  }

  void perform(std::uint8_t call) {
    void* two[2] = {};
    if (call == take_one) {
      two[0] = pool_.take();
      took(two, two[0] != nullptr, 1);
    } else if (call == take_two) {
      const std::size_t got = pool_.take(two, 2);
      took(two, got, 2);
    } else if (call == give_null) {
      pool_.give(nullptr);
    } else if (call == give_two) {
      two[1] = drop(1);
      two[0] = drop(0);
      pool_.give(two, 2);
    } else {
      pool_.give(drop(call - give_first));
    }
  }
  void took(void* const* blocks, std::size_t got, std::size_t wanted) {
    const std::size_t left = pool_.blocks - held_;
    if (got != (wanted < left ? wanted : left)) fault_ = got < wanted ? "a block is lost" : "a block too many";
    for (std::size_t i = 0; i != got && fault_.empty(); ++i) hold(static_cast<std::byte*>(blocks[i]));
  }
  void hold(std::byte* block) {
    const std::size_t at = static_cast<std::size_t>(block - pool_.start);
    if (at > pool_.bytes || pool_.bytes - at < block_bytes || !pool_.owns(block)) fault_ = "a block outside the pool";
    if (at % alignof(void*) != 0) fault_ = "a block that isn't aligned";
    std::size_t place = 0;
    for (; place != held_ && held_at_[place] < block; ++place) {}
    if (place != 0 && held_at_[place - 1] + block_bytes > block) fault_ = "a block twice, or two overlap";
    if (place != held_ && block + block_bytes > held_at_[place]) fault_ = "a block twice, or two overlap";
    if (!fault_.empty()) return;
    for (std::size_t i = held_++; i != place; --i) held_at_[i] = held_at_[i - 1];
    held_at_[place] = block;
    for (std::size_t i = 0; i != block_bytes; ++i) block[i] = content(block, i);
  }
  std::byte* drop(std::size_t i) {
    std::byte* const block = held_at_[i];
    for (--held_; i != held_; ++i) held_at_[i] = held_at_[i + 1];
    return block;
  }
  std::byte content(const std::byte* block, std::size_t i) const {
    return static_cast<std::byte>(0xA0 + (block - pool_.start) / 8 + static_cast<std::ptrdiff_t>(i));
  }

  /// After the call that is new; those before it were checked when they were.
  void check() {
    for (std::size_t h = 0; h != held_; ++h)
      for (std::size_t i = 0; i != block_bytes && fault_.empty(); ++i)
        if (held_at_[h][i] != content(held_at_[h], i)) fault_ = "a block in use was written";
    if (pool_.wrote_around()) fault_ = "bytes around the pool were written";
    if (misuses != 0) fault_ = "a misuse is reported";
    if (mask::masked || mask::wrong) fault_ = "a lock is held";
  }
  void describe(const std::vector<std::uint8_t>& path, unsigned last) {
    fault_ += " after";
    for (std::size_t i = path.size(); i-- != 0;) fault_ += ' ' + name(path[i]);
    fault_ += ' ' + name(last);
  }
  static std::string name(unsigned call) {
    static const char* const names[] = {"a", "aa", "null", "ff"};
    return call < give_first ? names[call] : "f" + std::to_string(call - give_first);
  }

  // ---- states ----------------------------------------------------------------------------------------------------------

  using hash = std::pair<std::size_t, std::size_t>;

  hash key() {
    std::string& text = text_;
    text.assign(reinterpret_cast<const char*>(pool_.start), pool_.bytes);
    for (const std::size_t at : counting_) text[at] = 0;
    for (std::size_t i = 0; i != held_; ++i) text += std::to_string(held_at_[i] - pool_.start) += ' ';
    const std::size_t first = std::hash<std::string_view>()(text);
    text += '.';
    return {first, std::hash<std::string_view>()(text)};
  }

  /// A pool is used up and filled again, always in the same way: what changes then only counts.
  void find_counters() {
    pool_.create();
    std::vector<std::byte> before(pool_.bytes);
    std::vector<bool> changes(pool_.bytes);
    for (unsigned round = 0; round != 600; ++round) {
      std::array<void*, most_blocks> all;
      for (std::size_t i = 0; i != pool_.blocks; ++i) all[i] = pool_.take();
      for (std::size_t i = pool_.blocks; i-- != 0;) pool_.give(all[i]);
      for (std::size_t i = 0; i != pool_.bytes; ++i) {
        if (round > 8 && before[i] != pool_.start[i]) changes[i] = true;
        before[i] = pool_.start[i];
      }
    }
    for (std::size_t i = 0; i != pool_.bytes; ++i)
      if (changes[i]) counting_.push_back(i);
    pool_.destroy();
  }

  subject& pool_;
  const peculiarities how_;
  std::vector<std::size_t> counting_;
  std::vector<node> nodes_;
  std::set<hash> seen_;
  std::string text_, fault_;
  std::size_t calls_ = 0, held_ = 0;
  held_blocks held_at_{};
  bool is_closed_ = false;
};

template <std::size_t N, class... Policies>
using array_pool = tarn::pool<tarn::static_size<block_bytes>, tarn::static_array_store<N>, Policies...>;

struct result {
  std::size_t states = 0, calls = 0;
};

/// Searches a pool of that many blocks, and prints what it found.
template <class Pool, std::size_t N>
void all(const char* name, result& sum, const peculiarities& how) {
  const auto pool = std::make_unique<subject_of<Pool, N>>();
  search its(*pool, how);
  its.run();
  BOOST_TEST_MESSAGE(name << ", " << N << " blocks: " << its.states() << " states, " << its.calls() << " calls");
  BOOST_TEST(its.fault() == "", name << ", " << N << " blocks: " << its.fault());
  BOOST_TEST((its.is_closed() || how.longest != 0), name << ", " << N << " blocks: further states after 64 calls");
  sum.states += its.states();
  sum.calls += its.calls();
}

template <class... Policies>
struct composition {
  template <std::size_t... N>
  static void up_to(std::index_sequence<N...>, const char* name, result& sum, const peculiarities& how) {
    (all<array_pool<N + 1, Policies...>, N + 1>(name, sum, how), ...);
  }
};

/// Pools of 1 to N blocks.
template <std::size_t N, class... Policies>
void check(const char* name, std::size_t least, const peculiarities& how = {}) {
  result sum;
  composition<Policies...>::up_to(std::make_index_sequence<N>(), name, sum, how);
  std::printf("%s, 1 to %zu blocks: %zu states, %zu calls\n", name, N, sum.states, sum.calls);
  BOOST_TEST(sum.states >= least);
}

// The numbers are the states that must be found at least. They follow from the sequences, not from the compiler.
constexpr peculiarities with_nulls{.keeps_nulls = true}, tagged{.counting = 2};
// `checked` numbers its calls, so that it is never twice in one state.
constexpr peculiarities numbered{.longest = 6};


using batches_of_128 = tarn::batch_reuse<tarn::prefetch::none, 128>;
using pages_of_128 = tarn::page_local_reuse<4096, tarn::prefetch::none, 128>;
using interrupts_masked = tarn::interrupt_locking<mask>;

// shows: FM-4
BOOST_AUTO_TEST_CASE(lists) { check<6>("lifo_reuse", 2911); }
BOOST_AUTO_TEST_CASE(interrupts) { check<6, interrupts_masked>("interrupt_locking", 2911); }
BOOST_AUTO_TEST_CASE(mutexes) { check<4, tarn::mutex_locking<one_mutex>>("mutex_locking", 124); }
BOOST_AUTO_TEST_CASE(groups) { check<4, tarn::grouped_locking<struct a_group>>("grouped_locking", 124); }
BOOST_AUTO_TEST_CASE(lock_free_stack) { check<5, tarn::lock_free>("lock_free", 9000, tagged); }
// shows: FM-4
BOOST_AUTO_TEST_CASE(hardened) { check<6, tarn::hardened_with<reported>>("hardened", 2911); }
BOOST_AUTO_TEST_CASE(guard_bytes) { check<4, tarn::hardened_with<reported, tarn::guard_bytes>>("guard_bytes", 124); }
BOOST_AUTO_TEST_CASE(hardened_interrupts) {
  check<5, interrupts_masked, tarn::hardened_with<reported>>("hardened, interrupt_locking", 539);
}
BOOST_AUTO_TEST_CASE(checked) { check<3, tarn::checked_with<reported>>("checked", 22611, numbered); }
BOOST_AUTO_TEST_CASE(batches) { check<5, batches_of_128>("batch_reuse", 12902, with_nulls); }
BOOST_AUTO_TEST_CASE(hardened_batches) {
  check<4, batches_of_128, tarn::hardened_with<reported>>("hardened, batch_reuse", 1018, with_nulls);
}
BOOST_AUTO_TEST_CASE(pages) { check<5, pages_of_128>("page_local_reuse", 12902, with_nulls); }

// 1.5 million calls each.
BOOST_AUTO_TEST_CASE(six_batches_at_night) {
  result sum;
  if (std::getenv("TARN_NIGHTLY") == nullptr) return;
  all<array_pool<6, batches_of_128>, 6>("batch_reuse", sum, with_nulls);
  all<array_pool<6, pages_of_128>, 6>("page_local_reuse", sum, with_nulls);
  BOOST_TEST(sum.states >= 2 * (200898u - 12902));
}

}  // namespace
