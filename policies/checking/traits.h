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
  bool switches = false;         // is_on(): whether calls are looked at now: comes_out(), comes_in(), describe_deallocate(),
                                 // take_noted(), choose(), switch_on() and switch_off(), as switchable_checking has them
  bool finds_chunks = false;     // it looks up the chunk of a block in every call
  std::size_t prefix = 0;        // bytes in front of every block
  std::size_t suffix = 0;        // bytes after every block
  bool hides_links = false;      // lists encode their links in free blocks, and follow a link only if the column's in_use(slot)
                                 // says that the block is free; on_astray(chunks, address, pending_report): the link was
                                 // invalid
  bool keeps_payload = false;    // links lie in front of free blocks, whose payload belongs to the policy
  bool fills = false;            // it writes over free blocks
  bool shuffles = false;         // blocks that were never handed out come in random order
  bool checks_leaving = false;   // the reuse policy checks blocks that leave its front
  bool samples = false;          // some blocks are the policy's own: due(), owns(), take(), give(), each_sampled(),
                                 // sampled_now(), drop_sampled(), report_sampled() and describe_fault(), as
                                 // sampled_guard_pages has them
  bool has_generations = false;  // generation_of(): a number that is unique to one use of a block, also if its chunk went
                                 // back to the store, and another came at that address
  bool has_sites = false;        // note_site(): where a block was allocated
  bool knows_pool = false;       // belongs_to(pool), from the pool's constructor
  bool knows_owner = false;      // admits_caller(): only one thread may call. hand_over(): another thread takes over
  bool sees_end = false;         // on_end(): the pool ends
  bool may_end_in_use = false;   // blocks in use at that time are meant, and not reported
  bool tells_in_use = false;     // note_in_use(), be_listed(): the pool is among those that report_in_use() asks
  bool can_verify = false;       // next_damaged(): the pool has verify()
  bool tells_reentry = false;    // a reentrant call is refused
  bool has_name = false;         // it is constructed with the pool's name
};

}  // namespace tarn

#endif  // TARN_POLICIES_CHECKING_TRAITS_H_
