/*
 * The sun4v performance counter service (API group 0x205) for guests written in C.
 *
 * Link with the static library that the package guest-abi-c builds. Everything here is freestanding C99 or C++: no libc, no
 * allocation, no state. All functions may be called from any strand at any time, except that the functions of a profiler must
 * be called from the profiler's own strand.
 *
 * - Functions that return uint64_t and take a transport return a status: one of enum vfperf_status, or another number that
 *   the hypervisor returned. On an error no result is stored.
 * - A transport is NULL for the real trap, which needs privileged mode of a sun4v virtual machine (SPARC V9 only: elsewhere
 *   the status is EBADTRAP). Otherwise both the pointer and the functions in the structure have to be valid.
 * - A pointer to a result may be NULL: then the result is dropped. Otherwise the pointer must be valid for a write.
 * - uint8_t, uint32_t and uint64_t come from the header that the macro VFPERF_TYPES names, such as "types.h" in quotes; without
 *   the macro from <linux/types.h> if __KERNEL__ is defined, from <sys/types.h> if _KERNEL is, and otherwise from <stdint.h>,
 *   or from the compiler if there is no such header.
 *
 * Written by `cargo xtask header`: change guest-abi/src or guest-abi/c/src, not this file.
 */
