"""The page's scripts import in one direction."""

import re

from server import ROOT

ASSETS = ROOT / "Sources" / "clients" / "WebClient" / "Assets"


def test_no_script_of_the_page_imports_itself_by_way_of_others():
    imports = {path.name: re.findall(r'^(?:import|export) .*?from "\./([\w.]+)"', path.read_text(), re.M) for path in ASSETS.glob("*.js")}
    assert len(imports["app.js"]) > 5 and set().union(*imports.values()) <= set(imports)
    done: set[str] = set()

    def visit(script: str, above: tuple[str, ...]) -> None:
        assert script not in above, " → ".join((*above, script))
        if script in done:
            return
        for imported in imports[script]:
            visit(imported, (*above, script))
        done.add(script)

    for script in imports:
        visit(script, ())
