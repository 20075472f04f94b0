// In place of fork_list.h, fork_gate.h and what stands on them, where no process is copied: the same names, and nothing behind
// them.
#ifndef TARN_POLICIES_DETAIL_NO_FORKS_H_
#define TARN_POLICIES_DETAIL_NO_FORKS_H_

#include "tarn/policies/platform/config.h"

namespace tarn::detail {

enum class fork_step { lock, unlock, renew };

class fork_member {
 public:
  using handler = void (*)(fork_member&, fork_step) noexcept;

  constexpr explicit fork_member(bool = false) noexcept {}

  TARN_STEP static constexpr bool admits(handler) noexcept { return true; }
  static constexpr bool is_apart() noexcept { return false; }
  static constexpr void leave() noexcept {}
};

struct fork_list {
  static constexpr bool holds_all() noexcept { return false; }
};
TARN_STEP constexpr fork_list process_forks() noexcept { return {}; }

template <class>
inline constexpr bool fork_handlers = false;

struct only_try {};

class [[nodiscard]] inside_gate {
 public:
  inside_gate() noexcept {}
  explicit inside_gate(only_try) noexcept {}
  inside_gate(const inside_gate&) = delete;
  inside_gate& operator=(const inside_gate&) = delete;
  explicit operator bool() const noexcept { return true; }
};

class [[nodiscard]] store_call {
 public:
  store_call() noexcept {}
  store_call(const store_call&) = delete;
  store_call& operator=(const store_call&) = delete;
};

constexpr bool is_at_some_store() noexcept { return false; }  // nobody counts

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_NO_FORKS_H_
