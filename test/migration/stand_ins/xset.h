// A stand-in for endurodave's header.
#ifndef XSET_H
#define XSET_H

#include <set>

#include "stl_allocator.h"

template <class T, class C = std::less<T>, class A = stl_allocator<T>>
using xset = std::set<T, C, A>;
template <class T, class C = std::less<T>, class A = stl_allocator<T>>
using xmultiset = std::multiset<T, C, A>;

#endif
