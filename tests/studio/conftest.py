"""A studio on a small study, asked through starlette's test client."""

import warnings

import pytest

pytest.importorskip("starlette", reason="the studio needs: pip install 'imvc[studio]'")

from imvc.studio import Project
from imvc.studio._app import create_app
from study_files import write_study

with warnings.catch_warnings():  # about the package behind it
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

PORT, TOKEN = 8765, "t" * 43
BASE = f"http://127.0.0.1:{PORT}"
# What the browser says of a request that the page itself makes.
OWN = {"origin": BASE, "sec-fetch-site": "same-origin"}


class StudioClient(TestClient):
    """A client that has been let in, and waits for jobs."""

    def __init__(self, project, **options):
        app = create_app(project, TOKEN, PORT, **options)
        super().__init__(app, base_url=BASE, headers=OWN)
        self.project, self.studio = project, app.studio
        self.cookies.set(f"imvc-studio-{PORT}", TOKEN)

    def upload(self, name, content):
        return self.put("/api/files", params={"name": name}, content=content)

    def jobs(self):
        return self.get("/api/jobs").json()

    def wait(self, job):
        """The job once it is over."""
        assert "id" in job, job
        self.studio.jobs.wait(job["id"])
        return next(own for own in self.jobs() if own["id"] == job["id"])

    def cluster(self, **request):
        """A finished job of a clustering."""
        asked = {"n_clusters": 3, "n_refits": 0, **request}
        return self.wait(self.post("/api/runs", json=asked).json())


@pytest.fixture
def study(tmp_path):
    """Paths of the three files of a study."""
    folder = tmp_path / "study"
    folder.mkdir()
    return write_study(folder, n=60)[0]


@pytest.fixture
def open_studio(tmp_path):
    """Opens a studio on a folder; all are closed at the end."""
    opened = []

    def start(folder=tmp_path / "project", paths=(), **options):
        project = Project(folder)
        project.add_paths(paths)
        client = StudioClient(project, **options)
        opened.append(client.__enter__())
        return client

    yield start
    for client in opened:
        client.__exit__(None, None, None)


@pytest.fixture
def client(open_studio):
    """A studio on an empty project."""
    return open_studio()
