// The version of tarn. Only macros, so it costs nothing; every header of tarn includes it directly or indirectly.
//
//   #if TARN_VERSION >= 200    // 0.2.0 or later
#ifndef TARN_VERSION_H_
#define TARN_VERSION_H_

#define TARN_VERSION_MAJOR 0
#define TARN_VERSION_MINOR 2
#define TARN_VERSION_PATCH 0

/// One number that grows with each version: major * 10000 + minor * 100 + patch. 0.2.0 is 200, and 1.12.3 would be 11203.
#define TARN_VERSION (TARN_VERSION_MAJOR * 10000 + TARN_VERSION_MINOR * 100 + TARN_VERSION_PATCH)

/// "major.minor.patch"
#define TARN_VERSION_STRING "0.2.0"

#endif  // TARN_VERSION_H_
