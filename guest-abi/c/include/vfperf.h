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

#ifndef VFPERF_H
#define VFPERF_H

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

// `ta 0x80`: hypercalls of the API groups.
#define VFPERF_FAST_TRAP 0x80ull

// `ta 0xff`: calls that every guest can make, whatever it has negotiated.
#define VFPERF_CORE_TRAP 0xffull

// FAST_TRAP: reads a performance register (FWARC/2007/529 section 3.2.1).
#define VFPERF_VFALLS_GET_PERFREG 0x106ull

// FAST_TRAP: writes a performance register (FWARC/2007/529 section 3.2.2).
#define VFPERF_VFALLS_SET_PERFREG 0x107ull

// CORE_TRAP: negotiates a version of an API group.
#define VFPERF_API_SET_VERSION 0

// CORE_TRAP: writes a character (0 to 255) to the console, or sends a break.
#define VFPERF_CONS_PUTCHAR 1

// The argument of CONS_PUTCHAR for a break.
#define VFPERF_CONS_BREAK 0xffffffffffffffffull

// CORE_TRAP: stops the guest.
#define VFPERF_EXIT 2

// CORE_TRAP: returns the negotiated version of an API group.
#define VFPERF_API_GET_VERSION 3

// FAST_TRAP: ends the guest with the code in %o0. Does not return.
#define VFPERF_FAST_MACH_EXIT 0x0ull

// FAST_TRAP: copies the machine description to real address %o0, a buffer of %o1 bytes. Returns its size, also with EINVAL for a short buffer.
#define VFPERF_FAST_MACH_DESC 0x1ull

// FAST_TRAP: starts CPU %o0 at real address %o1, with %o2 in its %tba and %o3 in its %o0.
#define VFPERF_FAST_CPU_START 0x10ull

// FAST_TRAP: stops CPU %o0, which must not be the caller.
#define VFPERF_FAST_CPU_STOP 0x11ull

// FAST_TRAP: returns when an interrupt is pending for the caller, or earlier.
#define VFPERF_FAST_CPU_YIELD 0x12ull

// FAST_TRAP: puts interrupt queue %o0 at real address %o1, with %o2 entries.
#define VFPERF_FAST_CPU_QCONF 0x14ull

// FAST_TRAP: returns the number of the caller's CPU.
#define VFPERF_FAST_CPU_MYID 0x16ull

// FAST_TRAP: returns the state of CPU %o0: 1 stopped, 2 running, 3 failed.
#define VFPERF_FAST_CPU_STATE 0x17ull

// FAST_TRAP: returns the seconds since 1970-01-01 00:00:00 UTC.
#define VFPERF_FAST_TOD_GET 0x50ull

// FAST_TRAP: sets the guest's own time to %o0 seconds since 1970-01-01 00:00:00 UTC.
#define VFPERF_FAST_TOD_SET 0x51ull

// FAST_TRAP: returns a byte of the console, -1 for a break, -2 for a hang-up.
#define VFPERF_FAST_CONS_GETCHAR 0x60ull

// FAST_TRAP: sends the byte in %o0 to the console; -1 is a break.
#define VFPERF_FAST_CONS_PUTCHAR 0x61ull

// FAST_TRAP: sends %o1 bytes from real address %o0 to the console. Returns the number of bytes sent.
#define VFPERF_FAST_CONS_WRITE 0x63ull

// FAST_TRAP: sets the soft state to %o0, with the 32 bytes of text at real address %o1.
#define VFPERF_FAST_SOFT_STATE_SET 0x70ull

// FAST_TRAP: returns the soft state, and stores its text at real address %o0.
#define VFPERF_FAST_SOFT_STATE_GET 0x71ull

// FAST_TRAP: returns the physical address of a real address. For guests that may use group 0x300.
#define VFPERF_FAST_DIAG_RA2PA 0x200ull

// FAST_TRAP: executes code in hyperprivileged mode. For guests that may use group 0x300.
#define VFPERF_FAST_DIAG_HEXEC 0x201ull

// API group. The sun4v architecture itself. Its major version is always 1 (sun4v specification, "API versioning").
#define VFPERF_GROUP_SUN4V 0x0ull

// API group. The calls that every guest has (sun4v specification, "API versioning").
#define VFPERF_GROUP_CORE 0x1ull

// API group. Victoria Falls performance counters: registers 0 to 17 in version 1.0 (FWARC/2007/237), all 90 in 1.1 (FWARC/2007/529).
#define VFPERF_GROUP_VFALLS 0x205ull

// SPARC PCR bit 0: user code may neither read nor write the counters.
#define VFPERF_SPARC_PCR_PRIV 0x1ull

// SPARC PCR bit 1: count in privileged mode.
#define VFPERF_SPARC_PCR_ST 0x2ull

// SPARC PCR bit 2: count in user mode.
#define VFPERF_SPARC_PCR_UT 0x4ull

// SPARC PCR bit 3: count in hyperprivileged mode. Only the hypervisor can set it.
#define VFPERF_SPARC_PCR_HT 0x8ull

// SPARC PCR bit 4: trap when counter 0 overflows.
#define VFPERF_SPARC_PCR_TOE0 0x10ull

// SPARC PCR bit 5: trap when counter 1 overflows.
#define VFPERF_SPARC_PCR_TOE1 0x20ull

// SPARC PCR bit 18: counter 0 has overflowed.
#define VFPERF_SPARC_PCR_OV0 0x40000ull

// SPARC PCR bit 31: counter 1 has overflowed.
#define VFPERF_SPARC_PCR_OV1 0x80000000ull

// SPARC PCR bit 62: a write with this bit does not change OV0. Reads as 0.
#define VFPERF_SPARC_PCR_HOLDOV0 0x4000000000000000ull

// SPARC PCR bit 63: a write with this bit does not change OV1. Reads as 0.
#define VFPERF_SPARC_PCR_HOLDOV1 0x8000000000000000ull

// SPARC: the event of a counter that is off. (Event 0 counts idle clocks.)
#define VFPERF_SPARC_OFF 0x200ull

// SPARC PCR: both counters off, and no mode enabled. Build values from it, not from 0.
#define VFPERF_SPARC_PCR_OFF 0x10008000ull

// SPARC PCR: event of counter 0, bits 17:6.
#define VFPERF_SPARC_PCR_SELECT0 0x3ffc0ull

// SPARC PCR: lowest bit of the event of counter 0.
#define VFPERF_SPARC_PCR_SELECT0_SHIFT 6

// SPARC PCR: all bits except the event of counter 0.
#define VFPERF_SPARC_PCR_CLEAR_PIC0 0xfffffffffffc003full

// SPARC PCR: event of counter 1, bits 30:19.
#define VFPERF_SPARC_PCR_SELECT1 0x7ff80000ull

// SPARC PCR: lowest bit of the event of counter 1.
#define VFPERF_SPARC_PCR_SELECT1_SHIFT 19

// SPARC PCR: all bits except the event of counter 1.
#define VFPERF_SPARC_PCR_CLEAR_PIC1 0xffffffff8007ffffull

// SPARC PCR: the bits that can be written. HOLDOV reads as 0.
#define VFPERF_SPARC_PCR_WRITABLE 0xc0000000ffffffffull

// SPARC PIC: bits of a counter. Counter 0 is in bits 31:0, counter 1 in bits 63:32.
#define VFPERF_SPARC_PIC_WIDTH 32

// PERF_CONFIG: the bits that exist.
#define VFPERF_L2_PERF_CONFIG_WRITABLE 0x3ull

// DRAM PCR: event of counter 0, bits 7:4.
#define VFPERF_DRAM_PCR_SELECT0 0xf0ull

// DRAM PCR: lowest bit of the event of counter 0.
#define VFPERF_DRAM_PCR_SELECT0_SHIFT 4

// DRAM PCR: all bits except the event of counter 0.
#define VFPERF_DRAM_PCR_CLEAR_PIC0 0xffffffffffffff0full

// DRAM PCR: event of counter 1, bits 3:0.
#define VFPERF_DRAM_PCR_SELECT1 0xfull

// DRAM PCR: lowest bit of the event of counter 1.
#define VFPERF_DRAM_PCR_SELECT1_SHIFT 0

// DRAM PCR: all bits except the event of counter 1.
#define VFPERF_DRAM_PCR_CLEAR_PIC1 0xfffffffffffffff0ull

// DRAM PCR: the bits that exist.
#define VFPERF_DRAM_PCR_WRITABLE 0xffull

// DRAM PIC: bits of a counter. Counter 0 is in bits 62:32, counter 1 in bits 30:0.
#define VFPERF_DRAM_PIC_WIDTH 31

// DRAM PIC bit 63: counter 0 has wrapped. Only a write of the register clears it.
#define VFPERF_DRAM_PIC_WRAPPED0 0x8000000000000000ull

// DRAM PIC bit 31: counter 1 has wrapped. Only a write of the register clears it.
#define VFPERF_DRAM_PIC_WRAPPED1 0x80000000ull

// DRAM PIC: the bits that exist.
#define VFPERF_DRAM_PIC_WRITABLE 0xffffffffffffffffull

// LPU PCR: event of counter 0, bits 7:0.
#define VFPERF_LPU_PCR_SELECT0 0xffull

// LPU PCR: lowest bit of the event of counter 0.
#define VFPERF_LPU_PCR_SELECT0_SHIFT 0

// LPU PCR: all bits except the event of counter 0.
#define VFPERF_LPU_PCR_CLEAR_PIC0 0xffffffffffffff00ull

// LPU PCR: event of counter 1, bits 15:8.
#define VFPERF_LPU_PCR_SELECT1 0xff00ull

// LPU PCR: lowest bit of the event of counter 1.
#define VFPERF_LPU_PCR_SELECT1_SHIFT 8

// LPU PCR: all bits except the event of counter 1.
#define VFPERF_LPU_PCR_CLEAR_PIC1 0xffffffffffff00ffull

// LPU PCR: the bits that exist. The counters have 64 bits.
#define VFPERF_LPU_PCR_WRITABLE 0xffffull

// GPD PCR: event of counter 0, bits 3:0.
#define VFPERF_GPD_PCR_SELECT0 0xfull

// GPD PCR: lowest bit of the event of counter 0.
#define VFPERF_GPD_PCR_SELECT0_SHIFT 0

// GPD PCR: all bits except the event of counter 0.
#define VFPERF_GPD_PCR_CLEAR_PIC0 0xfffffffffffffff0ull

// GPD PCR: event of counter 1, bits 11:8.
#define VFPERF_GPD_PCR_SELECT1 0xf00ull

// GPD PCR: lowest bit of the event of counter 1.
#define VFPERF_GPD_PCR_SELECT1_SHIFT 8

// GPD PCR: all bits except the event of counter 1.
#define VFPERF_GPD_PCR_CLEAR_PIC1 0xfffffffffffff0ffull

// GPD PCR: the bits that exist. The counters have 64 bits.
#define VFPERF_GPD_PCR_WRITABLE 0xf0full

// ASU PCR: event of counter 0, bits 3:0.
#define VFPERF_ASU_PCR_SELECT0 0xfull

// ASU PCR: lowest bit of the event of counter 0.
#define VFPERF_ASU_PCR_SELECT0_SHIFT 0

// ASU PCR: all bits except the event of counter 0.
#define VFPERF_ASU_PCR_CLEAR_PIC0 0xfffffffffffffff0ull

// ASU PCR: event of counter 1, bits 11:8.
#define VFPERF_ASU_PCR_SELECT1 0xf00ull

// ASU PCR: lowest bit of the event of counter 1.
#define VFPERF_ASU_PCR_SELECT1_SHIFT 8

// ASU PCR: all bits except the event of counter 1.
#define VFPERF_ASU_PCR_CLEAR_PIC1 0xfffffffffffff0ffull

// ASU PCR: the bits that exist. The counters have 64 bits.
#define VFPERF_ASU_PCR_WRITABLE 0xf0full

// The status of a call, in %o0 (sun4v specification, "error codes"). A hypervisor may return other numbers too.
enum vfperf_status {
  VFPERF_EOK = 0, // Success.
  VFPERF_ENOCPU = 1, // Invalid CPU id.
  VFPERF_ENORADDR = 2, // Invalid real address.
  VFPERF_ENOINTR = 3, // Invalid interrupt id.
  VFPERF_EBADPGSZ = 4, // Invalid page size encoding.
  VFPERF_EBADTSB = 5, // Invalid TSB description.
  VFPERF_EINVAL = 6, // Invalid argument: for group 0x205, a PerfReg beyond 89.
  VFPERF_EBADTRAP = 7, // The function number is invalid, or its group is not negotiated.
  VFPERF_EBADALIGN = 8, // Invalid address alignment.
  VFPERF_EWOULDBLOCK = 9, // The call cannot complete without blocking. Nothing was done; try again.
  VFPERF_ENOACCESS = 10, // The guest may not do this: for group 0x205, it has no right to the register, or the unit is out of service.
  VFPERF_EIO = 11, // Input or output failed.
  VFPERF_ECPUERROR = 12, // The CPU is in an error state.
  VFPERF_ENOTSUPPORTED = 13, // Not supported: for group 0x205, a register that this version or machine does not have.
  VFPERF_ENOMAP = 14, // No mapping found.
  VFPERF_ETOOMANY = 15, // Too many items.
  VFPERF_ECHANNEL = 16, // Invalid LDC channel.
  VFPERF_EBUSY = 17, // The resource is busy.
  VFPERF_EUNAVAILABLE = 23, // The resource is unavailable.
};

// Performance registers (FWARC/2007/529 section 3.1): the PCR of the calling strand, PERF_CONFIG of its node, and the registers of units.
enum vfperf_reg {
  VFPERF_REG_SPARC_PCR = 0,
  VFPERF_REG_L2_PERF_CONFIG = 1,
  VFPERF_REG_NODE0_MCU0_PCR = 2,
  VFPERF_REG_NODE0_MCU0_PIC = 3,
  VFPERF_REG_NODE0_MCU1_PCR = 4,
  VFPERF_REG_NODE0_MCU1_PIC = 5,
  VFPERF_REG_NODE1_MCU0_PCR = 6,
  VFPERF_REG_NODE1_MCU0_PIC = 7,
  VFPERF_REG_NODE1_MCU1_PCR = 8,
  VFPERF_REG_NODE1_MCU1_PIC = 9,
  VFPERF_REG_NODE2_MCU0_PCR = 10,
  VFPERF_REG_NODE2_MCU0_PIC = 11,
  VFPERF_REG_NODE2_MCU1_PCR = 12,
  VFPERF_REG_NODE2_MCU1_PIC = 13,
  VFPERF_REG_NODE3_MCU0_PCR = 14,
  VFPERF_REG_NODE3_MCU0_PIC = 15,
  VFPERF_REG_NODE3_MCU1_PCR = 16,
  VFPERF_REG_NODE3_MCU1_PIC = 17,
  VFPERF_REG_ZAM0_LPU_A_PCR = 18,
  VFPERF_REG_ZAM0_LPU_A_PIC0 = 19,
  VFPERF_REG_ZAM0_LPU_A_PIC1 = 20,
  VFPERF_REG_ZAM0_LPU_B_PCR = 21,
  VFPERF_REG_ZAM0_LPU_B_PIC0 = 22,
  VFPERF_REG_ZAM0_LPU_B_PIC1 = 23,
  VFPERF_REG_ZAM0_LPU_C_PCR = 24,
  VFPERF_REG_ZAM0_LPU_C_PIC0 = 25,
  VFPERF_REG_ZAM0_LPU_C_PIC1 = 26,
  VFPERF_REG_ZAM0_LPU_D_PCR = 27,
  VFPERF_REG_ZAM0_LPU_D_PIC0 = 28,
  VFPERF_REG_ZAM0_LPU_D_PIC1 = 29,
  VFPERF_REG_ZAM0_GPD_PCR = 30,
  VFPERF_REG_ZAM0_GPD_PIC0 = 31,
  VFPERF_REG_ZAM0_GPD_PIC1 = 32,
  VFPERF_REG_ZAM0_ASU_PCR = 33,
  VFPERF_REG_ZAM0_ASU_PIC0 = 34,
  VFPERF_REG_ZAM0_ASU_PIC1 = 35,
  VFPERF_REG_ZAM1_LPU_A_PCR = 36,
  VFPERF_REG_ZAM1_LPU_A_PIC0 = 37,
  VFPERF_REG_ZAM1_LPU_A_PIC1 = 38,
  VFPERF_REG_ZAM1_LPU_B_PCR = 39,
  VFPERF_REG_ZAM1_LPU_B_PIC0 = 40,
  VFPERF_REG_ZAM1_LPU_B_PIC1 = 41,
  VFPERF_REG_ZAM1_LPU_C_PCR = 42,
  VFPERF_REG_ZAM1_LPU_C_PIC0 = 43,
  VFPERF_REG_ZAM1_LPU_C_PIC1 = 44,
  VFPERF_REG_ZAM1_LPU_D_PCR = 45,
  VFPERF_REG_ZAM1_LPU_D_PIC0 = 46,
  VFPERF_REG_ZAM1_LPU_D_PIC1 = 47,
  VFPERF_REG_ZAM1_GPD_PCR = 48,
  VFPERF_REG_ZAM1_GPD_PIC0 = 49,
  VFPERF_REG_ZAM1_GPD_PIC1 = 50,
  VFPERF_REG_ZAM1_ASU_PCR = 51,
  VFPERF_REG_ZAM1_ASU_PIC0 = 52,
  VFPERF_REG_ZAM1_ASU_PIC1 = 53,
  VFPERF_REG_ZAM2_LPU_A_PCR = 54,
  VFPERF_REG_ZAM2_LPU_A_PIC0 = 55,
  VFPERF_REG_ZAM2_LPU_A_PIC1 = 56,
  VFPERF_REG_ZAM2_LPU_B_PCR = 57,
  VFPERF_REG_ZAM2_LPU_B_PIC0 = 58,
  VFPERF_REG_ZAM2_LPU_B_PIC1 = 59,
  VFPERF_REG_ZAM2_LPU_C_PCR = 60,
  VFPERF_REG_ZAM2_LPU_C_PIC0 = 61,
  VFPERF_REG_ZAM2_LPU_C_PIC1 = 62,
  VFPERF_REG_ZAM2_LPU_D_PCR = 63,
  VFPERF_REG_ZAM2_LPU_D_PIC0 = 64,
  VFPERF_REG_ZAM2_LPU_D_PIC1 = 65,
  VFPERF_REG_ZAM2_GPD_PCR = 66,
  VFPERF_REG_ZAM2_GPD_PIC0 = 67,
  VFPERF_REG_ZAM2_GPD_PIC1 = 68,
  VFPERF_REG_ZAM2_ASU_PCR = 69,
  VFPERF_REG_ZAM2_ASU_PIC0 = 70,
  VFPERF_REG_ZAM2_ASU_PIC1 = 71,
  VFPERF_REG_ZAM3_LPU_A_PCR = 72,
  VFPERF_REG_ZAM3_LPU_A_PIC0 = 73,
  VFPERF_REG_ZAM3_LPU_A_PIC1 = 74,
  VFPERF_REG_ZAM3_LPU_B_PCR = 75,
  VFPERF_REG_ZAM3_LPU_B_PIC0 = 76,
  VFPERF_REG_ZAM3_LPU_B_PIC1 = 77,
  VFPERF_REG_ZAM3_LPU_C_PCR = 78,
  VFPERF_REG_ZAM3_LPU_C_PIC0 = 79,
  VFPERF_REG_ZAM3_LPU_C_PIC1 = 80,
  VFPERF_REG_ZAM3_LPU_D_PCR = 81,
  VFPERF_REG_ZAM3_LPU_D_PIC0 = 82,
  VFPERF_REG_ZAM3_LPU_D_PIC1 = 83,
  VFPERF_REG_ZAM3_GPD_PCR = 84,
  VFPERF_REG_ZAM3_GPD_PIC0 = 85,
  VFPERF_REG_ZAM3_GPD_PIC1 = 86,
  VFPERF_REG_ZAM3_ASU_PCR = 87,
  VFPERF_REG_ZAM3_ASU_PIC0 = 88,
  VFPERF_REG_ZAM3_ASU_PIC1 = 89,
  VFPERF_REGS = 90, // The number of registers. No register has this number.
};

// Units, each with a control register and two counters, in the order in which illumos probes them.
enum vfperf_unit {
  VFPERF_UNIT_NODE0_MCU0 = 0,
  VFPERF_UNIT_NODE0_MCU1 = 1,
  VFPERF_UNIT_NODE1_MCU0 = 2,
  VFPERF_UNIT_NODE1_MCU1 = 3,
  VFPERF_UNIT_NODE2_MCU0 = 4,
  VFPERF_UNIT_NODE2_MCU1 = 5,
  VFPERF_UNIT_NODE3_MCU0 = 6,
  VFPERF_UNIT_NODE3_MCU1 = 7,
  VFPERF_UNIT_ZAM0_LPU_A = 8,
  VFPERF_UNIT_ZAM0_LPU_B = 9,
  VFPERF_UNIT_ZAM0_LPU_C = 10,
  VFPERF_UNIT_ZAM0_LPU_D = 11,
  VFPERF_UNIT_ZAM1_LPU_A = 12,
  VFPERF_UNIT_ZAM1_LPU_B = 13,
  VFPERF_UNIT_ZAM1_LPU_C = 14,
  VFPERF_UNIT_ZAM1_LPU_D = 15,
  VFPERF_UNIT_ZAM2_LPU_A = 16,
  VFPERF_UNIT_ZAM2_LPU_B = 17,
  VFPERF_UNIT_ZAM2_LPU_C = 18,
  VFPERF_UNIT_ZAM2_LPU_D = 19,
  VFPERF_UNIT_ZAM3_LPU_A = 20,
  VFPERF_UNIT_ZAM3_LPU_B = 21,
  VFPERF_UNIT_ZAM3_LPU_C = 22,
  VFPERF_UNIT_ZAM3_LPU_D = 23,
  VFPERF_UNIT_ZAM0_GPD = 24,
  VFPERF_UNIT_ZAM1_GPD = 25,
  VFPERF_UNIT_ZAM2_GPD = 26,
  VFPERF_UNIT_ZAM3_GPD = 27,
  VFPERF_UNIT_ZAM0_ASU = 28,
  VFPERF_UNIT_ZAM1_ASU = 29,
  VFPERF_UNIT_ZAM2_ASU = 30,
  VFPERF_UNIT_ZAM3_ASU = 31,
  VFPERF_UNITS = 32, // The number of units.
};

// The counters of a unit or a strand.
enum vfperf_counter {
  VFPERF_PIC0 = 0,
  VFPERF_PIC1 = 1,
};

// PERF_CONFIG: which L2 misses the strands of a node count (FWARC/2007/529 section 2.3).
enum vfperf_perf_config {
  VFPERF_PERF_CONFIG_ALL = 0, // All misses.
  VFPERF_PERF_CONFIG_LOCAL = 1, // Misses served by the memory of the node itself.
  VFPERF_PERF_CONFIG_REMOTE = 2, // Misses served by the memory of another node.
  VFPERF_PERF_CONFIG_CACHE_TO_CACHE = 3, // Misses served by the cache of another node.
};

// Events of the SPARC counters: SL in bits 11:8, MASK in bits 7:0 (FWARC/2007/529 section 2.1). Other selects can be cast.
enum vfperf_sparc_event {
  VFPERF_SPARC_IDLE_STRANDS = 0x0, // Clocks in which no strand of the core issues an instruction. `Idle_strands`.
  VFPERF_SPARC_BR_COMPLETED = 0x201, // Branches completed. `Br_completed`.
  VFPERF_SPARC_BR_TAKEN = 0x202, // Branches taken. `Br_taken`.
  VFPERF_SPARC_INSTR_FGU_ARITHMETIC = 0x204, // Floating-point and graphics arithmetic instructions. `Instr_FGU_arithmetic`.
  VFPERF_SPARC_INSTR_LD = 0x208, // Load instructions, among them atomics, prefetches, and reads of ASRs and privileged registers (rd, rdpr). `Instr_ld`.
  VFPERF_SPARC_INSTR_ST = 0x210, // Store instructions, among them atomics, and writes of ASRs and privileged registers (wr, wrpr). `Instr_st`.
  VFPERF_SPARC_INSTR_SW = 0x220, // Software count instructions (`sethi %hi(fc000), %g0`). `Instr_sw`.
  VFPERF_SPARC_INSTR_OTHER = 0x240, // All other instructions. `Instr_other`.
  VFPERF_SPARC_ATOMICS = 0x280, // Atomic instructions, which are loads and stores too. `Atomics`.
  VFPERF_SPARC_INSTR_CNT = 0x2fd, // All instructions. `Instr_cnt`.
  VFPERF_SPARC_IC_MISS = 0x301, // Misses of the instruction cache. `IC_miss`.
  VFPERF_SPARC_DC_MISS = 0x302, // Misses of the data cache, by loads. `DC_miss`.
  VFPERF_SPARC_L2_IMISS = 0x310, // L2 misses of instruction fetches, as PERF_CONFIG selects them. `L2_imiss`.
  VFPERF_SPARC_L2_DMISS_LD = 0x320, // L2 misses of loads, but not of atomics, as PERF_CONFIG selects them. `L2_dmiss_ld`.
  VFPERF_SPARC_ITLB_HWTW_REF_L2 = 0x404, // Hardware instruction tablewalks that asked the L2. `ITLB_HWTW_ref_L2`.
  VFPERF_SPARC_DTLB_HWTW_REF_L2 = 0x408, // Hardware data tablewalks that asked the L2. `DTLB_HWTW_ref_L2`.
  VFPERF_SPARC_ITLB_HWTW_MISS_L2 = 0x410, // Hardware instruction tablewalks that missed the L2. `ITLB_HWTW_miss_L2`.
  VFPERF_SPARC_DTLB_HWTW_MISS_L2 = 0x420, // Hardware data tablewalks that missed the L2. `DTLB_HWTW_miss_L2`.
  VFPERF_SPARC_STREAM_LD_TO_PCX = 0x501, // Loads of the stream processing unit sent to the crossbar. `Stream_ld_to_PCX`.
  VFPERF_SPARC_STREAM_ST_TO_PCX = 0x502, // Stores of the stream processing unit sent to the crossbar. `Stream_st_to_PCX`.
  VFPERF_SPARC_CPU_LD_TO_PCX = 0x504, // Loads sent to the crossbar. `CPU_ld_to_PCX`.
  VFPERF_SPARC_CPU_IFETCH_TO_PCX = 0x508, // Instruction fetches sent to the crossbar. `CPU_ifetch_to_PCX`.
  VFPERF_SPARC_CPU_ST_TO_PCX = 0x510, // Stores sent to the crossbar. `CPU_st_to_PCX`.
  VFPERF_SPARC_MMU_LD_TO_PCX = 0x520, // Loads of the memory management unit sent to the crossbar. `MMU_ld_to_PCX`.
  VFPERF_SPARC_DES_3DES_OP = 0x601, // DES and triple DES operations. `DES_3DES_op`.
  VFPERF_SPARC_AES_OP = 0x602, // AES operations. `AES_op`.
  VFPERF_SPARC_RC4_OP = 0x604, // RC4 operations. `RC4_op`.
  VFPERF_SPARC_MD5_SHA_1_SHA_256_OP = 0x608, // Hash operations. `MD5_SHA-1_SHA-256_op`.
  VFPERF_SPARC_MA_OP = 0x610, // Modular arithmetic operations. `MA_op`.
  VFPERF_SPARC_CRC_TCPIP_CKSUM = 0x620, // Operations of the CRC unit, the single unit for all checksums. `CRC_TCPIP_cksum`.
  VFPERF_SPARC_DES_3DES_BUSY_CYCLE = 0x701, // Cycles in which the DES unit is busy. `DES_3DES_busy_cycle`.
  VFPERF_SPARC_AES_BUSY_CYCLE = 0x702, // Cycles in which the AES unit is busy. `AES_busy_cycle`.
  VFPERF_SPARC_RC4_BUSY_CYCLE = 0x704, // Cycles in which the RC4 unit is busy. `RC4_busy_cycle`.
  VFPERF_SPARC_MD5_SHA_1_SHA_256_BUSY_CYCLE = 0x708, // Cycles in which the hash unit is busy. `MD5_SHA-1_SHA-256_busy_cycle`.
  VFPERF_SPARC_MA_BUSY_CYCLE = 0x710, // Cycles in which the modular arithmetic unit is busy. `MA_busy_cycle`.
  VFPERF_SPARC_CRC_MPA_CKSUM = 0x720, // Cycles in which the CRC unit is busy. `CRC_MPA_cksum`.
  VFPERF_SPARC_ITLB_MISS = 0xb04, // Misses of the instruction TLB, also of instructions that are flushed. `ITLB_miss`.
  VFPERF_SPARC_DTLB_MISS = 0xb08, // Misses of the data TLB, also of instructions that are flushed. `DTLB_miss`.
  VFPERF_SPARC_TLB_MISS = 0xb0c, // Misses of both TLBs, also of instructions that are flushed. `TLB_miss`.
};

// Events of the units (FWARC/2007/529 sections 2.2 and 2.4 to 2.6): the kind of unit, and the code in the control register in bits 7:0. X, Y and Z are the three other ports of a hub.
enum vfperf_unit_event {
  VFPERF_DRAM_MEM_READS = 0x100, // Reads. `mem_reads`.
  VFPERF_DRAM_MEM_WRITES = 0x101, // Writes. `mem_writes`.
  VFPERF_DRAM_MEM_READ_WRITE = 0x102, // Reads and writes. `mem_read_write`.
  VFPERF_DRAM_BANK_BUSY_STALL = 0x103, // Stalls because a bank is busy, on the UltraSPARC T2. Solaris does not name it, and what the T2 Plus counts is unknown. `bank_busy_stall`.
  VFPERF_DRAM_RD_QUEUE_LATENCY = 0x104, // Entries of the read queue, added up every cycle. `rd_queue_latency`.
  VFPERF_DRAM_WR_QUEUE_LATENCY = 0x105, // Entries of the write queue, added up every cycle. `wr_queue_latency`.
  VFPERF_DRAM_RW_QUEUE_LATENCY = 0x106, // Entries of both queues, added up every cycle. `rw_queue_latency`.
  VFPERF_DRAM_WB_BUF_HITS = 0x107, // Reads that meet a write of their line in the write queue, and are held back for it. `wb_buf_hits`.
  VFPERF_LPU_NONE = 0x200, // Nothing. `none`.
  VFPERF_LPU_CLOCK_CYCLES = 0x201, // Clock cycles. `clock_cycles`.
  VFPERF_LPU_CYCLES_C2C_PORTX = 0x202, // Cache-to-cache transfers by way of port X. `cycles_c2c_portX`.
  VFPERF_LPU_CYCLES_MEM_PORTX = 0x203, // Memory accesses by way of port X. `cycles_mem_portX`.
  VFPERF_LPU_CYCLES_WB_PORTX = 0x204, // Write-backs by way of port X. `cycles_WB_portX`.
  VFPERF_LPU_CYCLES_NC_PORTX = 0x205, // Non-cacheable accesses by way of port X. `cycles_NC_portX`.
  VFPERF_LPU_CYCLES_C2C_PORTY = 0x206, // Cache-to-cache transfers by way of port Y. `cycles_c2c_portY`.
  VFPERF_LPU_CYCLES_MEM_PORTY = 0x207, // Memory accesses by way of port Y. `cycles_mem_portY`.
  VFPERF_LPU_CYCLES_WB_PORTY = 0x208, // Write-backs by way of port Y. `cycles_WB_portY`.
  VFPERF_LPU_CYCLES_NC_PORTY = 0x209, // Non-cacheable accesses by way of port Y. `cycles_NC_portY`.
  VFPERF_LPU_CYCLES_C2C_PORTZ = 0x20a, // Cache-to-cache transfers by way of port Z. `cycles_c2c_portZ`.
  VFPERF_LPU_CYCLES_MEM_PORTZ = 0x20b, // Memory accesses by way of port Z. `cycles_mem_portZ`.
  VFPERF_LPU_CYCLES_WB_PORTZ = 0x20c, // Write-backs by way of port Z. `cycles_WB_portZ`.
  VFPERF_LPU_CYCLES_NC_PORTZ = 0x20d, // Non-cacheable accesses by way of port Z. `cycles_NC_portZ`.
  VFPERF_LPU_CYCLES_TID_WB = 0x20e, // Transaction ids held by write-backs. `cycles_TID_WB`.
  VFPERF_LPU_CYCLES_TID_INV = 0x20f, // Transaction ids held by invalidations. `cycles_TID_INV`.
  VFPERF_LPU_CYCLES_TID_RTD = 0x210, // Transaction ids held by reads to discard. `cycles_TID_RTD`.
  VFPERF_LPU_CYCLES_TID_RTO = 0x211, // Transaction ids held by reads to own. `cycles_TID_RTO`.
  VFPERF_LPU_CYCLES_TID_RTS = 0x212, // Transaction ids held by reads to share. `cycles_TID_RTS`.
  VFPERF_LPU_CYCLES_IO_WRM = 0x213, // Merged writes of the input and output system. `cycles_IO_WRM`.
  VFPERF_LPU_CYCLES_IO_RD = 0x214, // Reads of the input and output system. `cycles_IO_RD`.
  VFPERF_LPU_CYCLES_WB_EGRESS = 0x215, // Write-backs sent to the node. `cycles_WB_egress`.
  VFPERF_LPU_CYCLES_INV_EGRESS = 0x216, // Invalidations sent to the node. `cycles_INV_egress`.
  VFPERF_LPU_CYCLES_RTO_EGRESS = 0x217, // Reads to own sent to the node. `cycles_RTO_egress`.
  VFPERF_LPU_CYCLES_RTD_EGRESS = 0x218, // Reads to discard sent to the node. `cycles_RTD_egress`.
  VFPERF_LPU_CYCLES_RTS_EGRESS = 0x219, // Reads to share sent to the node. `cycles_RTS_egress`.
  VFPERF_LPU_CYCLES_NO_WB = 0x21a, // Cycles without a write-back. `cycles_no_WB`.
  VFPERF_LPU_CYCLES_NO_READ_INV = 0x21b, // Cycles without a read or an invalidation. `cycles_no_read/inv`.
  VFPERF_LPU_CYCLES_HIT_M = 0x21c, // Snoops that found the line modified. `cycles_HIT_M`.
  VFPERF_LPU_CYCLES_HIT_O = 0x21d, // Snoops that found the line owned. `cycles_HIT_O`.
  VFPERF_LPU_CYCLES_HIT_S = 0x21e, // Snoops that found the line shared. `cycles_HIT_S`.
  VFPERF_LPU_CYCLES_WB_HIT = 0x21f, // Snoops that found the line in a write-back to memory. `cycles_WB_HIT`.
  VFPERF_LPU_CYCLES_MISS = 0x220, // Snoops that missed. `cycles_MISS`.
  VFPERF_LPU_CYCLES_READ_OR_INV = 0x221, // Reads and invalidations received from the node. `cycles_READ_or_INV`.
  VFPERF_LPU_CYCLES_WB = 0x222, // Write-backs received from the node. `cycles_WB`.
  VFPERF_LPU_CYCLES_NDR = 0x223, // Replies without data. `cycles_NDR`.
  VFPERF_LPU_CYCLES_CACHE_MISS = 0x224, // Requests of the node that no other cache could serve. `cycles_cache_miss`.
  VFPERF_LPU_CYCLES_CACHE_HIT = 0x225, // Requests of the node that another cache served. `cycles_cache_hit`.
  VFPERF_LPU_CYCLES_CRC_ERRORS = 0x226, // CRC errors of the link. `cycles_CRC_errors`.
  VFPERF_LPU_CYCLES_REPLYS_SENT = 0x227, // Link replies sent. `cycles_replys_sent`.
  VFPERF_LPU_CYCLES_REPLYS_RECEV = 0x228, // Link replies received. `cycles_replys_recev`.
  VFPERF_LPU_CYCLES_LINK_RETRAIN = 0x229, // Link retrainings. `cycles_link_retrain`.
  VFPERF_GPD_NONE = 0x300, // Nothing. `none`.
  VFPERF_GPD_CLOCK_CYCLES = 0x301, // Clock cycles. `clock_cycles`.
  VFPERF_ASU_NONE = 0x400, // Nothing. `none`.
  VFPERF_ASU_CLOCK_CYCLES = 0x401, // Clock cycles. `clock_cycles`.
  VFPERF_ASU_IN_PCK = 0x402, // Packets in. `asu_in_pck`.
  VFPERF_ASU_OUT_PCK = 0x403, // Packets out. `asu_out_pck`.
  VFPERF_ASU_CAM_HIT = 0x404, // Hits of the CAM of addresses in flight. `asu_CAM_hit`.
  VFPERF_ASU_WAKEUP = 0x405, // Wake-ups of requests that waited for an address. `asu_wakeup`.
};

// The number of samples that a profiler holds.
#define VFPERF_PROFILER_SAMPLES 64

// The maximum number of events of a profiler. The profiler counts two events at the same time.
#define VFPERF_PROFILER_EVENTS 8

// The functions through which calls reach the machine, for example a simulated machine. A function may be NULL, and so may the pointer to
// this structure. On SPARC V9, NULL stands for the real trap or register. On other processors, NULL stands for a trap that returns
// EBADTRAP, or a register that reads as 0.
struct vfperf_transport {
  // Executes trap `trap_number` (0x80 or 0xff) with `regs[0]` to `regs[5]` in %o0 to %o5, and stores the values after
  // the trap in `regs`.
  void (*trap)(void *context, uint64_t trap_number, uint64_t *regs);
  // Reads ancillary register 16 (%pcr) or 17 (%pic) of the calling strand.
  uint64_t (*read_asr)(void *context, uint32_t asr);
  // Writes ancillary register 16 (%pcr, except HT) or 17 (%pic) of the calling strand.
  void (*write_asr)(void *context, uint32_t asr, uint64_t value);
  // Passed to each function as its first argument.
  void *context;
};

// A version of an API group; 0.0 stands for "not negotiated".
struct vfperf_version {
  // Versions with different major numbers are incompatible.
  uint64_t major;
  // A higher minor number only adds calls and registers.
  uint64_t minor;
};

// Limits on repeated calls. A NULL pointer stands for a structure of zeros: each call is made once.
struct vfperf_retry {
  // The maximum number of times that a call is tried while its status is EWOULDBLOCK; 0 means 1.
  uint32_t tries;
  // The maximum number of times that a snapshot reads the counters; 0 means 1. The snapshot reads the counters again if the
  // control register has changed.
  uint32_t reads;
  // Called between two tries of a call, with the number of refused tries so far. NULL: no pause. If pauses stay below half a
  // millisecond, the service serves a refused strand after at most one access by every other strand.
  void (*pause)(void *context, uint32_t refused);
  // Returns the time in ticks, for the skew of a snapshot. NULL: `skew_ticks` is 0.
  uint64_t (*clock)(void *context);
  // Passed to each function as its first argument.
  void *context;
};

// The registers of a unit, read together: the counters count the events that the control register selects.
struct vfperf_snapshot {
  // The control register. It held this value both before and after the counters were read.
  uint64_t pcr;
  // Counters 0 and 1, without the flag of a DRAM counter.
  uint64_t pic[2];
  // Ticks from just before the read of counter 0 to just after the read of counter 1; 0 without a clock or for a DRAM channel.
  uint64_t skew_ticks;
  // Counter 0 is read both before and after counter 1. This is the number of events that it counted in between; 0 for a DRAM channel.
  uint64_t skew_events;
  // The number of calls, including refused ones, that it took to read counter 1; 0 for a DRAM channel, whose counters are read
  // together.
  uint32_t skew_calls;
  // Bit n: counter n has wrapped since its flag was cleared. Only DRAM counters have flags.
  uint32_t wrapped;
  // The number of times that the counters were read.
  uint32_t reads;
  // The unit: one of `enum vfperf_unit`.
  uint32_t unit;
};

// The result of a probe. Bit n of each member stands for unit n of `enum vfperf_unit`.
struct vfperf_present {
  // The units that exist: the status was neither EINVAL nor ENOTSUPPORTED.
  uint32_t units;
  // The units that exist, but are out of service or not granted to the guest: the status was ENOACCESS.
  uint32_t refused;
  // The units that exist, but whose hub was busy at that moment: the status was EWOULDBLOCK.
  uint32_t busy;
  // The units that may or may not exist, because the call returned another status. illumos treats them as present.
  uint32_t unclear;
};

// A 64-bit count of a narrower counter's events. To begin, set `events` to 0, and `last` to the counter's value
// (of a DRAM counter: with its flag in bit 31).
struct vfperf_count {
  // The events since the counter was first read.
  uint64_t events;
  // The value of the counter at the last read or write; a DRAM counter has its flag in bit 31.
  uint64_t last;
};

// A profiler, prepared by `vfperf_profiler_init`. The caller owns its 5120 bytes, may move them, and has nothing to release.
struct VFPERF_ALIGNED(16) vfperf_profiler {
  // Private to the profiler functions.
  uint64_t words[640];
};

// An event that a profiler counts, with or without samples. A member that is 0 is not used.
struct vfperf_request {
  // One of `enum vfperf_sparc_event`, or any other select code: SL in bits 11:8, MASK in bits 7:0.
  uint32_t event;
  // Events between two samples, 1 to 2^31. 0: no samples.
  uint32_t period;
  // Ticks between two samples. If this is not 0, `period` is only the first period; later periods follow the event rate.
  uint32_t interval;
  // 1 to 31: periods are random, and differ from the nominal period by up to 1/2^`spread` of it. 3 is a good choice.
  uint32_t spread;
  // The seed of random periods.
  uint64_t seed;
  // The maximum number of interrupts in a window of `throttle_ticks` ticks. One more interrupt doubles the period and begins a
  // new window.
  uint32_t throttle;
  // Reserved. The value has no effect.
  uint32_t reserved;
  // The length of a window in ticks: at least 1 if `throttle` is not 0.
  uint64_t throttle_ticks;
};

// The place and time of an interrupt.
struct vfperf_interrupted {
  // The address of the next instruction of the interrupted code.
  uint64_t address;
  // The time, in ticks of a clock that never goes backwards.
  uint64_t time;
  // The strand, 0 to 255.
  uint32_t strand;
  // The mode of the interrupted code: VFPERF_SPARC_PCR_UT, _ST or _HT.
  uint32_t mode;
};

// A sample: the overflow of a counter whose event is sampled.
struct vfperf_sample {
  // Where and when the overflow interrupted the program.
  struct vfperf_interrupted at;
  // The event whose counter overflowed.
  uint64_t event;
  // The number of events since the event's previous sample.
  uint64_t period;
};

// A profiler's result for one event.
struct vfperf_report {
  // The event's code, as in the profiler's request.
  uint32_t event;
  // The counter: one of `enum vfperf_counter`.
  uint32_t counter;
  // The number of events that were counted in the `running` ticks.
  uint64_t counted;
  // Ticks in which the event was counted.
  uint64_t running;
  // Ticks in which any event was counted.
  uint64_t enabled;
  // The estimated number of events in `enabled` ticks.
  uint64_t events;
  // One standard error of `events`, rounded up. UINT64_MAX: unknown, because the event had fewer than two turns.
  uint64_t error;
  // The number of samples, including lost samples.
  uint64_t samples;
  // The number of samples that were lost because there was no room.
  uint64_t lost;
  // The number of periods that ended while the interrupt of an earlier period was pending.
  uint64_t missed;
  // The number of times that throttling doubled the period.
  uint64_t throttled;
  // The current period; 0 for an event without samples.
  uint64_t period;
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Executes trap 0x80 or 0xff with `regs[0]` to `regs[5]` in %o0 to %o5 (the function number is in
// %o5), and stores the values after the trap in `regs`. Does nothing for another trap number or if
// `regs` is NULL. The caller is responsible for the effects of the call.
void vfperf_trap(const struct vfperf_transport *transport, uint64_t trap_number, uint64_t *regs);

// CORE: requests a version of an API group for the whole guest. The hypervisor may grant a lower
// minor number. Major 0 releases the group.
VFPERF_MUST_CHECK
uint64_t vfperf_api_set_version(const struct vfperf_transport *transport,
                                uint64_t group,
                                uint64_t major,
                                uint64_t minor,
                                uint64_t *granted_minor);

// CORE: stores the negotiated version of an API group; 0.0 if the group is not negotiated.
VFPERF_MUST_CHECK
uint64_t vfperf_api_get_version(const struct vfperf_transport *transport,
                                uint64_t group,
                                struct vfperf_version *version);

// CORE: writes one character to the guest's console.
uint64_t vfperf_cons_putchar(const struct vfperf_transport *transport, uint8_t character);

// CORE: sends a break to the guest's console.
uint64_t vfperf_cons_break(const struct vfperf_transport *transport);

// CORE: stops the guest, with an exit code. Returns only if the call is refused or simulated.
uint64_t vfperf_exit(const struct vfperf_transport *transport, uint64_t code);

// Negotiates group 0x205 for the whole guest. Returns EINVAL for major 0, without making a call. If the hypervisor grants a higher minor
// number than `minor`, releases the group and returns ENOTSUPPORTED.
VFPERF_MUST_CHECK
uint64_t vfperf_negotiate(const struct vfperf_transport *transport,
                          uint64_t major,
                          uint64_t minor,
                          struct vfperf_version *granted);

// Negotiates version 1.1 of group 0x205, or 1.0 if the hypervisor refuses 1.1.
VFPERF_MUST_CHECK
uint64_t vfperf_negotiate_best(const struct vfperf_transport *transport,
                               struct vfperf_version *granted);

// Releases group 0x205 for the whole guest. The counters keep their values.
uint64_t vfperf_release(const struct vfperf_transport *transport);

// Reads a performance register. A strand that asks at least once every half millisecond is served after at most one access by every other
// strand.
//
// Errors:
// - EBADTRAP: the guest has not negotiated.
// - EINVAL: there is no such register.
// - ENOTSUPPORTED: this version or machine does not have the register.
// - ENOACCESS: the guest may not use the register, or the register's unit is out of service.
// - EWOULDBLOCK: the register's hub was busy in every try.
VFPERF_MUST_CHECK
uint64_t vfperf_get(const struct vfperf_transport *transport,
                    enum vfperf_reg reg,
                    const struct vfperf_retry *retry,
                    uint64_t *value);

// Writes a performance register. The service drops the bits that a guest cannot write. Returns the same statuses as
// `vfperf_get`; also ENOACCESS if the guest sets HT without the right to do so.
VFPERF_MUST_CHECK
uint64_t vfperf_set(const struct vfperf_transport *transport,
                    enum vfperf_reg reg,
                    const struct vfperf_retry *retry,
                    uint64_t value);

// Reads a unit's control register and counters. Repeats the read if the control register changed during it. Returns the same statuses as
// `vfperf_get`. Also returns EINVAL for a unit that does not exist (without making a call), and EWOULDBLOCK if the control register
// changed during every read of the counters.
VFPERF_MUST_CHECK
uint64_t vfperf_snapshot(const struct vfperf_transport *transport,
                         enum vfperf_unit unit,
                         const struct vfperf_retry *retry,
                         struct vfperf_snapshot *snapshot);

// Finds out which units exist by reading each unit's control register, in 32 calls. Returns EBADTRAP if the guest has not negotiated.
VFPERF_MUST_CHECK
uint64_t vfperf_probe(const struct vfperf_transport *transport,
                      struct vfperf_present *present);

// Reads register 1: which L2 misses are counted on the caller's node, as one of `enum vfperf_perf_config`.
VFPERF_MUST_CHECK uint64_t vfperf_get_perf_config(const struct vfperf_transport *transport, uint64_t *config);

// Writes register 1: selects which L2 misses are counted by the strands on the caller's node. Returns EINVAL for a value above 3, without
// making a call.
VFPERF_MUST_CHECK
uint64_t vfperf_set_perf_config(const struct vfperf_transport *transport,
                                enum vfperf_perf_config config);

// Selects the event of a unit's counter: reads the control register, replaces the counter's event, and writes the register back. Returns
// EINVAL, without making a call, if the unit or counter does not exist, or if the event belongs to another kind of unit.
VFPERF_MUST_CHECK
uint64_t vfperf_unit_select(const struct vfperf_transport *transport,
                            enum vfperf_unit unit,
                            enum vfperf_counter counter,
                            enum vfperf_unit_event event);

// Returns the control register of a unit; VFPERF_REGS if the unit does not exist.
VFPERF_MUST_CHECK enum vfperf_reg vfperf_unit_pcr(enum vfperf_unit unit);

// Returns the register that holds a counter of a unit; VFPERF_REGS if the unit or the counter does not exist.
VFPERF_MUST_CHECK enum vfperf_reg vfperf_unit_pic(enum vfperf_unit unit, enum vfperf_counter counter);

// Returns `pcr`, the value of a unit's control register, with `event` selected for a counter. Returns `pcr` unchanged for a unit or
// counter that does not exist, and for an event of another kind of unit.
VFPERF_MUST_CHECK
uint64_t vfperf_unit_pcr_with(enum vfperf_unit unit,
                              uint64_t pcr,
                              enum vfperf_counter counter,
                              enum vfperf_unit_event event);

// Returns the event that a unit's control register selects for a counter; 0 (no event) if the unit or the counter does not exist.
VFPERF_MUST_CHECK
enum vfperf_unit_event vfperf_unit_pcr_event(enum vfperf_unit unit,
                                             uint64_t pcr,
                                             enum vfperf_counter counter);

// Returns `pcr`, the value of the strand's PCR, with `event` selected for a counter. To count one event only, begin with
// VFPERF_SPARC_PCR_OFF.
VFPERF_MUST_CHECK
uint64_t vfperf_sparc_pcr_with(uint64_t pcr,
                               enum vfperf_counter counter,
                               enum vfperf_sparc_event event);

// Returns `pcr`, the value of the strand's PCR, with a counter off: the counter neither counts nor traps.
VFPERF_MUST_CHECK uint64_t vfperf_sparc_pcr_without(uint64_t pcr, enum vfperf_counter counter);

// Returns a counter of `pic`, a value of %pic; 0 for a counter that does not exist.
VFPERF_MUST_CHECK uint32_t vfperf_sparc_pic_counter(uint64_t pic, enum vfperf_counter counter);

// Updates the count of a unit's counter from `pic`, the value of the counter's register, and returns the count. The count of a hub's
// counter is always right. A DRAM counter has 31 bits and a flag. Its count is right if fewer than 2^31 events happened since the last
// call. Its count is also right if the flag was clear at the last call and the counter has not wrapped twice since. Returns 0 if `count`
// is NULL, or if the unit or counter does not exist.
uint64_t vfperf_unit_count(struct vfperf_count *count,
                           enum vfperf_unit unit,
                           enum vfperf_counter counter,
                           uint64_t pic);

// Like `vfperf_unit_count`, from a snapshot of the unit.
uint64_t vfperf_snapshot_count(struct vfperf_count *count,
                               const struct vfperf_snapshot *snapshot,
                               enum vfperf_counter counter);

// Updates the count of one of the strand's counters from `pic`, the value of %pic, and returns the count. The count is right if fewer than
// 2^32 events happened since the last call. Returns 0 for NULL, and for a counter that does not exist.
uint64_t vfperf_strand_count(struct vfperf_count *count,
                             enum vfperf_counter counter,
                             uint64_t pic);

// Returns the longest safe interval between two reads of a DRAM counter, in ticks. Assumes at most
// `events` events in any `ticks` ticks. Returns 0 if either argument is 0.
VFPERF_MUST_CHECK uint64_t vfperf_dram_longest_interval(uint32_t events, uint32_t ticks);

// Returns the longest safe interval between two reads of a counter in a strand's %pic: see `vfperf_dram_longest_interval`.
VFPERF_MUST_CHECK
uint64_t vfperf_strand_longest_interval(uint32_t events,
                                        uint32_t ticks);

// Prepares a profiler that counts the events of `count` requests, in `modes` (VFPERF_SPARC_PCR_UT, _ST, _HT). The events of requests 2n
// and 2n + 1 are counted at the same time, on counters 0 and 1. Returns EINVAL if there are more than VFPERF_PROFILER_EVENTS requests, if
// a request's member is out of range, or if `profiler` is misaligned.
VFPERF_MUST_CHECK
uint64_t vfperf_profiler_init(struct vfperf_profiler *profiler,
                              uint32_t modes,
                              const struct vfperf_request *requests,
                              uint32_t count);

// Starts counting on the calling strand. `time` is the current time, in ticks. Returns ENOACCESS if `modes` includes HT, but the guest has
// no right to HT or has not negotiated.
VFPERF_MUST_CHECK
uint64_t vfperf_profiler_start(const struct vfperf_transport *transport,
                               struct vfperf_profiler *profiler,
                               uint64_t time);

// Takes a sample for each counter that has overflowed, and continues counting. The handler of the overflow trap (interrupt_level_15, 0x4f)
// calls this function, and then clears bit 15 of %softint. Stores in `cause` a bit mask of the counters that had overflowed; 0 if the
// interrupt is spurious. Returns ENOACCESS if the right to HT was revoked. If so, counting has ended, but counts and samples remain.
VFPERF_MUST_CHECK
uint64_t vfperf_profiler_handle(const struct vfperf_transport *transport,
                                struct vfperf_profiler *profiler,
                                const struct vfperf_interrupted *at,
                                uint32_t *cause);

// Begins the next two events' turn. Otherwise does the same as `vfperf_profiler_handle`. A timer calls this function if there are more
// than two events.
VFPERF_MUST_CHECK
uint64_t vfperf_profiler_rotate(const struct vfperf_transport *transport,
                                struct vfperf_profiler *profiler,
                                const struct vfperf_interrupted *at,
                                uint32_t *cause);

// Stops counting until the next `vfperf_profiler_start`. Handles pending overflows like `vfperf_profiler_handle`.
VFPERF_MUST_CHECK
uint64_t vfperf_profiler_stop(const struct vfperf_transport *transport,
                              struct vfperf_profiler *profiler,
                              const struct vfperf_interrupted *at,
                              uint32_t *cause);

// Removes the oldest sample and stores it. Returns EUNAVAILABLE if there is no sample.
VFPERF_MUST_CHECK uint64_t vfperf_profiler_pop(struct vfperf_profiler *profiler, struct vfperf_sample *sample);

// Stores the report on request `number`, as of the last interrupt, rotation or stop. Returns EINVAL if there is no such request.
VFPERF_MUST_CHECK
uint64_t vfperf_profiler_report(struct vfperf_profiler *profiler,
                                uint32_t number,
                                struct vfperf_report *report);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* VFPERF_H */
