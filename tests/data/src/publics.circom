// Copyright the cuzkd authors. SPDX-License-Identifier: Apache-2.0
pragma circom 2.1.0;

// More public signals than constraints, and a private input that no constraint mentions.
template Publics() {
    signal input weight[4];
    signal input offset;
    signal input secret;
    signal input unused;
    signal output total;
    var sum = offset;
    for (var i = 0; i < 4; i++) {
        sum += (i + 2) * weight[i];
    }
    total <== sum * secret;
}

component main {public [weight, offset]} = Publics();
