import numpy as np
import numpy.typing as npt

_Limbs = npt.NDArray[np.uint64]
_Matrix = tuple[_Limbs, npt.NDArray[np.uint32], npt.NDArray[np.uint32], _Limbs]

arithmetic: str

# bind_field.cpp
def first_noncanonical(curve: str, scalars: _Limbs, threads: int) -> int | None: ...
def convert_scalars(curve: str, scalars: _Limbs, out: _Limbs, to_montgomery: bool, threads: int) -> None: ...
def elementwise(curve: str, field: str, operation: str, a: _Limbs, b: _Limbs, out: _Limbs) -> None: ...

# bind_curve.cpp
def first_off_curve(curve: str, g2: bool, points: _Limbs, threads: int) -> int | None: ...
def first_outside_subgroup(curve: str, g2: bool, points: _Limbs, threads: int) -> int | None: ...
def subset_sums(
    curve: str,
    g2: bool,
    points: _Limbs,
    choices: npt.NDArray[np.uint16],
    bits: int,
    out: _Limbs,
    threads: int,
) -> None: ...
def combine(curve: str, g2: bool, points: _Limbs, scalars: _Limbs, out: _Limbs, secret: bool) -> None: ...

# bind_pairing.cpp
def pairing(curve: str, p: _Limbs, q: _Limbs, out: _Limbs) -> None: ...
def product_is_one(curve: str, p: _Limbs, q: _Limbs) -> bool: ...

# bind_bulk.cpp
def ntt(curve: str, values: _Limbs, inverse: bool, bellperson: bool, threads: int) -> None: ...
def quotient(
    curve: str,
    a: _Limbs,
    b: _Limbs,
    c: _Limbs,
    log_domain: int,
    out: _Limbs,
    scratch: _Limbs,
    bellperson: bool,
    threads: int,
) -> None: ...
def check_csr(
    curve: str,
    row_ptr: _Limbs,
    cols: npt.NDArray[np.uint32],
    coeffs: npt.NDArray[np.uint32],
    values: _Limbs,
    columns: int,
    threads: int,
) -> tuple[int, int] | None: ...
def evaluate(
    curve: str,
    row_ptr: _Limbs,
    cols: npt.NDArray[np.uint32],
    coeffs: npt.NDArray[np.uint32],
    values: _Limbs,
    z: _Limbs,
    out: _Limbs,
    threads: int,
) -> None: ...
def evaluate_constraints(
    curve: str,
    a: _Matrix,
    b: _Matrix,
    c: _Matrix | None,
    z: _Limbs,
    out_a: _Limbs,
    out_b: _Limbs,
    out_c: _Limbs,
    threads: int,
) -> int | None: ...
def hadamard(curve: str, a: _Limbs, b: _Limbs, out: _Limbs, threads: int) -> None: ...
def msm(curve: str, g2: bool, bases: _Limbs, scalars: _Limbs, out: _Limbs, threads: int) -> None: ...
def give_back_memory() -> None: ...

# bind_setup.cpp
def r1cs_count(
    section: npt.NDArray[np.uint8], constraints: int, wires: int, modulus: _Limbs, row_ptr: _Limbs
) -> tuple[int, int, int]: ...
def r1cs_fill(
    section: npt.NDArray[np.uint8],
    constraints: int,
    wires: int,
    a: npt.NDArray[np.uint32],
    b: npt.NDArray[np.uint32],
    c: npt.NDArray[np.uint32],
    a_values: _Limbs,
    b_values: _Limbs,
    c_values: _Limbs,
) -> None: ...
def dictionary_new() -> object: ...
def dictionary_code(dictionary: object, values: _Limbs, codes: npt.NDArray[np.uint32]) -> int: ...
def dictionary_values(dictionary: object, first: int, out: _Limbs) -> None: ...
def fixed_base(curve: str, g2: bool, base: _Limbs, scalars: _Limbs, out: _Limbs, threads: int) -> None: ...
def read_uncompressed(
    curve: str, g2: bool, data: npt.NDArray[np.uint8], out: _Limbs, threads: int
) -> tuple[int, int] | None: ...
def write_uncompressed(
    curve: str, g2: bool, points: _Limbs, out: npt.NDArray[np.uint8], threads: int
) -> None: ...
