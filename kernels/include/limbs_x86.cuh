// The primitives of limbs.cuh for x86-64 with BMI2 and ADX, as inline assembly for moduli of 4 and 6 words.
//
// Compilers make two to three times slower code of carry chains over unsigned __int128. A product interleaves rows
// a·b_i and m·p (CIOS without the extra word: the modulus leaves its top bit free), each row with the low halves on
// the carry flag and the high halves on the overflow flag (Intel, "New instructions supporting large integer
// arithmetic", 2012), so that the multiplier is the only limit. Registers rotate their role from row to row: T0 is
// the word that a row clears. Nothing goes through memory between rows.
#pragma once
#include "limbs.cuh"

namespace cuzkd::limbs {

// p, and -1/p mod 2^64; `zero` is what a subtraction adds back by address when there was no borrow.
template <class P>
struct Modulus {
    static constexpr unsigned N = WORDS<P>;
    static_assert(P::SPARE_BITS >= 1 && (N == 4 || N == 6));
    u64 p[N];
    u64 inverse;
    u64 zero[N];

    static constexpr Modulus make() {
        Modulus m{};
        for (unsigned i = 0; i < N; i++) m.p[i] = P::modulus(i);
        m.inverse = P::INV;
        return m;
    }
};

template <class P>
inline constexpr Modulus<P> MODULUS = Modulus<P>::make();

template <unsigned N>
using Block = u64[N];

// clang-format off
#define T_(n) "%[" #n "]"
#define ZERO_(register) "xorl %k[" #register "], %k[" #register "]\n\t"
#define MAC_(source, low, high)                                          \
    "mulxq " source ", %[lo], %[hi]\n\t"                                 \
    "adcxq %[lo], " T_(low) "\n\tadoxq %[hi], " T_(high) "\n\t"
#define CARRY_(top) "movl $0, %k[lo]\n\tadcxq %[lo], " T_(top) "\n\t"

// T4:T0 = x·y[0], for registers x and y that hold addresses
#define FIRST4_(x, y, T0, T1, T2, T3, T4)                                \
    "movq (" T_(y) "), %%rdx\n\t"                                        \
    "mulxq (" T_(x) "), " T_(T0) ", " T_(T1) "\n\t"                      \
    "mulxq 8(" T_(x) "), %[lo], " T_(T2) "\n\taddq %[lo], " T_(T1) "\n\t"  \
    "mulxq 16(" T_(x) "), %[lo], " T_(T3) "\n\tadcq %[lo], " T_(T2) "\n\t" \
    "mulxq 24(" T_(x) "), %[lo], " T_(T4) "\n\tadcq %[lo], " T_(T3) "\n\t" \
    "adcq $0, " T_(T4) "\n\t"
#define FIRST6_(x, y, T0, T1, T2, T3, T4, T5, T6)                        \
    "movq (" T_(y) "), %%rdx\n\t"                                        \
    "mulxq (" T_(x) "), " T_(T0) ", " T_(T1) "\n\t"                      \
    "mulxq 8(" T_(x) "), %[lo], " T_(T2) "\n\taddq %[lo], " T_(T1) "\n\t"  \
    "mulxq 16(" T_(x) "), %[lo], " T_(T3) "\n\tadcq %[lo], " T_(T2) "\n\t" \
    "mulxq 24(" T_(x) "), %[lo], " T_(T4) "\n\tadcq %[lo], " T_(T3) "\n\t" \
    "mulxq 32(" T_(x) "), %[lo], " T_(T5) "\n\tadcq %[lo], " T_(T4) "\n\t" \
    "mulxq 40(" T_(x) "), %[lo], " T_(T6) "\n\tadcq %[lo], " T_(T5) "\n\t" \
    "adcq $0, " T_(T6) "\n\t"

// T4:T0 += x·y[at / 8], with both flags clear before it
#define MACS4_(x, y, at, T0, T1, T2, T3, T4)                             \
    "movq " #at "(" T_(y) "), %%rdx\n\t"                                 \
    MAC_("(" T_(x) ")", T0, T1) MAC_("8(" T_(x) ")", T1, T2)             \
    MAC_("16(" T_(x) ")", T2, T3) MAC_("24(" T_(x) ")", T3, T4) CARRY_(T4)
#define MACS6_(x, y, at, T0, T1, T2, T3, T4, T5, T6)                     \
    "movq " #at "(" T_(y) "), %%rdx\n\t"                                 \
    MAC_("(" T_(x) ")", T0, T1) MAC_("8(" T_(x) ")", T1, T2)             \
    MAC_("16(" T_(x) ")", T2, T3) MAC_("24(" T_(x) ")", T3, T4)          \
    MAC_("32(" T_(x) ")", T4, T5) MAC_("40(" T_(x) ")", T5, T6) CARRY_(T6)
// ROW: the top word is new. MORE: it is there already.
#define ROW4_(x, y, at, T0, T1, T2, T3, T4) ZERO_(T4) MACS4_(x, y, at, T0, T1, T2, T3, T4)
#define MORE4_(x, y, at, T0, T1, T2, T3, T4) ZERO_(lo) MACS4_(x, y, at, T0, T1, T2, T3, T4)
#define ROW6_(x, y, at, T0, T1, T2, T3, T4, T5, T6) ZERO_(T6) MACS6_(x, y, at, T0, T1, T2, T3, T4, T5, T6)
#define MORE6_(x, y, at, T0, T1, T2, T3, T4, T5, T6) ZERO_(lo) MACS6_(x, y, at, T0, T1, T2, T3, T4, T5, T6)

// T4:T1 = (T4:T0 + m·p) / 2^64, for the m that makes it exact
#define CLEAR4_(T0, T1, T2, T3, T4)                                      \
    "movq " T_(T0) ", %%rdx\n\timulq %[inverse], %%rdx\n\t" ZERO_(lo)    \
    "mulxq %[p0], %[lo], %[hi]\n\t"                                      \
    "adcxq " T_(T0) ", %[lo]\n\tadoxq %[hi], " T_(T1) "\n\t"             \
    MAC_("%[p1]", T1, T2) MAC_("%[p2]", T2, T3) MAC_("%[p3]", T3, T4) CARRY_(T4)
#define CLEAR6_(T0, T1, T2, T3, T4, T5, T6)                              \
    "movq " T_(T0) ", %%rdx\n\timulq %[inverse], %%rdx\n\t" ZERO_(lo)    \
    "mulxq %[p0], %[lo], %[hi]\n\t"                                      \
    "adcxq " T_(T0) ", %[lo]\n\tadoxq %[hi], " T_(T1) "\n\t"             \
    MAC_("%[p1]", T1, T2) MAC_("%[p2]", T2, T3) MAC_("%[p3]", T3, T4)    \
    MAC_("%[p4]", T4, T5) MAC_("%[p5]", T5, T6) CARRY_(T6)

// The square of word `at`, added to the doubled words `low` and `high`; both carry chains go on.
#define SQUARE_(at, low, high)                                           \
    "movq " #at "(%[a]), %%rdx\n\tmulxq %%rdx, %[lo], %[hi]\n\t"         \
    "adcxq " T_(low) ", " T_(low) "\n\tadoxq %[lo], " T_(low) "\n\t"     \
    "adcxq " T_(high) ", " T_(high) "\n\tadoxq %[hi], " T_(high) "\n\t"

#define OUT5_ [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3), [t4] "=&r"(t4), \
              [lo] "=&r"(lo), [hi] "=&r"(hi)
#define P4_ [p0] "m"(MODULUS<P>.p[0]), [p1] "m"(MODULUS<P>.p[1]), [p2] "m"(MODULUS<P>.p[2]), \
            [p3] "m"(MODULUS<P>.p[3])
#define P6_ P4_, [p4] "m"(MODULUS<P>.p[4]), [p5] "m"(MODULUS<P>.p[5])
#define INVERSE_ [inverse] "m"(MODULUS<P>.inverse)
#define IN_(name, n) [name] "r"(name), "m"(*(const Block<n>*)name)
// clang-format on

// r = t mod p for t < 2p, t in registers.
template <class P>
CUZKD_INLINE void subtract_once(u64* r, u64 t0, u64 t1, u64 t2, u64 t3) {
    u64 s0 = t0, s1 = t1, s2 = t2, s3 = t3;
    asm("subq %[p0], %[s0]\n\tsbbq %[p1], %[s1]\n\tsbbq %[p2], %[s2]\n\tsbbq %[p3], %[s3]\n\t"
        "cmovcq %[t0], %[s0]\n\tcmovcq %[t1], %[s1]\n\tcmovcq %[t2], %[s2]\n\tcmovcq %[t3], %[s3]\n\t"
        : [s0] "+&r"(s0), [s1] "+&r"(s1), [s2] "+&r"(s2), [s3] "+&r"(s3)
        : [t0] "r"(t0), [t1] "r"(t1), [t2] "r"(t2), [t3] "r"(t3), P4_
        : "cc");
    r[0] = s0, r[1] = s1, r[2] = s2, r[3] = s3;
}

template <class P>
CUZKD_INLINE void subtract_once(u64* r, u64 t0, u64 t1, u64 t2, u64 t3, u64 t4, u64 t5) {
    u64 s0 = t0, s1 = t1, s2 = t2, s3 = t3, s4 = t4, s5 = t5;
    asm("subq %[p0], %[s0]\n\tsbbq %[p1], %[s1]\n\tsbbq %[p2], %[s2]\n\tsbbq %[p3], %[s3]\n\t"
        "sbbq %[p4], %[s4]\n\tsbbq %[p5], %[s5]\n\t"
        "cmovcq %[t0], %[s0]\n\tcmovcq %[t1], %[s1]\n\tcmovcq %[t2], %[s2]\n\tcmovcq %[t3], %[s3]\n\t"
        "cmovcq %[t4], %[s4]\n\tcmovcq %[t5], %[s5]\n\t"
        : [s0] "+&r"(s0), [s1] "+&r"(s1), [s2] "+&r"(s2), [s3] "+&r"(s3), [s4] "+&r"(s4), [s5] "+&r"(s5)
        : [t0] "r"(t0), [t1] "r"(t1), [t2] "r"(t2), [t3] "r"(t3), [t4] "r"(t4), [t5] "r"(t5), P6_
        : "cc");
    r[0] = s0, r[1] = s1, r[2] = s2, r[3] = s3, r[4] = s4, r[5] = s5;
}

template <class P>
CUZKD_INLINE void mul(u64* r, const u64* a, const u64* b) {
    u64 t0, t1, t2, t3, t4, lo, hi;
    if constexpr (WORDS<P> == 4) {
        asm(FIRST4_(a, b, t0, t1, t2, t3, t4) CLEAR4_(t0, t1, t2, t3, t4)
            ROW4_(a, b, 8, t1, t2, t3, t4, t0) CLEAR4_(t1, t2, t3, t4, t0)
            ROW4_(a, b, 16, t2, t3, t4, t0, t1) CLEAR4_(t2, t3, t4, t0, t1)
            ROW4_(a, b, 24, t3, t4, t0, t1, t2) CLEAR4_(t3, t4, t0, t1, t2)
            : OUT5_
            : IN_(a, 4), IN_(b, 4), P4_, INVERSE_
            : "cc", "rdx");
        subtract_once<P>(r, t4, t0, t1, t2);
    } else {
        u64 t5, t6;
        asm(FIRST6_(a, b, t0, t1, t2, t3, t4, t5, t6) CLEAR6_(t0, t1, t2, t3, t4, t5, t6)
            ROW6_(a, b, 8, t1, t2, t3, t4, t5, t6, t0) CLEAR6_(t1, t2, t3, t4, t5, t6, t0)
            ROW6_(a, b, 16, t2, t3, t4, t5, t6, t0, t1) CLEAR6_(t2, t3, t4, t5, t6, t0, t1)
            ROW6_(a, b, 24, t3, t4, t5, t6, t0, t1, t2) CLEAR6_(t3, t4, t5, t6, t0, t1, t2)
            ROW6_(a, b, 32, t4, t5, t6, t0, t1, t2, t3) CLEAR6_(t4, t5, t6, t0, t1, t2, t3)
            ROW6_(a, b, 40, t5, t6, t0, t1, t2, t3, t4) CLEAR6_(t5, t6, t0, t1, t2, t3, t4)
            : OUT5_, [t5] "=&r"(t5), [t6] "=&r"(t6)
            : IN_(a, 6), IN_(b, 6), P6_, INVERSE_
            : "cc", "rdx");
        subtract_once<P>(r, t6, t0, t1, t2, t3, t4);
    }
}

// For four words: cross products once, doubled while the squares of the words are added, so 10 products instead of
// 16. Six words don't fit the registers that way, and through memory a squaring is no faster than a product.
template <class P>
CUZKD_INLINE void sqr(u64* r, const u64* a) {
    if constexpr (WORDS<P> == 4) {
        u64 t0, t1, t2, t3, t4, t5, t6, t7, t8, lo, hi;
        asm("movq (%[a]), %%rdx\n\t"
            "mulxq 8(%[a]), %[t1], %[t2]\n\t"
            "mulxq 16(%[a]), %[lo], %[t3]\n\taddq %[lo], %[t2]\n\t"
            "mulxq 24(%[a]), %[lo], %[t4]\n\tadcq %[lo], %[t3]\n\tadcq $0, %[t4]\n\t"
            ZERO_(t5) "movq 8(%[a]), %%rdx\n\t" MAC_("16(%[a])", t3, t4) MAC_("24(%[a])", t4, t5)
            "movq 16(%[a]), %%rdx\n\t"
            "mulxq 24(%[a]), %[lo], %[t6]\n\tadcxq %[lo], %[t5]\n\t" CARRY_(t6)
            ZERO_(t7) "movq (%[a]), %%rdx\n\t"
            "mulxq %%rdx, %[t0], %[hi]\n\tadcxq %[t1], %[t1]\n\tadoxq %[hi], %[t1]\n\t"
            SQUARE_(8, t2, t3) SQUARE_(16, t4, t5) SQUARE_(24, t6, t7)
            ZERO_(t8) CLEAR4_(t0, t1, t2, t3, t8) ZERO_(t0) CLEAR4_(t1, t2, t3, t8, t0)
            ZERO_(t1) CLEAR4_(t2, t3, t8, t0, t1) ZERO_(t2) CLEAR4_(t3, t8, t0, t1, t2)
            "addq %[t4], %[t8]\n\tadcq %[t5], %[t0]\n\tadcq %[t6], %[t1]\n\tadcq %[t7], %[t2]\n\t"
            : OUT5_, [t5] "=&r"(t5), [t6] "=&r"(t6), [t7] "=&r"(t7), [t8] "=&r"(t8)
            : IN_(a, 4), P4_, INVERSE_
            : "cc", "rdx");
        subtract_once<P>(r, t8, t0, t1, t2);
    } else {
        mul<P>(r, a, a);
    }
}

// A row of each product before each reduction row: with two bits to spare, N + 1 words hold them.
template <class P>
CUZKD_INLINE void mul_add(u64* r, const u64* a, const u64* b, const u64* c, const u64* d) {
    static_assert(P::SPARE_BITS >= 2);
    u64 t0, t1, t2, t3, t4, lo, hi;
    if constexpr (WORDS<P> == 4) {
        asm(FIRST4_(a, b, t0, t1, t2, t3, t4) MORE4_(c, d, 0, t0, t1, t2, t3, t4) CLEAR4_(t0, t1, t2, t3, t4)
            ROW4_(a, b, 8, t1, t2, t3, t4, t0) MORE4_(c, d, 8, t1, t2, t3, t4, t0) CLEAR4_(t1, t2, t3, t4, t0)
            ROW4_(a, b, 16, t2, t3, t4, t0, t1) MORE4_(c, d, 16, t2, t3, t4, t0, t1) CLEAR4_(t2, t3, t4, t0, t1)
            ROW4_(a, b, 24, t3, t4, t0, t1, t2) MORE4_(c, d, 24, t3, t4, t0, t1, t2) CLEAR4_(t3, t4, t0, t1, t2)
            : OUT5_
            : IN_(a, 4), IN_(b, 4), IN_(c, 4), IN_(d, 4), P4_, INVERSE_
            : "cc", "rdx");
        subtract_once<P>(r, t4, t0, t1, t2);
    } else {
        u64 t5, t6;
        asm(FIRST6_(a, b, t0, t1, t2, t3, t4, t5, t6) MORE6_(c, d, 0, t0, t1, t2, t3, t4, t5, t6)
            CLEAR6_(t0, t1, t2, t3, t4, t5, t6)
            ROW6_(a, b, 8, t1, t2, t3, t4, t5, t6, t0) MORE6_(c, d, 8, t1, t2, t3, t4, t5, t6, t0)
            CLEAR6_(t1, t2, t3, t4, t5, t6, t0)
            ROW6_(a, b, 16, t2, t3, t4, t5, t6, t0, t1) MORE6_(c, d, 16, t2, t3, t4, t5, t6, t0, t1)
            CLEAR6_(t2, t3, t4, t5, t6, t0, t1)
            ROW6_(a, b, 24, t3, t4, t5, t6, t0, t1, t2) MORE6_(c, d, 24, t3, t4, t5, t6, t0, t1, t2)
            CLEAR6_(t3, t4, t5, t6, t0, t1, t2)
            ROW6_(a, b, 32, t4, t5, t6, t0, t1, t2, t3) MORE6_(c, d, 32, t4, t5, t6, t0, t1, t2, t3)
            CLEAR6_(t4, t5, t6, t0, t1, t2, t3)
            ROW6_(a, b, 40, t5, t6, t0, t1, t2, t3, t4) MORE6_(c, d, 40, t5, t6, t0, t1, t2, t3, t4)
            CLEAR6_(t5, t6, t0, t1, t2, t3, t4)
            : OUT5_, [t5] "=&r"(t5), [t6] "=&r"(t6)
            : IN_(a, 6), IN_(b, 6), IN_(c, 6), IN_(d, 6), P6_, INVERSE_
            : "cc", "rdx");
        subtract_once<P>(r, t6, t0, t1, t2, t3, t4);
    }
}

template <class P>
CUZKD_INLINE void add(u64* r, const u64* a, const u64* b) {
    u64 t0 = a[0], t1 = a[1], t2 = a[2], t3 = a[3];
    if constexpr (WORDS<P> == 4) {
        asm("addq %[b0], %[t0]\n\tadcq %[b1], %[t1]\n\tadcq %[b2], %[t2]\n\tadcq %[b3], %[t3]\n\t"
            : [t0] "+&r"(t0), [t1] "+&r"(t1), [t2] "+&r"(t2), [t3] "+&r"(t3)
            : [b0] "rm"(b[0]), [b1] "rm"(b[1]), [b2] "rm"(b[2]), [b3] "rm"(b[3])
            : "cc");
        subtract_once<P>(r, t0, t1, t2, t3);
    } else {
        u64 t4 = a[4], t5 = a[5];
        asm("addq %[b0], %[t0]\n\tadcq %[b1], %[t1]\n\tadcq %[b2], %[t2]\n\tadcq %[b3], %[t3]\n\t"
            "adcq %[b4], %[t4]\n\tadcq %[b5], %[t5]\n\t"
            : [t0] "+&r"(t0), [t1] "+&r"(t1), [t2] "+&r"(t2), [t3] "+&r"(t3), [t4] "+&r"(t4), [t5] "+&r"(t5)
            : [b0] "m"(b[0]), [b1] "m"(b[1]), [b2] "m"(b[2]), [b3] "m"(b[3]), [b4] "m"(b[4]), [b5] "m"(b[5])
            : "cc");
        subtract_once<P>(r, t0, t1, t2, t3, t4, t5);
    }
}

// The borrow selects what is added back by its address.
template <class P>
CUZKD_INLINE void sub(u64* r, const u64* a, const u64* b) {
    u64 t0 = a[0], t1 = a[1], t2 = a[2], t3 = a[3];
    const u64* addend = MODULUS<P>.zero;
    if constexpr (WORDS<P> == 4) {
        asm("subq %[b0], %[t0]\n\tsbbq %[b1], %[t1]\n\tsbbq %[b2], %[t2]\n\tsbbq %[b3], %[t3]\n\t"
            "cmovcq %[p], %[s]\n\t"
            "addq (%[s]), %[t0]\n\tadcq 8(%[s]), %[t1]\n\tadcq 16(%[s]), %[t2]\n\tadcq 24(%[s]), %[t3]\n\t"
            : [t0] "+&r"(t0), [t1] "+&r"(t1), [t2] "+&r"(t2), [t3] "+&r"(t3), [s] "+&r"(addend)
            : [b0] "rm"(b[0]), [b1] "rm"(b[1]), [b2] "rm"(b[2]), [b3] "rm"(b[3]), [p] "r"(MODULUS<P>.p)
            : "cc");
    } else {
        u64 t4 = a[4], t5 = a[5];
        asm("subq %[b0], %[t0]\n\tsbbq %[b1], %[t1]\n\tsbbq %[b2], %[t2]\n\tsbbq %[b3], %[t3]\n\t"
            "sbbq %[b4], %[t4]\n\tsbbq %[b5], %[t5]\n\t"
            "cmovcq %[p], %[s]\n\t"
            "addq (%[s]), %[t0]\n\tadcq 8(%[s]), %[t1]\n\tadcq 16(%[s]), %[t2]\n\tadcq 24(%[s]), %[t3]\n\t"
            "adcq 32(%[s]), %[t4]\n\tadcq 40(%[s]), %[t5]\n\t"
            : [t0] "+&r"(t0), [t1] "+&r"(t1), [t2] "+&r"(t2), [t3] "+&r"(t3), [t4] "+&r"(t4), [t5] "+&r"(t5),
              [s] "+&r"(addend)
            : [b0] "m"(b[0]), [b1] "m"(b[1]), [b2] "m"(b[2]), [b3] "m"(b[3]), [b4] "m"(b[4]), [b5] "m"(b[5]),
              [p] "r"(MODULUS<P>.p)
            : "cc");
        r[4] = t4, r[5] = t5;
    }
    r[0] = t0, r[1] = t1, r[2] = t2, r[3] = t3;
}

#undef T_
#undef ZERO_
#undef MAC_
#undef CARRY_
#undef FIRST4_
#undef FIRST6_
#undef MACS4_
#undef MACS6_
#undef ROW4_
#undef ROW6_
#undef MORE4_
#undef MORE6_
#undef CLEAR4_
#undef CLEAR6_
#undef SQUARE_
#undef OUT5_
#undef P4_
#undef P6_
#undef INVERSE_
#undef IN_

}  // namespace cuzkd::limbs
