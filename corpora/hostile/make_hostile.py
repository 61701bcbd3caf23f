#!/usr/bin/env python3
"""Makes the small files that must be refused, and expected.tsv: each file's name and the reason.

Needs nothing but Python's standard library and gives the same bytes every time. In the message the
file's path stands before the reason.
"""
import io
import json
import pathlib
import pickle
import struct
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
CASES = {}  # file name -> (bytes, reason)


def case(name, data, reason):
    CASES[name] = (data, reason)


def safetensors(header, data=b"", length=None):
    """A file as the format asks, whatever the header says; `length` replaces its true length."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


ONE = {"w": tensor("F32", [2], 0, 8)}
TOO_LONG = ("not a safetensors file: its first 8 bytes announce a header of {} bytes; "
            "at most 100000000 are allowed")
NO_BRACE = "the header does not begin with '{'"

# The frame.
case("empty.safetensors", b"", "is empty")
case("short.safetensors", b"\x02\0\0\0\0\0\0", "not a safetensors file: it has only 7 bytes")
case("length_max.safetensors", safetensors(ONE, bytes(8), 2**64 - 1),
     TOO_LONG.format(2**64 - 1))
case("length_minus_8.safetensors", safetensors(ONE, bytes(8), 2**64 - 8),
     TOO_LONG.format(2**64 - 8))
case("length_over_limit.safetensors", safetensors(ONE, bytes(8), 100_000_001),
     TOO_LONG.format(100_000_001))
case("header_cut.safetensors", safetensors(ONE)[:-1],
     "not a whole safetensors file: a header of 61 bytes is announced, 60 bytes follow")
case("header_none.safetensors", bytes(8), NO_BRACE)
case("header_space_first.safetensors", safetensors(b" {}"), NO_BRACE)
case("header_byte_order_mark.safetensors", safetensors(b"\xef\xbb\xbf{}"), NO_BRACE)
case("header_zero_byte.safetensors", safetensors(b"{}\0{"),
     "the header is not valid JSON at its byte 3")

# The cover: every byte of the data belongs to one tensor.
case("data_cut.safetensors", safetensors(ONE, bytes(7)),
     "tensor w: data_offsets [0, 8] reach beyond the 7 bytes of data in the file")
case("trailing_bytes.safetensors", safetensors(ONE, bytes(12)),
     "4 bytes at the end of the file belong to no tensor")
case("hole.safetensors",
     safetensors({"a": tensor("U8", [2], 0, 2), "b": tensor("U8", [2], 3, 5)}, bytes(5)),
     "tensor b: a hole of 1 bytes that belong to no tensor lies before it")
case("same_range.safetensors",
     safetensors({"a": tensor("U8", [4], 0, 4), "b": tensor("U8", [4], 0, 4)}, bytes(4)),
     "tensor b: overlaps tensor a in the file")
case("overlap.safetensors",
     safetensors({"a": tensor("U8", [4], 0, 4), "b": tensor("U8", [4], 3, 7)}, bytes(7)),
     "tensor b: overlaps tensor a in the file")
case("duplicate_key.safetensors",
     safetensors(b'{"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},'
                 b'"w":{"dtype":"I8","shape":[1],"data_offsets":[0,1]}}', bytes(1)),
     'the key "w" stands twice in the header')
case("shape_wraps.safetensors", safetensors({"w": tensor("U8", [2**32, 2**32], 0, 0)}),
     "tensor w: the size of shape [4294967296, 4294967296] overflows")
case("shape_wraps_in_bytes.safetensors", safetensors({"w": tensor("F64", [2**61], 0, 0)}),
     "tensor w: the size of shape [2305843009213693952] overflows")
case("offset_2_64.safetensors", safetensors({"w": tensor("U8", [1], 0, 2**64)}, bytes(1)),
     "tensor w: data_offsets hold a number that is not an integer below 2^64")
case("name_escape.safetensors", safetensors({"w\x1b[2J": tensor("U8", [1], 0, 1)}, bytes(1)),
     r"tensor w\x1b[2J: the name holds a control character")

# Other formats, by their first bytes.
TORCH = ('; convert its flat dict of tensors in Python: import torch, safetensors.torch; '
         'safetensors.torch.save_file({k: v.clone().contiguous() for k, v in torch.load("OLD", '
         'map_location="cpu", weights_only=True).items()}, "NEW.safetensors")')
OTHER = "; load its tensors with its own library and save them with safetensors.numpy.save_file"


def foreign(name, data, what, advice):
    case(name, data, f"is {what}, which samebits does not read{advice}")


def archive(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for member in members:
            file.writestr(zipfile.ZipInfo(member), b"")
    return buffer.getvalue()


foreign("archive.pt", archive(["archive/data.pkl"]), "a ZIP archive, as torch.save writes", TORCH)
foreign("empty_archive.pt", archive([]), "an empty ZIP archive", TORCH)
# torch.save before 1.6 begins with this number, pickled by protocol 2.
foreign("legacy.pt", pickle.dumps(0x1950A86A20F9469CFC6C, 2),
        "a Python pickle, as older torch.save wrote", TORCH)
foreign("pickle_4.pkl", pickle.dumps({"w": [1, 2]}, 4), "a Python pickle", TORCH)
foreign("model.gguf", b"GGUF" + struct.pack("<IQQ", 3, 0, 0), "a GGUF file", OTHER)
foreign("model.h5", b"\x89HDF\r\n\x1a\n" + bytes(8), "an HDF5 file", OTHER)
foreign("array.npy", b"\x93NUMPY\x01\0" + bytes(8), "a NumPy array", OTHER)
foreign("lfs_pointer.safetensors", b"version https://git-lfs.github.com/spec/v1\n",
        "a Git LFS pointer, not the data", "; fetch the data with git lfs pull")
foreign("model.safetensors.index.json", json.dumps({"metadata": {}, "weight_map": {}}).encode(),
        "the index of a sharded checkpoint",
        "; name one shard, or merge the shards in Python: from safetensors.torch import load_file, "
        "save_file; save_file({k: v for shard in SHARDS for k, v in load_file(shard).items()}, "
        '"NEW.safetensors")')
case("text.txt", b"these are not the weights\n",
     TOO_LONG.format(int.from_bytes(b"these ar", "little")))

for name, (data, _) in CASES.items():
    (HERE / name).write_bytes(data)
LINES = (f"{name}\t{reason}\n" for name, (_, reason) in sorted(CASES.items()))
(HERE / "expected.tsv").write_text("".join(LINES))
