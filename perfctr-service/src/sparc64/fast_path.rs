//! The fast path in assembly. It serves calls that succeed, and refuses calls that ask for something that the guest cannot have.
//!
//! It executes at the highest GL and uses %g1 to %g5. It changes none of the guest's registers except %o0 and, if a read succeeds, %o1. %g6
//! is the strand's block, which starts with `FastPath::words`. All other calls go to the slow path: calls that set HT and are allowed to,
//! the first refusal at a hub, traced calls, and calls while the guest's rights change.
//!
//! # Refusals
//! A call that the guest's first word does not allow is refused if the second word (`RefusalWord`) says so and is for the negotiated
//! version. The version is loaded before the second word, as on the slow path. While calls are traced, the second word refuses no call. A
//! repeated call for a taken hub is refused as well (`HubArbiter::ask`).
//!
//! # Order
//! `platform::sparc64::PSTATE` gives the strand total store order: no access overtakes an earlier load or an earlier atomic, and no store
//! overtakes an earlier store to memory. Therefore no barrier is needed
//! - between the load of the guest's word, or the exchange that takes a hub, and the access;
//! - between a load from a hub and the store that releases the hub (compiled code has a `membar` for a store that releases);
//! - after the store that releases the hub: the next strand that takes the hub finds refused strands by the same exchange.
//!
//! Stores to a device and to memory are not ordered: code that writes a hub or L2 control has `membar #Sync` before the store that
//! releases it.
//!
//! # Faults
//! The section `.sun4v.faults` lists the instructions that may fault. After a fault the slow path releases the hub and serves the call.

/// Adds the trap table and everything else that an image needs below its Rust code. An image uses it once, with its type that implements
/// `platform::sparc64::TrapHandler`, whose `Context` is the strand's [`PerfCounterContext`](crate::PerfCounterContext).
///
/// `strands` is the number of strands, by default 1; `claims` lists software traps as in `platform::sun4v_image!`.
///
/// ```ignore
/// perfctr_service::sun4v_image!(Handler);
/// perfctr_service::sun4v_image!(Handler, strands: 256, claims: [0x83, 0x84]);
/// ```
///
/// See [`sparc64`](crate::sparc64) for a whole image, and `platform::sun4v_image!` for the linker script and the guest's start.
#[macro_export]
macro_rules! sun4v_image {
    ($handler:ty $(, strands: $strands:expr)? $(, claims: [$($claimed:literal),* $(,)?])? $(,)?) => {
        $crate::sparc64::platform::sun4v_image! {
            $handler,
            $(strands: $strands,)?
            claims: [$($($claimed),*)?],
            entry: {
                "xor %o5, {GET}, %g2            ! function",
                "brz,pt %g2, perfctr_get        ! function",
                " ldx [%g6 + {ACCESS}], %g5     ! rights",
                "ba,a,pt %xcc, perfctr_not_get  ! function",
            },
            operands: {
                GET = const $crate::sparc64::layout::GET,
                ACCESS = const $crate::sparc64::layout::ACCESS,
            },
        }
        $crate::perfctr_fast_path!();
    };
}

/// Assembles text whose operands are the named numbers of [`layout`](super::layout).
#[doc(hidden)]
#[macro_export]
macro_rules! perfctr_asm {
    ([$($text:expr),* $(,)?], [$($name:ident)*]) => {
        ::core::arch::global_asm!($($text,)* $($name = const $crate::sparc64::layout::$name,)*);
    };
}

/// The fast path. Each instruction's comment names its purpose in a call that succeeds.
#[doc(hidden)]
#[macro_export]
macro_rules! perfctr_fast_path {
    () => {
        $crate::perfctr_asm!(
            ["
            .section .text.traps.fast, \"ax\"
            .globl perfctr_get, perfctr_end
    perfctr_get:
            brz,pn %o0, perfctr_get_pcr         ! kind
             ldx [%g5], %g4                     ! rights
            cmp %o0, {FIRST_OF_HUB}             ! kind
            bgeu,pn %xcc, perfctr_get_hub       ! kind
             sllx %o0, {ROW_SHIFT}, %g3         ! address
            sllx %g4, %o0, %g4                  ! rights
            brgez,pn %g4, perfctr_get_missed    ! rights
             ldx [%g6 + {ROWS}], %g1            ! address
            ldx [%g1 + %g3], %g1                ! address
            .globl perfctr_load_dram
    perfctr_load_dram:
            ldx [%g1], %o1                      ! access
    20:
            ldx [%g6 + {COUNTS}], %g1           ! count
            ldx [%g1 + {GET_DRAM}], %g4         ! count
            inc %g4                             ! count
            stx %g4, [%g1 + {GET_DRAM}]         ! count
            clr %o0                             ! return
            done                                ! return

    perfctr_get_pcr:
            brgez,pn %g4, perfctr_get_pcr_missed ! rights
             ldx [%g6 + {COUNTS}], %g1          ! count
            ldx [%g1 + {GET_STRAND}], %g4       ! count
            ",
            $crate::sparc64::platform::sun4v_pcr!(read), // access
            "
            inc %g4                             ! count
            stx %g4, [%g1 + {GET_STRAND}]       ! count
            done                                ! return (%o0 is 0, EOK)

    perfctr_get_hub:
    21:
            cmp %o0, {REGISTERS}                ! kind
            bgeu,pn %xcc, perfctr_get_unknown   ! kind
             ldx [%g6 + {ROWS}], %g1            ! address
            add %g1, %g3, %g1                   ! address
            ldx [%g1 + {PLACE}], %g3            ! rights
            sllx %g4, %g3, %g4                  ! rights
            brgez,pn %g4, perfctr_get_hub_missed ! rights
             sllx %g3, {PLACE_SHIFT}, %g4       ! hub
            ldx [%g6 + %g4], %g3                ! hub
            ldx [%g6 + {TOKEN}], %g4            ! hub
            casx [%g3], %g0, %g4                ! hub
            brnz,pn %g4, perfctr_blocked        ! hub
             ldx [%g1], %g1                     ! address
    perfctr_load_hub:
            ldx [%g1], %o1                      ! access
    22:
            stw %g0, [%g3]                      ! hub
            ldx [%g6 + {COUNTS}], %g1           ! count
            ldx [%g1 + {GET_HUB}], %g4          ! count
            inc %g4                             ! count
            stx %g4, [%g1 + {GET_HUB}]          ! count
            clr %o0                             ! return
            done                                ! return

    perfctr_not_get:
    23:
            xor %g2, {GET_TO_SET}, %g3          ! function
            brz,a,pt %g3, perfctr_set           ! function
             ldx [%g5], %g4                     ! rights
    27:
            ", $crate::sparc64::platform::sun4v_unclaimed!(), "

    perfctr_set:
            brz,pn %o0, perfctr_set_pcr         ! kind
             ldx [%g6 + {COUNTS}], %g1          ! count
            cmp %o0, {FIRST_OF_HUB}             ! kind
            bgeu,pn %xcc, perfctr_set_hub       ! kind
             sllx %o0, {ROW_SHIFT}, %g3         ! address
            sllx %g4, %o0, %g4                  ! rights
            brgez,pn %g4, perfctr_missed        ! rights
             ldx [%g6 + {ROWS}], %g2            ! address
            add %g2, %g3, %g2                   ! address
            ldx [%g2], %g3                      ! address
            ldx [%g2 + {MASK}], %g4             ! mask
            and %g4, %o1, %g4                   ! mask
    perfctr_store_dram:
            stx %g4, [%g3]                      ! access
            ldx [%g1 + {SET_DRAM}], %g4         ! count
            inc %g4                             ! count
            stx %g4, [%g1 + {SET_DRAM}]         ! count
            clr %o0                             ! return
    24:
            done                                ! return

    perfctr_set_pcr:                            ! sets of HT take the slow path
            sllx %o1, {HT_TO_SIGN}, %g3         ! rights
            andn %g4, %g3, %g3                  ! rights
            brgez,pn %g3, perfctr_set_pcr_missed ! rights
             ldx [%g6 + {PCR_MASK}], %g3        ! mask
            and %g3, %o1, %g3                   ! mask
            ",
            $crate::sparc64::platform::sun4v_pcr!(write), // access
            "
            ldx [%g1 + {SET_STRAND}], %g4       ! count
            inc %g4                             ! count
            stx %g4, [%g1 + {SET_STRAND}]       ! count
            done                                ! return (%o0 is 0, EOK)

    perfctr_set_hub:
    25:
            cmp %o0, {REGISTERS}                ! kind
            bgeu,pn %xcc, perfctr_unknown       ! kind
             ldx [%g6 + {ROWS}], %g2            ! address
            add %g2, %g3, %g2                   ! address
            ldx [%g2 + {PLACE}], %g3            ! rights
            sllx %g4, %g3, %g4                  ! rights
            brgez,pn %g4, perfctr_hub_missed    ! rights
             sllx %g3, {PLACE_SHIFT}, %g4       ! hub
            ldx [%g6 + %g4], %g3                ! hub
            ldx [%g6 + {TOKEN}], %g4            ! hub
            casx [%g3], %g0, %g4                ! hub
            brnz,pn %g4, perfctr_blocked        ! hub
             ldx [%g2 + {MASK}], %g5            ! mask
            ldx [%g2], %g2                      ! address
            and %g5, %o1, %g4                   ! mask
            .globl perfctr_store_hub, perfctr_wait_hub
    perfctr_store_hub:
            stx %g4, [%g2]                      ! access
    perfctr_wait_hub:
            membar 0x40                         ! wait
            stw %g0, [%g3]                      ! hub
            ldx [%g1 + {SET_HUB}], %g4          ! count
            inc %g4                             ! count
            stx %g4, [%g1 + {SET_HUB}]          ! count
            clr %o0                             ! return
    26:
            done                                ! return

    perfctr_blocked:                            ! EWOULDBLOCK, if the strand is remembered: %g3 is the gate, %g4 its two words
            brgez,pn %g4, perfctr_slow          ! not closed
             ldx [%g6 + {RESERVED}], %g1
            cmp %g4, %g1
            be,pn %xcc, perfctr_slow            ! the strand's own turn
             srlx %g3, {WATCH_SHIFT}, %g1
            ldx [%g6 + {WATCHES}], %g2
            ldx [%g1 + %g2], %g2                ! when a refusal has counted
            rd %asr24, %g1                      ! %stick
            sub %g1, %g2, %g2
            srlx %g2, {REPEAT_SHIFT}, %g2
            brnz,pn %g2, perfctr_slow           ! this one counts
             xor %o5, {GET}, %g2
            movrnz %g2, {SETS}, %g2
            ldx [%g6 + {COUNTS}], %g1
            add %g1, %g2, %g1
            ldx [%g1 + {BLOCKED}], %g4
            inc %g4
            stx %g4, [%g1 + {BLOCKED}]
            mov {EWOULDBLOCK}, %o0
            done

            ! Refusals. %g1 + SET_DRAM is the first count of the operation's calls for channels, and so on; %g5 is the address of the
            ! guest's words.

            ! Loads the refusals into %g4; `version` holds the address of the strand's version. Its last
            ! instruction is the branch that refusals of another version take. A strand without a version goes to `without`.
            .macro perfctr_refusals version, without
            lduw [\\version], \\version
            brz,pn \\version, \\without
             ldx [%g5 + {REFUSALS}], %g4
            xnor %g4, \\version, \\version
            andcc \\version, {VERSION_BITS}, %g0
            bne,pn %xcc, perfctr_slow
            .endm

            ! Ends a refusal. The first instruction is in the delay slot of a branch.
            .macro perfctr_refuse count, status
            ldx [%g1 + \\count], %g3
            inc %g3
            stx %g3, [%g1 + \\count]
            mov \\status, %o0
            done
            .endm

    perfctr_get_missed:                         ! register 1, or one of a channel
            ldx [%g6 + {COUNTS_OF_GETS}], %g1
    perfctr_missed:
            srlx %o0, 1, %g2                    ! the number of the channel, counted from 1
            brz,pn %g2, perfctr_l2
             ldx [%g6 + {VERSION}], %g3
            perfctr_refusals %g3, 1f
             sllx %g4, %g2, %g4
            brgez,pn %g4, perfctr_slow
             srlx %g4, {CHANNEL_TO_COUNT}, %g4
            and %g4, {ONE_COUNT}, %g4           ! not 0: ENOACCESS, which is counted behind ENOTSUPPORTED
            add %g1, %g4, %g1
            mov {ENOTSUPPORTED}, %o0
            movrnz %g4, {ENOACCESS}, %o0
            ldx [%g1 + {SET_DRAM} + {NOT_SUPPORTED}], %g3
            inc %g3
            stx %g3, [%g1 + {SET_DRAM} + {NOT_SUPPORTED}]
            done
    1:      brgez,pn %g4, perfctr_slow
            perfctr_refuse {SET_DRAM}+{BAD_TRAP}, {EBADTRAP}

    perfctr_l2:
            sllx %g4, {L2_PLACE} - 1, %g2
            brlz,pn %g2, perfctr_get_l2
            perfctr_refusals %g3, 1f           ! its first instruction is in the delay slot
             sllx %g4, {L2_TO_SIGN}, %g4
            brgez,pn %g4, perfctr_slow
            perfctr_refuse {SET_L2}+{NO_ACCESS}, {ENOACCESS}
    1:      brgez,pn %g4, perfctr_slow
            perfctr_refuse {SET_L2}+{BAD_TRAP}, {EBADTRAP}

    perfctr_get_l2:
            xor %o5, {GET}, %g2
            brnz,pn %g2, perfctr_set_l2
             ldx [%g6 + {ROWS}], %g3
    28:     ldx [%g3 + {L2_ROW}], %g3
            .globl perfctr_load_l2
    perfctr_load_l2:
            ldx [%g3], %g4
            srlx %g4, {CONFIG_SHIFT}, %g4
            and %g4, {CONFIG_BITS}, %o1
    29:     ldx [%g1 + {SET_L2}], %g4
            inc %g4
            stx %g4, [%g1 + {SET_L2}]
            clr %o0
            done
            ",
            $crate::perfctr_set_l2!(),
            "
    perfctr_set_pcr_missed:
            sllx %o1, {HT_TO_SIGN}, %g2
            ba,pt %xcc, 2f
             srlx %g2, 63, %g2                  ! 1 if the call sets HT
    perfctr_get_pcr_missed:
            ldx [%g6 + {COUNTS_OF_GETS}], %g1
    2:      ldx [%g6 + {VERSION}], %g3
            perfctr_refusals %g3, 1f
             sllx %g4, %g2, %g4
            sllx %g4, {STRAND_TO_SIGN}, %g4
            brgez,pn %g4, perfctr_slow
            perfctr_refuse {SET_STRAND}+{NO_ACCESS}, {ENOACCESS}
    1:      brgez,pn %g4, perfctr_slow
            perfctr_refuse {SET_STRAND}+{BAD_TRAP}, {EBADTRAP}

    perfctr_get_hub_missed:
            ldx [%g6 + {COUNTS_OF_GETS}], %g1
    perfctr_hub_missed:                         ! %g3 is the place
            ldx [%g6 + {VERSION}], %g2
            perfctr_refusals %g2, 1f
             sllx %g4, %g3, %g2
            brgez,pn %g2, perfctr_slow
             srlx %g4, {HUB_STATUS_SHIFT}, %g2
            and %g2, {HUB_STATUS_BITS}, %o0
            and %g4, {HUB_COUNT}, %g4
            ldx [%g1 + %g4], %g2
            inc %g2
            stx %g2, [%g1 + %g4]
            done
    1:      brgez,pn %g4, perfctr_slow
            perfctr_refuse {SET_HUB}+{BAD_TRAP}, {EBADTRAP}

    perfctr_get_unknown:                        ! no register has the number
            ldx [%g6 + {COUNTS_OF_GETS}], %g1
    perfctr_unknown:
            ldx [%g6 + {VERSION}], %g3
            lduw [%g3], %g3
            brz,pn %g3, 1f
             ldx [%g5 + {REFUSALS}], %g4
            brgez,pn %g4, perfctr_slow
            perfctr_refuse {SET_INVALID}+{INVALID}, {EINVAL}
    1:      brgez,pn %g4, perfctr_slow
            perfctr_refuse {SET_INVALID}+{BAD_TRAP}, {EBADTRAP}

    perfctr_slow:
            ba,pt %xcc, sun4v_general
             mov {FAST}, %g5
    perfctr_faulted:
            ba,pt %xcc, sun4v_general
             mov {FAULTED}, %g5
    perfctr_end:
            .pushsection .sun4v.faults, \"a\"
            .xword perfctr_load_dram, perfctr_faulted
            .xword perfctr_store_dram, perfctr_faulted
            .xword perfctr_load_l2, perfctr_faulted
            .xword perfctr_load_hub, perfctr_faulted
            .xword perfctr_store_hub, perfctr_faulted
            .xword perfctr_wait_hub, perfctr_faulted
            .popsection
            .pushsection .sun4v.unanswered, \"a\"
            .xword perfctr_get, 20b
            .xword 21b, 22b
            .xword 23b, 27b
            .xword perfctr_set, 24b
            .xword 25b, 26b
            .xword 28b, 29b
            .popsection
            "],
            [GET GET_TO_SET FIRST_OF_HUB REGISTERS HT_TO_SIGN ROW_SHIFT MASK PLACE PLACE_SHIFT COUNTS COUNTS_OF_GETS ROWS PCR_MASK
             VERSION TOKEN GET_STRAND SET_STRAND SET_L2 GET_DRAM SET_DRAM GET_HUB SET_HUB SET_INVALID BAD_TRAP INVALID NOT_SUPPORTED
             NO_ACCESS REFUSALS VERSION_BITS CHANNEL_TO_COUNT ONE_COUNT L2_TO_SIGN STRAND_TO_SIGN HUB_STATUS_SHIFT HUB_STATUS_BITS
             HUB_COUNT EBADTRAP EINVAL ENOTSUPPORTED ENOACCESS LIMIT SERVED_FAST TRACED FAST FAULTED PCR
             RESERVED WATCHES WATCH_SHIFT REPEAT_SHIFT SETS BLOCKED EWOULDBLOCK
             L2 L2_ENDED L2_READ OWNER BANK REPORTS_NUMBER L2_PLACE L2_ROW CONFIG_SHIFT CONFIG_BITS]
        );
    };
}
