// The memory of an arena: chunks in one list, or an array in the object (array_region), which has the same members. Chunks in
// front of the current one are full, those behind it spare.
//
//   hit, hit_slow     a block of the current chunk
//   hit_next          the chunk behind it, if it has room, becomes the current one
//   enter_spare       the first spare chunk with room does
//   fetch, adopt      a chunk from the store, put behind the current one and entered
//   rewind            back to a place: chunks that are passed become spare. Back to the start, the next block comes from the
//                     first chunk, so that it is a hit, but no chunk is the current one until keep_entered()
//   each_spare_out    spare chunks go back to the store
#ifndef TARN_ALLOCATOR_DETAIL_ARENA_CHUNK_REGION_H_
#define TARN_ALLOCATOR_DETAIL_ARENA_CHUNK_REGION_H_

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "tarn/allocator/detail/arena/arena_traits.h"
#include "tarn/allocator/detail/core/chunk.h"
#include "tarn/allocator/detail/pool/upstream.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"

namespace tarn::detail {

// ---- chunks ---------------------------------------------------------------------------------------------------------------

template <class Traits>
class chunk_region {
 public:
  using chunk = arena_chunk<Traits>;
  struct place {  // where the next block comes from
    std::byte* at;
    chunk* in;
  };

  template <class Values>
  constexpr explicit chunk_region(const Values& values) noexcept(Values::nothrow)
      : upstream_(values), growth_(values.template get<typename Traits::growth>()) {}

  TARN_STEP std::byte* at() const noexcept { return at_; }
  TARN_STEP void move_to(std::byte* to) noexcept {
    if constexpr (Traits::notes_peak)
      if (to < at_) peak_.bytes = larger(peak_.bytes, passed());
    at_ = to;
  }
  TARN_STEP std::size_t left() const noexcept { return static_cast<std::size_t>(end_ - at_); }
  TARN_STEP place now() noexcept {
    keep_entered();
    return current_ != nullptr ? place{at_, current_} : start();
  }
  static constexpr place start() noexcept { return {nullptr, nullptr}; }

  // ---- blocks of the current chunk -----------------------------------------------------------------------------------------

  /// Few bytes, and a small alignment: the sum doesn't wrap, since no chunk reaches the last addresses.
  template <std::size_t Bytes, std::size_t Alignment>
  TARN_STEP bool hit(void*& block) noexcept {
    constexpr std::size_t bytes = arena_taken(larger(Bytes, 1));
    std::uintptr_t at = address_of(at_);
    if constexpr (Alignment > arena_unit) at = round_up(at, Alignment);
    if (at + bytes > address_of(end_)) [[unlikely]]
      return false;
    return take(block, at, bytes);
  }
  TARN_STEP bool hit(void*& block, std::size_t bytes, std::size_t alignment) noexcept {
    if (alignment > byte_geometry::alignment()) [[unlikely]]
      return false;
    return take_aligned(block, bytes, alignment);
  }
  void* hit_slow(std::size_t bytes, std::size_t alignment) noexcept {
    void* block = nullptr;
    if (alignment <= byte_geometry::alignment()) return take_aligned(block, larger(bytes, 1), alignment), block;
    const std::uintptr_t at = round_up(address_of(at_), alignment);
    if (at_ == nullptr || at < address_of(at_) || at > address_of(end_)) return nullptr;
    std::byte* const before = at_;
    at_ += at - address_of(at_);
    if (!take_aligned(block, larger(bytes, 1), arena_unit)) at_ = before;
    return block;
  }

  /// What most requests need where the current chunk has no room, once the arena has all chunks that it needs.
  TARN_STEP void* hit_next(std::size_t bytes, std::size_t alignment) noexcept {
    keep_entered();
    if (current_ == nullptr || alignment > byte_geometry::alignment()) return nullptr;
    chunk* const next = current_->next;
    const std::size_t taken = arena_taken(bytes);
    if (next == nullptr || taken - 1 >= next->bytes()) return nullptr;
    enter_linked(*next);
    at_ += taken;
    return next->first();
  }

  // ---- places --------------------------------------------------------------------------------------------------------------

  TARN_STEP void rewind(place to) noexcept {
    note_peak();
    current_ = to.in;
    if (to.in == nullptr && first_ != nullptr) {
      first_->before = 0;
      to = {first_->first(), first_};
    }
    at_ = to.at;
    end_ = to.in != nullptr ? to.in->end : nullptr;
  }
  /// Calls visit(memory) for what is behind a place, up to where the arena is.
  template <class Visit>
  void each_behind(place from, Visit visit) const noexcept {
    if (at_ == nullptr) return;
    const chunk* const last = entered();
    for (const chunk* c = from.in != nullptr ? from.in : first_;; c = c->next) {
      std::byte* const start = c == from.in ? from.at : c->first();
      std::byte* const end = c == last ? at_ : c->end;
      if (start < end) visit(memory{start, static_cast<std::size_t>(end - start)});
      if (c == last) return;
    }
  }
  bool owns(const void* block) const noexcept {
    bool found = false;
    each_behind(start(), [&](memory used) { found |= address_of(block) - address_of(used.start) < used.bytes; });
    return found;
  }
  /// Whether an address lies in a chunk, but in no block in use.
  bool is_spare(const void* block) const noexcept {
    if (owns(block)) return false;
    for (const chunk* c = first_; c != nullptr; c = c->next)
      if (address_of(block) - address_of(c->first()) < c->bytes()) return true;
    return false;
  }

  // ---- chunks --------------------------------------------------------------------------------------------------------------

  bool enter_spare(std::size_t bytes, std::size_t alignment) noexcept {
    leave_if_empty();
    for (chunk** link = &behind_current(); *link != nullptr; link = &(*link)->next) {
      chunk& c = **link;
      const std::size_t skip = round_up(address_of(c.first()), alignment) - address_of(c.first());
      if (skip > c.bytes() || bytes > c.bytes() - skip) continue;
      *link = c.next;
      enter(c);
      return true;
    }
    return false;
  }
  /// What a chunk must have to serve a request; size_max: none can.
  static std::size_t bytes_needed(std::size_t bytes, std::size_t alignment) noexcept {
    if (bytes > size_limit || alignment > size_limit) return size_max;
    const std::size_t blocks = arena_taken(larger(bytes, 1)) + (alignment > byte_geometry::alignment() ? alignment : 0);
    return chunk::record() + (Traits::one_chunk ? blocks : round_up(blocks, byte_geometry::alignment()));
  }
  /// Null: growth or the store refused.
  chunk* fetch(std::size_t need) noexcept {
    const auto next = [this](std::size_t more) { return growth_.next_chunk(newest_, add(total_, more), 1); };
    const chunk_request request = raised<Traits::store_is_bounded>(next, need);
    return request.wanted == 0 ? nullptr : made(upstream_.fetch(request, {}));
  }
  chunk* fetch_second(std::size_t need) noexcept
    requires(Traits::has_second)
  {
    const auto next = [this](std::size_t more) { return upstream_.next_of_second(1, more); };
    const chunk_request request = raised<Traits::second_store_is_bounded>(next, need);
    return request.wanted == 0 ? nullptr : made(upstream_.fetch_second(request, {}));
  }
  void adopt(chunk& c) noexcept {
    leave_if_empty();
    if (!c.from.from_second) {
      newest_ = c.region.bytes;
      total_ += c.region.bytes;
    }
    capacity_ += c.bytes();
    enter(c);
  }
  /// Takes the first spare chunk out that is larger than what is left of `keep` bytes behind those in front of it. Null: none.
  chunk* take_spare(std::size_t& keep) noexcept {
    leave_if_empty();
    std::size_t left = keep;
    for (chunk** link = &behind_current(); *link != nullptr; link = &(*link)->next) {
      chunk& c = **link;
      if (c.region.bytes <= left) {
        left -= c.region.bytes;
        continue;
      }
      *link = c.next;
      capacity_ -= c.bytes();
      if (!c.from.from_second && (total_ -= c.region.bytes) == 0) newest_ = 0;
      return detail::pointer_to(c);
    }
    return nullptr;
  }
  /// Returns its bytes.
  std::size_t give_back(const chunk& c) noexcept {
    const supplied its{c.region, c.region.bytes, c.from.from_second};  // the record lies in it
    if constexpr (memory_tools::active) memory_tools::unpoison(its.region.start, its.region.bytes);
    upstream_.give_back(its, {});
    return its.region.bytes;
  }

  // ---- questions -----------------------------------------------------------------------------------------------------------

  std::size_t in_use() const noexcept { return at_ == nullptr ? 0 : passed(); }
  std::size_t capacity() const noexcept { return capacity_; }
  std::size_t peak() const noexcept
    requires(Traits::notes_peak)
  {
    return larger(peak_.bytes, in_use());
  }
  struct held {
    std::size_t chunks = 0;
    std::size_t bytes = 0;
  };
  held chunks() const noexcept {
    held all;
    for (const chunk* c = first_; c != nullptr; c = c->next) ++all.chunks, all.bytes += c->region.bytes;
    return all;
  }
  detail::upstream<Traits>& upstream() noexcept { return upstream_; }
  const detail::upstream<Traits>& upstream() const noexcept { return upstream_; }
  void end() noexcept { upstream_.end(); }

 private:
  TARN_STEP bool take_aligned(void*& block, std::size_t bytes, std::size_t alignment) noexcept {
    std::uintptr_t at = address_of(at_);
    if (alignment > arena_unit) [[unlikely]]  // a branch: without it the next hit waits for the rounding, too
      at = round_up(at, alignment);  // not behind the end, which is as aligned
    const std::size_t taken = arena_taken(bytes);
    if (taken - 1 >= address_of(end_) - at) [[unlikely]]
      return false;
    return take(block, at, taken);
  }
  TARN_STEP bool take(void*& block, std::uintptr_t at, std::size_t bytes) noexcept {
    at_ = reinterpret_cast<std::byte*>(at + bytes);
    block = reinterpret_cast<void*>(at);
    return true;
  }
  TARN_STEP void note_peak() noexcept {
    if constexpr (Traits::notes_peak) peak_.bytes = larger(peak_.bytes, in_use());
  }
  /// The chunk of at_, which isn't null; the bytes in front of at_.
  TARN_STEP const chunk* entered() const noexcept { return current_ != nullptr ? current_ : first_; }
  TARN_STEP std::size_t passed() const noexcept {
    const chunk* const c = entered();
    return c->before + static_cast<std::size_t>(at_ - c->first());
  }
  /// The chunk that rewind() entered becomes the current one if it has blocks. Marks name it from then on.
  TARN_STEP void keep_entered() noexcept {
    if (current_ == nullptr && at_ != nullptr && at_ != first_->first()) current_ = first_;
  }
  /// Unless there have been blocks or marks since the arena went back to the start, all chunks are spare.
  void leave_if_empty() noexcept {
    keep_entered();
    if (current_ == nullptr) at_ = end_ = nullptr;
  }
  chunk*& behind_current() noexcept { return current_ != nullptr ? current_->next : first_; }

  void enter(chunk& c) noexcept {
    chunk*& link = behind_current();
    c.next = link;
    link = detail::pointer_to(c);
    enter_linked(c);
  }
  /// Precondition: it is right behind the current one. No peak ends here: all of that one counts from now on.
  TARN_STEP void enter_linked(chunk& c) noexcept {
    c.before = current_ != nullptr ? current_->before + current_->bytes() : 0;
    current_ = detail::pointer_to(c);
    at_ = c.first();
    end_ = c.end;
  }
  /// What growth wants, and no less than is needed, if its cap has room: if with a byte less it would want more. A store with
  /// one region gives that, whatever is needed.
  /// \param next  next(more): what growth wants if there are `more` bytes more
  template <bool Bounded, class Next>
  static chunk_request raised(Next next, std::size_t need) noexcept {
    chunk_request its = next(0);
    if (Bounded || its.wanted == 0) return its;
    if (need > its.at_most && next(need - 1).wanted == 0) return {};
    return {larger(its.wanted, need), larger(its.at_most, need), larger(its.at_least, need)};
  }
  chunk* made(supplied got) noexcept {
    if (!got) return nullptr;
    got.blocks = got.region.bytes;  // what growth counts
    constexpr std::uintptr_t last = ~std::uintptr_t{0xFFFF};  // so that the sum in a hit doesn't wrap
    const std::uintptr_t start = address_of(got.region.start);
    const std::uintptr_t end = smaller(start + got.region.bytes, last) & ~(byte_geometry::alignment() - 1);
    upstream_.count(got);
    if (end < start + chunk::record() + byte_geometry::alignment()) return upstream_.give_back(got, {}), nullptr;
    chunk* c = nullptr;
    if constexpr (Traits::one_chunk) c = ::new (static_cast<void*>(detail::pointer_to(only_))) chunk{};
    else c = ::new (got.region.start) chunk{};
    c->region = got.region;
    c->end = static_cast<std::byte*>(got.region.start) + (end - start);
    if constexpr (Traits::has_second) c->from.from_second = got.from_second;
    if constexpr (memory_tools::active) memory_tools::poison(c->first(), c->bytes());
    return c;
  }

  struct has_peak {
    std::size_t bytes = 0;
  };
  struct has_nothing {};

  std::byte* at_ = nullptr;
  std::byte* end_ = nullptr;
  chunk* current_ = nullptr;  // null, and at_ is set: the next block comes from the first chunk
  chunk* first_ = nullptr;
  std::size_t newest_ = 0;  // bytes of the newest chunk
  std::size_t total_ = 0;  // of all from the first store, as it gave them
  std::size_t capacity_ = 0;  // in all, for blocks
  TARN_NO_UNIQUE_ADDRESS detail::upstream<Traits> upstream_;
  TARN_NO_UNIQUE_ADDRESS typename Traits::growth growth_;
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<Traits::one_chunk, chunk, has_nothing> only_{};
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<Traits::notes_peak, has_peak, has_nothing> peak_;
};

// ---- an array in the object: a number, and no chunk, store or growth ------------------------------------------------------

/// Its members are those of chunk_region.
template <class Traits>
class array_region {
  using array = typename Traits::store::template array<Traits>;
  static constexpr std::size_t size = array::size;
  static_assert(size % byte_geometry::alignment() == 0);  // so that nothing that was rounded up is behind the end

 public:
  struct place {
    std::byte* at;
  };

  template <class Values>
  constexpr explicit array_region(const Values& values) noexcept : array_(values) {}

  TARN_STEP std::byte* at() noexcept { return array_.get().start() + used_; }
  TARN_STEP void move_to(std::byte* to) noexcept { used_ = static_cast<std::size_t>(to - array_.get().start()); }
  TARN_STEP std::size_t left() const noexcept { return size - used_; }
  TARN_STEP place now() noexcept { return {at()}; }
  place start() noexcept { return {array_.get().start()}; }

  template <std::size_t Bytes, std::size_t Alignment>
  TARN_STEP bool hit(void*& block) noexcept {
    constexpr std::size_t bytes = arena_taken(larger(Bytes, 1));
    const std::size_t at = used_ + skipped(Alignment);
    if (at + bytes > size) [[unlikely]]
      return false;
    used_ = at + bytes;
    block = array_.get().start() + at;
    return true;
  }
  TARN_STEP bool hit(void*& block, std::size_t bytes, std::size_t alignment) noexcept {
    if (alignment > byte_geometry::alignment()) [[unlikely]]
      return false;
    return take(block, bytes, used_ + skipped(alignment));
  }
  void* hit_slow(std::size_t bytes, std::size_t alignment) noexcept {
    void* block = nullptr;
    const std::size_t at = used_ + skipped(alignment);
    if (at <= size) take(block, larger(bytes, 1), at);
    return block;
  }
  TARN_STEP void rewind(place to) noexcept { move_to(to.at); }
  template <class Visit>
  void each_behind(place from, Visit visit) noexcept {
    if (at() > from.at) visit(memory{from.at, static_cast<std::size_t>(at() - from.at)});
  }
  bool owns(const void* block) const noexcept { return address_of(block) - address_of(array_.get().start()) < used_; }
  bool is_spare(const void* block) const noexcept {
    return !owns(block) && address_of(block) - address_of(array_.get().start()) < size;
  }
  std::size_t in_use() const noexcept { return used_; }
  static constexpr std::size_t capacity() noexcept { return size; }
  void end() noexcept { array_.get().end(); }

 private:
  TARN_STEP std::size_t skipped(std::size_t alignment) noexcept {
    if (alignment <= arena_unit) return 0;
    const std::size_t at = alignment <= byte_geometry::alignment() ? used_ : address_of(array_.get().start()) + used_;
    return round_up(at, alignment) - at;
  }
  TARN_STEP bool take(void*& block, std::size_t bytes, std::size_t at) noexcept {
    const std::size_t taken = arena_taken(bytes);
    if (taken - 1 >= size - at) [[unlikely]]
      return false;
    used_ = at + taken;
    block = array_.get().start() + at;
    return true;
  }

  std::size_t used_ = 0;
  array_of_pool<Traits> array_;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_ARENA_CHUNK_REGION_H_
