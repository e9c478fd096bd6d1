"""The desk and the jobs: answers, errors, deaths, waiting, cancelling."""

import asyncio
import json
import os
import time
from pathlib import Path

import pytest

from imvc.studio import _processes
from imvc.studio._processes import INSIDE, Desk, Jobs, StudioError
from imvc.studio._tasks import Pace
from imvc.workflow import Stages


@pytest.fixture
def desk():
    found = Desk("desk_doubles:Desk")
    yield found
    found.close()


@pytest.fixture
def jobs():
    found = Jobs()
    yield found
    found.close()


def call(desk, method, **arguments):
    return json.loads(asyncio.run(desk.call(method, **arguments)))


def is_there(process):
    """Whether a process runs; one that has ended and was not waited for does not."""
    try:
        os.kill(process, 0)
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def wait_for(condition):
    while not condition():
        time.sleep(0.02)


def test_the_desk_is_one_process_that_keeps_what_it_knows(desk):
    first, second = call(desk, "count"), call(desk, "count")
    assert (first["calls"], second["calls"]) == (1, 2)
    assert first["process"] == second["process"] != os.getpid()


def test_calls_at_the_same_time_are_answered_one_after_the_other(desk):
    async def many():
        calls = (desk.call("count", pause=0.05) for _ in range(5))
        return await asyncio.gather(*calls)

    found = [json.loads(raw)["calls"] for raw in asyncio.run(many())]
    assert sorted(found) == [1, 2, 3, 4, 5]


def test_wrong_input_crosses_as_its_text_and_bugs_as_none(desk, caplog):
    with pytest.raises(StudioError, match=r"^k=1 must be at least 2\.$") as wrong:
        call(desk, "wrong")
    assert wrong.value.status == 400
    assert caplog.text == ""
    with pytest.raises(StudioError, match=f"^{INSIDE}$") as bug:
        call(desk, "bug")
    assert bug.value.status == 500
    assert "KeyError" in caplog.text
    with pytest.raises(StudioError, match="pip install it"):
        call(desk, "missing_package")


def test_what_is_no_json_is_an_error_and_not_a_broken_page(desk):
    with pytest.raises(StudioError, match=r"JSON compliant"):
        call(desk, "not_a_number")
    assert call(desk, "count")["calls"] == 1


def test_a_desk_that_died_is_replaced_with_the_next_call(desk):
    first = call(desk, "count")
    with pytest.raises(StudioError, match="ended without a word") as died:
        call(desk, "die")
    assert died.value.status == 500
    again = call(desk, "count")
    assert again["calls"] == 1
    assert again["process"] != first["process"]


def test_a_closed_desk_leaves_no_process_and_says_so(desk):
    process = call(desk, "count")["process"]
    desk.close()
    wait_for(lambda: not is_there(process))


def test_a_job_tells_progress_and_gives_its_result(jobs):
    doubled = {"then": lambda value: value * 2}
    job = jobs.submit("cluster", "one", "desk_doubles:echo", arguments={"value": 21})
    then = jobs.submit(
        "cluster", "two", "desk_doubles:echo", arguments={"value": 4}, **doubled
    )
    jobs.wait(job.id)
    jobs.wait(then.id)
    told = job.to_dict()
    assert (told["state"], told["result"], told["share"]) == ("done", 21, 1.0)
    assert (told["stage"], told["done"], told["total"]) == ("Doing it", 1, 2)
    assert (told["messages"], told["left"]) == (["a sentence"], None)
    assert then.to_dict()["result"] == 8
    assert [own["name"] for own in jobs.to_list()] == ["two", "one"]


@pytest.mark.parametrize(
    ("arguments", "text"), [({}, "that is wrong; mend it."), ({"inside": True}, INSIDE)]
)
def test_a_job_that_fails_says_why_and_is_undone(jobs, arguments, text):
    undone = []
    job = jobs.submit(
        *("cluster", "x", "desk_doubles:fail"),
        arguments=arguments,
        undo=lambda: undone.append(1),
    )
    jobs.wait(job.id)
    assert (job.state, job.error, undone) == ("failed", text, [1])


def test_a_job_whose_process_dies_fails_and_the_next_one_runs(jobs):
    job = jobs.submit("cluster", "x", "desk_doubles:die", arguments={})
    after = jobs.submit("cluster", "y", "desk_doubles:echo", arguments={"value": 1})
    jobs.wait(after.id)
    assert job.state == "failed"
    assert "ended without a word" in job.error
    assert after.state == "done"


@pytest.mark.parametrize("deaf", [False, True])
def test_cancelling_ends_the_process_and_what_it_started(
    jobs, tmp_path, monkeypatch, deaf
):
    monkeypatch.setattr(_processes, "_GRACE", 0.2)
    note, undone = tmp_path / "note", []
    job = jobs.submit(
        *("cluster", "x", "desk_doubles:hang"),
        arguments={"note": str(note), "deaf": deaf},
        undo=lambda: undone.append(1),
    )
    waiting = jobs.submit("cluster", "y", "desk_doubles:echo", arguments={"value": 1})
    wait_for(lambda: job.progress)
    assert (waiting.state, waiting.to_dict()["seconds"]) == ("waiting", 0.0)
    jobs.cancel(job.id)
    jobs.wait(waiting.id)
    assert (job.state, undone, waiting.state) == ("cancelled", [1], "done")
    for process in map(int, note.read_text().split()):
        wait_for(lambda process=process: not is_there(process))


def test_a_job_cancelled_while_it_waits_never_starts(jobs, tmp_path):
    first = jobs.submit(
        "cluster", "x", "desk_doubles:hang", arguments={"note": str(tmp_path / "a")}
    )
    undone = []
    second = jobs.submit(
        *("cluster", "y", "desk_doubles:hang"),
        arguments={"note": str(tmp_path / "b")},
        undo=lambda: undone.append(1),
    )
    jobs.cancel(second.id)
    assert (second.state, undone) == ("cancelled", [1])
    jobs.cancel(first.id)
    jobs.wait(second.id)
    assert not (tmp_path / "b").exists()


def test_progress_is_plain_words_and_a_share_that_only_grows():
    told = []
    pace = Pace(lambda **state: told.append(state), "read", "fit", "write")
    stages = Stages(pace)
    with stages.run("read"):
        pass
    with stages.run("fit", total=4) as step:
        step(2)
        pace._last = 0.0  # as if time had passed
        step(3)
    stages.say("a sentence")
    with stages.run("write"):
        pass
    shares = [state["share"] for state in told if "share" in state]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert told[0]["stage"] == "Reading the files"
    assert {"message": "a sentence"} in told
    assert any(state.get("left") is not None for state in told)
