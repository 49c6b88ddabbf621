#!/bin/sh
# Resolve envs/*.in into hash-pinned, transitive envs/*.txt. For maintainers: needs `uv` on the PATH.
set -eu
cd "$(dirname "$0")"
compile() {
    name=$1
    shift
    uv pip compile --quiet --generate-hashes --no-header --no-annotate --no-emit-find-links \
        --python-version 3.11 --python-platform x86_64-manylinux_2_28 "$@" "$name.in" -o "$name.txt"
}
compile control
compile llmcompressor
# triton and zstandard are for what AutoAWQ does elsewhere: kernels of cards, and other data sets.
compile autoawq --no-emit-package triton --no-emit-package zstandard
compile ci
compile litellm
compile system
# The judge is measured with the versions it runs with.
compile quality
# bfcl-eval lists what its other parts use, torch among it; its checker imports none of bfcl.excludes.
compile bfcl --excludes bfcl.excludes
# lm_eval lists what its tasks, metrics and local models use; its API models import none of clients.excludes.
compile clients --excludes clients.excludes
# The vision and audio builds do not match the CPU torch and break importing transformers; triton is unused on CPUs.
compile vllm --no-emit-package torchvision --no-emit-package torchaudio --no-emit-package torchcodec \
    --no-emit-package triton
