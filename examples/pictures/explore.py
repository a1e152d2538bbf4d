"""Write explore.png, the picture of a page in README.md and docs/explore.md.

Needs what the browser tests need: ``python examples/pictures/explore.py``.
"""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import bayesgraph as bg

HERE = Path(__file__).parent
PATIENT = {"age": 63, "sex": "male", "cp": "asympt", "trestbps": 145, "thalach": 150}
PATIENT |= {"exang": "no", "oldpeak": 2.3}

heart = bg.read_table(HERE.parent / "data" / "heart.csv")
clf = bg.TANClassifier().fit(heart.drop_columns("disease"), heart.select(["disease"]))
with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
    page = Path(folder) / "heart.html"
    clf.to_html(page, title="Heart disease", evidence=PATIENT, data=heart)
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
    tab = browser.new_page(viewport={"width": 1240, "height": 720}, locale="en-US")
    tab.goto(page.as_uri())
    tab.locator(".waterfall").wait_for()
    tab.locator(".panel-ask .bars").wait_for()
    tab.screenshot(path=HERE / "explore.png")
    browser.close()
