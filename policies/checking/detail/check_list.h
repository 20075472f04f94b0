// The environment variable TARN_CHECK: which pools with switchable checks are checked from the start.
#ifndef TARN_POLICIES_CHECKING_DETAIL_CHECK_LIST_H_
#define TARN_POLICIES_CHECKING_DETAIL_CHECK_LIST_H_

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/one_in_process.h"
#include "tarn/policies/platform/system.h"

namespace tarn::detail {

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

#endif  // TARN_POLICIES_CHECKING_DETAIL_CHECK_LIST_H_
