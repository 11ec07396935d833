#ifdef VFPERF_TYPES
#include VFPERF_TYPES
#elif defined(__KERNEL__)
#include <linux/types.h>
#elif defined(_KERNEL)
#include <sys/types.h>
#else
#ifdef __has_include
#if !__has_include(<stdint.h>)
#define VFPERF_UINT
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
#endif
#endif
#ifndef VFPERF_UINT
#include <stdint.h>
#endif
#endif

// Stands before a function whose result says whether the call worked.
#ifndef VFPERF_MUST_CHECK
#ifdef __GNUC__
#define VFPERF_MUST_CHECK __attribute__((warn_unused_result))
#else
#define VFPERF_MUST_CHECK
#endif
#endif

#ifdef __GNUC__
#define VFPERF_ALIGNED(bytes) __attribute__((aligned(bytes)))
#else
#define VFPERF_ALIGNED(bytes)
#endif
