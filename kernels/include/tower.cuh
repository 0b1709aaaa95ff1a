// Fq6 = Fq2[v]/(v³ - xi) and Fq12 = Fq6[w]/(w² - v): what a pairing's values are made of.
//
// Products are Karatsuba's (Devegili, O hEigeartaigh, Scott, Dahab, eprint 2006/471).
#pragma once
#include "curve.cuh"

namespace cuzkd {

// xi·a for xi = XI_0 + u.
template <class C>
HD typename C::Fq2 times_xi(const typename C::Fq2& a) {
    using Fq2 = typename C::Fq2;
    if constexpr (C::Constants::XI_0 == 1) {
        return Fq2{a.c0 - a.c1, a.c0 + a.c1};
    } else {
        static_assert(C::Constants::XI_0 == 9, "one doubling chain a curve");
        const Fq2 nine = a.dbl().dbl().dbl() + a;
        return Fq2{nine.c0 - a.c1, nine.c1 + a.c0};
    }
}

template <class C>
struct Fq6 {
    using Fq2 = typename C::Fq2;
    Fq2 c0, c1, c2;

    static HD Fq6 zero() { return Fq6{Fq2::zero(), Fq2::zero(), Fq2::zero()}; }
    static HD Fq6 one() { return Fq6{Fq2::one(), Fq2::zero(), Fq2::zero()}; }

    friend HD Fq6 operator+(const Fq6& a, const Fq6& b) { return Fq6{a.c0 + b.c0, a.c1 + b.c1, a.c2 + b.c2}; }
    friend HD Fq6 operator-(const Fq6& a, const Fq6& b) { return Fq6{a.c0 - b.c0, a.c1 - b.c1, a.c2 - b.c2}; }
    HD Fq6 operator-() const { return Fq6{-c0, -c1, -c2}; }
    friend HD bool operator==(const Fq6& a, const Fq6& b) { return a.c0 == b.c0 && a.c1 == b.c1 && a.c2 == b.c2; }

    friend HD CUZKD_NOINLINE Fq6 operator*(const Fq6& a, const Fq6& b) {
        const Fq2 t0 = a.c0 * b.c0, t1 = a.c1 * b.c1, t2 = a.c2 * b.c2;
        return Fq6{times_xi<C>((a.c1 + a.c2) * (b.c1 + b.c2) - t1 - t2) + t0,
                   (a.c0 + a.c1) * (b.c0 + b.c1) - t0 - t1 + times_xi<C>(t2),
                   (a.c0 + a.c2) * (b.c0 + b.c2) - t0 - t2 + t1};
    }
    HD Fq6 times(const Fq2& k) const { return Fq6{c0 * k, c1 * k, c2 * k}; }
    HD Fq6 times_v() const { return Fq6{times_xi<C>(c2), c0, c1}; }

    // this·(b0 + b1·v)
    HD CUZKD_NOINLINE Fq6 times_sparse(const Fq2& b0, const Fq2& b1) const {
        const Fq2 t0 = c0 * b0, t1 = c1 * b1;
        return Fq6{times_xi<C>(c2 * b1) + t0, (c0 + c1) * (b0 + b1) - t0 - t1, c2 * b0 + t1};
    }

    HD CUZKD_NOINLINE Fq6 inverse() const {
        const Fq2 d0 = c0.sqr() - times_xi<C>(c1 * c2);
        const Fq2 d1 = times_xi<C>(c2.sqr()) - c0 * c1;
        const Fq2 d2 = c1.sqr() - c0 * c2;
        const Fq2 norm = (c0 * d0 + times_xi<C>(c2 * d1 + c1 * d2)).inverse();
        return Fq6{d0 * norm, d1 * norm, d2 * norm};
    }
};

template <class C>
struct Fq12 {
    using Fq2 = typename C::Fq2;
    using Half = Fq6<C>;
    Half c0, c1;

    static HD Fq12 one() { return Fq12{Half::one(), Half::zero()}; }
    friend HD bool operator==(const Fq12& a, const Fq12& b) { return a.c0 == b.c0 && a.c1 == b.c1; }

    friend HD CUZKD_NOINLINE Fq12 operator*(const Fq12& a, const Fq12& b) {
        const Half t0 = a.c0 * b.c0, t1 = a.c1 * b.c1;
        return Fq12{t0 + t1.times_v(), (a.c0 + a.c1) * (b.c0 + b.c1) - t0 - t1};
    }
    HD CUZKD_NOINLINE Fq12 sqr() const {
        const Half product = c0 * c1;
        return Fq12{(c0 + c1) * (c0 + c1.times_v()) - product - product.times_v(), product + product};
    }
    HD Fq12 conjugate() const { return Fq12{c0, -c1}; }
    HD CUZKD_NOINLINE Fq12 inverse() const {
        const Half norm = (c0 * c0 - (c1 * c1).times_v()).inverse();
        return Fq12{c0 * norm, -(c1 * norm)};
    }

    // this^q: each coefficient at w^m conjugated and times xi^(m·(q - 1)/6).
    HD CUZKD_NOINLINE Fq12 frobenius() const {
        return Fq12{Half{c0.c0.conjugate(), scaled(c0.c1, 2), scaled(c0.c2, 4)},
                    Half{scaled(c1.c0, 1), scaled(c1.c1, 3), scaled(c1.c2, 5)}};
    }

    // The square of an element whose order divides q⁴ - q² + 1 (Granger, Scott, eprint 2009/565, section 3.2).
    HD CUZKD_NOINLINE Fq12 cyclotomic_sqr() const {
        Fq2 s0, s1, s2, s3, s4, s5;
        square4(c0.c0, c1.c1, s0, s1);
        square4(c1.c0, c0.c2, s2, s3);
        square4(c0.c1, c1.c2, s4, s5);
        return Fq12{Half{three_less_two(s0, c0.c0), three_less_two(s2, c0.c1), three_less_two(s4, c0.c2)},
                    Half{three_and_two(times_xi<C>(s5), c1.c0), three_and_two(s1, c1.c1), three_and_two(s3, c1.c2)}};
    }

   private:
    static HD Fq2 scaled(const Fq2& a, unsigned m) {
        return a.conjugate() * Fq2::of(C::Constants::frobenius, (m - 1) * Fq2::LIMBS64);
    }
    // (r0 + r1·s) = (a + b·s)² in Fq2[s]/(s² - xi)
    static HD void square4(const Fq2& a, const Fq2& b, Fq2& r0, Fq2& r1) {
        const Fq2 aa = a.sqr(), bb = b.sqr();
        r0 = times_xi<C>(bb) + aa;
        r1 = (a + b).sqr() - aa - bb;
    }
    static HD Fq2 three_less_two(const Fq2& s, const Fq2& z) { return (s - z).dbl() + s; }
    static HD Fq2 three_and_two(const Fq2& s, const Fq2& z) { return (s + z).dbl() + s; }
};

}  // namespace cuzkd
