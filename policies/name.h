// Axis name: what the pool is called, and whether it is in the registry; what the pool notes for the registry (listed_pool),
// and what others see (pool_record).
#ifndef TARN_POLICIES_NAME_H_
#define TARN_POLICIES_NAME_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tarn/policies/axis.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/detail/process_list.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"

namespace tarn {

/// What a name policy declares about itself.
struct name_traits {
  bool is_listed = false;  // listing(): the pool's entry in the registry
};

/// A pool's entry in the registry.
struct pool_listing {
  const char* name = "";  // ends with a null; lives as long as the pool
  call_site where;        // the pool's declaration, if that is known
  bool has_size = false;  // the registry adds the block size, as in "orders/64", because several pools have this name
};

// decides    the pool has no name, and isn't in the registry
// costs      nothing
// conflicts  none
// use when   nothing inspects the pool from outside (the default)
struct unnamed {
  using axis = tarn::axis::name;
  static constexpr name_traits traits{};

  struct state {
    constexpr explicit state(const unnamed&) noexcept {}
  };
};

/// A string literal as a template argument.
template <std::size_t N>
struct name_text {
  /// Copies the literal, and the null at its end.
  consteval name_text(const char (&literal)[N]) noexcept {
    for (std::size_t i = 0; i != N; ++i) text[i] = literal[i];
  }
  char text[N] = {};  // with the null
};

// decides    the pool has a name, which is part of its type, and is in the registry, so tarn::snapshot() includes it
// costs      nothing on the hot path. 208 bytes in the pool object; a few more instructions when the pool grows or its front
//            runs empty. Pools that differ only in their names share their code
// conflicts  none
// use when   a program should show the state of its pools
/// \tparam Text  a string literal: 1 to 63 characters
template <name_text Text>
struct named {
  using axis = tarn::axis::name;
  static constexpr bool arguments_hold = sizeof Text.text > 1 && sizeof Text.text <= 64;
  struct complaint {
    static_assert(arguments_hold,
                  "tarn: [A1] named was given no text, or more than the 63 characters that the registry keeps; write a name of "
                  "1 to 63 characters");
  };
  static constexpr name_traits traits{.is_listed = true};

  static constexpr pool_listing listing() noexcept { return {Text.text, {}}; }
};

// decides    the pool has a name, which its constructor is given, and is in the registry, so tarn::snapshot() includes it
// costs      as named
// conflicts  static pools, which are created before the program starts
// use when   the name is known only at run time: one pool for each connection, or a pool of a type that a library chose
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

/// Everything that the pool uses of a name policy, in addition to its traits. It has no machinery of its own, so listed pools
/// that differ only in their names share their code.
///   listing()    if the pool is in the registry: its pool_listing. Called when the pool is created
template <class P>
concept name_policy = policy_on<P, axis::name> && detail::says<P, name_traits> &&
                      detail::as_promised<P::traits.is_listed, requires(const P& policy) {
                        { policy.listing() } noexcept -> std::same_as<pool_listing>;
                      }>;

// ---- the registry --------------------------------------------------------------------------------------------------------
// Everything that a pool notes is atomic, because any thread may ask a pool without a lock, which answers with its last notes.
//
//   a pool      enters the list of the process's pools when it is created (process_node::enter, describe), and notes changes on
//               slow paths: on_chunk, off_chunk, on_outside, on_refusal
//   a snapshot  write_records: for each pool in the list what it noted and, under its core guard, what it has (tell)
//   a switch    switch_checks_of: the same way

/// A pool at one moment. The texts end with a null.
struct pool_record {
  char name[64] = {};             // the first 63 characters
  char policies[64] = {};         // how it locks, which free block is used next, where chunks come from: without parameters
  const void* address = nullptr;  // of the pool; it may be destroyed since
  call_site where;                // its declaration, if that is known; valid while the library is loaded that has it
  std::size_t block_size = 0;     // bytes
  std::size_t stride = 0;         // bytes from one block to the next
  std::size_t in_use = 0;         // blocks allocated and not freed
  std::size_t peak = 0;           // the most in use at once: never too low; how far too high: docs/products/registry.md
  std::size_t waiting = 0;        // free blocks in threads' magazines, or on the stack of lock_free
  std::size_t capacity = 0;       // blocks, free or in use
  std::size_t chunks = 0;         // that it holds
  std::size_t bytes_held = 0;     // in those chunks, as the store gave them
  std::size_t growths = 0;        // chunks that it ever got
  std::size_t refused = 0;        // requests for blocks that found none
  bool is_exact = false;          // whether the pool could be inspected. If not, it has no lock and belongs to another thread;
                                  // `in_use` is then the most that it can have been when it last grew or refilled its front
};

/// The result of switch_checks().
struct switched_pools {
  std::size_t switched = 0;  // pools of the name whose checks are now as requested
  std::size_t refused = 0;   // those whose checks can be switched on only at the start, because they have no lock
};

}  // namespace tarn

namespace tarn::detail {

// ---- the names of types ----------------------------------------------------------------------------------------------------

/// The name of a type, a constant: how reports name the static pool of a tag. As the compiler spells it in the name of a
/// function: without run-time type information there is no other source.
template <class T>
struct name_of_type {
  static constexpr const char* whole() noexcept { return TARN_FUNCTION_NAME; }
  /// Where the type's name starts in it: after "T = ".
  static constexpr std::size_t first() noexcept {
    const char* const all = whole();
    std::size_t i = 0;
    while (all[i] != 0 && !(all[i] == 'T' && all[i + 1] == ' ' && all[i + 2] == '=' && all[i + 3] == ' ')) ++i;
    return all[i] == 0 ? i : i + 4;
  }
  static constexpr std::size_t length() noexcept {
    const char* const name = whole() + first();
    std::size_t i = 0;
    while (name[i] != 0 && name[i] != ';' && name[i] != ']') ++i;
    return i;
  }
  struct characters {
    char at[length() + 1] = {};
  };
  static constexpr characters copy = [] {
    characters its;  // no name that a program may have, too: g++ would say that it is shadowed
    for (std::size_t letter = 0; letter != length(); ++letter) its.at[letter] = whole()[first() + letter];
    return its;
  }();
  static constexpr const char* text() noexcept { return copy.at; }
};

/// "tarn::mutex_locking<tarn::mutex>" as "mutex_locking".
template <class Policy>
constexpr std::size_t add_short_name(char* to, std::size_t at, std::size_t end) noexcept {
  const char* const name = name_of_type<Policy>::text();
  std::size_t first = 0;
  std::size_t last = 0;
  while (name[last] != 0 && name[last] != '<') {
    if (name[last] == ':' || name[last] == ' ') first = last + 1;
    ++last;
  }
  if (at != 0 && at + 2 < end) to[at++] = ',', to[at++] = ' ';
  for (; first != last && at != end; ++first) to[at++] = name[first];
  return at;
}

/// Writes text into a buffer, without memory, locks or the C library: as much as there is room for, and counts all of it.
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
  /// Escapes with `escape(c)`, which writes a character of ASCII, and replaces what isn't UTF-8, because a name may be cut
  /// anywhere.
  void put_text(const char* text, auto escape) noexcept { put_text(text, escape, as_it_is{*this}); }
  /// \param escape_wide  of (character, bytes), writes one that isn't in ASCII
  void put_text(const char* text, auto escape, auto escape_wide) noexcept {
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

// ---- what a pool notes ----------------------------------------------------------------------------------------------------

class listed_pool;

/// Where the blocks of a pool are in its chunks, for debuggers, which read it from memory, whatever the pool's type is.
struct listed_shape {
  std::size_t block_size = 0;  // bytes
  std::size_t stride = 0;      // from one block to the next
  std::size_t offset = 0;      // from a slot to its block
  std::size_t words = 0;       // pointers that a free block holds
  std::size_t run = 0;         // blocks after which the next is a cache line further; 0: none is
};

/// What the machinery of every listed pool is constructed from, whatever its name policy is.
struct listed {
  static constexpr name_traits traits{.is_listed = true};
  using state = listed_pool;
  pool_listing its;
};

/// The same if a new pool must be all zero: the name is that of the type, and is set when the pool enters the registry.
struct listed_by_type {};
template <class Name>
struct listed_as : listed_by_type {
  static constexpr name_traits traits{.is_listed = true};
  using state = listed_pool;
  static constexpr pool_listing listing() noexcept { return Name().listing(); }
};

/// The name of a static pool that has none: that of its tag.
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
class listed_pool : public process_node {
 public:
  constexpr explicit listed_pool(const listed& policy) noexcept : process_node(0), its_(policy.its) {}
  constexpr explicit listed_pool(const listed_by_type&) noexcept : process_node(0, true), its_{.name = nullptr, .where = {}} {}

  /// Called by the list when the pool enters it. \param its  of listed_by_type
  void describe(const listed_shape& shape) noexcept { shape_ = shape; }
  void describe(const listed_shape& shape, const pool_listing& its) noexcept { shape_ = shape, its_ = its; }

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
  /// The number of blocks that can be in use now: those that aren't in the list behind its front.
  void on_outside(std::size_t blocks) noexcept {
    outside_.store(blocks, memory_order_relaxed);
    if (blocks > peak_.load(memory_order_relaxed)) peak_.store(blocks, memory_order_relaxed);
  }
  /// Called with anything held.
  void on_refusal() noexcept { refused_.fetch_add(1, memory_order_relaxed); }

  /// Called by a thread that walks the list.
  void tell(pool_record& out) const noexcept {
    out.where = its_.where;
    out.address = pool();
    out.in_use = outside_.load(memory_order_relaxed);
    out.peak = peak_.load(memory_order_relaxed);
    out.capacity = capacity_.load(memory_order_relaxed);
    out.chunks = chunks_.load(memory_order_relaxed);
    out.bytes_held = bytes_.load(memory_order_relaxed);
    out.growths = growths_.load(memory_order_relaxed);
    out.refused = refused_.load(memory_order_relaxed);
    out.is_exact = is_owner();
    calls().tell(pool(), out);
    text_writer name(span<char>(out.name, sizeof out.name - 1));
    name.put(this->name());
    if (its_.has_size) name.put('/'), name.put_number(out.block_size);
  }
  const char* name() const noexcept { return its_.name != nullptr ? its_.name : ""; }
  bool is_called(span<const char> text) const noexcept {
    return std::strlen(name()) == text.size() && std::memcmp(name(), text.data(), text.size()) == 0;
  }
  bool has_switch() const noexcept { return calls().switch_checks != nullptr; }
  bool switch_checks(bool on) const noexcept { return calls().switch_checks(pool(), on, is_owner()); }

 private:
  void off_chunk_bytes(std::size_t bytes, std::size_t capacity) noexcept {
    change(bytes_, bytes);
    capacity_.store(capacity, memory_order_relaxed);
  }
  static void change(atomic_word<std::size_t>& number, std::size_t by) noexcept {
    number.store(number.load(memory_order_relaxed) + by, memory_order_relaxed);
  }

  pool_listing its_;
  listed_shape shape_;
  // Order: relaxed; numbers, written under a guard of the pool, or added to.
  atomic_word<std::size_t> outside_ = 0;
  atomic_word<std::size_t> peak_ = 0;
  atomic_word<std::size_t> capacity_ = 0;
  atomic_word<std::size_t> chunks_ = 0;
  atomic_word<std::size_t> bytes_ = 0;
  atomic_word<std::size_t> growths_ = 0;
  atomic_word<std::size_t> refused_ = 0;
};

/// Writes a record for each pool with a name, as many as fit. Returns the number of such pools.
inline std::size_t write_records(pool_record* out, std::size_t room) noexcept {
  std::size_t n = 0;
  pools_of_process().ask_each_listed([&](const process_node& one) {
    if (n < room) static_cast<const listed_pool&>(one).tell(out[n]);
    ++n;
  });
  return n;
}
/// Switches the checks of the pools of that name, where they can be switched.
inline switched_pools switch_checks_of(span<const char> name, bool on) noexcept {
  switched_pools result;
  pools_of_process().ask_each_listed([&](const process_node& one) {
    const auto& its = static_cast<const listed_pool&>(one);
    if (its.is_called(name) && its.has_switch()) ++(its.switch_checks(on) ? result.switched : result.refused);
  });
  return result;
}

}  // namespace tarn::detail

#endif  // TARN_POLICIES_NAME_H_
