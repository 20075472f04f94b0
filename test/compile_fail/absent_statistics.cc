// expect: statistics
// mentions: counts
// The pool counts nothing, so there is nothing to read: the notes name the constant `counts`.
#include <cstddef>

#include "tarn/allocator/pool.h"

struct allocation_count : tarn::no_statistics {
  template <class Environment>
  struct part {
    static constexpr bool counts = true;
    constexpr explicit part(const allocation_count&) noexcept {}
    constexpr void on_allocate(std::size_t blocks) noexcept { total += blocks; }
    constexpr void on_deallocate(std::size_t) noexcept {}
    constexpr void on_chunk(std::size_t) noexcept {}
    constexpr void off_chunk(std::size_t) noexcept {}
    constexpr std::size_t read() const noexcept { return total; }
    std::size_t total = 0;
  };
};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, allocation_count> right;
std::size_t use() { return right.statistics(); }
#else
tarn::pool<tarn::static_size<64>> wrong;
auto use() { return wrong.statistics(); }
#endif
