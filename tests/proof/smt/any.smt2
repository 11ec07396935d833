; Any number of strands, each with a number, and sets of strands.
(declare-const n Int)
(assert (>= n 1))
(define-sort Strands () (Array Int Bool))
(define-fun nobody () Strands ((as const Strands) false))
(define-fun has ((set Strands) (s Int)) Bool (select set s))
(define-fun with ((set Strands) (s Int)) Strands (store set s true))
(define-fun without ((set Strands) (s Int)) Strands (store set s false))
