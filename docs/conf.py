"""Settings of Sphinx. ``make docs`` runs it on build/docs/source, which tools/docs_source.py puts together."""

import os
import sys
import tomllib
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx
from sphinx.highlighting import lexers
from sphinx.search.en import SearchEnglish

ROOT = Path(os.environ["MQGROUPS_DOCS_ROOT"])
sys.path[:0] = [str(ROOT), str(ROOT / "embedded")]

project = "mqgroups"
copyright = "mqgroups contributors. IBM MQ is a trademark of IBM; this project is not affiliated with it"
release = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

lexers["mqsc"] = TextLexer()  # Pygments does not know MQSC


class SearchWithReasonCodes(SearchEnglish):
    """Sphinx leaves numbers out of its index; here they are reason codes. docs/_static/search.js does the same to a query."""

    def word_filter(self, word: str) -> bool:
        return (len(word) == 4 and word.isdigit()) or super().word_filter(word)


def add_diagrams(app: Sphinx, _page: str, _template: str, context: dict[str, object], _doctree: object) -> None:
    """Give a page with diagrams what draws them in the reader's browser: the site's own copy of Mermaid, which is large."""
    if '<pre class="mermaid">' in str(context.get("body")):
        for file in ("mermaid.min.js", "diagrams.js"):
            app.add_js_file(file)


def setup(app: Sphinx) -> None:
    app.add_search_language(SearchWithReasonCodes)
    app.connect("html-page-context", add_diagrams)


extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
myst_enable_extensions = ["attrs_block"]
myst_heading_anchors = 4

autodoc_class_signature = "mixed"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
autoclass_content = "both"
napoleon_numpy_docstring = False
python_display_short_literal_types = True
python_maximum_signature_line_length = 100
smartquotes_action = "qe"  # a -- outside code is an option, and no dash
copybutton_exclude = ".linenos, .gp, .go"

html_theme = "furo"
html_title = f"mqgroups {release}"
html_static_path = ["_static"]
html_extra_path = ["plain"]
exclude_patterns = ["plain"]
html_css_files = ["site.css"]
html_js_files = ["search.js", "tables.js"]
html_use_index = False  # nothing leads to it; the search finds every name
html_show_sourcelink = False
html_copy_source = False
html_baseurl = os.environ.get("MQGROUPS_SITE_URL", "")
html_theme_options = (
    {
        "source_repository": os.environ.get("MQGROUPS_REPOSITORY_URL", ""),
        "source_branch": "main",
        "source_directory": "docs/",
    }
    if os.environ.get("MQGROUPS_REPOSITORY_URL")
    else {}
)
