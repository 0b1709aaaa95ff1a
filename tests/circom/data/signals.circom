// Every form that inputs take: a bus, arrays of them, a matrix, a scalar; with a log and an assertion.
pragma circom 2.2.0;

bus Point() {
    signal x;
    signal y[2];
}

template Signals() {
    input Point() p[2];
    input Point() q;
    signal input m[2][3];
    signal input k;
    signal output digits;
    signal output product;

    k * k === m[1][2];
    product <== p[0].y[1] * q.x;
    digits <== p[0].x + 10 * p[0].y[0] + 100 * p[0].y[1] + 1000 * p[1].x + 10000 * p[1].y[0] + 100000 * p[1].y[1]
        + 1000000 * m[0][0] + 10000000 * m[0][1] + 100000000 * m[0][2] + 1000000000 * m[1][0]
        + 10000000000 * m[1][1] + 100000000000 * m[1][2] + 1000000000000 * q.x + 10000000000000 * q.y[0]
        + 100000000000000 * q.y[1];
    log("product", product, "of two");
}

component main = Signals();
