// A stand-in for endurodave's header.
#ifndef XMAP_H
#define XMAP_H

#include <map>

#include "stl_allocator.h"

template <class K, class V, class C = std::less<K>, class A = stl_allocator<std::pair<const K, V>>>
using xmap = std::map<K, V, C, A>;
template <class K, class V, class C = std::less<K>, class A = stl_allocator<std::pair<const K, V>>>
using xmultimap = std::multimap<K, V, C, A>;

#endif
