// What policies of the axis reuse declare about themselves, each in one object, `traits`. A trait promises the member that its
// comment names; a member without its trait is refused.
#ifndef TARN_POLICIES_REUSE_TRAITS_H_
#define TARN_POLICIES_REUSE_TRAITS_H_

#include <cstddef>

#include "tarn/policies/axis.h"

namespace tarn {

/// What a reuse policy declares about itself.
struct reuse_traits {
  std::size_t min_block = 1;       // bytes that a free block must have for what the list keeps in it
  std::size_t min_alignment = 1;   // of them
  bool finds_chunks = false;       // it asks for the chunk of a block
  bool needs_chunks = true;        // adopted() tells the list of each chunk. false: it carves, and that is all
  bool sees_empty_chunks = false;  // it tells the chunks when a chunk becomes wholly free, and when it is used again
};

}  // namespace tarn

#endif  // TARN_POLICIES_REUSE_TRAITS_H_
