"""What a promotion leaves behind. There is no clock in it: it is unchanged when nothing moved."""

from __future__ import annotations

from evalsets.records import Record
from registry.evidence import Sha256


class ScenePromotion(Record):
    """What a scene's alias holds: the variant, its weights, and the number of its version in the registry."""

    variant: str
    weights_digest: Sha256
    version: int


class Promotion(Record):
    """The registered model and, per scene, what serves it after `decision_sha256` was applied."""

    model: str
    decision_sha256: Sha256
    scenes: dict[str, ScenePromotion]
