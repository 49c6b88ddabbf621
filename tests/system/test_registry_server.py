"""What holds for a registry in an sqlite file holds on a tracking server with PostgreSQL: the same tests, run there."""

from __future__ import annotations

import socket
from pathlib import Path

from registry.store.mlflow_store import Store
from tests.registry.store.probe import MODEL, make_small, promoted, runs_of
from tests.registry.store.test_crash import (
    test_a_stale_plan_that_was_half_applied_can_be_applied_again,
    test_what_a_crash_left_open_is_finished_even_by_another_decision,
)
from tests.registry.store.test_promotion import (
    test_a_broken_decision_writes_nothing,
    test_a_missing_checkpoint_is_refused,
    test_a_model_without_a_hardware_tag_takes_that_of_the_first_evidence,
    test_a_second_promotion_writes_nothing,
    test_a_verdict_of_a_scene_that_is_no_more_leaves_the_version,
    test_an_alias_moved_by_hand_is_respected_until_the_decision_moves_it,
    test_an_alias_on_a_foreign_version_is_not_taken,
    test_each_measured_run_is_a_run_of_its_own_and_all_have_the_same_metrics,
    test_evidence_from_other_hardware_than_the_models_is_refused,
    test_new_weights_are_a_new_version_and_known_ones_get_the_new_verdict,
    test_only_what_a_move_or_a_new_version_needs_is_read_again,
    test_other_weights_than_the_tested_are_refused_and_nothing_is_written,
    test_the_evaluation_run_holds_numbers_and_files,
    test_the_first_promotion_registers_every_variant_and_moves_the_aliases,
    test_the_journal_says_from_to_scene_reason_and_decision,
)
from tests.registry.store.test_rollback import test_a_reason_is_wanted, test_promote_roll_back_promote_again
from tests.registry.store.test_two_hosts import (
    test_a_second_promoter_behind_any_write,
    test_a_second_promoter_between_the_journal_and_the_alias,
    test_a_second_promoter_between_the_search_for_a_version_and_its_creation,
    test_a_second_promoter_between_the_search_for_an_evaluation_and_its_creation,
)

__all__ = [
    "test_a_broken_decision_writes_nothing",
    "test_a_missing_checkpoint_is_refused",
    "test_a_model_without_a_hardware_tag_takes_that_of_the_first_evidence",
    "test_a_reason_is_wanted",
    "test_a_second_promoter_behind_any_write",
    "test_a_second_promoter_between_the_journal_and_the_alias",
    "test_a_second_promoter_between_the_search_for_a_version_and_its_creation",
    "test_a_second_promoter_between_the_search_for_an_evaluation_and_its_creation",
    "test_a_second_promotion_writes_nothing",
    "test_a_stale_plan_that_was_half_applied_can_be_applied_again",
    "test_a_verdict_of_a_scene_that_is_no_more_leaves_the_version",
    "test_an_alias_moved_by_hand_is_respected_until_the_decision_moves_it",
    "test_an_alias_on_a_foreign_version_is_not_taken",
    "test_each_measured_run_is_a_run_of_its_own_and_all_have_the_same_metrics",
    "test_evidence_from_other_hardware_than_the_models_is_refused",
    "test_new_weights_are_a_new_version_and_known_ones_get_the_new_verdict",
    "test_only_what_a_move_or_a_new_version_needs_is_read_again",
    "test_other_weights_than_the_tested_are_refused_and_nothing_is_written",
    "test_promote_roll_back_promote_again",
    "test_the_evaluation_run_holds_numbers_and_files",
    "test_the_first_promotion_registers_every_variant_and_moves_the_aliases",
    "test_the_journal_says_from_to_scene_reason_and_decision",
    "test_what_a_crash_left_open_is_finished_even_by_another_decision",
]


def test_a_version_names_host_and_path_and_artifacts_go_through_the_server(store: Store, tmp_path: Path) -> None:
    run = make_small(tmp_path)
    number = promoted(store, run).scenes["qa"].version
    source = store.client.get_model_version(MODEL, str(number)).source
    assert source == f"checkpoint://{socket.gethostname()}{run.layout.checkpoint('fp8').resolve()}"
    (evaluation,) = runs_of(store, "evaluations")
    assert evaluation.info.artifact_uri.startswith("mlflow-artifacts:/")


def test_a_description_longer_than_the_database_takes_is_cut_to_fit(store: Store, tmp_path: Path) -> None:
    run = make_small(tmp_path, reason="多" * 3000 + " " + "<&>" * 1000)
    promoted(store, run)
    description = store.aliases(MODEL)["qa"].description
    assert description.startswith("fp8. qa PASS (chosen).\n")
    assert "they are in the evaluation run, in report.md" in description
