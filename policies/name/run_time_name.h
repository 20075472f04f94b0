// decides    the pool has a name, which its constructor is given, and is in the registry: tarn::snapshot() tells of it
// costs      as named
// conflicts  static pools, which are made before the program starts
// use when   the name is known when the program runs: one pool for each connection, or of a type that a library chose
#ifndef TARN_POLICIES_NAME_RUN_TIME_NAME_H_
#define TARN_POLICIES_NAME_RUN_TIME_NAME_H_

#include "tarn/policies/checking/call_site.h"
#include "tarn/policies/name/traits.h"

namespace tarn {

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

}  // namespace tarn

#endif  // TARN_POLICIES_NAME_RUN_TIME_NAME_H_
