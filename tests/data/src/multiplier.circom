// Copyright the cuzkd authors. SPDX-License-Identifier: Apache-2.0
pragma circom 2.1.0;

// Knowledge of two factors of a public product: the smallest circuit with one public output.
template Multiplier() {
    signal input a;
    signal input b;
    signal output c;
    c <== a * b;
}

component main = Multiplier();
