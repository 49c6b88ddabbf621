from __future__ import annotations
from tests.pipelines.engine.bench import Bench
def test_one(bench: Bench) -> None:
    rows, record = bench.run()
    print(rows["qa"][0], record)
    print(bench.asked())
    assert 0
