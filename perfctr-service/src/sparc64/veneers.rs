//! The veneers: they keep what is the guest's, find out which register is meant, and call a leaf function.
//!
//! %g6 is the strand's block, and %g7 the guest's %o7. Compiled code uses neither.

/// Puts the trap table and everything else that an image needs below Rust into it; once. The type is the image's
/// `platform::sparc64::TrapHandler`, whose `Context` is the [`PerfCounterContext`](crate::PerfCounterContext) of the strand.
///
/// `claims` lists the software traps (0x81 to 0xfe) that the image serves itself: see `platform::sun4v_image!`. All others answer
/// EBADTRAP.
///
/// ```ignore
/// perfctr_service::sun4v_image!(Handler);
/// perfctr_service::sun4v_image!(Handler, claims: [0x83, 0x84]);
/// ```
///
/// See [`sparc64`](crate::sparc64) for a whole image, and `platform::sun4v_image!` for what the linker script defines and
/// how the guest begins.
#[macro_export]
macro_rules! sun4v_image {
    ($handler:ty $(, claims: [$($claimed:literal),* $(,)?])? $(,)?) => {
        $crate::sparc64::platform::sun4v_image! {
            $handler,
            claims: [$($($claimed),*)?],
            entry: {
                "xor %o5, {GET}, %g2",
                "brz,pt %g2, sun4v_get",
                " mov %o7, %g7",
                "ba,a,pt %xcc, sun4v_not_get",
            },
            operands: { GET = const $crate::sparc64::layout::GET },
            waits: ["sun4v_set_hub_stored", "sun4v_set_hub_wait"],
        }
        $crate::sun4v_veneers!(
            <$handler as $crate::sparc64::platform::sparc64::TrapHandler>::Context
        );
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! sun4v_veneers {
    ($context:ty) => {
        ::core::arch::global_asm!(
            "
            .section .text.traps, \"ax\"
    sun4v_get:
            brz,pn %o0, sun4v_get_pcr
             stx %o4, [%g6 + {O4}]
            cmp %o0, {FIRST_OF_HUB}
            bgeu,pn %xcc, sun4v_get_hub
             stx %o0, [%g6 + {O0}]
            stx %o1, [%g6 + {O1}]
            call {get}
             ldx [%g6 + {CONTEXT}], %o4
            brnz,pn %o0, sun4v_get_refused
             mov %g7, %o7
            ldx [%g6 + {O4}], %o4
            mov {GET}, %o5
            done
    sun4v_get_hub:
            stx %o1, [%g6 + {O1}]
            call {get_hub}
             ldx [%g6 + {CONTEXT}], %o4
            brnz,pn %o0, sun4v_get_refused
             mov %g7, %o7
            ldx [%g6 + {O4}], %o4
            mov {GET}, %o5
            done
    sun4v_get_refused:
            ldx [%g6 + {O1}], %o1
            ldx [%g6 + {O4}], %o4
            cmp %o0, {FAST}
            bgeu,pt %xcc, 1f
             mov {GET}, %o5
            done
    1:      mov %o0, %g5
            ba,pt %xcc, sun4v_general
             ldx [%g6 + {O0}], %o0

    sun4v_not_get:
            xor %g2, {GET_TO_SET}, %g2
            brnz,pn %g2, sun4v_fast
             stx %o4, [%g6 + {O4}]
            brz,pn %o0, sun4v_set_pcr
             stx %o1, [%g6 + {O1}]
            cmp %o0, {FIRST_OF_HUB}
            bgeu,pn %xcc, sun4v_set_hub
             stx %o0, [%g6 + {O0}]
            call {set}
             ldx [%g6 + {CONTEXT}], %o4
            brnz,pn %o0, sun4v_set_refused
             mov %g7, %o7
            ldx [%g6 + {O4}], %o4
            mov {SET}, %o5
            done
    sun4v_set_hub:
            stx %o2, [%g6 + {O2}]
            call {set_hub}
             ldx [%g6 + {CONTEXT}], %o4
            .globl sun4v_set_hub_stored, sun4v_set_hub_wait
    sun4v_set_hub_stored:                       ! if the store faults here, set_hub returns once more, with FAULTED
            brz,a,pt %o0, 1f
    sun4v_set_hub_wait:                         ! and here
             membar 0x40                        ! #Sync: the store is complete before the hub is released
            ba,a,pt %xcc, sun4v_set_hub_refused
    1:      call {release_hub}
             ldx [%g6 + {CONTEXT}], %o4
            ldx [%g6 + {O2}], %o2
            mov %g7, %o7
            ldx [%g6 + {O4}], %o4
            mov {SET}, %o5
            done
    sun4v_set_hub_refused:
            ldx [%g6 + {O2}], %o2
            mov %g7, %o7
    sun4v_set_refused:
            ldx [%g6 + {O1}], %o1
            ldx [%g6 + {O4}], %o4
            cmp %o0, {FAST}
            bgeu,pt %xcc, 1f
             mov {SET}, %o5
            done
    1:      mov %o0, %g5
            ba,pt %xcc, sun4v_general
             ldx [%g6 + {O0}], %o0

    sun4v_get_pcr:
            call {get_pcr}
             ldx [%g6 + {CONTEXT}], %o4
            brnz,pn %o0, sun4v_get_pcr_refused
             mov %g7, %o7
            ",
            $crate::sparc64::platform::sun4v_read_pcr!(),
            "
            ldx [%g6 + {O4}], %o4
            mov {GET}, %o5
            done
    sun4v_get_pcr_refused:
            ldx [%g6 + {O4}], %o4
            cmp %o0, {FAST}
            bgeu,pt %xcc, 1f
             mov {GET}, %o5
            done
    1:      mov %o0, %g5
            ba,pt %xcc, sun4v_general
             clr %o0

    sun4v_set_pcr:
            call {set_pcr}
             ldx [%g6 + {CONTEXT}], %o4
            brnz,pn %o0, sun4v_set_pcr_refused
             mov %g7, %o7
            ",
            $crate::sparc64::platform::sun4v_write_pcr!(),
            "
            ldx [%g6 + {O1}], %o1
            ldx [%g6 + {O4}], %o4
            mov {SET}, %o5
            done
    sun4v_set_pcr_refused:
            ba,pt %xcc, sun4v_set_refused
             stx %g0, [%g6 + {O0}]
            ",
            GET = const $crate::sparc64::layout::GET,
            SET = const $crate::sparc64::layout::SET,
            GET_TO_SET = const $crate::sparc64::layout::GET_TO_SET,
            FIRST_OF_HUB = const $crate::sparc64::layout::FIRST_OF_HUB,
            FAST = const $crate::sparc64::layout::FAST,
            CONTEXT = const $crate::sparc64::layout::CONTEXT,
            PCR = const $crate::sparc64::layout::PCR,
            O0 = const $crate::sparc64::layout::O0,
            O1 = const $crate::sparc64::layout::O0 + 8,
            O2 = const $crate::sparc64::layout::O0 + 16,
            O4 = const $crate::sparc64::layout::O0 + 32,
            get = sym <$context as $crate::sparc64::Leaf>::get,
            set = sym <$context as $crate::sparc64::Leaf>::set,
            get_hub = sym <$context as $crate::sparc64::Leaf>::get_hub,
            set_hub = sym <$context as $crate::sparc64::Leaf>::set_hub,
            release_hub = sym <$context as $crate::sparc64::Leaf>::release_hub,
            get_pcr = sym <$context as $crate::sparc64::Leaf>::get_pcr,
            set_pcr = sym <$context as $crate::sparc64::Leaf>::set_pcr,
        );
    };
}
