// The members of an arena; in front of them, what it keeps for objects with destructors, and how the registry knows it.
//
//   allocate, try_allocate   hit: a block of the current chunk; else slow(): the next chunk; else grow(): another spare one,
//                            one from the store, one from the second store, and what the exhaustion policy says
//   rewind, reset            end_objects(), then the region goes back to where the mark was set
//   mark, rewind, checked    each mark leaves a record in the arena, which tells whether it is still there
#ifndef TARN_ALLOCATOR_DETAIL_ARENA_ARENA_BODY_H_
#define TARN_ALLOCATOR_DETAIL_ARENA_ARENA_BODY_H_

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "tarn/allocator/detail/arena/arena_checks.h"
#include "tarn/allocator/detail/arena/arena_traits.h"
#include "tarn/allocator/detail/arena/chunk_region.h"
#include "tarn/allocator/detail/construct.h"
#include "tarn/policies/detail/fork.h"
#include "tarn/policies/detail/process_list.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/name.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"

namespace tarn {

/// What an arena with counting_statistics counts.
struct arena_counts {
  std::size_t in_use = 0;  // bytes, as in_use()
  std::size_t peak = 0;  // the most that were in use at once
  std::size_t allocations = 0;  // blocks that were ever handed out
  std::size_t chunks = 0;  // that the arena holds
  std::size_t bytes = 0;  // in those chunks, as the store gave them
};

}  // namespace tarn

namespace tarn::detail {

// ---- what is kept in front of objects that have destructors, and where in a block the objects are -------------------------

/// In a list, the newest first. Its object is right behind it.
struct ending {
  ending* next;
  void (*run)(ending* its) noexcept;
};
/// The ending of many objects, and their number.
struct ending_of_many {
  std::size_t objects;
  ending its;
};

/// A block for an object: its ending right in front of it, if it has a destructor.
template <class T>
struct slot_of {
  static constexpr bool ends = !std::is_trivially_destructible_v<T>;
  static constexpr std::size_t alignment = ends ? larger(alignof(T), alignof(ending)) : alignof(T);
  static constexpr std::size_t front = ends ? round_up(sizeof(ending), alignment) : 0;
  static constexpr std::size_t bytes = front + sizeof(T);

  TARN_STEP static void* object_in(void* block) noexcept { return static_cast<std::byte*>(block) + front; }
  TARN_STEP static ending* make_ending(T* made) noexcept {
    void* const object = const_cast<void*>(static_cast<const volatile void*>(made));
    return ::new (static_cast<void*>(static_cast<std::byte*>(object) - sizeof(ending))) ending{nullptr, end};
  }

 private:
  static void end(ending* its) noexcept { std::launder(reinterpret_cast<T*>(its + 1))->~T(); }
};

template <class T>
struct slot_of_many {
  static constexpr bool ends = !std::is_trivially_destructible_v<T>;
  static constexpr std::size_t alignment = ends ? larger(alignof(T), alignof(ending_of_many)) : alignof(T);
  static constexpr std::size_t front = ends ? round_up(sizeof(ending_of_many), alignment) : 0;

  static T* first_in(void* block) noexcept {
    return static_cast<T*>(static_cast<void*>(static_cast<std::byte*>(block) + front));
  }
  static ending* make_ending(void* block, std::size_t objects) noexcept {
    void* const place = static_cast<std::byte*>(block) + (front - sizeof(ending_of_many));
    return &(::new (place) ending_of_many{objects, {nullptr, end}})->its;
  }

 private:
  static void end(ending* its) noexcept {
    T* const first = std::launder(reinterpret_cast<T*>(its + 1));
    auto* const number = std::launder(reinterpret_cast<std::size_t*>(reinterpret_cast<std::byte*>(its) - sizeof(std::size_t)));
    for (std::size_t left = *number; left != 0; --left) first[left - 1].~T();
  }
};

/// Ends those objects of many that were made, the last one first.
template <class T>
struct unkept_objects {
  T* first;
  std::size_t made = 0;
  ~unkept_objects() {
    while (made != 0) first[--made].~T();
  }
};

// ---- how the registry knows an arena that has a name: as a pool of blocks of one byte -------------------------------------

template <class Arena>
struct arena_listing {
  /// Called with nothing held when the arena is made, and before its store is called.
  static void enter(Arena& arena) noexcept {
    static_cast<void>(&fork_handlers<Arena>), static_cast<void>(&process_list_at_load<Arena>);  // instantiates them
    constexpr bool is_confined = std::is_same_v<decltype(arena.locking_.core_guard()), no_guard>;
    arena.name_.enter(detail::pointer_to(arena), calls, is_confined);
  }

 private:
  static void entered(void* its) noexcept { static_cast<Arena*>(its)->name_.describe({1, 1, 0, 0, 0}); }
  static void tell(const void* its, pool_record& out) noexcept {
    const Arena& arena = *static_cast<const Arena*>(its);
    using traits = typename Arena::traits;
    out.block_size = out.stride = 1;
    constexpr std::size_t end = sizeof out.policies - 1;
    std::size_t at = detail::add_short_name<typename traits::locking>(out.policies, 0, end);
    constexpr char word[] = ", arena";
    for (std::size_t letter = 0; letter != sizeof word - 1 && at != end; ++letter) out.policies[at++] = word[letter];
    out.policies[detail::add_short_name<typename traits::store>(out.policies, at, end)] = 0;
    if (!out.is_exact) return;
    [[maybe_unused]] const auto guard = arena.locking_.core_guard();
    out.in_use = arena.region_.in_use();
    out.peak = arena.region_.peak();
    out.capacity = arena.region_.capacity();
  }
  static constexpr process_calls calls{.entered = entered, .tell = tell};
};

// ---- the members ----------------------------------------------------------------------------------------------------------

/// The members of an arena. Sizes, alignments and counts are in bytes; an alignment is a power of two.
template <class Traits>
class arena_body {
  using region = typename std::conditional_t<Traits::in_place, std::type_identity<array_region<Traits>>,
                                             std::type_identity<chunk_region<Traits>>>::type;
  using place = typename region::place;
  using locking = typename Traits::locking::template state<Traits>;
  using checks = arena_checks<Traits, Traits::checks>;
  static constexpr std::size_t few = 4096;  // the end of no chunk is as near to the last address as the sum of two such

 public:
  /// A position in an arena: rewinding to it frees what was allocated after it. 24 bytes, copied like a pointer.
  class mark_type {
   private:
    friend arena_body;
    mark_type(place where, ending* last, typename checks::mark its) noexcept : at_(where), endings_(last), its_(its) {}

    place at_;
    ending* endings_;
    TARN_NO_UNIQUE_ADDRESS typename checks::mark its_;
  };

  /// Sets a mark, and rewinds to it in its destructor. Scopes must be nested.
  class scope {
   public:
    /// \param arena  must outlive the scope
    [[nodiscard]] explicit scope(arena_body& arena) noexcept : arena_(arena), mark_(arena.mark()) {}
    ~scope() { (void)arena_.go_back_to(mark_); }  // nobody else has the mark
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;

   private:
    arena_body& arena_;
    mark_type mark_;
  };

  template <class Values>
  constexpr explicit arena_body(const Values& values) noexcept(Values::nothrow)
      : region_(values),
        checks_(values.template get<typename Traits::checking>()),
        name_(values.template get<typename Traits::name>()) {}
  arena_body(const arena_body&) = TARN_DELETED("tarn: [V13] an arena can't be copied or moved; take a reference");
  arena_body& operator=(const arena_body&) = TARN_DELETED("tarn: [V13] an arena can't be copied or moved; take a reference");

  // ---- blocks --------------------------------------------------------------------------------------------------------------

  /// Returns a block, even for 0 bytes: no two have the same address. It is valid until the arena is rewound to an earlier mark
  /// or reset.
  /// Throws: std::bad_alloc if the exhaustion policy gives up.
  [[nodiscard]] TARN_STEP void* allocate(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) {
    {
      [[maybe_unused]] const auto guard = locking_.hit_guard();
      if (void* block; region_.hit(block, bytes, alignment)) [[likely]]
        return noted(block, bytes);
    }
    return must(bytes, alignment);
  }
  /// The same for a size that is known at compile time. It takes half the instructions.
  template <std::size_t Bytes, std::size_t Alignment = natural_alignment(Bytes)>
  [[nodiscard]] TARN_STEP void* allocate() {
    {
      [[maybe_unused]] const auto guard = locking_.hit_guard();
      if (void* block; hit<Bytes, Alignment>(block)) [[likely]]
        return noted(block, Bytes);
    }
    return must(Bytes, Alignment);
  }
  /// As allocate(), but returns null where that throws.
  [[nodiscard]] TARN_STEP void* try_allocate(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) noexcept {
    {
      [[maybe_unused]] const auto guard = locking_.hit_guard();
      if (void* block; region_.hit(block, bytes, alignment)) [[likely]]
        return noted(block, bytes);
    }
    return slow(bytes, alignment);
  }
  template <std::size_t Bytes, std::size_t Alignment = natural_alignment(Bytes)>
  [[nodiscard]] TARN_STEP void* try_allocate() noexcept {
    {
      [[maybe_unused]] const auto guard = locking_.hit_guard();
      if (void* block; hit<Bytes, Alignment>(block)) [[likely]]
        return noted(block, Bytes);
    }
    if constexpr (Traits::in_place && is_few(Bytes, Alignment)) return nullptr;
    else return slow(Bytes, Alignment);
  }

  /// Frees a block; null: does nothing. Only the newest block's bytes are available immediately.
  /// Precondition: allocate() returned it for that many bytes, and it is in use. Not an object of create() or make_span():
  /// the arena would destroy it again. `checked` reports those among the newest 64 objects that have a destructor.
  TARN_STEP void deallocate(void* block, std::size_t bytes) noexcept {
    if constexpr (Traits::checks)
      if (!admits_block(block)) return;
    [[maybe_unused]] const auto guard = locking_.hit_guard();
    const std::size_t taken = arena_taken(larger(bytes, 1));
    if constexpr (memory_tools::active)
      if (block != nullptr) memory_tools::poison(block, taken);
    if (address_of(block) + taken == address_of(region_.at()) && block != nullptr)  // numbers: null may not be added to
      region_.move_to(static_cast<std::byte*>(block));
  }
  TARN_STEP void deallocate(void* block, std::size_t bytes, std::size_t) noexcept { deallocate(block, bytes); }

  /// Resizes the newest block in place. Returns false, and changes nothing, if the block isn't the newest, its chunk has no
  /// room, or for 0 bytes.
  /// Precondition: as for deallocate(); no mark that is set later is rewound to.
  [[nodiscard]] TARN_STEP bool grow_last(void* block, std::size_t bytes, std::size_t new_bytes) noexcept {
    [[maybe_unused]] const auto guard = locking_.hit_guard();
    auto* const start = static_cast<std::byte*>(block);
    const std::size_t taken = arena_taken(larger(bytes, 1));
    if (block == nullptr || start + taken != region_.at() || new_bytes - 1 >= region_.left() + taken) return false;
    region_.move_to(start + arena_taken(new_bytes));
    if constexpr (memory_tools::active) {
      if (new_bytes > bytes) memory_tools::hand_out(start + bytes, new_bytes - bytes);
      else memory_tools::poison(start + new_bytes, taken - new_bytes);
    }
    return true;
  }

  // ---- objects -------------------------------------------------------------------------------------------------------------

  /// Constructs a T, and returns its address. When its bytes are freed, the arena calls its destructor, the newest object's
  /// first, which costs 16 bytes if there is one. What the constructor creates in the arena is destroyed after the object.
  /// Throws: as allocate(), or what the constructor throws; in that case the bytes are reused, unless it created something.
  template <class T, class... Args>
  T* create(Args&&... args) {
    using slot = slot_of<T>;
    void* const block = allocate<slot::bytes, slot::alignment>();
    if constexpr (std::is_nothrow_constructible_v<T, Args...> || !TARN_EXCEPTIONS) {
      return kept<T>(detail::make_in<T>(slot::object_in(block), static_cast<Args&&>(args)...));
    } else {
      unkept undo{*this, block, slot::bytes};
      T* const made = detail::make_in<T>(slot::object_in(block), static_cast<Args&&>(args)...);
      undo.block = nullptr;
      return kept<T>(made);
    }
  }
  /// Constructs n value-initialised objects, and returns them. They are destroyed as those of create(). O(n).
  /// Throws: as create(), after destroying the objects already constructed.
  template <class T>
  span<T> make_span(std::size_t n) {
    using slot = slot_of_many<T>;
    const std::size_t bytes = detail::add(slot::front, detail::multiply(n, sizeof(T)));
    void* const block = allocate(bytes, slot::alignment);
    if (n > size_limit / sizeof(T)) TARN_UNREACHABLE();  // allocate() didn't return; else g++ warns of the loop
    T* const first = slot::first_in(block);
    if constexpr (std::is_nothrow_default_constructible_v<T> || !TARN_EXCEPTIONS) {
      for (std::size_t made = 0; made != n; ++made) ::new (static_cast<void*>(first + made)) T();
    } else {
      unkept undo{*this, block, bytes};
      unkept_objects<T> objects{first};
      for (; objects.made != n; ++objects.made) ::new (static_cast<void*>(first + objects.made)) T();
      objects.made = 0;
      undo.block = nullptr;
    }
    if constexpr (slot::ends)
      if (n != 0) add_ending(slot::make_ending(block, n));
    return {first, n};
  }

  // ---- going back ----------------------------------------------------------------------------------------------------------

  /// Returns the arena's position. The mark is valid until the arena is rewound to an earlier one or reset.
  [[nodiscard]] mark_type mark() noexcept
    requires(Traits::one_thread)
  {
    const place where = region_.now();
    ending* const last = endings_;
    return {where, last, checks_.new_mark(*this)};
  }
  /// Frees what was allocated after the mark, and calls destructors, the newest object's first, which may create objects and
  /// use scopes. The mark stays valid.
  /// Precondition: the mark is valid; these destructors rewind only to marks that they set themselves.
  void rewind(const mark_type& mark) noexcept
    requires(Traits::one_thread)
  {
    if (go_back_to(mark)) checks_.renew(*this, mark.its_);
  }
  template <class T = Traits>
  std::enable_if_t<!T::one_thread> mark() = TARN_DELETED("tarn: [V10] a mark needs no_locking; use an arena for each thread");

  /// Frees all blocks and destroys all objects. Chunks of at most `keep` bytes in all stay for the next ones.
  /// Precondition: no other thread uses the arena, nor does a destructor call this.
  void reset(std::size_t keep = size_max) noexcept {
    if constexpr (Traits::checks)
      if (checks_.ends_objects()) return checks_.report_reentry(*this);
    end_objects(nullptr);
    checks_.forget();
    go_back(region_.start());
    if (keep != size_max) give_spare_back(keep);
  }
  /// The same, and returns all chunks.
  void release() noexcept { reset(0); }
  /// Returns unused chunks to the store. Returns their bytes.
  std::size_t trim() noexcept { return give_spare_back(0); }

  // ---- questions -----------------------------------------------------------------------------------------------------------

  /// Returns whether the address is in memory that is in use.
  bool owns(const void* block) const noexcept {
    [[maybe_unused]] const auto guard = locking_.core_guard();
    return region_.owns(block);
  }
  /// Returns the bytes in front of the next block: blocks, padding, and skipped ends of chunks.
  std::size_t in_use() const noexcept {
    [[maybe_unused]] const auto guard = locking_.core_guard();
    return region_.in_use();
  }
  /// Returns the bytes that its chunks have for blocks.
  std::size_t capacity() const noexcept {
    [[maybe_unused]] const auto guard = locking_.core_guard();
    return region_.capacity();
  }
  /// Returns what was counted.
  arena_counts statistics() const noexcept
    requires(Traits::counts)
  {
    [[maybe_unused]] const auto guard = locking_.core_guard();
    const auto held = region_.chunks();
    return {region_.in_use(), region_.peak(), counted_.allocations, held.chunks, held.bytes};
  }
  /// Returns the store policy's source<Traits>.
  const auto& store() const noexcept
    requires(Traits::has_source)
  {
    return region_.upstream().store();
  }

 protected:
  void open() noexcept {
    if constexpr (Traits::is_listed) arena_listing<arena_body>::enter(*this);
  }
  void close() noexcept {
    if constexpr (Traits::is_listed) name_.leave();
    release();
    region_.end();
    locking_.end();
  }

 private:
  template <class, bool>
  friend class arena_checks;
  template <class>
  friend struct arena_listing;
  using traits = Traits;

  struct unkept {
    arena_body& arena;
    void* block;
    std::size_t bytes;
    ~unkept() {
      if (block != nullptr) arena.deallocate(block, bytes);
    }
  };

  static constexpr bool is_few(std::size_t bytes, std::size_t alignment) noexcept { return bytes <= few && alignment <= few; }
  template <std::size_t Bytes, std::size_t Alignment>
  TARN_STEP bool hit(void*& block) noexcept {
    static_assert(is_power_of_two(Alignment));
    if constexpr (is_few(Bytes, Alignment)) return region_.template hit<Bytes, Alignment>(block);
    else return region_.hit(block, Bytes, Alignment);
  }
  TARN_STEP void* noted(void* block, [[maybe_unused]] std::size_t bytes) noexcept {
    if constexpr (memory_tools::active) memory_tools::hand_out(block, larger(bytes, 1));
    if constexpr (Traits::counts) ++counted_.allocations;
    return block;
  }
  TARN_NOINLINE void* must(std::size_t bytes, std::size_t alignment) { return detail::or_fail(slow(bytes, alignment)); }
  TARN_NOINLINE void* slow(std::size_t bytes, std::size_t alignment) noexcept {
    if constexpr (Traits::in_place) {
      [[maybe_unused]] const auto guard = locking_.hit_guard();
      void* const block = region_.hit_slow(bytes, alignment);
      return block != nullptr ? noted(block, bytes) : nullptr;
    } else {
      if constexpr (Traits::one_thread && !Traits::one_chunk)  // else another thread may just have entered a chunk
        if (void* const block = region_.hit_next(bytes, alignment)) [[likely]]
          return noted(block, bytes);
      return slower(bytes, alignment);
    }
  }
  TARN_NOINLINE void* slower(std::size_t bytes, std::size_t alignment) noexcept {
    open();
    typename upstream<Traits>::attempt one;
    const std::size_t need = region::bytes_needed(bytes, alignment);
    void* block;
    do {
      block = grow(bytes, alignment, need);
      region_.upstream().tell();
    } while (block == nullptr && need != size_max && region_.upstream().retry(bytes, one));
    if constexpr (Traits::is_listed)
      if (block == nullptr) name_.on_refusal();
    return block;
  }
  /// A block of what the arena has; else of a chunk from the store, or from the second one. A store may use the arena that it
  /// serves, which then gets no chunk.
  void* grow(std::size_t bytes, std::size_t alignment, std::size_t need) noexcept {
    if (grows_here()) return take_spare(bytes, alignment);
    [[maybe_unused]] const auto growing = locking_.growth_guard();
    void* block = take_spare(bytes, alignment);
    if (block != nullptr || need == size_max) return block;
    const at_store here(*this);
    block = adopted(region_.fetch(need), bytes, alignment);
    if constexpr (Traits::checks) checks_.report_broken_store(*this);
    if constexpr (Traits::has_second)
      if (block == nullptr) block = adopted(region_.fetch_second(need), bytes, alignment);
    return block;
  }
  void* take_spare(std::size_t bytes, std::size_t alignment) noexcept {
    [[maybe_unused]] const auto guard = locking_.hit_guard();
    void* block = region_.hit_slow(bytes, alignment);
    if (block == nullptr && region_.enter_spare(larger(bytes, 1), alignment)) block = region_.hit_slow(bytes, alignment);
    return block != nullptr ? noted(block, bytes) : nullptr;
  }
  template <class Chunk>
  void* adopted(Chunk* fresh, std::size_t bytes, std::size_t alignment) noexcept {
    if (fresh == nullptr) return nullptr;
    [[maybe_unused]] const auto guard = locking_.hit_guard();
    region_.adopt(*fresh);
    if constexpr (Traits::is_listed) {
      name_.on_chunk(fresh->region.bytes, region_.capacity());
      name_.on_outside(region_.in_use());
    }
    void* const block = region_.hit_slow(bytes, alignment);
    return block != nullptr ? noted(block, bytes) : nullptr;
  }
  bool grows_here() const noexcept {
    if constexpr (again_of<locking> == growth_again::told) return locking_.grows_here();
    else return store_.is_set;
  }

  template <class T>
  TARN_STEP T* kept(T* made) noexcept {
    if constexpr (slot_of<T>::ends) add_ending(slot_of<T>::make_ending(made));
    return made;
  }
  TARN_STEP void add_ending(ending* its) noexcept {
    [[maybe_unused]] const auto guard = locking_.hit_guard();
    its->next = endings_;
    endings_ = its;
  }
  /// Runs the endings that came after `last`, and those that are added during this.
  void end_objects(ending* last) noexcept {
    if (endings_ == last) return;
    [[maybe_unused]] const typename checks::running now(checks_);
    while (endings_ != last) {
      ending* const its = endings_;
      endings_ = its->next;
      its->run(its);
    }
  }
  /// The mark is invalid afterwards. Returns false, and does nothing, if it was so before.
  bool go_back_to(const mark_type& mark) noexcept {
    [[maybe_unused]] const typename checks::records left = checks_.left_by(*this, mark.its_);
    if constexpr (Traits::checks)
      if (!left.is_good) return false;
    end_objects(mark.endings_);
    checks_.go_back_to(left);
    go_back(mark.at_);
    return true;
  }
  TARN_STEP void go_back(place to) noexcept {
    [[maybe_unused]] const auto guard = locking_.hit_guard();
    if constexpr (memory_tools::active)
      region_.each_behind(to, [](memory gone) { memory_tools::poison(gone.start, gone.bytes); });
    region_.rewind(to);
  }
  std::size_t give_spare_back([[maybe_unused]] std::size_t keep) noexcept {
    std::size_t bytes = 0;
    if constexpr (!Traits::in_place) {
      [[maybe_unused]] const auto growing = locking_.growth_guard();
      const at_store here(*this);
      const auto next = [&] {
        [[maybe_unused]] const auto guard = locking_.hit_guard();
        auto* const spare = region_.take_spare(keep);
        if constexpr (Traits::is_listed)
          if (spare != nullptr) name_.off_chunk(spare->region.bytes, region_.capacity());
        return spare;
      };
      while (const auto* const spare = next()) bytes += region_.give_back(*spare);
    }
    return bytes;
  }
  bool admits_block(const void* block) noexcept {
    if (block == nullptr) return true;
    if (owns(block)) return !is_object(block) || checks_.refuse(*this, misuse_kind::interior_pointer, block);
    const bool is_spare = [&] {
      [[maybe_unused]] const auto guard = locking_.core_guard();
      return region_.is_spare(block);
    }();
    return checks_.refuse(*this, is_spare ? misuse_kind::double_free : misuse_kind::foreign_pointer, block);
  }

  /// Whether an object starts there that is to be destroyed, and is among the newest.
  bool is_object(const void* block) const noexcept {
    [[maybe_unused]] const auto guard = locking_.core_guard();
    const ending* its = endings_;
    for (int looks = 0; its != nullptr && looks != 64; ++looks, its = its->next)
      if (its + 1 == block) return true;
    return false;
  }

  /// Notes that a store is called, where no lock tells: only one thread, or one core, can be here.
  static constexpr bool notes_store = !Traits::in_place && again_of<locking> == growth_again::nests;
  struct store_flag {
    bool is_set = false;
  };
  struct no_store_flag {
    static constexpr bool is_set = false;
  };
  class at_store {
   public:
    explicit at_store(arena_body& arena) noexcept : arena_(arena), was_(arena.store_.is_set) { set(true); }
    ~at_store() { set(was_); }
    at_store(const at_store&) = delete;
    at_store& operator=(const at_store&) = delete;

   private:
    void set([[maybe_unused]] bool now) noexcept {
      if constexpr (notes_store) arena_.store_.is_set = now;
    }
    arena_body& arena_;
    const bool was_;
  };

  struct counted {
    std::size_t allocations = 0;
  };
  struct nothing_counted {};

  region region_;
  ending* endings_ = nullptr;
  TARN_NO_UNIQUE_ADDRESS locking locking_;
  TARN_NO_UNIQUE_ADDRESS checks checks_;
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<notes_store, store_flag, no_store_flag> store_;
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<Traits::counts, counted, nothing_counted> counted_;
  TARN_NO_UNIQUE_ADDRESS typename Traits::name::state name_;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_ARENA_ARENA_BODY_H_
