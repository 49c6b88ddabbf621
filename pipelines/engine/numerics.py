"""The execution class of an engine that was started here: device, version, and what its kernels compute with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipelines.engine import kernels, record
from pipelines.engine.served import Served
from pipelines.engine_modes import LocalEngine
from registry.evidence import ExecutionClass


def measured_class(
    engine: LocalEngine, served: Served, version: tuple[str, str], lines: Sequence[str], environment: Mapping[str, str]
) -> ExecutionClass:
    """The numerics of an engine that was started here, with the bits that its kernels compute with."""
    kernel = kernels.linear_kernel(lines, served.quantized)
    made = record.execution_class(engine.device, engine.dtype, version, kernel, served.bits, served.note)
    if not served.quantized:
        return made
    bits = kernels.computed_bits(lines, served.bits, environment, made.compute_capability)
    return made.model_copy(update={"weight_bits": bits[0], "activation_bits": bits[1]})
