# SPDX-License-Identifier: Apache-2.0
"""The example notebook runs from its first cell to its last, and its cells give what they are there for."""

import os
from pathlib import Path

import pytest

from tests.many import a_history

NOTEBOOK = Path(__file__).parents[2] / "docs" / "tutorial" / "notebook.ipynb"


def needs(*names):
    for name in names:
        if not os.environ.get("CI"):
            pytest.importorskip(name)


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """The notebook, run over a folder of sessions as its reader has one."""
    needs("nbclient", "nbformat", "ipykernel", "pandas", "altair", "narwhals")
    import nbclient
    import nbformat

    folder = tmp_path_factory.mktemp("sessions")
    a_history(folder)
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    before = os.environ.get("STEELYARD_SESSIONS")
    os.environ["STEELYARD_SESSIONS"] = str(folder)
    try:
        return nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute(cwd=str(folder))
    finally:
        if before is None:
            del os.environ["STEELYARD_SESSIONS"]
        else:
            os.environ["STEELYARD_SESSIONS"] = before


def kinds(notebook):
    return [
        {kind for output in cell.outputs for kind in output.get("data", {})}
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


@pytest.mark.filterwarnings("ignore")  # of the libraries that run notebooks
def test_every_cell_runs_and_shows_a_frame_or_a_chart(executed):
    shown = kinds(executed)
    assert all(one & {"text/html", "image/svg+xml"} for one in shown[1:]), shown
    assert sum("image/svg+xml" in one for one in shown) == 2


@pytest.mark.filterwarnings("ignore")
def test_the_change_in_the_sessions_is_found_in_the_notebook(executed):
    texts = [output["data"]["text/html"] for cell in executed.cells if cell.cell_type == "code"
             for output in cell.outputs if "text/html" in output.get("data", {})]  # fmt: skip
    assert any("kernel: 6.1 → 6.12" in text for text in texts)


def test_the_notebook_is_kept_without_figures_of_any_machine():
    needs("nbformat")
    import nbformat

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    assert all(not cell.outputs for cell in notebook.cells if cell.cell_type == "code")
