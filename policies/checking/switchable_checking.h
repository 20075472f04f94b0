// decides    wrong frees are refused and reported, as hardened does, while the pool's checks are on: from the start if the
//            environment variable TARN_CHECK lists the pool, or after a call of switch_checks()
// costs      a predictable branch for each call, while the checks are off; a byte for each block, at the front of its chunk.
//            With guard_bytes 32 bytes for each block. On: about what hardened costs
// conflicts  unnamed: the pool couldn't be listed
// use when   a release build should be able to detect a wrong free where it happens, without being rebuilt
#ifndef TARN_POLICIES_CHECKING_SWITCHABLE_CHECKING_H_
#define TARN_POLICIES_CHECKING_SWITCHABLE_CHECKING_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tarn/policies/checking.h"
#include "tarn/policies/checking/block_checks.h"
#include "tarn/policies/checking/checked.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/one_in_process.h"
#include "tarn/policies/platform/system.h"

// What happens:
//
//   choose        the pool gets its name: TARN_CHECK decides whether the checks are on
//   comes_out     a block is taken from the list while they are on: its record and any guard bytes are checked
//   comes_in      a block is freed while they are on: the same
//    take_noted     after a call, under the core guard: describes what one of the two found
//   switch_on     all records are forgotten
//
// A block's record says that it is in use or free only if it was allocated, or freed, while the checks were on. Nothing is
// known about other blocks, so they pass.

namespace tarn::detail {

// ---- TARN_CHECK --------------------------------------------------------------------------------------------------------

/// What the list requests for a pool.
struct check_wish {
  bool checks = false;
  bool guards = false;
};

/// An entry of the list: a name, maybe with a final `*` for any further characters, and `:guard`.
struct check_entry {
  const char* name;
  std::size_t length;
  bool takes_more;
  bool guards;

  check_entry(const char* first, std::size_t bytes) noexcept : name(first), length(bytes), takes_more(false), guards(false) {
    constexpr std::size_t option = sizeof ":guard" - 1;
    if (length > option && std::memcmp(name + length - option, ":guard", option) == 0) {
      guards = true;
      length -= option;
    }
    if (length != 0 && name[length - 1] == '*') {
      takes_more = true;
      --length;
    }
  }
  bool names(const char* pool) const noexcept {
    if (std::strncmp(pool, name, length) != 0) return false;
    return takes_more || pool[length] == 0;
  }
};

/// Where the entry that begins there ends. A comma within brackets belongs to a name, such as that of a class with arguments.
/// If one of the brackets is never closed, they are ordinary characters.
inline const char* end_of_check(const char* at) noexcept {
  const char* comma = nullptr;
  int angles = 0, rounds = 0;
  for (; *at != 0; ++at) {
    if (*at == '<' && rounds == 0) ++angles;
    if (*at == '>' && rounds == 0 && angles != 0) --angles;
    if (*at == '(') ++rounds;
    if (*at == ')' && rounds != 0) --rounds;
    if (*at != ',') continue;
    if (angles == 0 && rounds == 0) return at;
    if (comma == nullptr) comma = at;
  }
  return comma != nullptr && (angles != 0 || rounds != 0) ? comma : at;
}

/// Calls visit(check_entry, index) for each entry.
void each_check(const char* text, auto visit) noexcept {
  std::size_t index = 0;
  for (const char* first = text;;) {
    const char* const end = end_of_check(first);
    if (end != first) visit(check_entry(first, static_cast<std::size_t>(end - first)), index++);
    if (*end == 0) return;
    first = end + 1;
  }
}

/// One for the process.
class check_list {
 public:
  /// What the list requests for a pool of that name. \param has_room  for guard bytes
  check_wish wish_for(const char* pool, bool has_room) noexcept {
    check_wish wish;
    const char* const text = std::getenv("TARN_CHECK");
    if (text == nullptr) return wish;
    each_check(text, [&](const check_entry& entry, std::size_t index) {
      if (!entry.names(pool)) return;
      wish.checks = true;
      wish.guards |= entry.guards;
      if (index < most) found_.fetch_or(std::size_t{1} << index, memory_order_relaxed);
    });
    if (wish.guards && !has_room) print_no_room(pool);
    wish.guards &= has_room;
    if (!ends_.exchange(true, memory_order_relaxed)) std::atexit(print_unknown);
    return wish;
  }

 private:
  static constexpr std::size_t most = sizeof(std::size_t) * 8;  // entries for which a match can be recorded

  static void print(line_writer& line, char* text) noexcept {
    char* const end = line.end();
    *end = '\n';
    platform::system::write_error(text, static_cast<std::size_t>(end + 1 - text));
  }
  TARN_COLD static void print_no_room(const char* pool) noexcept {
    char text[512];
    line_writer line(text, sizeof text - 1);
    line << "tarn" << ": TARN_CHECK asks for guard bytes in pool \"" << pool
         << "\", whose blocks have no room for them; write switchable_checking_with<guard_bytes>. Its other checks are on";
    print(line, text);
  }
  /// At exit: a name may be misspelled.
  TARN_ONE_IN_LIBRARY static void print_unknown() noexcept;

  // Order: relaxed: bits that are only ever set.
  atomic_word<std::size_t> found_ = 0;
  atomic_word<bool> ends_ = false;
};

TARN_FOUND_IN_PROCESS inline constinit check_list library_checks;
inline check_list& checks_of_process() noexcept { return one_in_process<library_checks, 0x109>::get(); }

inline void check_list::print_unknown() noexcept {
  const char* const text = std::getenv("TARN_CHECK");
  if (text == nullptr) return;
  const std::size_t found = checks_of_process().found_.load(memory_order_relaxed);
  each_check(text, [&](const check_entry& entry, std::size_t index) {
    if (index >= most || (found >> index & 1) != 0) return;
    char line_text[256];
    line_writer line(line_text, sizeof line_text - 1);
    line << "tarn" << ": TARN_CHECK names \"";
    char name[128] = {};
    const std::size_t length = entry.length < sizeof name - 1 ? entry.length : sizeof name - 1;
    std::memcpy(name, entry.name, length);
    line << name << (entry.takes_more ? "*" : "") << "\", but there was no pool of that name with switchable_checking";
    print(line, line_text);
  });
}

// ---- the checks --------------------------------------------------------------------------------------------------------

/// \tparam Spec  the policy: `guards` (there is room for guard bytes)
template <class Traits, class Spec>
class switched_checks {
  using chunks_type = typename Traits::chunks;
  using chunk = typename Traits::chunk;
  using place = block_place<Traits, live_mark>;

 public:
  constexpr explicit switched_checks(const Spec&) noexcept {}

  TARN_STEP bool is_on() const noexcept { return is_on_.load(memory_order_relaxed); }

  /// The pool is in the registry, and has no block yet: decides whether it is checked. Only the first call does something.
  void choose(const char* name) noexcept {
    if (!is_decided_.load(memory_order_acquire)) choose_now(name);
  }

  // ---- under the core guard ----------------------------------------------------------------------------------------------

  /// A block was taken from the list. Returns whether it may be allocated. If not, notes why.
  bool comes_out(chunks_type& chunks, void* block) noexcept {
    const place at = place::of(chunks, block);
    if (at.c == nullptr || at.slot >= at.c->carved || at.in_use()) return note(block, true);
    live_mark& known = at.records().get(at.slot);
    if constexpr (Spec::guards) {
      if (looks_at_guards()) {
        if (known.was_handed_out() && !words_around(chunks, block).stand(0)) note(block, true);
        else words_around(chunks, block).write(0);
      }
    }
    known.take(unused_);
    return true;
  }
  /// A block is freed. Returns whether it may be. If not, notes why.
  bool comes_in(chunks_type& chunks, void* block) noexcept {
    const place at = place::of(chunks, block);
    if (!may_be_in_use(at)) return note(block, false);
    if constexpr (Spec::guards) {
      if (looks_at_guards()) {
        if (at.in_use() && !words_around(chunks, block).stand(0)) return note(block, false);
        words_around(chunks, block).write(0);
      }
    }
    at.records().get(at.slot).give(unused_);
    return true;
  }
  /// What is wrong now with a block that can't be freed.
  void describe_deallocate(chunks_type& chunks, void* block, pending_report& one) noexcept {
    const place at = place::of(chunks, block);
    if (!may_be_in_use(at)) detail::note_no_block(chunks, at, block, one);
    else note_damage(chunks, at, block, one);
  }
  /// Describes what was noted since the last call, if it can still be seen. Returns whether there was something.
  bool take_noted(chunks_type& chunks, pending_report& one) noexcept {
    void* const block = noted_;
    if (block == nullptr) return false;
    noted_ = nullptr;
    const place at = place::of(chunks, block);
    if (!came_out_) {
      describe_deallocate(chunks, block, one);
      if (!one.seen()) one.note(misuse_kind::double_free, block);  // it was allocated again in between
    } else if (at.c != nullptr && at.slot < at.c->carved) {
      note_damage(chunks, at, block, one);
    }
    if (!one.seen()) one.note(misuse_kind::corrupt_free_list, block);
    return true;
  }

  /// Switches the checks on. All blocks become unknown. With guard bytes, if there is room.
  void switch_on(chunks_type& chunks) noexcept {
    chunks.each([](chunk& c) { static_cast<block_records<live_mark>&>(c).forget(); });
    has_guards_.store(Spec::guards, memory_order_relaxed);
    is_on_.store(true, memory_order_relaxed);
  }
  /// Switches them off, with anything held.
  void switch_off() noexcept { is_on_.store(false, memory_order_relaxed); }

  // ---- with nothing held ---------------------------------------------------------------------------------------------------

  void report(misuse& what) noexcept {
    const char* const name = name_.load(memory_order_relaxed);
    what.pool_name = name != nullptr ? name : "";
    reporter_of<Spec>::report(what);
  }

 private:
  TARN_COLD void choose_now(const char* name) noexcept {
    name_.store(name, memory_order_relaxed);
    const check_wish wish = checks_of_process().wish_for(name, Spec::guards);
    has_guards_.store(wish.guards, memory_order_relaxed);
    is_on_.store(wish.checks, memory_order_relaxed);
    is_decided_.store(true, memory_order_release);
  }

  bool looks_at_guards() const noexcept { return has_guards_.load(memory_order_relaxed); }
  static guard_words words_around(chunks_type& chunks, const void* block) noexcept {
    return {block, chunks.geometry().payload()};
  }
  /// Whether the address is a block's start, and the block isn't known to be free.
  static bool may_be_in_use(const place& at) noexcept {
    if (at.c == nullptr || at.slot >= at.c->carved) return false;
    const live_mark* const known = at.records().find(at.slot);
    return known == nullptr || !known->was_handed_out() || known->in_use();
  }
  void note_damage(chunks_type& chunks, const place& at, void* block, pending_report& one) noexcept {
    if constexpr (Spec::guards) {
      const live_mark* const known = at.records().find(at.slot);
      if (looks_at_guards() && known != nullptr && known->was_handed_out())
        detail::note_damage_around(chunks, at, block, 0, one);
    }
  }
  bool note(void* block, bool came_out) noexcept {
    if (noted_ == nullptr) {
      noted_ = block;
      came_out_ = came_out;
    }
    return false;
  }

  // Order: is_decided_: store release, load acquire. If a hit holds no lock, the switch is decided before the pool has a block.
  // The others: relaxed; read and switched on under the hit's lock, or decided before the first block; off is right at any
  // time.
  atomic_word<bool> is_on_ = false;
  atomic_word<bool> is_decided_ = false;
  atomic_word<bool> has_guards_ = false;
  atomic_word<const char*> name_ = nullptr;  // until it is decided
  void* noted_ = nullptr;  // the first that was wrong and not described yet, and whether it came from the list
  bool came_out_ = false;
  std::uint64_t unused_ = 0;  // live_mark counts nothing
};

}  // namespace tarn::detail

namespace tarn {

/// Checks that are off until the pool is listed. TARN_CHECK is a list of names, separated by commas; the checks of these pools
/// are on from the start. `*` at the end of a name stands for any further characters; `:guard` after it adds guard bytes:
///
///   TARN_CHECK=orders,messages:guard,cache_*
///
/// A double free, a foreign or an interior pointer is reported, and the call does nothing. Blocks that were allocated before
/// the checks were switched on pass once.
/// \tparam Options  guard_bytes, reported_to<handler>
template <class... Options>
struct switchable_checking_with {
  using axis = tarn::axis::checking;
  static constexpr bool arguments_hold =
      ((detail::one_of<Options, guard_bytes> || detail::handlers_in<Options> == 1) && ...) &&
      detail::handlers_among<Options...> <= 1;
  struct complaint {
    static_assert(arguments_hold,
                  "tarn: [H4] switchable_checking_with was given something that isn't one of its options; they are guard_bytes "
                  "and one reported_to<handler>");
  };

  static constexpr bool guards = detail::one_of<guard_bytes, Options...>;
  static constexpr checking_traits traits{
      .switches = true,
      .prefix = guards ? detail::guard_words::bytes : 0,
      .suffix = guards ? detail::guard_words::bytes : 0,
  };
  using reporter = detail::reporter_among<Options...>;

  template <class Traits>
  using per_chunk = detail::block_records<detail::live_mark>;
  template <class Traits>
  using state = detail::switched_checks<Traits, switchable_checking_with>;
};

}  // namespace tarn

#endif  // TARN_POLICIES_CHECKING_SWITCHABLE_CHECKING_H_
