from datetime import timedelta

import pytest

from soorma_ai.kernel.rules.arrival.poison import pause_after_crash


@pytest.mark.parametrize(("crashes", "minutes"), [(0, 0), (1, 0), (2, 0), (3, 1), (4, 4), (5, 5), (10**6, 5)])
def test_a_delivery_in_hand_at_crashes_rests_longer_each_time(crashes: int, minutes: int) -> None:
    assert pause_after_crash(crashes) == timedelta(minutes=minutes)
