// What passes between a pool and its checking policy when the pool is asked what is in use.
#ifndef TARN_POLICIES_CHECKING_TOLD_SITES_H_
#define TARN_POLICIES_CHECKING_TOLD_SITES_H_

#include <cstddef>

#include "tarn/policies/checking/call_site.h"

namespace tarn::detail {

/// Reports what is in use in a pool, and returns how many blocks.
using in_use_teller = std::size_t (*)(void* pool) noexcept;

inline bool same_site(const call_site& a, const call_site& b) noexcept { return a.file == b.file && a.line == b.line; }

/// The sites whose blocks in use were reported: at most 15 one by one, the others together.
class told_sites {
 public:
  static constexpr std::size_t most = 16;
  bool has(const call_site& site) const noexcept {
    for (std::size_t i = 0; i != count_; ++i)
      if (same_site(sites_[i], site)) return true;
    return false;
  }
  void add(const call_site& site) noexcept { sites_[count_++] = site; }
  bool is_new() const noexcept { return count_ == 0; }
  bool is_full() const noexcept { return count_ == most - 1; }
  bool is_over() const noexcept { return count_ == most; }

 private:
  call_site sites_[most];
  std::size_t count_ = 0;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_CHECKING_TOLD_SITES_H_
