"""Each call of a scenario as a case of its own: the n-th call is disturbed, and in the last case there is none left to disturb.

@each_call(least=25, most=40)
def test_a_pipe_goes_on_by_itself(owner, faults, call):
    faults.arm(Fault("drop", nth=call.nth))
    ...
    call.check(faults.faults_fired())
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest


@dataclass(frozen=True, slots=True)
class Call:
    """Which call of a scenario is disturbed.

    Attributes:
        nth: this one, counted from 1.
        least, most: how many calls the scenario makes, whatever the other parameters are.
    """

    nth: int
    least: int
    most: int

    def check(self, came: object) -> None:
        """Fail if the cases do not cover all calls. ``came`` is true if there was an n-th call."""
        if came:
            assert self.nth <= self.most, f"there are more than {self.most} calls: most= has to be raised"
        else:
            assert self.nth > self.least, f"there are {self.nth - 1} calls, at least {self.least} were expected"


def each_call(*, least: int, most: int, first: int = 1) -> pytest.MarkDecorator:
    """Parametrise ``call`` with each call from ``first`` on, and with one that is never made."""
    calls = [Call(nth, least, most) for nth in range(first, most + 2)]
    return pytest.mark.parametrize("call", calls, ids=lambda call: f"call-{call.nth}")
