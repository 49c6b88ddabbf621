"""Lint of suites as data: rows, index, declared make-up, golds against schemas, overlap. Needs no judge."""
