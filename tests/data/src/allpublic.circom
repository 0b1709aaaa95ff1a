// Copyright the cuzkd authors. SPDX-License-Identifier: Apache-2.0
pragma circom 2.1.0;

// Every wire is public: the C section is empty.
template AllPublic() {
    signal input a;
    signal input b;
    signal output c;
    signal output d;
    c <== a * b;
    d <== (a + 1) * (b - 1);
}

component main {public [a, b]} = AllPublic();
