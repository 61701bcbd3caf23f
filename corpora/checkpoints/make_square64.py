"""Writes square64.safetensors: one linear layer of 64 x 64, the smallest that shows the lost tail.

    python3 make_square64.py [FOLDER]      needs only the Python standard library

Its weight gradient over a microbatch of 96784 tokens is a GEMM of M = N = 64 and K = 96784. The
weight is w[i][j] = (2 * ((17 i + 5 j) mod 64) - 63) / 512, which BF16 holds exactly.
"""

import json
import pathlib
import struct
import sys

SIZE = 64


def bf16(value):
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    assert bits & 0xFFFF == 0
    return struct.pack("<H", bits >> 16)


def main(folder):
    weight = b"".join(
        bf16((2 * ((17 * i + 5 * j) % SIZE) - 63) / 512) for i in range(SIZE) for j in range(SIZE)
    )
    tensors = {
        "square.weight": {"dtype": "BF16", "shape": [SIZE, SIZE], "data_offsets": [0, len(weight)]}
    }
    header = json.dumps(tensors, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    path = pathlib.Path(folder) / "square64.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + weight)


if __name__ == "__main__":
    main(*sys.argv[1:] or [pathlib.Path(__file__).parent])
