#!/usr/bin/env python3
"""Puts the explorer's page and its model into one HTML file:
`explorer_static.py MODEL.wasm INDEX.html`.

Scripts become modules in an import map, since browsers load no module from a disk; the answers come
from the model (answers_static.js) instead of a server (answers.js).
"""

import base64
import json
import os
import re
import sys
from pathlib import Path

PAGE = Path(__file__).parent.parent / "crates/smallfloat-cli/src/explore/page"
# What the server says in a header: nothing comes from elsewhere and nothing goes there.
POLICY = (
    "default-src 'none'; script-src data: 'unsafe-inline' 'wasm-unsafe-eval'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)


def data(kind, content):
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def script(path):
    """A module whose imports of other files are names in the import map."""
    text = path.read_text()
    return data("text/javascript", re.sub(r'(from|import) "\./([\w.]+)"', r'\1 "\2"', text).encode())


def main():
    model, output = map(Path, sys.argv[1:])
    modules = {path.name: script(path) for path in sorted(PAGE.glob("*.js"))}
    modules["answers.js"] = script(PAGE / "static/answers.js")
    code = base64.b64encode(model.read_bytes()).decode()
    icon = data("image/svg+xml", (PAGE / "icon.svg").read_bytes())
    page = (PAGE / "page.html").read_text()
    for old, new in [
        ('<meta charset="utf-8">', f'<meta charset="utf-8">\n<meta http-equiv="content-security-policy" content="{POLICY}">'),
        ('href="/icon.svg"', f'href="{icon}"'),
        ('src="/icon.svg"', f'src="{icon}"'),
        ('<link rel="stylesheet" href="/page.css">', f"<style>\n{(PAGE / 'page.css').read_text()}</style>"),
        (
            '<script type="module" src="/page.js"></script>',
            f'<script type="text/plain" id="model">{code}</script>\n<script type="importmap">{json.dumps({"imports": modules})}</script>\n<script type="module">import "page.js";</script>',
        ),
    ]:
        assert page.count(old) == 1, f"{old} stands {page.count(old)} times in page.html"
        page = page.replace(old, new)
    new = output.with_name(f".{output.name}.new")
    new.write_text(page)
    os.replace(new, output)
    print(f"{output}: {len(page.encode()) / 1e6:.1f} MB")


main()
