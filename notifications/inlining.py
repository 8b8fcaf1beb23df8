"""Style sheets of an e-mail's HTML, written into its elements: many mail programs read nothing else."""

from __future__ import annotations

import re

from css_inline import CSSInliner

# Rules that no element can carry, for another state or another screen, stay in a style sheet. Nothing is ever fetched.
_INLINER = CSSInliner(
    keep_style_tags=True, remove_inlined_selectors=True, keep_link_tags=True, load_remote_stylesheets=False
)
_SHEET = re.compile(r"<style[^>]*>(.*?)(?:</style[\s/>]|\Z)", re.IGNORECASE | re.DOTALL)
_REPEATED = re.compile(r"<(?:a|b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)[\s/>]", re.IGNORECASE)

# What comes of HTML is not linear in its length. Nested elements lie on the stack of a parser that ends the process with it
# (measured: 12,000 deep in 8 MB); every rule may fit every element, and is compared with what is there already; elements
# like <b>, left open, are begun again in each paragraph. Within these the worst found takes 1.5 s and 180 MB.
TAGS = 4000
SHEET_BYTES_BY_TAGS = 40_000_000
DECLARATIONS_SQUARED_BY_TAGS = 2_000_000_000
REPEATED_BY_TAGS = 1_000_000


def inlined(html: str, *, limit: int) -> str:
    """HTML with its style sheets in its elements; as it is where it has none, or where that would take too much.

    `limit` is how many bytes may come of it. However broken the HTML is, nothing is raised.
    """
    if "<style" not in html.lower() or _takes_too_much(html):
        return html
    try:
        written = _INLINER.inline(html)
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException:  # a panic of the library is no Exception
        return html
    return written if len(written.encode()) <= limit else html


def _takes_too_much(html: str) -> bool:
    tags = html.count("<")
    if tags > TAGS:
        return True
    sheets = "".join(_SHEET.findall(html))
    declarations = sheets.count(";") + sheets.count("{")
    repeated = sum(1 for _ in _REPEATED.finditer(html))
    return (
        len(sheets) * tags > SHEET_BYTES_BY_TAGS
        or declarations**2 * tags > DECLARATIONS_SQUARED_BY_TAGS
        or repeated * tags > REPEATED_BY_TAGS
    )
