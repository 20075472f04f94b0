// decides    the pool has a name, which its type says, and is in the registry: tarn::snapshot() tells of it
// costs      nothing on the hot path. 216 bytes in the pool object; a few instructions more wherever the pool grows or its
//            front runs empty. Pools that differ in nothing but the name share their code
// conflicts  none
// use when   a program should show how its pools are
#ifndef TARN_POLICIES_NAME_NAMED_H_
#define TARN_POLICIES_NAME_NAMED_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/detail/call_frame.h"
#include "tarn/policies/detail/process_list.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/name.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/one_in_process.h"

namespace tarn {

/// A string literal as a template argument.
template <std::size_t N>
struct name_text {
  /// Copies the literal, and the null at its end.
  consteval name_text(const char (&literal)[N]) noexcept {
    for (std::size_t i = 0; i != N; ++i) text[i] = literal[i];
  }
  char text[N] = {};  // with the null
};

/// \tparam Text  a string literal: 1 to 63 characters
template <name_text Text>
struct named {
  using axis = tarn::axis::name;
  static constexpr bool arguments_hold = sizeof Text.text > 1 && sizeof Text.text <= 64;
  struct complaint {
    static_assert(arguments_hold,
                  "tarn: [A1] named with no text, or with more than 63 characters: the registry keeps no more; write a name of "
                  "1 to 63 characters");
  };
  static constexpr name_traits traits{.is_listed = true};

  static constexpr pool_listing listing() noexcept { return {Text.text, {}}; }
};

// decides    the pool has a name, which its constructor is given, and is in the registry: tarn::snapshot() tells of it
// costs      as named
// conflicts  static pools, which are made before the program starts
// use when   the name is known when the program runs: one pool for each connection, or of a type that a library chose
class run_time_name {
 public:
  using axis = tarn::axis::name;
  static constexpr name_traits traits{.is_listed = true};

  /// \param text   must outlive the pool; of more than 63 characters, the registry shows the first 63
  /// \param where  the pool's declaration
  constexpr explicit run_time_name(const char* text, call_site where = call_site::current()) noexcept : its_{text, where} {}

  constexpr pool_listing listing() const noexcept { return its_; }

 private:
  pool_listing its_;
};

// What the registry tells of a pool.

/// A pool at one moment. The texts end with a null.
struct pool_record {
  char name[64] = {};             // the first 63 characters
  char policies[64] = {};         // how it locks, which free block is used next, where chunks come from: without parameters
  const void* address = nullptr;  // of the pool; it may have ended since
  call_site where;                // its declaration, if that is known; valid while the library is loaded that has it
  std::size_t block_size = 0;     // bytes
  std::size_t stride = 0;         // bytes from one block to the next
  std::size_t in_use = 0;         // blocks handed out and not given back
  std::size_t peak = 0;           // the most that were in use at once: never too low; how far too high: docs/registry.md
  std::size_t waiting = 0;        // free blocks in threads' magazines, or on the stack of lock_free
  std::size_t capacity = 0;       // blocks, free or in use
  std::size_t chunks = 0;         // that it holds
  std::size_t bytes_held = 0;     // in those chunks, as the store gave them
  std::size_t growths = 0;        // chunks that it ever got
  std::size_t refused = 0;        // requests for blocks that found none
  bool is_exact = false;          // whether the pool could be looked at. If not, it has no lock and belongs to another thread:
                                  // `in_use` is then the most that it can have been when it last grew or refilled its front
};

/// What became of a call of switch_checks().
struct switched_pools {
  std::size_t switched = 0;  // pools of the name, whose checks are now as they were to be
  std::size_t refused = 0;   // those whose checks can be switched on only at the start: no lock keeps their calls apart
};

}  // namespace tarn

// Text into a buffer, without memory, locks or the C library.

namespace tarn::detail {

/// Writes what there is room for, and counts all.
class text_writer {
 public:
  explicit text_writer(span<char> out) noexcept : out_(out) {}

  std::size_t written() const noexcept { return at_; }
  void put(char c) noexcept {
    if (at_ < out_.size()) out_[at_] = c;
    ++at_;
  }
  void put(const char* text) noexcept {
    for (; *text != 0; ++text) put(*text);
  }
  void put_number(std::uintptr_t number, unsigned base = 10) noexcept {
    char digits[3 * sizeof number];
    std::size_t n = 0;
    do digits[n++] = "0123456789abcdef"[number % base];
    while ((number /= base) != 0);
    while (n != 0) put(digits[--n]);
  }
  void put_address(const void* p) noexcept {
    put("0x");
    put_number(address_of(p), 16);
  }
  /// Escapes as `escape(c)` says, which writes a character of ASCII, and replaces what isn't UTF-8: a name may be cut anywhere.
  template <class Escape>
  void put_text(const char* text, Escape escape) noexcept {
    put_text(text, escape, as_it_is{*this});
  }
  /// \param escape_wide  of (character, bytes), writes one that isn't in ASCII
  template <class Escape, class EscapeWide>
  void put_text(const char* text, Escape escape, EscapeWide escape_wide) noexcept {
    while (*text != 0) {
      const std::size_t n = character(text);
      if (n == 0) {
        put("\xEF\xBF\xBD");  // U+FFFD
        ++text;
      } else if (n == 1) {
        escape(*text++);
      } else {
        escape_wide(text, n);
        text += n;
      }
    }
  }

 private:
  struct as_it_is {
    void operator()(const char* wide, std::size_t bytes) const noexcept {
      for (; bytes != 0; --bytes) to.put(*wide++);
    }
    text_writer& to;
  };
  /// Bytes of the character of UTF-8 that the text begins with; 0: of none (RFC 3629, section 4).
  static std::size_t character(const char* text) noexcept {
    const auto at = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const auto follows = [&at](std::size_t i) { return (at(i) & 0xC0) == 0x80; };
    const unsigned char first = at(0);
    if (first < 0x80) return 1;
    if (first < 0xC2 || first > 0xF4 || !follows(1)) return 0;
    if (first < 0xE0) return 2;
    const unsigned char least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const unsigned char most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (at(1) < least || at(1) > most || !follows(2)) return 0;
    return first < 0xF0 ? 3 : follows(3) ? 4 : 0;
  }

  span<char> out_;
  std::size_t at_ = 0;
};

// The pools of the process that have a name. What a pool keeps for the list is all atomic: a pool without a lock may be asked
// by any thread, and answers with what it noted last.

class listed_pool;

/// Where the blocks of a pool lie in its chunks, for debuggers: they read it from memory, whatever the pool's type is.
struct listed_shape {
  std::size_t block_size = 0;  // bytes
  std::size_t stride = 0;      // from one block to the next
  std::size_t offset = 0;      // from a slot to its block
  std::size_t words = 0;       // pointers that a free block holds
  std::size_t run = 0;         // blocks after which the next is a cache line further; 0: none is
};

/// What the machinery of every listed pool is made from, whatever its name policy is.
struct listed {
  static constexpr name_traits traits{.is_listed = true};
  using state = listed_pool;
  pool_listing its;
};

/// The same where a new pool must be all zero: the name is that of the type, and comes when the pool enters the registry.
struct listed_by_type {};
template <class Name>
struct listed_as : listed_by_type {
  static constexpr name_traits traits{.is_listed = true};
  using state = listed_pool;
  static constexpr pool_listing listing() noexcept { return Name().listing(); }
};

/// The name of a static pool that was given none: that of its tag.
struct name_of_tag {
  using axis = tarn::axis::name;
  static constexpr name_traits traits{.is_listed = true};
  constexpr pool_listing listing() const noexcept { return {text, {}}; }
  const char* text = "";
};
/// The name of a pool of one class, among those that a product with this name has.
struct name_of_class {
  using axis = tarn::axis::name;
  static constexpr name_traits traits{.is_listed = true};
  constexpr pool_listing listing() const noexcept { return its; }
  pool_listing its;
};

/// A listed pool's state of the axis name.
class listed_pool : public asked_member<listed_pool> {
 public:
  /// What the registry calls. `switch_checks` is null, or switches checks on or off and returns whether it could.
  struct calls {
    void (*tell)(const void* pool, pool_record& out) noexcept;  // writes what can be seen of the pool under its core guard
    bool (*switch_checks)(void* pool, bool on, bool is_owner) noexcept;
    listed_shape (*shape)(const void* pool) noexcept;
    pool_listing (*listing)() noexcept = nullptr;  // of listed_by_type
  };

  constexpr explicit listed_pool(const listed& policy) noexcept;
  constexpr explicit listed_pool(const listed_by_type&) noexcept;

  /// Called with nothing held when the pool is made, and before it gets a chunk. `confined`: no lock keeps threads apart, so
  /// only the thread that was here last may look into the pool.
  void enter(void* pool, const calls& its, bool confined) noexcept {
    if (confined) owner_.store(this_thread_number(), memory_order_relaxed);
    if (!has_entered()) [[unlikely]]
      enter_now(pool, its);
  }
  /// Waits for threads that are looking at the pool.
  void leave() noexcept;
  /// Nobody looks at the pool until resume().
  void pause() noexcept;
  void resume() noexcept;

  // Called under the core guard.
  void on_chunk(std::size_t bytes, std::size_t capacity) noexcept {
    change(chunks_, 1);
    change(growths_, 1);
    off_chunk_bytes(bytes, capacity);
  }
  void off_chunk(std::size_t bytes, std::size_t capacity) noexcept {
    change(chunks_, static_cast<std::size_t>(-1));
    off_chunk_bytes(std::size_t{0} - bytes, capacity);
  }
  /// So many blocks can be in use now: those that the list hasn't behind its front.
  void on_outside(std::size_t blocks) noexcept {
    outside_.store(blocks, memory_order_relaxed);
    if (blocks > peak_.load(memory_order_relaxed)) peak_.store(blocks, memory_order_relaxed);
  }
  /// Called with anything held.
  void on_refusal() noexcept { refused_.fetch_add(1, memory_order_relaxed); }

  /// Called by the list.
  void tell(pool_record& out) const noexcept {
    out.where = its_.where;
    out.address = pool_;
    out.in_use = outside_.load(memory_order_relaxed);
    out.peak = peak_.load(memory_order_relaxed);
    out.capacity = capacity_.load(memory_order_relaxed);
    out.chunks = chunks_.load(memory_order_relaxed);
    out.bytes_held = bytes_.load(memory_order_relaxed);
    out.growths = growths_.load(memory_order_relaxed);
    out.refused = refused_.load(memory_order_relaxed);
    out.is_exact = is_owner();
    calls_->tell(pool_, out);
    text_writer name(span<char>(out.name, sizeof out.name - 1));
    name.put(this->name());
    if (its_.has_size) name.put('/'), name.put_number(out.block_size);
  }
  const char* name() const noexcept { return its_.name != nullptr ? its_.name : ""; }
  bool has_switch() const noexcept { return calls_->switch_checks != nullptr; }
  bool switch_checks(bool on) const noexcept { return calls_->switch_checks(pool_, on, is_owner()); }

 private:
  friend class ranked_list<listed_pool>;
  friend class asked_list<listed_pool>;
  static constexpr int rank() noexcept { return 0; }  // so that to enter and to leave is O(1)

  /// Whether the pool has a lock, or belongs to this thread.
  bool is_owner() const noexcept {
    const thread_number owner = owner_.load(memory_order_relaxed);
    return owner == 0 || owner == this_thread_number();
  }
  TARN_ONE_IN_LIBRARY void enter_now(void* pool, const calls& its) noexcept;
  void off_chunk_bytes(std::size_t bytes, std::size_t capacity) noexcept {
    change(bytes_, bytes);
    capacity_.store(capacity, memory_order_relaxed);
  }
  static void change(atomic_word<std::size_t>& number, std::size_t by) noexcept {
    number.store(number.load(memory_order_relaxed) + by, memory_order_relaxed);
  }

  pool_listing its_;
  void* pool_ = nullptr;
  const calls* calls_ = nullptr;
  listed_shape shape_;
  atomic_word<thread_number> owner_ = 0;  // if confined
  atomic_word<std::size_t> outside_ = 0;
  atomic_word<std::size_t> peak_ = 0;
  atomic_word<std::size_t> capacity_ = 0;
  atomic_word<std::size_t> chunks_ = 0;
  atomic_word<std::size_t> bytes_ = 0;
  atomic_word<std::size_t> growths_ = 0;
  atomic_word<std::size_t> refused_ = 0;
};

/// One for the process.
class listed_pools : public asked_list<listed_pool> {
 public:
  /// Writes a record for each pool, as many as there is room for. Returns how many pools there are.
  std::size_t fill(pool_record* out, std::size_t room) noexcept {
    std::size_t n = 0;
    for (asked_round round; !round.ended;)
      ask_next(round, [&](const listed_pool& one) {
        if (n < room) one.tell(out[n]);
        ++n;
      });
    return n;
  }
  /// Switches the checks of the pools of that name, where they can be switched.
  switched_pools switch_checks(span<const char> name, bool on) noexcept {
    switched_pools result;
    for (asked_round round; !round.ended;)
      ask_next(round, [&](const listed_pool& one) {
        const bool is_meant =
            std::strlen(one.name()) == name.size() && std::memcmp(one.name(), name.data(), name.size()) == 0;
        if (!is_meant || !one.has_switch()) return;
        ++(one.switch_checks(on) ? result.switched : result.refused);
      });
    return result;
  }
};

TARN_FOUND_IN_PROCESS inline constinit listed_pools library_pools;
inline listed_pools& pools_of_process() noexcept { return one_in_process<library_pools, 0x107>::get(); }
/// Found at load: later a thread holds what the loader may wait for. A template, so that only programs with such pools have it.
struct TARN_ONE_IN_LIBRARY early_listing {
  TARN_STEP early_listing() noexcept { pools_of_process(); }
};
template <class>
TARN_FIRST_AT_LOAD static const early_listing listed_at_load;

TARN_ONE_IN_LIBRARY void begin_of_listing() noexcept;
TARN_ONE_IN_LIBRARY inline constinit asked_library library_listing{.at_first = begin_of_listing};
TARN_ONE_IN_LIBRARY inline void end_of_listing() noexcept {
  library_listing.now.store(asked_library::phase::over, memory_order_relaxed);
  pools_of_process().remove_library(library_listing);
}
TARN_ONE_IN_LIBRARY inline void begin_of_listing() noexcept { std::atexit(end_of_listing); }

constexpr listed_pool::listed_pool(const listed& policy) noexcept : asked_member(library_listing), its_(policy.its) {}
constexpr listed_pool::listed_pool(const listed_by_type&) noexcept
    : asked_member(library_listing, true), its_{.name = nullptr, .where = {}} {}
inline void listed_pool::enter_now(void* pool, const calls& its) noexcept {
  if (!begins(library_listing)) return;
  pools_of_process().add(*this, [pool, &its](listed_pool& one) {
    one.pool_ = pool;
    one.calls_ = &its;
    one.shape_ = its.shape(pool);
    if (its.listing != nullptr) one.its_ = its.listing();
  });
}
inline void listed_pool::leave() noexcept {
  if (has_entered()) pools_of_process().remove(*this);
}
inline void listed_pool::pause() noexcept { pools_of_process().pause(*this); }
inline void listed_pool::resume() noexcept { pools_of_process().resume(*this); }

}  // namespace tarn::detail

#endif  // TARN_POLICIES_NAME_NAMED_H_
