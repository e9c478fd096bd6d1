"""Who is let in: tokens, hosts, origins, sizes, names; and the headers of answers."""

import asyncio
import pickle

import pytest
from starlette.testclient import TestClient

from conftest import BASE, PORT, TOKEN
from imvc.studio import _answers
from imvc.studio._project import MOST_FILES

COOKIE = f"imvc-studio-{PORT}"
HEADERS = (
    *("content-security-policy", "x-content-type-options", "referrer-policy"),
    *("cache-control", "cross-origin-opener-policy", "cross-origin-resource-policy"),
)


@pytest.fixture
def stranger(client):
    """Somebody on this machine who does not know the address."""
    return TestClient(client.app, base_url=BASE, follow_redirects=False)


def test_the_printed_address_gives_a_strict_cookie_and_leads_to_the_page(stranger):
    answer = stranger.get("/", params={"token": TOKEN})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert cookie.startswith(f"{COOKIE}={TOKEN}")
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "path=/" in cookie
    page = stranger.get("/")
    assert page.status_code == 200
    assert "imvc studio" in page.text
    assert stranger.get("/api/project").status_code == 200


def test_a_link_on_another_page_leads_in_without_a_redirect(stranger):
    away = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    answer = stranger.get("/", params={"token": TOKEN}, headers=away)
    assert answer.status_code == 200
    assert 'http-equiv="refresh"' in answer.text
    # The same from a script of that page is refused.
    away["sec-fetch-mode"] = "no-cors"
    answer = stranger.get("/", params={"token": TOKEN}, headers=away)
    assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)


@pytest.mark.parametrize("token", ["", "x", TOKEN[:-1], TOKEN + "t", "é", "\x00"])
def test_a_wrong_token_is_refused_and_gives_no_cookie(stranger, token):
    answer = stranger.get("/", params={"token": token})
    assert answer.status_code == 403
    assert "terminal" in answer.text
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "path",
    ["/", "/app.js", "/api/project", "/api/runs/r1/map", "/nothing"],
)
def test_nothing_is_there_without_the_cookie(stranger, path):
    assert stranger.get(path).status_code == 403
    stranger.cookies.set(COOKIE, TOKEN[:-1])
    assert stranger.get(path).status_code == 403


def test_the_token_opens_nothing_but_the_page(stranger):
    assert stranger.get("/api/project", params={"token": TOKEN}).status_code == 403
    answer = stranger.post("/", params={"token": TOKEN}, headers={"origin": BASE})
    assert answer.status_code == 403


@pytest.mark.parametrize("beside", ['a={"b": 1}', "x y", "[]=,;;", "\xe9=\xe9"])
def test_cookies_of_other_programs_do_not_lock_one_out(stranger, beside):
    sent = f"{beside}; {COOKIE}={TOKEN}; {beside}".encode("latin-1")
    answer = stranger.get("/api/project", headers={"cookie": sent})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:1", "[::1]:8765"]
    + [f"127.0.0.1:{PORT}.evil.example", f"127.0.0.1.evil.example:{PORT}", ""],
)
def test_another_host_is_refused_also_with_the_cookie(client, host):
    """A site whose name was bound to this machine (DNS rebinding) has that name."""
    answer = client.get("/api/project", headers={"host": host})
    assert answer.status_code == 400
    assert client.get("/", params={"token": TOKEN}, headers={"host": host}).is_error


def test_localhost_is_this_machine_too(client):
    own = {"host": f"localhost:{PORT}", "origin": f"http://localhost:{PORT}"}
    answer = client.patch("/api/joint", json={"match_ids": "loose"}, headers=own)
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": f"https://127.0.0.1:{PORT}"},
        {"origin": f"http://127.0.0.1:{PORT + 1}"},
        {"origin": BASE, "sec-fetch-site": "cross-site"},
        {"origin": BASE, "sec-fetch-site": "same-site"},
        {"origin": BASE, "sec-fetch-site": "none"},
        {"sec-fetch-site": "same-origin"},
        {},
    ],
)
def test_changes_from_elsewhere_are_refused(client, headers):
    del client.headers["origin"], client.headers["sec-fetch-site"]
    change = {"json": {"match_ids": "loose"}, "headers": headers}
    assert client.patch("/api/joint", **change).status_code == 403
    assert client.put("/api/files?name=a.csv", content="a", headers=headers).is_error
    assert client.project.joint["match_ids"] == "exact"
    assert client.project.files == []


@pytest.mark.parametrize("site", ["cross-site", "same-site", "odd"])
def test_other_sites_may_not_even_read(client, site):
    answer = client.get("/api/project", headers={"sec-fetch-site": site})
    assert answer.status_code == 403


def test_every_answer_has_the_headers_also_refusals_and_errors(client, stranger):
    answers = [
        client.get("/"),
        client.get("/api/project"),
        client.get("/api/nothing"),
        client.get("/api/runs/r9"),
        client.put("/api/project", content=b""),
        client.get("/", headers={"host": "evil.example"}),
        stranger.get("/"),
        stranger.get("/", params={"token": TOKEN}),
    ]
    for answer in answers:
        assert [h for h in HEADERS if h not in answer.headers] == []
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy


def test_pages_are_served_by_name_and_no_other_file(client):
    assert client.get("/app.js").headers["content-type"].startswith("text/javascript")
    hostile = ("/../_app.py", "/%2e%2e/_app.py", "/..%2f_app.py", "/pages/app.js")
    for path in (*hostile, "/_app.py", "/app.js%00", "//etc/passwd", "/.hidden"):
        assert client.get(path).status_code == 404


def test_sockets_are_closed_at_once(client):
    from starlette.websockets import WebSocketDisconnect

    with (
        pytest.raises(WebSocketDisconnect, match=r"^$") as closed,
        client.websocket_connect("/api/project"),
    ):
        pass
    assert closed.value.code == 1008


@pytest.mark.parametrize(
    "name",
    [
        "../../x.csv",
        "..\\..\\x.csv",
        "/etc/passwd",
        "x.csv\x00.exe",
        "a" * 5000 + ".csv",
        "<script>alert(1)</script>.csv",
        "CON.csv",
        ".studio.lock",
        "studio.json",
        "  ",
        "x.csv/../../studio.json",
        "\u202ecsv.exe",
    ],
)
def test_names_of_uploads_are_only_ever_shown(client, name):
    before = {path for path in client.project.folder.parent.rglob("*")}
    answer = client.upload(name, b"id,x\na,1\n")
    assert answer.status_code == 201
    made = {path for path in client.project.folder.parent.rglob("*")} - before
    folder = client.project.folder / "files"
    assert made - {folder} <= {folder / f"f1{end}" for end in (".csv", "", ".json")}
    file = answer.json()
    assert 0 < len(file["name"]) <= 200
    assert file["name"].isprintable()
    assert file["view"]
    assert "path" not in file


def test_an_upload_that_is_too_large_leaves_nothing(open_studio):
    client = open_studio(upload_bytes=100)
    answer = client.upload("big.csv", b"x" * 101)
    assert answer.status_code == 413
    assert "big.csv: is larger than" in answer.json()["error"]
    # Without a length that could be looked at first.
    answer = client.upload("big.csv", (b"x" * 60 for _ in range(2)))
    assert answer.status_code == 413
    assert list((client.project.folder / "files").iterdir()) == []
    assert client.upload("small.csv", b"x" * 100).status_code == 201


def test_an_upload_that_is_cut_off_leaves_nothing(client):
    """The browser goes away in the middle of it."""
    messages = [
        {"type": "http.request", "body": b"id,x\n", "more_body": True},
        {"type": "http.disconnect"},
    ]
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "PUT",
        "path": "/api/files",
        "raw_path": b"/api/files",
        "query_string": b"name=a.csv",
        "headers": [
            (b"host", f"127.0.0.1:{PORT}".encode()),
            (b"origin", BASE.encode()),
            (b"cookie", f"{COOKIE}={TOKEN}".encode()),
            (b"content-length", b"100"),
        ],
    }

    async def receive():
        return messages.pop(0)

    async def send(message):
        pass

    asyncio.run(client.app(scope, receive, send))
    assert client.project.files == []
    assert list((client.project.folder / "files").iterdir()) == []


def test_files_are_limited_in_number(client, monkeypatch):
    monkeypatch.setattr("imvc.studio._project.MOST_FILES", 2)
    assert MOST_FILES == 200
    for name in ("a.csv", "b.csv"):
        assert client.upload(name, b"x").status_code == 201
    answer = client.upload("c.csv", b"x")
    assert answer.status_code == 400
    assert "the most it takes" in answer.json()["error"]
    assert len(list((client.project.folder / "files").iterdir())) == 2


def test_bodies_are_limited_and_must_be_objects_of_the_right_kinds(client, monkeypatch):
    monkeypatch.setattr(_answers, "JSON_BYTES", 1000)
    large = client.patch("/api/joint", json={"match_ids": "x" * 2000})
    assert large.status_code == 413
    for body in (b"{", b"[]", b"3", b"\xff", b"[" * 900, b'{"match_ids": 3}', b""):
        answer = client.patch("/api/joint", content=body)
        assert answer.status_code == 400
        assert answer.json()["error"]
    odd = client.post("/api/runs", json={"command": "rm"})
    assert odd.json()["error"] == "'command' is nothing that a run is asked for."


@pytest.mark.parametrize(
    "path",
    [
        "/api/runs/../project/download/run.json",
        "/api/runs/%2e%2e/download/run.json",
        "/api/runs/r1/download/..%2f..%2fstudio.json",
        "/api/runs/r1/predictions/..%2f..%2frun",
        "/api/files/..%2f..",
    ],
)
def test_ids_in_addresses_are_no_paths(client, path):
    assert client.get(path).status_code in (404, 405)


def test_a_pickle_is_never_loaded(client, study, tmp_path):
    class Trap:
        def __reduce__(self):
            return (open, (str(tmp_path / "sprung"), "w"))

    for name in ("a.pkl", "b.npy", "c.csv", "d"):
        client.upload(name, pickle.dumps(Trap(), protocol=4))
        job = client.cluster()
        assert job["state"] == "failed"
        client.delete(f"/api/files/{client.project.files[0].id}")
    assert not (tmp_path / "sprung").exists()
