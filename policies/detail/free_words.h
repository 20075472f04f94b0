// How a reuse policy reads and writes the pointers that it keeps in free blocks.
//
// If a checking policy says so, they are encoded, and no address is followed before it is checked: a program that wrote into a
// free block can neither lead the list astray nor make it hand out what is no block.
#ifndef TARN_POLICIES_DETAIL_FREE_WORDS_H_
#define TARN_POLICIES_DETAIL_FREE_WORDS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"
#include "tarn/policies/platform/secret.h"

namespace tarn::detail {

/// A checking policy that has links encoded.
template <class Checking>
concept hides_links = Checking::traits.hides_links;

/// The words of any free block of a pool.
template <class Chunks>
class free_words {
  static constexpr bool hidden = hides_links<typename Chunks::traits::checking>;

 public:
  TARN_STEP explicit free_words(Chunks& chunks) noexcept : chunks_(chunks) {}

  /// How many pointers a free block holds.
  std::size_t count() const noexcept { return chunks_.geometry().words(); }

  /// Word `i` of a free block. By memcpy: the user's object is gone, and ours doesn't exist yet.
  TARN_STEP void* read(void* block, std::size_t i) const noexcept {
    std::byte* const place = at(block, i);
    if constexpr (memory_tools::active) memory_tools::unpoison(place, sizeof(void*));
    std::uintptr_t word;
    std::memcpy(&word, word_aligned(place), sizeof word);
    if constexpr (memory_tools::active) memory_tools::poison(place, sizeof(void*));
    if constexpr (hidden) word ^= mask(place);
    return reinterpret_cast<void*>(word);
  }
  TARN_STEP void write(void* block, std::size_t i, void* value) const noexcept {
    std::byte* const place = at(block, i);
    auto word = reinterpret_cast<std::uintptr_t>(value);
    if constexpr (hidden) word ^= mask(place);
    if constexpr (memory_tools::active) memory_tools::unpoison(place, sizeof(void*));
    std::memcpy(word_aligned(place), &word, sizeof word);
    if constexpr (memory_tools::active) memory_tools::poison(place, sizeof(void*));
  }

  /// Whether an address that was read may be followed; not null. If not, the list must be dropped; the pool rebuilds it.
  TARN_STEP bool trusts(void* block) const noexcept {
    if constexpr (hidden) {
      if (chunks_.is_free(block)) [[likely]] return true;
      chunks_.distrust(block);
      return false;
    } else {
      return true;
    }
  }

 private:
  TARN_STEP std::byte* at(void* block, std::size_t i) const noexcept {
    return static_cast<std::byte*>(chunks_.geometry().links(block)) + i * sizeof(void*);
  }
  /// Differs from word to word, so that a word copied from another block is detected, too.
  static std::uintptr_t mask(const std::byte* place) noexcept { return code_of(place, coded::link); }

  Chunks& chunks_;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_FREE_WORDS_H_
