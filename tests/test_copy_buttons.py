"""The manual's copy buttons, in a browser: they copy what a reader types, without prompts and without output."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from places import DOCS

PAGE = """# Page

```python
import crest
```

```console
$ crest status
3 runs
$ crest run main
```

    pip install .

```text
what a program prints
```

```{eval-rst}
>>> crest.audit(
...     model)
1
```
"""
COPIED = ["import crest", "crest status\ncrest run main", "pip install .", "crest.audit(\n    model)"]


@pytest.mark.slow
def test_buttons_copy_what_is_typed(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "index.md").write_text(PAGE)
    build = [sys.executable, "-m", "sphinx", "-q", "-b", "html", "-c", str(DOCS)]
    # Without the reference, which looks for every public name.
    extensions = ["-D", "extensions=myst_parser,sphinx_copybutton"]
    subprocess.run([*build, *extensions, str(tmp_path), str(tmp_path / "built")], check=True)
    page = browser.new_page()
    page.goto((tmp_path / "built" / "index.html").as_uri())
    page.evaluate("document.body.insertAdjacentHTML('afterbegin', '<textarea></textarea>')")
    copied = []
    for button in page.locator("button.copybtn").all():
        button.click(force=True)
        page.fill("textarea", "")
        page.focus("textarea")
        page.keyboard.press("Control+V")
        copied.append(page.input_value("textarea"))
    page.close()
    assert copied == COPIED
