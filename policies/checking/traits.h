// What policies of the axis checking declare about themselves, each in one object, `traits`. A trait promises the member that
// its comment names; a member without its trait is refused.
#ifndef TARN_POLICIES_CHECKING_TRAITS_H_
#define TARN_POLICIES_CHECKING_TRAITS_H_

#include <cstddef>

#include "tarn/policies/axis.h"

namespace tarn {

/// What a checking policy declares about itself.
struct checking_traits {
  bool refuses = false;          // a call can be refused: the pool takes the checked path
  bool finds_chunks = false;     // it asks for the chunk of a block in every call
  std::size_t prefix = 0;        // bytes in front of every block
  std::size_t suffix = 0;        // bytes behind it
  bool hides_links = false;      // lists encode what they keep in free blocks, and ask the column's in_use(); on_astray()
  bool keeps_payload = false;    // lists lie in front of free blocks, whose payload is the policy's
  bool fills = false;            // it writes over free blocks
  bool shuffles = false;         // blocks that were never handed out come in no order
  bool checks_leaving = false;   // the reuse policy looks at what leaves its front
  bool samples = false;          // some blocks are the policy's own: due(), owns(), take() ... of sampled_guard_pages
  bool has_generations = false;  // generation_of(): a number that one use of a block has, and no other
  bool has_sites = false;        // note_site(): where a block was asked for
  bool knows_pool = false;       // belongs_to(pool), from the pool's constructor
  bool knows_owner = false;      // admits_caller(): only one thread may call. hand_over(): another goes on
  bool sees_end = false;         // on_end(): the pool ends
  bool can_verify = false;       // next_damaged(): the pool has verify()
  bool tells_reentry = false;    // a call out of the pool's own call is refused
  bool has_name = false;         // it is made from the pool's name
};

}  // namespace tarn

#endif  // TARN_POLICIES_CHECKING_TRAITS_H_
