// Everything: all products and all policies, including those that pool.h leaves out because they need more of the standard
// library. For a first look, or if compile time doesn't matter; otherwise include the product you use.
#ifndef TARN_ALLOCATOR_ALL_H_
#define TARN_ALLOCATOR_ALL_H_

#include "tarn/allocator/block_reservation.h"
#include "tarn/allocator/containers.h"
#include "tarn/allocator/fixed_container.h"
#include "tarn/allocator/handle.h"
#include "tarn/allocator/maintenance_thread.h"
#include "tarn/allocator/memory_pool_macros.h"
#include "tarn/allocator/memory_resource.h"
#include "tarn/allocator/multipool.h"
#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/object_ptr.h"
#include "tarn/allocator/observe.h"
#include "tarn/allocator/observing_thread.h"
#include "tarn/allocator/own_pool_allocator.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/presets.h"
#include "tarn/allocator/recycling_pool.h"
#include "tarn/allocator/registry.h"
#include "tarn/allocator/shared_pool.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/allocator/stl_allocator.h"
#include "tarn/allocator/xmalloc.h"
#include "tarn/policies/checking/switchable_checking.h"
#include "tarn/policies/locking/group_guard.h"
#include "tarn/policies/statistics/sampled_trace.h"
#include "tarn/policies/statistics/trace_ring.h"
#include "tarn/policies/store/resource_store.h"

#endif  // TARN_ALLOCATOR_ALL_H_
