// The optimal ate pairing of both curves, to the very value that snarkjs computes.
//
// Miller loop: Vercauteren, "Optimal pairings" (eprint 2008/096), with T in Jacobian coordinates on the twist. A line
// is scaled by factors in proper subfields of Fq12, which the final power removes.
//
// Final power: (q¹² - 1)/r times 2x·(6x² + 3x + 1) on BN254 (Fuentes-Castaneda, Knapp, Rodriguez-Henriquez, "Faster
// hashing to G2", 2011) and times 3 on BLS12-381 (Hayashida, Hayasaka, Teruya, eprint 2020/875). Both factors are
// prime to r, so that nothing but the value changes.
#pragma once

#include <vector>

#include "tower.cuh"

namespace cuzkd {

template <class C>
class Pairing {
  public:
    using G1 = typename C::G1;
    using G2 = typename C::G2;
    using Value = Fq12<C>;

    // One term e(p, q) of a product; neither is infinity.
    struct Term {
        G1 p;
        G2 q;
    };

    // The product of the terms' Miller functions, with shared squarings.
    static Value miller_loop(const std::vector<Term>& terms) {
        std::vector<Running> running(terms.begin(), terms.end());
        Value f = Value::one();
        for (unsigned bit = C::Constants::ATE_LOOP_BITS - 1; bit-- > 0;) {
            f = f.sqr();
            for (Running& t : running) t.double_into(f);
            if (C::Constants::ate_loop(bit / 64) >> (bit % 64) & 1)
                for (Running& t : running) t.add_into(f, t.q);
        }
        if constexpr (IS_BN) {
            for (Running& t : running) {
                const G2 q1 = frobenius(t.q);
                t.add_into(f, q1);
                t.add_into(f, -frobenius(q1));
            }
        }
        return C::Constants::X_NEGATIVE ? f.conjugate() : f;
    }

    static Value final_power(const Value& f) {
        const Value half = f.conjugate() * f.inverse();
        const Value g = half.frobenius().frobenius() * half;
        if constexpr (IS_BN)
            return hard_part_bn(g);
        else
            return hard_part_bls(g);
    }

  private:
    using Fq = typename C::Fq;
    using Fq2 = typename C::Fq2;
    static constexpr bool IS_BN = C::Constants::TWIST_IS_D;

    // psi(q): the q-power Frobenius, seen on the twist.
    static G2 frobenius(const G2& q) {
        return G2{q.x.conjugate() * Fq2::of(C::Constants::psi_x), q.y.conjugate() * Fq2::of(C::Constants::psi_y)};
    }

    // T of one term, (X/Z², Y/Z³), moving from q to the loop's multiple of q.
    struct Running {
        explicit Running(const Term& term) : p(term.p), q(term.q), X(q.x), Y(q.y), Z(Fq2::one()) {}

        G1 p;
        G2 q;
        Fq2 X, Y, Z;

        // f *= the tangent at T; T = 2T (dbl-2009-l).
        void double_into(Value& f) {
            const Fq2 xx = X.sqr(), yy = Y.sqr(), zz = Z.sqr(), yyyy = yy.sqr();
            const Fq2 m = xx.dbl() + xx;
            const Fq2 s = ((X + yy).sqr() - xx - yyyy).dbl();
            const Fq2 constant = m * X - yy.dbl();
            Z = (Y + Z).sqr() - yy - zz;
            X = m.sqr() - s.dbl();
            Y = m * (s - X) - yyyy.dbl().dbl().dbl();
            line(f, Z * zz, m * zz, constant);
        }

        // f *= the line through T and s; T = T + s. They differ and are not opposite: T is a small multiple of q.
        void add_into(Value& f, const G2& s) {
            const Fq2 zz = Z.sqr();
            const Fq2 h = s.x * zz - X;
            const Fq2 r = s.y * zz * Z - Y;
            const Fq2 hh = h.sqr(), hhh = h * hh, v = X * hh;
            Z = Z * h;
            X = r.sqr() - hhh - v.dbl();
            Y = r * (v - X) - Y * hhh;
            line(f, Z, r, r * s.x - s.y * Z);
        }

        // f *= y_p·y - x_p·x·w + constant·w³ on a D twist; the same times w³, with xi = w⁶ absorbed, on an M twist:
        // constant - x_p·x·w² + y_p·y·w³.
        void line(Value& f, const Fq2& y, const Fq2& x, const Fq2& constant) const {
            const Fq2 a = y * p.y, b = -(x * p.x);
            if constexpr (C::Constants::TWIST_IS_D) {
                const auto t0 = f.c0.times(a), t1 = f.c1.times_sparse(b, constant);
                f = Value{t0 + t1.times_v(), (f.c0 + f.c1).times_sparse(a + b, constant) - t0 - t1};
            } else {
                const auto t0 = f.c0.times_sparse(constant, b), t1 = f.c1.times(a).times_v();
                f = Value{t0 + t1.times_v(), (f.c0 + f.c1).times_sparse(constant, a + b) - t0 - t1};
            }
        }
    };

    // g^x for the curve's parameter x; g in the cyclotomic subgroup, where the conjugate is the inverse.
    static Value power_x(const Value& g) {
        constexpr u64 x = C::Constants::X_ABS;
        unsigned bit = 63;
        while (!(x >> bit & 1)) bit--;
        Value r = g;
        while (bit-- > 0) {
            r = r.cyclotomic_sqr();
            if (x >> bit & 1) r = r * g;
        }
        return C::Constants::X_NEGATIVE ? r.conjugate() : r;
    }

    static Value hard_part_bn(const Value& g) {
        const Value g2x = power_x(g).cyclotomic_sqr();
        const Value g6x = g2x.cyclotomic_sqr() * g2x;
        const Value g6xx = power_x(g6x);
        const Value g12xxx = power_x(g6xx.cyclotomic_sqr());
        const Value a = g12xxx * g6xx * g6x;
        const Value b = a * g2x.conjugate();
        const Value low = a * g6xx * g * b.frobenius();
        return low * a.frobenius().frobenius() * (b * g.conjugate()).frobenius().frobenius().frobenius();
    }

    // g^((x - 1)²·(x + q)·(x² + q² - 1) + 3)
    static Value hard_part_bls(const Value& g) {
        const Value t1 = power_x(g) * g.conjugate();
        const Value t2 = power_x(t1) * t1.conjugate();
        const Value t3 = power_x(t2) * t2.frobenius();
        const Value t4 = power_x(power_x(t3)) * t3.frobenius().frobenius() * t3.conjugate();
        return t4 * g.cyclotomic_sqr() * g;
    }
};

}  // namespace cuzkd
