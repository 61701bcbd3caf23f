#!/usr/bin/env bash
# Writes MANIFEST anew: the SHA-256 of every data file here, sorted by path. Texts and scripts are no data.
# Check it with: (cd corpora && sha256sum --check --quiet MANIFEST)
set -euo pipefail
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")"
find . -type f ! -name '*.md' ! -name '*.py' ! -name '*.sh' ! -name '*.pyc' ! -name 'MANIFEST*' \
  -printf '%P\0' | sort --zero-terminated | xargs --null sha256sum > MANIFEST.part
mv MANIFEST.part MANIFEST
