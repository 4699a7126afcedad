"""The Python code of the pages runs, block after block."""

import contextlib
import io
import os
import pathlib
import re
import unittest


class Pages(unittest.TestCase):
    def test_code_runs(self):
        source = pathlib.Path(os.environ["ABUT_TEST_SOURCE"])
        for page, least in (("docs/python.md", 5), ("docs/cloth.md", 1), ("python/README.md", 1)):
            blocks = re.findall(r"^```python\n(.*?)^```", (source / page).read_text(), re.DOTALL | re.MULTILINE)
            self.assertGreaterEqual(len(blocks), least)
            names = {}
            for number, block in enumerate(blocks):
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(block, f"{page}, block {number}", "exec"), names)
