"""Log-probabilities of given first tokens after given prompts, by transformers. Runs in the quantizers' environments.

`python first_tokens.py CHECKPOINT` reads [[prompt token ids, token id], …] from standard input and prints a list.
"""

from __future__ import annotations

import json
import sys

import torch
from transformers import AutoModelForCausalLM


def main(checkpoint: str) -> None:
    model = AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.bfloat16)
    scores = []
    for prompt, token in json.load(sys.stdin):
        with torch.no_grad():
            scores.append(float(model(torch.tensor([prompt])).logits[0, -1].float().log_softmax(-1)[token]))
    print(json.dumps(scores))


if __name__ == "__main__":
    main(sys.argv[1])
