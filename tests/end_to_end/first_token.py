"""The first token transformers picks after a prompt, and its log-probability. Runs in the llmcompressor environment.

`python first_token.py CHECKPOINT` reads token ids as JSON from standard input and prints [token id, log-probability].
"""

from __future__ import annotations

import json
import sys

import torch
from transformers import AutoModelForCausalLM


def main(checkpoint: str) -> None:
    ids = torch.tensor([json.load(sys.stdin)])
    model = AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.bfloat16)
    with torch.no_grad():
        scores = model(ids).logits[0, -1].float().log_softmax(-1)
    token = int(scores.argmax())
    print(json.dumps([token, float(scores[token])]))


if __name__ == "__main__":
    main(sys.argv[1])
