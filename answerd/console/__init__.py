"""The console: pages for an operator's browser (docs/console.md).

Pages call the functions that the admin API, ``render`` and ``check`` call. None repeats a rule: a page shows the
results of these functions. Every page is made by the server and works without JavaScript; htmx refreshes the parts that
change.
"""
