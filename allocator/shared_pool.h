// One static pool for all shared libraries of a process, however they are built and loaded. Without these macros a library
// may have its own copy of a static pool, as of every static member of a template: see docs/products/shared-pools.md.
//
//   using orders = tarn::static_pool<struct orders_tag, tarn::size_of<Order>, tarn::shared_locking>;
//   TARN_DECLARE_SHARED_POOL(orders);     in the header, after that line, before the pool is used
//   TARN_DEFINE_SHARED_POOL(orders);      in one source file of one library, to which all others link
//
//   DECLARE_SHARED_MEMORY_POOL(Order);    the same for the pool of a class that has one of the DECLARE_MEMORY_POOL macros
//   DEFINE_SHARED_MEMORY_POOL(Order);     in one source file of one library
//
// Write all four at global scope, with a semicolon. If the definition isn't found, linking or loading fails; there is never a
// second copy (except with -Bsymbolic, see shared-pools.md). For MSVC, whose compiler must know, define
// TARN_DEFINES_SHARED_POOLS in all files of the library that defines the pools.
#ifndef TARN_ALLOCATOR_SHARED_POOL_H_
#define TARN_ALLOCATOR_SHARED_POOL_H_

#include "tarn/allocator/memory_pool_macros.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// The parts of a static pool's type. No other type has them.
template <class StaticPool>
struct shared_pool_parts;
template <class Tag, class... Policies>
struct shared_pool_parts<static_pool<Tag, Policies...>> {
  using tag = Tag;
  using composition = composed<Policies...>;
};

/// The static pool of a class that has one itself, not only by a base.
template <has_own_pool Class>
using pool_of_class = typename Class::memory_pool_operators::static_pool_type;

}  // namespace tarn::detail

/// The body with its template arguments, because an explicit instantiation accepts no alias.
#define TARN_SHARED_BODY_(...)                                                           \
  ::tarn::detail::static_body<typename ::tarn::detail::shared_pool_parts<__VA_ARGS__>::tag, \
                              typename ::tarn::detail::shared_pool_parts<__VA_ARGS__>::composition>

/// \param ...  a type: a static_pool
#define TARN_DECLARE_SHARED_POOL(...) extern template struct TARN_SHARED_ TARN_SHARED_BODY_(__VA_ARGS__)
#define TARN_DEFINE_SHARED_POOL(...) template struct TARN_SHARED_HERE_ TARN_SHARED_BODY_(__VA_ARGS__)

/// \param ...  a class
#define DECLARE_SHARED_MEMORY_POOL(...) TARN_DECLARE_SHARED_POOL(::tarn::detail::pool_of_class<__VA_ARGS__>)
#define DEFINE_SHARED_MEMORY_POOL(...) TARN_DEFINE_SHARED_POOL(::tarn::detail::pool_of_class<__VA_ARGS__>)

#endif  // TARN_ALLOCATOR_SHARED_POOL_H_
