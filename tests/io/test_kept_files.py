"""KeptFiles: read once, and the same as if read anew."""

import os

import numpy as np
import pytest

from imvc.io import (
    ColumnOptions,
    InputError,
    KeptFiles,
    Preparation,
    _kept_files,
    _prepare_view,
    learn_where_empty,
    read_metadata,
    read_views,
)
from study_files import write_study


@pytest.fixture
def counted(monkeypatch):
    """The names of the files that were read, in order."""
    read, real = [], _kept_files.read_raw

    def counting(file, transpose=False):
        read.append(file.path.name)
        return real(file, transpose)

    monkeypatch.setattr(_kept_files, "read_raw", counting)
    return read


def same(a, b):
    assert a.notes == b.notes
    assert a.warnings == b.warnings
    assert a.views.names == b.views.names
    assert a.views.feature_names == b.views.feature_names
    for v in range(a.views.n_views):
        np.testing.assert_array_equal(a.views.observed(v), b.views.observed(v))


WAYS = [
    {},
    {"preparation": Preparation(scale="standard", top_variance=3)},
    {"columns": ColumnOptions(drop={"rna": ["gene1"]}, kinds={"sex": "metadata"})},
    {"match_ids": "loose"},
    {},
]


def test_what_is_kept_is_as_good_as_read_anew(tmp_path, counted):
    paths, _ = write_study(tmp_path)
    kept = KeptFiles()
    for way in WAYS:
        same(read_views(paths, read=kept, **way), read_views(paths, **way))
    assert counted == ["rna.csv", "protein.tsv", "clinical.csv"]


def test_a_file_that_changed_is_read_again(tmp_path, counted):
    paths, _ = write_study(tmp_path)
    kept = KeptFiles()
    read_views(paths, read=kept)
    counted.clear()
    os.utime(paths[1], ns=(1, 1))
    read_views(paths, read=kept)
    assert counted == ["protein.tsv"]
    # A name is part of what is asked for.
    read_views(paths, read=kept, names=["rna", "p", "clinical"])
    assert counted == ["protein.tsv", "rna.csv", "protein.tsv", "clinical.csv"]


def test_what_is_dropped_is_read_again(tmp_path, counted):
    paths, _ = write_study(tmp_path)
    kept = KeptFiles()
    read_views(paths, read=kept)
    kept.drop_others(paths[:1])
    counted.clear()
    read_views(paths, read=kept)
    assert counted == ["protein.tsv", "clinical.csv"]


def test_ids_may_be_chosen_from_a_file_whose_ids_are_wrong(tmp_path):
    paths, _ = write_study(tmp_path)
    kept = KeptFiles()
    with pytest.raises(InputError, match="has no column 'nobody'"):
        read_views(paths[2:], id_columns="nobody", read=kept)
    assert kept.id_candidates(paths[2]) == ["patient", "sex"]


def with_empty_cells(path):
    """The same file with some cells empty."""
    lines = path.read_text().splitlines()
    for i in range(1, len(lines), 4):
        cells = lines[i].split(",")
        lines[i] = ",".join([*cells[:-1], ""])
    path.write_text("\n".join(lines) + "\n")


def test_filling_is_learnt_only_where_cells_are_empty_and_once(tmp_path, monkeypatch):
    paths, _ = write_study(tmp_path)
    with_empty_cells(paths[0])
    learnt, real = [], _prepare_view.fit_low_rank

    def counting(X, **options):
        learnt.append(X.shape[1])
        return real(X, **options)

    kept, options = KeptFiles(), {"drop": {"protein": ["prot1"]}}
    whole = read_views(paths)
    monkeypatch.setattr(_prepare_view, "fit_low_rank", counting)
    found = read_views(paths, read=kept, learn=kept.learn)
    same(found, whole)
    assert learnt == [6]
    # What is done to another file is no reason to learn again.
    read_views(paths, read=kept, learn=kept.learn, columns=ColumnOptions(**options))
    assert learnt == [6]
    read_views(paths, learn=kept.learn, preparation=Preparation(scale="standard"))
    assert learnt == [6, 6]
    same(read_views(paths, learn=learn_where_empty), whole)


def test_the_ids_of_a_table_of_metadata_are_named(tmp_path):
    paths, _ = write_study(tmp_path)
    kept = KeptFiles()
    assert kept.id_column(paths[2]) is None  # not read yet
    read_metadata(paths[2], read=kept)
    assert kept.id_column(paths[2]) == "patient"
