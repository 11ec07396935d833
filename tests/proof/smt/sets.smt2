; cat words.smt2 sets.smt2 | z3 -in
; Words are sets: what any.smt2 takes from the theory of arrays is true of words, too.
(declare-const set Strands)
(declare-const other Strands)
(define-fun one-bit ((bit Strands)) Bool (and (distinct bit nobody) (= (bvand bit (bvsub bit (_ bv1 256))) nobody)))
(declare-const s Strands)
(declare-const x Strands)
(assert (and (bvult s (_ bv256 256)) (bvult x (_ bv256 256))))

; Nobody is in the empty set.
(push)
(check-sat) ; sat
(assert (has-bit nobody (shifted x)))
(check-sat) ; unsat
(pop)

; Adding s changes s, and no other.
(push)
(check-sat) ; sat
(assert (not (= (has-bit (with-bit set (shifted s)) (shifted x)) (or (= x s) (has-bit set (shifted x))))))
(check-sat) ; unsat
(pop)

; Removing s changes s, and no other.
(push)
(check-sat) ; sat
(assert (not (= (has-bit (without-bit set (shifted s)) (shifted x)) (and (distinct x s) (has-bit set (shifted x))))))
(check-sat) ; unsat
(pop)

; The lowest bit is one bit of the set, and no other of its bits is below it.
(push)
(assert (one-bit other))
(assert (has-bit set other))
(check-sat) ; sat
(assert (not (and (has-bit set (lowest set)) (one-bit (lowest set)) (bvule (lowest set) other))))
(check-sat) ; unsat
(pop)

; The bits above a bit are those of higher numbers.
(push)
(assert (and (one-bit set) (one-bit other)))
(check-sat) ; sat
(assert (not (= (has-bit (above set) other) (bvult set other))))
(check-sat) ; unsat
(pop)

; The count of a set that is not empty is 1 to 256.
(push)
(assert (has-bit set (shifted x)))
(check-sat) ; sat
(assert (not (and (bvule (_ bv1 256) (count-bits set)) (bvule (count-bits set) (_ bv256 256)))))
(check-sat) ; unsat
(pop)
