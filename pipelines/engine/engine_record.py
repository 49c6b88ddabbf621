"""The engine record of a session: measured of an engine that was started here, declared of a remote one."""

from __future__ import annotations

from pathlib import Path

from evalsets.records import InputError
from pipelines.engine import kernels, record
from pipelines.engine.endpoint import Endpoint
from pipelines.engine.numerics import measured_class
from pipelines.engine.prepare import Session
from pipelines.engine_modes import LocalEngine, RemoteEngine
from registry.evidence import EngineRecord, ExecutionClass, Hardware, SharedSettings


def execution_of(session: Session, endpoint: Endpoint) -> ExecutionClass:
    """The numerics of a session's engine.

    Raises `InputError` where quantized weights name no kernel: in the engine's log, or in the profile's declaration.
    """
    engine, served = session.params.engine, session.served
    if isinstance(engine, RemoteEngine):
        return _declared(engine, session)
    version = session.version or record.said_version(endpoint.url, _log(endpoint), endpoint.api_key)
    lines = record.kernel_lines(_log(endpoint))
    return measured_class(engine, served, version, lines, session.environment)


def engine_record(session: Session, endpoint: Endpoint, execution: ExecutionClass) -> EngineRecord:
    """The record, without the digests of responses and with no time but that of the start."""
    params, engine, plan = session.params, session.params.engine, session.plan
    lines = record.kernel_lines(_log(endpoint)) if isinstance(engine, LocalEngine) else []
    shared = SharedSettings(
        suites=plan.suites,
        toolsets_sha256=plan.toolsets_sha256,
        template_sha256=plan.template_sha256,
        prompts_sha256=plan.prompts_sha256,
        sampling_sha256=plan.sampling_sha256,
        engine=execution.engine,
        engine_version=execution.engine_version,
        device=execution.device,
        compute_capability=execution.compute_capability,
        dtype=engine.dtype,
        attention_backend=(
            engine.execution.attention_backend if isinstance(engine, RemoteEngine) else kernels.attention_backend(lines)
        ),
        max_model_len=engine.max_model_len,
        max_num_seqs=engine.max_num_seqs,
        max_num_batched_tokens=engine.max_num_batched_tokens,
        prefix_caching=engine.prefix_caching,
    )
    return EngineRecord(
        profile=params.profile,
        run=session.run,
        variant=session.manifest.variant,
        weights_digest=session.manifest.weights_digest,
        served_digest=session.served.digest,
        served_name=session.name,
        mode=engine.mode,
        execution=execution,
        shared=shared,
        tool_parser=engine.tool_parser,
        dialect=engine.dialect,
        order_seed=plan.order_seed,
        generation_key=session.key,
        argv=session.argv,
        environment=session.environment,
        kernel_lines=lines,
        cache_config={} if isinstance(engine, RemoteEngine) else record.cache_config(endpoint.url),
        responses={},
        hardware=_declared_hardware(execution) if isinstance(engine, RemoteEngine) else record.hardware(engine.device),
        wall_s={"start": endpoint.start_s},
    )


def _declared(engine: RemoteEngine, session: Session) -> ExecutionClass:
    said, variant = engine.execution, session.manifest.variant
    kernel = said.kernels.get(variant, "") if session.served.quantized else kernels.UNQUANTIZED
    if not kernel:
        raise InputError(
            f"engine.execution.kernels: none declared for {variant}, whose weights are quantized; take the name from "
            f"the endpoint's start-up log (Using … for …)"
        )
    declared = [f"Using {one} for declared" for one in kernel.split("+")]
    weight_bits, activation_bits = kernels.computed_bits(declared, session.served.bits, {}, said.compute_capability)
    return ExecutionClass(
        device=said.device,
        compute_capability=said.compute_capability,
        engine=said.engine,
        engine_version=said.engine_version,
        linear_kernel=kernel,
        weight_bits=weight_bits,
        activation_bits=activation_bits,
        dtype=engine.dtype,
    )


def _declared_hardware(execution: ExecutionClass) -> Hardware:
    # Nothing of the machine but what was declared is known.
    accelerator = None if execution.device == "cpu" else execution.device
    return Hardware(processor="declared, not measured", cores=0, memory_bytes=0, accelerator=accelerator)


def _log(endpoint: Endpoint) -> Path:
    if endpoint.log is None:
        raise InputError(f"{endpoint.url}: it has no log on this machine")
    return endpoint.log
