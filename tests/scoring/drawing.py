"""Hypothesis strategies for policies and the runs they are tried on; alphabets are small."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from oracle import NOT_CAPTURED, Invalid
from oracle.policies import Made, Wanted
from scoring.ruling import Case

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

TOOLS = ("a", "b", "ab")
MODES = ("exact", "names", "actual_has_expected", "expected_has_actual")

# Values that one rule or another makes equal, and neighbours that none may.
VALUES: list[Any] = [
    *(None, True, 0, 1, 1.0, 1.1, 1.11, 2.5, 3.5, -0.0, 742, 2**70, 2**70 + 1, 10**30),
    *("1", "1.0", "-0", "+1", "1e0", "00742", "742", "true", "", " ", "null"),
    *("A", "a", " a ", "É", "é", "km", "kilometre", "KM"),
    *("2024-01-02", "2024-01-02T23:30:00-05:00", "2024-01-03T04:30:00Z", "2024-13-01"),
    *("{}", '{"u": 1}', "[2, 1]", "1e400", "a|A", "."),
]
values = st.sampled_from(VALUES)
lists = st.lists(st.sampled_from([1, "1", 1.0, 2, "A", "a", "km", "kilometre"]), max_size=3)
nested = st.fixed_dictionaries({}, optional={"u": values | lists, "x": values})
arguments = st.fixed_dictionaries({}, optional={"x": values | lists, "y": values, "o": nested})
few = st.sampled_from([{}, {"x": 1}, {"x": 1.0}, {"x": 2}, {"x": 1, "y": "a"}, {"y": "a"}])

KINDS: dict[str, SearchStrategy[Any]] = {
    **dict.fromkeys(
        ("ignore", "json", "strip", "number", "unordered", "date", "datetime"), st.just(value=True)
    ),
    "case": st.just("lower"),
    "pattern": st.just("regex"),
    "round": st.integers(-2, 2),
    "tolerance": st.sampled_from([0, 0.1, 1, 10]),
    "map": st.sampled_from([{"km": "kilometre", "A": "a"}, {"a": 1, "1": "A"}, {"km": "A"}]),
    "default": st.sampled_from([1, "1", " a ", [2, 1], {"u": 1}]),
}
GLOBS = ("*", "x", "y", "o", "o.u", "o.*", "?")
PAIRWISE = ("tolerance", "pattern")


@st.composite
def rules(draw: DrawFn, kinds: tuple[str, ...] = tuple(KINDS)) -> dict[str, Any]:
    kind = draw(st.sampled_from(kinds))
    args = [glob for glob in GLOBS if kind != "default" or not set(glob) & set("*?")]
    tool, arg = draw(st.sampled_from(["*", "a", "a*", "b"])), draw(st.sampled_from(args))
    return {"tool": tool, "arg": arg, kind: draw(KINDS[kind])}


def policies(
    rule: SearchStrategy[dict[str, Any]] | None = None,
    most: int = 4,
    modes: tuple[str, ...] = MODES,
) -> SearchStrategy[dict[str, Any]]:
    """Policies of modes, modes per tool, and rules."""
    match = st.fixed_dictionaries(
        {},
        optional={
            "args": st.sampled_from(modes),
            "tools": st.dictionaries(
                st.sampled_from(["a", "b", "a*", "*"]), st.sampled_from(modes), max_size=2
            ),
            "rule": st.lists(rules() if rule is None else rule, max_size=most),
        },
    )
    return st.fixed_dictionaries({"match": match})


def wanted(
    args: SearchStrategy[Any], *, optional: bool = False, turns: bool = False
) -> SearchStrategy[Wanted]:
    fields = st.tuples(
        st.sampled_from(TOOLS),
        args,
        st.booleans() if optional else st.just(value=False),
        st.none() | st.integers(0, 2) if turns else st.none(),
    )
    return fields.map(lambda told: Wanted(*told))


def made(
    args: SearchStrategy[Any], *, turns: bool = False, responses: bool = False
) -> SearchStrategy[Made]:
    fields = st.tuples(
        st.sampled_from(TOOLS),
        args,
        st.none() | st.integers(0, 2) if turns else st.none(),
        st.none() | st.integers(0, 2) if responses else st.none(),
    )
    return fields.map(lambda told: Made(*told))


@st.composite
def _kin(
    draw: DrawFn, expected: SearchStrategy[Wanted], actual: SearchStrategy[Made], longest: int
) -> Case:
    """A run whose first calls are expected ones, in their order or another."""
    wanted = draw(st.lists(expected, max_size=longest))
    order = draw(st.just(wanted) | st.permutations(wanted))
    made = draw(st.lists(actual, max_size=longest))
    alike = [
        call._replace(name=want.name, args=call.args if unknown else want.args)
        for call, want in zip(made, order, strict=False)
        for unknown in [want.args is None or call.args is NOT_CAPTURED]
    ]
    return Case(wanted, alike + made[len(alike) :])


def cases(
    expected: SearchStrategy[Wanted], actual: SearchStrategy[Made], longest: int, most: int = 12
) -> SearchStrategy[list[Case]]:
    """A handful of runs, to be landed together; strangers to their references, or kin."""
    one = st.tuples(st.lists(expected, max_size=longest), st.lists(actual, max_size=longest))
    either = one.map(lambda pair: Case(*pair)) | _kin(expected, actual, longest)
    return st.lists(either, min_size=1, max_size=most)


any_arguments = st.none() | arguments | st.just(Invalid("{"))
captured_or_not = arguments | st.just(NOT_CAPTURED) | st.sampled_from([Invalid("{"), Invalid("{ ")])
