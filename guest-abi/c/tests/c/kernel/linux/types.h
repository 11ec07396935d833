/* The types of Linux, whose uint64_t is not the compiler's. */
typedef unsigned char uint8_t;
typedef unsigned int uint32_t;
typedef unsigned long long u64;
typedef u64 uint64_t;
