// Named compositions for common situations, which also serve as examples. A preset is only an alias; if you need a different
// composition, write it out. T is the type of the objects: a block has sizeof(T) bytes, aligned to alignof(T).
//
//   tarn::presets::shared<Order> orders;
#ifndef TARN_ALLOCATOR_PRESETS_H_
#define TARN_ALLOCATOR_PRESETS_H_

#include <cstddef>

#include "tarn/allocator/pool.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/locking/group_guard.h"
#include "tarn/policies/store/resource_store.h"

namespace tarn::presets {

// ---- by who uses it -----------------------------------------------------------------------------------------------------

/// One thread at a time uses the pool, and nothing is known about the number of objects.
template <class T>
using local = pool<size_of<T>>;

/// Several threads allocate and free blocks, their own or each other's.
template <class T>
using shared = pool<size_of<T>, thread_cached<>>;

/// Several threads use the pool occasionally, and none may keep free blocks from the others.
template <class T>
using locked = pool<size_of<T>, mutex_locking<>>;

/// A thread that must never wait, or a signal handler, frees blocks that others allocate.
template <class T>
using returned_without_waiting = pool<size_of<T>, lock_free>;

/// The pool belongs to the thread or subsystem Group; another group's pool is a different type.
template <class T, class Group>
using grouped = pool<size_of<T>, grouped_locking<Group>>;

/// Many operations on several pools belong together: a group_guard<Group> locks all pools of the group together.
template <class T, class Group>
using group_locked = pool<size_of<T>, grouped_locking<Group, detail::group_mutex>>;

// ---- by how many blocks, and how they come --------------------------------------------------------------------------------

/// Millions of blocks: chunks of huge pages, which the system maps in fewer and larger steps.
template <class T>
using bulk = pool<size_of<T>, page_store<huge_pages>>;

/// Memory must grow in even steps, of Blocks blocks each.
template <class T, std::size_t Blocks>
using stepped = pool<size_of<T>, fixed_growth<Blocks>>;

/// The pool grows as it is used, and never beyond Blocks blocks.
template <class T, std::size_t Blocks>
using capped = pool<size_of<T>, geometric_growth<natural, natural, 2, Blocks>>;

/// A hard limit of Blocks blocks, all from the heap at the first use.
template <class T, std::size_t Blocks>
using bounded = pool<size_of<T>, no_growth<Blocks>>;

/// Few blocks, allocated and freed in turn: the shortest code and the smallest pool object.
template <class T>
using compact = pool<size_of<T>, lifo_reuse<>>;

/// Objects whose destructors write into them when they are no longer in the cache.
template <class T>
using cold = pool<size_of<T>, batch_reuse<prefetch::on_free>>;

// ---- by where the memory lies ---------------------------------------------------------------------------------------------

/// No heap: Blocks blocks inside the pool object, wherever that is.
template <class T, std::size_t Blocks>
using embedded = pool<size_of<T>, static_array_store<Blocks>>;

/// Memory is reserved elsewhere: the constructor takes buffer_store{span_of_bytes}.
template <class T>
using in_buffer = pool<size_of<T>, buffer_store>;

/// The caller decides where chunks come from: the constructor takes resource_store{&memory_resource}.
template <class T>
using over_resource = pool<size_of<T>, resource_store>;

/// Memory must go back to the operating system immediately in trim() or release().
template <class T>
using mapped = pool<size_of<T>, page_store<>>;

/// Peaks are rare, and other code needs the memory: chunks go back automatically as they become empty.
template <class T>
using returning = pool<size_of<T>, return_empty_chunks<>, page_store<>>;

/// The same if blocks are freed at random: chunks of at most 16 KiB, so that some still become empty. Each costs a system call.
template <class T>
using lean = pool<size_of<T>, return_empty_chunks<>, page_store<>,
                  geometric_growth<natural, detail::larger(1, 15 * 1024 / sizeof(T))>>;

/// Several pools share scarce memory: an exhausted pool asks the others for unused memory.
template <class T>
using reclaiming = pool<size_of<T>, mutex_locking<>, reclaim_and_retry<>>;

/// The block size is known only at run time: the constructor takes dynamic_size{bytes, alignment}.
using sized_at_run_time = pool<dynamic_size>;

// ---- for the whole process ------------------------------------------------------------------------------------------------

/// One pool for a Tag, used by any thread, from before main to after the last destructor: `process_wide<Tag, T>::instance()`.
template <class Tag, class T>
using process_wide = static_pool<Tag, size_of<T>, thread_cached<>>;

/// The same for one thread at a time.
template <class Tag, class T>
using process_wide_local = static_pool<Tag, size_of<T>>;

}  // namespace tarn::presets

#endif  // TARN_ALLOCATOR_PRESETS_H_
