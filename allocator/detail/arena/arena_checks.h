// What a checking policy finds in an arena: marks that are gone, marks of other arenas, blocks that aren't in use, and a store
// that breaks its contract. Also an arena that goes back within a destructor that it runs.
#ifndef TARN_ALLOCATOR_DETAIL_ARENA_ARENA_CHECKS_H_
#define TARN_ALLOCATOR_DETAIL_ARENA_ARENA_CHECKS_H_

#include <cstddef>
#include <cstdint>
#include <new>

#include "tarn/policies/checking.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// Stored in the arena where a mark was set, so it goes when the arena goes back further.
struct mark_record {
  mark_record* before;
  std::uint64_t number;
};

template <class Traits, bool Checks>
class arena_checks {
  struct nothing {};

 public:
  using mark = nothing;
  struct records {
    TARN_STEP ~records() {}
  };
  struct running {
    TARN_STEP explicit running(arena_checks&) noexcept {}
    TARN_STEP ~running() {}
  };

  constexpr explicit arena_checks(const typename Traits::checking&) noexcept {}
  template <class Arena>
  TARN_STEP static mark new_mark(Arena&) noexcept {
    return {};
  }
  template <class Arena>
  TARN_STEP static records left_by(Arena&, mark) noexcept {
    return {};
  }
  TARN_STEP static void go_back_to(const records&) noexcept {}
  template <class Arena>
  TARN_STEP static void renew(Arena&, mark) noexcept {}
  TARN_STEP static void forget() noexcept {}
};

template <class Traits>
class arena_checks<Traits, true> {
  using policy = typename Traits::checking;

 public:
  struct mark {
    const void* arena;
    std::uint64_t number;  // 0: there was no room for a record
    mark_record* newest;  // at that time
  };
  struct records {
    bool is_good;
    mark_record* newest;
  };
  /// Held while destructors run: marks that were set before are out of their reach.
  class running {
   public:
    explicit running(arena_checks& of) noexcept : its_(of), before_(of.floor_) { its_.floor_ = its_.last_ + 1; }
    ~running() { its_.floor_ = before_; }
    running(const running&) = delete;
    running& operator=(const running&) = delete;

   private:
    arena_checks& its_;
    const std::uint64_t before_;
  };

  constexpr explicit arena_checks(const policy& its) noexcept : name_(its.name) {}

  template <class Arena>
  mark new_mark(Arena& arena) noexcept {
    mark_record* const before = newest_;
    return {detail::pointer_to(arena), add_record(arena, last_ + 1) ? ++last_ : 0, before};
  }
  /// The newest record once the arena has gone back, if the mark is good.
  template <class Arena>
  records left_by(Arena& arena, const mark& its) noexcept {
    if (its.arena != detail::pointer_to(arena)) return {report(arena, misuse_kind::other_arena, its.arena), nullptr};
    if (its.number == 0) return {true, its.newest};
    if (its.number < floor_) return {report(arena, misuse_kind::reentry, nullptr), nullptr};
    const mark_record* record = newest_;
    while (record != nullptr && record->number != its.number) record = record->before;
    if (record == nullptr) return {report(arena, misuse_kind::stale_mark, nullptr), nullptr};
    return {true, record->before};
  }
  /// Once destructors have run, which may have set marks.
  void go_back_to(const records& left) noexcept { newest_ = left.newest; }
  /// The mark stays good.
  template <class Arena>
  void renew(Arena& arena, const mark& its) noexcept {
    if (its.number != 0) add_record(arena, its.number);
  }
  void forget() noexcept { newest_ = nullptr; }

  bool ends_objects() const noexcept { return floor_ != 0; }
  template <class Arena>
  void report_reentry(const Arena& arena) const noexcept {
    report(arena, misuse_kind::reentry, nullptr);
  }
  template <class Arena>
  bool refuse(const Arena& arena, misuse_kind kind, const void* block) const noexcept {
    return report(arena, kind, block);
  }
  template <class Arena>
  void report_broken_store(Arena& arena) const noexcept {
    const auto broken = arena.region_.upstream().take_broken();
    if (!broken.region) return;
    misuse what = made(arena, misuse_kind::broken_store, broken.region.start);
    what.size = broken.region.bytes;
    what.alignment = broken.alignment;
    reporter_of<policy>::report(what);
  }

 private:
  template <class Arena>
  bool add_record(Arena& arena, std::uint64_t number) noexcept {
    void* const place = arena.template try_allocate<sizeof(mark_record), alignof(mark_record)>();
    if (place == nullptr) return false;
    newest_ = ::new (place) mark_record{newest_, number};
    return true;
  }
  template <class Arena>
  misuse made(const Arena& arena, misuse_kind kind, const void* address) const noexcept {
    misuse what{};
    what.kind = kind;
    what.is_arena = true;
    what.pool = detail::pointer_to(arena);
    what.pool_name = name_;
    what.address = address;
    return what;
  }
  /// Returns false.
  template <class Arena>
  TARN_COLD bool report(const Arena& arena, misuse_kind kind, const void* address) const noexcept {
    misuse what = made(arena, kind, address);
    if (kind == misuse_kind::other_arena) what.address = nullptr, what.other_pool = address;
    reporter_of<policy>::report(what);
    return false;
  }

  const char* name_;
  mark_record* newest_ = nullptr;
  std::uint64_t last_ = 0;
  std::uint64_t floor_ = 0;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_ARENA_ARENA_CHECKS_H_
