// Copyright the cuzkd authors. SPDX-License-Identifier: Apache-2.0
pragma circom 2.1.0;

// No public signal at all, the least domain (2), and a witness that is zero but for the constant.
template NoPublic() {
    signal input a;
    signal input b;
    signal input c;
    a * b === c;
}

component main = NoPublic();
