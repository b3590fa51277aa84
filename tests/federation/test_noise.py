"""The demo under noise: five provisioned parties with budgets, TLS on loopback, one whole run."""

from contextlib import closing
from pathlib import Path

import pytest

import folkmoot as fm
from folkmoot.engines import FolderStore
from folkmoot.privacy.accounting import Privacy
from tests.cli.calling import folkmoot

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("federation")]
PEOPLE = 5_000


def test_the_demo_spends_the_budgets_of_its_services(tmp_path: Path) -> None:
    said = folkmoot(tmp_path, "federation", "demo", "d", "--epsilon", "2", "--people", str(PEOPLE), "--clinics", "4")
    assert said.code == 0, said
    result = fm.verify(tmp_path / "d" / "run" / "transcript")
    assert result.privacy is not None
    assert (result.privacy.epsilon, result.privacy.honest) == (2.0, 3)
    limit = Privacy(2.0).find_mu(PEOPLE) ** 2
    kits = [path.parent for path in (tmp_path / "d" / "moot").glob("*/policy.toml")]
    assert len(kits) == 5
    for kit in kits:
        with closing(FolderStore(kit / "store")) as store:
            assert store.read_mileage().largest[0] == pytest.approx(limit, rel=1e-9)
            assert not store.read_refusals()
        told = folkmoot(tmp_path, "federation", "status", str(kit), "--json").json
        assert told["Budget"].startswith("ε = 2 of 2 spent at most")
