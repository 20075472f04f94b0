// The checked pools of the process by address, so that a report can name the pool that a block belongs to, and all can be asked
// what is in use. Entering and looking up need no lock and no memory: a report must need neither.
#ifndef TARN_POLICIES_CHECKING_LEAKS_H_
#define TARN_POLICIES_CHECKING_LEAKS_H_

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/one_in_process.h"
#include "tarn/policies/platform/system.h"

namespace tarn::detail {

/// At most `most`. Further pools work as well, but aren't named in reports of other pools, nor asked.
class pool_names {
 public:
  static constexpr std::size_t most = 1024;

  /// \param library  with whose end the pool ends, or the code that tells
  void enter(void* pool, const char* name, in_use_teller tell = nullptr, const void* library = nullptr) noexcept {
    for (entry& e : entries_) {
      void* none = nullptr;
      if (e.pool.load(memory_order_relaxed) == nullptr &&
          e.pool.compare_exchange_strong(none, pool, memory_order_acquire, memory_order_relaxed)) {
        e.library.store(library, memory_order_relaxed);
        e.name.store(name, memory_order_release);
        e.tell.store(tell, memory_order_release);
        return;
      }
    }
  }
  void leave(const void* pool) noexcept {
    for (entry& e : entries_)
      if (e.pool.load(memory_order_relaxed) == pool) e.forget();
  }
  void leave_library(const void* library) noexcept {
    for (entry& e : entries_)
      if (e.pool.load(memory_order_relaxed) != nullptr && e.library.load(memory_order_relaxed) == library) e.forget();
  }
  /// Has every pool report what is in use. Returns how many blocks. Precondition: no pool ends meanwhile.
  std::size_t tell_all() const noexcept {
    std::size_t blocks = 0;
    for (const entry& e : entries_)
      if (const in_use_teller tell = e.tell.load(memory_order_acquire)) blocks += tell(e.pool.load(memory_order_relaxed));
    return blocks;
  }
  /// The name of a pool that is entered, or null. A name may end with its pool: look up living pools only.
  const char* find(const void* pool) const noexcept {
    for (const entry& e : entries_)
      if (e.pool.load(memory_order_acquire) == pool) return e.name.load(memory_order_acquire);
    return nullptr;
  }

 private:
  struct entry {
    atomic_word<void*> pool = nullptr;
    atomic_word<const char*> name = nullptr;
    atomic_word<in_use_teller> tell = nullptr;
    atomic_word<const void*> library = nullptr;

    void forget() noexcept {
      tell.store(nullptr, memory_order_relaxed);
      name.store(nullptr, memory_order_relaxed);
      pool.store(nullptr, memory_order_release);
    }
  };
  entry entries_[most];
};

TARN_FOUND_IN_PROCESS inline constinit pool_names library_named;
inline pool_names& named_pools() noexcept { return one_in_process<library_named, 0x104>::get(); }

/// A library that has checked pools. When it is unloaded, they and the code that tells of them are gone. When the process ends,
/// they stay, so that it can be asked after its last static object.
struct names_library {
  atomic_word<bool> begun = false;
  atomic_word<bool> process_ends = false;
  void (*const at_first)() noexcept;  // the library's own function, whichever library calls

  void begin() noexcept {
    if (!begun.exchange(true, memory_order_relaxed)) at_first();
  }
};
TARN_ONE_IN_LIBRARY void begin_of_names() noexcept;
TARN_ONE_IN_LIBRARY inline constinit names_library library_names{.at_first = begin_of_names};
/// Called before forget_names() when the process ends, after it when the library is unloaded.
TARN_ONE_IN_LIBRARY inline void note_end_of_process() noexcept {
  library_names.process_ends.store(true, memory_order_relaxed);
}
TARN_ONE_IN_LIBRARY inline void begin_of_names() noexcept { std::atexit(note_end_of_process); }
/// A template, so that only programs with checked pools have it.
template <class>
TARN_AT_UNLOAD static void forget_names() noexcept {
  if (!library_names.process_ends.load(memory_order_relaxed)) named_pools().leave_library(&library_names);
}

// A place among those that report_in_use() asks: a pool's, or that of blocks in use that lie in no pool.

class asked_in_use {
 public:
  /// \param has_end  its owner has a destructor, and calls leave(): it is then all zero
  constexpr explicit asked_in_use(bool has_end = false) noexcept
      : library_(std::is_constant_evaluated() && !has_end ? &library_names : nullptr) {}

  /// From now on tell(who) is asked. Called often, with nothing held; only the first call does something, also after leave().
  /// A template, since what it instantiates has no place in a program that asks for nothing.
  template <class Teller>
  void enter(void* who, const char* name, Teller tell) noexcept {
    void* nobody = nullptr;
    if (listed_.load(memory_order_relaxed) != nullptr ||
        !listed_.compare_exchange_strong(nobody, who, memory_order_relaxed))
      return;
    static_cast<void>(&forget_names<void>);  // instantiates it
    names_library* const library = library_ != nullptr ? library_ : &library_names;
    library->begin();
    named_pools().enter(who, name, tell, library);
  }
  void leave() const noexcept {
    if (void* const who = listed_.load(memory_order_relaxed)) named_pools().leave(who);
  }

 private:
  names_library* library_;  // of a static object without an end: the library whose it is
  atomic_word<void*> listed_ = nullptr;
};

struct never_asked_in_use {
  constexpr explicit never_asked_in_use(bool = false) noexcept {}
  static void leave() noexcept {}
};

// The environment variable TARN_CHECK: which pools with switchable checks are checked from the start.

/// What is asked for a pool.
struct check_wish {
  bool checks = false;
  bool guards = false;
};

/// An entry of the list: a name, `*` at its end for any further characters, and `:guard`.
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

/// Where the entry that begins there ends. A comma within brackets belongs to a name: that of a class with arguments. If one of
/// the brackets is never closed, they are characters as any other.
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
template <class Visit>
void each_check(const char* text, Visit visit) noexcept {
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
  /// What the list asks for a pool of that name. \param has_room  for guard bytes
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
    if (wish.guards && !has_room) tell_of_no_room(pool);
    wish.guards &= has_room;
    if (!ends_.exchange(true, memory_order_relaxed)) std::atexit(tell_of_unknown);
    return wish;
  }

 private:
  static constexpr std::size_t most = sizeof(std::size_t) * 8;  // entries of which it is known whether a pool had that name

  static void tell(line_writer& line, char* text) noexcept {
    char* const end = line.end();
    *end = '\n';
    platform::system::write_error(text, static_cast<std::size_t>(end + 1 - text));
  }
  TARN_COLD static void tell_of_no_room(const char* pool) noexcept {
    char text[512];
    line_writer line(text, sizeof text - 1);
    line << "tarn" << ": TARN_CHECK asks for guard bytes in pool \"" << pool
         << "\", whose blocks have no room for them; write switchable_checking_with<guard_bytes>. Its other checks are on";
    tell(line, text);
  }
  /// At the end of the process: a name was misspelled, perhaps.
  TARN_ONE_IN_LIBRARY static void tell_of_unknown() noexcept;

  atomic_word<std::size_t> found_ = 0;
  atomic_word<bool> ends_ = false;
};

TARN_FOUND_IN_PROCESS inline constinit check_list library_checks;
inline check_list& checks_of_process() noexcept { return one_in_process<library_checks, 0x109>::get(); }

inline void check_list::tell_of_unknown() noexcept {
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
    tell(line, line_text);
  });
}

}  // namespace tarn::detail

#endif  // TARN_POLICIES_CHECKING_LEAKS_H_
