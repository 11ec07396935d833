/*
 * The sun4v performance counter service (API group 0x205) for guests written in C.
 *
 * Link with the static library that the package guest-abi-c builds. Everything here is freestanding C99: no libc, no
 * allocation, no state; all functions may be called from any strand at any time.
 *
 * - Functions that return uint64_t and take a transport return a status: one of enum sun4v_status, or another number that
 *   the hypervisor answered. On an error no result is stored.
 * - A transport is NULL for the real trap, which needs privileged mode of a sun4v virtual machine (SPARC V9 only: elsewhere
 *   the status is EBADTRAP). Otherwise both the pointer and the function in the structure have to be valid.
 * - A pointer to a result is NULL, and the result is dropped, or valid for a write.
 *
 * Written by `cargo xtask header`: change guest-abi/src or guest-abi/c/src, not this file.
 */

#ifndef SUN4V_PERF_H
#define SUN4V_PERF_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

/* `ta 0x80`: hypercalls of the API groups. */
#define SUN4V_FAST_TRAP 0x80ull

/* `ta 0xff`: calls that every guest can make, whatever it has negotiated. */
#define SUN4V_CORE_TRAP 0xffull

/* FAST_TRAP: reads a performance register (FWARC/2007/529 section 3.2.1). */
#define SUN4V_VFALLS_GET_PERFREG 0x106ull

/* FAST_TRAP: writes a performance register (FWARC/2007/529 section 3.2.2). */
#define SUN4V_VFALLS_SET_PERFREG 0x107ull

/* CORE_TRAP: negotiates a version of an API group. */
#define SUN4V_API_SET_VERSION 0

/* CORE_TRAP: writes a character (0 to 255) to the console, or sends a break. */
#define SUN4V_CONS_PUTCHAR 1

/* The argument of CONS_PUTCHAR for a break. */
#define SUN4V_CONS_BREAK 0xffffffffffffffffull

/* CORE_TRAP: stops the guest. */
#define SUN4V_EXIT 2

/* CORE_TRAP: returns the negotiated version of an API group. */
#define SUN4V_API_GET_VERSION 3

/* FAST_TRAP: ends the guest with the code in %o0. Does not return. */
#define SUN4V_FAST_MACH_EXIT 0x0ull

/* FAST_TRAP: copies the machine description to real address %o0, a buffer of %o1 bytes. Returns its size, also with EINVAL for a short buffer. */
#define SUN4V_FAST_MACH_DESC 0x1ull

/* FAST_TRAP: starts CPU %o0 at real address %o1, with %tba %o2 and %o0 = %o3. */
#define SUN4V_FAST_CPU_START 0x10ull

/* FAST_TRAP: stops CPU %o0, which is not the caller. */
#define SUN4V_FAST_CPU_STOP 0x11ull

/* FAST_TRAP: returns when an interrupt is pending for the caller, or earlier. */
#define SUN4V_FAST_CPU_YIELD 0x12ull

/* FAST_TRAP: puts interrupt queue %o0 at real address %o1, with %o2 entries. */
#define SUN4V_FAST_CPU_QCONF 0x14ull

/* FAST_TRAP: returns the number of the caller's CPU. */
#define SUN4V_FAST_CPU_MYID 0x16ull

/* FAST_TRAP: returns the state of CPU %o0: 1 stopped, 2 running, 3 failed. */
#define SUN4V_FAST_CPU_STATE 0x17ull

/* FAST_TRAP: returns the seconds since 1970-01-01 00:00:00 UTC. */
#define SUN4V_FAST_TOD_GET 0x50ull

/* FAST_TRAP: returns a byte of the console, -1 for a break, -2 for a hang-up. */
#define SUN4V_FAST_CONS_GETCHAR 0x60ull

/* FAST_TRAP: sends the byte in %o0 to the console; -1 is a break. */
#define SUN4V_FAST_CONS_PUTCHAR 0x61ull

/* FAST_TRAP: sends %o1 bytes from real address %o0 to the console. Returns the number of bytes sent. */
#define SUN4V_FAST_CONS_WRITE 0x63ull

/* FAST_TRAP: sets the soft state to %o0, with the 32 bytes of text at real address %o1. */
#define SUN4V_FAST_SOFT_STATE_SET 0x70ull

/* FAST_TRAP: returns the soft state, and stores its text at real address %o0. */
#define SUN4V_FAST_SOFT_STATE_GET 0x71ull

/* FAST_TRAP: returns the physical address of a real address. For guests that may use group 0x300. */
#define SUN4V_FAST_DIAG_RA2PA 0x200ull

/* FAST_TRAP: executes code in hyperprivileged mode. For guests that may use group 0x300. */
#define SUN4V_FAST_DIAG_HEXEC 0x201ull

/* The API group of the sun4v architecture itself. */
#define SUN4V_GROUP_SUN4V 0x0ull

/* The API group of the calls that every guest has. */
#define SUN4V_GROUP_CORE 0x1ull

/* The API group of the Victoria Falls performance counters: version 1.0 has registers 0 to 17, 1.1 all 90. */
#define SUN4V_GROUP_VFALLS 0x205ull

/* The number of performance registers. */
#define SUN4V_PERF_REGS 90

/* The number of units of the largest machine. */
#define SUN4V_UNITS 32

/* SPARC PCR: user code may neither read nor write the counters, bit 0. */
#define SUN4V_SPARC_PCR_PRIV 0x1ull

/* SPARC PCR: count in privileged mode, bit 1. */
#define SUN4V_SPARC_PCR_ST 0x2ull

/* SPARC PCR: count in user mode, bit 2. */
#define SUN4V_SPARC_PCR_UT 0x4ull

/* SPARC PCR: count in hyperprivileged mode. Only the hypervisor can set it, bit 3. */
#define SUN4V_SPARC_PCR_HT 0x8ull

/* SPARC PCR: trap when counter 0 overflows, bit 4. */
#define SUN4V_SPARC_PCR_TOE0 0x10ull

/* SPARC PCR: trap when counter 1 overflows, bit 5. */
#define SUN4V_SPARC_PCR_TOE1 0x20ull

/* SPARC PCR: counter 0 has overflowed, bit 18. */
#define SUN4V_SPARC_PCR_OV0 0x40000ull

/* SPARC PCR: counter 1 has overflowed, bit 31. */
#define SUN4V_SPARC_PCR_OV1 0x80000000ull

/* SPARC PCR: a write with this bit does not change OV0. Reads as 0, bit 62. */
#define SUN4V_SPARC_PCR_HOLDOV0 0x4000000000000000ull

/* SPARC PCR: a write with this bit does not change OV1. Reads as 0, bit 63. */
#define SUN4V_SPARC_PCR_HOLDOV1 0x8000000000000000ull

/* SPARC: the event of a counter that is off. (Event 0 counts idle clocks.) */
#define SUN4V_SPARC_OFF 0x200ull

/* SPARC PCR: both counters off, and no mode enabled. Build values from it, not from 0. */
#define SUN4V_SPARC_PCR_OFF 0x10008000ull

/* SPARC PCR: event of counter 0, bits 17:6. */
#define SUN4V_SPARC_PCR_SELECT0 0x3ffc0ull

/* SPARC PCR: lowest bit of the event of counter 0. */
#define SUN4V_SPARC_PCR_SELECT0_SHIFT 6

/* SPARC PCR: all bits but the event of counter 0. */
#define SUN4V_SPARC_PCR_CLEAR_PIC0 0xfffffffffffc003full

/* SPARC PCR: event of counter 1, bits 30:19. */
#define SUN4V_SPARC_PCR_SELECT1 0x7ff80000ull

/* SPARC PCR: lowest bit of the event of counter 1. */
#define SUN4V_SPARC_PCR_SELECT1_SHIFT 19

/* SPARC PCR: all bits but the event of counter 1. */
#define SUN4V_SPARC_PCR_CLEAR_PIC1 0xffffffff8007ffffull

/* SPARC PCR: the bits that can be written. HOLDOV reads as 0. */
#define SUN4V_SPARC_PCR_WRITABLE 0xc0000000ffffffffull

/* SPARC PIC: bits of a counter. Counter 0 is in bits 31:0, counter 1 in bits 63:32. */
#define SUN4V_SPARC_PIC_WIDTH 32

/* PERF_CONFIG: the bits that exist. */
#define SUN4V_L2_PERF_CONFIG_WRITABLE 0x3ull

/* DRAM PCR: event of counter 0, bits 7:4. */
#define SUN4V_DRAM_PCR_SELECT0 0xf0ull

/* DRAM PCR: lowest bit of the event of counter 0. */
#define SUN4V_DRAM_PCR_SELECT0_SHIFT 4

/* DRAM PCR: all bits but the event of counter 0. */
#define SUN4V_DRAM_PCR_CLEAR_PIC0 0xffffffffffffff0full

/* DRAM PCR: event of counter 1, bits 3:0. */
#define SUN4V_DRAM_PCR_SELECT1 0xfull

/* DRAM PCR: lowest bit of the event of counter 1. */
#define SUN4V_DRAM_PCR_SELECT1_SHIFT 0

/* DRAM PCR: all bits but the event of counter 1. */
#define SUN4V_DRAM_PCR_CLEAR_PIC1 0xfffffffffffffff0ull

/* DRAM PCR: the bits that exist. */
#define SUN4V_DRAM_PCR_WRITABLE 0xffull

/* DRAM PIC: bits of a counter. Counter 0 is in bits 62:32, counter 1 in bits 30:0. */
#define SUN4V_DRAM_PIC_WIDTH 31

/* DRAM PIC: counter 0 has wrapped, bit 63. Only a write of the register clears it. */
#define SUN4V_DRAM_PIC_WRAPPED0 0x8000000000000000ull

/* DRAM PIC: counter 1 has wrapped, bit 31. Only a write of the register clears it. */
#define SUN4V_DRAM_PIC_WRAPPED1 0x80000000ull

/* DRAM PIC: the bits that exist. */
#define SUN4V_DRAM_PIC_WRITABLE 0xffffffffffffffffull

/* LPU PCR: event of counter 0, bits 7:0. */
#define SUN4V_LPU_PCR_SELECT0 0xffull

/* LPU PCR: lowest bit of the event of counter 0. */
#define SUN4V_LPU_PCR_SELECT0_SHIFT 0

/* LPU PCR: all bits but the event of counter 0. */
#define SUN4V_LPU_PCR_CLEAR_PIC0 0xffffffffffffff00ull

/* LPU PCR: event of counter 1, bits 15:8. */
#define SUN4V_LPU_PCR_SELECT1 0xff00ull

/* LPU PCR: lowest bit of the event of counter 1. */
#define SUN4V_LPU_PCR_SELECT1_SHIFT 8

/* LPU PCR: all bits but the event of counter 1. */
#define SUN4V_LPU_PCR_CLEAR_PIC1 0xffffffffffff00ffull

/* LPU PCR: the bits that exist. Its counters have 64. */
#define SUN4V_LPU_PCR_WRITABLE 0xffffull

/* GPD PCR: event of counter 0, bits 3:0. */
#define SUN4V_GPD_PCR_SELECT0 0xfull

/* GPD PCR: lowest bit of the event of counter 0. */
#define SUN4V_GPD_PCR_SELECT0_SHIFT 0

/* GPD PCR: all bits but the event of counter 0. */
#define SUN4V_GPD_PCR_CLEAR_PIC0 0xfffffffffffffff0ull

/* GPD PCR: event of counter 1, bits 11:8. */
#define SUN4V_GPD_PCR_SELECT1 0xf00ull

/* GPD PCR: lowest bit of the event of counter 1. */
#define SUN4V_GPD_PCR_SELECT1_SHIFT 8

/* GPD PCR: all bits but the event of counter 1. */
#define SUN4V_GPD_PCR_CLEAR_PIC1 0xfffffffffffff0ffull

/* GPD PCR: the bits that exist. Its counters have 64. */
#define SUN4V_GPD_PCR_WRITABLE 0xf0full

/* ASU PCR: event of counter 0, bits 3:0. */
#define SUN4V_ASU_PCR_SELECT0 0xfull

/* ASU PCR: lowest bit of the event of counter 0. */
#define SUN4V_ASU_PCR_SELECT0_SHIFT 0

/* ASU PCR: all bits but the event of counter 0. */
#define SUN4V_ASU_PCR_CLEAR_PIC0 0xfffffffffffffff0ull

/* ASU PCR: event of counter 1, bits 11:8. */
#define SUN4V_ASU_PCR_SELECT1 0xf00ull

/* ASU PCR: lowest bit of the event of counter 1. */
#define SUN4V_ASU_PCR_SELECT1_SHIFT 8

/* ASU PCR: all bits but the event of counter 1. */
#define SUN4V_ASU_PCR_CLEAR_PIC1 0xfffffffffffff0ffull

/* ASU PCR: the bits that exist. Its counters have 64. */
#define SUN4V_ASU_PCR_WRITABLE 0xf0full

/* The status of a call, in %o0 (sun4v specification, "error codes"). A hypervisor may return other numbers too. */
enum sun4v_status {
  /* Success. */
  SUN4V_EOK = 0,
  /* Invalid CPU id. */
  SUN4V_ENOCPU = 1,
  /* Invalid real address. */
  SUN4V_ENORADDR = 2,
  /* Invalid interrupt id. */
  SUN4V_ENOINTR = 3,
  /* Invalid page size encoding. */
  SUN4V_EBADPGSZ = 4,
  /* Invalid TSB description. */
  SUN4V_EBADTSB = 5,
  /* Invalid argument: for group 0x205, a PerfReg beyond 89. */
  SUN4V_EINVAL = 6,
  /* The function number is invalid, or its group is not negotiated. */
  SUN4V_EBADTRAP = 7,
  /* Invalid address alignment. */
  SUN4V_EBADALIGN = 8,
  /* The call cannot complete without blocking. Nothing was done; try again. */
  SUN4V_EWOULDBLOCK = 9,
  /* The guest may not do this: for group 0x205, it has no right to the register, or the unit is out of service. */
  SUN4V_ENOACCESS = 10,
  /* Input or output failed. */
  SUN4V_EIO = 11,
  /* The CPU is in an error state. */
  SUN4V_ECPUERROR = 12,
  /* Not supported: for group 0x205, a register that this version or machine does not have. */
  SUN4V_ENOTSUPPORTED = 13,
  /* No mapping found. */
  SUN4V_ENOMAP = 14,
  /* Too many items. */
  SUN4V_ETOOMANY = 15,
  /* Invalid LDC channel. */
  SUN4V_ECHANNEL = 16,
  /* The resource is busy. */
  SUN4V_EBUSY = 17,
  /* The resource is unavailable. */
  SUN4V_EUNAVAILABLE = 23,
};

/* PerfReg numbers (FWARC/2007/529 section 3.1). */
enum sun4v_perf_reg {
  /* Control register of the calling strand. */
  SUN4V_REG_SPARC_PCR = 0,
  /* PERF_CONFIG of the caller's node. */
  SUN4V_REG_L2_PERF_CONFIG = 1,
  /* Node 0, DRAM channel 0: control. */
  SUN4V_REG_NODE0_MCU0_PCR = 2,
  /* Node 0, DRAM channel 0: counters. */
  SUN4V_REG_NODE0_MCU0_PIC = 3,
  /* Node 0, DRAM channel 1: control. */
  SUN4V_REG_NODE0_MCU1_PCR = 4,
  /* Node 0, DRAM channel 1: counters. */
  SUN4V_REG_NODE0_MCU1_PIC = 5,
  /* Node 1, DRAM channel 0: control. */
  SUN4V_REG_NODE1_MCU0_PCR = 6,
  /* Node 1, DRAM channel 0: counters. */
  SUN4V_REG_NODE1_MCU0_PIC = 7,
  /* Node 1, DRAM channel 1: control. */
  SUN4V_REG_NODE1_MCU1_PCR = 8,
  /* Node 1, DRAM channel 1: counters. */
  SUN4V_REG_NODE1_MCU1_PIC = 9,
  /* Node 2, DRAM channel 0: control. */
  SUN4V_REG_NODE2_MCU0_PCR = 10,
  /* Node 2, DRAM channel 0: counters. */
  SUN4V_REG_NODE2_MCU0_PIC = 11,
  /* Node 2, DRAM channel 1: control. */
  SUN4V_REG_NODE2_MCU1_PCR = 12,
  /* Node 2, DRAM channel 1: counters. */
  SUN4V_REG_NODE2_MCU1_PIC = 13,
  /* Node 3, DRAM channel 0: control. */
  SUN4V_REG_NODE3_MCU0_PCR = 14,
  /* Node 3, DRAM channel 0: counters. */
  SUN4V_REG_NODE3_MCU0_PIC = 15,
  /* Node 3, DRAM channel 1: control. */
  SUN4V_REG_NODE3_MCU1_PCR = 16,
  /* Node 3, DRAM channel 1: counters. */
  SUN4V_REG_NODE3_MCU1_PIC = 17,
  /* Hub 0, link port unit A: control. */
  SUN4V_REG_ZAM0_LPU_A_PCR = 18,
  /* Hub 0, link port unit A: counter 0. */
  SUN4V_REG_ZAM0_LPU_A_PIC0 = 19,
  /* Hub 0, link port unit A: counter 1. */
  SUN4V_REG_ZAM0_LPU_A_PIC1 = 20,
  /* Hub 0, link port unit B: control. */
  SUN4V_REG_ZAM0_LPU_B_PCR = 21,
  /* Hub 0, link port unit B: counter 0. */
  SUN4V_REG_ZAM0_LPU_B_PIC0 = 22,
  /* Hub 0, link port unit B: counter 1. */
  SUN4V_REG_ZAM0_LPU_B_PIC1 = 23,
  /* Hub 0, link port unit C: control. */
  SUN4V_REG_ZAM0_LPU_C_PCR = 24,
  /* Hub 0, link port unit C: counter 0. */
  SUN4V_REG_ZAM0_LPU_C_PIC0 = 25,
  /* Hub 0, link port unit C: counter 1. */
  SUN4V_REG_ZAM0_LPU_C_PIC1 = 26,
  /* Hub 0, link port unit D: control. */
  SUN4V_REG_ZAM0_LPU_D_PCR = 27,
  /* Hub 0, link port unit D: counter 0. */
  SUN4V_REG_ZAM0_LPU_D_PIC0 = 28,
  /* Hub 0, link port unit D: counter 1. */
  SUN4V_REG_ZAM0_LPU_D_PIC1 = 29,
  /* Hub 0, GPD: control. */
  SUN4V_REG_ZAM0_GPD_PCR = 30,
  /* Hub 0, GPD: counter 0. */
  SUN4V_REG_ZAM0_GPD_PIC0 = 31,
  /* Hub 0, GPD: counter 1. */
  SUN4V_REG_ZAM0_GPD_PIC1 = 32,
  /* Hub 0, ASU: control. */
  SUN4V_REG_ZAM0_ASU_PCR = 33,
  /* Hub 0, ASU: counter 0. */
  SUN4V_REG_ZAM0_ASU_PIC0 = 34,
  /* Hub 0, ASU: counter 1. */
  SUN4V_REG_ZAM0_ASU_PIC1 = 35,
  /* Hub 1, link port unit A: control. */
  SUN4V_REG_ZAM1_LPU_A_PCR = 36,
  /* Hub 1, link port unit A: counter 0. */
  SUN4V_REG_ZAM1_LPU_A_PIC0 = 37,
  /* Hub 1, link port unit A: counter 1. */
  SUN4V_REG_ZAM1_LPU_A_PIC1 = 38,
  /* Hub 1, link port unit B: control. */
  SUN4V_REG_ZAM1_LPU_B_PCR = 39,
  /* Hub 1, link port unit B: counter 0. */
  SUN4V_REG_ZAM1_LPU_B_PIC0 = 40,
  /* Hub 1, link port unit B: counter 1. */
  SUN4V_REG_ZAM1_LPU_B_PIC1 = 41,
  /* Hub 1, link port unit C: control. */
  SUN4V_REG_ZAM1_LPU_C_PCR = 42,
  /* Hub 1, link port unit C: counter 0. */
  SUN4V_REG_ZAM1_LPU_C_PIC0 = 43,
  /* Hub 1, link port unit C: counter 1. */
  SUN4V_REG_ZAM1_LPU_C_PIC1 = 44,
  /* Hub 1, link port unit D: control. */
  SUN4V_REG_ZAM1_LPU_D_PCR = 45,
  /* Hub 1, link port unit D: counter 0. */
  SUN4V_REG_ZAM1_LPU_D_PIC0 = 46,
  /* Hub 1, link port unit D: counter 1. */
  SUN4V_REG_ZAM1_LPU_D_PIC1 = 47,
  /* Hub 1, GPD: control. */
  SUN4V_REG_ZAM1_GPD_PCR = 48,
  /* Hub 1, GPD: counter 0. */
  SUN4V_REG_ZAM1_GPD_PIC0 = 49,
  /* Hub 1, GPD: counter 1. */
  SUN4V_REG_ZAM1_GPD_PIC1 = 50,
  /* Hub 1, ASU: control. */
  SUN4V_REG_ZAM1_ASU_PCR = 51,
  /* Hub 1, ASU: counter 0. */
  SUN4V_REG_ZAM1_ASU_PIC0 = 52,
  /* Hub 1, ASU: counter 1. */
  SUN4V_REG_ZAM1_ASU_PIC1 = 53,
  /* Hub 2, link port unit A: control. */
  SUN4V_REG_ZAM2_LPU_A_PCR = 54,
  /* Hub 2, link port unit A: counter 0. */
  SUN4V_REG_ZAM2_LPU_A_PIC0 = 55,
  /* Hub 2, link port unit A: counter 1. */
  SUN4V_REG_ZAM2_LPU_A_PIC1 = 56,
  /* Hub 2, link port unit B: control. */
  SUN4V_REG_ZAM2_LPU_B_PCR = 57,
  /* Hub 2, link port unit B: counter 0. */
  SUN4V_REG_ZAM2_LPU_B_PIC0 = 58,
  /* Hub 2, link port unit B: counter 1. */
  SUN4V_REG_ZAM2_LPU_B_PIC1 = 59,
  /* Hub 2, link port unit C: control. */
  SUN4V_REG_ZAM2_LPU_C_PCR = 60,
  /* Hub 2, link port unit C: counter 0. */
  SUN4V_REG_ZAM2_LPU_C_PIC0 = 61,
  /* Hub 2, link port unit C: counter 1. */
  SUN4V_REG_ZAM2_LPU_C_PIC1 = 62,
  /* Hub 2, link port unit D: control. */
  SUN4V_REG_ZAM2_LPU_D_PCR = 63,
  /* Hub 2, link port unit D: counter 0. */
  SUN4V_REG_ZAM2_LPU_D_PIC0 = 64,
  /* Hub 2, link port unit D: counter 1. */
  SUN4V_REG_ZAM2_LPU_D_PIC1 = 65,
  /* Hub 2, GPD: control. */
  SUN4V_REG_ZAM2_GPD_PCR = 66,
  /* Hub 2, GPD: counter 0. */
  SUN4V_REG_ZAM2_GPD_PIC0 = 67,
  /* Hub 2, GPD: counter 1. */
  SUN4V_REG_ZAM2_GPD_PIC1 = 68,
  /* Hub 2, ASU: control. */
  SUN4V_REG_ZAM2_ASU_PCR = 69,
  /* Hub 2, ASU: counter 0. */
  SUN4V_REG_ZAM2_ASU_PIC0 = 70,
  /* Hub 2, ASU: counter 1. */
  SUN4V_REG_ZAM2_ASU_PIC1 = 71,
  /* Hub 3, link port unit A: control. */
  SUN4V_REG_ZAM3_LPU_A_PCR = 72,
  /* Hub 3, link port unit A: counter 0. */
  SUN4V_REG_ZAM3_LPU_A_PIC0 = 73,
  /* Hub 3, link port unit A: counter 1. */
  SUN4V_REG_ZAM3_LPU_A_PIC1 = 74,
  /* Hub 3, link port unit B: control. */
  SUN4V_REG_ZAM3_LPU_B_PCR = 75,
  /* Hub 3, link port unit B: counter 0. */
  SUN4V_REG_ZAM3_LPU_B_PIC0 = 76,
  /* Hub 3, link port unit B: counter 1. */
  SUN4V_REG_ZAM3_LPU_B_PIC1 = 77,
  /* Hub 3, link port unit C: control. */
  SUN4V_REG_ZAM3_LPU_C_PCR = 78,
  /* Hub 3, link port unit C: counter 0. */
  SUN4V_REG_ZAM3_LPU_C_PIC0 = 79,
  /* Hub 3, link port unit C: counter 1. */
  SUN4V_REG_ZAM3_LPU_C_PIC1 = 80,
  /* Hub 3, link port unit D: control. */
  SUN4V_REG_ZAM3_LPU_D_PCR = 81,
  /* Hub 3, link port unit D: counter 0. */
  SUN4V_REG_ZAM3_LPU_D_PIC0 = 82,
  /* Hub 3, link port unit D: counter 1. */
  SUN4V_REG_ZAM3_LPU_D_PIC1 = 83,
  /* Hub 3, GPD: control. */
  SUN4V_REG_ZAM3_GPD_PCR = 84,
  /* Hub 3, GPD: counter 0. */
  SUN4V_REG_ZAM3_GPD_PIC0 = 85,
  /* Hub 3, GPD: counter 1. */
  SUN4V_REG_ZAM3_GPD_PIC1 = 86,
  /* Hub 3, ASU: control. */
  SUN4V_REG_ZAM3_ASU_PCR = 87,
  /* Hub 3, ASU: counter 0. */
  SUN4V_REG_ZAM3_ASU_PIC0 = 88,
  /* Hub 3, ASU: counter 1. */
  SUN4V_REG_ZAM3_ASU_PIC1 = 89,
};

/* Units, each with a control register and two counters, in the order in which illumos probes them. Bit n of `sun4v_present` stands for unit n. */
enum sun4v_unit {
  /* Node 0, DRAM channel 0. */
  SUN4V_UNIT_NODE0_MCU0 = 0,
  /* Node 0, DRAM channel 1. */
  SUN4V_UNIT_NODE0_MCU1 = 1,
  /* Node 1, DRAM channel 0. */
  SUN4V_UNIT_NODE1_MCU0 = 2,
  /* Node 1, DRAM channel 1. */
  SUN4V_UNIT_NODE1_MCU1 = 3,
  /* Node 2, DRAM channel 0. */
  SUN4V_UNIT_NODE2_MCU0 = 4,
  /* Node 2, DRAM channel 1. */
  SUN4V_UNIT_NODE2_MCU1 = 5,
  /* Node 3, DRAM channel 0. */
  SUN4V_UNIT_NODE3_MCU0 = 6,
  /* Node 3, DRAM channel 1. */
  SUN4V_UNIT_NODE3_MCU1 = 7,
  /* Hub 0, link port unit A. */
  SUN4V_UNIT_ZAM0_LPU_A = 8,
  /* Hub 0, link port unit B. */
  SUN4V_UNIT_ZAM0_LPU_B = 9,
  /* Hub 0, link port unit C. */
  SUN4V_UNIT_ZAM0_LPU_C = 10,
  /* Hub 0, link port unit D. */
  SUN4V_UNIT_ZAM0_LPU_D = 11,
  /* Hub 1, link port unit A. */
  SUN4V_UNIT_ZAM1_LPU_A = 12,
  /* Hub 1, link port unit B. */
  SUN4V_UNIT_ZAM1_LPU_B = 13,
  /* Hub 1, link port unit C. */
  SUN4V_UNIT_ZAM1_LPU_C = 14,
  /* Hub 1, link port unit D. */
  SUN4V_UNIT_ZAM1_LPU_D = 15,
  /* Hub 2, link port unit A. */
  SUN4V_UNIT_ZAM2_LPU_A = 16,
  /* Hub 2, link port unit B. */
  SUN4V_UNIT_ZAM2_LPU_B = 17,
  /* Hub 2, link port unit C. */
  SUN4V_UNIT_ZAM2_LPU_C = 18,
  /* Hub 2, link port unit D. */
  SUN4V_UNIT_ZAM2_LPU_D = 19,
  /* Hub 3, link port unit A. */
  SUN4V_UNIT_ZAM3_LPU_A = 20,
  /* Hub 3, link port unit B. */
  SUN4V_UNIT_ZAM3_LPU_B = 21,
  /* Hub 3, link port unit C. */
  SUN4V_UNIT_ZAM3_LPU_C = 22,
  /* Hub 3, link port unit D. */
  SUN4V_UNIT_ZAM3_LPU_D = 23,
  /* Hub 0, GPD. */
  SUN4V_UNIT_ZAM0_GPD = 24,
  /* Hub 1, GPD. */
  SUN4V_UNIT_ZAM1_GPD = 25,
  /* Hub 2, GPD. */
  SUN4V_UNIT_ZAM2_GPD = 26,
  /* Hub 3, GPD. */
  SUN4V_UNIT_ZAM3_GPD = 27,
  /* Hub 0, ASU. */
  SUN4V_UNIT_ZAM0_ASU = 28,
  /* Hub 1, ASU. */
  SUN4V_UNIT_ZAM1_ASU = 29,
  /* Hub 2, ASU. */
  SUN4V_UNIT_ZAM2_ASU = 30,
  /* Hub 3, ASU. */
  SUN4V_UNIT_ZAM3_ASU = 31,
};

/* PERF_CONFIG: which L2 misses the strands of a node count (FWARC/2007/529 section 2.3). */
enum sun4v_perf_config {
  /* All misses. */
  SUN4V_PERF_CONFIG_ALL = 0,
  /* Misses served from the memory of the node itself. */
  SUN4V_PERF_CONFIG_LOCAL = 1,
  /* Misses served from the memory of another node. */
  SUN4V_PERF_CONFIG_REMOTE = 2,
  /* Misses served by the cache of another node. */
  SUN4V_PERF_CONFIG_CACHE_TO_CACHE = 3,
};

/* Events of the SPARC counters: SL in bits 11:8, MASK in bits 7:0 (FWARC/2007/529 section 2.1). */
enum sun4v_sparc_event {
  /* Clocks in which no strand of the core issues an instruction. `Idle_strands`. */
  SUN4V_SPARC_IDLE_STRANDS = 0x0,
  /* Branches completed. `Br_completed`. */
  SUN4V_SPARC_BR_COMPLETED = 0x201,
  /* Branches taken. `Br_taken`. */
  SUN4V_SPARC_BR_TAKEN = 0x202,
  /* Floating-point and graphics arithmetic instructions. `Instr_FGU_arithmetic`. */
  SUN4V_SPARC_INSTR_FGU_ARITHMETIC = 0x204,
  /* Load instructions, among them atomics, prefetches, and reads of ASRs and privileged registers (rd, rdpr). `Instr_ld`. */
  SUN4V_SPARC_INSTR_LD = 0x208,
  /* Store instructions, among them atomics, and writes of ASRs and privileged registers (wr, wrpr). `Instr_st`. */
  SUN4V_SPARC_INSTR_ST = 0x210,
  /* Software count instructions (`sethi %hi(fc000), %g0`). `Instr_sw`. */
  SUN4V_SPARC_INSTR_SW = 0x220,
  /* All other instructions. `Instr_other`. */
  SUN4V_SPARC_INSTR_OTHER = 0x240,
  /* Atomic instructions, which are loads and stores too. `Atomics`. */
  SUN4V_SPARC_ATOMICS = 0x280,
  /* All instructions. `Instr_cnt`. */
  SUN4V_SPARC_INSTR_CNT = 0x2fd,
  /* Misses of the instruction cache. `IC_miss`. */
  SUN4V_SPARC_IC_MISS = 0x301,
  /* Misses of the data cache, by loads. `DC_miss`. */
  SUN4V_SPARC_DC_MISS = 0x302,
  /* L2 misses of instruction fetches, as PERF_CONFIG selects them. `L2_imiss`. */
  SUN4V_SPARC_L2_IMISS = 0x310,
  /* L2 misses of loads, but not of atomics, as PERF_CONFIG selects them. `L2_dmiss_ld`. */
  SUN4V_SPARC_L2_DMISS_LD = 0x320,
  /* Hardware tablewalks for instructions that asked the L2. `ITLB_HWTW_ref_L2`. */
  SUN4V_SPARC_ITLB_HWTW_REF_L2 = 0x404,
  /* Hardware tablewalks for data that asked the L2. `DTLB_HWTW_ref_L2`. */
  SUN4V_SPARC_DTLB_HWTW_REF_L2 = 0x408,
  /* Hardware tablewalks for instructions that missed the L2. `ITLB_HWTW_miss_L2`. */
  SUN4V_SPARC_ITLB_HWTW_MISS_L2 = 0x410,
  /* Hardware tablewalks for data that missed the L2. `DTLB_HWTW_miss_L2`. */
  SUN4V_SPARC_DTLB_HWTW_MISS_L2 = 0x420,
  /* Loads of the stream processing unit sent to the crossbar. `Stream_ld_to_PCX`. */
  SUN4V_SPARC_STREAM_LD_TO_PCX = 0x501,
  /* Stores of the stream processing unit sent to the crossbar. `Stream_st_to_PCX`. */
  SUN4V_SPARC_STREAM_ST_TO_PCX = 0x502,
  /* Loads sent to the crossbar. `CPU_ld_to_PCX`. */
  SUN4V_SPARC_CPU_LD_TO_PCX = 0x504,
  /* Instruction fetches sent to the crossbar. `CPU_ifetch_to_PCX`. */
  SUN4V_SPARC_CPU_IFETCH_TO_PCX = 0x508,
  /* Stores sent to the crossbar. `CPU_st_to_PCX`. */
  SUN4V_SPARC_CPU_ST_TO_PCX = 0x510,
  /* Loads of the memory management unit sent to the crossbar. `MMU_ld_to_PCX`. */
  SUN4V_SPARC_MMU_LD_TO_PCX = 0x520,
  /* DES and triple DES operations. `DES_3DES_op`. */
  SUN4V_SPARC_DES_3DES_OP = 0x601,
  /* AES operations. `AES_op`. */
  SUN4V_SPARC_AES_OP = 0x602,
  /* RC4 operations. `RC4_op`. */
  SUN4V_SPARC_RC4_OP = 0x604,
  /* Hash operations. `MD5_SHA-1_SHA-256_op`. */
  SUN4V_SPARC_MD5_SHA_1_SHA_256_OP = 0x608,
  /* Modular arithmetic operations. `MA_op`. */
  SUN4V_SPARC_MA_OP = 0x610,
  /* Operations of the CRC unit, which is one for all checksums. `CRC_TCPIP_cksum`. */
  SUN4V_SPARC_CRC_TCPIP_CKSUM = 0x620,
  /* Cycles in which the DES unit is busy. `DES_3DES_busy_cycle`. */
  SUN4V_SPARC_DES_3DES_BUSY_CYCLE = 0x701,
  /* Cycles in which the AES unit is busy. `AES_busy_cycle`. */
  SUN4V_SPARC_AES_BUSY_CYCLE = 0x702,
  /* Cycles in which the RC4 unit is busy. `RC4_busy_cycle`. */
  SUN4V_SPARC_RC4_BUSY_CYCLE = 0x704,
  /* Cycles in which the hash unit is busy. `MD5_SHA-1_SHA-256_busy_cycle`. */
  SUN4V_SPARC_MD5_SHA_1_SHA_256_BUSY_CYCLE = 0x708,
  /* Cycles in which the modular arithmetic unit is busy. `MA_busy_cycle`. */
  SUN4V_SPARC_MA_BUSY_CYCLE = 0x710,
  /* Cycles in which the CRC unit is busy. `CRC_MPA_cksum`. */
  SUN4V_SPARC_CRC_MPA_CKSUM = 0x720,
  /* Misses of the instruction TLB, also of instructions that are flushed. `ITLB_miss`. */
  SUN4V_SPARC_ITLB_MISS = 0xb04,
  /* Misses of the data TLB, also of instructions that are flushed. `DTLB_miss`. */
  SUN4V_SPARC_DTLB_MISS = 0xb08,
  /* Misses of both TLBs, also of instructions that are flushed. `TLB_miss`. */
  SUN4V_SPARC_TLB_MISS = 0xb0c,
};

/* Events of the DRAM counters (FWARC/2007/529 section 2.2). */
enum sun4v_dram_event {
  /* Reads. `mem_reads`. */
  SUN4V_DRAM_MEM_READS = 0x0,
  /* Writes. `mem_writes`. */
  SUN4V_DRAM_MEM_WRITES = 0x1,
  /* Reads and writes. `mem_read_write`. */
  SUN4V_DRAM_MEM_READ_WRITE = 0x2,
  /* Stalls because a bank is busy, on the UltraSPARC T2. Solaris does not name it, and what the T2 Plus counts is unknown. `bank_busy_stall`. */
  SUN4V_DRAM_BANK_BUSY_STALL = 0x3,
  /* Entries of the read queue, added up every cycle. `rd_queue_latency`. */
  SUN4V_DRAM_RD_QUEUE_LATENCY = 0x4,
  /* Entries of the write queue, added up every cycle. `wr_queue_latency`. */
  SUN4V_DRAM_WR_QUEUE_LATENCY = 0x5,
  /* Entries of both queues, added up every cycle. `rw_queue_latency`. */
  SUN4V_DRAM_RW_QUEUE_LATENCY = 0x6,
  /* Reads that meet a write of their line in the write queue, and are held back for it. `wb_buf_hits`. */
  SUN4V_DRAM_WB_BUF_HITS = 0x7,
};

/* Events of a link port unit (FWARC/2007/529 section 2.4). X, Y and Z are the three other ports of the hub. */
enum sun4v_lpu_event {
  /* Nothing. `none`. */
  SUN4V_LPU_NONE = 0x0,
  /* Clock cycles. `clock_cycles`. */
  SUN4V_LPU_CLOCK_CYCLES = 0x1,
  /* Cache-to-cache transfers by way of port X. `cycles_c2c_portX`. */
  SUN4V_LPU_CYCLES_C2C_PORTX = 0x2,
  /* Memory accesses by way of port X. `cycles_mem_portX`. */
  SUN4V_LPU_CYCLES_MEM_PORTX = 0x3,
  /* Write-backs by way of port X. `cycles_WB_portX`. */
  SUN4V_LPU_CYCLES_WB_PORTX = 0x4,
  /* Non-cacheable accesses by way of port X. `cycles_NC_portX`. */
  SUN4V_LPU_CYCLES_NC_PORTX = 0x5,
  /* Cache-to-cache transfers by way of port Y. `cycles_c2c_portY`. */
  SUN4V_LPU_CYCLES_C2C_PORTY = 0x6,
  /* Memory accesses by way of port Y. `cycles_mem_portY`. */
  SUN4V_LPU_CYCLES_MEM_PORTY = 0x7,
  /* Write-backs by way of port Y. `cycles_WB_portY`. */
  SUN4V_LPU_CYCLES_WB_PORTY = 0x8,
  /* Non-cacheable accesses by way of port Y. `cycles_NC_portY`. */
  SUN4V_LPU_CYCLES_NC_PORTY = 0x9,
  /* Cache-to-cache transfers by way of port Z. `cycles_c2c_portZ`. */
  SUN4V_LPU_CYCLES_C2C_PORTZ = 0xa,
  /* Memory accesses by way of port Z. `cycles_mem_portZ`. */
  SUN4V_LPU_CYCLES_MEM_PORTZ = 0xb,
  /* Write-backs by way of port Z. `cycles_WB_portZ`. */
  SUN4V_LPU_CYCLES_WB_PORTZ = 0xc,
  /* Non-cacheable accesses by way of port Z. `cycles_NC_portZ`. */
  SUN4V_LPU_CYCLES_NC_PORTZ = 0xd,
  /* Transaction ids held by write-backs. `cycles_TID_WB`. */
  SUN4V_LPU_CYCLES_TID_WB = 0xe,
  /* Transaction ids held by invalidations. `cycles_TID_INV`. */
  SUN4V_LPU_CYCLES_TID_INV = 0xf,
  /* Transaction ids held by reads to discard. `cycles_TID_RTD`. */
  SUN4V_LPU_CYCLES_TID_RTD = 0x10,
  /* Transaction ids held by reads to own. `cycles_TID_RTO`. */
  SUN4V_LPU_CYCLES_TID_RTO = 0x11,
  /* Transaction ids held by reads to share. `cycles_TID_RTS`. */
  SUN4V_LPU_CYCLES_TID_RTS = 0x12,
  /* Merged writes of the input and output system. `cycles_IO_WRM`. */
  SUN4V_LPU_CYCLES_IO_WRM = 0x13,
  /* Reads of the input and output system. `cycles_IO_RD`. */
  SUN4V_LPU_CYCLES_IO_RD = 0x14,
  /* Write-backs sent to the node. `cycles_WB_egress`. */
  SUN4V_LPU_CYCLES_WB_EGRESS = 0x15,
  /* Invalidations sent to the node. `cycles_INV_egress`. */
  SUN4V_LPU_CYCLES_INV_EGRESS = 0x16,
  /* Reads to own sent to the node. `cycles_RTO_egress`. */
  SUN4V_LPU_CYCLES_RTO_EGRESS = 0x17,
  /* Reads to discard sent to the node. `cycles_RTD_egress`. */
  SUN4V_LPU_CYCLES_RTD_EGRESS = 0x18,
  /* Reads to share sent to the node. `cycles_RTS_egress`. */
  SUN4V_LPU_CYCLES_RTS_EGRESS = 0x19,
  /* Cycles without a write-back. `cycles_no_WB`. */
  SUN4V_LPU_CYCLES_NO_WB = 0x1a,
  /* Cycles without a read or an invalidation. `cycles_no_read/inv`. */
  SUN4V_LPU_CYCLES_NO_READ_INV = 0x1b,
  /* Snoops that found the line modified. `cycles_HIT_M`. */
  SUN4V_LPU_CYCLES_HIT_M = 0x1c,
  /* Snoops that found the line owned. `cycles_HIT_O`. */
  SUN4V_LPU_CYCLES_HIT_O = 0x1d,
  /* Snoops that found the line shared. `cycles_HIT_S`. */
  SUN4V_LPU_CYCLES_HIT_S = 0x1e,
  /* Snoops that found the line in a write-back to memory. `cycles_WB_HIT`. */
  SUN4V_LPU_CYCLES_WB_HIT = 0x1f,
  /* Snoops that missed. `cycles_MISS`. */
  SUN4V_LPU_CYCLES_MISS = 0x20,
  /* Reads and invalidations received from the node. `cycles_READ_or_INV`. */
  SUN4V_LPU_CYCLES_READ_OR_INV = 0x21,
  /* Write-backs received from the node. `cycles_WB`. */
  SUN4V_LPU_CYCLES_WB = 0x22,
  /* Replies without data. `cycles_NDR`. */
  SUN4V_LPU_CYCLES_NDR = 0x23,
  /* Requests of the node that no other cache could serve. `cycles_cache_miss`. */
  SUN4V_LPU_CYCLES_CACHE_MISS = 0x24,
  /* Requests of the node that another cache served. `cycles_cache_hit`. */
  SUN4V_LPU_CYCLES_CACHE_HIT = 0x25,
  /* CRC errors of the link. `cycles_CRC_errors`. */
  SUN4V_LPU_CYCLES_CRC_ERRORS = 0x26,
  /* Link replies sent. `cycles_replys_sent`. */
  SUN4V_LPU_CYCLES_REPLYS_SENT = 0x27,
  /* Link replies received. `cycles_replys_recev`. */
  SUN4V_LPU_CYCLES_REPLYS_RECEV = 0x28,
  /* Link retrainings. `cycles_link_retrain`. */
  SUN4V_LPU_CYCLES_LINK_RETRAIN = 0x29,
};

/* Events of the general purpose design block of a hub (FWARC/2007/529 section 2.5). */
enum sun4v_gpd_event {
  /* Nothing. `none`. */
  SUN4V_GPD_NONE = 0x0,
  /* Clock cycles. `clock_cycles`. */
  SUN4V_GPD_CLOCK_CYCLES = 0x1,
};

/* Events of the address serialization unit of a hub (FWARC/2007/529 section 2.6). */
enum sun4v_asu_event {
  /* Nothing. `none`. */
  SUN4V_ASU_NONE = 0x0,
  /* Clock cycles. `clock_cycles`. */
  SUN4V_ASU_CLOCK_CYCLES = 0x1,
  /* Packets in. `asu_in_pck`. */
  SUN4V_ASU_IN_PCK = 0x2,
  /* Packets out. `asu_out_pck`. */
  SUN4V_ASU_OUT_PCK = 0x3,
  /* Hits of the CAM of addresses in flight. `asu_CAM_hit`. */
  SUN4V_ASU_CAM_HIT = 0x4,
  /* Wake-ups of requests that waited for an address. `asu_wakeup`. */
  SUN4V_ASU_WAKEUP = 0x5,
};

/* Functions that return a register number return this value if the register does not exist. */
#define SUN4V_NO_REG 0xffffffffffffffffull

/*
 How calls reach the hypervisor: through `trap`, which makes or simulates the trap. If `trap` or the pointer to this structure is
 NULL, calls make the real trap on SPARC V9; on other machines they return EBADTRAP.
 */
struct sun4v_transport {
  /*
   Makes trap `trap_number` (0x80 or 0xff) with `regs[0]` to `regs[5]` in %o0 to %o5, and stores the values after
   the trap in `regs`.
   */
  void (*trap)(void *context, uint64_t trap_number, uint64_t *regs);
  /* The first argument of `trap`. */
  void *context;
};

/* A version of an API group; 0.0 stands for "not negotiated". */
struct sun4v_version {
  /* Versions with different major numbers are incompatible. */
  uint64_t major;
  /* A higher minor number only adds calls and registers. */
  uint64_t minor;
};

/* The result of a probe. Bit n of each member stands for unit n of `enum sun4v_unit`. */
struct sun4v_present {
  /* The unit exists: the status was neither EINVAL nor ENOTSUPPORTED. */
  uint32_t units;
  /* The unit exists, but the guest may not use it, or it is out of service: ENOACCESS. */
  uint32_t refused;
  /* The unit exists, but its hub was taken at that moment: EWOULDBLOCK. */
  uint32_t busy;
  /* Another status, which says nothing about the unit. illumos treats the unit as present. */
  uint32_t unclear;
};

/* A 64-bit count from a narrower counter. If the counter holds 0, start with both members 0. */
struct sun4v_count {
  /* The events since the counter was first read. */
  uint64_t events;
  /* The value of the counter at the last read or write; a DRAM counter has its flag in bit 31. */
  uint64_t last;
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 Makes trap 0x80 or 0xff with `regs[0]` to `regs[5]` in %o0 to %o5 (the function number is in
 %o5), and stores the values after the trap in `regs`. Does nothing for another trap number or if
 `regs` is NULL. The caller is responsible for the effects of the call.
 */
void sun4v_trap(const struct sun4v_transport *transport, uint64_t trap_number, uint64_t *regs);

/*
 CORE: requests a version of an API group for the whole guest. The hypervisor may grant a lower
 minor number. Major 0 releases the group.
 */
uint64_t sun4v_api_set_version(const struct sun4v_transport *transport,
                               uint64_t group,
                               uint64_t major,
                               uint64_t minor,
                               uint64_t *granted_minor);

/* CORE: stores the negotiated version of an API group; 0.0 if the group is not negotiated. */
uint64_t sun4v_api_get_version(const struct sun4v_transport *transport, uint64_t group, struct sun4v_version *version);

/* CORE: writes one character to the guest's console. */
uint64_t sun4v_cons_putchar(const struct sun4v_transport *transport, uint8_t character);

/* CORE: sends a break to the guest's console. */
uint64_t sun4v_cons_break(const struct sun4v_transport *transport);

/* CORE: stops the guest, with an exit code. Returns only if the call is refused or simulated. */
uint64_t sun4v_exit(const struct sun4v_transport *transport, uint64_t code);

/*
 Negotiates group 0x205 for the whole guest. Returns EINVAL for major 0, without a call. If the hypervisor grants a higher
 minor number than `minor`, releases the group and returns ENOTSUPPORTED.
 */
uint64_t sun4v_perf_negotiate(const struct sun4v_transport *transport,
                              uint64_t major,
                              uint64_t minor,
                              struct sun4v_version *granted);

/* Negotiates version 1.1 of group 0x205, or 1.0 if the hypervisor refuses 1.1. */
uint64_t sun4v_perf_negotiate_best(const struct sun4v_transport *transport, struct sun4v_version *granted);

/* Releases group 0x205 for the whole guest. The counters keep their values. */
uint64_t sun4v_perf_release(const struct sun4v_transport *transport);

/*
 Reads a performance register. Returns EBADTRAP without negotiation, EINVAL beyond register 89,
 ENOTSUPPORTED if this version or machine does not have the register, ENOACCESS if the guest may
 not use it or its unit is out of service, EWOULDBLOCK if its hub is busy at the moment. A strand
 that asks at least once in half a millisecond is served after at most one access of each other strand.
 */
uint64_t sun4v_perf_get(const struct sun4v_transport *transport, uint64_t reg, uint64_t *value);

/*
 Writes a performance register. The service drops the bits that a guest cannot write. Returns the same statuses as
 `sun4v_perf_get`; also ENOACCESS if the guest sets HT without the right to do so.
 */
uint64_t sun4v_perf_set(const struct sun4v_transport *transport, uint64_t reg, uint64_t value);

/* Calls `sun4v_perf_get` until the status is not EWOULDBLOCK, at most `tries` times (0 means 1). */
uint64_t sun4v_perf_get_retrying(const struct sun4v_transport *transport,
                                 uint64_t reg,
                                 uint32_t tries,
                                 uint64_t *value);

/* Calls `sun4v_perf_set` until the status is not EWOULDBLOCK, at most `tries` times (0 means 1). */
uint64_t sun4v_perf_set_retrying(const struct sun4v_transport *transport, uint64_t reg, uint32_t tries, uint64_t value);

/* Finds the units that exist: reads the control register of each, in 32 calls. Returns EBADTRAP without negotiation. */
uint64_t sun4v_perf_probe(const struct sun4v_transport *transport, struct sun4v_present *present);

/* Reads register 1: which L2 misses are counted on the caller's node, as one of `enum sun4v_perf_config`. */
uint64_t sun4v_perf_config(const struct sun4v_transport *transport, uint64_t *config);

/*
 Writes register 1: selects which L2 misses are counted by the strands on the caller's node. Returns EINVAL for a value
 above 3, without a call.
 */
uint64_t sun4v_set_perf_config(const struct sun4v_transport *transport, uint64_t config);

/*
 Selects the event of counter 0 or 1 of a unit: reads the control register, replaces this event, and writes the register. Returns
 EINVAL for a unit or counter that does not exist, without a call.
 */
uint64_t sun4v_unit_select(const struct sun4v_transport *transport,
                           uint32_t unit,
                           uint32_t counter,
                           uint64_t event);

/* Returns the control register of a unit; SUN4V_NO_REG if the unit does not exist. */
uint64_t sun4v_unit_pcr(uint32_t unit);

/* Returns the register that holds counter 0 or 1 of a unit; SUN4V_NO_REG if the unit or the counter does not exist. */
uint64_t sun4v_unit_pic(uint32_t unit, uint32_t counter);

/*
 Returns `pcr`, the value of a unit's control register, with `event` for counter 0 or 1. Returns
 `pcr` unchanged for a unit or counter that does not exist.
 */
uint64_t sun4v_unit_pcr_with(uint32_t unit, uint64_t pcr, uint32_t counter, uint64_t event);

/* Returns the event of counter 0 or 1 in a unit's control register; 0 for a unit or a counter that does not exist. */
uint64_t sun4v_unit_pcr_event(uint32_t unit, uint64_t pcr, uint32_t counter);

/*
 Returns `pcr`, the value of the strand's PCR, with `event` (SL in bits 11:8, MASK in bits 7:0)
 for counter 0 or 1. To count one event only, begin with SUN4V_SPARC_PCR_OFF.
 */
uint64_t sun4v_sparc_pcr_with(uint64_t pcr, uint32_t counter, uint64_t event);

/* Returns `pcr`, the value of the strand's PCR, with counter 0 or 1 off: it neither counts nor traps. */
uint64_t sun4v_sparc_pcr_without(uint64_t pcr, uint32_t counter);

/* Returns the value of a DRAM PIC with the counts `pic0` and `pic1`, of 31 bits each, and both flags clear. */
uint64_t sun4v_dram_pic(uint32_t pic0, uint32_t pic1);

/* Returns counter 0 or 1 of a DRAM PIC, without its flag; 0 for another counter. */
uint32_t sun4v_dram_pic_counter(uint64_t pic, uint32_t counter);

/* Returns counter 0 or 1 of a SPARC PIC; 0 for another counter. */
uint32_t sun4v_sparc_pic_counter(uint64_t pic, uint32_t counter);

/*
 Returns counter 0 or 1 of a DRAM PIC with its flag in bit 31, in the form that
 `sun4v_dram_count` expects; 0 for another counter.
 */
uint32_t sun4v_dram_pic_raw(uint64_t pic, uint32_t counter);

/*
 Updates a count from the present value of its DRAM counter (31 bits, flag in bit 31), and returns the count. The count is right
 if fewer than 2^31 events happened since the last call. If the flag was clear at the last call, the count is right unless the
 counter has wrapped twice. Returns 0 for NULL.
 */
uint64_t sun4v_dram_count(struct sun4v_count *count,
                          uint32_t raw);

/*
 Updates a count from the present value of its %pic counter (32 bits), and returns the count. The
 count is right if fewer than 2^32 events happened since the last call. Returns 0 for NULL.
 */
uint64_t sun4v_strand_count(struct sun4v_count *count, uint32_t raw);

/*
 Returns the longest safe interval between two reads of a DRAM counter, in ticks. Assumes at most
 `events` events in any `ticks` ticks. Returns 0 if either argument is 0.
 */
uint64_t sun4v_dram_longest_interval(uint32_t events, uint32_t ticks);

/* Returns the longest safe interval between two reads of a counter of a strand's %pic: see `sun4v_dram_longest_interval`. */
uint64_t sun4v_strand_longest_interval(uint32_t events, uint32_t ticks);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SUN4V_PERF_H */
