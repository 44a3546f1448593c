"""The tree drawn in the docstring of errors.py is the tree of its classes."""

from collections import Counter

import soorma_ai.errors
from soorma_ai.errors import Reject, Retry, SoormaError


def drawn_tree() -> dict[str, str | None]:
    """Return the name of the base class by the name of the class."""
    found: dict[str, str | None] = {}
    branch: list[str] = []
    for line in (soorma_ai.errors.__doc__ or "").splitlines():
        stem, fork, rest = line.partition("── ")
        if line == SoormaError.__name__:
            branch, rest = [], line
        elif not fork:
            continue
        name = rest.split()[0]
        branch = [*branch[: len(stem) // 4 + 1], name] if fork else [name]
        found[name] = branch[-2] if len(branch) > 1 else None
    return found


def real(kind: type[SoormaError] = SoormaError) -> dict[str, str | None]:
    found: dict[str, str | None] = {kind.__name__: None}
    for below in kind.__subclasses__():
        if below.__module__ == soorma_ai.errors.__name__:
            found |= real(below) | {below.__name__: kind.__name__}
    return found


def classes() -> list[type[SoormaError]]:
    return [getattr(soorma_ai.errors, name) for name in real()]


def test_the_drawn_tree_of_errors_is_the_real_one() -> None:
    assert drawn_tree() == real()


def test_each_error_has_one_base_class_only() -> None:
    assert [kind.__name__ for kind in classes() if len(kind.__bases__) > 1] == []


def test_each_error_has_a_code_of_its_own() -> None:
    codes = Counter(kind.code for kind in classes())
    assert [code for code, count in codes.items() if count > 1] == []
    assert [kind.__name__ for kind in classes() if "code" not in vars(kind)] == []
    assert [code for code in codes if not code.replace("_", "").isalpha() or code != code.lower()] == []


def test_retry_and_reject_are_no_errors_of_ours() -> None:
    assert not issubclass(Retry, SoormaError)
    assert not issubclass(Reject, SoormaError)
