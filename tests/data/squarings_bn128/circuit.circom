// Copyright the cuzkd authors. SPDX-License-Identifier: Apache-2.0
pragma circom 2.1.0;

// A chain of squarings; with 30 of them and one public output the domain of 32 is exactly full.
template Squarings(n) {
    signal input x;
    signal output y;
    signal link[n];
    link[0] <== x * x;
    for (var i = 1; i < n; i++) {
        link[i] <== (link[i - 1] + i) * (link[i - 1] + i);
    }
    y <== link[n - 1];
}

component main = Squarings(30);
