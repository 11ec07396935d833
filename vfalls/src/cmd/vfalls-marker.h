/*
 * Markers for regions of vfalls: VFALLS_MARKER(frame) in a program is the point marker:frame of --from, --to, --phase and --warm-up.
 *
 * A marker is a no-op, and a symbol of its address. It works in C and C++, with gcc and clang, for x86-64 and SPARC V9, in inlined
 * functions, and in libraries. The compiler moves no access to memory across a marker. A stripped program has no markers.
 */
#ifndef VFALLS_MARKER_H
#define VFALLS_MARKER_H

/* A compiler can copy the no-op to several places. %= is another number in each of them. */
#define VFALLS_MARKER(name) __asm__ __volatile__("vfalls_marker_" #name ".%=: nop" : : : "memory")

#endif
