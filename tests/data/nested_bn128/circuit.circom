// Copyright the cuzkd authors. SPDX-License-Identifier: Apache-2.0
pragma circom 2.1.6;

// A matrix times a vector: inputs of two dimensions, and numbers written in every way that JSON allows.
template MatrixVector(ROWS, COLUMNS) {
    signal input matrix[ROWS][COLUMNS];
    signal input vector[COLUMNS];
    signal output product[ROWS];
    signal terms[ROWS][COLUMNS];
    for (var i = 0; i < ROWS; i++) {
        var sum = 0;
        for (var j = 0; j < COLUMNS; j++) {
            terms[i][j] <== matrix[i][j] * vector[j];
            sum += terms[i][j];
        }
        product[i] <== sum;
    }
}

component main {public [vector]} = MatrixVector(2, 3);
