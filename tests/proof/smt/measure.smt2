; cat any.smt2 turns.smt2 hub.smt2 measure.smt2 | z3 -in
; The wait of y ends. A number, the rank of the wait, is at least 0. Each ask at a free hub that does not serve y makes it smaller, and no other
; event makes it larger, except that a chip is busy or a strand dies. So while no chip is busy and nobody dies, only as many asks at a free hub
; come before the access of y as the rank says at first.
;
; The rank is made of four numbers, of which a later one matters only where the earlier ones are equal: how many strands may have an access
; before y; whether no strand has the turn; how many strands are not remembered; the refusals that are left of 2n.

; First: the number of strands in a set gets smaller when a strand leaves the set and none joins. By induction over the strands below k. The
; counts are those of the strands below k, and `next-...` those of the strands below k + 1.
(declare-fun large (Int) Bool)
(declare-fun small (Int) Bool)
(declare-const k Int)
(declare-const z Int)
(declare-const count-large Int)
(declare-const count-small Int)
(define-fun next-large () Int (+ count-large (ite (large k) 1 0)))
(define-fun next-small () Int (+ count-small (ite (small k) 1 0)))
(define-fun follows ((count-s Int) (count-l Int) (end Int)) Bool
  (and (<= 0 count-s count-l end)
    (=> (and (<= 0 z) (< z end) (large z) (not (small z))) (< count-s count-l))))

; There are no strands below 0.
(push)
(assert (and (= count-large 0) (= count-small 0)))
(check-sat) ; sat
(assert (not (follows count-small count-large 0)))
(check-sat) ; unsat
(pop)

; What holds below k holds below k + 1.
(push)
(assert (>= k 0))
(assert (=> (small k) (large k)))
(assert (follows count-small count-large k))
(check-sat) ; sat
(assert (not (follows next-small next-large (+ k 1))))
(check-sat) ; unsat
(pop)

; Second: what an ask at a free hub does to the four numbers. Strand s may be y, which is not served then.
; It puts no strand before y. (x stands for any strand; so a set of strands gets no new strand.)
(push)
(assert (waits h))
(assert (calls s))
(assert (=> (distinct s y) keeps-pace))
(assert free)
(assert (not (and gets (= s y))))
(assert (before-y after-ask x))
(check-sat) ; sat
(assert (not (before-y h x)))
(check-sat) ; unsat
(pop)

; If the turn stays, it forgets no strand.
(push)
(assert (waits h))
(assert (calls s))
(assert free)
(assert (not gets))
(assert (= (turn (known after-ask)) (turn (known h))))
(assert (has (remembered (known h)) x))
(check-sat) ; sat
(assert (not (has (remembered (known after-ask)) x)))
(check-sat) ; unsat
(pop)

; Either a strand (that had the turn, or that is served) is no longer before y; or no strand had the turn, and now one has it; or the turn
; stays, and s is remembered now; or the turn stays, and there is one more refusal in it, of at most r.
(define-fun leaves ((z Int)) Bool (and (strand z) (before-y h z) (not (before-y after-ask z))))
(define-fun turn-begins () Bool (and (= (live (known h) s) none) (distinct (turn (known after-ask)) none)))
(define-fun turn-stays () Bool (= (turn (known after-ask)) (turn (known h))))
(define-fun joins () Bool (and turn-stays (not (has (remembered (known h)) s)) (has (remembered (known after-ask)) s)))
(define-fun refuses () Bool
  (and turn-stays (= (refusals (known after-ask)) (+ (refusals (known h)) 1)) (<= (refusals (known after-ask)) r)))
(push)
(assert (waits h))
(assert (calls s))
(assert (=> (distinct s y) keeps-pace))
(assert free)
(assert (not (and gets (= s y))))
(check-sat) ; sat
(assert (not (or (leaves (turn (known h))) (leaves s) turn-begins joins refuses)))
(check-sat) ; unsat
(pop)

; Each of the five is possible.
(push)
(assert (waits h))
(assert (and (calls s) (distinct s y) keeps-pace free (<= r (* 2 n))))
(push)
(assert (leaves (turn (known h))))
(check-sat) ; sat
(pop)
(push)
(assert (leaves s))
(check-sat) ; sat
(pop)
(push)
(assert turn-begins)
(check-sat) ; sat
(pop)
(push)
(assert joins)
(check-sat) ; sat
(pop)
(push)
(assert refuses)
(check-sat) ; sat
(pop)
(pop)

; Third: the events that are no ask at a free hub. None puts a strand before y, takes the turn from a strand that is remembered, or forgets
; a strand.
(define-fun no-worse ((after Hub)) Bool
  (and
    (=> (before-y after x) (before-y h x))
    (=> (has (remembered (known h)) x) (has (remembered (known after)) x))
    (=> (held (known h)) (and (= (turn (known after)) (turn (known h))) (= (refusals (known after)) (refusals (known h)))))
    (=> (distinct (turn (known h)) none) (distinct (turn (known after)) none))))
; A strand asks a hub that is taken, or cannot enter the gate.
(push)
(assert (waits h))
(assert (calls s))
(check-sat) ; sat
(assert (not (no-worse after-locked)))
(check-sat) ; unsat
(pop)
; The access in flight ends, and its strand gives the turn to the next remembered strand, or does not.
(push)
(assert (waits h))
(assert (not free))
(assert to-is-next)
(check-sat) ; sat
(assert (not (and (no-worse after-end) (=> (distinct to none) (no-worse after-passing-on)))))
(check-sat) ; unsat
(pop)

; Fourth: the rank. `before` strands may have an access before y, `idle` is 1 if no strand has the turn, `strange` strands are not remembered,
; and `left` refusals are left of 2n.
(define-fun weight-of-strange () Int (+ (* 2 n) 2))
(define-fun weight-of-idle () Int (* (+ n 1) weight-of-strange))
(define-fun rank ((before Int) (idle Int) (strange Int) (left Int)) Int
  (+ (* 2 weight-of-idle before) (* weight-of-idle idle) (* weight-of-strange strange) left))
(define-fun fits ((before Int) (idle Int) (strange Int) (left Int)) Bool
  (and (<= 0 before n) (<= 0 idle 1) (<= 0 strange n) (<= 0 left (+ (* 2 n) 1))))
(declare-const before Int)
(declare-const idle Int)
(declare-const strange Int)
(declare-const left Int)
(declare-const before-then Int)
(declare-const idle-then Int)
(declare-const strange-then Int)
(declare-const left-then Int)
(push)
(assert (and (fits before idle strange left) (fits before-then idle-then strange-then left-then)))
; Whichever of the four gets smaller while those before it do not get larger:
(assert (<= before-then before))
(assert (or (< before-then before)
  (and (<= idle-then idle) (or (< idle-then idle)
    (and (<= strange-then strange) (or (< strange-then strange) (< left-then left)))))))
(check-sat) ; sat
(assert (not (< -1 (rank before-then idle-then strange-then left-then) (rank before idle strange left))))
(check-sat) ; unsat
(pop)
