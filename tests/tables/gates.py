"""Gates spelled short, and the runs that they judge."""

from __future__ import annotations

from arms import arms


def write(path, *gates):
    path.write_text("".join(f"[[gate]]\n{one}\n" for one in gates))
    return path


def rule(metric="success", **limits):
    return "\n".join([f'metric = "{metric}"', *(f"{k} = {v}" for k, v in limits.items())])


def only(result):
    return result.rows.row(0, named=True)


def changes(losses, wins, same=0, metric="success"):
    """Return one-trial 0/1 runs with so many tasks from 1 to 0, from 0 to 1, and unchanged."""
    values = [(True, False)] * losses + [(False, True)] * wins + [(True, True)] * same
    return arms(metric, [(i, *both) for i, both in enumerate(values)])
