// The body of a size_class_pool: a pool for each class, created when it is first needed, and blocks that are larger than any
// class. It has no destructor, so a static one is constant-initialised and never destroyed.
//
//   allocate              class_lookup: class by size → its pool   no pool yet: class_members::make   no class: large_blocks
//   deallocate, sized     the same look-up, with every store         no class: large_blocks
//   deallocate, unsized   owner_of: the tag of the block's granule → its pool; only with tagged chunks (class_stores.h)
#ifndef TARN_ALLOCATOR_DETAIL_CLASSES_SIZE_CLASS_BODY_H_
#define TARN_ALLOCATOR_DETAIL_CLASSES_SIZE_CLASS_BODY_H_

#include <cerrno>
#include <cstddef>
#include <new>
#include <type_traits>

#include "tarn/allocator/detail/classes/class_stores.h"
#include "tarn/allocator/detail/classes/large_blocks.h"
#include "tarn/allocator/detail/construct.h"
#include "tarn/allocator/detail/pool/clearing.h"
#include "tarn/allocator/detail/pool/inspector.h"
#include "tarn/allocator/detail/pool/waiting.h"
#include "tarn/allocator/pool.h"
#include "tarn/policies/checking.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/detail/geometry.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/growth.h"
#include "tarn/policies/name.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/system.h"
#include "tarn/policies/platform/waiting.h"
#include "tarn/policies/retention.h"
#include "tarn/policies/size.h"

namespace tarn::detail {

/// The size of a class whose blocks can be walked through: chunks have a bit for each.
struct walked_dynamic_size : dynamic_size {
  static constexpr size_traits traits{.at_run_time = true, .holds_objects = true};
  using dynamic_size::dynamic_size;
};

template <class Pool>
struct size_policy_of;
template <class Size, class... Others>
struct size_policy_of<basic_pool<Size, Others...>> : std::type_identity<Size> {};

// From a request's size and alignment to its size class.

/// The classes of the requests of up to `Entries` times `Step` bytes, in a table. With sizes in random order the branches of
/// index() are mispredicted: a pair of calls of size_class_pool 11.2 to 6.9 ns (prototype, Zen 5).
template <class Classes, std::size_t Step, std::size_t Entries>
struct classes_by_size {
  unsigned char of[Entries + 1]{};
  constexpr classes_by_size() noexcept {  // by classes: compilers count each step
    for (std::size_t i = 0, entry = 0; entry != Entries; ++i)
      for (; entry != Entries && (entry + 1) * Step <= Classes::size(i); ++entry) of[entry] = static_cast<unsigned char>(i);
  }
};

/// Those of the classes whose blocks have at most `Most` bytes; all, if none has.
template <class Classes, std::size_t Most>
struct classes_up_to : Classes {
 private:
  static constexpr std::size_t those_that_fit() noexcept {
    std::size_t fit = Classes::count;
    while (fit != 0 && Classes::size(fit - 1) > Most) --fit;
    return fit != 0 ? fit : Classes::count;
  }

 public:
  static constexpr std::size_t count = those_that_fit();
  static constexpr std::size_t largest = Classes::size(count - 1);
};

template <class Classes>
class class_lookup {
  static constexpr std::size_t largest_alignment = cache_line;  // of a class; a request for more gets a region of its own

  static constexpr std::size_t alignment_of_all() noexcept {
    std::size_t least = largest_alignment;
    for (std::size_t i = 0; i != Classes::count; ++i) least = smaller(least, alignment(i));
    return least;
  }
  /// Whether the smallest class for a size that was rounded up to an alignment always has that alignment, too.
  static constexpr bool aligned_by_rounding() noexcept {
    for (std::size_t a = 1; a <= largest_alignment; a *= 2)
      for (std::size_t i = 0; i != Classes::count; ++i) {
        const std::size_t largest = Classes::size(i) / a * a;  // rounded size that fits
        const bool comes_here = largest > (i == 0 ? 0 : Classes::size(i - 1));
        if (comes_here && alignment(i) < a) return false;
      }
    return true;
  }

 public:
  static constexpr std::size_t none = size_max;

  /// The alignment of the blocks of class `i`, in bytes.
  static constexpr std::size_t alignment(std::size_t i) noexcept {
    return smaller(lowest_bit(Classes::size(i)), largest_alignment);
  }
  /// An alignment that the blocks of every class have.
  static constexpr std::size_t common_alignment = alignment_of_all();

  // Every class is a multiple of the common alignment, so requests that round up to the same multiple have the same class.
  static constexpr std::size_t table_entries = Classes::count > 256 ? 0 : smaller(Classes::largest / common_alignment, 2048);
  static constexpr classes_by_size<Classes, common_alignment, table_entries> table{};

  /// Precondition: from 1 to `table_entries` times the common alignment.
  static constexpr std::size_t tabled(std::size_t bytes) noexcept { return table.of[(bytes - 1) / common_alignment]; }
  /// The class of nearly every request. `none`: the request has no class, or find() must decide.
  static constexpr std::size_t at_once(std::size_t bytes, std::size_t align) noexcept {
    if (align > common_alignment || bytes - 1 >= Classes::largest) [[unlikely]]
      return none;
    const std::size_t entry = (bytes - 1) / common_alignment;
    constexpr bool in_table = table_entries == Classes::largest / common_alignment;
    return in_table || entry < table_entries ? table.of[entry] : (Classes::index)(bytes);
  }
  /// The class of any request, or `none`. `align` is a power of two.
  static constexpr std::size_t find(std::size_t bytes, std::size_t align) noexcept {
    if (align > largest_alignment || bytes > Classes::largest) return none;
    const std::size_t rounded = round_up(larger(bytes, 1), align);
    if (rounded > Classes::largest) return none;
    std::size_t i = (Classes::index)(rounded);
    if constexpr (!aligned_by_rounding()) {
      while (i != Classes::count && alignment(i) < align) ++i;
      if (i == Classes::count) return none;
    }
    return i;
  }
};

// Where the pools of the classes are: in the store's memory, so that the owner stays small, or in the owner, if the store's
// memory comes in granules.

/// The pool of a class, and the memory that contains it.
template <class Pool>
struct class_member {
  explicit class_member(owned where, const auto&... given) noexcept : pool(given...), place(where) {}
  Pool pool;  // first: the hot path reaches it at offset 0
  owned place;
};

/// \tparam Inside  whether they are in the owner
template <class Member, std::size_t Count, bool Inside>
struct class_places {
  owned take(auto& stores, std::size_t) noexcept { return stores.acquire_any(sizeof(Member), alignof(Member)); }
  void give(auto& stores, owned place) noexcept { stores.release(place, alignof(Member)); }
};
template <class Member, std::size_t Count>
struct class_places<Member, Count, true> {
  owned take(auto&, std::size_t i) noexcept { return {{room.members + i * sizeof(Member), sizeof(Member)}}; }
  void give(auto&, owned) noexcept {}

  union {
    std::byte none = {};  // the initial member: a constant that takes no space in the executable
    alignas(Member) std::byte members[Count * sizeof(Member)];
  } room;
};

// The pools of the classes, each made when it is first needed.

/// \tparam Kept  the policies of the classes' pools that are constructed from values: kept_policies
template <class Classes, class Pool, class Chunks, class Locking, class Kept>
class class_members {
  using member = class_member<Pool>;

 public:
  /// The member of a class, or null.
  TARN_STEP member* find(std::size_t i) const noexcept { return members_[i].load(memory_order_acquire); }

  /// The same, but makes it; null if there is no memory. Calls the store before it locks anything: if another thread was
  /// faster, returns that thread's.
  member* make(std::size_t i, Chunks& chunks, const Kept& kept, class_pools all) noexcept {
    const owned place = places_.take(chunks, i);
    if (!place) return nullptr;
    member *made = nullptr, *found;
    {
      const held lock(making_);
      found = members_[i].load(memory_order_relaxed);
      if (found == nullptr) {
        void* const where = place.region.start;
        chunks.belong_to(all);
        made = kept.give_to(chunks, all, [&](const auto&... policies) {
          const typename size_policy_of<Pool>::type size{Classes::size(i), class_lookup<Classes>::alignment(i)};
          return ::new (where) member(place, size, store_of_owner<Chunks>(detail::pointer_to(chunks), where), policies...);
        });
        members_[i].store(made, memory_order_release);
      }
    }
    if (made == nullptr) places_.give(chunks, place);
    return made != nullptr ? made : found;
  }

  /// Calls visit(class, pool) for each that there is.
  void each(auto visit) {
    for (std::size_t i = 0; i != Classes::count; ++i)
      if (member* const m = find(i)) visit(i, m->pool);
  }

  /// Maintains each that has chunks, until one is left unfinished; then the granules, if nothing is. Returns the last answer
  /// but `done`.
  template <class... Until>
  maintained maintain(Chunks& chunks, const Until&... until) noexcept {
    maintained answer = maintained::done;
    const auto add = [&answer](maintained its) { answer = its == maintained::done ? answer : its; };
    bool is_used = false;
    each([&](std::size_t, Pool& p) {
      is_used = is_used || p.capacity() != 0;  // before the first, the granules don't know whose they are
      if constexpr (requires { p.maintain(until...); })
        if (answer != maintained::unfinished && p.capacity() != 0) add(p.maintain(until...));
    });
    if constexpr (requires { chunks.maintain(until...); })
      if (is_used && answer != maintained::unfinished) add(chunks.maintain(until...));
    return answer;
  }

  /// All end, and so does the owner.
  void end(Chunks& chunks) noexcept {
    for (auto& one : members_) {
      member* const m = one.exchange(nullptr, memory_order_relaxed);
      if (m == nullptr) continue;
      const owned place = m->place;
      m->~member();
      places_.give(chunks, place);
    }
    making_.leave();
  }

 private:
  // Order: store release, load acquire; under the mutex relaxed. The member is constructed before its address is stored.
  atomic_word<member*> members_[Classes::count]{};  // first: the hot path finds them at offset 0
  TARN_NO_UNIQUE_ADDRESS owner_mutex<Locking> making_;
  TARN_NO_UNIQUE_ADDRESS class_places<member, Classes::count, Chunks::tagged> places_;
};

/// \tparam Kept  the policies of the classes' pools that are constructed from values: kept_policies
template <class Classes, class Pool, class Chunks, class Locking, class Kept>
class size_class_body {
  using lookup = class_lookup<Classes>;
  static constexpr std::size_t none = lookup::none;
  using member = class_member<Pool>;
  static constexpr bool checks = inspector::can_refuse<Pool>();
  static constexpr bool waits = inspector::waits(static_cast<const Pool*>(nullptr));

 public:
  using classes = Classes;

  static constexpr bool is_for_one_thread = Locking::traits.one_thread;
  /// In bytes: that of std::max_align_t, or less if a listed class has less.
  static constexpr std::size_t default_alignment = smaller(alignof(std::max_align_t), lookup::common_alignment);

  constexpr explicit size_class_body(const auto& values) noexcept
      : chunks_(values), kept_(values) {}
  size_class_body(const size_class_body&) = delete;

#if TARN_EXCEPTIONS
  /// Returns at least `bytes` bytes (one if `bytes` is 0), aligned to `alignment`, a power of two.
  /// Throws: std::bad_alloc if the store has no memory; then nothing has changed.
  [[nodiscard("tarn: a discarded block is leaked")]] void* allocate(std::size_t bytes,
                                                                            std::size_t alignment = default_alignment) {
    if (member* const m = ready(bytes, alignment)) [[likely]]
      return m->pool.allocate();
    return allocate_slow_or_throw(bytes, alignment);
  }
#endif

  /// As of a basic_pool, with the arguments of allocate().
  [[nodiscard("tarn: a discarded block is leaked")]] void* try_allocate(
      std::size_t bytes, std::size_t alignment = default_alignment) noexcept {
    if (member* const m = ready(bytes, alignment)) [[likely]]
      return m->pool.try_allocate();
    return allocate_slow(bytes, alignment, limit_of_try());
  }
  /// As of a basic_pool, with the arguments of allocate().
  [[nodiscard("tarn: a discarded block is leaked")]] void* allocate_or_null(
      std::size_t bytes, std::size_t alignment = default_alignment) noexcept {
    if constexpr (waits) return allocate_for(bytes, alignment, waits_as_usual());
    else return try_allocate(bytes, alignment);
  }
  /// Like allocate(), but waits for a block of its class, as a pool's allocate_within(); returns null when the time is over.
  /// Never waits for a large block.
  template <time_span Duration>
  [[nodiscard("tarn: a discarded block is leaked")]] void* allocate_within(
      const Duration& timeout, std::size_t bytes, std::size_t alignment = default_alignment) noexcept
    requires(waits)
  {
    return allocate_for(bytes, alignment, waits_within{nanoseconds_of(timeout)});
  }

  /// Frees a block; null: does nothing. Precondition: allocate() returned it for the same size and alignment.
  void deallocate(void* block, std::size_t bytes, std::size_t alignment = default_alignment) noexcept {
    const std::size_t i = lookup::at_once(bytes, alignment);
    if (i == none || block == nullptr) [[unlikely]] return deallocate_slow(block, bytes, alignment);
    give(i, block, bytes);
  }

  // ---- requests that the caller knows to be in the table: from 1 to tabled_bytes, aligned to tabled_alignment at most ------

  static constexpr std::size_t tabled_alignment = lookup::common_alignment;
  static constexpr std::size_t tabled_bytes = lookup::table_entries * tabled_alignment;

  /// As try_allocate(), but null where that takes a call.
  TARN_STEP void* hit_tabled(std::size_t bytes) noexcept {
    member* const m = members_.find(lookup::tabled(bytes));
    return m == nullptr ? nullptr : inspector::hit(m->pool);
  }
  /// Precondition: the block isn't null.
  TARN_STEP void deallocate_tabled(void* block, std::size_t bytes) noexcept { give(lookup::tabled(bytes), block, bytes); }

  // ---- blocks with a region of their own, whatever their size: as try_allocate() and deallocate() -----------------------

  [[nodiscard]] TARN_NOINLINE void* try_allocate_large(std::size_t bytes, std::size_t alignment) noexcept {
    void* block = large_.allocate(chunks_, bytes, alignment, *this);
    if constexpr (Chunks::serves_large)
      if (block == nullptr && give_idle_back()) block = large_.allocate(chunks_, bytes, alignment, *this);
    if constexpr (Chunks::tells_later) chunks_.tell();
    if (Kept::for_malloc && block == nullptr) errno = ENOMEM;
    return block;
  }
  /// From now on, each large block's region is returned when the block is freed. Precondition: nothing was allocated.
  void keep_no_large() noexcept { large_.keep_none(); }
  TARN_NOINLINE void deallocate_large(void* block) noexcept {
    if (!large_.deallocate(chunks_, block)) refuse({block, 0, 0});
  }

  // ---- by address alone --------------------------------------------------------------------------------------------------

  /// The same, by the address alone.
  void deallocate(void* block) noexcept
    requires(Chunks::tagged)
  {
    if (block == nullptr) return;
    if (member* const its = owner_of(block)) [[likely]] return its->pool.deallocate(block);
    deallocate_large(block);
  }
  /// The same. A checking policy refuses a wrong size or alignment.
  void deallocate_sized(void* block, [[maybe_unused]] std::size_t bytes, [[maybe_unused]] std::size_t alignment) noexcept
    requires(Chunks::tagged)
  {
    if constexpr (checks) {
      const std::size_t has = block == nullptr ? 0 : usable_size(block);
      if (has != 0 && (bytes > has || address_of(block) % alignment != 0)) return refuse({block, bytes, alignment});
    }
    deallocate(block);
  }
  /// Returns the size of a block in bytes. Precondition: as for deallocate(), and not null.
  std::size_t usable_size(const void* block) const noexcept
    requires(Chunks::tagged)
  {
    const member* const its = owner_of(block);
    return its == nullptr ? large_.usable_size(block) : its->pool.block_size();
  }

  // ---- chunks before they are needed ---------------------------------------------------------------------------------------

#if TARN_EXCEPTIONS
  /// Gets chunks until the class of such requests has at least `blocks` blocks, in use or free. O(blocks).
  /// Throws: std::bad_alloc if the store has less memory, or such requests have no class; new chunks stay.
  void reserve(std::size_t blocks, std::size_t bytes, std::size_t alignment = default_alignment) {
    if (!try_reserve(blocks, bytes, alignment)) throw std::bad_alloc();
  }
#endif
  /// Like reserve(), but returns whether it succeeded.
  bool try_reserve(std::size_t blocks, std::size_t bytes, std::size_t alignment = default_alignment) noexcept {
    const std::size_t i = lookup::find(bytes, alignment);
    member* const m = i == none ? nullptr : made(i);
    const bool done = m != nullptr && m->pool.try_reserve(blocks);
    if constexpr (Chunks::tells_later) chunks_.tell();
    return done || blocks == 0;
  }

  // ---- all of it -----------------------------------------------------------------------------------------------------------

  /// Returns everything to the store, including blocks in use. Precondition: no other thread uses the pool.
  void release() noexcept
    requires(Locking::traits.may_return_chunks)
  {
    chunks_.be_left_alone();
    each_pool([](std::size_t, Pool& p) { p.release(); });  // so that they end without a block in use
    drop_all();
  }
  /// Frees all blocks, even those in use, and keeps the chunks.
  /// Precondition: no other thread uses the pool, and no earlier block is used again. O(chunks + large blocks in use); with a
  /// policy that is notified of each or returns chunks, O(blocks).
  void reset() noexcept {
    large_.deallocate_all(chunks_);
    each_pool([](std::size_t, Pool& p) {
      if constexpr (no_ender::size::traits.holds_objects)
        clearing<state_within<Pool>, no_ender>(inspector::state_of(p)).run();
      else detail::forget_blocks_in_use(inspector::state_of(p));
    });
  }
  /// As release(), in the owner's destructor: checking policies are notified of it, and of blocks that are still in use.
  void end() noexcept {
    chunks_.be_left_alone();
    if constexpr (checks) large_.tell_end(as_owner(), !inspector::may_end_in_use<Pool>());
    drop_all();
    ended_ = true;
    if constexpr (checks) detail::keep_stores(this);  // so that a later call finds that it has ended
  }
  /// Returns to the store the empty chunks of every class, freed large blocks, and what a class without chunks keeps for
  /// itself. Returns the bytes.
  std::size_t trim() noexcept
    requires(Locking::traits.may_return_chunks)
  {
    std::size_t bytes = 0;
    const std::size_t own = chunks_.own_bytes();
    each_pool([&](std::size_t, Pool& p) { bytes += p.trim(); });
    bytes = Chunks::tagged ? chunks_.trim() : bytes;
    return own - smaller(own, chunks_.own_bytes()) + bytes + large_.trim(chunks_);
  }

  /// As a pool's maintain(), for each class that has chunks, until one is left unfinished; and for granules, which the growth
  /// policy counts if blocks are freed by address. Returns the last result that isn't `done`.
  template <class... Until>
  maintained maintain(const Until&... until) noexcept
    requires(requires(Pool& p) { p.maintain(until...); } || requires(Chunks& all) { all.maintain(until...); })
  {
    return members_.maintain(chunks_, until...);
  }

  /// Calls visit(class, pool) for each class that has a pool. Throws: what visit throws.
  template <class Visit>
  void each_pool(Visit visit) {
    members_.each(visit);
  }

  /// Returns whether the address lies in memory of a class, or in a block in use with a region of its own.
  /// O(classes * log(chunks of a class) + such blocks).
  bool owns(const void* address) const noexcept {
    for (std::size_t i = 0; i != Classes::count; ++i)
      if (const member* const m = members_.find(i); m != nullptr && m->pool.owns(address)) return true;
    return large_.owns(address);
  }

  /// Returns the counts of blocks with a region of their own.
  large_counts large() const noexcept { return large_.read(); }

  /// Returns the size in bytes of the block that a request gets, or 0 if it gets a region of its own.
  static constexpr std::size_t class_size(std::size_t bytes, std::size_t alignment = default_alignment) noexcept {
    const std::size_t i = lookup::find(bytes, alignment);
    return i == none ? 0 : Classes::size(i);
  }

 private:
  using members_type = class_members<Classes, Pool, Chunks, Locking, Kept>;
  /// A pool over an array stays small.
  static constexpr bool keeps_large = (Kept::for_malloc || !Chunks::tagged) && Chunks::serves_large && Kept::keeps_memory &&
                                      Locking::traits.may_return_chunks && platform::system::has_pages;
  struct no_ender {
    using size = typename size_policy_of<Pool>::type;
    void operator()(void*) const noexcept {}
  };
  using large_type = large_blocks<Chunks, Locking, checks, Kept::tells_in_use, keeps_large>;

  friend large_type;
  const char* name() const noexcept { return kept_.name(); }
  class_owner as_owner() const noexcept { return {this, kept_.name(), kept_.report, ended_}; }
  std::size_t report_large_in_use() const noexcept { return large_.report_in_use(as_owner()); }

  void drop_all() noexcept {
    large_.release_all(chunks_);
    members_.end(chunks_);
    chunks_.release_all();
  }

  /// After the store refused. Returns whether it got something.
  TARN_COLD bool give_idle_back() noexcept { return trim_idle(this) + chunks_.trim_if_idle() != 0; }
  /// Waits for no other thread.
  static std::size_t trim_idle(void* owner) noexcept {
    size_class_body& all = *static_cast<size_class_body*>(owner);
    std::size_t bytes = all.large_.trim(all.chunks_);
    all.each_pool([&](std::size_t, Pool& p) { bytes += inspector::trim_if_idle(p); });
    return bytes;
  }

  /// The pool of the block's class; null: it has none.
  TARN_STEP member* owner_of(const void* block) const noexcept { return static_cast<member*>(chunks_.owner_of(block)); }
  TARN_STEP member* ready(std::size_t bytes, std::size_t alignment) const noexcept {
    const std::size_t i = lookup::at_once(bytes, alignment);
    return i == none ? nullptr : members_.find(i);
  }

  /// The pool of a class; null: there is no memory for it.
  member* made(std::size_t i) noexcept {
    member* m = members_.find(i);
    if (m == nullptr) m = members_.make(i, chunks_, kept_, class_pools{this, trim_idle});
    if (m == nullptr && give_idle_back()) m = members_.make(i, chunks_, kept_, class_pools{this, trim_idle});
    return m;
  }
  void* allocate_for(std::size_t bytes, std::size_t alignment, auto limit) noexcept {
    if (member* const m = ready(bytes, alignment)) [[likely]]
      return inspector::allocate_or_null(m->pool, limit);
    return allocate_slow(bytes, alignment, limit);
  }
  TARN_NOINLINE void* allocate_slow(std::size_t bytes, std::size_t alignment, auto limit) noexcept {
    const std::size_t i = lookup::find(bytes, alignment);
    if (i == none) return try_allocate_large(bytes, alignment);
    member* const m = made(i);
    void* const block = m == nullptr ? nullptr : inspector::allocate_or_null(m->pool, limit);
    if constexpr (Chunks::tells_later) chunks_.tell();  // of the memory in which the class' pool lies
    return block;
  }
  TARN_NOINLINE void deallocate_slow(void* block, std::size_t bytes, std::size_t alignment) noexcept {
    if (block == nullptr) return;
    const std::size_t i = lookup::find(bytes, alignment);
    if (i != none) give(i, block, bytes);
    else if (!large_.deallocate(chunks_, block)) refuse({block, bytes, 0});
  }
  void give(std::size_t i, void* block, [[maybe_unused]] std::size_t bytes) noexcept {
    member* const m = members_.find(i);
    if (checks && m == nullptr) [[unlikely]] return refuse({block, bytes, 0});  // the class never had a block
    m->pool.deallocate(block);
  }
  TARN_COLD void refuse([[maybe_unused]] const refused_free& call) noexcept {
    if constexpr (checks) {
      std::size_t size = 0;
      if (call.block == nullptr) return;
      each_pool([&](std::size_t i, Pool& p) { size = p.owns(call.block) ? Classes::size(i) : size; });
      detail::report_refused(as_owner(), call, large_, size);
    }
  }
#if TARN_EXCEPTIONS
  TARN_NOINLINE void* allocate_slow_or_throw(std::size_t bytes, std::size_t alignment) {
    return detail::or_fail(allocate_slow(bytes, alignment, std::conditional_t<waits, waits_as_usual, limit_of_try>()));
  }
#endif

  members_type members_;  // first: the hot path finds them at offset 0
  Chunks chunks_;
  Kept kept_;
  large_type large_;
  bool ended_ = false;
};

// The policy objects that the pools of a size_class_pool are made from, besides size and store. They were given to the owner's
// constructor, or are the defaults.

/// A byte for one that is empty: with [[no_unique_address]], g++ 12 loses the constants of those that aren't.
template <class P>
class kept_policy {
 public:
  constexpr explicit kept_policy(const P& given) noexcept(std::is_nothrow_copy_constructible_v<P>) : value_(given) {}
  constexpr const P& value() const noexcept { return value_; }

 private:
  P value_;
};
/// Of a checking policy that is a name: null if that is empty, since an owner that has an array is to start zero.
template <class P>
  requires(checking_policy<P> && sizeof(P) == sizeof(const char*) && requires(const P& p) { P{p.name}; })
class kept_policy<P> {
 public:
  constexpr explicit kept_policy(const P& given) noexcept : name_(*given.name != '\0' ? given.name : nullptr) {}
  constexpr P value() const noexcept { return P{name_ != nullptr ? name_ : ""}; }

 private:
  const char* name_;
};

template <class P>
inline constexpr bool returns_memory = false;
template <class P>
  requires policy_on<P, axis::retention>
inline constexpr bool returns_memory<P> = P::traits.returns_chunks;

/// The name policy of each class.
template <class Name>
using name_in_classes = std::conditional_t<Name::traits.is_listed, name_of_class, Name>;

/// \tparam Exhaustion    of the owner
/// \tparam Chunks        make of it what a class needs
/// \tparam ForMalloc     where a class gives up, errno says so
/// \tparam Checking, Ps  of the owner and of each class
template <class Exhaustion, class Chunks, bool ForMalloc, class Checking, class... Ps>
class kept_policies : kept_policy<Exhaustion>, kept_policy<Checking>, kept_policy<Ps>... {
  using of_chunks = typename Chunks::exhaustion;

 public:
  static constexpr bool for_malloc = ForMalloc;
  /// Whether free memory of no class may stay until trim(). Other pools that are asked for memory reach it through granules.
  static constexpr bool keeps_memory = !(... || returns_memory<Ps>) && (Chunks::tagged || !Exhaustion::traits.reclaims);
  static constexpr bool tells_in_use = Checking::traits.tells_in_use;
  static constexpr void (*report)(const misuse&) noexcept = &reporter_of<Checking>::report;
  using exhaustion = std::conditional_t<ForMalloc, tells_errno<of_chunks>, of_chunks>;

  constexpr explicit kept_policies(const auto& values) noexcept
      : kept_policy<Exhaustion>(values.template get<Exhaustion>()),
        kept_policy<Checking>(values.template get<Checking>()),
        kept_policy<Ps>(values.template get<Ps>())... {}

  /// Calls use(policy...) with those of a class.
  template <class Use>
  auto give_to(Chunks& chunks, class_pools classes, Use use) const noexcept {
    return use(of_class(chunks.exhaustion_of(kept_policy<Exhaustion>::value(), classes)), kept_policy<Checking>::value(),
               for_class(kept_policy<Ps>::value())...);
  }
  /// The owner's name in reports.
  constexpr const char* name() const noexcept {
    if constexpr (Checking::traits.has_name) return kept_policy<Checking>::value().name;
    else return "";
  }

 private:
  template <class P>
  static constexpr decltype(auto) for_class(const P& own) noexcept {
    if constexpr (!policy_on<P, axis::name>) {
      return (own);
    } else if constexpr (!P::traits.is_listed) {
      return (own);
    } else {
      pool_listing its = own.listing();
      its.has_size = true;
      return name_of_class{its};
    }
  }
  static constexpr exhaustion of_class(const of_chunks& own) noexcept {
    if constexpr (ForMalloc) return exhaustion{own};
    else return own;
  }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CLASSES_SIZE_CLASS_BODY_H_
