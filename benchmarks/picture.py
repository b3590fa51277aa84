"""The picture of the demo's report in README.md, from a run of the demo, and what that run proved."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

from benchmarks.instances import HERE
from benchmarks.table import Floor

PICTURE = HERE / "docs" / "figures" / "report.png"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SIZE, COLOURS = (1100, 1520), 128


def main() -> list[Floor]:
    with TemporaryDirectory() as folder:
        run = Path(folder) / "demo" / "run"
        subprocess.run([sys.executable, "-m", "folkmoot", "demo", run.parent], check=True, stdout=subprocess.DEVNULL)
        draw(run / "report.html")
        proved = 100 * json.loads((run / "result.json").read_text())["ratio"]
    return [Floor("the demo: proved share of the best possible", proved, at_least=70, name="demo.proved", unit="%")]


def draw(page: Path) -> None:
    if CHROMIUM is None:
        print("Chromium is not installed: the picture stays as it is")
        return
    how = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=20000")
    size = f"--window-size={SIZE[0]},{SIZE[1]}"
    command = [CHROMIUM, *how, size, f"--screenshot={PICTURE}", page.as_uri()]
    subprocess.run(command, check=True, capture_output=True)
    Image.open(PICTURE).quantize(COLOURS).save(PICTURE, optimize=True)
