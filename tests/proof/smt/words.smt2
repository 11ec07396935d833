; Sets of strands as StrandSet stores them: a word with a bit for each of 256 strands. sets.smt2 claims that such words are sets.
(define-fun n () Int 256)
(define-sort Strands () (_ BitVec 256))
(define-fun nobody () Strands (_ bv0 256))
(define-fun has-bit ((set Strands) (bit Strands)) Bool (distinct (bvand set bit) nobody))
(define-fun with-bit ((set Strands) (bit Strands)) Strands (bvor set bit))
(define-fun without-bit ((set Strands) (bit Strands)) Strands (bvand set (bvnot bit)))
; The bit of a strand.
(define-fun shifted ((number Strands)) Strands (bvshl (_ bv1 256) number))
(define-fun bit ((s Int)) Strands (shifted ((_ int2bv 256) s)))
(define-fun has ((set Strands) (s Int)) Bool (has-bit set (bit s)))
(define-fun with ((set Strands) (s Int)) Strands (with-bit set (bit s)))
(define-fun without ((set Strands) (s Int)) Strands (without-bit set (bit s)))

; StrandSet::count: neighbouring fields are added, of 1 bit, then of 2 bits, and so on.
(define-fun add ((fields Strands) (mask Strands) (width Strands)) Strands
  (bvadd (bvand fields mask) (bvand (bvlshr fields width) mask)))
(define-fun count-bits ((set Strands)) Strands
  (add (add (add (add (add (add (add (add set
    #x5555555555555555555555555555555555555555555555555555555555555555 (_ bv1 256))
    #x3333333333333333333333333333333333333333333333333333333333333333 (_ bv2 256))
    #x0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f (_ bv4 256))
    #x00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff (_ bv8 256))
    #x0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff (_ bv16 256))
    #x00000000ffffffff00000000ffffffff00000000ffffffff00000000ffffffff (_ bv32 256))
    #x0000000000000000ffffffffffffffff0000000000000000ffffffffffffffff (_ bv64 256))
    #x00000000000000000000000000000000ffffffffffffffffffffffffffffffff (_ bv128 256)))
(define-fun count ((set Strands)) Int (bv2int (count-bits set)))

; StrandSet::next_after: the lowest bit above the strand's bit, or else the lowest bit of all. A bit's number is the number of bits below
; it.
(define-fun lowest ((set Strands)) Strands (bvand set (bvneg set)))
(define-fun above ((bit Strands)) Strands (bvnot (bvor bit (bvsub bit (_ bv1 256)))))
(define-fun next-bit ((set Strands) (bit Strands)) Strands
  (ite (has-bit set (above bit)) (lowest (bvand set (above bit))) (lowest set)))
(define-fun next-after ((set Strands) (s Int)) Int
  (count (bvsub (next-bit set (bit s)) (_ bv1 256))))
