// The primitives of limbs.cuh for x86-64 with BMI2 and ADX, as inline assembly for moduli of 4 and 6 words.
//
// Compilers make two to three times slower code of carry chains over unsigned __int128. The product interleaves
// rows a·b_i and m·p (CIOS without the extra word: the modulus leaves its top bit free), each row with the low halves
// on the carry flag and the high halves on the overflow flag (Intel, "New instructions supporting large integer
// arithmetic", 2012). Registers rotate their role from row to row: T0 is the word that a row clears.
#pragma once
#include "limbs.cuh"

namespace cuzkd::limbs {

// What the assembly addresses from one pointer: p, then -1/p mod 2^64, then a zero to add instead of p.
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
#define MAC_(source, low, high)                                         \
    "mulxq " source ", %[lo], %[hi]\n\t"                                 \
    "adcxq %[lo], " T_(low) "\n\t"                                       \
    "adoxq %[hi], " T_(high) "\n\t"
#define CARRY_(top)                                                      \
    "movl $0, %k[lo]\n\t"                                                \
    "adcxq %[lo], " T_(top) "\n\t"

// T4:T0 = a·b[0]
#define FIRST4_(T0, T1, T2, T3, T4)                                      \
    "movq (%[b]), %%rdx\n\t"                                             \
    "mulxq (%[a]), " T_(T0) ", " T_(T1) "\n\t"                           \
    "mulxq 8(%[a]), %[lo], " T_(T2) "\n\taddq %[lo], " T_(T1) "\n\t"     \
    "mulxq 16(%[a]), %[lo], " T_(T3) "\n\tadcq %[lo], " T_(T2) "\n\t"    \
    "mulxq 24(%[a]), %[lo], " T_(T4) "\n\tadcq %[lo], " T_(T3) "\n\t"    \
    "adcq $0, " T_(T4) "\n\t"
// T4:T0 = T3:T0 + a·b[at / 8]
#define ROW4_(at, T0, T1, T2, T3, T4)                                    \
    "movq " #at "(%[b]), %%rdx\n\t"                                      \
    "xorl %k[" #T4 "], %k[" #T4 "]\n\t"                                  \
    MAC_("(%[a])", T0, T1) MAC_("8(%[a])", T1, T2)                       \
    MAC_("16(%[a])", T2, T3) MAC_("24(%[a])", T3, T4) CARRY_(T4)
// T4:T1 = (T4:T0 + m·p) / 2^64
#define CLEAR4_(T0, T1, T2, T3, T4)                                      \
    "movq " T_(T0) ", %%rdx\n\timulq 32(%[p]), %%rdx\n\t"                \
    "xorl %k[lo], %k[lo]\n\t"                                            \
    "mulxq (%[p]), %[lo], %[hi]\n\t"                                     \
    "adcxq " T_(T0) ", %[lo]\n\tadoxq %[hi], " T_(T1) "\n\t"             \
    MAC_("8(%[p])", T1, T2) MAC_("16(%[p])", T2, T3)                     \
    MAC_("24(%[p])", T3, T4) CARRY_(T4)

#define FIRST6_(T0, T1, T2, T3, T4, T5, T6)                              \
    "movq (%[b]), %%rdx\n\t"                                             \
    "mulxq (%[a]), " T_(T0) ", " T_(T1) "\n\t"                           \
    "mulxq 8(%[a]), %[lo], " T_(T2) "\n\taddq %[lo], " T_(T1) "\n\t"     \
    "mulxq 16(%[a]), %[lo], " T_(T3) "\n\tadcq %[lo], " T_(T2) "\n\t"    \
    "mulxq 24(%[a]), %[lo], " T_(T4) "\n\tadcq %[lo], " T_(T3) "\n\t"    \
    "mulxq 32(%[a]), %[lo], " T_(T5) "\n\tadcq %[lo], " T_(T4) "\n\t"    \
    "mulxq 40(%[a]), %[lo], " T_(T6) "\n\tadcq %[lo], " T_(T5) "\n\t"    \
    "adcq $0, " T_(T6) "\n\t"
#define ROW6_(at, T0, T1, T2, T3, T4, T5, T6)                            \
    "movq " #at "(%[b]), %%rdx\n\t"                                      \
    "xorl %k[" #T6 "], %k[" #T6 "]\n\t"                                  \
    MAC_("(%[a])", T0, T1) MAC_("8(%[a])", T1, T2)                       \
    MAC_("16(%[a])", T2, T3) MAC_("24(%[a])", T3, T4)                    \
    MAC_("32(%[a])", T4, T5) MAC_("40(%[a])", T5, T6) CARRY_(T6)
#define CLEAR6_(T0, T1, T2, T3, T4, T5, T6)                              \
    "movq " T_(T0) ", %%rdx\n\timulq 48(%[p]), %%rdx\n\t"                \
    "xorl %k[lo], %k[lo]\n\t"                                            \
    "mulxq (%[p]), %[lo], %[hi]\n\t"                                     \
    "adcxq " T_(T0) ", %[lo]\n\tadoxq %[hi], " T_(T1) "\n\t"             \
    MAC_("8(%[p])", T1, T2) MAC_("16(%[p])", T2, T3)                     \
    MAC_("24(%[p])", T3, T4) MAC_("32(%[p])", T4, T5)                    \
    MAC_("40(%[p])", T5, T6) CARRY_(T6)

#define STORE_(at, register) "movq " T_(register) ", " #at "(%[t])\n\t"
#define ZERO_(register) "xorl %k[" #register "], %k[" #register "]\n\t"
// clang-format on

// r = t mod p for t < 2p, t in registers.
template <class P>
CUZKD_INLINE void subtract_once(u64* r, u64 t0, u64 t1, u64 t2, u64 t3) {
    u64 s0 = t0, s1 = t1, s2 = t2, s3 = t3;
    asm("subq %[p0], %[s0]\n\tsbbq %[p1], %[s1]\n\tsbbq %[p2], %[s2]\n\tsbbq %[p3], %[s3]\n\t"
        "cmovcq %[t0], %[s0]\n\tcmovcq %[t1], %[s1]\n\tcmovcq %[t2], %[s2]\n\tcmovcq %[t3], %[s3]\n\t"
        : [s0] "+&r"(s0), [s1] "+&r"(s1), [s2] "+&r"(s2), [s3] "+&r"(s3)
        : [t0] "r"(t0), [t1] "r"(t1), [t2] "r"(t2), [t3] "r"(t3), [p0] "m"(MODULUS<P>.p[0]),
          [p1] "m"(MODULUS<P>.p[1]), [p2] "m"(MODULUS<P>.p[2]), [p3] "m"(MODULUS<P>.p[3])
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
        : [t0] "r"(t0), [t1] "r"(t1), [t2] "r"(t2), [t3] "r"(t3), [t4] "r"(t4), [t5] "r"(t5),
          [p0] "m"(MODULUS<P>.p[0]), [p1] "m"(MODULUS<P>.p[1]), [p2] "m"(MODULUS<P>.p[2]),
          [p3] "m"(MODULUS<P>.p[3]), [p4] "m"(MODULUS<P>.p[4]), [p5] "m"(MODULUS<P>.p[5])
        : "cc");
    r[0] = s0, r[1] = s1, r[2] = s2, r[3] = s3, r[4] = s4, r[5] = s5;
}

template <class P>
CUZKD_INLINE void mul(u64* r, const u64* a, const u64* b) {
    u64 t0, t1, t2, t3, t4, lo, hi;
    if constexpr (WORDS<P> == 4) {
        asm(FIRST4_(t0, t1, t2, t3, t4) CLEAR4_(t0, t1, t2, t3, t4)
            ROW4_(8, t1, t2, t3, t4, t0) CLEAR4_(t1, t2, t3, t4, t0)
            ROW4_(16, t2, t3, t4, t0, t1) CLEAR4_(t2, t3, t4, t0, t1)
            ROW4_(24, t3, t4, t0, t1, t2) CLEAR4_(t3, t4, t0, t1, t2)
            : [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3), [t4] "=&r"(t4), [lo] "=&r"(lo),
              [hi] "=&r"(hi)
            : [a] "r"(a), [b] "r"(b), [p] "r"(&MODULUS<P>), "m"(*(const Block<4>*)a), "m"(*(const Block<4>*)b)
            : "cc", "rdx");
        subtract_once<P>(r, t4, t0, t1, t2);
    } else {
        u64 t5, t6;
        asm(FIRST6_(t0, t1, t2, t3, t4, t5, t6) CLEAR6_(t0, t1, t2, t3, t4, t5, t6)
            ROW6_(8, t1, t2, t3, t4, t5, t6, t0) CLEAR6_(t1, t2, t3, t4, t5, t6, t0)
            ROW6_(16, t2, t3, t4, t5, t6, t0, t1) CLEAR6_(t2, t3, t4, t5, t6, t0, t1)
            ROW6_(24, t3, t4, t5, t6, t0, t1, t2) CLEAR6_(t3, t4, t5, t6, t0, t1, t2)
            ROW6_(32, t4, t5, t6, t0, t1, t2, t3) CLEAR6_(t4, t5, t6, t0, t1, t2, t3)
            ROW6_(40, t5, t6, t0, t1, t2, t3, t4) CLEAR6_(t5, t6, t0, t1, t2, t3, t4)
            : [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3), [t4] "=&r"(t4), [t5] "=&r"(t5),
              [t6] "=&r"(t6), [lo] "=&r"(lo), [hi] "=&r"(hi)
            : [a] "r"(a), [b] "r"(b), [p] "r"(&MODULUS<P>), "m"(*(const Block<6>*)a), "m"(*(const Block<6>*)b)
            : "cc", "rdx");
        subtract_once<P>(r, t6, t0, t1, t2, t3, t4);
    }
}

template <class P>
CUZKD_INLINE void sqr(u64* r, const u64* a) {
    mul<P>(r, a, a);
}

template <class P>
CUZKD_INLINE void wide_mul(u64* t, const u64* a, const u64* b) {
    u64 t0, t1, t2, t3, t4, lo, hi;
    if constexpr (WORDS<P> == 4) {
        asm(FIRST4_(t0, t1, t2, t3, t4) STORE_(0, t0)
            ROW4_(8, t1, t2, t3, t4, t0) STORE_(8, t1)
            ROW4_(16, t2, t3, t4, t0, t1) STORE_(16, t2)
            ROW4_(24, t3, t4, t0, t1, t2) STORE_(24, t3) STORE_(32, t4) STORE_(40, t0) STORE_(48, t1) STORE_(56, t2)
            : [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3), [t4] "=&r"(t4), [lo] "=&r"(lo),
              [hi] "=&r"(hi), "=m"(*(Block<8>*)t)
            : [a] "r"(a), [b] "r"(b), [t] "r"(t), "m"(*(const Block<4>*)a), "m"(*(const Block<4>*)b)
            : "cc", "rdx");
    } else {
        u64 t5, t6;
        asm(FIRST6_(t0, t1, t2, t3, t4, t5, t6) STORE_(0, t0)
            ROW6_(8, t1, t2, t3, t4, t5, t6, t0) STORE_(8, t1)
            ROW6_(16, t2, t3, t4, t5, t6, t0, t1) STORE_(16, t2)
            ROW6_(24, t3, t4, t5, t6, t0, t1, t2) STORE_(24, t3)
            ROW6_(32, t4, t5, t6, t0, t1, t2, t3) STORE_(32, t4)
            ROW6_(40, t5, t6, t0, t1, t2, t3, t4) STORE_(40, t5) STORE_(48, t6) STORE_(56, t0) STORE_(64, t1)
            STORE_(72, t2) STORE_(80, t3) STORE_(88, t4)
            : [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3), [t4] "=&r"(t4), [t5] "=&r"(t5),
              [t6] "=&r"(t6), [lo] "=&r"(lo), [hi] "=&r"(hi), "=m"(*(Block<12>*)t)
            : [a] "r"(a), [b] "r"(b), [t] "r"(t), "m"(*(const Block<6>*)a), "m"(*(const Block<6>*)b)
            : "cc", "rdx");
    }
}

// The low half is cleared row by row to at most p; the high half, < p, is added at the end.
template <class P>
CUZKD_INLINE void reduce(u64* r, const u64* t) {
    u64 t0 = t[0], t1 = t[1], t2 = t[2], t3 = t[3], t4, lo, hi;
    if constexpr (WORDS<P> == 4) {
        asm(ZERO_(t4) CLEAR4_(t0, t1, t2, t3, t4) ZERO_(t0) CLEAR4_(t1, t2, t3, t4, t0)
            ZERO_(t1) CLEAR4_(t2, t3, t4, t0, t1) ZERO_(t2) CLEAR4_(t3, t4, t0, t1, t2)
            "addq 32(%[t]), %[t4]\n\tadcq 40(%[t]), %[t0]\n\tadcq 48(%[t]), %[t1]\n\tadcq 56(%[t]), %[t2]\n\t"
            : [t0] "+&r"(t0), [t1] "+&r"(t1), [t2] "+&r"(t2), [t3] "+&r"(t3), [t4] "=&r"(t4), [lo] "=&r"(lo),
              [hi] "=&r"(hi)
            : [t] "r"(t), [p] "r"(&MODULUS<P>), "m"(*(const Block<8>*)t)
            : "cc", "rdx");
        subtract_once<P>(r, t4, t0, t1, t2);
    } else {
        u64 t5 = t[5], t6;
        t4 = t[4];
        asm(ZERO_(t6) CLEAR6_(t0, t1, t2, t3, t4, t5, t6) ZERO_(t0) CLEAR6_(t1, t2, t3, t4, t5, t6, t0)
            ZERO_(t1) CLEAR6_(t2, t3, t4, t5, t6, t0, t1) ZERO_(t2) CLEAR6_(t3, t4, t5, t6, t0, t1, t2)
            ZERO_(t3) CLEAR6_(t4, t5, t6, t0, t1, t2, t3) ZERO_(t4) CLEAR6_(t5, t6, t0, t1, t2, t3, t4)
            "addq 48(%[t]), %[t6]\n\tadcq 56(%[t]), %[t0]\n\tadcq 64(%[t]), %[t1]\n\tadcq 72(%[t]), %[t2]\n\t"
            "adcq 80(%[t]), %[t3]\n\tadcq 88(%[t]), %[t4]\n\t"
            : [t0] "+&r"(t0), [t1] "+&r"(t1), [t2] "+&r"(t2), [t3] "+&r"(t3), [t4] "+&r"(t4), [t5] "+&r"(t5),
              [t6] "=&r"(t6), [lo] "=&r"(lo), [hi] "=&r"(hi)
            : [t] "r"(t), [p] "r"(&MODULUS<P>), "m"(*(const Block<12>*)t)
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

template <class P>
CUZKD_INLINE void add_lazy(u64* r, const u64* a, const u64* b) {
    u64 t0 = a[0], t1 = a[1], t2 = a[2], t3 = a[3];
    if constexpr (WORDS<P> == 4) {
        asm("addq %[b0], %[t0]\n\tadcq %[b1], %[t1]\n\tadcq %[b2], %[t2]\n\tadcq %[b3], %[t3]\n\t"
            : [t0] "+&r"(t0), [t1] "+&r"(t1), [t2] "+&r"(t2), [t3] "+&r"(t3)
            : [b0] "rm"(b[0]), [b1] "rm"(b[1]), [b2] "rm"(b[2]), [b3] "rm"(b[3])
            : "cc");
    } else {
        u64 t4 = a[4], t5 = a[5];
        asm("addq %[b0], %[t0]\n\tadcq %[b1], %[t1]\n\tadcq %[b2], %[t2]\n\tadcq %[b3], %[t3]\n\t"
            "adcq %[b4], %[t4]\n\tadcq %[b5], %[t5]\n\t"
            : [t0] "+&r"(t0), [t1] "+&r"(t1), [t2] "+&r"(t2), [t3] "+&r"(t3), [t4] "+&r"(t4), [t5] "+&r"(t5)
            : [b0] "m"(b[0]), [b1] "m"(b[1]), [b2] "m"(b[2]), [b3] "m"(b[3]), [b4] "m"(b[4]), [b5] "m"(b[5])
            : "cc");
        r[4] = t4, r[5] = t5;
    }
    r[0] = t0, r[1] = t1, r[2] = t2, r[3] = t3;
}

// The borrow selects what is added back by its address: p or the zero behind it.
template <class P>
CUZKD_INLINE void sub(u64* r, const u64* a, const u64* b) {
    u64 t0 = a[0], t1 = a[1], t2 = a[2], t3 = a[3];
    const u64* addend = MODULUS<P>.zero;
    if constexpr (WORDS<P> == 4) {
        asm("subq %[b0], %[t0]\n\tsbbq %[b1], %[t1]\n\tsbbq %[b2], %[t2]\n\tsbbq %[b3], %[t3]\n\t"
            "cmovcq %[p], %[s]\n\t"
            "addq (%[s]), %[t0]\n\tadcq 8(%[s]), %[t1]\n\tadcq 16(%[s]), %[t2]\n\tadcq 24(%[s]), %[t3]\n\t"
            : [t0] "+&r"(t0), [t1] "+&r"(t1), [t2] "+&r"(t2), [t3] "+&r"(t3), [s] "+&r"(addend)
            : [b0] "rm"(b[0]), [b1] "rm"(b[1]), [b2] "rm"(b[2]), [b3] "rm"(b[3]), [p] "r"(&MODULUS<P>)
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
              [p] "r"(&MODULUS<P>)
            : "cc");
        r[4] = t4, r[5] = t5;
    }
    r[0] = t0, r[1] = t1, r[2] = t2, r[3] = t3;
}

#define SUB_WORD_(op, at) "movq " #at "(%[t]), %[lo]\n\t" #op " " #at "(%[s]), %[lo]\n\tmovq %[lo], " #at "(%[t])\n\t"
#define ADD_WORD_(op, at, to) "movq " #to "(%[t]), %[lo]\n\t" #op " " #at "(%[z]), %[lo]\n\tmovq %[lo], " #to "(%[t])\n\t"

template <class P>
CUZKD_INLINE void wide_sub(u64* t, const u64* s) {
    const u64* addend = MODULUS<P>.zero;
    u64 lo;
    if constexpr (WORDS<P> == 4) {
        asm(SUB_WORD_(subq, 0) SUB_WORD_(sbbq, 8) SUB_WORD_(sbbq, 16) SUB_WORD_(sbbq, 24) SUB_WORD_(sbbq, 32)
            SUB_WORD_(sbbq, 40) SUB_WORD_(sbbq, 48) SUB_WORD_(sbbq, 56)
            "cmovcq %[p], %[z]\n\t"
            ADD_WORD_(addq, 0, 32) ADD_WORD_(adcq, 8, 40) ADD_WORD_(adcq, 16, 48) ADD_WORD_(adcq, 24, 56)
            : [lo] "=&r"(lo), [z] "+&r"(addend), "+m"(*(Block<8>*)t)
            : [t] "r"(t), [s] "r"(s), [p] "r"(&MODULUS<P>), "m"(*(const Block<8>*)s)
            : "cc");
    } else {
        asm(SUB_WORD_(subq, 0) SUB_WORD_(sbbq, 8) SUB_WORD_(sbbq, 16) SUB_WORD_(sbbq, 24) SUB_WORD_(sbbq, 32)
            SUB_WORD_(sbbq, 40) SUB_WORD_(sbbq, 48) SUB_WORD_(sbbq, 56) SUB_WORD_(sbbq, 64) SUB_WORD_(sbbq, 72)
            SUB_WORD_(sbbq, 80) SUB_WORD_(sbbq, 88)
            "cmovcq %[p], %[z]\n\t"
            ADD_WORD_(addq, 0, 48) ADD_WORD_(adcq, 8, 56) ADD_WORD_(adcq, 16, 64) ADD_WORD_(adcq, 24, 72)
            ADD_WORD_(adcq, 32, 80) ADD_WORD_(adcq, 40, 88)
            : [lo] "=&r"(lo), [z] "+&r"(addend), "+m"(*(Block<12>*)t)
            : [t] "r"(t), [s] "r"(s), [p] "r"(&MODULUS<P>), "m"(*(const Block<12>*)s)
            : "cc");
    }
}

#undef T_
#undef MAC_
#undef CARRY_
#undef FIRST4_
#undef ROW4_
#undef CLEAR4_
#undef FIRST6_
#undef ROW6_
#undef CLEAR6_
#undef STORE_
#undef ZERO_
#undef SUB_WORD_
#undef ADD_WORD_

}  // namespace cuzkd::limbs
