// What becomes of an exhaustion policy whose classes take granules from their owner. It is divided: what concerns the stores is
// the granules', whether to try again is the classes'.
//
//   a second store    the granules' own; the classes only report
//   reclaims          the granules are in the list of those who can be asked, and the classes trim first, since what a class
//                     gives back is a granule
//   anything else     the classes' own
//
// Whichever it is, a class that found nothing asks its siblings first: what they hold and nobody uses is one memory for all.
#ifndef TARN_ALLOCATOR_DETAIL_CLASSES_CLASS_EXHAUSTION_H_
#define TARN_ALLOCATOR_DETAIL_CLASSES_CLASS_EXHAUSTION_H_

#include <cerrno>
#include <cstddef>
#include <type_traits>

#include "tarn/allocator/detail/classes/owner_policies.h"
#include "tarn/allocator/detail/classes/owner_stores.h"
#include "tarn/allocator/detail/pool/supply.h"
#include "tarn/policies/exhaustion.h"

namespace tarn::detail {

/// The pools of the classes, as their granules know them.
struct class_pools {
  void* owner = nullptr;
  std::size_t (*trim_idle)(void* owner) noexcept = nullptr;  // trims those that no other thread is at; returns how many bytes
  std::size_t trim() const noexcept { return trim_idle(owner); }
};

/// Of the granules, if Exhaustion reclaims.
template <class Exhaustion>
struct granules_reclaim {
  using axis = tarn::axis::exhaustion;
  static constexpr exhaustion_traits traits = [] {
    exhaustion_traits all = Exhaustion::traits;
    all.hears_asks = true;
    return all;
  }();

  template <class Traits>
  struct state : Exhaustion::template state<Traits> {
    using base = typename Exhaustion::template state<Traits>;
    constexpr explicit state(const granules_reclaim& policy) noexcept : base(policy.own) {}
    void belong_to(class_pools all) noexcept { classes = all; }
    /// The class asks, with nothing held.
    template <class... Attempt>
      requires requires(base& b, Attempt&... one) { b.retry(std::size_t{}, one...); }
    bool retry(std::size_t, Attempt&...) noexcept {
      return false;
    }
    void asked() noexcept { classes.trim(); }

    class_pools classes;
  };

  Exhaustion own;
};

/// Of a class that asks its siblings, and then does what Exhaustion does.
template <class Exhaustion>
struct class_asks {
  using axis = tarn::axis::exhaustion;
  static constexpr exhaustion_traits traits = [] {
    exhaustion_traits all = Exhaustion::traits;
    all.retries = true;
    all.keeps_attempt = true;
    return all;
  }();

  template <class Traits>
  class state : public Exhaustion::template state<Traits> {
    using base = typename Exhaustion::template state<Traits>;

   public:
    struct attempt {
      bool asked_siblings = false;
      TARN_NO_UNIQUE_ADDRESS typename attempt_of<base, Exhaustion::traits.keeps_attempt>::type own;
    };
    constexpr explicit state(const class_asks& policy) noexcept(std::is_nothrow_constructible_v<base, const Exhaustion&>)
        : base(policy.own), siblings_(policy.classes) {}
    bool retry(std::size_t bytes, attempt& one) noexcept {
      if (!one.asked_siblings) {
        one.asked_siblings = true;
        if (siblings_.trim() != 0) return true;
      }
      if (!detail::looks_again(static_cast<base&>(*this), bytes, one.own)) return false;
      one.asked_siblings = false;  // what it freed may be a sibling's
      return true;
    }

   private:
    class_pools siblings_;
  };

  Exhaustion own;
  class_pools classes;
};

/// The same if Exhaustion reclaims.
template <class Exhaustion>
struct class_reclaim {
  using axis = tarn::axis::exhaustion;
  static constexpr exhaustion_traits traits{.keeps_attempt = true};

  template <class Traits>
  class state : public report_exhaustion::state<Traits> {
    using asks = typename Exhaustion::template state<owner_traits>;

   public:
    struct attempt {
      bool asked_siblings = false;
      typename attempt_of<asks, Exhaustion::traits.keeps_attempt>::type own;
    };
    constexpr explicit state(const class_reclaim& policy) noexcept
        : report_exhaustion::state<Traits>(report_exhaustion{}), asks_(policy.own), siblings_(policy.classes) {}
    bool retry(std::size_t bytes, attempt& one) noexcept {
      if (!one.asked_siblings) {
        one.asked_siblings = true;
        if (siblings_.trim() != 0) return true;
      }
      return detail::looks_again(asks_, bytes, one.own);
    }

   private:
    asks asks_;  // it is in no list
    class_pools siblings_;
  };

  Exhaustion own;
  class_pools classes;
};

/// Whether blocks beyond those of the first store come one by one, from a store without an end.
template <class Exhaustion>
inline constexpr bool has_endless_second = Exhaustion::traits.has_second() && !Exhaustion::traits.store_is_bounded;

/// The exhaustion policy of the granules, whose endless stores are those of Stores. An array has nothing for other pools.
template <class Store, class Exhaustion, class Stores>
using exhaustion_of_granules =
    std::conditional_t<Exhaustion::traits.reclaims && !Store::traits.bounded, granules_reclaim<Exhaustion>,
                       std::conditional_t<has_endless_second<Exhaustion>, second_of_owner<Stores, Exhaustion>,
                                          std::conditional_t<Exhaustion::traits.has_second(), Exhaustion, report_exhaustion>>>;

/// The exhaustion policy of a class that takes granules.
template <class Exhaustion>
using exhaustion_of_class =
    std::conditional_t<Exhaustion::traits.reclaims, class_reclaim<Exhaustion>,
                       class_asks<std::conditional_t<Exhaustion::traits.has_second(), report_exhaustion, Exhaustion>>>;

/// Exhaustion for malloc's functions: where the pool gives up, it says so in errno.
template <class Exhaustion>
struct tells_errno {
  using axis = tarn::axis::exhaustion;
  static constexpr exhaustion_traits traits = Exhaustion::traits;
  static constexpr bool is_malloc = true;  // perhaps the program's

  template <class Traits>
  struct state : Exhaustion::template state<Traits> {
    using base = typename Exhaustion::template state<Traits>;
    constexpr explicit state(const tells_errno& policy) noexcept : base(policy.own) {}
    template <class... Attempt>
      requires requires(base& b, Attempt&... one) { b.retry(std::size_t{}, one...); }
    bool retry(std::size_t bytes, Attempt&... one) noexcept {
      if (base::retry(bytes, one...)) return true;
      give_up();
      return false;
    }
    void give_up() noexcept { errno = ENOMEM; }
  };

  Exhaustion own;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CLASSES_CLASS_EXHAUSTION_H_
