"""The example of docs/judge.md runs and prints what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_example_prints_what_the_page_says() -> None:
    page = (ROOT / "docs" / "judge.md").read_text("utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (shown,) = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == shown
