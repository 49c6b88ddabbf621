"""The release gate of a pull request: the base branch's code, policies and suites on the evidence that it brings."""
