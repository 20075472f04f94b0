// What policies of the axis reuse declare about themselves, each in one object, `traits`. A trait promises the member that its
// comment names; a member without its trait is refused.
#ifndef TARN_POLICIES_REUSE_TRAITS_H_
#define TARN_POLICIES_REUSE_TRAITS_H_

#include <cstddef>

#include "tarn/policies/axis.h"

namespace tarn {

/// What a reuse policy declares about itself.
struct reuse_traits {
  std::size_t min_block = 1;       // bytes that the list needs in a free block
  std::size_t min_alignment = 1;   // the alignment of those bytes
  bool finds_chunks = false;       // it looks up the chunk of a block
  bool needs_chunks = true;        // adopted() informs the list of each chunk; false: the list only carves
  bool sees_empty_chunks = false;  // it tells `chunks` when a chunk becomes wholly free, with chunk_emptied(), and when it is
                                   // used again, with chunk_reused()
  bool drops_null = false;         // push() and push_batch() accept null, which its slow half drops: a free needn't ask
};

}  // namespace tarn

#endif  // TARN_POLICIES_REUSE_TRAITS_H_
