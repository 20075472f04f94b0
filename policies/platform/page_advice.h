// What a pool tells the system of pages that it doesn't need.
#ifndef TARN_POLICIES_PLATFORM_PAGE_ADVICE_H_
#define TARN_POLICIES_PLATFORM_PAGE_ADVICE_H_

namespace tarn {

/// How pages go back whose addresses stay. After both their content is lost, and touching them brings other ones, all zero.
enum class page_advice : unsigned char {
  /// They go at once, and count as free at once. Touching one again is a page fault: the system finds a page and clears it.
  discard,
  /// They go when the system needs memory. Until then `top` and the resident size count them as held (smaps: LazyFree), they
  /// keep what they contain, and to write one again is cheaper: the same page stays. Without swap, Linux before 4.12 discards.
  free_lazily,
};

}  // namespace tarn

#endif  // TARN_POLICIES_PLATFORM_PAGE_ADVICE_H_
