"""The golden files. `python -m tests.registry.release.golden_files` writes them anew; read them first."""

from __future__ import annotations

from pathlib import Path

from registry.release.backends import Route
from registry.release.files import fleet_files, scene_files
from registry.release.release_of import Additions, release_of
from tests.registry.load_records import load_profile, serving
from tests.registry.release.release_material import BACKENDS, Material, execution, sha

GOLDEN = Path(__file__).parent / "golden"
SHARES = {"qa": 0.05, "tools": 1.0, "contract": 1.0}
CANARY = Additions(canary={"steps": [{"share": 0.05}]}, guardrails={"margin_pp": 0.5})


def routes() -> list[Route]:
    """One scene in its canary, one released to all and measured under load, one that stays on the baseline."""
    material = Material(serving={"fp8": serving(load_profile("fp8", sha("fp8"), execution("fp8"), profile="a100"))})
    promotion, bundle = material.promotion(), material.bundle()
    added = {"qa": CANARY}
    return [Route(release_of(scene, promotion, bundle, added.get(scene)), share) for scene, share in SHARES.items()]


def golden_texts() -> dict[str, str]:
    """Path below `golden/` -> text."""
    made = routes()
    texts = dict(fleet_files(made, BACKENDS))
    for route in made:
        scene = route.release.scene
        texts |= {f"{scene}/{name}": text for name, text in scene_files(route, BACKENDS).items()}
    return texts


def main() -> None:
    """Write every golden file, and say which."""
    for name, text in golden_texts().items():
        path = GOLDEN / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        print(path.relative_to(GOLDEN))


if __name__ == "__main__":
    main()
