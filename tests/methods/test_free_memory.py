import pytest

from imvc import _machine
from imvc._machine import available_memory
from imvc.methods import _cost
from imvc.methods._cost import check_memory


def test_a_need_beyond_what_is_free_is_refused_in_gib():
    with pytest.raises(MemoryError, match=r"UEAF .* 3\.0 GiB .* 1\.5 GiB are free"):
        check_memory(3 * 2**30, "UEAF on 9 samples", available=3 * 2**29)


def test_a_need_that_fits_passes():
    check_memory(2**20, "a small thing", available=2**21)
    check_memory(1, "one byte")


def test_an_absurd_need_is_refused_wherever_memory_is_known():
    if available_memory() is None:
        pytest.skip("this system does not tell its free memory")
    with pytest.raises(MemoryError, match="GiB"):
        check_memory(2**63, "everything")


def test_control_group_limits_count_and_cached_pages_are_free(tmp_path):
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("900\n")
    (tmp_path / "memory.stat").write_text("anon 500\ninactive_file 300\n")
    assert _machine._group_memory(tmp_path) == 400


def test_old_control_groups_are_read_too(tmp_path):
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text("1000\n")
    (tmp_path / "memory" / "memory.usage_in_bytes").write_text("1200\n")
    assert _machine._group_memory(tmp_path) == 0


def test_a_group_without_limit_does_not_count(tmp_path):
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("900\n")
    assert _machine._group_memory(tmp_path) is None


def test_meminfo_is_read_in_kib(tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:   5 kB\n")
    assert _machine._machine_memory(tmp_path / "meminfo") == 5 * 1024


def test_unknown_memory_refuses_nothing(monkeypatch):
    monkeypatch.setattr(_cost, "available_memory", lambda: None)
    check_memory(2**63, "everything")
