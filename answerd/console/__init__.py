"""The console: pages for an operator's browser (docs/console.md).

Pages call the functions that the admin API, ``render`` and ``check`` call. None repeats a rule: what a page shows is
what those return. Every page is made at the server and works without JavaScript; htmx refreshes what changes.
"""
