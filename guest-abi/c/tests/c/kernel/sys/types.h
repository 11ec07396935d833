/* The types of illumos. */
typedef unsigned char uint8_t;
typedef unsigned int uint32_t;
typedef unsigned long u64;
typedef u64 uint64_t;
