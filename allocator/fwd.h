// Declarations of every public class, for headers that use a pool only by reference or pointer. Default template arguments are
// in a class's own header. The products have none, so tarn::object_pool<order>& can be written with this header alone.
// tarn::pool<...> can't, because it is computed from its policies.
#ifndef TARN_ALLOCATOR_FWD_H_
#define TARN_ALLOCATOR_FWD_H_

#include <cstddef>
#include <cstdint>

#include "tarn/policies/platform/config.h"

namespace tarn {

// ---- products ------------------------------------------------------------------------------------------------------------
template <class T, class Arena>
class arena_allocator;
template <class Locking, class Growth, class Store, class Exhaustion, class Checking, class Statistics, class Name>
class basic_arena;
template <std::size_t N, class Inner>
class aligned_to;
template <class Size, class Locking, class Growth, class Store, class Reuse, class Retention, class Exhaustion, class Checking,
          class Statistics, class Name>
class basic_pool;
template <class Product>
class block_of;
template <class Members>
class block_reservation;
template <class Pool>
class block_resource;
struct block_traits;
template <std::size_t Bytes>
class buffer_block;
template <class Inner, class... Options>
class checked_bounds;
template <class Inner>
class counted;
template <class First, class Second>
class fall_back;
template <class T, class Pool>
class fixed_allocator;
template <class Container, std::size_t N, class... Policies>
class fixed_container;
template <class T>
class handle;
class heap_block;
class maintenance_thread;
template <class... Args>
class multipool;
template <class T, class... Policies>
class object_deleter;
template <class T, class... Policies>
class object_pool;
class observer;
class observing_thread;
template <class T, class... Policies>
class own_pool_allocator;
template <class... Policies>
class pool_resource;
class pool_snapshot;
template <class Header, class Inner>
class prefix;
template <class T, class... Policies>
class recycling_pool;
template <std::size_t Threshold, class Small, class Large>
class segregate;
template <class Mutex, class Inner>
class shared_between;
template <class... Policies>
class size_class_pool;
template <class Tag, class... Policies>
class static_arena;
template <class Tag, class... Policies>
class static_pool;
template <class T, class... Policies>
class stl_allocator;
template <class Sink, class Inner>
class traced;
template <class Tag, class... Policies>
class xallocator;
namespace pmr {
class synchronized_pool_resource;
class unsynchronized_pool_resource;
}  // namespace pmr

// ---- what functions and other declarations take --------------------------------------------------------------------------
class memory_budget;
enum class prefetch;
template <class T>
class span;
enum class trace_times : unsigned char;

// ---- size ----------------------------------------------------------------------------------------------------------------
class dynamic_size;
template <std::size_t Smallest, std::size_t Largest>
struct geometric_classes;
template <std::size_t... Bytes>
struct listed_classes;
template <class T>
struct size_of;
template <std::size_t Bytes, std::size_t Align>
struct static_size;

// ---- locking -------------------------------------------------------------------------------------------------------------
template <class Group, class Mutex>
class group_guard;
template <class Group, class Mutex>
struct grouped_locking;
struct interrupt_mask;
template <class Mask>
struct interrupt_locking;
struct lock_free;
class mutex;
template <class Mutex>
struct mutex_locking;
struct no_locking;
class spin_mutex;
class thread_aware_mutex;
template <std::size_t Threads, std::size_t Magazine>
struct thread_cached;

// ---- growth --------------------------------------------------------------------------------------------------------------
template <std::size_t Blocks, std::size_t Cap, std::size_t Bytes>
struct fixed_growth;
template <std::size_t First, std::size_t Max, std::size_t Factor, std::size_t Cap, std::size_t Bytes>
struct geometric_growth;
template <auto Blocks, class Growth>
class grow_ahead;
enum class maintained : unsigned char;
template <std::size_t Blocks>
struct no_growth;

// ---- store ---------------------------------------------------------------------------------------------------------------
template <class Inner, memory_budget* Budget>
class budgeted;
class buffer_store;
struct guard_pages;
struct heap_store;
struct huge_pages;
struct locked_pages;
enum class page_advice : unsigned char;
struct page_refusals;
struct page_report;
template <class... Options>
struct page_store;
struct prefilled;
class resource_store;
template <std::size_t Blocks>
struct static_array_store;

// ---- reuse ---------------------------------------------------------------------------------------------------------------
template <prefetch Prefetch, std::size_t Front>
struct batch_reuse;
template <prefetch Prefetch>
struct lifo_reuse;
template <std::size_t PageBytes, prefetch Prefetch, std::size_t Front>
struct page_local_reuse;

// ---- retention -----------------------------------------------------------------------------------------------------------
struct keep_chunks;
template <std::size_t Low, std::size_t High>
struct return_empty_chunks;
template <std::size_t KeepPercent, std::size_t KeepBytes, page_advice Advice>
struct return_empty_pages;

// ---- exhaustion ----------------------------------------------------------------------------------------------------------
template <class Store, class Growth>
class fall_back_to;
template <int Priority>
struct reclaim_and_retry;
struct report_exhaustion;
template <class Handler>
class retry_with;
template <std::size_t Milliseconds>
struct wait_for_block;

// ---- checking ------------------------------------------------------------------------------------------------------------
struct call_site;
template <class... Options>
struct checked_with;
using checked = checked_with<>;
struct deferred_checking;
struct generations;
struct guard_bytes;
template <class... Options>
struct hardened_with;
using hardened = hardened_with<>;
struct may_end_in_use;
struct misuse;
enum class misuse_kind : unsigned char;
struct no_checking;
template <void (*Handler)(const misuse&) noexcept>
struct reported_to;
struct shuffled;
struct sites;
template <std::uint32_t N, class Then, std::uint32_t Slots>
struct sampled_guard_pages;
template <class... Options>
struct switchable_checking_with;
using switchable_checking = switchable_checking_with<>;

// ---- statistics ----------------------------------------------------------------------------------------------------------
struct counting_statistics;
struct heaptrack_trace;
struct no_statistics;
template <class Named>
struct perfetto_trace;
struct pool_counts;
template <class Sink, std::size_t MeanBytes, std::size_t Live>
class sampled_trace;
struct trace_event;
enum class trace_kind : unsigned char;
template <std::size_t Events, std::size_t Threads, trace_times Times>
class trace_ring;
template <class Sink, class Inner>
struct tracing_statistics;
template <class Named, class Calls>
struct tracy_trace;
struct usdt_trace;

// ---- name ----------------------------------------------------------------------------------------------------------------
struct pool_listing;
struct pool_record;
struct switched_pools;
class run_time_name;
struct unnamed;

// ---- what policies say of themselves -------------------------------------------------------------------------------------
struct checking_traits;
struct exhaustion_traits;
struct growth_traits;
struct locking_traits;
struct name_traits;
struct retention_traits;
struct reuse_traits;
struct size_traits;
struct statistics_traits;
struct store_traits;

}  // namespace tarn

#endif  // TARN_ALLOCATOR_FWD_H_
